//! The open window: turns user input into commands to the session and changes of the view.

mod keyboard;
mod saving;

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use winit::{
    event::WindowEvent,
    event_loop::{ActiveEventLoop, EventLoopProxy},
};

use self::{
    keyboard::Keyboard,
    saving::{SaveResult, joined},
};
use super::{
    Wake,
    layout::window_size,
    save_as::Proposal,
    screen::Screen,
    settings::Settings,
    view::{Request, TIME_BAR_HEIGHT, View},
};
use crate::{
    Error,
    error::report,
    overlay::{self, Detail, FigureFormat, fitted::Zoom, format},
    session::{
        self, Action, Animation, Change, DisplayFrame, Ended, InspectedPath, Motion, PixelInfo,
        ScreenAction, Session, SessionEvent, State, ViewOptions,
    },
};
use raysieve::render::renderer::Renderer;
use raysieve_scene::Scene;

/// The state of an open window.
pub(super) struct Viewer {
    pub(super) screen: Screen,
    /// Settings as loaded at the start; what the user changes since then is only in `view` and `screen`.
    settings: Settings,
    /// Size of the window when it was opened, in logical pixels.
    opened_size: (f64, f64),
    /// Position of the window when it first got the keyboard focus, which follows its placement by the desktop; `None`
    /// before, or if the desktop does not tell it.
    opened_position: Option<(i32, i32)>,
    view: View,
    session: Session,
    wake: EventLoopProxy<Wake>,
    keyboard: Keyboard,
    /// Whether the user has quit, so that the event loop must end.
    pub(super) quits: bool,
    /// Time of the last update of the title; `None` if the next frame must update it.
    title_time: Option<Instant>,
    /// Threads that are saving pictures, or have finished but are not joined yet.
    saves: Vec<JoinHandle<SaveResult>>,
    /// Whether a dialog for the name of a file is open.
    asks_name: bool,
    /// Why the window closes although the user has not closed it; `None` while it is open, or if the user closes it.
    close_cause: Option<CloseCause>,
    /// Whether no dialog could be opened, which a message has said.
    has_no_dialog: bool,
}

/// Why a window closes although the user has not closed it, so that nobody is asked about unsaved changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseCause {
    Destroyed,
    /// The graphics card that draws the window has failed.
    Lost,
    /// A [`Stopper`](super::Stopper) closes the window.
    Stopped,
}

/// Minimum interval between updates of the title while samples are added.
const TITLE_INTERVAL: Duration = Duration::from_millis(500);

/// Interval between checks whether the window is visible, while messages are displayed.
const VISIBILITY_INTERVAL: Duration = Duration::from_millis(250);

/// Change of the text's size per key press, relative to its default.
const TEXT_STEP: f32 = 0.25;

impl Viewer {
    /// Opens the window with the saved settings, and starts to render in it. On failure, returns the renderer, and the
    /// reason on one line.
    pub(super) fn open(
        event_loop: &ActiveEventLoop,
        renderer: Box<Renderer>,
        scene: &Arc<Scene>,
        options: ViewOptions,
        wake: EventLoopProxy<Wake>,
    ) -> Result<Self, (Box<Renderer>, String)> {
        let settings = Settings::load();
        let screen = Screen::open(
            event_loop,
            &format!("{} – raysieve", name(&scene.path)),
            |monitor| {
                settings.size.unwrap_or_else(|| {
                    let panel = overlay::panel_width(Detail::Full, 1.0);
                    let bar = match scene.timeline {
                        Some(_) => f64::from(TIME_BAR_HEIGHT),
                        None => 0.0,
                    };
                    let monitor = monitor.map(|(width, height)| (width, height - bar));
                    let (width, height) =
                        window_size(scene.size, settings.statistics, panel, monitor);
                    (width, height + bar)
                })
            },
            settings.position,
            renderer.gpus().is_empty(),
            wake.clone(),
        );
        let screen = match screen {
            Ok(screen) => screen,
            Err(reason) => return Err((renderer, reason)),
        };
        let mut view = View::new(settings);
        let proxy = wake.clone();
        // Fails only after the event loop has ended.
        let on_event = move |event| drop(proxy.send_event(Wake::Render(event)));
        let session = Session::start(renderer, scene, options, screen.interval, on_event)
            .map_err(|(renderer, error)| (renderer, error.to_string()))?;
        if let Some(image) = session.compared.as_ref() {
            view.switch_wipe(image);
        }
        if let Some(message) = session.earlier_autosaves_message() {
            view.say_problem(message);
        }
        Ok(Self {
            settings,
            opened_size: screen.logical_size(),
            opened_position: None,
            session,
            screen,
            view,
            wake,
            keyboard: Keyboard::default(),
            quits: false,
            title_time: None,
            saves: Vec::new(),
            asks_name: false,
            close_cause: None,
            has_no_dialog: false,
        })
    }

    pub(super) fn act(&mut self, action: Action) {
        let hinted = self.view.hide_hints();
        self.view.editor.refusal = None;
        match action {
            Action::Render(change) => {
                if change == Change::PrintCamera {
                    // Printed for copying. Standard output may be closed.
                    let _ = writeln!(io::stdout(), "{}", self.session.scene_text().0);
                }
                self.session.act(change);
                self.title_time = None;
                self.update_debug_image();
            }
            Action::Fly(direction) => self.keyboard.fly(direction),
            Action::Screen(ScreenAction::Overlay) => self.view.switch_placement(),
            Action::Screen(ScreenAction::Units) => self.view.switch_units(),
            Action::Screen(ScreenAction::FitWindow) => self.fit_window(),
            Action::Screen(ScreenAction::Pixel) => self.view.switch_pixel(&self.session),
            Action::Screen(ScreenAction::Properties) => {
                self.view.editor.switch(&mut self.session);
            }
            Action::Screen(ScreenAction::Region) => self.view.switch_selection(),
            Action::Screen(ScreenAction::Wipe) => match self.session.compared.as_ref() {
                Some(image) => self.view.switch_wipe(image),
                None => self.say(session::NOTHING_TO_COMPARE.to_owned()),
            },
            Action::Screen(ScreenAction::WholePicture) => self.view.zoom = Zoom::default(),
            Action::Screen(ScreenAction::FullScreen) => self.screen.switch_full_screen(),
            Action::Screen(ScreenAction::LargerText) => {
                self.view
                    .set_text_scale(self.view.settings.text_scale + TEXT_STEP);
            }
            Action::Screen(ScreenAction::SmallerText) => {
                self.view
                    .set_text_scale(self.view.settings.text_scale - TEXT_STEP);
            }
            Action::Screen(ScreenAction::DefaultText) => self.view.set_text_scale(1.0),
            Action::Screen(ScreenAction::ExportFigures) => self.ask_name(Proposal::Figures),
            Action::Screen(ScreenAction::CopyFigures) => self.copy_figures(FigureFormat::Csv),
            Action::Screen(ScreenAction::CopyFiguresAsJson) => {
                self.copy_figures(FigureFormat::Json);
            }
            Action::Screen(ScreenAction::Keys) => self.view.keys.switch(),
            Action::Screen(ScreenAction::Save) => self.save(),
            Action::Screen(ScreenAction::SaveAs) => self.ask_name(Proposal::Picture),
            Action::Screen(ScreenAction::SaveSceneAs) => self.ask_name(Proposal::Scene),
            Action::Screen(ScreenAction::Open) => self.ask_to_open(),
            Action::Screen(ScreenAction::Close) => {
                if !hinted && !self.view.close_panel() {
                    self.say("nothing to close; q quits".to_owned());
                }
            }
            Action::Screen(ScreenAction::Quit) => self.quit(false),
        }
        self.screen.refresh_soon();
    }

    /// Displays the answer about a pixel.
    pub(super) fn show_pixel(&mut self, info: PixelInfo) {
        self.view.show_pixel(&self.session, info);
        self.screen.refresh();
    }

    /// Removes the first hints, after input that is no action.
    pub(super) fn dismiss_hints(&mut self) {
        if self.view.hide_hints() {
            self.screen.refresh_soon();
        }
    }

    /// Handles the gain of the keyboard focus.
    pub(super) fn handle_focus(&mut self) {
        self.keyboard.has_new_focus = true;
        if self.opened_position.is_none() {
            self.opened_position = self.screen.position();
        }
    }

    /// Passes an event of the window to the widgets. Clicks take effect at once, so that later events find what they have
    /// changed.
    pub(super) fn pass_to_widgets(&mut self, event: &WindowEvent) {
        self.screen.pass_to_widgets(event);
        if matches!(event, WindowEvent::MouseInput { .. }) {
            self.dismiss_hints();
            self.run_widgets();
        }
    }

    /// Handles an event of assistive technologies, such as a screen reader.
    pub(super) fn handle_accessibility(&mut self, event: egui_winit::accesskit_winit::WindowEvent) {
        self.screen.handle_accessibility(event);
        self.run_widgets();
    }

    /// Runs the widgets with the input so far, and executes what the user asks for by them.
    pub(super) fn run_widgets(&mut self) {
        let (size, scale) = (self.screen.size, self.screen.scale());
        (self.screen).set_pixels_per_point(self.view.scale(size, scale));
        let (view, session) = (&mut self.view, &mut self.session);
        let mut requests = Vec::new();
        self.screen.run_widgets(|ui, painter| {
            requests.extend(view.show(ui, size, session, painter));
        });
        for request in requests {
            match request {
                Request::Act(action) => self.act(action),
                Request::Typed(path) => self.finish_prompt(path),
                Request::Answer(answer) => self.answer(answer),
            }
            self.screen.refresh_soon();
        }
    }

    /// Renders the picture in the size of its region of the window or, if it has that size already, in the scene's
    /// size.
    fn fit_window(&mut self) {
        let Some(fitted) = &self.view.shown else {
            return;
        };
        let window = (fitted.region.width as u32, fitted.region.height as u32);
        let (size, what) = if self.session.size == window {
            (self.session.scene.size, "the scene's size")
        } else {
            (window, "the window's size; z again: the scene's size")
        };
        self.session.set_size(size);
        self.say(format!("rendering {} × {}: {what}", size.0, size.1));
    }

    /// Takes the newest frame from the session, and displays it. Does nothing if there is no new frame.
    pub(super) fn update(&mut self) {
        let Some(frame) = self.session.take_frame() else {
            return;
        };
        self.session.play_on();
        self.view.update(frame);
        self.update_debug_image();
        self.update_title();
    }

    /// Displays the newest image of the selected debug view or derived image, perhaps of an earlier view. Displays the
    /// picture if none is selected or ready. Also updates the alpha of the picture, and requests a redraw.
    pub(super) fn update_debug_image(&mut self) {
        let frame = self.view.frame.as_ref();
        let debug_image = frame.and_then(|frame| self.session.debug_image(frame));
        self.view.set_debug_image(debug_image);
        self.view.set_alpha(self.session.alpha());
        self.screen.refresh();
    }

    /// Displays an inspected path until the camera or the scene changes, and selects what its camera ray has hit: see
    /// [`Session::select_hit`]. Displays a message about the selection, unless the panel of properties shows it.
    pub(super) fn show_path(&mut self, inspected: InspectedPath) {
        let selected = self.session.select_hit(&inspected);
        let selected = selected.filter(|_| !self.view.editor.is_open);
        let message = selected.map(|selected| format!("{selected}: l edits it"));
        self.view.show_path(inspected, message);
        self.screen.refresh();
    }

    /// Passes an event to the session.
    pub(super) fn handle_event(&mut self, event: SessionEvent) {
        self.session.handle_event(event);
        self.title_time = None;
        self.screen.refresh();
    }

    /// Displays a message in place of the previous one, but not of a problem.
    pub(super) fn say(&mut self, message: impl Into<String>) {
        self.view.note(message);
        self.screen.refresh();
    }

    /// Prints a problem, and displays it, marked as an error, before earlier problems.
    pub(super) fn say_problem(&mut self, problem: impl Into<String>) {
        self.view.say_problem(problem);
        self.screen.refresh();
    }

    /// Does what is due at `now`: moves the flying camera, removes old messages, redraws, and keeps unsaved edits.
    /// Returns the time of the next call; `None` if nothing is due before the next event.
    pub(super) fn run_timers(&mut self, now: Instant) -> Option<Instant> {
        self.keyboard.has_new_focus = false;
        if let Some(by) = self.keyboard.flown(now) {
            self.session.move_camera(Motion::Fly(by.x, by.y, by.z));
        }
        let flies_on = self
            .keyboard
            .is_flying()
            .then(|| now + self.screen.interval);
        let mut visibility_due = None;
        if self.view.messages.has_timed() {
            let messages = &mut self.view.messages;
            messages.set_visible(self.screen.is_visible(), now);
            if messages.expire(now) {
                self.screen.refresh();
            }
            // No event tells that the window is minimized.
            visibility_due = Some(now + VISIBILITY_INTERVAL);
        }
        [
            self.screen.redraw_if_due(now),
            self.session.autosave_if_due(now),
            flies_on,
            self.view.messages.until(),
            visibility_due,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(super) fn draw(&mut self) {
        self.run_widgets();
        if let Err(reason) = self.screen.show() {
            self.record_close_cause(CloseCause::Lost);
            report(&format!("the graphics card has failed: {reason}"));
            self.quits = true;
        }
    }

    /// Records why the window closes although the user has not closed it. The caller must then end the event loop.
    pub(super) fn record_close_cause(&mut self, cause: CloseCause) {
        self.close_cause.get_or_insert(cause);
    }

    /// Saves the settings, closes the window, waits for the current wave and pending saves, and returns the renderer.
    /// Unsaved changes of the scene are kept if the render has failed or the user has not closed the window. If a
    /// [`Stopper`](super::Stopper) closes it, a camera that was only moved is not kept.
    ///
    /// # Errors
    /// [`Error::Window`] if the render thread panicked or the window was destroyed. If the render has not failed, the
    /// error of the first picture that could not be saved. The errors of other pictures are reported to standard error.
    pub(super) fn close(self) -> Result<Ended, Error> {
        if self.close_cause != Some(CloseCause::Destroyed) {
            self.save_settings();
        }
        drop(self.screen);
        let (unsaved, failure) = match self.close_cause {
            None => (None, None),
            Some(CloseCause::Stopped) => (self.session.edits_to_keep(), None),
            Some(CloseCause::Destroyed) => {
                let failure = Error::window("the display has destroyed it");
                (self.session.changes_to_keep(), Some(failure))
            }
            Some(CloseCause::Lost) => {
                let why = "the graphics card that draws it has failed; start the program again";
                (self.session.changes_to_keep(), Some(Error::window(why)))
            }
        };
        let ended = self.session.finish(unsaved);
        // All are joined, so that each picture is complete.
        let saves: Vec<SaveResult> = self.saves.into_iter().map(joined).collect();
        let mut failures = failure
            .into_iter()
            .chain(saves.into_iter().filter_map(Result::err));
        // The error of the render tells how to continue it, so that another one does not replace it.
        let ended = match ended {
            Ok(Ended { error: None, .. }) => failures.next().map_or(ended, Err),
            failed => failed,
        };
        failures.for_each(|error| report(&error.line()));
        ended
    }

    /// Saves the window's settings if they differ from those loaded at the start. A failure is reported to standard
    /// error.
    fn save_settings(&self) {
        let size = self.screen.logical_size();
        let resized = size != self.opened_size && !self.screen.is_full_screen();
        let position = self.screen.position();
        let is_elsewhere = self.opened_position.is_some() && position != self.opened_position;
        let moved = is_elsewhere && !self.screen.is_full_screen();
        let settings = Settings {
            size: resized.then_some(size).or(self.settings.size),
            position: position.filter(|_| moved).or(self.settings.position),
            ..self.view.settings
        };
        if settings != self.settings {
            settings.save();
        }
    }

    /// Updates the title with the newest frame's samples and speed. While samples are added, does so at most once per
    /// `TITLE_INTERVAL`.
    fn update_title(&mut self) {
        let Some(frame) = &self.view.frame else {
            return;
        };
        let rests = matches!(frame.state, State::Paused { .. } | State::Done);
        if !rests
            && self
                .title_time
                .is_some_and(|title_time| title_time.elapsed() < TITLE_INTERVAL)
        {
            return;
        }
        let name = name(&frame.scene().path);
        let title = title(&name, self.session.animation_in(frame), frame);
        self.screen.window.set_title(&title);
        self.title_time = Some(Instant::now());
        self.view.ask_pixel(&self.session);
    }
}

/// Returns the file name of a path, or the path itself if it has none.
fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// Returns the title of the window, with the time of an animation, and the samples, speed and state of a frame. `scene`
/// is the name of the scene's file.
fn title(scene: &str, animation: Option<Animation>, frame: &DisplayFrame) -> String {
    let time = animation.map(|animation| format!(" – {}", animation.named_text()));
    let time = time.unwrap_or_default();
    let (stats, state) = (&frame.stats, &frame.state);
    let word = format::sample_word(stats.spp);
    let samples = match state {
        State::Rendering { samples, .. } => format!("{} of {samples} samples", stats.spp),
        State::Paused { samples, .. } => format!("{} of {samples} samples, paused", stats.spp),
        State::Comparing => format!("{} {word}, comparing strategies", stats.spp),
        State::Done => format!("{} {word}", stats.spp),
    };
    let left = format::time_left(stats.seconds, *state);
    let noise = stats.noise.as_ref().and_then(|noise| noise.estimated);
    let details = [
        left.map(|left| format!(" – {left} left")),
        noise.map(|noise| format!(" – noise {:.2} %", 100.0 * noise)),
    ];
    let details: String = details.into_iter().flatten().collect();
    let frames = match state {
        State::Rendering { .. } => format!(" – {} fps", frame.recent.frames_per_second),
        _ => String::new(),
    };
    let speed = format::millions(match state {
        State::Done => stats.paths_per_second,
        _ => frame.recent.paths_per_second,
    });
    format!("{scene}{time} – {samples}{details} – {speed} Mpaths/s{frames} – raysieve")
}
