//! Tests of `--crop`.

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused,
    files::{linear, statistics},
    folder, names, raysieve, scene, small_render, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        region_has_the_pixels_of_the_whole_image,
        region_continues_from_its_checkpoint,
        unusable_region_is_refused,
    );
}

fn region_has_the_pixels_of_the_whole_image() {
    let folder = folder();
    let folder = folder.path();
    let crop = ["--crop", "5,7,20x9"];
    let render = |more: &[&str]| {
        let output = small_render(folder, more);
        assert_done(&output);
        output
    };
    render(&["-o", "all.exr", "--layers", "normal,samples"]);
    render(&["-o", "all.png"]);
    let crop_exr = [
        "-o",
        "crop.exr",
        "--layers",
        "normal,samples",
        "--stats",
        "crop.json",
    ];
    let output = render(&[&crop[..], &crop_exr].concat());
    render(&[&crop[..], &["-o", "crop.png"]].concat());
    assert_eq!(statistics(&folder.join("crop.json"))["paths"], 20 * 9 * 3);
    assert!(
        stdout(&output).contains("image        crop.exr"),
        "{}",
        stderr(&output)
    );

    let [all, cropped] = ["all.png", "crop.png"].map(|name| {
        let image = image::open(folder.join(name)).expect("a PNG");
        image.into_rgb8()
    });
    assert_eq!(cropped.dimensions(), (20, 9));
    for (x, y, pixel) in cropped.enumerate_pixels() {
        assert_eq!(pixel, all.get_pixel(x + 5, y + 7), "{x},{y}");
    }
    // Readers show the data window in the display window, which has the size of the whole image.
    let [all, cropped] = ["all.exr", "crop.exr"].map(|name| linear(&folder.join(name)));
    assert_eq!((cropped.width, cropped.height), (48, 32));
    for (number, (own, expected)) in cropped.pixels.iter().zip(&all.pixels).enumerate() {
        let (x, y) = (number % 48, number / 48);
        let is_inside = (5..25).contains(&x) && (7..16).contains(&y);
        let expected = if is_inside {
            *expected
        } else {
            glam::Vec3::ZERO
        };
        assert_eq!(*own, expected, "{x},{y}");
    }
    let meta = exr::meta::MetaData::read_from_file(folder.join("crop.exr"), false).expect("an EXR");
    let names: Vec<String> = meta.headers[0]
        .channels
        .list
        .iter()
        .map(|channel| channel.name.to_string())
        .collect();
    assert_eq!(
        names,
        ["B", "G", "R", "normal.X", "normal.Y", "normal.Z", "samples"]
    );
    // The region is not a part.
    let merged = crate::run(folder, ["merge", "crop.exr", "-o", "m.png"]);
    assert_refused(&merged, 2, &["crop.exr"]);

    // A transparent background gives alpha, and each pixel has its samples with --noise too.
    let clear = &["--background", "transparent", "--noise", "0.5"];
    render(&[&clear[..], &["-o", "all.png"]].concat());
    render(&[&clear[..], &crop, &["-o", "crop.png"]].concat());
    let [all, cropped] = ["all.png", "crop.png"].map(|name| {
        let image = image::open(folder.join(name)).expect("a PNG");
        image.into_rgba8()
    });
    for (x, y, pixel) in cropped.enumerate_pixels() {
        assert_eq!(pixel, all.get_pixel(x + 5, y + 7), "{x},{y}");
    }
}

/// Renders half of the samples, then all of them from the checkpoint.
fn region_continues_from_its_checkpoint() {
    let folder = folder();
    let folder = folder.path();
    let crop = ["--crop", "5,7,20x9"];
    let saved = ["--checkpoint", "saved.exr", "--stats", "stats.json"];
    let render = |samples: &str, image: &str, more: &[&str]| {
        let mut command = raysieve(folder);
        command.arg(scene("spheres.ron")).args(crop);
        command.args([
            "--backend",
            "cpu",
            "--size",
            "48x32",
            "--spp",
            samples,
            "-o",
            image,
        ]);
        assert_done(&command.args(more).output().expect("the program starts"));
    };
    render("4", "at_once.exr", &[]);
    render("2", "half.exr", &saved);
    render("4", "all.exr", &saved);
    assert_eq!(statistics(&folder.join("stats.json"))["paths"], 20 * 9 * 4);
    let [all, at_once] = ["all.exr", "at_once.exr"].map(|name| linear(&folder.join(name)));
    assert!(all.pixels == at_once.pixels);
    // The checkpoint is no part of an image.
    let verified = crate::run(folder, ["verify", "saved.exr"]);
    assert_refused(&verified, 2, &["crop 5,7,20x9"]);
}

fn unusable_region_is_refused() {
    let folder = folder();
    let wrong: &[(&[&str], &[&str])] = &[
        (&["--crop", "40,0,9x4"], &["crop 40,0,9x4", "48x32"]),
        (&["--crop", "0,0,4294967295x4294967295"], &["48x32"]),
        (&["--crop", "0,0,0x4"], &["'0,0,0x4'", "such as 16,0,64x48"]),
        (
            &["--crop", "-1,0,4x4"],
            &["'-1,0,4x4'", "such as 16,0,64x48"],
        ),
        (&["--crop", "4x4"], &["'4x4'", "such as 16,0,64x48"]),
        (
            &["--crop", "0,0,4x4", "--overlay"],
            &["--crop", "--overlay"],
        ),
        (
            &["--crop", "0,0,4x4", "--view", "cost"],
            &["--crop", "--view"],
        ),
        (
            &["--crop", "0,0,4x4", "-o", "a.exr", "--samples", "0..2"],
            &["--crop", "--samples"],
        ),
        (
            &["--crop", "0,0,4x4", "-o", "a.exr", "--layers", "denoised"],
            &["denoised", "--crop"],
        ),
        (
            &["--crop", "0,0,4x4", "-o", "a.exr", "--checkpoint", "a.exr"],
            &["--crop", "a.exr", "name another checkpoint"],
        ),
    ];
    for (arguments, expected) in wrong {
        assert_refused(&small_render(folder.path(), arguments), 2, expected);
    }
    assert!(names(folder.path()).is_empty());
}
