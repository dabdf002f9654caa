//! Scenes that are read while another one is rendered: whenever its files change, or somebody opens another.
//!
//! A thread of its own reads the scene and puts it on a renderer, so that those who look have both when both are there. The
//! folders of the files are watched, not the files: editors write another file and rename it, and one that has gone may come
//! back. What the system tells of a folder is only a reason to look: the files themselves say whether they have changed.

use std::{
    collections::BTreeSet,
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use notify_debouncer_mini::{
    Debouncer, new_debouncer,
    notify::{self, RecommendedWatcher, RecursiveMode},
};

use super::{
    materials::{turned, with_turned},
    render_thread::Told,
    session::News,
};
use crate::{
    Error,
    output::folder_of,
    renderer::{Renderer, Settings},
    scene::{Changes, Scene, SceneFile},
    trees::Trees,
};

/// A scene that has been read.
pub(crate) struct Loaded {
    /// As its file has it.
    pub(super) read: Arc<Scene>,
    /// The same, with what was turned of its materials.
    pub(super) scene: Arc<Scene>,
    /// With the scene on it, and its trees; `None` where the one that is at work shows the same but for the camera.
    pub(super) renderer: Option<(Box<Renderer>, Arc<Trees>)>,
    pub(super) why: Why,
}

/// Why a scene was read or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Its files have changed.
    Changed,
    /// Somebody opened it.
    Opened,
    /// Somebody has turned its materials.
    Turned,
}

/// The end of those who look. Dropping it lets the thread end by itself.
pub(super) struct Loader(Sender<Asked>);

enum Asked {
    /// Something happened in a folder that is watched.
    Look,
    Open(PathBuf),
    /// A scene that was made of the other one, which was read last.
    Turn(Arc<Scene>, Arc<Scene>),
    /// The same, which is in the file now.
    Keep(Arc<Scene>, Arc<Scene>),
    End,
}

/// An editor that saves is done with it.
const QUIET: Duration = Duration::from_millis(100);

impl Loader {
    /// Watches the files of the scene, if `watches` says so. `tell` hears of it on the thread: `Told::News`, or a note.
    pub(super) fn start(
        scene: Arc<Scene>,
        trees: Option<Arc<Trees>>,
        (changes, noise): (Changes, Option<f32>),
        settings: Settings,
        watches: bool,
        tell: impl Fn(Told) + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, asked) = mpsc::channel();
        let looks = sender.clone();
        let look = move |_| drop(looks.send(Asked::Look));
        let watcher = watches.then(|| new_debouncer(QUIET, look));
        let work = Work {
            files: scene.files.clone(),
            read: scene.clone(),
            turned: scene.clone(),
            trees: trees.map(|trees| (scene.clone(), trees)),
            scene,
            changes,
            noise,
            settings,
            watcher,
            watched: BTreeSet::new(),
            tell,
        };
        let thread = thread::Builder::new().name("load".to_owned());
        thread.spawn(move || work.run(&asked))?;
        Ok(Self(sender))
    }

    /// Reads another scene.
    pub(super) fn open(&self, path: PathBuf) {
        // It listens until this is dropped.
        let _ = self.0.send(Asked::Open(path));
    }
}

impl Loader {
    /// Puts a scene on a renderer whose materials are others than those of the one that was read.
    pub(super) fn turn(&self, scene: Arc<Scene>, read: Arc<Scene>) {
        let _ = self.0.send(Asked::Turn(scene, read));
    }

    /// A scene whose materials are others than those of the one that was read has been written into its file.
    pub(super) fn keep(&self, scene: Arc<Scene>, read: Arc<Scene>) {
        let _ = self.0.send(Asked::Keep(scene, read));
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        let _ = self.0.send(Asked::End);
    }
}

struct Work<T: Fn(Told)> {
    /// The last one that could be read.
    read: Arc<Scene>,
    /// The same, as it was turned last.
    turned: Arc<Scene>,
    /// The last one that was put on a renderer.
    scene: Arc<Scene>,
    /// Of the last scene that had others, and that: they outlive a change of its materials.
    trees: Option<(Arc<Scene>, Arc<Trees>)>,
    files: Vec<SceneFile>,
    changes: Changes,
    /// See [`Renderer::set_noise`].
    noise: Option<f32>,
    settings: Settings,
    watcher: Option<notify::Result<Debouncer<RecommendedWatcher>>>,
    watched: BTreeSet<PathBuf>,
    tell: T,
}

impl<T: Fn(Told)> Work<T> {
    fn run(mut self, asked: &Receiver<Asked>) {
        self.watch();
        while let Ok(mut order) = asked.recv() {
            // Of several that were turned only the last is shown.
            while let Asked::Turn(turned, read) = &order {
                if Arc::ptr_eq(read, &self.read) {
                    self.turned = turned.clone();
                }
                let Ok(next) = asked.try_recv() else {
                    break;
                };
                if !matches!(next, Asked::Look) {
                    order = next;
                } else if self.have_files_changed() {
                    order = Asked::Look;
                }
            }
            match order {
                Asked::Look if self.have_files_changed() => {
                    let path = self.read.path.clone();
                    self.load(&path, Why::Changed);
                }
                Asked::Look => {}
                Asked::Open(path) => self.load(&path, Why::Opened),
                Asked::Turn(scene, read) if Arc::ptr_eq(&read, &self.read) => self.turn(scene),
                Asked::Keep(scene, read) if Arc::ptr_eq(&read, &self.read) => {
                    self.read = scene.clone();
                    self.turned = scene.clone();
                    // It may have come right behind the last turn.
                    if !Arc::ptr_eq(&scene, &self.scene) {
                        self.turn(scene);
                    }
                }
                // It has been read anew meanwhile.
                Asked::Turn(..) | Asked::Keep(..) => {}
                Asked::End => return,
            }
        }
    }

    fn renderer(&mut self, scene: &Arc<Scene>) -> Result<(Box<Renderer>, Arc<Trees>), Error> {
        let trees = match &self.trees {
            Some((of, trees)) if scene.has_shapes_of(of) => trees.clone(),
            _ => Arc::new(Trees::of(scene)?),
        };
        self.trees = Some((scene.clone(), trees.clone()));
        let mut renderer = Renderer::within(trees.clone(), scene, &self.settings)?;
        if self.noise.is_some() {
            renderer.set_noise(self.noise)?;
        }
        Ok((Box::new(renderer), trees))
    }

    fn have_files_changed(&self) -> bool {
        self.files.iter().any(SceneFile::has_changed)
    }

    fn turn(&mut self, scene: Arc<Scene>) {
        match self.renderer(&scene) {
            Ok(renderer) => {
                self.scene = scene.clone();
                (self.tell)(Told::News(News::Loaded(Box::new(Loaded {
                    read: self.read.clone(),
                    scene,
                    renderer: Some(renderer),
                    why: Why::Turned,
                }))));
            }
            Err(error) => (self.tell)(Told::Note(error.to_string())),
        }
    }

    fn load(&mut self, path: &Path, why: Why) {
        let opened = why == Why::Opened;
        let (scene, files) = Scene::load_noting(path);
        if opened && scene.is_err() {
            // The one before goes on, and so do its files.
        } else {
            // Behind a mistake may be more files, which were there before.
            let is_old = |old: &SceneFile| !files.iter().any(|file| file.path == old.path);
            let behind = scene.is_err().then(|| self.files.drain(..).filter(is_old));
            let behind: Vec<_> = behind.into_iter().flatten().collect();
            self.files = files.into_iter().chain(behind).collect();
            self.watch();
        }
        let loaded = scene.and_then(|scene| self.loaded(scene, why));
        match loaded {
            Ok(loaded) => {
                self.scene = loaded.scene.clone();
                self.turned = loaded.scene.clone();
                self.read = loaded.read.clone();
                (self.tell)(Told::News(News::Loaded(Box::new(loaded))));
            }
            Err(error) => {
                let error = error.to_string();
                say(&error);
                (self.tell)(if opened {
                    Told::Note(error)
                } else {
                    Told::News(News::Trouble(error))
                });
            }
        }
    }

    fn loaded(&mut self, mut read: Scene, why: Why) -> Result<Loaded, Error> {
        read.change(&self.changes)?;
        read.share_shapes(&self.read);
        let read = Arc::new(read);
        let scene = match why {
            Why::Opened => read.clone(),
            Why::Changed | Why::Turned => with_turned(&read, &turned(&self.read, &self.turned)),
        };
        let renderer = if why == Why::Changed && renders_alike(&scene, &self.scene) {
            None
        } else {
            Some(self.renderer(&scene)?)
        };
        if scene.notes != self.read.notes {
            scene.notes.iter().for_each(|note| say(note));
        }
        Ok(Loaded {
            read,
            scene,
            renderer,
            why,
        })
    }

    /// Watches the folders of the files, and no others.
    fn watch(&mut self) {
        let watcher = match &mut self.watcher {
            None => return,
            Some(Ok(watcher)) => watcher.watcher(),
            Some(Err(error)) => {
                let line = format!("changes of the scene's files are not seen: {error}");
                return (self.tell)(Told::Note(line));
            }
        };
        let wanted: BTreeSet<PathBuf> = self.files.iter().flat_map(folders).collect();
        for gone in self.watched.difference(&wanted) {
            // It may have been removed, and its watch with it.
            let _ = watcher.unwatch(gone);
        }
        let mut watched = BTreeSet::new();
        for folder in wanted {
            let seen = self.watched.contains(&folder)
                || watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok();
            if seen {
                watched.insert(folder);
            } else if folder.is_dir() {
                let line = format!("changes in {} are not seen", folder.display());
                (self.tell)(Told::Note(line));
            }
        }
        self.watched = watched;
    }
}

/// The folder in which a file has its name, and that in which it is, if that name is a link.
fn folders(file: &SceneFile) -> impl Iterator<Item = PathBuf> {
    let own = folder_of(&file.path);
    let own = fs::canonicalize(own).unwrap_or_else(|_| own.to_owned());
    let real = fs::canonicalize(&file.path).ok();
    [own]
        .into_iter()
        .chain(real.map(|real| folder_of(&real).to_owned()))
}

/// Whether a render of one is one of the other, through another camera.
fn renders_alike(one: &Scene, other: &Scene) -> bool {
    let settings = |scene: &Scene| {
        let Scene {
            size,
            spp,
            max_bounces,
            seed,
            clamp_indirect,
            ..
        } = *scene;
        (size, spp, max_bounces, seed, clamp_indirect)
    };
    settings(one) == settings(other)
        && one.material_names == other.material_names
        && one.surfaces_hash() == other.surfaces_hash()
}

/// A line for the person at the terminal, if there is one.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "raysieve: {line}");
}
