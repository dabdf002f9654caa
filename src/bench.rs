//! `raysieve bench`: what the sieve is worth on this machine.

mod compare;
mod measure;
mod plot;
mod results;
mod tables;

use std::path::{Path, PathBuf};

use raysieve::{Error, output, scene::Scene};
use results::{Results, SceneResults};

use crate::{Ending, cli::Bench, note, say, signals::Signals};

/// What is measured if nobody says what: a closed room, an open scene, and one of many triangles.
const SCENES: [&str; 3] = [
    "scenes/cornell.ron",
    "scenes/spheres.ron",
    "scenes/mesh.ron",
];

/// Measures the scenes, or reads what was measured; prints it, writes the files, compares. After a signal it does so with
/// what was measured up to then.
pub(crate) fn bench(arguments: &Bench) -> Result<Ending, Error> {
    for path in [&arguments.json, &arguments.plot].into_iter().flatten() {
        output::check_place(path)?;
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
                say(&tables::of(scene))?;
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
    say(&tables::summary(&results))?;
    if let Some(path) = &arguments.json {
        results.write(path)?;
    }
    if let Some(path) = &arguments.plot {
        plot::write(path, &results)?;
    }
    let ending = ended?;
    if let Some((path, old)) = old {
        let comparison = compare::compare(&results, &old, path)?;
        say(&comparison.table(path))?;
        comparison.check(path)?;
    }
    Ok(ending)
}

/// Each scene is printed when it is done. One that cannot be compared with `old` is refused before it is measured. What was
/// measured, also before an error, and how it ended.
fn measure(arguments: &Bench, old: Option<(&Path, &Results)>) -> (Results, Result<Ending, Error>) {
    let mut results = Results::new();
    let ended = measure_into(&mut results, arguments, old);
    (results, ended)
}

fn measure_into(
    results: &mut Results,
    arguments: &Bench,
    old: Option<(&Path, &Results)>,
) -> Result<Ending, Error> {
    let signals = Signals::watch()?;
    let scenes = scenes(arguments)?;
    // What is wrong with a later one is told before hours go by; the first is read at once.
    for path in &scenes[1..] {
        Scene::load(path)?;
    }
    let mut progress = measure::Progress::new(scenes.len());
    for path in &scenes {
        let refuse = |scene: &SceneResults| match old {
            Some((path, old)) => compare::comparable(scene, old, path).map(|_| ()),
            None => Ok(()),
        };
        let scene = measure::scene(path, arguments, &mut progress, refuse, signals.came())?;
        if let Some(scene) = scene {
            progress.suspend(|| say(&tables::of(&scene)))?;
            results.scenes.push(scene);
        }
        if signals.have_come() {
            return Ok(Ending::Interrupted);
        }
    }
    Ok(Ending::Done)
}

fn scenes(arguments: &Bench) -> Result<Vec<PathBuf>, Error> {
    if !arguments.scenes.is_empty() {
        return Ok(arguments.scenes.clone());
    }
    let known = SCENES.map(PathBuf::from);
    let found: Vec<PathBuf> = known.into_iter().filter(|path| path.exists()).collect();
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "no scene: {} are not in this folder; name scenes, such as raysieve bench box.ron",
            SCENES.join(", ")
        )));
    }
    Ok(found)
}
