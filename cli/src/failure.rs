//! Handling of a render whose GPUs have all failed: saves the safe film, and adds to the error the command that
//! continues the render.
//!
//! The safe film is the last copy of the film in host memory. Only a render on several GPUs has one. One GPU that hangs
//! counts as a failure of all.

use std::{env, path::Path};

use raysieve::render::{
    checkpoint::Checkpoint,
    part::{Packing, Samples},
    renderer::Renderer,
};
use raysieve_scene::Scene;

use crate::{arguments::Outputs, error::Error};

/// Saves the safe film in a part next to the image, and returns the error with the command that continues from that
/// part.
///
/// In a window or on a page, `shown` is the scene of the command line; users may have changed the view since, and no
/// command continues a changed view. Without a safe sample, nothing is saved, and the command starts again. Errors
/// other than the failure of all of several GPUs are returned unchanged, also the failure of a render's only GPU.
pub(crate) fn saved(
    error: Error,
    renderer: &mut Renderer,
    shown: Option<&Scene>,
    outputs: &Outputs,
) -> Error {
    if !renderer.all_gpus_failed() {
        return error;
    }
    let samples = renderer.samples_done();
    if samples.is_empty() {
        let hint = format!(
            "no sample was safe yet; start again with: {}",
            command(None)
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
        Ok(()) if is_as_given => with_hint(error, &continues(&samples, &path, true)),
        Ok(()) => {
            let path = path.display();
            with_hint(error, &format!("the changed view is saved in {path}"))
        }
        Err(problem) => with_hint(error, &format!("the samples so far are lost: {problem}")),
    }
}

/// Saves the safe film in the checkpoint if it has more samples, and returns the error with the command that continues
/// from the checkpoint.
///
/// A render on a single GPU has no safe film. It continues from the last checkpoint or, without one, starts again.
/// Errors other than failures of GPUs are returned unchanged.
pub(crate) fn saved_in(error: Error, renderer: &mut Renderer, file: &mut Checkpoint) -> Error {
    // The safe film can be older than the last checkpoint.
    let is_behind = |(_, paths): &(Samples, u64)| *paths < renderer.stats().paths;
    if renderer.all_gpus_failed()
        && file.held().is_none_or(is_behind)
        && let Err(problem) = file.write(renderer)
    {
        return with_hint(error, &format!("the last samples are lost: {problem}"));
    }
    let error = match (error, renderer.gpus()) {
        (Error::Render(raysieve::Error::Compaction(problem)), [gpu]) => {
            Error::Render(raysieve::Error::Gpu {
                gpu: gpu.name.clone(),
                problem: problem.to_string(),
            })
        }
        (error, _) => error,
    };
    match file.held() {
        Some((samples, _)) => with_hint(error, &continues(samples, file.path(), false)),
        None => with_hint(error, &format!("start again with: {}", command(None))),
    }
}

/// Returns the hint that names the saved samples and the command that continues from the file at `path`.
/// `adds_checkpoint` is whether the command needs a `--checkpoint` for it.
fn continues(samples: &Samples, path: &Path, adds_checkpoint: bool) -> String {
    let command = command(adds_checkpoint.then_some(path));
    format!(
        "samples {samples} are saved in {}; continue with: {command}",
        path.display()
    )
}

/// Returns the command line of this process, quoted for a shell. If a path is given, `--checkpoint` with this path
/// replaces `--serve`.
fn command(checkpoint: Option<&Path>) -> String {
    let mut words: Vec<String> = Vec::new();
    let arguments = env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut arguments = arguments.peekable();
    while let Some(word) = arguments.next() {
        if checkpoint.is_some() && word == "--serve" {
            // The address is optional.
            arguments.next_if(|next| !next.starts_with('-'));
        } else if checkpoint.is_none() || !word.starts_with("--serve=") {
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

/// Appends the hint to the error of a failed GPU. Returns other errors unchanged.
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
