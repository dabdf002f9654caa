//! Warnings that would otherwise be repeated for each missing file, name or type.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use glam::Vec3;

use super::Imported;
use crate::{
    error::excerpt,
    files::{is_lfs_pointer, record::record},
    image::environment_map::EnvironmentImage,
    load_options::listed,
    scene::Image,
};

/// A warning about different things of one kind, such as images that cannot be read.
pub(crate) struct RepeatedNote {
    /// Text if there is a single thing; it names that.
    one: String,
    /// Text if there are several, in which `{}` stands for their number.
    several: String,
    /// Names of the things.
    names: HashSet<String>,
}

impl Imported {
    /// Adds the thing `name` to a warning, unless it has it already. `one` is the warning if the thing remains the only
    /// one. `several` is the warning otherwise, in which `{}` stands for the number of things and `{first}` for the name
    /// of the first.
    pub(crate) fn note_each(&mut self, several: &'static str, name: &str, one: String) {
        self.add_repeated(several, name, &excerpt(name), one);
    }

    /// Adds a thing like [`Imported::note_each`]. `first` is the text for `{first}` if the thing is the first one.
    fn add_repeated(&mut self, several: &'static str, name: &str, first: &str, one: String) {
        let note = self
            .repeated
            .entry(several)
            .or_insert_with(|| RepeatedNote {
                one,
                several: several.replace("{first}", first),
                names: HashSet::new(),
            });
        if !note.names.contains(name) {
            note.names.insert(name.to_owned());
        }
    }

    /// Adds an object to the warning about unknown parameters. `names` are those of its parameters with its type.
    pub(crate) fn note_unknown(&mut self, names: impl Iterator<Item = String>) {
        self.unknown.0 += 1;
        for name in names {
            if !self.unknown.1.contains(&name) {
                self.unknown.1.insert(name);
            }
        }
    }

    /// Adds the warnings of [`Imported::note_each`] and [`Imported::note_unknown`] to the others, when all things are
    /// known.
    pub(super) fn finish_repeated(&mut self) {
        let (objects, names) = std::mem::take(&mut self.unknown);
        if objects > 0 {
            let of = match objects {
                1 => "1 object".to_owned(),
                _ => format!("{objects} objects"),
            };
            let names = listed(names.iter().map(String::as_str), false);
            self.note(format!("not used: unknown parameters of {of}: {names}"));
        }
        for (_, note) in std::mem::take(&mut self.repeated) {
            self.note(match note.names.len() {
                1 => note.one,
                count => note.several.replacen("{}", &count.to_string(), 1),
            });
        }
    }

    /// Adds a color of a surface to the warning about those outside 0 to 1, if it is.
    pub(crate) fn check_reflectance(&mut self, color: Vec3) {
        // Conversions between color spaces round.
        if color.min_element() < -1e-3 || color.max_element() > 1.001 {
            let text = "approximated: {} outside 0 to 1 by the nearest values in that range";
            let names = ["reflectance", "reflectances"];
            self.model.note_count(text, names, 1);
        }
    }

    /// Adds the warning about an image that cannot be read because of `problem`.
    pub(crate) fn note_image(&mut self, name: &str, problem: &str) {
        let first = format!("`{}`: {problem}", excerpt(name));
        let one = format!("the image `{}` is left out: {problem}", excerpt(name));
        let several = "{} images are left out, such as {first}";
        self.add_repeated(several, name, &first, one);
    }

    /// Opens the image of an environment map at `path`, or takes the reason why there is no path. `name` is that of the
    /// file in the scene. Returns `None`, with a warning, if the image cannot be read. Adds a warning about infinite values.
    pub(crate) fn environment_image(
        &mut self,
        name: &str,
        path: Result<PathBuf, String>,
    ) -> Option<Image> {
        let name = excerpt(name);
        match path.and_then(|path| EnvironmentImage::open(&path)) {
            Ok(opened) => {
                if let Some(note) = opened.note() {
                    self.note(format!("the environment map `{name}`: {note}"));
                }
                Some(opened.image)
            }
            Err(problem) => {
                self.note(format!(
                    "the environment map `{name}` is left out: {problem}"
                ));
                None
            }
        }
    }

    /// Returns whether the file of a shape is missing, or only a pointer of Git LFS. Then adds the shape to the warning
    /// about such files. `name` is that of the file in the scene, and `path` where it is expected, so that the scene is
    /// loaded again when it appears there.
    pub(crate) fn is_missing(&mut self, name: &str, path: &Path) -> bool {
        let problem = match is_lfs_pointer(path) {
            _ if !path.exists() => "does not exist",
            true => "is a Git LFS pointer (run `git lfs pull`)",
            false => return false,
        };
        record(path);
        let first = self.missing.entry(problem).or_insert_with(|| {
            let is_absolute = name.starts_with(['/', '\\']) || name.contains(':');
            let place = match is_absolute {
                true => " in the scene's folder",
                false => "",
            };
            format!("{place}, such as `{}`", excerpt(name))
        });
        let text = format!("not shown: {{}} whose file {problem}{first}");
        self.model.note_count(&text, ["shape", "shapes"], 1);
        true
    }
}
