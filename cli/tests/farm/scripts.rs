//! Tests of the scripts of `raysieve farm`, which run in a shell without Slurm, and of wrong usage.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use libtest_mimic::Trial;
use raysieve::render::part::Part;

use crate::{
    add_tests, assert_done, assert_refused, folder, names, program::without_gpu_and_display, run,
    stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        film_is_identical_when_scripts_run_by_hand,
        dry_run_writes_nothing,
        options_are_written_to_the_scripts,
        names_are_quoted_for_the_shell,
        other_render_in_the_folder_is_refused,
        wrong_usage_of_farm_is_reported_on_one_line,
        status_works_from_files_alone,
        farm_has_help_with_examples,
    );
}

pub(crate) const SCENE: &str = r#"(
    size: (16, 12), spp: 14, seed: 3, max_bounces: 3, sky: (0.9, 0.95, 1),
    camera: (origin: (0, 1, 5), target: (0, 0, 0), fov: 40),
    materials: { "clay": Diffuse(albedo: (0.7, 0.5, 0.3)) },
    objects: [Sphere(center: (0, 0, 0), radius: 1, material: "clay")],
)"#;

/// Creates a folder with the scene `box.ron`.
pub(crate) fn scene_folder() -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("box.ron"), SCENE).unwrap();
    folder
}

/// Runs `raysieve farm` with these arguments.
pub(crate) fn farm(folder: &Path, arguments: &[&str]) -> Output {
    run(folder, [&["farm"], arguments].concat())
}

/// Returns the scripts that a dry run prints, by name.
pub(crate) fn printed(folder: &Path, arguments: &[&str]) -> Vec<(String, String)> {
    let output = farm(folder, &[arguments, &["--dry-run"]].concat());
    assert_done(&output);
    let text = stdout(&output);
    let scripts = text.split("# ==> ").skip(1);
    scripts
        .map(|script| {
            let (path, text) = script.split_once(" <==\n").unwrap();
            let name = Path::new(path).file_name().unwrap();
            (name.to_str().unwrap().to_owned(), text.to_owned())
        })
        .collect()
}

/// Runs a script as a task of an array, in the farm's folder.
pub(crate) fn task(farm: &Path, script: &str, number: u32) -> Output {
    let mut shell = Command::new("sh");
    without_gpu_and_display(&mut shell)
        .current_dir(farm)
        .arg(script);
    // Numbers the tasks as in arrays of at most two tasks.
    let first = number / 2 * 2;
    shell.env("SLURM_ARRAY_TASK_ID", (number - first).to_string());
    if first > 0 {
        shell.arg(first.to_string());
    }
    shell.output().unwrap()
}

/// Writes the scripts into the folder of the farm.
pub(crate) fn write_by_hand(folder: &Path, scripts: &[(String, String)]) -> PathBuf {
    let farm = folder.join("out.farm");
    for name in ["parts", "merged", "logs"] {
        fs::create_dir_all(farm.join(name)).unwrap();
    }
    for (name, text) in scripts {
        fs::write(farm.join(name), text).unwrap();
    }
    farm
}

/// Asserts that `out.exr` has the film hash of an uninterrupted render.
#[track_caller]
pub(crate) fn assert_bits(folder: &Path, settings: &[&str]) {
    assert_done(&run(
        folder,
        [&["box.ron", "--backend", "cpu", "-o", "one.exr"], settings].concat(),
    ));
    let [one, out] = ["one.exr", "out.exr"].map(|name| Part::read(&folder.join(name)).unwrap());
    assert!(one.film == out.film);
    assert_eq!(one.header.identity, out.header.identity);
    assert_eq!(one.header.samples, out.header.samples);
}

fn film_is_identical_when_scripts_run_by_hand() {
    // The parts are merged at once, and in three levels of groups of two.
    for (fan_in, expected) in [
        ("128", &[("merge.sh", 1)][..]),
        (
            "2",
            &[("merge-1.sh", 4), ("merge-2.sh", 2), ("merge.sh", 1)],
        ),
        ("3", &[("merge-1.sh", 3), ("merge.sh", 1)]),
    ] {
        let folder = scene_folder();
        let folder = folder.path();
        let settings = [
            "--spp",
            "15",
            "--clamp-indirect",
            "0.7",
            "--roulette",
            "2",
            "--seed",
            "9",
        ];
        let arguments = [
            &[
                "box.ron",
                "--parts",
                "7",
                "--fan-in",
                fan_in,
                "-o",
                "out.exr",
                "--backend",
                "cpu",
            ],
            &settings[..],
        ];
        let scripts = printed(folder, &arguments.concat());
        let farm = write_by_hand(folder, &scripts);
        let found: Vec<&str> = scripts.iter().map(|(name, _)| name.as_str()).collect();
        let levels = expected.iter().map(|(name, _)| *name);
        assert_eq!(
            found,
            ["part.sh"].into_iter().chain(levels).collect::<Vec<_>>()
        );
        // Parts are rendered in any order.
        for part in [3, 0, 6, 5, 1, 2, 4] {
            assert_done(&task(&farm, "part.sh", part));
        }
        for (script, jobs) in expected {
            assert!(!folder.join("out.exr").exists());
            for job in 0..*jobs {
                assert_done(&task(&farm, script, job));
            }
        }
        assert_bits(folder, &settings);
    }
}

fn dry_run_writes_nothing() {
    let folder = scene_folder();
    let scripts = printed(folder.path(), &["box.ron", "--parts", "3", "-o", "out.exr"]);
    assert_eq!(scripts.len(), 2);
    assert_eq!(names(folder.path()), ["box.ron"]);
}

fn options_are_written_to_the_scripts() {
    let folder = scene_folder();
    let scripts = printed(
        folder.path(),
        &[
            "box.ron",
            "--parts",
            "3",
            "-o",
            "out.exr",
            "--partition",
            "gpu",
            "--account=me",
            "--time-limit",
            "90m",
            "--gpus-per-task",
            "2",
            "--cpus-per-task",
            "8",
            "--sbatch=--mem=8G",
            "--sbatch=--comment=\"two words\"",
            "--every",
            "5m",
            "--threads",
            "8",
            "--backend",
            "cuda",
        ],
    );
    let (part, merge) = (&scripts[0].1, &scripts[1].1);
    for line in [
        "--partition=gpu",
        "--account=me",
        "--mem=8G",
        "--comment=\"two words\"",
        "--requeue",
        "--ntasks=1",
    ] {
        for script in [part, merge] {
            assert!(
                script.contains(&format!("#SBATCH {line}\n")),
                "{line}: {script}"
            );
        }
    }
    for line in [
        "--array=0-2",
        "--time=1:30:00",
        "--gpus-per-task=2",
        "--cpus-per-task=8",
        "--signal=B:USR1@120",
    ] {
        let line = format!("#SBATCH {line}\n");
        assert!(
            part.contains(&line) && !merge.contains(&line),
            "{line}: {part}{merge}"
        );
    }
    // Each option appears once, in any order.
    let ends = part.lines().find(|line| line.contains("--every 300s"));
    let ends = ends.unwrap_or_else(|| panic!("{part}"));
    assert!(
        ends.contains("--backend cuda") && ends.contains("--threads 8"),
        "{ends}"
    );
}

fn names_are_quoted_for_the_shell() {
    let folder = folder();
    let odd = folder.path().join("it's a \"box\" & $HOME");
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("box.ron"), SCENE).unwrap();
    let scripts = printed(
        &odd,
        &[
            "box.ron",
            "--parts",
            "2",
            "-o",
            "out.exr",
            "--backend",
            "cpu",
        ],
    );
    let farm = write_by_hand(&odd, &scripts);
    for part in 0..2 {
        assert_done(&task(&farm, "part.sh", part));
    }
    assert_done(&task(&farm, "merge.sh", 0));
    assert_bits(&odd, &[]);
    // A name with a line break cannot be written into a script.
    let worse = folder.path().join("two\nlines");
    fs::create_dir(&worse).unwrap();
    fs::write(worse.join("box.ron"), SCENE).unwrap();
    let output = farm_of(&worse);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("cannot be written into a script"),
        "{}",
        stderr(&output)
    );
}

/// Prints the scripts of a farm of two parts.
fn farm_of(folder: &Path) -> Output {
    farm(
        folder,
        &["box.ron", "--parts", "2", "-o", "out.exr", "--dry-run"],
    )
}

/// Creates `out.farm` without submitting jobs.
pub(crate) fn begin(folder: &Path, parts: &str) -> Output {
    let program = crate::program();
    let output = farm(
        folder,
        &[
            "box.ron",
            "--parts",
            parts,
            "-o",
            "out.exr",
            "--backend",
            "cpu",
            "--engine",
            "kubernetes",
            "--image",
            "image",
            "--claim",
            "claim",
            "--program",
            program.to_str().unwrap(),
        ],
    );
    assert_done(&output);
    output
}

fn other_render_in_the_folder_is_refused() {
    let folder = scene_folder();
    let folder = folder.path();
    begin(folder, "7");
    let others: [(&[&str], &str); 7] = [
        (&["--parts", "6"], "has parts 6, not 7"),
        (&["--spp", "28"], "has spp 28, not 14"),
        (&["--seed", "4"], "has seed 4, not 3"),
        (&["--size", "12x16"], "has 12x16 pixels, not 16x12"),
        (&["--max-bounces", "2"], "has max_bounces 2, not 3"),
        (&["--roulette", "2"], "has roulette 2, not 5"),
        (&["--clamp-indirect", "2"], "has clamp_indirect 2, not none"),
    ];
    for (given, expected) in others {
        let parts = if given[0] == "--parts" {
            &[][..]
        } else {
            &["--parts", "7"]
        };
        for way in ["--dry-run", "--status"] {
            let arguments = [&["box.ron", "-o", "out.exr", way], parts, given].concat();
            assert_refused(
                &farm(folder, &arguments),
                2,
                &["out.farm", expected, "name another image"],
            );
        }
    }
    fs::write(
        folder.join("box.ron"),
        SCENE.replace("radius: 1", "radius: 2"),
    )
    .unwrap();
    let same = ["box.ron", "--parts", "7", "-o", "out.exr", "--dry-run"];
    assert_refused(
        &farm(folder, &same),
        2,
        &["out.farm", "shows another scene"],
    );
    assert_refused(
        &farm(folder, &["-o", "out.exr", "--dry-run"]),
        2,
        &["box.ron", "shows another scene"],
    );
    // The path is taken by something else than a farm.
    fs::create_dir_all(folder.join("new.farm/parts")).unwrap();
    fs::write(folder.join("file.farm"), "").unwrap();
    for name in ["new", "file"] {
        let picture = format!("{name}.exr");
        let output = farm(
            folder,
            &["box.ron", "--parts", "7", "-o", &picture, "--dry-run"],
        );
        assert_refused(
            &output,
            2,
            &[&format!("{name}.farm"), "not the folder of a farm"],
        );
    }
    fs::write(folder.join("out.farm/farm.json"), "{").unwrap();
    assert_refused(
        &farm(folder, &same),
        2,
        &["out.farm/farm.json", "is damaged"],
    );
}

fn wrong_usage_of_farm_is_reported_on_one_line() {
    let folder = scene_folder();
    let kubernetes = ["box.ron", "-o", "out.exr", "--engine", "kubernetes"];
    let image = ["--image", "image"];
    let claim = ["--claim", "claim"];
    let wrong: &[(&[&[&str]], &[&str])] = &[
        (&[&["box.ron"]], &["--output"]),
        (&[&["-o", "out.exr"]], &["out.farm", "SCENE"]),
        (&[&["-o", "out.exr", "--status"]], &["out.farm", "SCENE"]),
        (&[&["-o", "out.exr", "--parts", "3"]], &["SCENE"]),
        (&[&["-o", "out.exr", "--seed", "3"]], &["--seed", "SCENE"]),
        (
            &[&["-o", "out.exr", "--threads", "3"]],
            &["--threads", "SCENE"],
        ),
        (&[&["box.ron", "-o", "out.png"]], &["out.png", ".exr"]),
        (
            &[&["box.ron", "-o", "out.exr", "--parts", "15"]],
            &["--parts 15", "at most the samples per pixel, 14"],
        ),
        (
            &[&["box.ron", "-o", "out.exr", "--parts", "0"]],
            &["--parts"],
        ),
        (
            &[&["box.ron", "-o", "out.exr", "--time-limit", "90"]],
            &["--time-limit", "30s, 5m or 2h"],
        ),
        (
            &[&["box.ron", "-o", "out.exr", "--partition", "a b"]],
            &["--partition", "without spaces"],
        ),
        (
            &[&["box.ron", "-o", "out.exr", "--sbatch=a\n#SBATCH b"]],
            &["--sbatch"],
        ),
        (
            &[&["box.ron", "-o", "out.exr", "--image", "image"]],
            &["--image", "--engine kubernetes"],
        ),
        (
            &[&["missing.ron", "-o", "out.exr", "--dry-run"]],
            &["missing.ron"],
        ),
        (&[&["box.ron", "-o", "missing/out.exr"]], &["missing"]),
        (&[&kubernetes], &["--image"]),
        (&[&kubernetes, &image], &["--claim"]),
        (
            &[&kubernetes, &image, &claim, &["--time-limit", "2h"]],
            &["--time-limit", "--engine slurm"],
        ),
        (
            &[&kubernetes, &image, &claim, &["--sbatch=--mem=1"]],
            &["--sbatch", "--engine slurm"],
        ),
        (
            &[&kubernetes, &image, &claim, &["--mount", "/elsewhere"]],
            &["--mount /elsewhere", "out.exr"],
        ),
    ];
    for (arguments, expected) in wrong {
        assert_refused(&farm(folder.path(), &arguments.concat()), 2, expected);
    }
    assert_eq!(names(folder.path()), ["box.ron"]);
    // Without a cluster, a failed submission leaves nothing behind.
    let none = Command::new(crate::program())
        .args(["farm", "box.ron", "-o", "out.exr"])
        .current_dir(folder.path())
        .env("PATH", "")
        .output();
    assert_refused(&none.unwrap(), 1, &["scontrol", "not found", "--dry-run"]);
    assert_eq!(names(folder.path()), ["box.ron"]);
}

fn status_works_from_files_alone() {
    let folder = scene_folder();
    let folder = folder.path();
    let scripts = printed(
        folder,
        &[
            "box.ron",
            "--parts",
            "3",
            "-o",
            "out.exr",
            "--backend",
            "cpu",
        ],
    );
    begin(folder, "3");
    let farm_folder = write_by_hand(folder, &scripts);
    let status = || farm(folder, &["-o", "out.exr", "--status"]);
    assert_done(&task(&farm_folder, "part.sh", 0));
    // The last line of a log is the error of its render.
    fs::write(
        farm_folder.join("logs/00002.log"),
        "backend: cpu\nraysieve: a.ron: is gone\n",
    )
    .unwrap();
    let expected = [
        "part 2 failed",
        "a.ron: is gone",
        "logs/00002.log",
        "raysieve farm -o out.exr",
    ];
    assert_refused(&status(), 1, &expected);
    fs::write(farm_folder.join("logs/00002.log"), "").unwrap();
    // A part of another render.
    fs::copy(
        farm_folder.join("parts/00000.exr"),
        farm_folder.join("parts/00001.exr"),
    )
    .unwrap();
    let expected = [
        "part 1 failed",
        "parts/00001.exr",
        "contains samples 0..4, which do not begin 4..9",
    ];
    assert_refused(&status(), 1, &expected);
    fs::remove_file(farm_folder.join("parts/00001.exr")).unwrap();
    for part in [1, 2] {
        assert_done(&task(&farm_folder, "part.sh", part));
    }
    assert_done(&task(&farm_folder, "merge.sh", 0));
    let output = status();
    assert_done(&output);
    assert!(
        stdout(&output).starts_with("out.exr contains samples 0..14, film_hash "),
        "{}",
        stdout(&output)
    );
    assert_bits(folder, &[]);
}

fn farm_has_help_with_examples() {
    let folder = folder();
    let help = run(folder.path(), ["farm", "--help"]);
    assert_done(&help);
    let text = stdout(&help);
    for part in [
        "Examples:",
        "raysieve farm scenes/cornell.ron",
        "--parts",
        "--every",
        "--fan-in",
        "--dry-run",
        "--status",
        "--engine",
        "--partition",
        "--account",
        "--time-limit",
        "--gpus-per-task",
        "--cpus-per-task",
        "--sbatch",
        "--image",
        "--claim",
        "--mount",
        "--program",
        "--spp",
        "--size",
        "--backend",
        "sbatch --dependency=afterok",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}
