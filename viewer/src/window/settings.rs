//! Settings that the window keeps between runs, in the platform's configuration folder: `raysieve/window.ron` in
//! `XDG_CONFIG_HOME` or `~/.config` on Linux. The defaults apply without such a file.

use std::{fs, io, io::Write, ops::RangeInclusive, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::Placement;
use crate::{error::report, overlay::Units};
use raysieve_scene::atomic_file::write_whole;

/// The settings that the window keeps between runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    /// Place and amount of the statistics displayed.
    pub(super) statistics: Placement,
    pub(super) units: Units,
    /// Factor of the text's size relative to its default, in [`TEXT_SCALES`].
    pub(super) text_scale: f32,
    /// Width and height of the window in logical pixels, if the user has ever resized the window; `None` fits the
    /// window to the picture.
    pub(super) size: Option<(f64, f64)>,
    /// Position of the window's upper left corner on the desktop in physical pixels, which also selects the monitor;
    /// `None` leaves the place to the desktop.
    pub(super) position: Option<(i32, i32)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            statistics: Placement::default(),
            units: Units::default(),
            text_scale: 1.0,
            size: None,
            position: None,
        }
    }
}

/// Valid factors of the text's size.
pub(super) const TEXT_SCALES: RangeInclusive<f32> = 0.5..=4.0;

/// Minimum valid width and height of a stored window size in logical pixels. A size outside the range is ignored.
const MIN_SIDE: f64 = 1.0;
/// Maximum valid width and height of a stored window size in logical pixels. A size outside the range is ignored.
const MAX_SIDE: f64 = 65536.0;

/// Returns the path of the settings file, which need not exist; `None` if the platform has no configuration folder.
fn file() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("raysieve").join("window.ron"))
}

impl Settings {
    /// Loads the settings. Returns the defaults if there is no valid file, and reports an unreadable or invalid file to
    /// standard error. Ignores a size outside the valid range without a report.
    pub(super) fn load() -> Self {
        let Some(path) = file() else {
            return Self::default();
        };
        let problem = match fs::read_to_string(&path) {
            Ok(text) => match ron::from_str::<Self>(&text) {
                Ok(settings) => return settings.checked(),
                Err(error) => format!(
                    "invalid settings: {error}; the file is replaced when a setting changes"
                ),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => format!("cannot read it: {error}"),
        };
        report(&format!("{}: {problem}", path.display()));
        Self::default()
    }

    /// Returns the settings without a window size or text size that is outside the valid range.
    fn checked(self) -> Self {
        let is_side = |side: f64| (MIN_SIDE..=MAX_SIDE).contains(&side);
        let text_scale = self.text_scale;
        Self {
            text_scale: match TEXT_SCALES.contains(&text_scale) {
                true => text_scale,
                false => 1.0,
            },
            size: self
                .size
                .filter(|&(width, height)| is_side(width) && is_side(height)),
            ..self
        }
    }

    /// Writes the settings to their file. Reports a failure to standard error. Does nothing if the platform has no
    /// configuration folder.
    pub(super) fn save(&self) {
        let Some(path) = file() else {
            return;
        };
        let folder = path.parent().unwrap_or(&path);
        if let Err(error) = fs::create_dir_all(folder) {
            return report(&format!("{}: cannot write it: {error}", path.display()));
        }
        let pretty = ron::ser::PrettyConfig::default();
        let text = ron::ser::to_string_pretty(self, pretty).unwrap_or_default();
        if let Err(error) = write_whole(&path, |file| writeln!(file, "{text}")) {
            report(&error.to_string());
        }
    }
}
