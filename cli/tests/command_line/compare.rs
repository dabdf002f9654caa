//! Tests of `--compare`, next to the program of the authors of FLIP.

use std::path::Path;

use libtest_mimic::Trial;
use nv_flip::{DEFAULT_PIXELS_PER_DEGREE, FlipImageRgb8, flip};
use raysieve::film::picture::{
    relative_squared_error,
    tone::{self, Tone},
};

use crate::{add_tests, assert_done, assert_refused, files::linear, folder, names, stderr, stdout};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        comparison_agrees_with_the_reference_implementation_of_flip,
        image_does_not_differ_from_itself,
        unusable_image_is_refused_before_the_render,
        existing_images_are_compared_without_rendering,
    );
}

/// Returns the error map by the program of the authors, for images as both look at this exposure.
fn expected_map(folder: &Path, reference: &str, test: &str, stops: f32) -> Vec<f32> {
    let [reference, test] = [reference, test].map(|name| {
        let picture = linear(&folder.join(name));
        let rgba = tone::to_srgb8(&picture, stops, Tone::Srgb);
        let (pixels, _) = rgba.as_chunks::<4>();
        let rgb: Vec<u8> = pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
        FlipImageRgb8::with_data(picture.width, picture.height, &rgb)
    });
    flip(reference, test, DEFAULT_PIXELS_PER_DEGREE).to_vec()
}

/// Returns the numbers in the line of the output that begins with this word.
fn numbers(output: &str, word: &str) -> Vec<f64> {
    let line = output
        .lines()
        .find(|line| line.trim_start().starts_with(word));
    let line = line.unwrap_or_else(|| panic!("no {word} in {output}"));
    let words = line.split([' ', ',']);
    words.filter_map(|word| word.parse().ok()).collect()
}

fn comparison_agrees_with_the_reference_implementation_of_flip() {
    let folder = folder();
    let folder = folder.path();
    let large = ["--size", "160x120", "--exposure", "0.5"];
    assert_done(&render(
        folder,
        &[&large[..2], &["--spp", "9", "--seed", "7", "-o", "a.exr"]].concat(),
    ));
    assert_done(&render(folder, &[&large[..2], &["-o", "b.exr"]].concat()));
    let output = render(
        folder,
        &[&large[..], &["-o", "b.png", "--compare", "a.exr"]].concat(),
    );
    assert_done(&output);
    let printed = stdout(&output);
    let expected = expected_map(folder, "a.exr", "b.exr", 0.5);
    let mean = expected.iter().map(|&error| f64::from(error)).sum::<f64>() / expected.len() as f64;
    let largest = expected.iter().copied().fold(0.0, f32::max);
    let found = numbers(&printed, "FLIP");
    assert!(mean > 0.01, "the images hardly differ: {mean}");
    assert!((found[0] - mean).abs() < 2e-4, "{mean}: {printed}");
    assert!(
        (found[3] - f64::from(largest)).abs() < 2e-4,
        "{largest}: {printed}"
    );
    let below = expected
        .iter()
        .filter(|&&error| f64::from(error) <= found[1] + 1e-3)
        .count();
    let share = below as f64 / expected.len() as f64;
    assert!((0.945..0.965).contains(&share), "{share}: {printed}");
    let [a, b] = ["a.exr", "b.exr"].map(|name| linear(&folder.join(name)));
    let squared = relative_squared_error(&b, &a);
    assert!(
        (numbers(&printed, "squared")[0] / squared - 1.0).abs() < 1e-3,
        "{squared}: {printed}"
    );
    // The map has the colors of each pixel's error, except for rounding.
    assert!(printed.ends_with("error map    b.flip.png\n"), "{printed}");
    let map = image::open(folder.join("b.flip.png"))
        .expect("a map")
        .into_rgb8();
    assert_eq!(map.dimensions(), (160, 120));
    for (pixel, error) in map.pixels().zip(&expected) {
        let color = colorous::MAGMA.eval_continuous(f64::from(*error));
        let pairs = pixel.0.iter().zip([color.r, color.g, color.b]);
        let far = pairs.map(|(&one, other)| one.abs_diff(other)).max();
        assert!(far <= Some(3), "{pixel:?} for {error}");
    }
}

fn image_does_not_differ_from_itself() {
    let folder = folder();
    assert_done(&render(folder.path(), &["-o", "a.exr"]));
    let output = render(folder.path(), &["-o", "b.exr", "--compare", "a.exr"]);
    assert_done(&output);
    let printed = stdout(&output);
    assert_eq!(numbers(&printed, "FLIP"), [0.0, 0.0, 95.0, 0.0]);
    assert_eq!(numbers(&printed, "squared"), [0.0]);
    assert_eq!(names(folder.path()), ["a.exr", "b.exr", "b.flip.png"]);

    // Transparent images do not differ either, and their map has their alpha.
    let transparent = ["--background", "transparent"];
    for [name, other] in [["c.exr", "a.exr"], ["d.png", "c.exr"], ["e.exr", "d.png"]] {
        let output = render(
            folder.path(),
            &[&transparent[..], &["-o", name, "--compare", other]].concat(),
        );
        assert_done(&output);
        let is_same = other != "a.exr";
        let printed = stdout(&output);
        assert_eq!(numbers(&printed, "FLIP")[3] == 0.0, is_same, "{printed}");
    }
    let open = |name: &str| image::open(folder.path().join(name)).expect("an image");
    let alpha = |image: &image::DynamicImage| -> Vec<u8> {
        let image = image.as_rgba8().expect("an image with alpha");
        image.pixels().map(|pixel| pixel.0[3]).collect()
    };
    let expected = alpha(&open("d.png"));
    assert!(expected.contains(&0) && expected.contains(&255));
    assert_eq!(alpha(&open("d.flip.png")), expected);
    assert_eq!(alpha(&open("e.flip.png")), expected);
    assert!(open("c.flip.png").as_rgba8().is_none(), "one is opaque");

    // Light whose alpha is 0 everywhere is opaque.
    let light = open("a.exr").to_rgb32f();
    let clear = |pixel: &image::Rgb<f32>| image::Rgba([pixel[0], pixel[1], pixel[2], 0.0]);
    let clear: Vec<f32> = light.pixels().flat_map(|pixel| clear(pixel).0).collect();
    let clear = image::Rgba32FImage::from_raw(48, 32, clear).expect("an image of this size");
    clear.save(folder.path().join("clear.exr")).expect("an EXR");
    let output = crate::run(folder.path(), ["clear.exr", "--compare", "a.exr"]);
    assert_done(&output);
    let printed = stdout(&output);
    assert_eq!(numbers(&printed, "FLIP"), [0.0, 0.0, 95.0, 0.0]);
}

fn unusable_image_is_refused_before_the_render() {
    let folder = folder();
    assert_done(&render(folder.path(), &["-o", "a.exr"]));
    std::fs::create_dir(folder.path().join("c.flip.png")).expect("a folder");
    let before = names(folder.path());
    let wrong: &[(&[&str], &[&str])] = &[
        (&["-o", "b.exr", "--compare", "none.exr"], &["none.exr"]),
        (&["-o", "b.exr", "--compare", "a.jpg"], &["a.jpg", ".png"]),
        (
            &["-o", "b.exr", "--compare", "a.exr", "--size", "16x16"],
            &["a.exr", "is 48x32", "--size 48x32"],
        ),
        (
            &["-o", "c.png", "--compare", "a.exr"],
            &["c.flip.png", "folder"],
        ),
    ];
    for (arguments, expected) in wrong {
        assert_refused(&render(folder.path(), arguments), 2, expected);
    }
    assert_eq!(names(folder.path()), before);
}

fn existing_images_are_compared_without_rendering() {
    let folder = folder();
    let folder = folder.path();
    for seed in ["1", "2"] {
        for ending in ["exr", "png"] {
            let name = format!("{seed}.{ending}");
            assert_done(&render(folder, &["--seed", seed, "-o", &name]));
        }
    }
    let rendered = render(
        folder,
        &["--seed", "1", "-o", "again.exr", "--compare", "2.exr"],
    );
    assert_done(&rendered);
    let expected = numbers(&stdout(&rendered), "FLIP");
    let compare = |arguments: &[&str]| crate::run(folder, arguments);
    let output = compare(&["1.exr", "--compare", "2.exr"]);
    assert_done(&output);
    let printed = stdout(&output);
    assert!(printed.ends_with("error map    1.flip.png\n"), "{printed}");
    assert!(numbers(&printed, "squared")[0] > 0.0);
    assert_eq!(stderr(&output), "", "nothing is rendered");
    let flip = numbers(&printed, "FLIP");
    assert!(flip[0] > 0.01, "{printed}");

    // The PNGs are what the EXRs look like, except for their exposure.
    let output = compare(&["1.png", "--compare", "2.png", "-o", "map.png"]);
    assert_done(&output);
    let printed = stdout(&output);
    assert_eq!(numbers(&printed, "FLIP"), expected, "{printed}");
    assert!(!printed.contains("squared"), "{printed}");
    assert!(folder.join("map.png").exists());

    let refused: &[(&[&str], &[&str])] = &[
        (&["1.exr"], &["1.exr", "--compare"]),
        (
            &["1.exr", "--compare", "2.exr", "--spp", "4"],
            &["--spp", "not rendered"],
        ),
        (
            &["1.exr", "--compare", "2.exr", "-o", "map.exr"],
            &["map.exr", ".png"],
        ),
        (&["1.exr", "--compare", "none.exr"], &["none.exr"]),
    ];
    for (arguments, expected) in refused {
        assert_refused(&compare(arguments), 2, expected);
    }
    assert_done(&render(folder, &["--size", "16x16", "-o", "small.exr"]));
    let output = compare(&["small.exr", "--compare", "1.exr"]);
    assert_refused(&output, 2, &["1.exr", "is 48x32", "small.exr", "16x16"]);
}

/// Renders the scene `spheres` with 3 samples, at 48×32 pixels unless the arguments have another size.
fn render(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let spheres = crate::scene("spheres.ron");
    let mut all = vec![spheres.to_str().expect("a path"), "--backend", "cpu"];
    if !arguments.contains(&"--size") {
        all.extend(["--size", "48x32"]);
    }
    if !arguments.contains(&"--spp") {
        all.extend(["--spp", "3"]);
    }
    crate::run(folder, [&all[..], arguments].concat())
}
