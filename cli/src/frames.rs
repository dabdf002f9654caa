//! Sequences: `--frames` renders each frame of an animation into an image of its own, and `--turntable` each view of a
//! camera that circles its target.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use crate::error::Error;
use raysieve::{accel::trees::SceneBvhs, render::renderer::Ahead};
use raysieve_scene::{Scene, SceneLoader};

use crate::{
    Ending,
    arguments::{Arguments, Frame, FrameView, Outputs},
    backend_line, headless, note,
    signals::Signals,
};

/// Renders the frames of the scene at `path`, one after the other, or stops early at a signal as
/// [`headless::render`] does. The file and its images are read once.
///
/// # Errors
/// If no file can be written at a path, if the scene of `--frames` has no animation, or if a frame cannot be loaded,
/// rendered or written. An error in a frame is an [`Error::Frame`]; the files of earlier frames remain.
pub(crate) fn render(
    arguments: &Arguments,
    path: &Path,
    frames: &[Frame],
) -> Result<Ending, Error> {
    let mut outputs = arguments.outputs(path);
    outputs.oidn = arguments.oidn()?;
    if let Some(first) = frames.first() {
        let outputs = outputs.of_frame(first.number);
        outputs.check_stats()?;
        outputs.check_picture()?;
    }
    let ahead = Ahead::open(arguments.backend());
    let mut loader = SceneLoader::new(path);
    arguments.stage(&mut loader, path, frames)?;
    let signals = Signals::watch()?;
    let mut run = Sequence {
        arguments,
        path,
        loader,
        outputs,
        turntable: None,
        notes: Vec::new(),
    };
    for (index, &frame) in frames.iter().enumerate() {
        let before = format!("raysieve: frame {} of {}", index + 1, frames.len());
        if signals.received().load(Ordering::Relaxed) {
            note(&format!("{before}: interrupted before it"));
            return Ok(Ending::Interrupted);
        }
        let ending = run.render(frame, &before, &signals);
        let ending = ending.map_err(|error| Error::Frame {
            number: index + 1,
            count: frames.len(),
            error: Box::new(error),
        })?;
        if ending == Ending::Interrupted {
            return Ok(ending);
        }
    }
    drop(ahead);
    Ok(Ending::Done)
}

/// The state of a run that renders several frames.
struct Sequence<'a> {
    arguments: &'a Arguments,
    /// Path of the scene or model.
    path: &'a Path,
    loader: SceneLoader,
    /// Files of the sequence, whose names still lack the number of the frame.
    outputs: Outputs,
    /// The scene of a turntable with the camera of its first frame, and its acceleration structures, which do not
    /// depend on the camera. `None` before that frame and in an animation.
    turntable: Option<(Scene, Arc<SceneBvhs>)>,
    /// Lines that were printed for earlier frames and are not printed again.
    notes: Vec<String>,
}

impl Sequence<'_> {
    /// Renders a frame into its files. `head` begins the line that announces it.
    fn render(&mut self, frame: Frame, head: &str, signals: &Signals) -> Result<Ending, Error> {
        let arguments = self.arguments;
        let mut outputs = self.outputs.of_frame(frame.number);
        let view = match frame.view {
            FrameView::Time(time) => format!("{time:.3} s"),
            FrameView::Turn(degrees) => format!("{degrees:.1}°"),
        };
        note(&format!("{head}, at {view}: {}", outputs.picture.display()));
        let (mut scene, trees) = match self.turntable.take() {
            Some((scene, trees)) => (scene, Some(trees)),
            None => (
                arguments.load_frame(&mut self.loader, self.path, frame)?,
                None,
            ),
        };
        let camera = scene.camera;
        if let FrameView::Turn(degrees) = frame.view {
            scene.camera = camera.turned(degrees);
        }
        outputs.look = arguments.look(&scene);
        outputs.check_apart(&scene)?;
        arguments.check_memory(&scene)?;
        scene.notes.iter().for_each(|line| self.note_once(line));
        let trees = match (trees, frame.view) {
            (None, FrameView::Turn(_)) => Some(Arc::new(SceneBvhs::of(&scene)?)),
            (trees, _) => trees,
        };
        let renderer = arguments.renderer(&scene, trees.clone())?;
        if let Some(line) = renderer.empty_view() {
            self.note_once(line);
        }
        self.note_once(&backend_line(&renderer));
        let ending = headless::render(
            renderer,
            &scene,
            arguments.layers(),
            &outputs,
            None,
            None,
            signals,
        )?;
        self.outputs.has_said_denoised = true;
        if let Some(trees) = trees {
            scene.camera = camera;
            self.turntable = Some((scene, trees));
        }
        Ok(ending)
    }

    /// Prints a line to standard error unless an earlier frame has printed it.
    fn note_once(&mut self, line: &str) {
        if !self.notes.iter().any(|known| known == line) {
            note(line);
            self.notes.push(line.to_owned());
        }
    }
}
