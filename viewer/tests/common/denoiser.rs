//! A program in the place of Open Image Denoise.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Environment variable with the path of the program.
pub(crate) const PROGRAM_VARIABLE: &str = "RAYSIEVE_OIDN";

/// The text of the program, whose images are black.
const BLACK_DENOISER: &str = r#"#!/bin/sh
head -n 3 color.pfm > denoised.pfm
rest=$(($(stat -c %s color.pfm) - $(stat -c %s denoised.pfm)))
head -c $rest /dev/zero >> denoised.pfm
"#;

/// Writes a denoiser whose images are black to a folder, and returns its path.
pub(crate) fn black_denoiser(folder: &Path) -> PathBuf {
    let path = folder.join("denoiser");
    fs::write(&path, BLACK_DENOISER).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}
