//! `raysieve merge`: parts of a render become one.

use raysieve::{
    Error,
    layers::{Layer, Layers},
    part::{Claim, Part, check_parts, layers_of},
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
    let mut claims = Vec::new();
    for path in &arguments.parts {
        claims.push((path.clone(), Claim::read(path)?));
        let layers: Vec<&str> = layers_of(path)?.into_iter().map(Layer::name).collect();
        if !layers.is_empty() {
            note(&format!(
                "{}: its layers {} are left out: a render of the scene with --layers has them",
                path.display(),
                layers.join(", ")
            ));
        }
    }
    check_parts(&claims, arguments.allow_gaps)?;

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
        headless::write_files(&part, &outputs, &Layers::default())
    })
}
