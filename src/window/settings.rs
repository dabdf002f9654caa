//! What the window keeps from one time to the next, where the platform keeps settings: `raysieve/window.ron` in
//! `XDG_CONFIG_HOME` or `~/.config` on Linux. Without it, all is as at first.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::overlay::Detail;
use crate::output::write_whole;

/// What a window begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    /// How much of the statistics is shown.
    pub(super) statistics: Detail,
    /// Width and height that somebody gave a window, in units of the screen; else it is as large as the picture.
    pub(super) size: Option<(f64, f64)>,
}

/// Beyond these no screen goes.
const LEAST_SIDE: f64 = 1.0;
const MOST_SIDE: f64 = 65536.0;

fn file() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("raysieve").join("window.ron"))
}

impl Settings {
    /// Those of the last time. What cannot be read is said, and as it was at first.
    pub(super) fn load() -> Self {
        let Some(path) = file() else {
            return Self::default();
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => {
                say(&path, &format!("not read: {error}"));
                return Self::default();
            }
        };
        match ron::from_str::<Self>(&text) {
            Ok(settings) => settings.checked(),
            Err(error) => {
                say(
                    &path,
                    &format!("not understood: {error}; it is written anew when something changes"),
                );
                Self::default()
            }
        }
    }

    fn checked(self) -> Self {
        let is_side = |side: f64| (LEAST_SIDE..=MOST_SIDE).contains(&side);
        Self {
            size: self
                .size
                .filter(|&(width, height)| is_side(width) && is_side(height)),
            ..self
        }
    }

    /// Keeps them for the next time; that they cannot be is said, and harms nobody.
    pub(super) fn save(&self) {
        let Some(path) = file() else {
            return;
        };
        let folder = path.parent().unwrap_or(&path);
        if let Err(error) = fs::create_dir_all(folder) {
            return say(&path, &format!("not kept: {error}"));
        }
        let pretty = ron::ser::PrettyConfig::default();
        let text = ron::ser::to_string_pretty(self, pretty).unwrap_or_default();
        if let Err(error) = write_whole(&path, |file| writeln!(file, "{text}")) {
            say_line(&error.to_string());
        }
    }
}

fn say(path: &Path, problem: &str) {
    say_line(&format!("{}: {problem}", path.display()));
}

/// For the person at the terminal, if there is one.
fn say_line(line: &str) {
    let _ = writeln!(io::stderr(), "raysieve: {line}");
}
