//! `raysieve bench`: measures how much compaction gains on this machine.

mod compare;
mod measure;
mod plot;
mod results;
#[allow(dead_code, reason = "examples of the viewer draw other charts with it")]
mod svg;
mod tables;

use std::path::{Path, PathBuf};

use crate::error::Error;
use raysieve_scene::{Scene, atomic_file};
use results::{Results, SceneResults};

use crate::{Ending, arguments::Bench, note, print_result, signals::Signals};

/// The default scenes: a closed room, an open scene, and a scene with many triangles. The paths are relative to the
/// current folder, and scenes that do not exist are left out.
const SCENES: [&str; 3] = [
    "scenes/cornell.ron",
    "scenes/spheres.ron",
    "scenes/mesh.ron",
];

/// Runs `raysieve bench`: measures the scenes, or reads the results of `--from`. Then prints the tables, writes the
/// files, and compares with the baseline of `--compare`.
///
/// After a signal, tables, files and comparison contain the rounds completed so far, and the function returns
/// [`Ending::Interrupted`]. After an error in a later scene, tables and files contain the scenes before it, and nothing
/// is compared.
///
/// # Errors
/// [`Error::Slower`] if a strategy is slower than in the baseline, also after a signal. [`Error::VerificationFailed`]
/// if two frames of a scene have different films or ray counts. Also if a scene cannot be rendered, or a file cannot be
/// read or written.
pub(crate) fn bench(arguments: &Bench) -> Result<Ending, Error> {
    for path in [&arguments.json, &arguments.plot].into_iter().flatten() {
        atomic_file::check_place(path)?;
    }
    if arguments.reference.is_some() && arguments.scenes.len() != 1 {
        return Err(Error::Usage(
            "--reference needs exactly one scene; measure each scene with its own reference"
                .to_owned(),
        ));
    }
    let old = match &arguments.compare {
        Some(path) => Some((path, Results::read(path)?)),
        None => None,
    };
    if let (Some((path, old)), None) = (&old, &arguments.from) {
        compare::check_methods(&arguments.methods(), old, path)?;
    }
    let (results, ended) = match &arguments.from {
        Some(path) => {
            let results = Results::read(path)?;
            for scene in &results.scenes {
                print_result(&tables::scene_section(scene))?;
            }
            (results, Ok(Ending::Done))
        }
        None => measure(
            arguments,
            old.as_ref().map(|(path, old)| (path.as_path(), old)),
        ),
    };
    if matches!(ended, Ok(Ending::Interrupted)) {
        note(&format!("raysieve: interrupted; {}", results.extent()));
    }
    if results.scenes.is_empty() {
        return ended;
    }
    print_result(&tables::summary(&results))?;
    if let Some(path) = &arguments.json {
        results.write(path)?;
    }
    if let Some(path) = &arguments.plot {
        plot::write(path, &results)?;
    }
    let ending = ended?;
    if let Some((path, old)) = old {
        let comparison = compare::compare(&results, &old, path)?;
        print_result(&comparison.table(path))?;
        comparison.check(path)?;
    }
    Ok(ending)
}

/// Measures the scenes, and prints the tables of each scene when it is done. `old` is the baseline with its path.
///
/// Returns the results of the scenes measured so far, also after an error or a signal, and how the measurement ended.
fn measure(arguments: &Bench, old: Option<(&Path, &Results)>) -> (Results, Result<Ending, Error>) {
    let mut results = Results::new();
    let ended = measure_into(&mut results, arguments, old);
    (results, ended)
}

/// Measures the scenes one after the other. When a scene is done, prints its tables and appends its results to
/// `results`, which keeps them after an error in a later scene. Returns [`Ending::Interrupted`] after a signal.
///
/// A scene during which the signal arrives is appended with its completed rounds, or omitted if it has none. `old` is
/// the baseline with its path.
///
/// # Errors
/// If a scene cannot be loaded, which is tested for all scenes before the first is measured, or cannot be rendered. If
/// [`compare::baseline_scene`] refuses a scene, the error comes before the first frame of that scene. Also if there is
/// no scene, if a table cannot be printed, or if the signal handler cannot be installed.
fn measure_into(
    results: &mut Results,
    arguments: &Bench,
    old: Option<(&Path, &Results)>,
) -> Result<Ending, Error> {
    let signals = Signals::watch()?;
    let scenes = scenes(arguments)?;
    // Errors in later scenes are reported before the first one is measured, which can take hours.
    for path in &scenes[1..] {
        Scene::load(path)?;
    }
    let mut progress = measure::BenchProgress::new(scenes.len());
    for path in &scenes {
        let refuse = |scene: &SceneResults| match old {
            Some((path, old)) => compare::baseline_scene(scene, old, path).map(|_| ()),
            None => Ok(()),
        };
        let scene = measure::scene(path, arguments, &mut progress, refuse, signals.received())?;
        if let Some(scene) = scene {
            progress.suspend(|| print_result(&tables::scene_section(&scene)))?;
            results.scenes.push(scene);
        }
        if signals.were_received() {
            return Ok(Ending::Interrupted);
        }
    }
    Ok(Ending::Done)
}

/// Returns the paths of the scenes to measure: those of the command line, or the default scenes that exist.
///
/// # Errors
/// [`Error::Usage`] if the command line names no scene and no default scene exists.
fn scenes(arguments: &Bench) -> Result<Vec<PathBuf>, Error> {
    if !arguments.scenes.is_empty() {
        return Ok(arguments.scenes.clone());
    }
    let known = SCENES.map(PathBuf::from);
    let found: Vec<PathBuf> = known.into_iter().filter(|path| path.exists()).collect();
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "no scene: {} do not exist in this folder; name scenes, such as raysieve bench box.ron",
            SCENES.join(", ")
        )));
    }
    Ok(found)
}
