//! What wakes the developing thread: however often it is rung, there is one thing to see to of each kind.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::live::{Inspected, News, Told};

/// Wakes the developing thread.
#[derive(Default)]
pub(super) struct Bell {
    rung: Mutex<Rung>,
    changed: Condvar,
}

/// What happened since it was last seen to.
#[derive(Default)]
pub(super) struct Rung {
    pub(super) frame: bool,
    /// New false colours.
    pub(super) sight: bool,
    /// Of viewers or of what they set.
    pub(super) change: bool,
    pub(super) note: Option<String>,
    pub(super) inspected: Option<Box<Inspected>>,
    /// In the order in which they came: a scene may be without a renderer since the one before it has it.
    pub(super) news: Vec<News>,
    pub(super) ended: bool,
}

/// What the render thread tells the hub by.
pub(super) fn teller(bell: &Arc<Bell>) -> impl Fn(Told) + Clone + Send + 'static {
    let bell = bell.clone();
    move |told| {
        bell.ring(|rung| match told {
            Told::Frame => rung.frame = true,
            Told::Sight => rung.sight = true,
            Told::Note(note) => rung.note = Some(note),
            Told::Inspected(inspected) => rung.inspected = Some(inspected),
            Told::News(news) => rung.news.push(news),
            Told::Ended => rung.ended = true,
        });
    }
}

impl Bell {
    pub(super) fn ring(&self, change: impl FnOnce(&mut Rung)) {
        change(&mut lock(&self.rung));
        self.changed.notify_one();
    }

    /// Waits until it is rung, or for so long.
    pub(super) fn wait(&self, until: Option<Instant>) -> Rung {
        let silent = |rung: &mut Rung| {
            let news = rung.note.is_some() || rung.inspected.is_some();
            let news = news || !rung.news.is_empty();
            !(rung.frame || rung.sight || rung.change || rung.ended || news)
        };
        let rung = lock(&self.rung);
        let mut rung = match until {
            Some(until) => {
                let wait = until.saturating_duration_since(Instant::now());
                self.changed
                    .wait_timeout_while(rung, wait, silent)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self
                .changed
                .wait_while(rung, silent)
                .unwrap_or_else(PoisonError::into_inner),
        };
        mem::take(&mut *rung)
    }
}

/// A panic elsewhere leaves what it held as it was.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
