//! `raysieve merge`: adds the films of several parts of a render.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use crate::error::Error;
use raysieve::{
    inspect::aovs::{Aov, Aovs},
    render::part::{Part, PartHeader, Samples, alpha_of, aovs_of, check_parts},
};

use crate::{arguments::Merge, headless, note, progress::progress_bar};

/// Runs `raysieve merge`: adds the films of the parts, writes the files and prints the table. With `--wait`, waits for
/// missing parts first.
///
/// # Errors
/// If a part cannot be read, or a file cannot be written. Also if the parts belong to different renders, overlap, have
/// gaps without `--allow-gaps`, or do not contain exactly the samples of `--samples`.
pub(crate) fn merge(arguments: &Merge) -> Result<(), Error> {
    let outputs = arguments.outputs();
    outputs.check_picture()?;
    outputs.check_stats()?;
    let headers = if arguments.wait {
        wait(arguments)?
    } else {
        let read = |path: &PathBuf| Ok((path.clone(), PartHeader::read(path)?));
        let headers: Vec<(PathBuf, PartHeader)> = arguments
            .parts
            .iter()
            .map(read)
            .collect::<Result<_, Error>>()?;
        if let Some(problem) = check(arguments, &headers)? {
            return Err(problem);
        }
        headers
    };
    // Of the layers, only the sample counts can be computed from the merged film. All parts have the same alpha.
    let mut layers_kept = Aovs::default();
    for path in &arguments.parts {
        let mut layers = aovs_of(path)?;
        if layers.contains(&Aov::Samples) && !layers_kept.requested.contains(&Aov::Samples) {
            layers_kept.requested.push(Aov::Samples);
        }
        if layers_kept.alpha().is_none()
            && let Some(alpha) = alpha_of(path)?
        {
            layers_kept.set_alpha(alpha);
        }
        layers.retain(|layer| !matches!(layer, Aov::Samples | Aov::Alpha));
        let layers: Vec<&str> = layers.into_iter().map(Aov::name).collect();
        if !layers.is_empty() {
            note(&format!(
                "{}: its layers {} are omitted, because they cannot be merged; render the scene with --layers to get them",
                path.display(),
                layers.join(", ")
            ));
        }
    }

    let progress = progress_bar(headers.len() as u64);
    let mut merged: Option<Part> = None;
    for path in &arguments.parts {
        let part = Part::read(path)?;
        match &mut merged {
            None => merged = Some(part),
            // Fails only if the file has changed since the check, or if the sums overflow.
            Some(merged) => merged.add(&part).map_err(|problem| Error::File {
                file: path.display().to_string(),
                problem: format!("{problem}; merge the parts of one render"),
            })?,
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    merged.map_or(Ok(()), |part| {
        headless::write_files(&part, &outputs, &layers_kept, None, None)
    })
}

/// Checks that the parts with these headers belong together and contain the samples of `--samples`.
///
/// Returns `Ok(None)` if they do. If only samples of `--samples` are missing, returns `Ok(Some)` with the error,
/// because `--wait` can wait for them.
///
/// # Errors
/// If waiting does not help: the parts belong to other renders, overlap, contain samples outside `--samples`, or have
/// gaps without `--samples` and `--allow-gaps`. Also if `--samples` is empty or does not fit the image.
fn check(arguments: &Merge, headers: &[(PathBuf, PartHeader)]) -> Result<Option<Error>, Error> {
    let [(_, first), ..] = headers else {
        return Ok(None);
    };
    let other_scene = |(_, header): &&(PathBuf, PartHeader)| {
        let expected = arguments.scene_hash.as_ref();
        expected.is_some_and(|expected| *expected != header.identity.scene_hash)
    };
    if let Some((path, header)) = headers.iter().find(other_scene) {
        return Err(Error::File {
            file: path.display().to_string(),
            problem: format!(
                "is a part of another scene, with scene_hash {}; omit it and render its samples again",
                header.identity.scene_hash
            ),
        });
    }
    let expected = arguments.samples(first.identity.size.0 * first.identity.size.1)?;
    check_parts(headers, arguments.allow_gaps || expected.is_some())?;
    match expected {
        None => Ok(None),
        Some(expected) => check_samples(headers, &expected),
    }
}

/// Waits until all parts exist and contain the samples of `--samples`, and returns the headers of the parts. Reads the
/// headers repeatedly, without a time limit. A signal such as Ctrl-C ends the process.
///
/// # Errors
/// If a part belongs to another render, overlaps another part, or contains samples outside `--samples`. Also if a file
/// exists but is not a part or cannot be read, or if `--samples` does not fit the image.
///
/// A damaged file is only reported, because the job of that part replaces it.
fn wait(arguments: &Merge) -> Result<Vec<(PathBuf, PartHeader)>, Error> {
    let mut reported: Vec<PathBuf> = Vec::new();
    loop {
        let begun = Instant::now();
        let mut headers = Vec::new();
        for path in &arguments.parts {
            match PartHeader::read(path) {
                Ok(header) => headers.push((path.clone(), header)),
                Err(error @ raysieve::Error::Damaged { .. }) => {
                    if !reported.contains(path) {
                        note(&format!("waiting for a new file: {}", error.line()));
                        reported.push(path.clone());
                    }
                }
                Err(_) if !path.exists() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let missing = check(arguments, &headers)?;
        if missing.is_none() && headers.len() == arguments.parts.len() {
            return Ok(headers);
        }
        thread::sleep(MIN_PAUSE.max(begun.elapsed() * PAUSE_FACTOR));
    }
}

/// Minimum pause of `--wait` between two readings of all headers.
const MIN_PAUSE: Duration = Duration::from_secs(2);
/// Minimum ratio of a pause of `--wait` to the reading of the headers before it, so that reading takes at most a tenth
/// of the time.
const PAUSE_FACTOR: u32 = 9;

/// Compares the samples of all parts together with the samples of `--samples`, which are `expected`. Returns `Ok(None)`
/// if they are equal. If samples are missing, returns `Ok(Some)` with an error that names the first missing range.
///
/// # Errors
/// If a part contains samples that are not expected.
fn check_samples(
    headers: &[(PathBuf, PartHeader)],
    expected: &Samples,
) -> Result<Option<Error>, Error> {
    let setting_error = |problem: String| Error::Setting {
        setting: format!("--samples {expected}"),
        problem,
    };
    let mut missing = expected.clone();
    for (path, header) in headers {
        let foreign = header.samples.without(expected);
        if !foreign.is_empty() {
            let problem = format!(
                "{} also contains samples {foreign}; omit it",
                path.display()
            );
            return Err(setting_error(problem));
        }
        missing = missing.without(&header.samples);
    }
    let first = missing.each().next();
    Ok(first.map(|first| {
        setting_error(format!(
            "samples {first} are missing in the parts; render them with --samples {first}"
        ))
    }))
}
