//! Undo and redo of camera movements and edits.

use std::{
    mem,
    time::{Duration, Instant},
};

use super::Session;
use crate::session::editing::described;
use raysieve_scene::{Camera, Part, PartState, Scene};

/// The steps that can be undone and redone.
#[derive(Default)]
pub(super) struct History {
    /// Undo steps, the most recent last.
    past: Vec<Step>,
    /// Redo steps, the most recent last.
    future: Vec<Step>,
    /// Kind of the last gesture and time of its last change. `None` before the first gesture, and after an undo, a redo
    /// or a change of the focus, which end a gesture.
    gesture: Option<(Gesture, Instant)>,
}

/// A change that can be undone: the state before it or, if it is to be redone, the state after it.
enum Step {
    /// A camera movement or a change of projection or lens.
    View(Camera),
    Part(Part, PartState),
}

/// A kind of continuous change: of a field of a part, or of the view, which is the camera without a field. Changes of one
/// kind form a single undo step if each follows the previous one within half a second, or continues the same drag. Key
/// presses count too.
type Gesture = (Part, &'static str);

/// Movements of the camera.
const VIEW: Gesture = (Part::Camera, "");

/// The relation of a change to the one before it, if both change the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Continuity {
    /// The changes form one undo step if the second follows within half a second, as with keys and the wheel.
    ByTime,
    /// The change begins a drag, and so an undo step.
    Begins,
    /// The change continues a drag and its undo step, whatever time has passed.
    Continues,
}

impl Continuity {
    /// Returns the relation of a change by a drag to the one before it, which belongs to the same drag if `continues`.
    pub(crate) fn in_drag(continues: bool) -> Self {
        match continues {
            true => Self::Continues,
            false => Self::Begins,
        }
    }
}

/// Maximum time between two changes of one gesture, which are undone together.
const GESTURE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of undo steps; a further one replaces the oldest.
const MAX_UNDO_STEPS: usize = 1000;

impl History {
    /// Ends the current gesture, so that the next change is an undo step of its own.
    pub(super) fn end_gesture(&mut self) {
        self.gesture = None;
    }

    /// Removes the steps that edit parts, because the scene has others now.
    pub(super) fn forget_parts(&mut self) {
        for steps in [&mut self.past, &mut self.future] {
            steps.retain(|step| matches!(step, Step::View(_)));
        }
    }

    /// Records an undo step, unless `gesture` continues the last one. Discards the redo steps in either case.
    fn record(&mut self, gesture: Gesture, continuity: Continuity, before: Step) {
        let now = Instant::now();
        let goes_on = |(last, at): (Gesture, Instant)| {
            let in_time = match continuity {
                Continuity::ByTime => now - at < GESTURE_TIMEOUT,
                Continuity::Begins => false,
                Continuity::Continues => true,
            };
            last == gesture && in_time
        };
        let is_new = !self.gesture.is_some_and(goes_on);
        self.gesture = Some((gesture, now));
        self.future.clear();
        if is_new {
            if self.past.len() == MAX_UNDO_STEPS {
                self.past.remove(0);
            }
            self.past.push(before);
        }
    }
}

impl Session {
    /// Records the camera before a movement as an undo step, once per gesture.
    pub(super) fn record_view(&mut self, continuity: Continuity) {
        let before = Step::View(self.orbit.current);
        self.history.record(VIEW, continuity, before);
    }

    /// Records the camera before a change as an undo step of its own, which is not part of a gesture.
    pub(super) fn record_view_separately(&mut self) {
        self.record_view(Continuity::Begins);
        self.history.end_gesture();
    }

    /// Records the state of a part before an edit of its field named `field` as an undo step, once per gesture. Does
    /// nothing if the scene has no such part.
    pub(super) fn record_part(&mut self, part: Part, field: &'static str, continuity: Continuity) {
        let before = match part {
            Part::Camera => Some(Step::View(self.orbit.current)),
            _ => self
                .scene
                .part_state(part)
                .map(|state| Step::Part(part, state)),
        };
        if let Some(before) = before {
            self.history.record((part, field), continuity, before);
        }
    }

    /// Adapts the undo steps to `read`, which is about to replace the scene without edits and has the same parts: where an
    /// animation has changed a part, its steps keep only the user's edits.
    pub(super) fn adapt_history(&mut self, read: &Scene) {
        let before = self.editing.read.clone();
        let History { past, future, .. } = &mut self.history;
        for step in past.iter_mut().chain(future) {
            if let Step::Part(part, state) = step
                && before.part_state(*part) != read.part_state(*part)
            {
                let edits = before.with_part_state(*part, state).edits_since(&before);
                let adapted = read.with_edits(&edits).part_state(*part);
                *state = adapted.unwrap_or(state.clone());
            }
        }
    }

    /// Returns whether there is a change to undo, and whether there is one to redo.
    pub(crate) fn undo_and_redo(&self) -> (bool, bool) {
        let History { past, future, .. } = &self.history;
        (!past.is_empty(), !future.is_empty())
    }

    /// Reverts the last change or, if not `back`, repeats the change that was reverted last. Displays a message, also if
    /// there is none, but not after a change of the camera, which is visible.
    pub(super) fn undo_or_redo(&mut self, back: bool) {
        let History { past, future, .. } = &mut self.history;
        let (steps, nothing, verb) = match back {
            true => (past, "nothing to undo", "undone"),
            false => (future, "nothing to redo", "redone"),
        };
        let Some(step) = steps.pop() else {
            return self.say(nothing);
        };
        let inverse = self.put_step(step, verb);
        let History { past, future, .. } = &mut self.history;
        let inverses = if back { future } else { past };
        inverses.push(inverse);
    }

    /// Restores the state of a step, and returns the inverse step. For an edit, displays a message that names the edited
    /// part of the scene and ends with `verb`.
    fn put_step(&mut self, step: Step, verb: &str) -> Step {
        self.history.end_gesture();
        match step {
            Step::View(camera) => {
                let before = self.orbit.current;
                self.orbit.current = camera;
                self.render_view();
                Step::View(before)
            }
            Step::Part(part, mut state) => {
                let scene = self.scene.with_part_state(part, &state);
                if let Some(mut before) = self.scene.part_state(part) {
                    mem::swap(&mut state, &mut before);
                }
                self.put_scene(scene.into());
                self.say(format!("change of {} {verb}", described(&self.scene, part)));
                Step::Part(part, state)
            }
        }
    }
}
