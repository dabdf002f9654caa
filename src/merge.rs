//! `raysieve merge`: parts of a render become one.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use raysieve::{
    Error,
    layers::{Layer, Layers},
    part::{Claim, Part, Samples, check_parts, layers_of},
};

use crate::{
    cli::Merge,
    headless::{self, progress_bar},
    note,
};

/// Adds up the parts, writes the files, prints the table.
pub(crate) fn merge(arguments: &Merge) -> Result<(), Error> {
    let outputs = arguments.outputs();
    outputs.check_picture()?;
    outputs.check_stats()?;
    let claims = if arguments.wait {
        wait(arguments)?
    } else {
        let read = |path: &PathBuf| Ok((path.clone(), Claim::read(path)?));
        let claims: Vec<(PathBuf, Claim)> = arguments
            .parts
            .iter()
            .map(read)
            .collect::<Result<_, Error>>()?;
        if let Some(problem) = check(arguments, &claims)? {
            return Err(problem);
        }
        claims
    };
    // How many samples there are the sum knows itself.
    let mut layers_kept = Layers::default();
    for path in &arguments.parts {
        let (kept, layers): (Vec<Layer>, Vec<Layer>) = layers_of(path)?
            .into_iter()
            .partition(|layer| *layer == Layer::Samples);
        if layers_kept.wanted.is_empty() {
            layers_kept.wanted = kept;
        }
        let layers: Vec<&str> = layers.into_iter().map(Layer::name).collect();
        if !layers.is_empty() {
            note(&format!(
                "{}: its layers {} are left out: a render of the scene with --layers has them",
                path.display(),
                layers.join(", ")
            ));
        }
    }

    let progress = progress_bar(claims.len() as u64);
    let mut merged: Option<Part> = None;
    for path in &arguments.parts {
        let part = Part::read(path)?;
        match &mut merged {
            None => merged = Some(part),
            // Only what has changed since it was checked, or is too bright.
            Some(merged) => merged.add(&part).map_err(|problem| Error::File {
                file: path.display().to_string(),
                problem: format!("{problem}; merge the parts of one render"),
            })?,
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    merged.map_or(Ok(()), |part| {
        headless::write_files(&part, &outputs, &layers_kept, None)
    })
}

/// Whether the parts add up to what is asked for. What is missing is told apart from what is wrong: it may come yet.
fn check(arguments: &Merge, claims: &[(PathBuf, Claim)]) -> Result<Option<Error>, Error> {
    let [(_, first), ..] = claims else {
        return Ok(None);
    };
    let other_scene = |(_, claim): &&(PathBuf, Claim)| {
        let expected = arguments.scene_hash.as_ref();
        expected.is_some_and(|expected| *expected != claim.identity.scene_hash)
    };
    if let Some((path, claim)) = claims.iter().find(other_scene) {
        return Err(Error::File {
            file: path.display().to_string(),
            problem: format!(
                "shows another scene than is asked for: its scene_hash is {}; leave it out and render its samples again",
                claim.identity.scene_hash
            ),
        });
    }
    let expected = arguments.samples(first.identity.size.0 * first.identity.size.1)?;
    check_parts(claims, arguments.allow_gaps || expected.is_some())?;
    match expected {
        None => Ok(None),
        Some(expected) => check_samples(claims, &expected),
    }
}

/// Looks at the parts again and again, until nothing is missing.
fn wait(arguments: &Merge) -> Result<Vec<(PathBuf, Claim)>, Error> {
    let mut told: Vec<PathBuf> = Vec::new();
    loop {
        let begun = Instant::now();
        let mut claims = Vec::new();
        for path in &arguments.parts {
            match Claim::read(path) {
                Ok(claim) => claims.push((path.clone(), claim)),
                // Who renders it puts it aside and begins anew.
                Err(error @ Error::Damaged { .. }) => {
                    if !told.contains(path) {
                        note(&format!("waiting for another: {error}"));
                        told.push(path.clone());
                    }
                }
                Err(_) if !path.exists() => {}
                Err(error) => return Err(error),
            }
        }
        let missing = check(arguments, &claims)?;
        if missing.is_none() && claims.len() == arguments.parts.len() {
            return Ok(claims);
        }
        thread::sleep(PAUSE.max(begun.elapsed() * SPARING));
    }
}

/// Between two looks, and the part of the time that they may take, the other way round.
const PAUSE: Duration = Duration::from_secs(2);
const SPARING: u32 = 9;

/// Whether these are the samples of all parts together: what is missing, or `Err` with what is too much.
fn check_samples(claims: &[(PathBuf, Claim)], expected: &Samples) -> Result<Option<Error>, Error> {
    let told = |problem: String| Error::Setting {
        setting: format!("--samples {expected}"),
        problem,
    };
    let mut missing = expected.clone();
    for (path, claim) in claims {
        let foreign = claim.samples.without(expected);
        if !foreign.is_empty() {
            let problem = format!(
                "{} holds samples {foreign} too; leave it out",
                path.display()
            );
            return Err(told(problem));
        }
        missing = missing.without(&claim.samples);
    }
    let first = missing.each().next();
    Ok(first.map(|first| {
        told(format!(
            "samples {first} are in none of the parts; render them with --samples {first}"
        ))
    }))
}
