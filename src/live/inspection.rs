//! A path that somebody asked for, traced on a thread of its own.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use super::{render_thread::Told, session::News, study::Study};
use crate::{
    Error,
    scene::Camera,
    track::{Inspector, Stroke, Track},
};

/// A path, and its lines in the picture in which it was asked for.
pub(crate) struct Inspected {
    pub(crate) track: Track,
    pub(crate) strokes: Vec<Stroke>,
    pub(crate) vantage: Vantage,
}

/// What was looked at, and from where.
#[derive(Clone)]
pub(crate) struct Vantage {
    /// Of the picture, pixels.
    pub(crate) size: (u32, u32),
    pub(super) camera: Camera,
    /// Whoever shows a path keeps no scene by it that has gone.
    pub(super) study: Weak<Study>,
}

/// Which path.
pub(crate) struct Question {
    pub(super) camera: Camera,
    pub(super) size: (u32, u32),
    /// Column and row.
    pub(super) pixel: (u32, u32),
    pub(super) sample: u32,
    pub(super) wanted: Answer,
}

/// What is to be told of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// All of it.
    Path,
    /// What it met first.
    Focus,
}

/// Looks at paths of the scene, one at a time.
pub(super) struct Inspection {
    study: Arc<Study>,
    /// Whether one is at work.
    busy: Arc<AtomicBool>,
    tell: Arc<Mutex<dyn Fn(Told) + Send>>,
}

impl Inspection {
    pub(super) fn new(study: Arc<Study>, tell: impl Fn(Told) + Send + 'static) -> Self {
        Self {
            study,
            busy: Arc::default(),
            tell: Arc::new(Mutex::new(tell)),
        }
    }

    /// Looks at another scene from now on.
    pub(super) fn set_scene(&mut self, study: Arc<Study>) {
        self.study = study;
    }

    /// Answers by `Told::Inspected`, `News::Focus`, or a note; `false` if it is still at the last one.
    pub(super) fn ask(&self, question: Question) -> io::Result<bool> {
        if self.busy.swap(true, Relaxed) {
            return Ok(false);
        }
        let study = self.study.clone();
        let (busy, tell) = (Busy(self.busy.clone()), self.tell.clone());
        let work = move || {
            let answer = answer(&study, &question);
            drop(busy);
            tell.lock().unwrap_or_else(PoisonError::into_inner)(answer);
        };
        let thread = thread::Builder::new().name("inspect".to_owned());
        thread.spawn(work).map(|_| true)
    }
}

/// Until it is dropped, whatever happens.
struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

fn answer(study: &Arc<Study>, question: &Question) -> Told {
    answered(study, question).unwrap_or_else(|error| Told::Note(error.to_string()))
}

fn answered(study: &Arc<Study>, question: &Question) -> Result<Told, Error> {
    let Question {
        camera,
        size,
        pixel,
        sample,
        wanted,
    } = *question;
    let mut inspector = Inspector::within(study.world()?, &study.scene);
    inspector.look(&camera, size);
    let track = inspector.track(pixel, sample)?;
    if wanted == Answer::Focus {
        let met = track
            .vertices
            .first()
            .and_then(|vertex| vertex.met.as_ref());
        return Ok(match met {
            Some(met) => Told::News(News::Focus(met.position)),
            None => Told::Note("nothing is there to focus on".to_owned()),
        });
    }
    let strokes = track.sketch(inspector.camera());
    Ok(Told::Inspected(Box::new(Inspected {
        track,
        strokes,
        vantage: Vantage {
            size,
            camera,
            study: Arc::downgrade(study),
        },
    })))
}
