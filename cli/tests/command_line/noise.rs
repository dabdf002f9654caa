//! Tests of adaptive sampling (`--noise`).

use std::path::Path;

use libtest_mimic::Trial;
use raysieve::render::part::Part;

use crate::{
    add_tests, assert_done, assert_refused, files::statistics, folder, names, run, scene, stderr,
    stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        adaptive_render_stops_at_its_target,
        adaptive_render_with_too_few_samples_continues_with_more,
        adaptive_film_is_verified_and_cannot_be_merged,
        invalid_noise_targets_are_reported_on_one_line,
    );
}

/// Renders a small image of the spheres with this target error.
fn to_noise(folder: &Path, noise: &str, more: &[&str]) -> std::process::Output {
    let scene = scene("spheres.ron");
    let arguments = [
        scene.to_str().expect("a path in UTF-8"),
        "--backend",
        "cpu",
        "--size",
        "24x16",
        "--noise",
        noise,
    ];
    run(folder, [&arguments[..], more].concat())
}

fn read(folder: &Path, file: &str) -> Part {
    Part::read(&folder.join(file)).unwrap_or_else(|error| panic!("{error}"))
}

fn adaptive_render_stops_at_its_target() {
    let folder = folder();
    let folder = folder.path();
    let output = to_noise(
        folder,
        "0.2",
        &[
            "--spp", "65536", "-o", "a.exr", "--layers", "samples", "--stats", "a.json",
        ],
    );
    assert_done(&output);
    let (stats, part) = (statistics(&folder.join("a.json")), read(folder, "a.exr"));
    let noise = &stats["noise"];
    assert_eq!(noise["unconverged_pixels"], 0, "{noise}");
    assert_eq!(noise["target"], 0.2);
    assert!(noise["estimated"].as_f64().expect("an estimate") < 0.2);
    let mean = noise["mean_samples"].as_f64().expect("a number");
    let highest = noise["max_samples"].as_u64().expect("a number");
    assert!(mean < highest as f64 && highest < 65536, "{noise}");
    assert_eq!(stats["paths"].as_f64(), Some((mean * 24.0 * 16.0).round()));
    let printed = stdout(&output);
    assert!(
        printed.contains("20.00 % target; all pixels have converged; "),
        "{printed}"
    );
    // The layer contains the film's sample counts.
    let pixel_stats = part.pixel_stats.as_ref().expect("pixel statistics");
    let image = image_of(&folder.join("a.exr"));
    assert_eq!(image, pixel_stats.sample_counts);
    assert_eq!(
        pixel_stats.sample_counts.iter().max(),
        Some(&(highest as u32))
    );
}

/// Returns the values of the layer `samples` of an EXR.
fn image_of(path: &Path) -> Vec<u32> {
    let image = exr::prelude::read_all_flat_layers_from_file(path).expect("an EXR");
    let channels = &image.layer_data[0].channel_data.list;
    let named = |channel: &&exr::prelude::AnyChannel<exr::prelude::FlatSamples>| {
        channel.name.as_slice() == b"samples"
    };
    match &channels.iter().find(named).expect("a layer").sample_data {
        exr::prelude::FlatSamples::U32(counts) => counts.clone(),
        _ => panic!("no counts"),
    }
}

fn adaptive_render_with_too_few_samples_continues_with_more() {
    let folder = folder();
    let folder = folder.path();
    let kept = ["-o", "a.png", "--checkpoint", "c.exr", "--stats", "a.json"];
    let with = |spp: &str| to_noise(folder, "0.05", &[&["--spp", spp][..], &kept].concat());
    let few = with("100");
    assert_done(&few);
    let messages = stderr(&few);
    assert!(
        messages.contains(
            " pixels have 100 samples and have not converged; a larger --spp continues them"
        ),
        "{messages}"
    );
    assert!(stdout(&few).contains(" of 384 pixels have not converged; "));
    // No pixel has converged, so that all have the same number of samples.
    let none = to_noise(folder, "0.0001", &["--spp", "20", "-o", "n.png"]);
    assert_done(&none);
    let printed = stdout(&none);
    assert!(
        printed.contains("24x16, 20 samples per pixel, seed 0"),
        "{printed}"
    );
    let more = with("200");
    assert_done(&more);
    assert!(
        stderr(&more).contains("c.exr, continuing after "),
        "{}",
        stderr(&more)
    );
    let resumed = statistics(&folder.join("a.json"));
    let at_once = to_noise(
        folder,
        "0.05",
        &["--spp", "200", "-o", "b.exr", "--stats", "b.json"],
    );
    assert_done(&at_once);
    let at_once = statistics(&folder.join("b.json"));
    assert_eq!(resumed["film_hash"], at_once["film_hash"]);
    assert_eq!(resumed["noise"], at_once["noise"]);
    // A render with another target, or without one, is another render.
    for (arguments, expected) in [
        (
            vec!["--noise", "0.06"],
            "it has noise 0.05 (dark is 0.03), not 0.06 (dark is 0.03)",
        ),
        (vec![], "it has noise 0.05 (dark is 0.03), not none"),
    ] {
        let scene = scene("spheres.ron");
        let render = [
            scene.to_str().expect("a path in UTF-8"),
            "--backend",
            "cpu",
            "--size",
            "24x16",
        ];
        let output = run(folder, [&render[..], &arguments, &kept].concat());
        assert_refused(&output, 2, &["c.exr", expected]);
    }
}

fn adaptive_film_is_verified_and_cannot_be_merged() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&to_noise(folder, "0.1", &["--spp", "150", "-o", "a.exr"]));
    for more in [&[][..], &["--pixels", "20%", "--pick", "3"]] {
        let arguments = [&["verify", "a.exr", "--backend", "cpu"][..], more].concat();
        let verified = run(folder, arguments);
        assert_done(&verified);
        let stats = read(folder, "a.exr").header.stats;
        let highest = stats.noise.expect("rounds").max_samples;
        let expected = format!("{} to {highest} samples per pixel of ", stats.spp);
        assert!(
            stdout(&verified).contains(&expected),
            "{}",
            stdout(&verified)
        );
    }
    // `merge` converts a single adaptive film, but does not add it to others.
    assert_done(&run(folder, ["merge", "a.exr", "-o", "a.png"]));
    let scene = scene("spheres.ron");
    let uniform = [
        scene.to_str().expect("a path in UTF-8"),
        "--backend",
        "cpu",
        "--size",
        "24x16",
    ];
    assert_done(&run(
        folder,
        [&uniform[..], &["--spp", "3", "-o", "b.exr"]].concat(),
    ));
    for (parts, expected) in [
        (
            ["a.exr", "a.exr"],
            "a.exr: has noise 0.1 (dark is 0.03), and adaptive renders cannot be merged",
        ),
        (
            ["a.exr", "b.exr"],
            "b.exr: has noise none, not 0.1 (dark is 0.03) as a.exr",
        ),
    ] {
        let output = run(folder, [&["merge"][..], &parts, &["-o", "c.exr"]].concat());
        assert_refused(&output, 2, &[expected]);
    }
    // The file claims a larger error of a pixel than it has.
    let mut part = read(folder, "a.exr");
    let pixel_stats = part.pixel_stats.as_mut().expect("pixel statistics");
    let pixel_noise = &mut pixel_stats.pixel_noise;
    let done = pixel_noise
        .iter()
        .position(|noise| noise.converged_rounds > 1);
    pixel_noise[done.expect("a good pixel")].error += 0.01;
    part.write(
        &folder.join("forged.exr"),
        raysieve::render::part::Packing::Small,
    )
    .expect("the file is written");
    let output = run(folder, ["verify", "forged.exr", "--backend", "cpu"]);
    assert_refused(
        &output,
        1,
        &[
            "forged.exr: verification failed: ",
            " samples, estimated error ",
        ],
    );
    let output = run(folder, ["merge", "forged.exr", "-o", "c.exr"]);
    let expected = "forged.exr: is damaged or was modified: its noise estimates";
    assert_refused(&output, 2, &[expected]);
    assert!(names(folder).iter().all(|name| name != "c.exr"));
}

fn invalid_noise_targets_are_reported_on_one_line() {
    let folder = folder();
    let folder = folder.path();
    for wrong in ["0", "-1", "nan", "1e-9", "2", "inf", "much", ""] {
        let output = to_noise(folder, wrong, &["-o", "a.png"]);
        let expected = "expected a relative error from 0.0001 to 1, such as 0.01";
        assert_refused(&output, 2, &["--noise", expected]);
    }
    let output = to_noise(folder, "0.1", &["--samples", "0..16", "-o", "a.exr"]);
    assert_refused(&output, 2, &["--noise", "cannot be used with", "--samples"]);
    assert!(names(folder).is_empty());
}
