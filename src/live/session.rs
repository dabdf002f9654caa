//! What a hand does to a render: it becomes commands to the renderer, and a look to show its pictures in.

mod scenes;
mod turning;

use std::{
    f32::consts::PI,
    io, ptr,
    sync::Arc,
    time::{Duration, Instant},
};

use compaction::select::Strategy;
use glam::Vec3;

use super::{
    Shown, ViewOptions,
    controls::Change,
    inspection::{Answer, Inspection, Question, Vantage},
    loader::{Loaded, Loader},
    materials::{Materials, turned},
    orbit::Orbit,
    orders::Command,
    render_thread::{Ended, Frame, RenderThread, Told},
    sights::{Sights, Wanted},
    standing::Standing,
    study::Study,
};
use crate::{
    Error,
    output::Look,
    renderer::Renderer,
    scene::{Camera, Scene, Surface},
    sight::{Sight, Sighting},
    tone::Tone,
};

/// The camera that a hand has moved, and the rest of what it has set.
pub(crate) struct Session {
    render: RenderThread,
    inspection: Inspection,
    loader: Option<Loader>,
    study: Arc<Study>,
    sights: Sights,
    sight: Sight,
    scene: Arc<Scene>,
    /// Why the scene's files cannot be rendered as they are now.
    trouble: Option<String>,
    orbit: Orbit,
    materials: Materials,
    /// What was before each change, the last one last.
    past: Vec<Step>,
    /// What the hand does, and when it did last.
    gesture: Option<(Gesture, Instant)>,
    /// Of the picture that is rendered, pixels.
    size: (u32, u32),
    strategy: Strategy,
    paused: bool,
    flying: bool,
    look: Look,
}

/// What can be undone.
enum Step {
    /// Where the camera was.
    View(Camera),
    /// What a material was, by its place in the scene.
    Material(usize, Surface),
}

/// What follows each other soon is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gesture {
    View,
    Material(usize),
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
    /// With the target, to the right, upwards and ahead: so many seconds at the speed that takes a camera from its place in
    /// the scene to its target in two.
    Fly(Vec3),
}

/// What others have found out for a session.
pub(crate) enum News {
    /// A scene that is to be shown from now on.
    Loaded(Box<Loaded>),
    /// Why the scene's files cannot be rendered as they are now.
    Trouble(String),
    /// What is to be sharp: a point that was seen.
    Focus(Vec3),
    /// What was asked of a path, whose number is known now.
    Ask(Question),
}

/// What follows sooner is of one gesture.
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
const MAX_SECONDS: f32 = 10.0;

/// Of the shorter side, for a key: 7.5 degrees of a turn.
const KEY_STEP: f32 = 1.0 / 24.0;

impl Session {
    /// Starts to render, as it stands if the renderer was prepared for that. Pictures come no faster than one per `interval`, and
    /// `tell` hears of them on the render thread. Gives the renderer back if the system has no thread left.
    pub(crate) fn start(
        renderer: Box<Renderer>,
        scene: &Arc<Scene>,
        options: ViewOptions,
        standing: Option<Standing>,
        interval: Duration,
        tell: impl Fn(Told) + Clone + Send + 'static,
    ) -> Result<Self, (Box<Renderer>, io::Error)> {
        let ViewOptions {
            look,
            sight,
            strategy,
            changes,
            noise,
            watches,
            ..
        } = options;
        let standing = standing.unwrap_or_else(|| Standing::new(scene, strategy, look));
        let orbit = standing.orbit(scene);
        let Standing {
            past,
            size,
            strategy,
            paused,
            look,
            note,
            turned,
            ..
        } = standing;
        let (settings, trees) = (renderer.settings(), renderer.trees());
        let (spp, denoises) = (scene.spp, look.denoise);
        let render = RenderThread::start(renderer, spp, paused, denoises, interval, tell.clone())?;
        if let Some(note) = note {
            tell(Told::Note(note));
        }
        // Without it the scene is shown as it was read.
        let loader = Loader::start(
            scene.clone(),
            trees.clone(),
            (changes, noise),
            settings,
            watches,
            tell.clone(),
        )
        .ok();
        let study = Arc::new(Study::new(scene.clone(), trees));
        let mut session = Self {
            render,
            inspection: Inspection::new(study.clone(), tell.clone()),
            loader,
            study,
            sights: Sights::new(tell),
            sight,
            scene: scene.clone(),
            trouble: None,
            materials: Materials::new(scene.clone()),
            past: past.into_iter().map(Step::View).collect(),
            gesture: None,
            orbit,
            size,
            strategy,
            paused,
            flying: false,
            look,
        };
        session.measure();
        session.turn_again(&turned);
        Ok(session)
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> Standing {
        let steps = self.past.iter();
        let past = steps.filter_map(|step| match step {
            Step::View(camera) => Some(*camera),
            // Its scene may be another one by then.
            Step::Material(..) => None,
        });
        let past = past.collect();
        Standing {
            camera: self.orbit.framed(),
            past,
            size: self.size,
            strategy: self.strategy,
            paused: self.paused,
            look: self.look,
            turned: turned(&self.materials.read, &self.scene),
            note: None,
        }
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
            Change::Fly => {
                self.flying = !self.flying;
                let way = if self.flying { "fly" } else { "orbit" };
                Some(format!("the camera can {way} now"))
            }
            Change::Home => {
                self.remember();
                self.orbit.reset();
                self.render_view();
                None
            }
            Change::Undo => self.undo(),
            Change::TellCamera => Some(self.told()),
            Change::KeepCamera => Some(self.keep_view()),
            Change::NextMaterial => self.materials.choose(&self.scene, true),
            Change::LastMaterial => self.materials.choose(&self.scene, false),
            Change::NextKnob => self.materials.choose_knob(&self.scene),
            Change::More => self.step_material(1.0),
            Change::Less => self.step_material(-1.0),
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
            Change::NextSight => self.set_sight(next(&Sight::ALL, self.sight)),
            Change::Light => self.set_sight(Sight::Light),
            Change::Denoise => self.denoise(),
            Change::NextTone => self.set_tone(next(&Tone::ALL, self.look.tone)),
        }
    }

    /// Follows the hand, which sees that without a word.
    pub(crate) fn move_camera(&mut self, motion: Motion) -> Option<String> {
        self.remember();
        // The scene goes with the hand, so the camera goes the other way; a hand's second axis points down.
        match motion {
            Motion::Turn(right, down) if self.flying => {
                self.orbit.look(in_sides(right), in_sides(down));
            }
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
            Motion::Fly(seconds) => {
                let most = Vec3::splat(MAX_SECONDS);
                self.orbit.fly(seconds.clamp(-most, most) / 2.0);
            }
        }
        self.render_view();
        None
    }

    /// Asks what became of the last sample of a pixel of a picture of `size`: `Told::Inspected`, or a note, is the answer.
    /// The film says which one that was, behind the wave under way.
    pub(crate) fn inspect(&self, pixel: (u32, u32), size: (u32, u32)) {
        self.render.send(Command::LastSample(Question {
            camera: self.orbit.camera(size),
            size,
            pixel,
            sample: 0,
            wanted: Answer::Path,
        }));
    }

    /// Asks for what is seen in a pixel of a picture of `size`, to make it sharp: `News::Focus`, or a note, is the answer.
    pub(crate) fn focus(&self, pixel: (u32, u32), size: (u32, u32)) -> Option<String> {
        let camera = self.orbit.camera(size);
        if camera.lens.is_none() {
            let advice = "the camera has no lens that could be focused; give it one, such as lens: (radius: 0.05)";
            return Some(advice.to_owned());
        }
        self.ask(Question {
            // As through a pinhole: what is not sharp is seen in many places.
            camera: Camera {
                lens: None,
                ..camera
            },
            size,
            pixel,
            sample: 0,
            wanted: Answer::Focus,
        })
    }

    /// Has it answered, unless it says why not.
    fn ask(&self, question: Question) -> Option<String> {
        match self.inspection.ask(question) {
            Ok(true) => None,
            Ok(false) => Some("still at the last path".to_owned()),
            Err(error) => Some(format!("no path: {error}")),
        }
    }

    /// Before the camera moves: keeps where it was, once for a movement of the hand.
    fn remember(&mut self) {
        let before = Step::View(self.orbit.framed());
        self.remember_step(Gesture::View, before);
    }

    /// Before the camera is changed by no movement: a step of its own, however soon it comes.
    fn remember_apart(&mut self) {
        self.gesture = None;
        self.remember();
        self.gesture = None;
    }

    fn remember_step(&mut self, gesture: Gesture, before: Step) {
        let now = Instant::now();
        let goes_on = |(last, at): (Gesture, Instant)| last == gesture && now - at < GESTURE;
        let is_new = !self.gesture.is_some_and(goes_on);
        self.gesture = Some((gesture, now));
        if is_new {
            if self.past.len() == MOST_UNDONE {
                self.past.remove(0);
            }
            self.past.push(before);
        }
    }

    fn undo(&mut self) -> Option<String> {
        self.gesture = None;
        match self.past.pop() {
            Some(Step::View(camera)) => {
                self.orbit.put(camera);
                self.render_view();
                None
            }
            Some(Step::Material(index, surface)) => {
                let scene = self.with_material(index, surface);
                self.put_scene(Arc::new(scene));
                Some(format!(
                    "material {:?} is as before",
                    self.scene.material_names[index]
                ))
            }
            None => Some("nothing to undo".to_owned()),
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

    pub(crate) fn set_sight(&mut self, sight: Sight) -> Option<String> {
        self.sight = sight;
        self.measure();
        Some(format!("view: {}", self.sight.name()))
    }

    /// What is shown in the place of the light.
    pub(crate) fn sight(&self) -> Sight {
        self.sight
    }

    /// The false colours of a picture, if they are wanted and there are any by now.
    pub(crate) fn sighting(&self, shown: &Shown) -> Option<Arc<Sighting>> {
        match self.sight {
            Sight::Light => None,
            Sight::Samples => {
                let [width, height] = shown.stats.size;
                let counts = shown.counts.as_ref()?;
                Some(Arc::new(Sighting::of_samples((width, height), counts)))
            }
            _ => self.sights.seen(shown.stats.spp),
        }
    }

    fn denoise(&mut self) -> Option<String> {
        self.look.denoise = !self.look.denoise;
        self.render.send(Command::Denoise(self.look.denoise));
        let shown = if self.look.denoise {
            "denoised preview, once the noise is known"
        } else {
            "the picture as it is rendered"
        };
        Some(shown.to_owned())
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

    /// Whether what was looked at is still what is seen from there.
    pub(crate) fn is_at(&self, vantage: &Vantage) -> bool {
        self.orbit.camera(vantage.size) == vantage.camera
            && ptr::eq(vantage.study.as_ptr(), Arc::as_ptr(&self.study))
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
    pub(crate) fn finish(self) -> Result<Ended, Error> {
        self.render.finish()
    }

    fn render_view(&mut self) {
        self.render.send(Command::View {
            camera: self.orbit.camera(self.size),
            size: self.size,
        });
        self.measure();
    }

    /// Has the false colours measured of what is looked at now.
    fn measure(&mut self) {
        let counts = self.sight == Sight::Samples;
        self.render.send(Command::Counts(counts));
        let is_measured = !matches!(self.sight, Sight::Light | Sight::Samples);
        let wanted = is_measured.then(|| Wanted {
            study: self.study.clone(),
            camera: self.orbit.camera(self.size),
            size: self.size,
            sight: self.sight,
        });
        if self.sights.want(wanted).is_err() {
            // The system has no thread left for it.
            self.sight = Sight::Light;
        }
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
