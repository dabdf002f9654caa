//! Pictures kept from the window: beside the scene, under its name and a number.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
};

use super::overlay::{Detail, Overlay, scale_for};
use crate::{
    Error,
    live::{Shown, State},
    output::{self, Look},
    sight::Sighting,
};

/// Writes the picture as `<scene>-001.png`, or the next number that is free, as it is shown, with its statistics in so much detail,
/// and says where.
pub(super) fn save(
    scene: &Path,
    frame: &Shown,
    sighting: Option<&Sighting>,
    look: Look,
    detail: Detail,
) -> Result<PathBuf, Error> {
    let path = claim(scene)?;
    let Shown { stats, recent, .. } = frame;
    // What is saved is what was rendered.
    let look = Look {
        denoise: false,
        ..look
    };
    let mut developed = frame.developed(look, sighting);
    let size = developed.size;
    let mut overlay = Overlay::new(scale_for(size.0, size.1));
    overlay.draw_stats(
        &mut developed.rgba,
        size,
        stats,
        recent,
        State::Done,
        detail,
    );
    if let Some(sighting) = sighting {
        overlay.draw_legend(&mut developed.rgba, size, &sighting.legend, &[]);
    }
    output::write_developed(&path, &developed, stats).inspect_err(|_| {
        // The empty file that held the place.
        let _ = std::fs::remove_file(&path);
    })?;
    Ok(path)
}

/// Makes an empty file of the first free number, so that nobody else takes it.
fn claim(scene: &Path) -> Result<PathBuf, Error> {
    let stem = scene.file_stem().unwrap_or(scene.as_os_str());
    let mut number = 1_u32;
    loop {
        let mut name = stem.to_owned();
        name.push(format!("-{number:03}.png"));
        let path = scene.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                let problem = format!("not written: {error}; make the scene's folder writable");
                return Err(Error::Write { path, problem });
            }
        }
    }
}
