//! Files that stand beside another, by names that people and programs wrote.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use crate::scene::source::relative_path;

/// Finds files in one folder and below it.
pub(super) struct Beside {
    folder: PathBuf,
    /// Of each folder that was looked through: its files by their names in small letters.
    files: HashMap<PathBuf, HashMap<String, PathBuf>>,
}

impl Beside {
    pub(super) fn new(folder: &Path) -> Self {
        Beside {
            folder: folder.to_owned(),
            files: HashMap::new(),
        }
    }

    /// The file of that name; where none is written so, one that differs in capital letters, since not every system tells
    /// them apart. It may not be there. `Err` if the name leads elsewhere.
    pub(super) fn file(&mut self, name: &str) -> Result<PathBuf, String> {
        let mut path = self.folder.clone();
        for part in relative_path(name)?.components() {
            let written = path.join(part);
            path = match written.exists() {
                true => written,
                false => self
                    .alike(&path, &part.as_os_str().to_string_lossy())
                    .unwrap_or(written),
            };
        }
        Ok(path)
    }

    /// As [`Beside::file`]; where there is none, or the name leads elsewhere, the file that the last part of the name is:
    /// many programs write where it was on the machine that they ran on.
    pub(super) fn file_or_last(&mut self, name: &str) -> Result<PathBuf, String> {
        let named = self.file(name);
        if named.as_ref().is_ok_and(|path| path.exists()) {
            return named;
        }
        let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let last = self.file(last).ok().filter(|path| path.is_file());
        last.map_or(named, Ok)
    }

    fn alike(&mut self, folder: &Path, name: &str) -> Option<PathBuf> {
        let files = self.files.entry(folder.to_owned()).or_insert_with(|| {
            let here = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            let mut files: HashMap<String, PathBuf> = HashMap::new();
            for entry in fs::read_dir(here).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let path = folder.join(&name);
                let known = files.entry(name.to_string_lossy().to_lowercase());
                // Of several the same on every machine.
                let known = known.or_insert_with(|| path.clone());
                *known = path.min(known.clone());
            }
            files
        });
        files.get(&name.to_lowercase()).cloned()
    }
}
