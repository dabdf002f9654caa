//! Saves pictures from the window into the folder of the scene file, named after the scene and numbered.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
};

use crate::{
    Error,
    overlay::{Detail, Figures, Overlay, Units, canvas::Area, scale_for},
    session::{DisplayFrame, State},
};
use raysieve::{
    inspect::debug_view::DebugImage,
    render::output::{self, Look},
};

/// Writes the picture, or the debug image if one is given, in its own size and without denoising. Returns the path of
/// the file, which is next to the scene file. The name is `<scene>-001.png`, or has the first free number.
///
/// If `units` are given, draws the statistics onto the image, with a table in these units. The legend of a debug image is drawn too, but no other panel.
/// If writing fails, no file remains.
pub(super) fn save(
    scene: &Path,
    frame: &DisplayFrame,
    debug_image: Option<&DebugImage>,
    look: Look,
    units: Option<Units>,
) -> Result<PathBuf, Error> {
    let path = claim(scene)?;
    let DisplayFrame { stats, recent, .. } = frame;
    // Saved pictures are never denoised.
    let look = Look {
        denoise: false,
        ..look
    };
    let mut image = frame.to_image(look, debug_image);
    let size = image.size;
    let mut overlay = Overlay::new(scale_for(size.0, size.1));
    if let Some(units) = units {
        let figures = Figures {
            stats,
            recent,
            size,
            state: State::Done,
            detail: Detail::Full,
            units,
        };
        overlay.draw_stats(&mut image.rgba, size, Area::of(size), &figures);
    }
    if let Some(debug_image) = debug_image {
        overlay.draw_legend(
            &mut image.rgba,
            size,
            Area::of(size),
            &debug_image.legend,
            &[],
        );
    }
    output::write_image(&path, &image, stats).inspect_err(|_| {
        // Removes the empty file that reserved the name.
        let _ = std::fs::remove_file(&path);
    })?;
    Ok(path)
}

/// Creates an empty file with the first free number, which reserves the name, and returns its path.
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
