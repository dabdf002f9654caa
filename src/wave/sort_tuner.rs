//! Whether it pays to order hits by the kind of material before they are shaded: found out by waves of both kinds in turn.
//!
//! A scene of several materials that scatter at different costs gains a third, one where most paths meet one of them loses
//! a quarter, and which one a scene is nobody knows beforehand.

use compaction::select::Strategy;

/// Whether hits are ordered by the kind of material before they are shaded; it does not change the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortHits {
    /// On a GPU where it pays, as a few waves tell; never on the CPU.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl SortHits {
    /// All of them, the default first.
    pub const ALL: [SortHits; 3] = [SortHits::Auto, SortHits::On, SortHits::Off];

    /// Its name, as it is written and read.
    pub fn name(self) -> &'static str {
        match self {
            SortHits::Auto => "auto",
            SortHits::On => "on",
            SortHits::Off => "off",
        }
    }
}

/// How long waves of one size follow each other before they are tried, in milliseconds of the device.
const STEADY_MILLISECONDS: f64 = 250.0;
/// Waves of either kind that are timed.
const TIMED: usize = 6;
/// Times that a trial of one view begins; it ends without a verdict where the waves' size changes.
const MOST_TRIALS: u32 = 3;

/// A wave that is done.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Paths of the wave.
    pub paths: u32,
    /// Whether it ordered its hits.
    pub orders: bool,
    /// Whether there was one like it before: else kernels were loaded meanwhile.
    pub repeats: bool,
    /// Of the device.
    pub milliseconds: f64,
}

/// What waves do with their hits, and how it was found out. Once waves of one size follow each other, two that order and
/// two that do not take turns until there are six of either; those are kept to that take less time by the median. In all
/// that is some fourteen waves, of which half are done in the slower way.
#[derive(Clone, Debug)]
pub struct SortTuner {
    choice: SortHits,
    /// Whether there is something to be ordered.
    has_kinds: bool,
    /// Whether what ended leaves the queue: an order would gather what lives, and `off` is to remove nothing.
    compacts: bool,
    /// What waves do that are not part of a trial.
    orders: bool,
    gain: Option<f64>,
    trials: u32,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Waves of so many paths have followed each other for so long.
    Steadying { paths: u32, milliseconds: f64 },
    /// So many waves have begun; the times of those that leave hits as they come, and of those that order them.
    Trying {
        paths: u32,
        begun: u32,
        times: [Vec<f64>; 2],
    },
    /// This view was tried, or cannot be.
    Settled,
}

impl State {
    const UNSTEADY: State = State::Steadying {
        paths: 0,
        milliseconds: 0.0,
    };
}

impl SortTuner {
    /// For a scene of so many kinds of materials.
    pub fn new(choice: SortHits, kind_count: u32, strategy: Strategy) -> SortTuner {
        SortTuner {
            choice,
            has_kinds: kind_count > 1,
            compacts: strategy != Strategy::Off,
            orders: choice == SortHits::On,
            gain: None,
            trials: 0,
            state: State::UNSTEADY,
        }
    }

    /// What is asked for.
    pub fn choice(&self) -> SortHits {
        self.choice
    }

    /// Keeps to this from the next wave on. What was found out is forgotten.
    pub fn choose(&mut self, choice: SortHits) {
        if choice != self.choice {
            *self = SortTuner {
                choice,
                orders: choice == SortHits::On,
                gain: None,
                ..self.clone()
            };
            self.look_anew();
        }
    }

    /// Ordering is not tried, nor done where nobody asked for it, while nothing is sieved.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.compacts = strategy != Strategy::Off;
        self.look_anew();
    }

    /// What was found out need not hold any more: the view is another, or the sieve.
    pub fn look_anew(&mut self) {
        self.trials = 0;
        self.state = State::UNSTEADY;
    }

    /// Ordering cannot be had.
    pub fn give_up(&mut self) {
        self.orders = false;
        self.state = State::Settled;
    }

    /// Whether the next wave orders its hits.
    pub fn begin(&mut self) -> bool {
        let may_order = self.may_order();
        match &mut self.state {
            State::Trying { begun, .. } if may_order => {
                *begun += 1;
                // In pairs: two waves are under way at a time, each with a graph of its own.
                (*begun - 1) % 4 < 2
            }
            _ => self.orders(),
        }
    }

    /// Learns from a wave that is done.
    pub fn learn(&mut self, wave: Timed) {
        if !self.is_free() {
            return;
        }
        match &mut self.state {
            State::Steadying {
                paths,
                milliseconds,
            } => {
                if *paths != wave.paths {
                    (*paths, *milliseconds) = (wave.paths, 0.0);
                }
                *milliseconds += wave.milliseconds;
                if *milliseconds < STEADY_MILLISECONDS {
                    return;
                }
                self.trials += 1;
                self.state = if self.trials > MOST_TRIALS {
                    State::Settled
                } else {
                    State::Trying {
                        paths: wave.paths,
                        begun: 0,
                        times: [Vec::new(), Vec::new()],
                    }
                };
            }
            State::Trying { paths, .. } if *paths != wave.paths => self.state = State::UNSTEADY,
            State::Trying { times, .. } => {
                if wave.repeats {
                    times[usize::from(wave.orders)].push(wave.milliseconds);
                }
                if times.iter().all(|times| times.len() >= TIMED) {
                    let [plain, ordered] = times.each_mut().map(|times| median(times));
                    let gain = plain / ordered.max(1e-6);
                    self.orders = gain > 1.0;
                    self.gain = Some(gain);
                    self.state = State::Settled;
                }
            }
            State::Settled => {}
        }
    }

    /// Whether some wave may order its hits before the view changes.
    pub fn may_order(&self) -> bool {
        self.orders() || self.is_free() && matches!(self.state, State::Trying { .. })
    }

    /// Whether waves order their hits, but for those of a trial.
    pub fn orders(&self) -> bool {
        self.orders && (self.is_free() || self.choice == SortHits::On)
    }

    /// Whether it is to be found out.
    fn is_free(&self) -> bool {
        self.choice == SortHits::Auto && self.has_kinds && self.compacts
    }

    /// How many times as fast waves are that order their hits, once both kinds were timed.
    pub fn gain(&self) -> Option<f64> {
        self.gain
    }
}

/// The middle one, or the larger of both in the middle; of at least one.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
