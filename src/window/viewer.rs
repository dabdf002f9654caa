//! The open window: what the user does becomes commands to the renderer and changes of the view.

use std::{
    f64::consts::PI,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use compaction::select::Strategy;
use winit::{
    dpi::{PhysicalPosition, PhysicalSize},
    event::MouseScrollDelta,
    event_loop::{ActiveEventLoop, EventLoopProxy},
};

use super::{
    Wake, WindowOptions,
    keys::Action,
    orbit::Orbit,
    overlay::{State, figures},
    render_thread::{Command, RenderThread},
    save::save,
    screen::Screen,
    view::{Shown, View},
};
use crate::{Error, output::Look, quiet::panic_text, renderer::Renderer, scene::Scene};

/// Everything behind an open window.
pub(super) struct Viewer {
    screen: Screen,
    view: View,
    orbit: Orbit,
    render: RenderThread,
    wake: EventLoopProxy<Wake>,
    scene: PathBuf,
    /// Of the picture that is rendered, pixels.
    size: (u32, u32),
    follows_window: bool,
    /// When the window will have kept its size for long enough to render in it.
    settled: Option<Instant>,
    strategy: Strategy,
    paused: bool,
    cursor: PhysicalPosition<f64>,
    dragging: bool,
    titled: Option<Instant>,
    saves: Vec<JoinHandle<Result<PathBuf, Error>>>,
}

/// A window that is being resized is rendered once it holds still.
const SETTLE_TIME: Duration = Duration::from_millis(200);

/// The title is for reading.
const TITLE_INTERVAL: Duration = Duration::from_millis(500);

const EXPOSURE_STEP: f32 = 0.5;

/// Of the distance to the target, for a notch of the wheel.
const DOLLY_FACTOR: f64 = 0.9;

/// Of a touch pad, for what a notch of the wheel is.
const NOTCH_PIXELS: f64 = 50.0;

impl Viewer {
    /// Opens the window and starts to render in it; or gives the renderer back with the reason why it cannot.
    pub(super) fn open(
        event_loop: &ActiveEventLoop,
        renderer: Box<Renderer>,
        scene: &Scene,
        options: WindowOptions,
        wake: EventLoopProxy<Wake>,
    ) -> Result<Self, (Box<Renderer>, String)> {
        let parts = Screen::open(
            event_loop,
            &format!("{} – raysieve", name(&scene.path)),
            scene.size,
        )
        .and_then(|screen| {
            Ok((
                screen,
                View::new(options.exposure_stops, options.tone)
                    .map_err(|error| error.to_string())?,
            ))
        });
        let (screen, view) = match parts {
            Ok(parts) => parts,
            Err(reason) => return Err((renderer, reason)),
        };
        let render = RenderThread::start(renderer, scene.spp, screen.interval(), wake.clone())
            .map_err(|(renderer, error)| (renderer, error.to_string()))?;
        let mut viewer = Self {
            orbit: Orbit::new(scene.camera, scene.size),
            render,
            screen,
            view,
            wake,
            scene: scene.path.clone(),
            size: scene.size,
            follows_window: !options.keep_size,
            settled: None,
            strategy: options.strategy,
            paused: false,
            cursor: PhysicalPosition::default(),
            dragging: false,
            titled: None,
            saves: Vec::new(),
        };
        viewer.follow_window();
        Ok(viewer)
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Overlay => self.view.switch_stats(),
            Action::Keys => self.view.switch_keys(),
            Action::NextStrategy => self.next_strategy(),
            Action::Pause => {
                self.paused = !self.paused;
                self.render.send(Command::Pause(self.paused));
            }
            Action::Restart => self.render.send(Command::Restart),
            Action::Brighter => self.expose(EXPOSURE_STEP),
            Action::Darker => self.expose(-EXPOSURE_STEP),
            Action::NextTone => {
                self.view.next_tone();
                self.say(format!("tone curve: {}", self.view.tone().name()));
            }
            Action::Save => self.save(),
            Action::Home => {
                self.orbit.reset();
                self.look();
            }
            // The event loop's.
            Action::Quit => {}
        }
        self.screen.refresh();
    }

    pub(super) fn drag(&mut self, dragging: bool) {
        self.dragging = dragging;
    }

    pub(super) fn move_cursor(&mut self, to: PhysicalPosition<f64>) {
        let from = std::mem::replace(&mut self.cursor, to);
        if self.dragging {
            // The hand turns the scene: the camera goes the other way.
            let (width, height) = self.screen.size();
            let half_turn = PI / f64::from(width.min(height));
            self.orbit.turn(
                ((from.x - to.x) * half_turn) as f32,
                ((to.y - from.y) * half_turn) as f32,
            );
            self.look();
        }
    }

    pub(super) fn scroll(&mut self, delta: MouseScrollDelta) {
        let notches = match delta {
            MouseScrollDelta::LineDelta(_, lines) => f64::from(lines),
            MouseScrollDelta::PixelDelta(pixels) => pixels.y / NOTCH_PIXELS,
        };
        self.orbit.dolly(DOLLY_FACTOR.powf(notches) as f32);
        self.look();
    }

    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        self.screen.resize(size);
        self.settled = Some(Instant::now() + SETTLE_TIME);
    }

    /// Takes the renderer's newest picture.
    pub(super) fn update(&mut self) {
        let Some(frame) = self.render.take_frame() else {
            return;
        };
        self.view.update(frame);
        self.screen.refresh();
        self.update_title();
    }

    pub(super) fn say(&mut self, message: String) {
        self.view.say(message);
        self.screen.refresh();
    }

    /// Says where the pictures went that have been written since.
    pub(super) fn report_saves(&mut self) {
        for save in self
            .saves
            .extract_if(.., |save| save.is_finished())
            .collect::<Vec<_>>()
        {
            self.say(match joined(save) {
                Ok(path) => format!("saved {} beside the scene", name(&path)),
                Err(error) => error.to_string(),
            });
        }
    }

    /// Does what is due, and says when there is more to do.
    pub(super) fn wait_until(&mut self, now: Instant) -> Option<Instant> {
        if self.settled.is_some_and(|settled| settled <= now) {
            self.settled = None;
            self.follow_window();
        }
        if self.view.update_message(now) {
            self.screen.refresh();
        }
        [
            self.screen.wait_until(now),
            self.settled,
            self.view.message_until(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(super) fn draw(&mut self) {
        let (size, scale) = (self.screen.size(), self.screen.scale());
        self.screen.show(|rgba| self.view.draw(rgba, size, scale));
    }

    /// Closes the window, waits for what is still at work, and takes the renderer back.
    pub(super) fn close(self) -> Result<Box<Renderer>, Error> {
        drop(self.screen);
        let renderer = self.render.finish();
        let saved: Vec<_> = self.saves.into_iter().map(joined).collect();
        saved
            .into_iter()
            .try_for_each(|save| save.map(drop))
            .and(renderer)
    }

    fn look(&mut self) {
        self.titled = None;
        self.render.send(Command::View {
            camera: self.orbit.camera(self.size),
            size: self.size,
        });
    }

    fn follow_window(&mut self) {
        if self.follows_window && self.size != self.screen.size() {
            self.size = self.screen.size();
            self.look();
        }
    }

    fn next_strategy(&mut self) {
        let all = Strategy::ALL;
        let now = all
            .iter()
            .position(|&strategy| strategy == self.strategy)
            .unwrap_or(0);
        self.strategy = all[(now + 1) % all.len()];
        self.say(format!("sieve: {}", self.strategy));
        self.render.send(Command::Strategy(self.strategy));
    }

    fn expose(&mut self, stops: f32) {
        self.view.expose(stops);
        self.say(format!("exposure {:+.1} stops", self.view.exposure_stops()));
    }

    fn save(&mut self) {
        let Some(frame) = self.view.frame().cloned() else {
            return;
        };
        let look = Look {
            exposure_stops: self.view.exposure_stops(),
            tone: self.view.tone(),
            overlay: self.view.shows_stats(),
        };
        let (scene, wake) = (self.scene.clone(), self.wake.clone());
        let save = thread::Builder::new()
            .name("save".to_owned())
            .spawn(move || {
                let saved = save(&scene, &frame, look);
                let _ = wake.send_event(Wake::Saved);
                saved
            });
        match save {
            Ok(save) => self.saves.push(save),
            Err(error) => self.say(format!("not saved: {error}")),
        }
    }

    fn update_title(&mut self) {
        let Some(Shown { stats, state, .. }) = self.view.frame() else {
            return;
        };
        let rests = !matches!(state, State::Rendering { .. });
        if !rests
            && self
                .titled
                .is_some_and(|titled| titled.elapsed() < TITLE_INTERVAL)
        {
            return;
        }
        let samples = match state {
            State::Rendering { samples, .. } => format!("{} of {samples} samples", stats.spp),
            State::Paused { samples, .. } => format!("{} of {samples} samples, paused", stats.spp),
            State::Done => format!("{} samples", stats.spp),
        };
        let speed = figures::millions(stats.paths_per_second);
        self.screen.set_title(&format!(
            "{} – {samples} – {speed} Mpaths/s – raysieve",
            name(&self.scene)
        ));
        self.titled = Some(Instant::now());
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn joined(save: JoinHandle<Result<PathBuf, Error>>) -> Result<PathBuf, Error> {
    save.join().unwrap_or_else(|panic| {
        Err(Error::Window {
            problem: panic_text(&*panic),
        })
    })
}
