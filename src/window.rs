//! The window: the picture as it is rendered, its statistics over it, and the keys.
//!
//! The event loop never waits for the renderer, which has a thread of its own (`live`); what comes from either goes
//! through the `viewer`, which changes the `view`, and the view is drawn to the `screen`.

pub mod overlay;
mod save;
mod screen;
mod settings;
mod view;
mod viewer;

use std::{sync::Arc, thread::ThreadId, time::Instant};

use winit::{
    application::ApplicationHandler,
    event::{ElementState, KeyEvent, WindowEvent},
    event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy},
    keyboard::{Key, NamedKey},
    window::WindowId,
};

use self::viewer::Viewer;
use crate::{
    Error,
    live::{Ended, Fallen, Standing, Told, ViewOptions},
    quiet::quietly,
    renderer::Renderer,
    scene::Scene,
};

/// How a window ended.
pub enum Outcome {
    /// The user closed it.
    Closed {
        /// With what it has rendered.
        renderer: Renderer,
    },
    /// All GPUs have failed at once, before the user closed it.
    Fallen(Box<Fallen>),
    /// There was none: nothing has been rendered.
    NoWindow {
        /// As it was given.
        renderer: Renderer,
        /// Why, in one line.
        reason: String,
    },
}

/// Renders the scene in a window until the user closes it; from how it stood, if the renderer was
/// [prepared](Standing::restore) for that. To be called from the main thread, once.
///
/// `Err` is what ended the renderer, or the loss of the window in the middle.
pub fn run(
    renderer: Renderer,
    scene: &Arc<Scene>,
    options: ViewOptions,
    standing: Option<Standing>,
) -> Result<Outcome, Error> {
    // Without its keyboard library winit panics.
    let event_loop = quietly(|| EventLoop::with_user_event().build())
        .and_then(|event_loop| event_loop.map_err(|error| os_text(&error.to_string())));
    let event_loop = match event_loop {
        Ok(event_loop) => event_loop,
        Err(reason) => return Ok(Outcome::NoWindow { renderer, reason }),
    };
    let wake = event_loop.create_proxy();
    let mut app = App {
        scene,
        options,
        standing,
        wake,
        closed: false,
        stage: Stage::Waiting(Box::new(renderer)),
    };
    let ended = event_loop.run_app(&mut app).map_err(|error| Error::Window {
        problem: os_text(&error.to_string()),
    });
    match app.stage {
        Stage::Open(viewer) => {
            let (Ended { renderer, error }, standing) = viewer.close()?;
            let mut renderer = *renderer;
            match error {
                None => ended.map(|()| Outcome::Closed { renderer }),
                Some(error) if !app.closed && renderer.has_fallen() => {
                    Ok(Outcome::Fallen(Box::new(Fallen {
                        renderer,
                        error,
                        standing,
                    })))
                }
                Some(error) => Err(error),
            }
        }
        Stage::NoWindow(renderer, reason) => Ok(Outcome::NoWindow {
            renderer: *renderer,
            reason,
        }),
        Stage::Waiting(renderer) => {
            let reason = ended.err().map_or_else(
                || "the display ended it".to_owned(),
                |error| error.to_string(),
            );
            Ok(Outcome::NoWindow {
                renderer: *renderer,
                reason,
            })
        }
        Stage::Opening => Err(Error::Window {
            problem: "ended while it was opening".to_owned(),
        }),
    }
}

/// What wakes the event loop besides the user.
enum Wake {
    /// The render thread.
    Render(Told),
    /// By this thread a picture has been written, or could not be.
    Saved(ThreadId),
}

struct App<'a> {
    scene: &'a Arc<Scene>,
    options: ViewOptions,
    /// Until the window opens.
    standing: Option<Standing>,
    wake: EventLoopProxy<Wake>,
    /// Whether the user has closed it.
    closed: bool,
    stage: Stage,
}

enum Stage {
    Waiting(Box<Renderer>),
    Opening,
    Open(Box<Viewer>),
    NoWindow(Box<Renderer>, String),
}

impl ApplicationHandler<Wake> for App<'_> {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Opening) {
            Stage::Waiting(renderer) => {
                match Viewer::open(
                    event_loop,
                    renderer,
                    self.scene,
                    self.options,
                    self.standing.take(),
                    self.wake.clone(),
                ) {
                    Ok(viewer) => Stage::Open(Box::new(viewer)),
                    Err((renderer, reason)) => {
                        event_loop.exit();
                        Stage::NoWindow(renderer, reason)
                    }
                }
            }
            stage => stage,
        };
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, wake: Wake) {
        let Stage::Open(viewer) = &mut self.stage else {
            return;
        };
        match wake {
            Wake::Render(Told::Frame) => viewer.update(),
            Wake::Render(Told::Sight) => viewer.update_sight(),
            Wake::Render(Told::Note(note)) => viewer.say(note),
            Wake::Render(Told::Inspected(inspected)) => viewer.show_path(*inspected),
            Wake::Render(Told::News(news)) => viewer.hear(news),
            Wake::Render(Told::Ended) => event_loop.exit(),
            Wake::Saved(thread) => viewer.report_save(thread),
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Stage::Open(viewer) = &mut self.stage else {
            return;
        };
        match event {
            WindowEvent::DroppedFile(path) => viewer.open_file(path),
            WindowEvent::CloseRequested | WindowEvent::Destroyed => {
                self.closed = true;
                event_loop.exit();
            }
            WindowEvent::RedrawRequested => viewer.draw(),
            WindowEvent::Resized(size) => viewer.resize(size),
            WindowEvent::CursorMoved { position, .. } => viewer.move_cursor(position),
            WindowEvent::MouseInput { button, state, .. } => {
                viewer.press(button, state.is_pressed());
            }
            WindowEvent::MouseWheel { delta, .. } => viewer.scroll(delta),
            // Of a key that was held when the window came to the front: it was meant for another one.
            WindowEvent::KeyboardInput {
                event:
                    KeyEvent {
                        state: ElementState::Pressed,
                        ..
                    },
                is_synthetic: true,
                ..
            } => {}
            WindowEvent::KeyboardInput {
                event: KeyEvent {
                    logical_key, state, ..
                },
                ..
            } => {
                let Some(chord) = chord(&logical_key, viewer.shift()) else {
                    return;
                };
                if state == ElementState::Released {
                    viewer.release(&chord);
                } else if viewer
                    .action(&chord)
                    .is_some_and(|action| !viewer.act(action))
                {
                    self.closed = true;
                    event_loop.exit();
                }
            }
            WindowEvent::ModifiersChanged(modifiers) => viewer.hold(modifiers.state()),
            // Keys that are let go elsewhere are not heard of.
            WindowEvent::Focused(false) => viewer.release_all(),
            _ => {}
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let Stage::Open(viewer) = &mut self.stage else {
            return;
        };
        let until = viewer.wait_until(Instant::now());
        event_loop.set_control_flow(until.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

/// The key's name in the table of controls, if it may stand there.
fn chord(key: &Key, shift: bool) -> Option<String> {
    let name = match key {
        Key::Character(letter) => return Some(letter.to_string()),
        Key::Named(NamedKey::Space) => return Some(" ".to_owned()),
        Key::Named(NamedKey::ArrowLeft) => "ArrowLeft",
        Key::Named(NamedKey::ArrowRight) => "ArrowRight",
        Key::Named(NamedKey::ArrowUp) => "ArrowUp",
        Key::Named(NamedKey::ArrowDown) => "ArrowDown",
        Key::Named(NamedKey::PageUp) => "PageUp",
        Key::Named(NamedKey::PageDown) => "PageDown",
        Key::Named(NamedKey::Home) => "Home",
        Key::Named(NamedKey::Escape) => "Escape",
        Key::Named(NamedKey::F1) => "F1",
        _ => return None,
    };
    Some(if shift {
        format!("Shift+{name}")
    } else {
        name.to_owned()
    })
}

/// The system's own words out of an error of winit, which puts the place in winit's source before them.
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
