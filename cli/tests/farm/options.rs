//! Tests of the options of the model, the camera and the light, which the parts repeat.

use std::fs;

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused, folder,
    kubernetes::KUBERNETES,
    run,
    scripts::{assert_bits, farm, printed, scene_folder, task, write_by_hand},
    stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        film_is_identical_with_options_of_camera_and_light,
        farm_takes_all_options_of_the_model_camera_and_light,
        each_definition_is_repeated_for_the_parts,
    );
}

/// Options of camera and light whose path is relative and needs quotes in a shell.
const FRAMED: [&str; 9] = [
    "--camera-from",
    "-30,20,6",
    "--fov",
    "35.5",
    "--env",
    "it's a sky.hdr,90,0.5",
    "--background",
    "transparent",
    "--ground",
];

fn film_is_identical_with_options_of_camera_and_light() {
    let folder = scene_folder();
    let folder = folder.path();
    let sky = image::Rgb32FImage::from_fn(8, 4, |x, y| image::Rgb([x as f32, y as f32, 1.0]));
    sky.save(folder.join("it's a sky.hdr")).unwrap();
    let framed = &FRAMED[..];
    let arguments = [
        "box.ron",
        "--parts",
        "3",
        "-o",
        "out.exr",
        "--backend",
        "cpu",
    ];
    let scripts = printed(folder, &[&arguments[..], framed].concat());
    let farm_folder = write_by_hand(folder, &scripts);
    for part in 0..3 {
        assert_done(&task(&farm_folder, "part.sh", part));
    }
    assert_done(&task(&farm_folder, "merge.sh", 0));
    assert_bits(folder, framed);
    // The stored options also tell whether the scene has changed.
    fs::remove_file(folder.join("out.exr")).unwrap();
    fs::remove_dir_all(&farm_folder).unwrap();
    let begun = [&arguments[..], framed, &KUBERNETES].concat();
    assert_done(&farm(folder, &begun));
    let again = farm(folder, &["-o", "out.exr"]);
    assert_done(&again);
    assert!(
        stdout(&again).contains("--camera-from '-30,20,6'"),
        "{}",
        stdout(&again)
    );
    let other = farm(folder, &[&arguments[..], &KUBERNETES].concat());
    assert_refused(&other, 2, &["out.farm", "shows another scene"]);
    // Containers see only the volume.
    let elsewhere = crate::folder();
    let outside = elsewhere.path().join("sky.hdr");
    sky.save(&outside).unwrap();
    let outside = ["--env", outside.to_str().unwrap()];
    fs::remove_dir_all(&farm_folder).unwrap();
    let refused = farm(folder, &[&arguments[..], &KUBERNETES, &outside].concat());
    assert_refused(&refused, 2, &["--mount", "does not contain", "sky.hdr"]);
    let outside = ["--env", "/elsewhere.hdr"];
    let refused = farm(folder, &[&arguments[..], &outside].concat());
    assert_refused(&refused, 2, &["/elsewhere.hdr"]);
    let refused = farm(folder, &["-o", "out.exr", "--up", "z"]);
    assert_refused(&refused, 2, &["--up", "SCENE"]);
}

fn each_definition_is_repeated_for_the_parts() {
    let folder = folder();
    let folder = folder.path();
    let size = |name: &str| format!("<integer name=\"{name}\" value=\"${name}\"/>");
    let film = format!(
        "<film type=\"hdrfilm\">{}{}</film>",
        size("width"),
        size("height")
    );
    let text = format!(
        "<scene><sensor type=\"perspective\">{film}</sensor><shape type=\"sphere\"/>\
         <emitter type=\"constant\"/></scene>"
    );
    fs::write(folder.join("ball.xml"), text).unwrap();
    let arguments = [
        "ball.xml",
        "--parts",
        "1",
        "-o",
        "out.exr",
        "--backend",
        "cpu",
        "--define",
        "width=16",
        "--define",
        "height=8",
    ];
    let farm_folder = write_by_hand(folder, &printed(folder, &arguments));
    assert_done(&task(&farm_folder, "part.sh", 0));
}

/// Returns the names of the options under these headings of a help text.
fn options_under(help: &str, headings: &[&str]) -> Vec<String> {
    let mut under = false;
    let mut options = Vec::new();
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':')
            && !line.starts_with(' ')
        {
            under = headings.contains(&heading);
        }
        let name = line.trim_start().strip_prefix("--");
        if let Some(name) = name.filter(|_| under && line.len() - line.trim_start().len() < 8) {
            options.push(name.split([' ', '[']).next().unwrap_or_default().to_owned());
        }
    }
    options
}

fn farm_takes_all_options_of_the_model_camera_and_light() {
    let folder = folder();
    let headings = ["Model", "Camera and light"];
    let [all, farm] = [&["--help"][..], &["farm", "--help"]]
        .map(|arguments| options_under(&stdout(&run(folder.path(), arguments)), &headings));
    assert!(all.contains(&"env".to_owned()) && all.len() > 10, "{all:?}");
    // Sequences have no parts.
    let of_sequences = ["frames", "fps", "turntable"];
    let missing: Vec<&String> = all
        .iter()
        .filter(|name| !farm.contains(name) && !of_sequences.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "farm lacks {missing:?}");
}
