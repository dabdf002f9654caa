//! Tests of renders that need more memory than there is.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused, folder, names, program, raysieve, scene, stderr,
    without_gpu_and_display,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials, if on_linux() =>
        image_that_does_not_fit_is_refused_before_the_render,
        options_that_need_memory_are_named,
        memory_of_a_render_is_the_film_and_a_part_of_the_files,
        under_any_limit_the_program_works_or_refuses_in_one_line,
    );
    add_tests!(
        trials, if on_linux().and_then(|()| c_compiler()) =>
        failed_allocation_is_reported_on_one_line,
    );
}

/// The available memory is known only on Linux.
fn on_linux() -> Result<(), String> {
    cfg!(target_os = "linux")
        .then_some(())
        .ok_or_else(|| "needs Linux".to_owned())
}

/// Returns why no C program can be compiled, if that is so.
fn c_compiler() -> Result<(), String> {
    let found = Command::new("cc").arg("--version").output();
    found
        .map(drop)
        .map_err(|error| format!("needs a C compiler: cc: {error}"))
}

/// Renders `cornell.ron` on the CPU with a limit of the address space in MiB.
fn limited(folder: &Path, mebibytes: u32, more: &str) -> Output {
    let cornell = scene("cornell.ron");
    let words = format!("'{}' --backend cpu --threads 2 {more}", cornell.display());
    run_limited(folder, mebibytes, &words)
}

/// Runs the program with these words of a shell, and with a limit of the address space in MiB. A program that hangs is
/// ended after a minute, with exit code 124.
fn run_limited(folder: &Path, mebibytes: u32, words: &str) -> Output {
    let (limit, program) = (mebibytes << 10, program());
    let command = format!(
        "ulimit -v {limit}; exec timeout 60 '{}' {words}",
        program.display()
    );
    let mut shell = Command::new("sh");
    without_gpu_and_display(&mut shell)
        .env("RAYON_NUM_THREADS", "12")
        .env_remove("RUST_BACKTRACE")
        .current_dir(folder)
        .args(["-c", &command])
        .output()
        .expect("a shell starts")
}

/// Raises the limit of the address space from where the program starts at all. Without a limit, a pool has twelve
/// threads, as on a larger machine.
fn under_any_limit_the_program_works_or_refuses_in_one_line() {
    let folder = folder();
    let starts = |limit: &u32| {
        run_limited(folder.path(), *limit, "--version")
            .status
            .success()
    };
    let least = (20..).step_by(5).find(starts).expect("a limit");
    let parts = ["0..1", "1..2"].map(|samples| {
        let part = folder.path().join(format!("{samples}.exr"));
        let words = [
            "--size",
            "600x600",
            "--spp",
            "2",
            "--samples",
            samples,
            "-o",
        ];
        let mut render = raysieve(folder.path());
        let render = render.arg(scene("cornell.ron")).args(["--backend", "cpu"]);
        assert_done(&render.args(words).arg(&part).output().unwrap());
        part
    });
    fs::write(folder.path().join("instances.ron"), INSTANCES).unwrap();
    let small = "--backend cpu --size 16x16 --spp 1 -o a.png";
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scene/tests/models");
    for words in [
        format!("'{}' {small}", scene("cornell.ron").display()),
        format!("'{}' {small} --threads 12", scene("cornell.ron").display()),
        format!("'{}' {small}", models.join("strip_draco.glb").display()),
        format!("'{}' {small}", scene("gltf_model.ron").display()),
        format!("instances.ron {small}"),
        format!(
            "merge {} {} -o a.png",
            parts[0].display(),
            parts[1].display()
        ),
    ] {
        let mut works_from = None;
        for limit in (least..least + 300).step_by(10) {
            // Enough is known some steps above the limit from which on it works.
            if works_from.is_some_and(|from| limit > from + 30 && limit < least + 280) {
                continue;
            }
            let output = run_limited(folder.path(), limit, &words);
            let text = stderr(&output);
            let at = format!("{words} within {limit} MiB: {:?}: {text}", output.status);
            let image = fs::remove_file(folder.path().join("a.png"));
            if output.status.success() {
                image.expect(&at);
                works_from = works_from.or(Some(limit));
                continue;
            }
            assert!(
                works_from.is_none(),
                "{at}, but it works within {works_from:?} MiB"
            );
            assert!(matches!(output.status.code(), Some(1 | 2)), "{at}");
            assert_eq!(text.matches("raysieve: ").count(), 1, "{at}");
            let error = text.lines().last().unwrap_or_default();
            assert!(error.starts_with("raysieve: "), "{at}");
            for crash in ["internal error", "panicked", "memory allocation"] {
                assert!(!text.contains(crash), "{at}");
            }
            assert!(image.is_err(), "{at}");
        }
        assert!(works_from.is_some(), "{words}");
    }
    assert_eq!(
        names(folder.path()),
        ["0..1.exr", "1..2.exr", "instances.ron"]
    );
}

/// A scene of 50,000 instances, whose trees need more memory than the scene.
const INSTANCES: &str = r#"(
    camera: (origin: (0, 3, 16), target: (0, 0, 0), fov: 48),
    sky: (1, 1, 1),
    materials: { "m": Diffuse(albedo: (0.5, 0.5, 0.5)) },
    objects: [Instances(
        of: DisplacedSphere(rings: 6, segments: 8, amplitudes: (0.2, 0.1), material: "m"),
        scatter: (count: 50000, from: (-60, 0, -120), to: (60, 0, 12), seed: 1, scale: (0.04, 0.2)),
    )],
)"#;

fn image_that_does_not_fit_is_refused_before_the_render() {
    let folder = folder();
    // 36 bytes per pixel are more than the limit.
    let output = limited(folder.path(), 1000, "--size 6000x6000 --spp 1 -o a.exr");
    let expected = [
        "size 6000x6000: is too large for memory: needs 1.2 GiB, but only ",
        " MiB are available; choose a smaller size",
    ];
    assert_refused(&output, 2, &expected);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(names(folder.path()).is_empty());
}

fn options_that_need_memory_are_named() {
    let folder = folder();
    let plain = "--size 2000x2000 --spp 2 --max-bounces 0 -o a.png";
    assert_done(&limited(folder.path(), 400, plain));
    fs::remove_file(folder.path().join("a.png")).unwrap();
    let output = limited(
        folder.path(),
        400,
        &format!("{plain} --denoise --overlay --checkpoint b.exr"),
    );
    let expected = "; choose a smaller size, or omit --checkpoint, --denoise, --overlay";
    assert_refused(&output, 2, &[expected]);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(names(folder.path()).is_empty());
}

/// Renders an image with 36 bytes per pixel, of which the film takes 24, and 200 MiB for everything else. That is less
/// than the film, a copy and the channels of the file would take.
fn memory_of_a_render_is_the_film_and_a_part_of_the_files() {
    let folder = folder();
    let pixels = 4000 * 3000;
    let mebibytes = pixels * 36 / (1 << 20) + 200;
    for file in ["a.png", "a.exr"] {
        let more = format!("--size 4000x3000 --spp 1 --max-bounces 0 -o {file}");
        assert_done(&limited(folder.path(), mebibytes, &more));
    }
}

/// Preloads a library in which large allocations fail, because the render is refused before one can fail otherwise.
fn failed_allocation_is_reported_on_one_line() {
    let folder = folder();
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/command_line/no_memory.c"
    );
    let library = folder.path().join("no_memory.so");
    let mut compiler = Command::new("cc");
    let compiler = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    assert!(compiler.arg(source).status().unwrap().success());
    // The film takes 24,000,000 bytes.
    let mut render = raysieve(folder.path());
    let output = render
        .env("LD_PRELOAD", &library)
        .env("NO_MEMORY_BYTES", "20000000")
        .arg(scene("cornell.ron"))
        .args(["--backend", "cpu", "--size", "1000x1000", "--spp", "1"])
        .args(["-o", "a.exr"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "raysieve: size 1000x1000: is too large for memory: 23 MiB could not be allocated; choose a smaller size\n"
    );
    assert_eq!(names(folder.path()), ["no_memory.so"]);
}
