//! `raysieve bench`: what the sieve is worth on this machine.

mod compare;
mod measure;
mod plot;
mod results;
mod tables;

use std::path::{Path, PathBuf};

use raysieve::{Error, output};
use results::Results;

use crate::{cli::Bench, say};

/// What is measured if nobody says what: a closed room, an open scene, and one of many triangles.
const SCENES: [&str; 3] = [
    "scenes/cornell.ron",
    "scenes/spheres.ron",
    "scenes/mesh.ron",
];

/// Measures the scenes, or reads what was measured; prints it, writes the files, compares.
pub(crate) fn bench(arguments: &Bench) -> Result<(), Error> {
    for path in [&arguments.json, &arguments.plot].into_iter().flatten() {
        output::check_place(path)?;
    }
    let old = match &arguments.compare {
        Some(path) => Some((path, Results::read(path)?)),
        None => None,
    };
    let results = match &arguments.from {
        Some(path) => {
            let results = Results::read(path)?;
            for scene in &results.scenes {
                say(&tables::of(scene))?;
            }
            results
        }
        None => measure(
            arguments,
            old.as_ref().map(|(path, old)| (path.as_path(), old)),
        )?,
    };
    say(&tables::summary(&results))?;
    if let Some(path) = &arguments.json {
        results.write(path)?;
    }
    if let Some(path) = &arguments.plot {
        plot::write(path, &results)?;
    }
    match old {
        Some((path, old)) => {
            let comparison = compare::compare(&results, &old, path)?;
            say(&comparison.table(path))?;
            comparison.check(path)
        }
        None => Ok(()),
    }
}

/// Each scene is printed when it is done. One that cannot be compared with `old` is refused before it is measured.
fn measure(arguments: &Bench, old: Option<(&Path, &Results)>) -> Result<Results, Error> {
    let scenes = scenes(arguments)?;
    let mut results = Results::new();
    let mut progress = measure::Progress::new(scenes.len());
    for path in &scenes {
        let scene = measure::scene(path, arguments, &mut progress, |scene| match old {
            Some((path, old)) => compare::comparable(scene, old, path).map(|_| ()),
            None => Ok(()),
        })?;
        progress.suspend(|| say(&tables::of(&scene)))?;
        results.scenes.push(scene);
    }
    Ok(results)
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
