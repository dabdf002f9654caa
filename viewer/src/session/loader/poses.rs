//! Shows the animations of the displayed scene at the times that the session requests.
//!
//! A pose is loaded like a reloaded scene, but the file and its images are read only once.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Receiver},
    time::{Duration, Instant},
};

use super::{LoadRequest, LoaderState, RecvError, RecvTimeoutError};
use crate::{
    Error,
    session::events::{LoadReason, SessionEvent},
};
use raysieve_scene::{LoadOptions, Scene, SceneFile, SceneLoader};

/// Maximum number of poses per second, and number of steps of the time per second.
pub(in crate::session) const FRAME_RATE: f64 = 24.0;

/// A request for a pose of the scene of a file.
pub(in crate::session) struct PoseRequest {
    /// Path of the scene. The request is ignored if another scene is displayed.
    pub(in crate::session) path: PathBuf,
    /// Animation that is shown, as [`LoadOptions::animation`]; `None` shows all.
    pub(in crate::session) animation: Option<String>,
    /// Time in seconds of the animation.
    pub(in crate::session) time: f64,
}

impl LoaderState {
    /// Waits for the next request and returns it. Meanwhile shows a requested pose once it is due.
    pub(super) fn next_request(
        &mut self,
        requests: &Receiver<LoadRequest>,
    ) -> Result<LoadRequest, RecvError> {
        loop {
            let Some(due) = self.pose_due() else {
                return requests.recv();
            };
            match requests.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(request) => return Ok(request),
                Err(RecvTimeoutError::Timeout) => self.show_pose(),
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
            }
        }
    }

    /// Returns whether a pose is requested and due.
    pub(super) fn is_pose_due(&self) -> bool {
        self.pose_due().is_some_and(|due| due <= Instant::now())
    }

    /// Returns the time at which the requested pose is due: one frame after the last pose, so that neither playing nor
    /// dragging the time queues renderers. `None` if no pose is requested.
    fn pose_due(&self) -> Option<Instant> {
        self.pose.as_ref()?;
        let frame = Duration::from_secs_f64(1.0 / FRAME_RATE);
        Some(self.posed.map_or_else(Instant::now, |last| last + frame))
    }

    /// Loads the requested pose with the latest edits, and sends it or the error. Does nothing if no pose of the
    /// displayed scene is requested.
    pub(super) fn show_pose(&mut self) {
        let Some(request) = self.pose.take() else {
            return;
        };
        if request.path == self.read.path {
            self.posed = Some(Instant::now());
            let options = LoadOptions {
                animation: request.animation,
                time: Some(request.time),
                ..self.first.clone()
            };
            let read = self.load_pose(&options);
            let loaded = read.and_then(|read| self.loaded(read, LoadReason::Posed));
            match loaded {
                Ok(loaded) => return self.show(loaded),
                Err(error) => {
                    self.poses = None;
                    let error = SessionEvent::PoseError(error.to_string());
                    self.events.to_session(error);
                }
            }
        }
        // An edit may have waited for the pose.
        if !Arc::ptr_eq(&self.edited, &self.scene) {
            self.edit(self.edited.clone());
        }
    }

    /// Loads the displayed scene with these options, from its file as it was when the first pose was loaded.
    fn load_pose(&mut self, options: &LoadOptions) -> Result<Scene, Error> {
        let poses = match &mut self.poses {
            Some(poses) => poses,
            none => {
                let mut loader = SceneLoader::new(&self.read.path);
                loader.stage_like(&self.first)?;
                none.insert(loader)
            }
        };
        Ok(poses.load(options)?)
    }
}

/// Reads a scene or model file as `options` selects it, and returns it with the files that were looked for. Keeps the
/// camera, the exposure and the default lighting that it has with the options `first`. Reads a file with those if it cannot
/// be shown as `options` selects it any more.
pub(super) fn read_file(
    path: &Path,
    options: &LoadOptions,
    first: &LoadOptions,
) -> (Result<Scene, Error>, Vec<SceneFile>) {
    let mut loader = SceneLoader::new(path);
    let scene = if options == first {
        loader.load(options)
    } else {
        let staged = loader.stage_like(first);
        let posed = staged.and_then(|()| loader.load(options));
        posed.or_else(|_| {
            // The file may have lost its animations.
            loader = SceneLoader::new(path);
            loader.load(first)
        })
    };
    (scene.map_err(Error::from), loader.into_files())
}
