//! The window: displays the picture as it is rendered, with its statistics overlaid, and handles input.
//!
//! Until the window closes, the event loop does not wait for the renderer, which works on a thread of its own
//! (`session`). The `viewer` handles the events of the window and of the session. It updates the `view`, which consists
//! of egui's widgets. The `screen` passes input to them, and the `painter` draws them and the picture by the graphics
//! card.

mod layout;
mod message;
mod painter;
mod save_as;
mod screen;
mod settings;
mod theme;
mod view;
mod viewer;

use std::{sync::Arc, thread::ThreadId, time::Instant};

use winit::{
    application::ApplicationHandler,
    event::{ElementState, KeyEvent, WindowEvent},
    event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy},
    window::WindowId,
};

use self::viewer::{CloseCause, Viewer};
use crate::{
    Error,
    session::{Ended, RenderEvent, ViewOptions},
};
use raysieve::{film::picture::comparison::ComparisonImage, render::renderer::Renderer};
use raysieve_scene::{Scene, catch_panics::catch_panics};

/// The reason why the window ended, with its renderer.
pub enum WindowOutcome {
    /// The user or a [`Stopper`] closed the window, or all GPUs have failed. The film is that at the time of closing, which
    /// may be a smaller preview. The scene is the last one displayed, which the user may have opened or edited.
    Closed(Ended),
    /// No window could be opened; nothing has been rendered.
    NoWindow {
        /// The unchanged renderer.
        renderer: Box<Renderer>,
        /// Reason why no window could be opened, in one line.
        reason: String,
    },
}

/// Closes a window from another thread.
#[derive(Clone)]
pub struct Stopper(EventLoopProxy<Wake>);

impl Stopper {
    /// Closes the window without a question. Unsaved edits of the scene are kept in a file. Does nothing after the window
    /// has closed.
    pub fn stop(&self) {
        // Fails only after the event loop has ended.
        let _ = self.0.send_event(Wake::Stop);
    }
}

/// Renders the scene in a window until the user closes it, the render fails, or [`Stopper::stop`] is called. A complete
/// render does not close the window. Must be called from the main thread, at most once per process.
///
/// `receive_stopper` is called before the window opens, unless the display cannot be reached.
///
/// # Errors
/// The error that ended the render, unless all GPUs have failed. If the render has not failed, the
/// error of a picture that was being saved when the window closed. [`Error::Window`] if the open window was lost, for
/// example because another program destroyed it, or the render thread or a saving thread panicked. Unsaved changes of
/// the scene are kept when the render fails or the window is lost, and edits when it is stopped.
pub fn run(
    renderer: Renderer,
    scene: &Arc<Scene>,
    options: ViewOptions,
    receive_stopper: impl FnOnce(Stopper),
) -> Result<WindowOutcome, Error> {
    // winit panics if its keyboard library is missing.
    let event_loop = catch_panics(|| EventLoop::with_user_event().build())
        .map_err(String::from)
        .and_then(|event_loop| event_loop.map_err(|error| os_text(&error.to_string())));
    let event_loop = match event_loop {
        Ok(event_loop) => event_loop,
        Err(reason) => {
            let renderer = Box::new(renderer);
            return Ok(WindowOutcome::NoWindow { renderer, reason });
        }
    };
    let wake = event_loop.create_proxy();
    receive_stopper(Stopper(wake.clone()));
    let mut app = App {
        scene,
        options,
        wake,
        state: WindowState::Waiting(Box::new(renderer)),
    };
    let ended = event_loop.run_app(&mut app);
    let ended = ended.map_err(|error| Error::window(os_text(&error.to_string())));
    match app.state {
        WindowState::Open(viewer) => {
            let closed = viewer.close()?.checked()?;
            if closed.error.is_none() {
                ended?;
            }
            Ok(WindowOutcome::Closed(closed))
        }
        WindowState::NoWindow(renderer, reason) => Ok(WindowOutcome::NoWindow { renderer, reason }),
        WindowState::Waiting(renderer) => Ok(WindowOutcome::NoWindow {
            renderer,
            reason: match ended {
                Ok(()) => "the display closed it".to_owned(),
                Err(error) => error.to_string(),
            },
        }),
        WindowState::Opening => Err(Error::window("it ended while it was opening")),
    }
}

/// An event that a background thread sends to wake the event loop.
enum Wake {
    /// An event from a background thread of the session.
    Render(RenderEvent),
    /// The thread with this id has finished saving a picture, successfully or not.
    Saved(ThreadId),
    /// A user has chosen a file to save or to open, or no dialog could be opened.
    Chosen(save_as::Purpose, save_as::Choice),
    /// An image to compare the picture with has been read, or could not be.
    Compared(Result<ComparisonImage, raysieve::Error>),
    /// An event of assistive technologies, such as a screen reader.
    Accessibility(egui_winit::accesskit_winit::WindowEvent),
    /// A [`Stopper`] closes the window.
    Stop,
}

impl From<egui_winit::accesskit_winit::Event> for Wake {
    fn from(event: egui_winit::accesskit_winit::Event) -> Self {
        Self::Accessibility(event.window_event)
    }
}

/// The state of the event loop: the initial scene, the options, and the window once it is open.
struct App<'a> {
    scene: &'a Arc<Scene>,
    options: ViewOptions,
    wake: EventLoopProxy<Wake>,
    state: WindowState,
}

/// The life cycle of the window.
enum WindowState {
    /// The window has not been opened yet.
    Waiting(Box<Renderer>),
    /// The window is being opened; meanwhile, [`Viewer::open`] has the renderer.
    Opening,
    Open(Box<Viewer>),
    /// The window could not be opened, for this reason.
    NoWindow(Box<Renderer>, String),
}

impl ApplicationHandler<Wake> for App<'_> {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        self.state = match std::mem::replace(&mut self.state, WindowState::Opening) {
            WindowState::Waiting(renderer) => {
                match Viewer::open(
                    event_loop,
                    renderer,
                    self.scene,
                    self.options.clone(),
                    self.wake.clone(),
                ) {
                    Ok(viewer) => WindowState::Open(Box::new(viewer)),
                    Err((renderer, reason)) => {
                        event_loop.exit();
                        WindowState::NoWindow(renderer, reason)
                    }
                }
            }
            state => state,
        };
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, wake: Wake) {
        let WindowState::Open(viewer) = &mut self.state else {
            return;
        };
        match wake {
            Wake::Render(RenderEvent::Frame) => viewer.update(),
            Wake::Render(RenderEvent::DebugImage) => viewer.update_debug_image(),
            Wake::Render(RenderEvent::Message(note)) => viewer.say(note),
            Wake::Render(RenderEvent::Problem(problem)) => viewer.say_problem(problem),
            Wake::Render(RenderEvent::Path(inspected)) => viewer.show_path(*inspected),
            Wake::Render(RenderEvent::Pixel(info)) => viewer.show_pixel(*info),
            Wake::Render(RenderEvent::Session(event)) => viewer.handle_event(event),
            Wake::Render(RenderEvent::Ended) => event_loop.exit(),
            Wake::Saved(thread) => viewer.report_save(thread),
            Wake::Chosen(purpose, choice) => viewer.finish_dialog(purpose, choice),
            Wake::Compared(image) => viewer.compare(image),
            Wake::Accessibility(event) => viewer.handle_accessibility(event),
            Wake::Stop => {
                viewer.record_close_cause(CloseCause::Stopped);
                event_loop.exit();
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let WindowState::Open(viewer) = &mut self.state else {
            return;
        };
        if !matches!(event, WindowEvent::KeyboardInput { .. }) {
            viewer.pass_to_widgets(&event);
        }
        match event {
            WindowEvent::DroppedFile(path) => viewer.open_file(path),
            WindowEvent::CloseRequested => viewer.quit(true),
            WindowEvent::Destroyed => {
                viewer.record_close_cause(CloseCause::Destroyed);
                event_loop.exit();
            }
            WindowEvent::RedrawRequested => viewer.draw(),
            WindowEvent::Resized(size) => viewer.screen.resize(size),
            WindowEvent::Occluded(is_occluded) => viewer.screen.set_occluded(is_occluded),
            WindowEvent::MouseWheel { .. } | WindowEvent::Touch(_) => viewer.dismiss_hints(),
            // A key that was already held when the window got the focus was meant for another window.
            WindowEvent::KeyboardInput {
                event:
                    KeyEvent {
                        physical_key,
                        state: ElementState::Pressed,
                        ..
                    },
                is_synthetic: true,
                ..
            } => viewer.ignore_until_released(physical_key),
            WindowEvent::KeyboardInput { .. } => viewer.handle_key(&event),
            WindowEvent::ModifiersChanged(modifiers) => viewer.set_modifiers(modifiers.state()),
            WindowEvent::Focused(true) => viewer.handle_focus(),
            // Key releases are not reported while another window has the focus.
            WindowEvent::Focused(false) => viewer.release_all(),
            _ => {}
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let WindowState::Open(viewer) = &mut self.state else {
            return;
        };
        if viewer.quits {
            return event_loop.exit();
        }
        let until = viewer.run_timers(Instant::now());
        event_loop.set_control_flow(until.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

/// Returns the operating system's message of a winit error on one line, without the source location that winit adds and
/// without the final full stop.
fn os_text(error: &str) -> String {
    let text = match error
        .strip_prefix("os error at ")
        .and_then(|rest| rest.split_once(": "))
    {
        Some((_, text)) => text,
        None => error,
    };
    text.trim_end_matches('.')
        .lines()
        .collect::<Vec<_>>()
        .join(" ")
}
