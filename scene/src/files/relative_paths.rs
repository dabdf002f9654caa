//! Lookup of files that a model names by relative paths, tolerant of wrong case and of foreign absolute paths.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use super::{bounds::Bounds, check_bounds, relative_path};

/// Largest number of folders that are searched before the folder of the scene.
const MAX_SEARCHED: usize = 64;

/// A lookup of files by paths relative to one folder, with a cache of folder listings.
pub(crate) struct RelativePaths {
    folder: PathBuf,
    /// Folders that are searched before `folder`, the last one first.
    searched: Vec<PathBuf>,
    /// Folders whose files may be named by paths with `..`; `None` for all folders.
    bounds: Option<Bounds>,
    /// Paths of the entries of each folder that was listed, by their names in lower case.
    files: HashMap<PathBuf, HashMap<String, PathBuf>>,
}

impl RelativePaths {
    /// Creates a lookup of the files of a model in `folder`, without reading the folder. Paths with `..` must stay within
    /// [`Bounds`]. Call it on the thread that loads the scene.
    pub(crate) fn new(folder: &Path) -> Self {
        RelativePaths {
            folder: folder.to_owned(),
            searched: Vec::new(),
            bounds: Some(Bounds::of_model(folder)),
            files: HashMap::new(),
        }
    }

    /// Creates a lookup of the files of a scene of another renderer in `folder`, without reading the folder. Paths may
    /// contain `..`, because scenes of these formats share meshes and images with scenes in other folders.
    pub(crate) fn of_scene(folder: &Path) -> Self {
        RelativePaths {
            bounds: None,
            ..RelativePaths::new(folder)
        }
    }

    /// Adds a folder that is searched before all others. Fails with a one-line message after 64 of them.
    pub(crate) fn search_first(&mut self, folder: PathBuf) -> Result<(), String> {
        if self.searched.len() >= MAX_SEARCHED {
            return Err(format!(
                "more than {MAX_SEARCHED} folders are searched for files; merge some"
            ));
        }
        self.searched.push(folder);
        Ok(())
    }

    /// Returns the path, folder included, of the file with the relative path `name`. If there is none of exactly that
    /// name, returns one whose name differs only in case. If there is none either, returns the path as written.
    ///
    /// # Errors
    /// A one-line message if the name is invalid, or leads out of the bounds of a model.
    pub(crate) fn file(&mut self, name: &str) -> Result<PathBuf, String> {
        let name = relative_path(name)?;
        for number in (0..self.searched.len()).rev() {
            let found = self.in_folder(self.searched[number].clone(), &name);
            if found.exists() {
                return Ok(found);
            }
        }
        let path = self.in_folder(self.folder.clone(), &name);
        if let Some(bounds) = &self.bounds {
            check_bounds(bounds, &name, &path)?;
        }
        Ok(path)
    }

    /// Returns the path of the file `name` in a folder, as [`RelativePaths::file`] does.
    fn in_folder(&mut self, folder: PathBuf, name: &Path) -> PathBuf {
        let mut path = folder;
        for part in name.components() {
            let written = path.join(part);
            path = match written.exists() {
                true => written,
                false => self
                    .find_ignoring_case(&path, &part.as_os_str().to_string_lossy())
                    .unwrap_or(written),
            };
        }
        path
    }

    /// Returns the path of a file, as [`RelativePaths::file`] does. If that file is missing or outside the folder,
    /// tries only the last component of `name`, because many programs write absolute paths of the machine they ran on.
    ///
    /// # Errors
    /// The error of [`RelativePaths::file`], if the last component does not name an existing file either. In a scene of
    /// another renderer, only if it is not a valid name.
    pub(crate) fn find_by_last_component(&mut self, name: &str) -> Result<PathBuf, String> {
        let named = self.file(name);
        if named.as_ref().is_ok_and(|path| path.exists()) {
            return named;
        }
        let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let Ok(last) = self.file(last) else {
            return named;
        };
        // An absolute path of a scene is missing like a relative one, at the place where a copy would be found.
        match last.is_file() || (self.bounds.is_none() && named.is_err()) {
            true => Ok(last),
            false => named,
        }
    }

    /// Returns the path of the entry of `folder` whose name equals `name` apart from case; `None` if there is none.
    fn find_ignoring_case(&mut self, folder: &Path, name: &str) -> Option<PathBuf> {
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
                // The order of entries differs between machines, so the smallest path wins.
                let known = known.or_insert_with(|| path.clone());
                *known = path.min(known.clone());
            }
            files
        });
        files.get(&name.to_lowercase()).cloned()
    }
}
