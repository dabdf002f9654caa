//! Handling of a render whose GPUs have all failed: saves the safe film, and adds to the error the command that
//! continues the render.
//!
//! The safe film is the last copy of the film in host memory. If one GPU hangs, all GPUs of the process count as
//! failed.

use std::{env, path::Path};

use raysieve::render::{
    checkpoint::Checkpoint,
    part::{Packing, Samples},
    renderer::Renderer,
};
use raysieve_scene::Scene;

use crate::{arguments::Outputs, error::Error};

/// Saves the safe film in a part next to the image, such as `box.unfinished.exr` for `box.png`. Returns `error` with
/// the command that continues from that part, or with the reason why the part could not be written.
///
/// In a window or on a page, `shown` is the scene of the command line; a headless render passes `None`. If users have
/// changed the view since, the film is saved, but the error names no command, because none continues a changed view.
///
/// If no sample is safe yet, nothing is saved, and the command starts again. Other errors than the failure of all GPUs
/// are returned unchanged. So are errors of a render with `--crop`, because its film is not a part.
pub(crate) fn save_part(
    error: Error,
    renderer: &mut Renderer,
    shown: Option<&Scene>,
    outputs: &Outputs,
) -> Error {
    // The film of a region is not a part.
    if !renderer.all_gpus_failed() || outputs.region.is_some() {
        return error;
    }
    let samples = renderer.samples_done();
    if samples.is_empty() {
        let hint = format!(
            "no sample was safe yet; start again with: {}",
            command_line(None)
        );
        return with_hint(error, &hint);
    }
    let path = outputs.picture.with_extension("unfinished.exr");
    let written = renderer
        .part()
        .and_then(|part| part.write(&path, Packing::Fast));
    let identity = renderer.identity();
    let is_as_given = shown
        .is_none_or(|scene| identity.scene_hash == scene.hash() && identity.size == scene.size);
    match written {
        Ok(()) if is_as_given => with_hint(error, &continue_hint(&samples, &path, true)),
        Ok(()) => {
            let path = path.display();
            with_hint(error, &format!("the changed view is saved in {path}"))
        }
        Err(problem) => with_hint(error, &format!("the samples so far are lost: {problem}")),
    }
}

/// Saves the safe film in the checkpoint if the film has more samples than the file. Returns the error with the command
/// that continues from the checkpoint, or with the reason why the checkpoint could not be written.
///
/// If neither the film nor the file has samples, the command starts the render again. Errors other than failures of
/// GPUs are returned unchanged.
pub(crate) fn save_checkpoint(
    error: Error,
    renderer: &mut Renderer,
    file: &mut Checkpoint,
) -> Error {
    // The safe film can be older than the last checkpoint.
    let is_behind = |(_, paths): &(Samples, u64)| *paths < renderer.stats().paths;
    if renderer.all_gpus_failed()
        && !renderer.samples_done().is_empty()
        && file.held().is_none_or(is_behind)
        && let Err(problem) = file.write(renderer)
    {
        return with_hint(error, &format!("the last samples are lost: {problem}"));
    }
    match file.held() {
        Some((samples, _)) => with_hint(error, &continue_hint(samples, file.path(), false)),
        None => with_hint(error, &format!("start again with: {}", command_line(None))),
    }
}

/// Returns the hint that lists the saved samples, such as `0..37`, and the command that continues from the file at
/// `path`.
///
/// `adds_checkpoint` tells whether `--checkpoint` with this path is added to the command line of this process.
fn continue_hint(samples: &Samples, path: &Path, adds_checkpoint: bool) -> String {
    let command = command_line(adds_checkpoint.then_some(path));
    format!(
        "samples {samples} are saved in {}; continue with: {command}",
        path.display()
    )
}

/// Returns the command line of this process, quoted for a shell. If `checkpoint` is a path, omits `--serve` with its
/// address and `--token`, and appends `--checkpoint` with that path.
fn command_line(checkpoint: Option<&Path>) -> String {
    let mut words: Vec<String> = Vec::new();
    let arguments = env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut arguments = arguments.peekable();
    while let Some(word) = arguments.next() {
        if checkpoint.is_some() && word == "--serve" {
            // The address is optional.
            arguments.next_if(|next| !next.starts_with('-'));
        } else if checkpoint.is_none()
            || !(word.starts_with("--serve=") || word.starts_with("--token"))
        {
            words.push(word);
        }
    }
    if let Some(path) = checkpoint {
        words.extend(["--checkpoint".to_owned(), path.display().to_string()]);
    }
    let quoted = words
        .iter()
        .map(|word| shlex::try_quote(word).unwrap_or_else(|_| word.into()));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Appends the hint to the message of a [`raysieve::Error::Gpu`]. Returns other errors unchanged.
fn with_hint(error: Error, hint: &str) -> Error {
    match error {
        Error::Render(raysieve::Error::Gpu { gpu, problem }) => {
            Error::Render(raysieve::Error::Gpu {
                gpu,
                problem: format!("{problem}; {hint}"),
            })
        }
        error => error,
    }
}
