//! Tests of renders in parts: `--samples`, `merge` and `verify`.

use std::{fs, path::Path, process::Output};

use libtest_mimic::Trial;
use raysieve::{
    film::film_hash,
    render::part::{Packing, Part},
};

use crate::{
    add_tests, assert_done, assert_refused, files::statistics, folder, names, raysieve, run, scene,
    small_render, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        merged_film_is_identical_to_one_render,
        parts_that_do_not_match_are_refused_with_both_names,
        gaps_are_merged_if_allowed,
        one_part_is_converted_to_an_image,
        merged_file_keeps_the_layer_of_sample_counts,
        invalid_sample_ranges_are_reported_on_one_line,
        changed_mesh_changes_the_scene_hash,
        verify_accepts_originals_and_finds_modifications,
        unverifiable_image_is_reported_on_one_line,
        scene_may_be_named_merge,
        subcommands_have_help_with_examples,
    );
}

/// Renders a range of samples of the small render into a file.
fn part(folder: &Path, samples: &str, file: &str) {
    assert_done(&small_render(folder, &["--samples", samples, "-o", file]));
}

fn merge(folder: &Path, arguments: &[&str]) -> Output {
    run(folder, [&["merge"], arguments].concat())
}

/// Runs `raysieve verify` on the CPU.
fn verify(folder: &Path, arguments: &[&str]) -> Output {
    run(
        folder,
        [&["verify"], arguments, &["--backend", "cpu"]].concat(),
    )
}

fn read(folder: &Path, file: &str) -> Part {
    Part::read(&folder.join(file)).unwrap_or_else(|error| panic!("{error}"))
}

fn merged_film_is_identical_to_one_render() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&small_render(
        folder,
        &["-o", "one.exr", "--stats", "one.json"],
    ));
    part(folder, "..1", "a.exr");
    part(folder, "1+700..", "c.exr");
    part(folder, "1..1+700", "b.exr");
    assert_done(&merge(
        folder,
        &["c.exr", "a.exr", "-o", "ca.exr", "--allow-gaps"],
    ));
    let merged = merge(
        folder,
        &["ca.exr", "b.exr", "-o", "all.exr", "--stats", "all.json"],
    );
    assert_done(&merged);
    assert!(stdout(&merged).ends_with("image        all.exr\n"));

    let (one, all) = (read(folder, "one.exr"), read(folder, "all.exr"));
    assert!(all.film == one.film && all.picture() == one.picture());
    assert_eq!(all.header.identity, one.header.identity);
    let (one, all) = (
        statistics(&folder.join("one.json")),
        statistics(&folder.join("all.json")),
    );
    let equal = [
        "scene",
        "backend",
        "device",
        "size",
        "spp",
        "sample_range",
        "seed",
        "compaction",
        "sort_hits",
        "paths",
        "rays",
        "rejected_samples",
        "film_hash",
    ];
    for key in equal {
        assert_eq!(one[key], all[key], "{key}");
    }
    let counts = [
        "rays",
        "hits",
        "misses",
        "ended",
        "survivors",
        "shadow_rays",
    ];
    let rows = |stats: &serde_json::Value| stats["bounces"].as_array().expect("rows").clone();
    assert_eq!(rows(&one).len(), rows(&all).len());
    for (one, all) in rows(&one).iter().zip(&rows(&all)) {
        for key in counts {
            assert_eq!(one[key], all[key], "{key}");
        }
    }
    let seconds = ["a.exr", "b.exr", "c.exr"].map(|file| read(folder, file).header.stats.seconds);
    let sum = all["seconds"].as_f64().expect("seconds");
    assert!((sum - seconds.iter().sum::<f64>()).abs() < 1e-9);
}

fn parts_that_do_not_match_are_refused_with_both_names() {
    let folder = folder();
    let folder = folder.path();
    part(folder, "0..1", "a.exr");
    part(folder, "0..2", "overlap.exr");
    part(folder, "2..3", "gap.exr");
    let others: [(&str, &[&str]); 5] = [
        ("seed.exr", &["--seed", "7"]),
        ("bounces.exr", &["--max-bounces", "2"]),
        ("clamp.exr", &["--clamp-indirect", "0.5"]),
        ("roulette.exr", &["--roulette", "0"]),
        ("size.exr", &["--size", "32x48"]),
    ];
    for (file, settings) in others {
        let mut command = raysieve(folder);
        command.arg(scene("spheres.ron")).args([
            "--backend",
            "cpu",
            "--samples",
            "1..2",
            "-o",
            file,
        ]);
        if file != "size.exr" {
            command.args(["--size", "48x32"]);
        }
        assert_done(&command.args(settings).output().expect("the program starts"));
    }
    let cornell = raysieve(folder)
        .arg(scene("cornell.ron"))
        .args([
            "--backend",
            "cpu",
            "--size",
            "48x32",
            "--samples",
            "1..2",
            "-o",
            "scene.exr",
        ])
        .output();
    assert_done(&cornell.expect("the program starts"));
    let before = names(folder);
    for (file, expected) in [
        ("overlap.exr", "samples 0..1 "),
        ("a.exr", "samples 0..1 "),
        ("gap.exr", "--samples 1..2"),
        ("seed.exr", "seed 7, not 0"),
        ("bounces.exr", "max_bounces 2, not "),
        ("clamp.exr", "clamp_indirect 0.5, not none"),
        ("roulette.exr", "roulette 0, not 5"),
        ("size.exr", "32x48 pixels, not 48x32"),
        ("scene.exr", "another scene"),
    ] {
        let output = merge(folder, &["a.exr", file, "-o", "out.exr"]);
        assert_refused(&output, 2, &["a.exr", file, expected]);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(names(folder), before);
}

fn gaps_are_merged_if_allowed() {
    let folder = folder();
    let folder = folder.path();
    part(folder, "0..1", "a.exr");
    part(folder, "2..3", "c.exr");
    assert_done(&merge(
        folder,
        &["a.exr", "c.exr", "--allow-gaps", "-o", "ac.exr"],
    ));
    assert_eq!(
        read(folder, "ac.exr").header.samples.to_string(),
        "0..1, 2..3"
    );
    assert_done(&verify(folder, &["ac.exr"]));
}

fn one_part_is_converted_to_an_image() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&small_render(folder, &["-o", "a.exr"]));
    assert_done(&small_render(folder, &["-o", "a.png", "--exposure", "1"]));
    assert_done(&merge(folder, &["a.exr", "-o", "b.png", "--exposure", "1"]));
    let picture = |name| {
        image::open(folder.join(name))
            .expect("a picture")
            .into_rgb8()
    };
    assert!(picture("a.png") == picture("b.png"));
    assert_refused(
        &merge(folder, &["a.exr", "-o", "b.exr", "--exposure", "1"]),
        2,
        &["--exposure", "b.exr"],
    );
    assert_refused(
        &merge(folder, &["a.png", "-o", "b.exr"]),
        2,
        &["a.png", ".exr"],
    );
    assert_refused(
        &merge(folder, &["a.exr", "missing.exr", "-o", "b.exr"]),
        2,
        &["missing.exr"],
    );
    assert_refused(&merge(folder, &["a.exr"]), 2, &["--output"]);
    assert_refused(&merge(folder, &["-o", "b.exr"]), 2, &["PART"]);
    assert_refused(
        &merge(folder, &["a.exr", "-o", "missing/b.exr"]),
        2,
        &["missing"],
    );
    let mut cut = fs::read(folder.join("a.exr")).expect("the part");
    cut.truncate(cut.len() - 10);
    fs::write(folder.join("cut.exr"), cut).expect("a file");
    assert_refused(
        &merge(folder, &["cut.exr", "-o", "b.exr"]),
        2,
        &["cut.exr", "damaged"],
    );
    assert!(!folder.join("b.exr").exists());
}

fn merged_file_keeps_the_layer_of_sample_counts() {
    let folder = folder();
    let folder = folder.path();
    let render = |more: &[&str]| assert_done(&small_render(folder, more));
    render(&["--samples", "..1+700", "--layers", "samples", "-o", "a.exr"]);
    render(&[
        "--samples",
        "1+700..",
        "--layers",
        "samples,depth",
        "-o",
        "b.exr",
    ]);
    render(&["--layers", "samples", "-o", "one.exr"]);
    let scene = scene("spheres.ron");
    let until = [
        scene.to_str().expect("UTF-8"),
        "--backend",
        "cpu",
        "--size",
        "24x16",
    ];
    let good = [
        "--spp",
        "65536",
        "--noise",
        "0.2",
        "--layers",
        "samples",
        "-o",
        "noise.exr",
    ];
    assert_done(&run(folder, [until.as_slice(), &good].concat()));
    let samples = |name: &str| -> Vec<f32> {
        let image = exr::prelude::read_first_flat_layer_from_file(folder.join(name));
        let channels = image.expect("a picture").layer_data.channel_data.list;
        let mut channels = channels.into_iter();
        let channel = channels.find(|channel| channel.name.eq("samples"));
        let samples = channel.expect("samples").sample_data;
        samples.values_as_f32().collect()
    };
    let merged = merge(folder, &["a.exr", "b.exr", "-o", "ab.exr"]);
    assert_done(&merged);
    let messages = stderr(&merged);
    assert!(
        messages.contains("b.exr: its layers depth are omitted"),
        "{messages}"
    );
    assert!(!messages.contains("samples are omitted"), "{messages}");
    assert_eq!(samples("ab.exr"), samples("one.exr"));
    let merged = merge(folder, &["noise.exr", "-o", "again.exr"]);
    assert_done(&merged);
    assert!(!stderr(&merged).contains("are omitted"));
    let counts = samples("noise.exr");
    assert!(counts.iter().any(|count| *count != counts[0]), "{counts:?}");
    assert_eq!(samples("again.exr"), counts);
}

fn invalid_sample_ranges_are_reported_on_one_line() {
    let folder = folder();
    for (range, expected) in [
        ("3", "0..16"),
        ("a..b", "0..16"),
        ("-1..2", "0..16"),
        ("2..2", "whose end is after its start"),
        ("5..", "whose end is after its start"),
        ("0..4294967297", "4294967295"),
        ("0+1536..3", "1535"),
    ] {
        let output = small_render(
            folder.path(),
            &[&format!("--samples={range}"), "-o", "a.exr"],
        );
        assert_refused(&output, 2, &["--samples", expected]);
    }
    assert_refused(
        &small_render(folder.path(), &["--samples", "0..1"]),
        2,
        &["--output"],
    );
    for time in ["60", "s", "-1s", "nans", "infs", "2y", "1e9h"] {
        let output = small_render(
            folder.path(),
            &["--checkpoint", "a.exr", &format!("--every={time}")],
        );
        assert_refused(&output, 2, &["--every", "30s, 5m or 2h"]);
    }
    assert_refused(
        &small_render(folder.path(), &["--checkpoint", "a.png"]),
        2,
        &["a.png", ".exr"],
    );
    assert!(names(folder.path()).is_empty());
}

const WITH_MESH: &str = r#"(
    size: (16, 12), spp: 2, sky: (1, 1, 1),
    camera: (origin: (0, 1, 5), target: (0, 0, 0), fov: 40),
    materials: { "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) },
    objects: [Mesh(file: "mesh.obj", material: "clay")],
)"#;
const MESH: &str = "v -1 -1 0\nv 1 -1 0\nv 0 1 0\nf 1 2 3\n";

fn changed_mesh_changes_the_scene_hash() {
    let folder = folder();
    let folder = folder.path();
    let write = |at: &str, mesh: &str| {
        fs::create_dir_all(folder.join(at)).expect("a folder");
        fs::write(folder.join(at).join("scene.ron"), WITH_MESH).expect("a file");
        fs::write(folder.join(at).join("mesh.obj"), mesh).expect("a file");
    };
    let render = |at: &str, samples: &str, file: &str| {
        let scene = format!("{at}/scene.ron");
        assert_done(&run(
            folder,
            [&scene, "--backend", "cpu", "--samples", samples, "-o", file],
        ));
    };
    write("here", MESH);
    write("there", &format!("# The same in other words.\n{MESH}"));
    render("here", "0..1", "a.exr");
    render("there", "1..2", "b.exr");
    assert_done(&merge(folder, &["a.exr", "b.exr", "-o", "ab.exr"]));
    assert_done(&verify(folder, &["ab.exr", "there/scene.ron"]));

    write("there", &MESH.replace("0 1 0", "0 1.0001 0"));
    render("there", "1..2", "c.exr");
    let expected = ["a.exr", "c.exr", "another scene"];
    assert_refused(
        &merge(folder, &["a.exr", "c.exr", "-o", "ac.exr"]),
        2,
        &expected,
    );
    let output = verify(folder, &["ab.exr", "there/scene.ron"]);
    assert_refused(
        &output,
        2,
        &["there/scene.ron", "ab.exr", "one of its files"],
    );
}

fn verify_accepts_originals_and_finds_modifications() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&small_render(folder, &["-o", "a.exr"]));
    let output = verify(folder, &["a.exr"]);
    assert_done(&output);
    assert!(stdout(&output).starts_with("a.exr verified: 1536 pixels, samples 0..3 of "));
    let output = verify(folder, &["a.exr", "--pixels", "10%"]);
    assert_done(&output);
    let printed = stdout(&output);
    assert!(
        printed.starts_with("a.exr verified: 154 of 1536 pixels (--pick "),
        "{printed}"
    );

    let mut forged = read(folder, "a.exr");
    forged.film.sums[3 * (5 * 48 + 11)] += 1 << 32;
    forged.header.stats.film_hash = film_hash(48, 32, &forged.film.sums);
    forged
        .write(&folder.join("forged.exr"), Packing::Fast)
        .expect("a file");
    let output = verify(folder, &["forged.exr"]);
    assert_refused(
        &output,
        1,
        &[
            "forged.exr",
            "1 of 1536 pixels",
            "x 11, y 5",
            "expected ",
            "found ",
        ],
    );
    assert!(output.stdout.is_empty());

    // Modifies the image only: the file is not compressed and ends with the last row, blue first.
    let mut bytes = fs::read(folder.join("forged.exr")).expect("the file");
    read(folder, "a.exr")
        .write(&folder.join("fast.exr"), Packing::Fast)
        .expect("a file");
    bytes.splice(.., fs::read(folder.join("fast.exr")).expect("the file"));
    let blue = bytes.len() - 48 * 36 + 4 * 3;
    bytes[blue] ^= 1;
    fs::write(folder.join("shown.exr"), bytes).expect("a file");
    assert_refused(
        &verify(folder, &["shown.exr"]),
        1,
        &["shown.exr", "x 3, y 31"],
    );
    // The damage is found even if only other pixels are compared.
    let some = ["shown.exr", "--pixels", "0.1%", "--pick", "1"];
    assert_refused(&verify(folder, &some), 1, &["shown.exr", "x 3, y 31"]);
}

fn unverifiable_image_is_reported_on_one_line() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&small_render(folder, &["-o", "a.exr"]));
    fs::rename(folder.join("a.exr"), folder.join("b.exr")).expect("it can be renamed");
    let cornell = scene("cornell.ron");
    let cornell = cornell.to_str().expect("a path in UTF-8");
    assert_refused(
        &verify(folder, &["b.exr", cornell]),
        2,
        &["cornell.ron", "b.exr"],
    );
    assert_refused(&verify(folder, &["missing.exr"]), 2, &["missing.exr"]);
    assert_refused(&verify(folder, &["a.png"]), 2, &["a.png", ".exr"]);
    for part in ["0%", "101%", "ten", "0.1"] {
        assert_refused(
            &verify(folder, &["b.exr", "--pixels", part]),
            2,
            &["--pixels", "10%"],
        );
    }
    // The scene does not exist any more.
    fs::copy(scene("spheres.ron"), folder.join("mine.ron")).expect("a scene");
    let arguments = [
        "mine.ron",
        "--backend",
        "cpu",
        "--size",
        "8x8",
        "--spp",
        "1",
        "-o",
        "c.exr",
    ];
    assert_done(&run(folder, arguments));
    assert_done(&verify(folder, &["c.exr"]));
    fs::remove_file(folder.join("mine.ron")).expect("it can be removed");
    assert_refused(
        &verify(folder, &["c.exr"]),
        2,
        &["c.exr", "mine.ron", "verify c.exr SCENE"],
    );
}

fn scene_may_be_named_merge() {
    let folder = folder();
    fs::copy(scene("spheres.ron"), folder.path().join("merge.ron")).expect("a scene");
    let arguments = [
        "merge.ron",
        "--backend",
        "cpu",
        "--size",
        "8x8",
        "--spp",
        "1",
        "--headless",
    ];
    assert_done(&run(folder.path(), arguments));
    assert_eq!(names(folder.path()), ["merge.png", "merge.ron"]);
}

fn subcommands_have_help_with_examples() {
    for (command, options) in [
        ("merge", ["--allow-gaps", "--stats", "--output"]),
        ("verify", ["--pixels", "--pick", "--backend"]),
    ] {
        let help = run(folder().path(), [command, "--help"]);
        assert_done(&help);
        let text = stdout(&help);
        for part in options
            .iter()
            .chain(&["Examples:", &format!("raysieve {command} ")[..]])
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}
