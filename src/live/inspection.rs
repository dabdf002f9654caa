//! A path that somebody asked for, traced on a thread of its own.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use super::render_thread::Told;
use crate::{
    scene::{Camera, Scene},
    track::{Inspector, Stroke, Track},
};

/// A path, and its lines in the picture in which it was asked for.
pub(crate) struct Inspected {
    pub(crate) track: Track,
    pub(crate) strokes: Vec<Stroke>,
    /// Of that picture, pixels.
    pub(crate) size: (u32, u32),
    /// That it was seen through.
    pub(crate) camera: Camera,
}

/// Which path.
pub(super) struct Question {
    pub(super) camera: Camera,
    pub(super) size: (u32, u32),
    /// Column and row.
    pub(super) pixel: (u32, u32),
    pub(super) sample: u32,
}

/// Looks at paths of the scene, one at a time.
pub(super) struct Inspection {
    scene: Arc<Scene>,
    /// Made for the first question: trees take time and memory.
    inspector: Arc<Mutex<Option<Inspector>>>,
    /// Whether one is at work.
    busy: Arc<AtomicBool>,
    tell: Arc<Mutex<dyn Fn(Told) + Send>>,
}

impl Inspection {
    pub(super) fn new(scene: Arc<Scene>, tell: impl Fn(Told) + Send + 'static) -> Self {
        Self {
            scene,
            inspector: Arc::default(),
            busy: Arc::default(),
            tell: Arc::new(Mutex::new(tell)),
        }
    }

    /// Answers by `Told::Inspected`, or a note; `false` if it is still at the last one.
    pub(super) fn ask(&self, question: Question) -> io::Result<bool> {
        if self.busy.swap(true, Relaxed) {
            return Ok(false);
        }
        let (scene, inspector) = (self.scene.clone(), self.inspector.clone());
        let (busy, tell) = (Busy(self.busy.clone()), self.tell.clone());
        let work = move || {
            let answer = answer(&scene, &inspector, &question);
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

fn answer(scene: &Scene, inspector: &Mutex<Option<Inspector>>, question: &Question) -> Told {
    let Question {
        camera,
        size,
        pixel,
        sample,
    } = question;
    let mut held = inspector.lock().unwrap_or_else(PoisonError::into_inner);
    let traced = match held.take() {
        Some(inspector) => Ok(inspector),
        None => Inspector::new(scene),
    }
    .and_then(|mut inspector| {
        inspector.look(camera, *size);
        let track = inspector.track(*pixel, *sample);
        let strokes = track.as_ref().map(|track| track.sketch(inspector.camera()));
        let strokes = strokes.unwrap_or_default();
        *held = Some(inspector);
        track.map(|track| Inspected {
            track,
            strokes,
            size: *size,
            camera: *camera,
        })
    });
    match traced {
        Ok(inspected) => Told::Inspected(Box::new(inspected)),
        Err(error) => Told::Note(error.to_string()),
    }
}
