//! The state of an interactive render: turns user actions into commands to the render thread, and keeps the display
//! settings.

mod animation;
mod autosave;
mod history;
mod scene_edits;
mod scenes;
mod saving;
mod display;

use std::{f32::consts::PI, io, sync::Arc, time::Duration};

use compaction::select::Strategy;
use glam::Vec3;
use serde::Deserialize;

pub(crate) use self::{
    animation::Animation,
    display::NOTHING_TO_COMPARE,
    history::Continuity,
    saving::{EditState, SceneToSave},
    scene_edits::EditorState,
};
use self::{animation::Playback, autosave::Autosave, history::History, scenes::file_camera};
use super::{
    DisplayFrame, ViewOptions,
    commands::NewRenderer,
    controls::Change,
    debug_views::DebugViewThread,
    derived_image::DerivedImageThread,
    editing::Editing,
    events::{EventSender, RenderEvent},
    inspection::Inspection,
    inspection_scene::{InspectionScene, SceneView},
    loader::Loader,
    orbit::Orbit,
    path_query::{PathQuery, QueryKind},
    render_thread::RenderThread,
    transparency::AlphaThread,
};
use raysieve::{
    film::picture::{comparison::ComparisonImage, tone::Tone},
    inspect::debug_view::DebugView,
    render::{output::Look, region::Region, renderer::Renderer},
};
use raysieve_scene::{LoadOptions, Scene, SettingOverrides};

/// An interactive render: its render thread, camera, edits and display settings.
pub(crate) struct Session {
    render: RenderThread,
    inspection: Inspection,
    /// Handle of the loader thread; `None` if that thread could not be started.
    loader: Option<Loader>,
    /// Scene of path inspection and debug views.
    inspection_scene: Arc<InspectionScene>,
    debug_views: DebugViewThread,
    /// Selected debug view; `DebugView::Light` displays the picture itself.
    pub(crate) debug_view: DebugView,
    /// Image with which the picture can be compared; `None` if there is none.
    pub(crate) compared: Option<Arc<ComparisonImage>>,
    /// Time and animation of the scene when that image was loaded; see [`display::shown_time`].
    compared_time: (Option<f64>, Option<usize>),
    /// Whether a message has said that the camera shows another view than the image.
    has_said_other_view: bool,
    /// Thread that computes the image that is displayed instead of the picture, such as the error map; `None` without
    /// such an image.
    derived: Option<DerivedImageThread>,
    /// Thread that traces the alpha of a transparent background.
    alpha: AlphaThread,
    events: EventSender,
    /// Current scene, with all edits except those of the camera, also those that are not displayed yet.
    pub(crate) scene: Arc<Scene>,
    /// Reason why the scene's changed files cannot be loaded; `None` if they can. Meanwhile the last valid scene stays
    /// displayed.
    pub(crate) scene_error: Option<String>,
    /// Choices among what the scene's file offers with which it was opened.
    first: LoadOptions,
    playback: Playback,
    orbit: Orbit,
    /// Index of the last selected camera of the scene's file; `None` while no camera of the file is selected.
    file_camera: Option<usize>,
    editing: Editing,
    history: History,
    autosave: Autosave,
    /// Camera and edits that were last saved under a chosen name; `None` before the first such save.
    saved: Option<EditState>,
    /// Width and height of the requested picture in pixels; a preview may be smaller.
    pub(crate) size: (u32, u32),
    /// Region to which the render is restricted; `None` for the whole picture.
    region: Option<Region>,
    strategy: Strategy,
    /// Number of samples per pixel at which the render is complete. If each pixel stops at a target error, this is the
    /// maximum for a pixel.
    samples: u32,
    paused: bool,
    /// Whether fly mode is on: keys move the camera and dragging looks around.
    pub(crate) flying: bool,
    pub(crate) look: Look,
}

/// A camera motion requested by a user. Pointer motion is in units of the shorter side of the picture: x to the right,
/// y down. The scene follows the pointer. Values beyond those of real input devices are clamped.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Motion {
    /// Orbits the camera about the target by half a turn per unit. In fly mode, turns the camera in place instead, by
    /// the angle of view along the picture's shorter side per unit (90 degrees if orthographic).
    Turn(f32, f32),
    /// Pans: moves camera and target sideways, so that the target follows the pointer. See [`Orbit::pan`] for the
    /// limit.
    Pan(f32, f32),
    /// Moves the camera towards the target by this many notches of the mouse wheel; negative values move it away. See
    /// [`Orbit::dolly`] for the limits and for orthographic cameras.
    Dolly(f32),
    /// Moves the camera towards the target until objects there appear enlarged by this factor; a factor below 1 moves
    /// it away. The factor is above 0. See [`Orbit::dolly`] for the limits and for orthographic cameras.
    Zoom(f32),
    /// Moves camera and target to the right, up and forward, in seconds of flight. Flying from the scene's camera to
    /// its target takes two seconds. See [`Orbit::fly`] for the limit.
    Fly(f32, f32, f32),
}

/// Change of the exposure per key press, in stops.
const EXPOSURE_STEP: f32 = 0.5;

/// Maximum absolute exposure in stops that keys and buttons set. Scenes and the command line may set up to 32 stops;
/// the next key press clamps the exposure to this maximum.
const MAX_STOPS: f32 = 20.0;

/// Factor by which a key press, or a notch of the mouse wheel, towards the target multiplies the distance to the
/// target.
const DOLLY_FACTOR: f32 = 0.9;

/// Maximum absolute length of a single dolly motion in notches. Larger values come from faulty input and are clamped.
const MAX_NOTCHES: f32 = 100.0;
/// Maximum absolute pointer motion per axis of a single turn or pan, in shorter sides of the picture. Larger values
/// come from faulty input and are clamped.
const MAX_SIDES: f32 = 100.0;
/// Zoom factors are clamped to this value and its inverse, because others come from faulty input.
const MAX_ZOOM: f32 = 1000.0;
/// Maximum absolute value of each component of a single fly motion, in seconds of flight. Larger values come from
/// faulty input and are clamped.
const MAX_SECONDS: f32 = 10.0;

/// Pointer motion that equals one key press, in shorter sides of the picture. For an orbiting camera this is 7.5
/// degrees.
const KEY_STEP: f32 = 1.0 / 24.0;

impl Session {
    /// Starts the render thread, which publishes at most one frame per `interval` on average. Events are passed to
    /// `on_event` on background threads, one at a time.
    ///
    /// If the render thread cannot be started, returns the renderer and the error of the operating system. If the
    /// loader thread cannot be started, the session works, but scenes can be neither reloaded nor opened nor edited.
    pub(crate) fn start(
        renderer: Box<Renderer>,
        scene: &Arc<Scene>,
        options: ViewOptions,
        interval: Duration,
        on_event: impl Fn(RenderEvent) + Send + 'static,
    ) -> Result<Self, (Box<Renderer>, io::Error)> {
        let events = EventSender::new(on_event);
        let (settings, trees) = (renderer.settings(), renderer.trees());
        let inspection_scene = Arc::new(InspectionScene::new(scene.clone(), trees.clone()));
        let spp = scene.spp;
        if let Some(note) = renderer.empty_view() {
            events.message(note.to_owned());
        }
        let render = RenderThread::start(
            renderer,
            inspection_scene.clone(),
            spp,
            options.look.denoise,
            interval,
            events.clone(),
        )?;
        let loader = Loader::start(
            scene.clone(),
            trees,
            (options.changes, options.load.clone(), options.noise),
            settings,
            options.watches,
            events.clone(),
        );
        if let Err(error) = &loader {
            events.problem(format!(
                "scenes can be neither edited nor reloaded nor opened: {error}; restart the program"
            ));
        }
        let mut session = Self {
            render,
            inspection: Inspection::default(),
            loader: loader.ok(),
            inspection_scene,
            debug_views: DebugViewThread::default(),
            debug_view: options.debug_view,
            compared: options.compared,
            compared_time: display::shown_time(scene),
            has_said_other_view: false,
            derived: None,
            alpha: AlphaThread::default(),
            events,
            scene: scene.clone(),
            scene_error: None,
            first: options.load,
            playback: Playback::default(),
            editing: Editing::new(scene.clone()),
            history: History::default(),
            autosave: Autosave::default(),
            saved: None,
            orbit: Orbit::new(scene.camera, scene.size),
            file_camera: file_camera(scene),
            size: scene.size,
            region: None,
            strategy: options.strategy,
            samples: spp,
            paused: false,
            flying: false,
            look: options.look,
        };
        session.request_debug_view();
        if let Some(oidn) = options
            .oidn
            .filter(|_| session.debug_view == DebugView::Light)
        {
            session.show_oidn(oidn);
        }
        Ok(session)
    }

    /// Applies a change that a key or button requested. Displays a message unless the picture or the state of the render
    /// shows the effect.
    pub(crate) fn act(&mut self, change: Change) {
        match change {
            Change::TurnLeft => self.move_camera(Motion::Turn(KEY_STEP, 0.0)),
            Change::TurnRight => self.move_camera(Motion::Turn(-KEY_STEP, 0.0)),
            Change::TurnUp => self.move_camera(Motion::Turn(0.0, KEY_STEP)),
            Change::TurnDown => self.move_camera(Motion::Turn(0.0, -KEY_STEP)),
            Change::PanLeft => self.move_camera(Motion::Pan(KEY_STEP, 0.0)),
            Change::PanRight => self.move_camera(Motion::Pan(-KEY_STEP, 0.0)),
            Change::PanUp => self.move_camera(Motion::Pan(0.0, KEY_STEP)),
            Change::PanDown => self.move_camera(Motion::Pan(0.0, -KEY_STEP)),
            Change::Nearer => self.move_camera(Motion::Dolly(1.0)),
            Change::Farther => self.move_camera(Motion::Dolly(-1.0)),
            Change::Fly => {
                self.flying = !self.flying;
                let mode = if self.flying { "fly" } else { "orbit" };
                self.say(format!("{mode} mode"));
            }
            Change::Home => {
                self.record_view(Continuity::ByTime);
                self.orbit.reset();
                self.render_view();
            }
            Change::NextCamera => self.next_camera(),
            Change::PlayAnimation => self.play_or_pause(),
            Change::NextAnimation => self.next_animation(),
            Change::PreviousAnimationFrame => self.step_animation(-1.0),
            Change::NextAnimationFrame => self.step_animation(1.0),
            Change::Undo => self.undo_or_redo(true),
            Change::Redo => self.undo_or_redo(false),
            Change::PrintCamera => {
                let (text, problem) = self.scene_text();
                if let Some(problem) = problem {
                    self.report_problem(problem.to_string());
                }
                self.say(text);
            }
            Change::SaveCamera => self.save_to_scene(),
            Change::NextPart | Change::PreviousPart => {
                self.choose_part(change == Change::NextPart);
                self.say_selection();
            }
            Change::NextProperty => {
                self.choose_component();
                self.say_selection();
            }
            Change::Increase => self.step_component(1.0),
            Change::Decrease => self.step_component(-1.0),
            Change::NextStrategy => self.set_strategy(next(Strategy::ALL, self.strategy)),
            Change::CompareStrategies => {
                (self.render).send(|commands| commands.compares = !commands.compares);
            }
            Change::Pause => {
                self.paused = !self.paused;
                (self.render).send(|commands| commands.paused = Some(self.paused));
            }
            Change::Restart => self.render.send(|commands| commands.restart = true),
            Change::MoreSamples => self.more_samples(),
            Change::Brighter => self.expose(EXPOSURE_STEP),
            Change::Darker => self.expose(-EXPOSURE_STEP),
            Change::NextDebugView => self.set_debug_view(next(&DebugView::ALL, self.debug_view)),
            Change::Picture => self.set_debug_view(DebugView::Light),
            Change::WholePicture => self.clear_region(),
            Change::ErrorMap => self.switch_error_map(),
            Change::Denoise => self.denoise(),
            Change::Oidn => self.switch_oidn(),
            Change::NextTone => self.set_tone(next(&Tone::ALL, self.look.tone)),
        }
    }

    /// Moves the camera and restarts the render with it. A movement to a camera that a scene cannot express, such as one
    /// at its target, is not made.
    pub(crate) fn move_camera(&mut self, motion: Motion) {
        self.move_on(motion, Continuity::ByTime);
    }

    /// Moves the camera as [`move_camera`](Self::move_camera), as part of a drag or not.
    pub(crate) fn move_on(&mut self, motion: Motion, continuity: Continuity) {
        self.record_view(continuity);
        let before = self.orbit.current;
        let sides = |length: f32| length.clamp(-MAX_SIDES, MAX_SIDES);
        // The scene follows the pointer, so the camera moves the other way; the pointer's y axis points down.
        match motion {
            Motion::Turn(right, down) if self.flying => {
                (self.orbit).look_around(sides(right), sides(down), self.size);
            }
            Motion::Turn(right, down) => (self.orbit).turn(-sides(right) * PI, sides(down) * PI),
            Motion::Pan(right, down) => (self.orbit).pan(-sides(right), sides(down), self.size),
            Motion::Dolly(notches) => {
                let notches = notches.clamp(-MAX_NOTCHES, MAX_NOTCHES);
                self.orbit.dolly(libm::powf(DOLLY_FACTOR, notches));
            }
            Motion::Zoom(times) => {
                self.orbit
                    .dolly(1.0 / times.clamp(1.0 / MAX_ZOOM, MAX_ZOOM));
            }
            Motion::Fly(right, up, forward) => {
                let limit = Vec3::splat(MAX_SECONDS);
                let seconds = Vec3::new(right, up, forward).clamp(-limit, limit);
                self.orbit.fly(seconds / 2.0);
            }
        }
        // Then a saved camera reads back as it is.
        self.orbit.current = self.orbit.current.as_written(self.scene.origin);
        if before.is_expressible() && !self.orbit.current.is_expressible() {
            self.orbit.current = before;
        }
        self.render_view();
    }

    /// Requests the path of the last sample of a pixel, given by column and row. `RenderEvent::Path` or a message
    /// follows.
    ///
    /// The render thread looks up the number of that sample after the current wave. A later request replaces one that
    /// still waits for the wave.
    pub(crate) fn inspect(&self, pixel: (u32, u32)) {
        let query = self.query(pixel, QueryKind::Path);
        (self.render).send(|commands| commands.last_sample = Some(query));
    }

    /// Requests the description of a pixel, given by column and row. `RenderEvent::Pixel` follows, or a message after a
    /// failure. Nothing follows if a later request replaces this one, or if another pixel is being described.
    pub(crate) fn ask_pixel(&self, pixel: (u32, u32)) {
        let query = self.query(pixel, QueryKind::Pixel);
        self.render.send(|commands| commands.pixel = Some(query));
    }

    fn query(&self, pixel: (u32, u32), wanted: QueryKind) -> PathQuery {
        PathQuery {
            view: self.view(),
            pixel,
            sample: 0,
            wanted,
        }
    }

    fn view(&self) -> SceneView {
        SceneView {
            inspection_scene: self.inspection_scene.clone(),
            camera: self.orbit.camera(self.size),
            size: self.size,
        }
    }

    /// Requests the surface in a pixel, given by column and row, to focus on it. `SessionEvent::Focus` or a message
    /// follows.
    pub(crate) fn focus(&self, pixel: (u32, u32)) {
        let mut query = self.query(pixel, QueryKind::Focus);
        // A pinhole, because out of focus a pixel shows many places.
        if query.view.camera.lens.take().is_none() {
            let advice = "the camera has no lens to focus; add one to the scene, such as lens: (radius: 0.05)";
            return self.say(advice);
        }
        self.start_query(query);
    }

    /// Starts a thread that executes a request. Displays a message if an earlier request is still being executed, unless
    /// they are for the description of a pixel. Reports a problem if the thread cannot be started.
    fn start_query(&self, mut query: PathQuery) {
        let wanted = query.wanted;
        // The scene may have been edited since.
        query.view.inspection_scene = self.inspection_scene.clone();
        match self.inspection.start(query, self.events.clone()) {
            Ok(true) => {}
            Ok(false) if wanted == QueryKind::Pixel => {}
            Ok(false) => self.say("still tracing the previous path"),
            Err(error) => self.report_problem(format!(
                "the path cannot be traced: {error}; close other programs"
            )),
        }
    }

    /// Continues with this compaction strategy. If it is not available, a message follows and the render keeps the
    /// previous one.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
        (self.render).send(|commands| commands.strategy = Some(strategy));
        self.say(format!("compaction: {strategy}"));
    }

    /// Displays the picture with this tone curve.
    pub(crate) fn set_tone(&mut self, tone: Tone) {
        self.look.tone = tone;
        self.say(format!("tone curve: {}", tone.name()));
    }

    /// Switches denoising on or off.
    fn denoise(&mut self) {
        self.look.denoise = !self.look.denoise;
        (self.render).send(|commands| commands.denoises = Some(self.look.denoise));
        self.say(match self.look.denoise {
            true => "denoised preview, once its noise estimate is ready",
            false => "picture without denoising",
        });
    }

    /// Sets the width and height of the picture in pixels. Renders the picture again if they have changed.
    pub(crate) fn set_size(&mut self, size: (u32, u32)) {
        if self.size != size {
            self.forget_region();
            self.size = size;
            self.render_view();
        }
    }

    /// Returns whether the camera and the displayed scene are still those of this view. The size of the picture may have
    /// changed.
    pub(crate) fn is_at(&self, view: &SceneView) -> bool {
        self.orbit.camera(view.size) == view.camera
            && Arc::ptr_eq(&view.inspection_scene, &self.inspection_scene)
    }

    /// Takes the newest frame; `None` before the first, or if the newest has been taken already.
    pub(crate) fn take_frame(&mut self) -> Option<DisplayFrame> {
        let frame = self.render.take_frame()?;
        self.record_shown(&frame);
        Some(frame)
    }

    /// Restarts the render and the debug view with the current camera and size.
    fn render_view(&mut self) {
        self.render_view_with(None);
    }

    /// Restarts the render and the debug view with the current camera and size, and with another renderer if there is
    /// one.
    fn render_view_with(&mut self, renderer: Option<NewRenderer>) {
        self.schedule_autosave();
        self.render.send(|commands| {
            commands.view = Some((self.orbit.camera(self.size), self.size));
            commands.renderer = renderer.or(commands.renderer.take());
        });
        self.say_other_view();
        self.request_debug_view();
    }

    /// Doubles the number of samples per pixel, unless the film could overflow.
    fn more_samples(&mut self) {
        let samples = self.samples.saturating_mul(2);
        let mut scene = (*self.scene).clone();
        let changes = SettingOverrides {
            spp: Some(samples),
            ..SettingOverrides::default()
        };
        if let Err(error) = scene.apply_overrides(&changes) {
            return self.report_problem(format!("no more samples: {error}"));
        }
        self.samples = samples;
        (self.render).send(|commands| commands.samples = Some(samples));
        self.say(format!("{samples} samples per pixel"));
    }

    /// Displays a message to all users.
    pub(crate) fn say(&self, message: impl Into<String>) {
        self.events.message(message);
    }

    /// Displays a problem to all users, marked as an error.
    pub(crate) fn report_problem(&self, problem: impl Into<String>) {
        self.events.problem(problem);
    }

    /// Changes the exposure by this many stops, within `MAX_STOPS`.
    fn expose(&mut self, stops: f32) {
        let stops = self.look.exposure_stops + stops;
        self.look.exposure_stops = stops.clamp(-MAX_STOPS, MAX_STOPS);
        // Scenes may have quarters of a stop.
        let text = format!("{:+.2}", self.look.exposure_stops);
        let text = text.strip_suffix('0').unwrap_or(&text);
        self.say(format!("exposure {text} stops"));
    }
}

/// Returns the item that follows `now` in `all`, cyclically.
fn next<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let place = all.iter().position(|&one| one == now).unwrap_or(0);
    all[(place + 1) % all.len()]
}
