//! Tests of `--denoise`: previews are labelled, and the rendered image in an EXR is never denoised.

use std::{fs, path::Path};

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused,
    files::{linear, statistics},
    folder, run, scene, small_render, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        preview_is_labelled,
        exr_is_not_denoised,
        missing_preview_is_reported,
        adaptive_render_has_a_preview,
        debug_view_refuses_denoising,
    );
}

/// Returns whether the metadata of a PNG label it as a preview.
fn is_marked(path: &Path) -> bool {
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()));
    let reader = decoder.read_info().unwrap();
    let mut texts = reader.info().utf8_text.iter();
    texts.any(|text| text.keyword == "preview" && text.get_text().unwrap() == "denoised")
}

fn preview_is_labelled() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let plain = small_render(folder.path(), &["-o", "plain.png", "--stats", "plain.json"]);
    let more = ["-o", "a.png", "--denoise", "--stats", "a.json"];
    let shown = small_render(folder.path(), &more);
    assert_done(&plain);
    assert_done(&shown);
    assert!(!is_marked(&at("plain.png")) && is_marked(&at("a.png")));
    assert!(
        stderr(&shown).contains("a.png contains a denoised preview instead of the rendered image")
    );
    assert!(stdout(&shown).contains("\ndenoise  ") && !stdout(&plain).contains("\ndenoise  "));
    let (plain, shown) = (statistics(&at("plain.json")), statistics(&at("a.json")));
    assert!(shown["denoise_ms"].as_f64().unwrap() > 0.0);
    assert!(plain.get("denoise_ms").is_none());
    assert_eq!(plain["film_hash"], shown["film_hash"]);
    assert_ne!(
        fs::read(at("plain.png")).unwrap(),
        fs::read(at("a.png")).unwrap()
    );
}

fn exr_is_not_denoised() {
    let folder = folder();
    let refused = small_render(folder.path(), &["-o", "a.exr", "--denoise"]);
    assert_refused(&refused, 2, &["--denoise", "a.exr", "--layers denoised"]);
    assert_done(&small_render(folder.path(), &["-o", "plain.exr"]));
    let layers = ["-o", "a.exr", "--layers", "samples,denoised"];
    let beside = small_render(folder.path(), &layers);
    assert_done(&beside);
    assert!(stderr(&beside).contains("a.exr contains a denoised preview as an additional layer"));
    let at = |name: &str| folder.path().join(name);
    assert_eq!(linear(&at("a.exr")), linear(&at("plain.exr")));
    let channel = |name: &str| channel(&at("a.exr"), name);
    assert_ne!(channel("denoised.R"), channel("R"));
    assert_eq!(channel("denoised.B").len(), 48 * 32);
}

fn adaptive_render_has_a_preview() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let path = scene("cornell.ron");
    let to_noise = |spp: &str, more: &[&str]| {
        let path = path.to_str().unwrap();
        let arguments = ["--backend", "cpu", "--size", "24x24", "--noise", "0.3"];
        let all = [&[path, "--spp", spp][..], &arguments, more].concat();
        run(folder.path(), all)
    };
    for (name, more) in [
        ("a.png", &["--denoise"][..]),
        ("a.exr", &["--layers", "denoised"]),
    ] {
        let stats = ["-o", name, "--stats", "a.json"];
        let shown = to_noise("64", &[&stats[..], more].concat());
        assert_done(&shown);
        assert!(!stderr(&shown).contains("contains no denoised preview"));
        assert!(statistics(&at("a.json"))["denoise_ms"].as_f64().unwrap() > 0.0);
    }
    assert!(is_marked(&at("a.png")));
    assert_ne!(
        channel(&at("a.exr"), "denoised.R"),
        channel(&at("a.exr"), "R")
    );
    // The preview needs two completed rounds.
    let few = to_noise("31", &["-o", "b.png", "--denoise"]);
    assert_done(&few);
    assert!(stderr(&few).contains(
        "b.png contains no denoised preview: with --noise, the noise is unknown below 32 samples per pixel"
    ));
    assert!(!is_marked(&at("b.png")));
}

fn debug_view_refuses_denoising() {
    let folder = folder();
    let refused = small_render(
        folder.path(),
        &["-o", "a.png", "--denoise", "--view", "samples"],
    );
    let expected = "--denoise applies to the rendered image, and --view samples replaces it";
    assert_refused(&refused, 2, &[expected]);
    assert!(!folder.path().join("a.png").exists());
}

/// Returns the values of one channel of an EXR.
pub(crate) fn channel(path: &Path, name: &str) -> Vec<f32> {
    let image = exr::prelude::read_first_flat_layer_from_file(path).unwrap();
    let channels = image.layer_data.channel_data.list.iter();
    let channel = channels.clone().find(|channel| channel.name.eq(name));
    channel
        .expect(name)
        .sample_data
        .values_as_f32()
        .collect::<Vec<f32>>()
}

fn missing_preview_is_reported() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let path = scene("spheres.ron");
    let path = path.to_str().unwrap();
    let once = [path, "--backend", "cpu", "--size", "48x32", "--spp", "1"];
    let render = |more: &[&str]| run(folder.path(), once.iter().chain(more));
    assert_done(&render(&["-o", "plain.png"]));
    let one = render(&["-o", "a.png", "--denoise", "--stats", "a.json"]);
    assert_done(&one);
    assert!(stderr(&one).contains("a.png contains no denoised preview"));
    assert!(!is_marked(&at("a.png")));
    assert!(statistics(&at("a.json")).get("denoise_ms").is_none());
    assert_eq!(
        fs::read(at("plain.png")).unwrap(),
        fs::read(at("a.png")).unwrap()
    );
}
