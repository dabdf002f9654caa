//! Tests of animated models, which the window plays, pauses and shows at a time.

use std::fs;

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    desktop::{BARE, Desktop, eventually, raysieve},
    gltf::Gltf,
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        an_animation_plays_and_is_stepped_and_scrubbed,
        a_key_chooses_the_next_animation,
        the_first_hints_tell_how_to_play_an_animation,
        a_picture_at_a_time_is_that_of_the_command_line,
        a_comparison_at_another_time_is_labelled_so,
    );
}

/// Settings for a window with a scrub bar at its lower edge.
const SETTINGS: &str = "(statistics: short, size: Some((480, 440)))";

/// Opens a window with the shrinking triangle.
fn open(arguments: &[&str]) -> Desktop {
    open_model(&Gltf::shrinking(), arguments)
}

/// Opens a window with a model.
fn open_model(model: &Gltf, arguments: &[&str]) -> Desktop {
    let model = model.text();
    let render = ["--size", "240x180", "--spp", "4"];
    let arguments = [&render, arguments].concat();
    Desktop::open_file("scene.gltf", &model, &arguments, &[], SETTINGS)
}

/// Returns the time in the title of the window.
fn time(desktop: &Desktop) -> f64 {
    let title = desktop.title();
    let words = title.split("time ").nth(1);
    let number = words.and_then(|words| words.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no time: {title}"))
}

fn an_animation_plays_and_is_stepped_and_scrubbed() {
    let desktop = open(&[]);
    desktop.until_title("scene.gltf – rest pose, animation of 2 s – ");
    for (key, shown) in [
        ("period", "time 0.00 of 2 s"),
        ("greater", "time 0.04 of 2 s"),
        ("comma", "time 0.00 of 2 s"),
        ("less", "time 2.00 of 2 s"),
        ("period", "time 0.00 of 2 s"),
    ] {
        desktop.press(&[key]);
        desktop.until_title(shown);
    }
    desktop.press(&["P"]);
    for second in 0..2 {
        eventually("the animation plays", || {
            let now = time(&desktop);
            (now.floor() == f64::from(second) && now > 0.1).then_some(())
        });
    }
    eventually("the animation begins again", || {
        (time(&desktop) < 1.0).then_some(())
    });
    desktop.press(&["P"]);
    // The time is printed with the camera.
    let printed = |count: usize| {
        desktop.press(&["k"]);
        eventually("the time is printed", || {
            let output = desktop.output();
            let times = output.split("// --time ").skip(1);
            let times: Vec<_> = times.filter_map(|rest| rest.split_once('\n')).collect();
            times.get(count).map(|(time, _)| (*time).to_owned())
        })
    };
    let paused = printed(0);
    assert_eq!(printed(1), paused, "the animation is paused");

    desktop.drag_from((200, 427), (479, 427));
    desktop.until_title("time 2.00 of 2 s");
    desktop.press(&["k"]);
    eventually("the time is printed with the camera", || {
        desktop
            .output()
            .contains("// --time 2\ncamera: (")
            .then_some(())
    });
}

fn a_key_chooses_the_next_animation() {
    let mut model = Gltf::hopping();
    // A long name is shortened, so that the title and the bar have room for the time.
    model.json["animations"][0]["name"] = "shrink ".repeat(20).into();
    let desktop = open_model(&model, &[]);
    desktop.until_title(
        "scene.gltf – shrink shrink shrink shrink shr…, rest pose, animation of 2 s – ",
    );
    for shown in [
        "scene.gltf – shrink shrink shrink shrink shr…, time 0.00 of 2 s",
        "scene.gltf – hop, time 0.00 of 0.75 s",
        "scene.gltf – all animations, time 0.00 of 2 s",
    ] {
        desktop.press(&["j"]);
        desktop.until_title(shown);
    }
    desktop.press(&["j", "j"]);
    desktop.until_title("scene.gltf – hop, time 0.00 of 0.75 s");
    desktop.press(&["k"]);
    eventually("the animation is printed with the camera", || {
        let output = desktop.output();
        output
            .contains("// --animation \"hop\" --time 0\ncamera: (")
            .then_some(())
    });
    // An animation that plays goes on with the next one.
    desktop.press(&["P", "j", "j"]);
    desktop.until_title("shrink shrink shrink shrink shr…, time 1.");
}

fn the_first_hints_tell_how_to_play_an_animation() {
    // Without figures, there is no scrub bar, and the rest pose is that of the model without its animation.
    let hints = |model: &Gltf| {
        let render = ["--size", "480x360", "--spp", "1"];
        let desktop = Desktop::open_file("scene.gltf", &model.text(), &render, &[], BARE);
        desktop.until_title("1 sample");
        desktop.still()
    };
    let mut model = Gltf::shrinking();
    let animated = hints(&model);
    model.json.as_object_mut().unwrap().remove("animations");
    let still = hints(&model);
    let height = |shot: &RgbImage| {
        let is_text = |pixel: &image::Rgb<u8>| pixel.0.iter().all(|&channel| channel > 140);
        let rows = shot.rows().filter(|row| row.clone().any(is_text));
        rows.count()
    };
    assert!(height(&animated) > height(&still), "a further line");
}

fn a_comparison_at_another_time_is_labelled_so() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.png");
    RgbImage::new(480, 360).save(&other).unwrap();
    let compare = ["--time", "0", "--compare", other.to_str().unwrap()];
    let arguments = [&["--size", "480x360", "--spp", "4"], &compare[..]].concat();
    let model = Gltf::shrinking().text();
    let desktop = Desktop::open_file("scene.gltf", &model, &arguments, &[], SETTINGS);
    desktop.press(&["Escape"]);
    desktop.until_title("time 0.00 of 2 s – 4 samples");
    // The label is right of the line in the middle, over the black image.
    let label = |shot: &RgbImage| {
        let right = image::imageops::crop_imm(shot, 245, 0, 230, 250).to_image();
        right.pixels().filter(|pixel| pixel.0[0] > 150).count()
    };
    let plain = label(&desktop.still());
    assert!(plain > 20, "the name of the image");
    desktop.press(&["period"]);
    desktop.until_title("time 0.04 of 2 s – 4 samples");
    desktop.until_shown("a longer label", |shot| 2 * label(shot) > 3 * plain);
    desktop.press(&["comma"]);
    desktop.until_title("time 0.00 of 2 s – 4 samples");
    desktop.until_shown("the name alone", |shot| label(shot) == plain);
}

fn a_picture_at_a_time_is_that_of_the_command_line() {
    let desktop = open(&["--time", "0"]);
    let end = |desktop: &Desktop| {
        desktop.press(&["less"]);
        desktop.until_title("time 2.00 of 2 s – 4 samples");
        desktop.save()
    };
    desktop.until_title("time 0.00 of 2 s – 4 samples");
    let first = desktop.save();
    let last = end(&desktop);
    assert!(first != last);
    desktop.press(&["period"]);
    desktop.until_title("time 0.00 of 2 s – 4 samples");
    assert!(desktop.save() == first);

    // Frames of a sequence have one camera and light too: those of all its times, of which 0 s is the largest.
    let folder = desktop.folder();
    let frames = raysieve(folder)
        .args([
            "scene.gltf",
            "--size",
            "240x180",
            "--spp",
            "4",
            "--frames",
            "0..49",
        ])
        .args(["-o", "frame.png"])
        .output()
        .unwrap();
    assert!(frames.status.success(), "{frames:?}");
    let frame = |number: u32| -> RgbImage {
        let path = folder.join(format!("frame.{number:04}.png"));
        image::open(&path).unwrap().to_rgb8()
    };
    assert!(first == frame(0));
    assert!(last == frame(48));

    // A reload keeps the time, the camera and the light.
    let text = fs::read_to_string(folder.join("scene.gltf")).unwrap();
    assert!(end(&desktop) == last);
    desktop.write_file("scene.gltf", &text.replace("0.05", "0.5"));
    eventually("the reloaded picture", || {
        (desktop.save() != last).then_some(())
    });
    assert!(
        desktop.title().contains("time 2.00 of 2 s"),
        "{}",
        desktop.title()
    );
    desktop.write_file("scene.gltf", &text);
    eventually("the picture of the first file", || {
        (desktop.save() == last).then_some(())
    });
}
