//! Loads scenes while another one is rendered: when its files change, when a user opens another one, or when its
//! animations are shown at another time. Also prepares renderers for edited scenes.
//!
//! A thread reads the scene and prepares a renderer for it, so that scene and renderer are replaced together. It
//! watches the folders of the files instead of the files, because editors replace files by renaming. A notification
//! only triggers a check; the files themselves tell whether they have changed.

mod poses;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvError, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use notify_debouncer_mini::{
    Debouncer, new_debouncer,
    notify::{self, RecommendedWatcher, RecursiveMode},
};

use self::poses::read_file;
pub(super) use self::poses::{FRAME_RATE, PoseRequest};
use super::{
    events::{EventSender, LoadReason, Loaded, SessionEvent},
    spawn,
};
use crate::{Error, error::report};
use raysieve::{
    accel::trees::SceneBvhs,
    render::renderer::{BackendChoice, Renderer, Settings},
};
use raysieve_scene::{
    LoadOptions, Scene, SceneFile, SceneLoader, SettingOverrides, atomic_file::folder_of,
};

/// Handle of the loader thread, which loads and watches scenes. Dropping the handle ends the thread once it has
/// executed earlier requests, without waiting.
pub(super) struct Loader(Sender<LoadRequest>);

/// A request to the loader thread: to load files, to prepare a renderer for edits, to pose the scene, to note that
/// edits were saved, or to end.
pub(super) enum LoadRequest {
    /// Loads scenes again whose files have changed, because a watched folder has.
    CheckFiles,
    /// Loads this scene or model file, which a user opened. `SessionEvent::Loaded` or a message follows.
    Open(PathBuf),
    /// Prepares a renderer for the first scene, which is the second with edits. Ignored unless the second is
    /// the scene last loaded or saved. `SessionEvent::Loaded` or a message follows, unless a later request or a reload
    /// makes this one obsolete.
    Edit(Arc<Scene>, Arc<Scene>),
    /// Shows the animations of the displayed scene at a time. Replaces an earlier request that is not executed yet.
    /// `SessionEvent::Loaded` or `SessionEvent::PoseError` follows, unless a later request or an opened scene makes this
    /// one obsolete.
    Pose(PoseRequest),
    /// Tells the loader that the scene was saved to its file. From then on, these edits count as unedited.
    Saved {
        /// Scene that the file contains now.
        saved: Arc<Scene>,
        /// `saved` with the edits that could not be saved.
        scene: Arc<Scene>,
        /// Scene before the edits. The request is ignored unless it is the scene last loaded or saved.
        read: Arc<Scene>,
    },
    /// Prepares renderers on the CPU from now on, because all GPUs have failed. Repeats an edit that has no renderer.
    UseCpu,
    End,
}

/// Time between a change in a watched folder and the check of the files. While changes continue, the check repeats.
const DEBOUNCE_TIME: Duration = Duration::from_millis(100);

impl Loader {
    /// Starts the thread with the displayed scene, and watches that scene's files if `watches`. Results are sent to
    /// the session. If the files cannot be watched, a message says so, and the thread works without
    /// watching.
    pub(super) fn start(
        scene: Arc<Scene>,
        trees: Option<Arc<SceneBvhs>>,
        (changes, load, noise): (SettingOverrides, LoadOptions, Option<f32>),
        settings: Settings,
        watches: bool,
        events: EventSender,
    ) -> io::Result<Self> {
        let (sender, requests) = mpsc::channel();
        let notifications = sender.clone();
        let notify_change = move |_| drop(notifications.send(LoadRequest::CheckFiles));
        let watcher = watches.then(|| new_debouncer(DEBOUNCE_TIME, notify_change));
        let state = LoaderState {
            files: scene.files.clone(),
            unopened: None,
            read: scene.clone(),
            edited: scene.clone(),
            trees: trees.map(|trees| (scene.clone(), trees)),
            scene,
            changes,
            first: load,
            noise,
            settings,
            pose: None,
            posed: None,
            poses: None,
            watcher,
            wanted: BTreeSet::new(),
            watched: BTreeSet::new(),
            events,
        };
        spawn("load", move || state.run(&requests))?;
        Ok(Self(sender))
    }

    /// Sends a request, which the thread executes later.
    pub(super) fn send(&self, request: LoadRequest) {
        // The thread listens until this handle is dropped.
        let _ = self.0.send(request);
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.send(LoadRequest::End);
    }
}

struct LoaderState {
    /// Scene as last loaded or saved, without later edits.
    read: Arc<Scene>,
    /// Scene `read` with the latest requested edits.
    edited: Arc<Scene>,
    /// Scene last sent to the session, with its edits; at first the scene of [`Loader::start`].
    scene: Arc<Scene>,
    /// Scene whose acceleration structures are cached, and these structures. Edits reuse them.
    trees: Option<(Arc<Scene>, Arc<SceneBvhs>)>,
    /// Files of the displayed scene. A change of one of them causes a reload.
    files: Vec<SceneFile>,
    /// Path of the scene or model that a user opened last, and its files, while it is being loaded and after it could
    /// not be displayed. A change of one of them opens it again. `None` if it is displayed.
    unopened: Option<(PathBuf, Vec<SceneFile>)>,
    /// Command-line overrides, which are applied to each loaded scene.
    changes: SettingOverrides,
    /// Choices among what its file offers with which the displayed scene was opened. They determine the camera, the
    /// exposure and the default lighting of a model also for other animations and times.
    first: LoadOptions,
    /// Newest request for a pose that is not executed yet.
    pose: Option<PoseRequest>,
    /// Time at which the last pose was begun; `None` before the first.
    posed: Option<Instant>,
    /// Opened file of the displayed scene, to load its poses; `None` before the first pose.
    poses: Option<SceneLoader>,
    /// Target error of each new renderer; see [`Renderer::set_noise`].
    noise: Option<f32>,
    settings: Settings,
    /// Watcher of the files' folders, or the error that prevented it; `None` if the user disabled watching.
    watcher: Option<notify::Result<Debouncer<RecommendedWatcher>>>,
    /// Folders to watch, see [`LoaderState::wanted_folders`].
    wanted: BTreeSet<PathBuf>,
    /// Folders that are being watched; those that the system refuses to watch are missing.
    watched: BTreeSet<PathBuf>,
    events: EventSender,
}

impl LoaderState {
    /// Executes requests until the handle is dropped.
    fn run(mut self, requests: &Receiver<LoadRequest>) {
        self.watch();
        // A file may have changed before it was watched.
        if matches!(self.watcher, Some(Ok(_))) {
            self.load_changed();
        }
        while let Ok(mut request) = self.next_request(requests) {
            // Of several pending edits, only the last is applied.
            while let LoadRequest::Edit(edited, read) = &request {
                if Arc::ptr_eq(read, &self.read) {
                    self.edited = edited.clone();
                }
                let Ok(next) = requests.try_recv() else {
                    break;
                };
                match next {
                    LoadRequest::CheckFiles => {
                        if have_changed(&self.files) || self.unopened_change().is_some() {
                            request = LoadRequest::CheckFiles;
                        }
                    }
                    LoadRequest::Pose(pose) => self.pose = Some(pose),
                    next => request = next,
                }
            }
            match request {
                LoadRequest::CheckFiles => self.check_files(),
                LoadRequest::Open(path) => self.load(&path, LoadReason::Opened),
                LoadRequest::Pose(pose) => self.pose = Some(pose),
                // The pose has the edits too.
                LoadRequest::Edit(_, read)
                    if Arc::ptr_eq(&read, &self.read) && self.is_pose_due() =>
                {
                    self.show_pose();
                }
                LoadRequest::Edit(scene, read) if Arc::ptr_eq(&read, &self.read) => {
                    self.edit(scene)
                }
                LoadRequest::Saved { saved, scene, read } if Arc::ptr_eq(&read, &self.read) => {
                    self.read = saved;
                    self.edited = scene.clone();
                    // The request may have followed directly after the last edit.
                    if !Arc::ptr_eq(&scene, &self.scene) {
                        self.edit(scene);
                    }
                    // The folder of the file may have been replaced, and its watch lost.
                    self.follow_folders();
                }
                LoadRequest::UseCpu => {
                    self.settings.backend = BackendChoice::Cpu;
                    // It is the size for a thread on the CPU, and was that for a whole GPU.
                    self.settings.wave_size = None;
                    if !Arc::ptr_eq(&self.edited, &self.scene) {
                        self.edit(self.edited.clone());
                    }
                }
                // The scene has been reloaded in the meantime.
                LoadRequest::Edit(..) | LoadRequest::Saved { .. } => {}
                LoadRequest::End => return,
            }
        }
    }

    /// Prepares a renderer and acceleration structures for a scene. Reuses the cached structures if the shapes are
    /// equal.
    fn renderer(&mut self, scene: &Arc<Scene>) -> Result<(Box<Renderer>, Arc<SceneBvhs>), Error> {
        let trees = match &self.trees {
            Some((of, trees)) if scene.has_equal_shapes(of) => trees.clone(),
            _ => Arc::new(SceneBvhs::for_short_use(scene)?),
        };
        self.trees = Some((scene.clone(), trees.clone()));
        let mut renderer = Renderer::with_trees(trees.clone(), scene, &self.settings)?;
        if self.noise.is_some() {
            renderer.set_noise(self.noise)?;
        }
        Ok((Box::new(renderer), trees))
    }

    /// Watches folders that have come back, and loads scenes again whose files have changed.
    fn check_files(&mut self) {
        self.follow_folders();
        self.load_changed();
    }

    /// Watches other folders if those of the files have gone or come back.
    fn follow_folders(&mut self) {
        if self.watcher.is_some() && self.wanted_folders() != self.wanted {
            self.watch();
        }
    }

    /// Loads the displayed scene again if one of its files has changed, and opens again the scene that could not be
    /// opened if one of its files has.
    fn load_changed(&mut self) {
        if have_changed(&self.files) {
            let path = self.read.path.clone();
            self.load(&path, LoadReason::Changed);
        }
        if let Some(path) = self.unopened_change() {
            self.load(&path, LoadReason::Opened);
        }
    }

    /// Returns the path of the scene that could not be opened, if one of its files has changed since it was read.
    fn unopened_change(&self) -> Option<PathBuf> {
        let (path, files) = self.unopened.as_ref()?;
        have_changed(files).then(|| path.clone())
    }

    /// Prepares a renderer for an edited scene, and sends both or a message with the error.
    fn edit(&mut self, scene: Arc<Scene>) {
        match self.renderer(&scene) {
            Ok(renderer) => {
                self.scene = scene.clone();
                let loaded = Loaded {
                    read: self.read.clone(),
                    scene,
                    renderer: Some(renderer),
                    reason: LoadReason::Edited,
                };
                self.events
                    .to_session(SessionEvent::Loaded(Box::new(loaded)));
            }
            Err(error) => self.events.problem(error.to_string()),
        }
    }

    /// Loads a scene or model file, and sends the scene or the error. The files of an opened scene and those of the
    /// displayed one are watched until the opened one replaces it.
    fn load(&mut self, path: &Path, reason: LoadReason) {
        let opened = reason == LoadReason::Opened;
        if let Some(problem) = Scene::check_name(path).err().filter(|_| opened) {
            let error = format!("{}: {problem}", path.display());
            return self.events.problem(error);
        }
        // The choices of the command line belong to its own file.
        let options = if opened {
            LoadOptions::default()
        } else {
            shown_options(&self.first, &self.read)
        };
        let first = if opened { &options } else { &self.first };
        let (scene, files) = read_file(path, &options, first);
        if opened {
            self.unopened = Some((path.to_owned(), files));
        } else {
            // A parse error may hide further files, so files known from before stay watched.
            let is_old = |old: &SceneFile| !files.iter().any(|file| file.path == old.path);
            let behind = scene.is_err().then(|| self.files.drain(..).filter(is_old));
            let behind: Vec<_> = behind.into_iter().flatten().collect();
            self.files = files.into_iter().chain(behind).collect();
        }
        self.watch();
        let loaded = scene.and_then(|scene| self.loaded(scene, reason));
        match loaded {
            Ok(loaded) => {
                if let Some((_, files)) = self.unopened.take_if(|(of, _)| of == path)
                    && opened
                {
                    self.first = options;
                    self.files = files;
                    self.pose = None;
                    self.watch();
                }
                // It has the earlier contents of the file, or another file.
                self.poses = None;
                self.show(loaded);
            }
            Err(error) => {
                let error = error.to_string();
                if opened {
                    return self.events.problem(error);
                }
                report(&error);
                self.events.to_session(SessionEvent::SceneError(error));
            }
        }
    }

    /// Sends a loaded scene, and keeps it as the displayed one.
    fn show(&mut self, loaded: Loaded) {
        self.scene = loaded.scene.clone();
        self.edited = loaded.scene.clone();
        self.read = loaded.read.clone();
        (self.events).to_session(SessionEvent::Loaded(Box::new(loaded)));
    }

    /// Prepares a scene that has been read: applies the overrides and, after a reload, the user's edits. Also prepares
    /// a renderer, unless the current one can continue with a reloaded scene. An opened scene always gets one.
    ///
    /// # Errors
    /// If the settings are invalid with the overrides, or the renderer cannot be created.
    fn loaded(&mut self, mut read: Scene, reason: LoadReason) -> Result<Loaded, Error> {
        read.apply_overrides(&self.changes)?;
        read.share_equal_shapes(&self.read);
        let read = Arc::new(read);
        let scene = match reason {
            LoadReason::Opened => read.clone(),
            LoadReason::Changed | LoadReason::Edited | LoadReason::Posed => {
                let edits = self.edited.edits_since(&self.read);
                match edits.is_empty() {
                    true => read.clone(),
                    false => Arc::new(read.with_edits(&edits)),
                }
            }
        };
        let renderer = if reason == LoadReason::Changed && can_share_renderer(&scene, &self.scene) {
            None
        } else {
            Some(self.renderer(&scene)?)
        };
        let opened = renderer.as_ref().filter(|_| reason == LoadReason::Opened);
        if let Some(note) = opened.and_then(|(renderer, _)| renderer.empty_view()) {
            report(note);
            self.events.message(note.to_owned());
        }
        if reason == LoadReason::Posed {
            let new = |note: &&String| !self.read.notes.contains(note);
            for note in scene.notes.iter().filter(new) {
                report(note);
                self.events.message(note.clone());
            }
        } else if scene.notes != self.read.notes {
            scene.notes.iter().for_each(|note| report(note));
        }
        Ok(Loaded {
            read,
            scene,
            renderer,
            reason,
        })
    }

    /// Returns the folders to watch: those of the files of the displayed scene and of one that could not be opened.
    fn wanted_folders(&self) -> BTreeSet<PathBuf> {
        let unopened = self.unopened.iter().flat_map(|(_, files)| files);
        self.files
            .iter()
            .chain(unopened)
            .flat_map(folders)
            .collect()
    }

    /// Watches exactly the folders that contain the files of the displayed scene and of one that could not be opened.
    /// Sends a message for each existing folder that cannot be watched, or if watching is impossible. Does nothing if
    /// the user disabled watching.
    fn watch(&mut self) {
        let wanted = self.wanted_folders();
        let watcher = match &mut self.watcher {
            None => return,
            Some(Ok(watcher)) => watcher.watcher(),
            Some(Err(error)) => {
                let line = format!("cannot watch the scene's files for changes: {error}");
                return self.events.problem(line);
            }
        };
        for gone in self.watched.difference(&wanted) {
            // The folder may have been removed, and its watch with it.
            let _ = watcher.unwatch(gone);
        }
        let mut watched = BTreeSet::new();
        for folder in wanted.clone() {
            let seen = self.watched.contains(&folder)
                || watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok();
            if seen {
                watched.insert(folder);
            } else if folder.is_dir() {
                let line = format!("cannot watch {} for changes", folder.display());
                self.events.problem(line);
            }
        }
        (self.wanted, self.watched) = (wanted, watched);
    }
}

/// Returns whether one of the files has changed since it was read.
fn have_changed(files: &[SceneFile]) -> bool {
    files.iter().any(SceneFile::has_changed)
}

/// Returns the choices among what its file offers that show this scene. It was opened with the choices `first`.
pub(super) fn shown_options(first: &LoadOptions, scene: &Scene) -> LoadOptions {
    let Some(shown) = &scene.timeline else {
        return first.clone();
    };
    let chosen = shown.chosen.and_then(|chosen| shown.animations.get(chosen));
    LoadOptions {
        animation: chosen.cloned(),
        time: shown.time,
        ..first.clone()
    }
}

/// Returns the folder of the file's path, or the nearest existing one above it if it does not exist. The folder of the
/// file to which the path leads through symbolic links follows. It is equal to the first without such links, and missing
/// if the file does not exist.
fn folders(file: &SceneFile) -> impl Iterator<Item = PathBuf> {
    let own = folder_of(&file.path);
    let own = std::path::absolute(own).unwrap_or_else(|_| own.to_owned());
    let existing = own
        .ancestors()
        .find_map(|folder| fs::canonicalize(folder).ok());
    let own = existing.unwrap_or(own);
    let real = fs::canonicalize(&file.path).ok();
    [own]
        .into_iter()
        .chain(real.map(|real| folder_of(&real).to_owned()))
}

/// Returns whether both scenes can share a renderer, because they differ at most in camera and display settings. Frames
/// name the animations of the scene with which their renderer was made.
fn can_share_renderer(one: &Scene, other: &Scene) -> bool {
    let settings = |scene: &Scene| {
        let Scene {
            size,
            spp,
            max_bounces,
            roulette,
            seed,
            clamp_indirect,
            ..
        } = *scene;
        (size, spp, max_bounces, roulette, seed, clamp_indirect)
    };
    settings(one) == settings(other)
        && one.material_names == other.material_names
        && one.timeline == other.timeline
        && one.surfaces_hash() == other.surfaces_hash()
}
