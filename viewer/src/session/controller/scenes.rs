//! Replaces the current scene, and handles the other session events.

use std::{mem, path::PathBuf, sync::Arc};

use super::{History, Playback, Session};
use crate::session::{
    commands::NewRenderer,
    events::{LoadReason, Loaded, SessionEvent},
    inspection_scene::InspectionScene,
    loader::LoadRequest,
    orbit::Orbit,
};
use raysieve::{accel::trees::SceneBvhs, render::renderer::Renderer};
use raysieve_scene::{LoadOptions, Scene, escaped};

impl Session {
    /// Requests a scene or model file, which is displayed once loaded. If loading fails, a problem is reported and the
    /// current scene stays.
    pub(crate) fn open_file(&self, path: PathBuf) {
        let name = path.display().to_string();
        match &self.loader {
            Some(loader) => {
                loader.send(LoadRequest::Open(path));
                self.say(format!("loading {name}"));
            }
            None => self.report_problem(format!(
                "{name}: not loaded: the system has no free thread for it; restart the program"
            )),
        }
    }

    /// Executes an event that a background thread of the session has reported.
    pub(crate) fn handle_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Loaded(loaded) => self.show(*loaded),
            SessionEvent::SceneError(scene_error) => self.scene_error = Some(scene_error),
            SessionEvent::PoseError(error) => self.end_playback(error),
            SessionEvent::Focus(point) => {
                self.record_view_separately();
                let focused = self.orbit.focus_on(point);
                self.render_view();
                if let Some(metres) = focused {
                    self.say(format!("focus at {metres:.3} m"));
                }
            }
            SessionEvent::GpusFailed => {
                if let Some(loader) = &self.loader {
                    loader.send(LoadRequest::UseCpu);
                }
            }
            SessionEvent::Query(query) => self.start_query(query),
        }
    }

    /// Shows the scene from the next camera of its file, which `Home` then returns to.
    pub(super) fn next_camera(&mut self) {
        let cameras = &self.scene.cameras;
        if cameras.is_empty() {
            return self.say("the file has no cameras to choose from");
        }
        let index = self.file_camera.map_or(0, |last| last + 1) % cameras.len();
        let (name, number) = (&cameras[index].name, index + 1);
        let name = if name.is_empty() {
            String::new()
        } else {
            format!(" {:?}", escaped(name))
        };
        let message = format!("camera {number}{name} of {}", cameras.len());
        let camera = cameras[index].framing.camera(self.scene.size);
        self.file_camera = Some(index);
        self.record_view_separately();
        self.orbit.home = camera;
        self.orbit.reset();
        self.render_view();
        self.say(message);
    }

    /// Displays a loaded scene. Keeps the user's camera, exposure, tone curve and size, unless another scene was opened
    /// or the scene's file has changed them.
    ///
    /// Displays a message if a loaded file required a new renderer, but not after an edit.
    fn show(&mut self, loaded: Loaded) {
        let Loaded {
            read,
            scene,
            renderer,
            reason,
        } = loaded;
        let replaced = renderer.is_some();
        let renderer = renderer.map(|(renderer, trees)| {
            self.set_inspection_scene(scene.clone(), trees);
            self.prepared(renderer, &scene, reason)
        });
        if reason == LoadReason::Edited {
            return self.render_view_with(renderer);
        }
        let opened = reason == LoadReason::Opened;
        let posed = reason == LoadReason::Posed;
        // Includes edits made while the file was read.
        let edits = self.edits();
        let before = mem::replace(&mut self.scene, scene.clone());
        if !posed {
            self.scene_error = None;
        }
        let is_alike = !opened && scene.has_same_parts(&before);
        if is_alike {
            self.adapt_history(&read);
        } else {
            self.history.forget_parts();
        }
        self.editing.replace(read, is_alike);
        if scene.origin != before.origin {
            self.orbit.move_origin(before.origin, scene.origin);
            // Earlier cameras are relative to the old origin.
            self.history = History::default();
        }
        let seen = self.orbit.camera(self.size);
        if opened {
            self.orbit = Orbit::new(scene.camera, scene.size);
            self.first = LoadOptions::default();
            self.playback = Playback::default();
            self.file_camera = file_camera(&scene);
            self.history = History::default();
        } else {
            let chosen = self.file_camera.and_then(|index| scene.cameras.get(index));
            let home = chosen.map_or(scene.camera, |chosen| chosen.framing.camera(scene.size));
            self.orbit.set_home(home, scene.size);
        }
        if opened || scene.exposure_stops != before.exposure_stops {
            self.look.exposure_stops = scene.exposure_stops;
        }
        if opened || scene.tone != before.tone {
            self.look.tone = scene.tone;
        }
        if opened || scene.size != before.size {
            self.forget_region();
            self.size = scene.size;
        }
        if replaced || seen != self.orbit.camera(self.size) {
            self.render_view_with(renderer);
        } else {
            self.request_debug_view();
        }
        if !opened {
            self.apply_edits(&edits);
        }
        if posed {
            self.playback.receive(scene.timeline.as_ref());
            return self.report_lost_edits(&edits);
        }
        let edited = match self.edits().is_empty() {
            true => "",
            false => ", with your edits kept",
        };
        if opened {
            self.report_earlier_autosaves();
        }
        let verb = if opened { "opened" } else { "reloaded" };
        if replaced {
            self.say(format!("{} {verb}{edited}", scene.path.display()));
        }
    }

    /// Replaces the scene of path inspection and debug views.
    fn set_inspection_scene(&mut self, scene: Arc<Scene>, trees: Arc<SceneBvhs>) {
        self.inspection_scene = Arc::new(InspectionScene::new(scene, Some(trees)));
    }

    /// Prepares a renderer of the scene, which is that of path inspection, for the render thread: sets the selected
    /// compaction strategy, and the number of samples if the user has raised it.
    fn prepared(
        &mut self,
        mut renderer: Box<Renderer>,
        scene: &Scene,
        reason: LoadReason,
    ) -> NewRenderer {
        // The render thread reported a strategy that is not available when the user selected it.
        let _ = renderer.set_strategy(self.strategy);
        let keeps_samples = reason != LoadReason::Opened && scene.spp == self.scene.spp;
        if !keeps_samples || self.samples <= scene.spp || renderer.extend_to(self.samples).is_err()
        {
            self.samples = scene.spp;
        }
        NewRenderer {
            renderer,
            inspection_scene: self.inspection_scene.clone(),
            samples: self.samples,
        }
    }
}

/// Returns the index of the camera of the scene's file with which the scene was loaded; `None` for another camera.
pub(super) fn file_camera(scene: &Scene) -> Option<usize> {
    let mut cameras = scene.cameras.iter();
    cameras.position(|camera| camera.framing.camera(scene.size) == scene.camera)
}
