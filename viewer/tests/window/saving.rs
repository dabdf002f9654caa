//! Tests of saving under a chosen name. The dialog is a script in place of zenity, which answers with a prepared name.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use libtest_mimic::Trial;
use raysieve::{
    inspect::aovs::Aov,
    render::part::{PartHeader, aovs_of},
};

use crate::{
    desktop::{Desktop, SCENE, differing_pixels, eventually, problem_pixels, raysieve},
    editing::{NUMBER, SAVE_AS, TOOLS, row},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        picture_film_and_scene_are_saved_under_a_chosen_name,
        without_a_dialog_the_name_is_typed_in_the_window,
    );
}

/// Opens a window whose dialogs can only come from a program in this folder.
fn open(folder: &Path) -> Desktop {
    let environment = [
        ("PATH", folder.to_str().expect("a path in plain text")),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent"),
    ];
    let desktop = Desktop::open_with(SCENE, &[], &environment);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["Escape"]);
    desktop
}

fn picture_film_and_scene_are_saved_under_a_chosen_name() {
    let folder = tempfile::tempdir().unwrap();
    let dialog = folder.path().join("zenity");
    let answer = folder.path().join("answer");
    let asked = folder.path().join("asked");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\nexec /bin/cat {}\n",
        asked.display(),
        answer.display()
    );
    fs::write(&dialog, script).unwrap();
    fs::set_permissions(&dialog, fs::Permissions::from_mode(0o755)).unwrap();
    let mut desktop = open(folder.path());
    let plain = desktop.save();

    // A cancelled dialog saves nothing.
    desktop.press(&["ctrl+s"]);
    eventually("the dialog is opened", || {
        let words = fs::read_to_string(&asked).ok()?;
        assert!(
            words.contains("--save")
                && words.contains("scene.png")
                && words.contains("| *.png *.exr *.ron"),
            "{words}"
        );
        Some(())
    });
    let save_to = |name: &str| {
        // The last dialog has ended, and the window has said what was saved.
        desktop.until_idle();
        let path = desktop.folder().join(name);
        fs::write(&answer, path.to_str().unwrap()).unwrap();
        desktop.press(&["S"]);
        path
    };
    let until_written =
        |path: &Path| eventually("the file is written", || path.exists().then_some(()));

    let picture = save_to("chosen.png");
    until_written(&picture);
    assert!(image::open(&picture).unwrap().to_rgb8() == plain);

    // A name without an ending is that of a picture. It replaces nothing, because the dialog has not asked for that.
    let picture = save_to("short").with_extension("png");
    until_written(&picture);
    fs::write(&picture, "kept").unwrap();
    save_to("short");

    let film = save_to("chosen.exr");
    until_written(&film);
    let layers = aovs_of(&film).unwrap();
    for layer in [
        Aov::Albedo,
        Aov::Normal,
        Aov::Depth,
        Aov::Samples,
        Aov::Denoised,
    ] {
        assert!(layers.contains(&layer), "{layers:?}");
    }
    let mut command = raysieve(desktop.folder());
    let rendered = command
        .args(["scene.ron", "-o", "rendered.exr"])
        .output()
        .unwrap();
    assert!(rendered.status.success());
    let hash = |path: &Path| PartHeader::read(path).unwrap().stats.film_hash;
    assert_eq!(hash(&film), hash(&desktop.folder().join("rendered.exr")));

    desktop.press(&["Right"]);
    let scene = save_to("chosen.ron");
    until_written(&scene);
    let text = fs::read_to_string(&scene).unwrap();
    assert_ne!(text, SCENE);
    assert!(
        text.contains("\"white\": Diffuse(albedo: (0.7, 0.7, 0.7)),"),
        "{text}"
    );
    assert_eq!(desktop.scene(), SCENE, "the scene itself is not changed");

    let other = save_to("chosen.jpg");
    desktop.until_idle();
    assert!(!other.exists());
    assert_eq!(fs::read_to_string(&picture).unwrap(), "kept");
    assert!(!picture.with_extension("").exists());
    let names = ["chosen.exr", "chosen.png", "chosen.ron", "scene-001.png"];
    let mut found: Vec<_> = fs::read_dir(desktop.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("chosen") || name.starts_with("scene-"))
        .collect();
    found.sort();
    assert_eq!(found, names);

    // The scene's own file gets the changes, and quitting asks for nothing that has been saved in a file.
    save_to("scene.ron");
    eventually("the camera is saved to the scene", || {
        (desktop.scene() == text).then_some(())
    });
    desktop.press(&["Left"]);
    until_written(&save_to("second.ron"));
    let stays_open = |name: &str| {
        desktop.until_idle();
        desktop.until_asked(|| desktop.press(&["q"]));
        desktop.until_title(name);
    };
    // The saved camera is that of another scene.
    desktop.drop_file("other.ron", &text);
    desktop.until_title("other.ron – 4 samples");
    desktop.press(&["Left"]);
    stays_open("other.ron");
    // A scene that shows a model has no edits of its materials.
    desktop.drop_twice("model.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    desktop.until_title("model.obj");
    desktop.press(&["m", "bracketleft", "m", "bracketleft"]);
    let model = save_to("model.ron");
    until_written(&model);
    let shown = fs::read_to_string(&model).unwrap();
    assert!(shown.contains("Model(file: \"model.obj\""), "{shown}");
    assert!(
        shown.contains("Studio(azimuth: ") && shown.contains("scale: 0.8)"),
        "the studio has the edited strength: {shown}"
    );
    stays_open("model.obj");
    // A scene of another renderer is never written. Its changes can be printed.
    let foreign = "LookAt 0 1 5  0 0 0  0 1 0\nCamera \"perspective\"\n\
                   Film \"rgb\" \"integer xresolution\" 64 \"integer yresolution\" 48\n\
                   WorldBegin\nLightSource \"infinite\"\n\
                   Material \"diffuse\" \"rgb reflectance\" [0.5 0.25 0.125]\nShape \"sphere\"\n";
    desktop.drop_twice("other.pbrt", foreign);
    desktop.until_title("other.pbrt");
    desktop.press(&["m", "bracketleft", "k"]);
    eventually("the edit is printed as a comment", || {
        desktop.output().contains("// material ").then_some(())
    });
    let foreign = save_to("foreign.ron");
    desktop.until_idle();
    assert!(!foreign.exists());
    stays_open("other.pbrt");

    desktop.drop_twice("scene.ron", &text);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["Left"]);
    until_written(&save_to("third.ron"));
    desktop.until_idle();
    desktop.press(&["q"]);
    assert!(desktop.until_ended().success());
}

fn without_a_dialog_the_name_is_typed_in_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let desktop = open(folder.path());
    let bare = desktop.still();
    let plain = desktop.save();
    let in_folder = |name: &str| desktop.folder().join(name);
    // The keys of the window are letters of the name, such as `q`, and belong to the window again afterwards.
    let ask = |key: &str| {
        let before = desktop.shot();
        desktop.press(&[key]);
        eventually("the question for a name", || {
            let shot = desktop.shot();
            (differing_pixels(&shot, &before) > 10_000).then_some(shot)
        })
    };
    let until_written = |name: &str| {
        let path = in_folder(name);
        eventually("the file is written", || {
            path.exists().then_some(path.clone())
        })
    };
    // The message about the saved picture covers the window for a while.
    desktop.until_same(&bare, "the window without messages");
    // The question comes together with a line about the missing dialog, which disappears after some seconds.
    let first = differing_pixels(&ask("ctrl+s"), &bare);
    desktop.press(&["Return"]);
    let picture = until_written("scene.png");
    eventually("the picture is complete", || {
        Some(image::open(&picture).ok()?.to_rgb8()).filter(|saved| *saved == plain)
    });
    ask("S");
    desktop.press(&["q", "x", "BackSpace", "period", "e", "x", "r", "Return"]);
    until_written("q.exr");
    // The line about the missing dialog comes once.
    desktop.until_same(&bare, "the window without messages");
    let second = differing_pixels(&ask("S"), &bare);
    assert!(second + 1_000 < first, "{second} and {first} pixels");
    // A name that is refused stays, with the reason, until it is right.
    for typed in ["r.jpg", "no/r.png"] {
        let before = problem_pixels(&desktop.shot());
        let keys = typed.replace('.', " period ").replace('/', " slash ");
        let keys = keys.split(' ').flat_map(|key| match key.len() {
            ..4 => key.split("").filter(|letter| !letter.is_empty()).collect(),
            _ => vec![key],
        });
        desktop.press(&keys.collect::<Vec<_>>());
        desktop.press(&["Return"]);
        desktop.until_shown("why it is refused", |shot| {
            problem_pixels(shot) > before + 100
        });
        assert!(!in_folder(typed).exists());
        desktop.press(&vec!["BackSpace"; typed.len()]);
        desktop.until_shown("no reason", |shot| problem_pixels(shot) < before + 50);
    }
    desktop.press(&["r", "period", "p", "n", "g", "Return"]);
    until_written("r.png");
    // An existing file is replaced by a second Enter only.
    fs::write(&picture, "kept").unwrap();
    ask("S");
    desktop.press(&["Return"]);
    desktop.until_idle();
    desktop.press(&["Escape"]);
    assert_eq!(fs::read_to_string(&picture).unwrap(), "kept");
    ask("S");
    desktop.press(&["Return", "Return"]);
    eventually("the picture is replaced", || image::open(&picture).ok());

    // The editor proposes a new scene file.
    desktop.press(&["h", "h", "h", "l", "bracketright"]);
    let (width, _) = desktop.shot().dimensions();
    let before = desktop.still();
    desktop.click(width - SAVE_AS, TOOLS);
    desktop.until_shown("the question for a name", |shot| {
        differing_pixels(shot, &before) > 10_000
    });
    desktop.press(&["Return"]);
    let text = fs::read_to_string(until_written("scene-edited.ron")).unwrap();
    assert_ne!(text, SCENE);
    assert_eq!(desktop.scene(), SCENE);
    // The edits are saved, and a camera that was only moved is not worth a file.
    desktop.press(&["Right"]);
    let kept = in_folder("scene.unsaved.ron");
    // The field of view is. The camera is the last part, and the first material is selected.
    desktop.press(&["M"]);
    desktop.click_visibly(width - NUMBER, row(0));
    desktop.press(&["7", "0", "Return"]);
    eventually("the field of view is kept", || {
        let text = fs::read_to_string(&kept).ok()?;
        text.contains("fov: 70").then_some(())
    });
    desktop.press(&["u"]);
    eventually(
        "it goes when it is undone, although the camera was moved",
        || (!kept.exists()).then_some(()),
    );
    let mut desktop = desktop;
    desktop.interrupt();
    assert_eq!(desktop.until_ended().code(), Some(130));
    assert!(!kept.exists(), "the camera was only moved");
}
