//! Saves pictures into the folder of the scene file, named after the scene and numbered.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{Error, saved_picture::SavedPicture};
use raysieve_scene::atomic_file::folder_of;

/// Writes the picture, or the debug image, in its own size and without denoising. The name is `<scene>-001.png`, or has
/// the first free number. The folder is that of the scene file or, if that cannot be written, the current folder or the
/// user's folder of pictures or home folder. Returns the message about the saved picture.
///
/// # Errors
/// If the picture cannot be encoded, or [`Error::Write`] if none of the folders can be written. No file remains then.
pub(super) fn save_numbered(picture: &SavedPicture) -> Result<String, Error> {
    let (scene, png) = (picture.scene(), &picture.png(png::Compression::default())?);
    let own = folder_of(scene).to_owned();
    let current = std::env::current_dir().ok();
    let others = [current, dirs::picture_dir(), dirs::home_dir()];
    let mut problems: Vec<(PathBuf, io::Error)> = Vec::new();
    for folder in [Some(own)].into_iter().chain(others).flatten() {
        if problems.iter().any(|(tried, _)| *tried == folder) {
            continue;
        }
        match write_in(&folder, scene, png) {
            Ok(name) => {
                let why = problems.first().map_or(String::new(), |(tried, error)| {
                    let tried = in_full(tried);
                    format!(", because {} cannot be written: {error}", tried.display())
                });
                return Ok(format!(
                    "picture saved to {}{why}",
                    in_full(&folder).join(name).display()
                ));
            }
            Err(error) => problems.push((folder, error)),
        }
    }
    let tried: Vec<_> = problems
        .iter()
        .map(|(folder, error)| format!("{}: {error}", folder.display()))
        .collect();
    Err(Error::Write {
        path: name(scene, 1).into(),
        problem: format!(
            "not saved ({}); free some space or make a folder writable, then press s again",
            tried.join("; ")
        ),
    })
}

pub(super) fn in_full(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Writes a file into a folder, under the first free name for a picture of this scene, and returns that name.
fn write_in(folder: &Path, scene: &Path, png: &[u8]) -> io::Result<OsString> {
    let mut number = 1_u32;
    let (name, mut file) = loop {
        let name = name(scene, number);
        let path = folder.join(&name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => break (name, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    };
    let written = file.write_all(png).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(folder.join(&name));
    })?;
    Ok(name)
}

/// Returns the name of picture `number` of a scene.
fn name(scene: &Path, number: u32) -> OsString {
    let mut name = scene.file_stem().unwrap_or(scene.as_os_str()).to_owned();
    name.push(format!("-{number:03}.png"));
    name
}
