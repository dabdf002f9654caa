//! What a hand does to a render: it becomes commands to the renderer, and a look to show its pictures in.

use std::{
    f32::consts::PI,
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use compaction::select::Strategy;

use super::{
    controls::Change,
    inspection::{Inspection, Question},
    orbit::Orbit,
    orders::Command,
    render_thread::{Frame, RenderThread, Told},
};
use crate::{
    Error,
    output::Look,
    renderer::Renderer,
    scene::{Camera, Scene, save_camera},
    tone::Tone,
};

/// The camera that a hand has moved, and the rest of what it has set.
pub(crate) struct Session {
    render: RenderThread,
    inspection: Inspection,
    /// The scene's file.
    path: PathBuf,
    orbit: Orbit,
    /// Where the camera was before each move, the last one last.
    past: Vec<Camera>,
    moved: Option<Instant>,
    /// Of the picture that is rendered, pixels.
    size: (u32, u32),
    strategy: Strategy,
    paused: bool,
    look: Look,
}

/// Of the hand, in the picture's shorter side, to the right and downwards: the scene follows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Motion {
    /// About the target: half a turn for the whole side.
    Turn(f32, f32),
    /// With the target, which stays under the hand.
    Pan(f32, f32),
    /// Nearer by so many notches of a wheel.
    Dolly(f32),
    /// Nearer, until what is at the target is seen so many times as large.
    Zoom(f32),
}

/// Moves that follow each other sooner are one.
const GESTURE: Duration = Duration::from_millis(500);

const MOST_UNDONE: usize = 1000;

const EXPOSURE_STEP: f32 = 0.5;

/// Of exposure, up and down.
const MAX_STOPS: f32 = 20.0;

/// Of the distance to the target, for a notch of the wheel.
const DOLLY_FACTOR: f32 = 0.9;

/// More at a time come from no hand.
const MAX_NOTCHES: f32 = 100.0;
const MAX_SIDES: f32 = 100.0;
const MAX_ZOOM: f32 = 1000.0;

/// Of the shorter side, for a key: 7.5 degrees of a turn.
const KEY_STEP: f32 = 1.0 / 24.0;

impl Session {
    /// Starts to render; the renderer was made with this strategy. Pictures come no faster than one per `interval`, and
    /// `tell` hears of them on the render thread. Gives the renderer back if the system has no thread left.
    pub(crate) fn start(
        renderer: Box<Renderer>,
        scene: &Arc<Scene>,
        strategy: Strategy,
        look: Look,
        interval: Duration,
        tell: impl Fn(Told) + Clone + Send + 'static,
    ) -> Result<Self, (Box<Renderer>, io::Error)> {
        Ok(Self {
            render: RenderThread::start(renderer, scene.spp, interval, tell.clone())?,
            inspection: Inspection::new(scene.clone(), tell),
            path: scene.path.clone(),
            past: Vec::new(),
            moved: None,
            orbit: Orbit::new(scene.camera, scene.size),
            size: scene.size,
            strategy,
            paused: false,
            look,
        })
    }

    /// Does it, and says what a user would else not see.
    pub(crate) fn act(&mut self, change: Change) -> Option<String> {
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
            Change::Home => {
                self.remember();
                self.orbit.reset();
                self.render_view();
                None
            }
            Change::Undo => self.undo(),
            Change::TellCamera => Some(self.orbit.framed().to_ron()),
            Change::KeepCamera => Some(self.keep_camera()),
            Change::NextStrategy => self.set_strategy(next(Strategy::ALL, self.strategy)),
            Change::Pause => {
                self.paused = !self.paused;
                self.render.send(Command::Pause(self.paused));
                None
            }
            Change::Restart => {
                self.render.send(Command::Restart);
                None
            }
            Change::Brighter => self.expose(EXPOSURE_STEP),
            Change::Darker => self.expose(-EXPOSURE_STEP),
            Change::NextTone => self.set_tone(next(&Tone::ALL, self.look.tone)),
        }
    }

    /// Follows the hand, which sees that without a word.
    pub(crate) fn move_camera(&mut self, motion: Motion) -> Option<String> {
        self.remember();
        // The scene goes with the hand, so the camera goes the other way; a hand's second axis points down.
        match motion {
            Motion::Turn(right, down) => {
                self.orbit.turn(-in_sides(right) * PI, in_sides(down) * PI);
            }
            Motion::Pan(right, down) => {
                self.orbit.pan(-in_sides(right), in_sides(down), self.size);
            }
            Motion::Dolly(notches) => {
                let notches = notches.clamp(-MAX_NOTCHES, MAX_NOTCHES);
                self.orbit.dolly(libm::powf(DOLLY_FACTOR, notches));
            }
            Motion::Zoom(times) => {
                self.orbit
                    .dolly(1.0 / times.clamp(1.0 / MAX_ZOOM, MAX_ZOOM));
            }
        }
        self.render_view();
        None
    }

    /// Asks what became of the last sample of a pixel: `Told::Inspected`, or a note, is the answer. The pixel is one of
    /// a picture of `size`, which has so many whole samples.
    pub(crate) fn inspect(
        &self,
        pixel: (u32, u32),
        size: (u32, u32),
        samples: u32,
    ) -> Option<String> {
        let question = Question {
            camera: self.orbit.camera(size),
            size,
            pixel,
            sample: samples.saturating_sub(1),
        };
        match self.inspection.ask(question) {
            Ok(true) => None,
            Ok(false) => Some("still at the last path".to_owned()),
            Err(error) => Some(format!("no path: {error}")),
        }
    }

    /// Before the camera moves: keeps where it was, once for a movement of the hand.
    fn remember(&mut self) {
        let now = Instant::now();
        let goes_on = self.moved.is_some_and(|moved| now - moved < GESTURE);
        self.moved = Some(now);
        if !goes_on {
            if self.past.len() == MOST_UNDONE {
                self.past.remove(0);
            }
            self.past.push(self.orbit.framed());
        }
    }

    fn undo(&mut self) -> Option<String> {
        let Some(camera) = self.past.pop() else {
            return Some("nothing to undo".to_owned());
        };
        self.moved = None;
        self.orbit.put(camera);
        self.render_view();
        None
    }

    fn keep_camera(&self) -> String {
        match save_camera(&self.path, &self.orbit.framed()) {
            Ok(()) => format!("the camera is kept in {}", self.path.display()),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) fn set_strategy(&mut self, strategy: Strategy) -> Option<String> {
        self.strategy = strategy;
        self.render.send(Command::Strategy(strategy));
        Some(format!("sieve: {strategy}"))
    }

    pub(crate) fn set_tone(&mut self, tone: Tone) -> Option<String> {
        self.look.tone = tone;
        Some(format!("tone curve: {}", tone.name()))
    }

    /// Renders in another size.
    pub(crate) fn set_size(&mut self, size: (u32, u32)) {
        if self.size != size {
            self.size = size;
            self.render_view();
        }
    }

    /// Of the picture that is rendered, pixels; a preview is smaller.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// What a picture of this size is seen through.
    pub(crate) fn camera(&self, size: (u32, u32)) -> Camera {
        self.orbit.camera(size)
    }

    /// How pictures are to be shown.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// The newest picture, once.
    pub(crate) fn take_frame(&self) -> Option<Frame> {
        self.render.take_frame()
    }

    /// Ends the render after the wave that it is at, and takes the renderer back.
    pub(crate) fn finish(self) -> Result<Box<Renderer>, Error> {
        self.render.finish()
    }

    fn render_view(&self) {
        self.render.send(Command::View {
            camera: self.orbit.camera(self.size),
            size: self.size,
        });
    }

    fn expose(&mut self, stops: f32) -> Option<String> {
        let stops = self.look.exposure_stops + stops;
        self.look.exposure_stops = stops.clamp(-MAX_STOPS, MAX_STOPS);
        Some(format!("exposure {:+.1} stops", self.look.exposure_stops))
    }
}

fn in_sides(length: f32) -> f32 {
    length.clamp(-MAX_SIDES, MAX_SIDES)
}

/// The one behind `now`, in turn.
fn next<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let place = all.iter().position(|&one| one == now).unwrap_or(0);
    all[(place + 1) % all.len()]
}
