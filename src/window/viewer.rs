//! The open window: what the user does becomes commands to the renderer and changes of the view.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle, ThreadId},
    time::{Duration, Instant},
};

use glam::Vec3;
use winit::{
    dpi::{PhysicalPosition, PhysicalSize},
    event::{MouseButton, MouseScrollDelta},
    event_loop::{ActiveEventLoop, EventLoopProxy},
    keyboard::ModifiersState,
};

use super::{
    Wake,
    overlay::figures,
    save::save,
    screen::Screen,
    settings::Settings,
    view::{Fitted, View},
};
use crate::{
    Error,
    live::{
        self, Action, Change, Ended, Inspected, Local, Motion, News, Session, Shown, Standing,
        State, ViewOptions, Way,
    },
    quiet::panic_text,
    renderer::Renderer,
    scene::Scene,
};

/// Everything behind an open window.
pub(super) struct Viewer {
    screen: Screen,
    /// As they were kept, and the size that the window has had since.
    settings: Settings,
    opened_size: (f64, f64),
    view: View,
    session: Session,
    wake: EventLoopProxy<Wake>,
    follows_window: bool,
    /// When the window will have kept its size for long enough to render in it.
    settled: Option<Instant>,
    cursor: PhysicalPosition<f64>,
    dragging: Option<Drag>,
    /// Where the left button went down, while the hand has not moved from there.
    pressed: Option<PhysicalPosition<f64>>,
    modifiers: ModifiersState,
    /// Where keys are held to that fly, and since when that has not been flown.
    flown: Vec<(Way, Instant)>,
    titled: Option<Instant>,
    saves: Vec<JoinHandle<Result<PathBuf, Error>>>,
}

/// What the hand holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drag {
    Turn,
    Pan,
}

/// A window that is being resized is rendered once it holds still.
const SETTLE_TIME: Duration = Duration::from_millis(200);

/// The title is for reading.
const TITLE_INTERVAL: Duration = Duration::from_millis(500);

/// A hand that presses a button moves no farther, pixels at scale 1.
const CLICK_PIXELS: f64 = 4.0;

/// Of a touch pad, for what a notch of the wheel is.
const NOTCH_PIXELS: f64 = 50.0;

impl Viewer {
    /// Opens the window and starts to render in it; or gives the renderer back with the reason why it cannot.
    pub(super) fn open(
        event_loop: &ActiveEventLoop,
        renderer: Box<Renderer>,
        scene: &Arc<Scene>,
        options: ViewOptions,
        standing: Option<Standing>,
        wake: EventLoopProxy<Wake>,
    ) -> Result<Self, (Box<Renderer>, String)> {
        let settings = Settings::load();
        // That of the window before, if there was one.
        let kept = standing.as_ref().map(Standing::size);
        let parts = Screen::open(
            event_loop,
            &format!("{} – raysieve", name(&scene.path)),
            kept.unwrap_or(scene.size),
            settings
                .size
                .filter(|_| !options.keep_size && kept.is_none()),
        )
        .and_then(|screen| {
            let view = View::new(settings.statistics).map_err(|error| error.to_string())?;
            Ok((screen, view))
        });
        let (screen, view) = match parts {
            Ok(parts) => parts,
            Err(reason) => return Err((renderer, reason)),
        };
        let told = wake.clone();
        // Fails only when the window is gone.
        let tell = move |what| drop(told.send_event(Wake::Render(what)));
        let session = Session::start(renderer, scene, options, standing, screen.interval(), tell)
            .map_err(|(renderer, error)| (renderer, error.to_string()))?;
        let mut viewer = Self {
            settings,
            opened_size: screen.logical_size(),
            session,
            screen,
            view,
            wake,
            follows_window: !options.keep_size,
            settled: None,
            cursor: PhysicalPosition::default(),
            dragging: None,
            pressed: None,
            modifiers: ModifiersState::empty(),
            flown: Vec::new(),
            titled: None,
            saves: Vec::new(),
        };
        viewer.follow_window();
        Ok(viewer)
    }

    /// Does it; `false` if that is to end.
    pub(super) fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Render(change) => {
                if let Some(message) = self.session.act(change) {
                    if change == Change::TellCamera {
                        // To be pasted. Nobody may be there to read it.
                        let _ = writeln!(io::stdout(), "{message}");
                    }
                    self.say(message);
                }
                self.titled = None;
                self.update_sight();
            }
            Action::Fly(way) => {
                // A key that is held is pressed again and again.
                if self.flown.iter().all(|(held, _)| *held != way) {
                    self.flown.push((way, Instant::now()));
                }
            }
            Action::Screen(Local::Overlay) => self.view.switch_detail(),
            Action::Screen(Local::Keys) => self.view.switch_keys(),
            Action::Screen(Local::Save) => self.save(),
            Action::Screen(Local::Quit) => return false,
        }
        self.screen.refresh();
        true
    }

    /// Modifiers that are held from now on.
    pub(super) fn hold(&mut self, modifiers: ModifiersState) {
        self.modifiers = modifiers;
    }

    pub(super) fn shift(&self) -> bool {
        self.modifiers.shift_key()
    }

    /// What a key asks for, if anything.
    pub(super) fn action(&self, chord: &str) -> Option<Action> {
        live::action(chord, self.session.is_flying())
    }

    /// A key is let go.
    pub(super) fn release(&mut self, chord: &str) {
        if let Some(Action::Fly(way)) = live::action(chord, true) {
            self.flown.retain(|(held, _)| *held != way);
        }
    }

    pub(super) fn release_all(&mut self) {
        self.flown.clear();
    }

    /// Goes on where keys are held to, as far as in the time since the last time.
    fn fly(&mut self, now: Instant) {
        let speed = if self.shift() { live::FAST } else { 1.0 };
        let mut by = Vec3::ZERO;
        for (way, since) in &mut self.flown {
            by += way.direction() * (now - *since).as_secs_f32() * speed;
            *since = now;
        }
        if by != Vec3::ZERO {
            self.move_camera(Motion::Fly(by));
        }
    }

    pub(super) fn press(&mut self, button: MouseButton, pressed: bool) {
        let drag = match button {
            MouseButton::Left if self.shift() => Drag::Pan,
            MouseButton::Left => Drag::Turn,
            MouseButton::Right | MouseButton::Middle => Drag::Pan,
            _ => return,
        };
        self.dragging = pressed.then_some(drag);
        let clicked = self.pressed.take().is_some() && !pressed;
        if drag == Drag::Turn && pressed {
            self.pressed = Some(self.cursor);
        } else if drag == Drag::Turn && clicked {
            self.inspect();
        }
    }

    pub(super) fn move_cursor(&mut self, to: PhysicalPosition<f64>) {
        if let Some(pressed) = self.pressed {
            if (to.x - pressed.x).hypot(to.y - pressed.y)
                < CLICK_PIXELS * f64::from(self.screen.scale())
            {
                return;
            }
            self.pressed = None;
        }
        let from = std::mem::replace(&mut self.cursor, to);
        let (width, height) = self.screen.size();
        let side = f64::from(width.min(height));
        let (right, down) = (
            ((to.x - from.x) / side) as f32,
            ((to.y - from.y) / side) as f32,
        );
        match self.dragging {
            Some(Drag::Turn) => self.move_camera(Motion::Turn(right, down)),
            Some(Drag::Pan) => self.move_camera(Motion::Pan(right, down)),
            None => {}
        }
    }

    pub(super) fn scroll(&mut self, delta: MouseScrollDelta) {
        let notches = match delta {
            MouseScrollDelta::LineDelta(_, lines) => lines,
            MouseScrollDelta::PixelDelta(pixels) => (pixels.y / NOTCH_PIXELS) as f32,
        };
        self.move_camera(Motion::Dolly(notches));
    }

    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        self.screen.resize(size);
        self.settled = Some(Instant::now() + SETTLE_TIME);
    }

    /// Takes the renderer's newest picture.
    pub(super) fn update(&mut self) {
        let Some(frame) = self.session.take_frame() else {
            return;
        };
        self.view.update(frame);
        self.update_sight();
        self.update_title();
    }

    /// Takes the newest false colours.
    pub(super) fn update_sight(&mut self) {
        let shown = self.view.frame();
        let sighting = shown.and_then(|shown| self.session.sighting(shown));
        self.view.set_sighting(sighting);
        self.screen.refresh();
    }

    /// Shows a path for as long as the camera stays where it is.
    pub(super) fn show_path(&mut self, inspected: Inspected) {
        self.view.show_path(inspected);
        self.screen.refresh();
    }

    /// Does what the session is told.
    pub(super) fn hear(&mut self, news: News) {
        if let Some(message) = self.session.hear(news) {
            self.say(message);
        }
        self.follow_window();
        self.titled = None;
        self.screen.refresh();
    }

    /// Opens a file that was dropped on the window.
    pub(super) fn open_file(&mut self, path: PathBuf) {
        let message = self.session.open_file(path);
        self.say(message);
    }

    /// Asks for the last path of the pixel under the cursor, or for what is there to focus on.
    fn inspect(&mut self) {
        let size = self.session.size();
        let at = Fitted::new(size, self.screen.size()).pixel(self.cursor.x, self.cursor.y);
        let Some(pixel) = at else {
            return;
        };
        if !self.modifiers.control_key() {
            self.session.inspect(pixel, size);
        } else if let Some(message) = self.session.focus(pixel, size) {
            self.say(message);
        }
    }

    pub(super) fn say(&mut self, message: String) {
        self.view.say(message);
        self.screen.refresh();
    }

    /// Says where the picture went that this thread has written: it tells so as the last thing that it does.
    pub(super) fn report_save(&mut self, thread: ThreadId) {
        let mut saves = self.saves.iter();
        let Some(place) = saves.position(|save| save.thread().id() == thread) else {
            return;
        };
        let saved = joined(self.saves.swap_remove(place));
        self.say(match saved {
            Ok(path) => format!("saved {} beside the scene", name(&path)),
            Err(error) => error.to_string(),
        });
    }

    /// Does what is due, and says when there is more to do.
    pub(super) fn wait_until(&mut self, now: Instant) -> Option<Instant> {
        if self.settled.is_some_and(|settled| settled <= now) {
            self.settled = None;
            self.follow_window();
        }
        self.fly(now);
        let flies_on = (!self.flown.is_empty()).then(|| now + self.screen.interval());
        if self.view.update_message(now) {
            self.screen.refresh();
        }
        [
            self.screen.wait_until(now),
            self.settled,
            flies_on,
            self.view.message_until(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(super) fn draw(&mut self) {
        let (size, scale, look) = (self.screen.size(), self.screen.scale(), self.session.look());
        self.screen
            .show(|rgba| self.view.draw(rgba, size, scale, look, &self.session));
    }

    /// Closes the window, waits for what is still at work, and takes the renderer back.
    pub(super) fn close(self) -> Result<(Ended, Standing), Error> {
        self.keep_settings();
        drop(self.screen);
        let standing = self.session.standing();
        let ended = self.session.finish().map(|ended| (ended, standing));
        let saved: Vec<_> = self.saves.into_iter().map(joined).collect();
        saved
            .into_iter()
            .try_for_each(|save| save.map(drop))
            .and(ended)
    }

    /// Keeps what somebody has set for the next time.
    fn keep_settings(&self) {
        let size = self.screen.logical_size();
        let resized = self.follows_window && size != self.opened_size;
        let settings = Settings {
            statistics: self.view.detail(),
            size: if resized {
                Some(size)
            } else {
                self.settings.size
            },
        };
        if settings != self.settings {
            settings.save();
        }
    }

    fn move_camera(&mut self, motion: Motion) {
        self.titled = None;
        self.session.move_camera(motion);
    }

    fn follow_window(&mut self) {
        if self.follows_window {
            self.titled = None;
            self.session.set_size(self.screen.size());
        }
    }

    fn save(&mut self) {
        let Some(frame) = self.view.frame().cloned() else {
            return;
        };
        let (look, detail) = (self.session.look(), self.view.detail());
        let sighting = self.view.sighting().cloned();
        let (scene, wake) = (self.session.scene().path.clone(), self.wake.clone());
        let save = thread::Builder::new()
            .name("save".to_owned())
            .spawn(move || {
                let saved = save(&scene, &frame, sighting.as_deref(), look, detail);
                let _ = wake.send_event(Wake::Saved(thread::current().id()));
                saved
            });
        match save {
            Ok(save) => self.saves.push(save),
            Err(error) => self.say(format!("not saved: {error}")),
        }
    }

    fn update_title(&mut self) {
        let Some(Shown {
            stats,
            recent,
            state,
            ..
        }) = self.view.frame()
        else {
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
        let speed = figures::millions(match state {
            State::Done => stats.paths_per_second,
            _ => recent.paths_per_second,
        });
        self.screen.set_title(&format!(
            "{} – {samples} – {speed} Mpaths/s – raysieve",
            name(&self.session.scene().path)
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
