//! Tests of `--denoise oidn`, which runs the program `oidnDenoise` of Open Image Denoise.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
};

use libtest_mimic::Trial;
use raysieve::{
    film::picture::{Picture, relative_squared_error},
    render::oidn::Oidn,
};

use crate::{
    add_tests, assert_done, assert_refused,
    files::{linear, statistics},
    folder, raysieve, scene, stderr,
};

/// Environment variable with the path of `oidnDenoise`.
const VARIABLE: &str = "RAYSIEVE_OIDN";

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let found = Oidn::find().map(drop).map_err(|error| error.line());
    add_tests!(trials, if found => open_image_denoise_removes_most_noise);
    add_tests!(
        trials,
        missing_open_image_denoise_is_refused_before_the_render,
        render_is_kept_if_open_image_denoise_fails,
        denoised_image_keeps_its_alpha,
        denoiser_is_not_mistaken_for_the_scene,
    );
}

/// Renders `cornell` with 96 × 96 pixels.
fn render(folder: &Path, spp: u32, environment: &[(&str, &str)], more: &[&str]) -> Output {
    raysieve(folder)
        .envs(environment.iter().copied())
        .args(["--headless", "--backend", "cpu", "--size", "96x96", "--spp"])
        .arg(spp.to_string())
        .args(more)
        .arg(scene("cornell.ron"))
        .output()
        .unwrap()
}

/// Returns the layer `denoised` of an EXR.
fn denoised(path: &Path) -> Picture {
    let (width, height) = (96, 96);
    let [red, green, blue] =
        ["R", "G", "B"].map(|name| crate::denoise::channel(path, &format!("denoised.{name}")));
    let colors = red.into_iter().zip(green).zip(blue);
    Picture {
        width,
        height,
        pixels: colors
            .map(|((red, green), blue)| [red, green, blue].into())
            .collect(),
    }
}

fn open_image_denoise_removes_most_noise() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    assert_done(&render(
        folder.path(),
        512,
        &[],
        &["--seed", "5", "-o", "reference.exr"],
    ));
    assert_done(&render(folder.path(), 8, &[], &["-o", "plain.exr"]));
    let layers = [
        "-o",
        "a.exr",
        "--layers",
        "denoised",
        "--denoise",
        "oidn",
        "--stats",
        "a.json",
    ];
    let shown = render(folder.path(), 8, &[], &layers);
    assert_done(&shown);
    let line = "a.exr contains an image denoised by Open Image Denoise as an additional layer";
    assert!(stderr(&shown).contains(line), "{}", stderr(&shown));
    assert!(statistics(&at("a.json"))["denoise_ms"].as_f64().unwrap() > 0.0);
    // The film itself is never denoised.
    let film = linear(&at("a.exr"));
    assert_eq!(film, linear(&at("plain.exr")));
    let reference = linear(&at("reference.exr"));
    let before = relative_squared_error(&film, &reference);
    let after = relative_squared_error(&denoised(&at("a.exr")), &reference);
    println!("relative squared error: {before} before, {after} after");
    assert!(after < 0.25 * before, "{before} before, {after} after");
    // A PNG shows the denoised image.
    assert_done(&render(folder.path(), 8, &[], &["-o", "plain.png"]));
    assert_done(&render(
        folder.path(),
        8,
        &[],
        &["-o", "a.png", "--denoise", "oidn"],
    ));
    let bytes = |name: &str| fs::read(at(name)).unwrap();
    assert_ne!(bytes("plain.png"), bytes("a.png"));
}

fn missing_open_image_denoise_is_refused_before_the_render() {
    let folder = folder();
    let oidn = ["-o", "a.png", "--denoise", "oidn"];
    let nowhere = [("PATH", ""), ("VIRTUAL_ENV", "/nonexistent")];
    let refused = render(folder.path(), 8, &nowhere, &oidn);
    assert_refused(
        &refused,
        2,
        &[
            "denoise oidn",
            "oidnDenoise was not found",
            "pip install pyoidn",
        ],
    );
    let refused = render(folder.path(), 8, &[(VARIABLE, "/nonexistent/oidn")], &oidn);
    assert_refused(&refused, 2, &[VARIABLE, "/nonexistent/oidn", "not a file"]);
    assert!(!folder.path().join("a.png").exists());
}

fn render_is_kept_if_open_image_denoise_fails() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let broken = denoiser(
        folder.path(),
        "broken",
        "echo 'Error: out of memory' >&2; exit 3",
    );
    let environment = [(VARIABLE, broken.to_str().unwrap())];
    let kept = render(
        folder.path(),
        8,
        &environment,
        &["-o", "a.png", "--denoise", "oidn"],
    );
    assert_done(&kept);
    let printed = stderr(&kept);
    for part in [
        "broken",
        "Error: out of memory",
        "the image is not denoised",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    assert_done(&render(folder.path(), 8, &[], &["-o", "plain.png"]));
    assert_eq!(
        fs::read(at("a.png")).unwrap(),
        fs::read(at("plain.png")).unwrap()
    );
}

/// Writes a shell script with this name to the folder, to take the place of Open Image Denoise. Returns its path.
fn denoiser(folder: &Path, name: &str, script: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn denoised_image_keeps_its_alpha() {
    let folder = folder();
    let copier = denoiser(folder.path(), "copier", "cp color.pfm denoised.pfm");
    let environment = [(VARIABLE, copier.to_str().unwrap())];
    let spheres = scene("spheres.ron");
    let denoised: [(&str, &[&str]); 4] = [
        ("a.png", &["--denoise", "oidn"]),
        ("a.exr", &["--denoise", "oidn", "--layers", "denoised"]),
        ("plain.png", &[]),
        ("plain.exr", &[]),
    ];
    for (picture, more) in denoised {
        let rendered = raysieve(folder.path())
            .envs(environment)
            .arg(&spheres)
            .args(["--backend", "cpu", "--size", "48x32", "--spp", "2"])
            .args(["--background", "transparent", "-o", picture])
            .args(more)
            .output()
            .unwrap();
        assert_done(&rendered);
    }
    let open = |name: &str| image::open(folder.path().join(name)).unwrap();
    assert!(open("a.png").as_rgba8().is_some());
    assert!(open("a.png") == open("plain.png"));
    let alpha = |name: &str| crate::denoise::channel(&folder.path().join(name), "A");
    assert_eq!(alpha("a.exr"), alpha("plain.exr"));
}

fn denoiser_is_not_mistaken_for_the_scene() {
    let folder = folder();
    // Without a value, the word after the option is the scene.
    assert_done(&render(
        folder.path(),
        8,
        &[],
        &["-o", "a.png", "--denoise"],
    ));
    let refused = render(
        folder.path(),
        8,
        &[],
        &["-o", "a.png", "--denoise=nonsense"],
    );
    assert_refused(&refused, 2, &["--denoise", "nonsense", "oidn"]);
}
