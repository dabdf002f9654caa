//! Tests of scenes of Mitsuba and pbrt: what they mean, what is left out, and the error for each invalid file. The
//! renderer's test `imported` compares their images with those of Mitsuba.

mod absent_files;
mod coats;
mod curves;
mod defaults;
mod folders;
mod fronts;
mod hidden_lights;
mod lights_in_shapes;
mod media;
mod mitsuba;
mod mitsuba_xml;
mod numbers;
mod orientation;
mod parameters;
mod pbrt;
mod plastic_and_spots;
mod principled;
mod projectors;
mod relief;
mod repeated;
mod sides;
mod sky;
mod subdivision;
mod textures;
#[path = "../../../tests/common/thread_time.rs"]
mod thread_time;
mod views;

use std::{fs, path::Path};

use image::DynamicImage;
use raysieve_scene::{LoadOptions, Scene};
use tempfile::TempDir;

/// Writes files, of which the first is the scene, and loads it. Returns its error without the folder.
fn load(files: &[(&str, &str)]) -> Result<Scene, String> {
    load_with(files, &LoadOptions::default())
}

/// Loads a scene like [`load`], with options.
fn load_with(files: &[(&str, &str)], options: &LoadOptions) -> Result<Scene, String> {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let path = folder.path().join(files[0].0);
    let place = format!("{}/", folder.path().display());
    Scene::load_with(&path, options).map_err(|error| error.line().replace(&place, ""))
}

/// Loads a scene like [`load`], next to an image with the name `picture.png`.
fn load_with_picture(name: &str, text: &str, picture: impl Into<DynamicImage>) -> Scene {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let picture = picture.into();
    picture.save(folder.path().join("picture.png")).unwrap();
    Scene::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads a file of this folder.
fn example(name: &str) -> Scene {
    let path = Path::new("tests/imported").join(name);
    Scene::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Asserts that none of the scene's warnings contains a text.
fn assert_not_noted(scene: &Scene, text: &str) {
    let notes = &scene.notes;
    assert!(notes.iter().all(|note| !note.contains(text)), "{notes:#?}");
}

/// Asserts that one of the scene's warnings contains a text.
fn assert_noted(scene: &Scene, text: &str) {
    let notes = &scene.notes;
    assert!(
        notes.iter().any(|note| note.contains(text)),
        "{text}: {notes:#?}"
    );
}
