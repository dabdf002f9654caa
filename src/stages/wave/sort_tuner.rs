//! Decides whether waves sort their hits by kind of material, by measuring waves with and without sorting.
//!
//! Sorting pays if several materials with different costs are hit, and costs time if most paths hit one of them. This
//! cannot be predicted from the scene.

use compaction::select::Strategy;

/// Whether hits are sorted by kind of material before they are shaded. The film does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortHits {
    /// Sorting on a GPU if a measurement of some waves shows that it saves time; no sorting on the CPU.
    #[default]
    Auto,
    /// Sorting in all waves.
    On,
    /// No sorting.
    Off,
}

impl SortHits {
    /// All choices; the default is the first.
    pub const ALL: [SortHits; 3] = [SortHits::Auto, SortHits::On, SortHits::Off];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SortHits::Auto => "auto",
            SortHits::On => "on",
            SortHits::Off => "off",
        }
    }
}

/// GPU time of successive waves of one size before a trial begins, in milliseconds.
const STEADY_MILLISECONDS: f64 = 250.0;
/// Minimum number of timed waves with sorting, and without, in a trial.
const TIMED: usize = 6;
/// Maximum number of trials per camera view. A trial ends without a result if the size of the waves changes.
const MAX_TRIALS: u32 = 3;

/// The properties of a completed wave that the tuner learns from.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Number of paths of the wave.
    pub paths: u32,
    /// Whether the wave sorted its hits.
    pub sorts_hits: bool,
    /// Whether a previous wave had the same number of paths and the same `sorts_hits`. If not, the time is not used,
    /// because it includes the loading of kernels.
    pub repeats: bool,
    /// Time of all stages on the GPU in milliseconds.
    pub milliseconds: f64,
}

/// The measurement that decides for each wave whether it sorts its hits.
///
/// Once successive waves have the same size, a trial begins. It alternates between two waves with sorting and two
/// without, until six of each are timed. From then on all waves use the alternative with the smaller median time. A
/// trial takes about fourteen waves, half of which use the slower alternative.
#[derive(Clone, Debug)]
pub struct SortTuner {
    /// The user's setting.
    choice: SortHits,
    /// Whether the scene has materials of several kinds. Otherwise there are no trials.
    has_kinds: bool,
    /// Whether the strategy compacts. With `off` there are no trials, and only [`SortHits::On`] sorts, because sorting
    /// would remove the gaps in the queue.
    compacts: bool,
    /// Whether waves outside of trials sort their hits, if the other fields allow it.
    sorts: bool,
    /// Median time of a wave without sorting over that with sorting; `None` before a trial has ended.
    gain: Option<f64>,
    /// Number of trials that have begun for the current view.
    trials: u32,
    state: TunerState,
}

/// The progress of the measurement for the current camera view.
#[derive(Clone, Debug)]
enum TunerState {
    /// No trial yet, because the size of waves may still change.
    Steadying {
        /// Number of paths of each of the last waves.
        paths: u32,
        /// Total GPU time of the successive waves of that size, in milliseconds.
        milliseconds: f64,
    },
    /// A trial in progress.
    Trying {
        /// Number of paths of each wave.
        paths: u32,
        /// Number of waves of the trial that have begun.
        begun: u32,
        /// GPU times in milliseconds of the trial's waves: without sorting at index 0, with sorting at index 1.
        times: [Vec<f64>; 2],
    },
    /// No more trials: one has ended with a result, too many had none, or sorting is impossible.
    Settled,
}

impl TunerState {
    /// The state before the first wave of a view.
    const UNSTEADY: TunerState = TunerState::Steadying {
        paths: 0,
        milliseconds: 0.0,
    };
}

impl SortTuner {
    /// Creates a tuner for a scene with materials of `kind_count` kinds.
    pub fn new(choice: SortHits, kind_count: u32, strategy: Strategy) -> SortTuner {
        SortTuner {
            choice,
            has_kinds: kind_count > 1,
            compacts: strategy != Strategy::Off,
            sorts: choice == SortHits::On,
            gain: None,
            trials: 0,
            state: TunerState::UNSTEADY,
        }
    }

    /// Returns the user's setting.
    pub fn choice(&self) -> SortHits {
        self.choice
    }

    /// Changes the user's setting. If it differs from the current one, results of trials are dropped.
    pub fn choose(&mut self, choice: SortHits) {
        if choice != self.choice {
            *self = SortTuner {
                choice,
                sorts: choice == SortHits::On,
                gain: None,
                ..self.clone()
            };
            self.reset();
        }
    }

    /// Changes the compaction strategy, and allows a new trial. With `off`, hits are sorted only with [`SortHits::On`].
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.compacts = strategy != Strategy::Off;
        self.reset();
    }

    /// Allows a new trial, because the view or the strategy has changed. The last result is used until then.
    pub fn reset(&mut self) {
        self.trials = 0;
        self.state = TunerState::UNSTEADY;
    }

    /// Ends sorting, and also trials until [`SortTuner::reset`]. Call it when the buffers for sorting cannot be
    /// allocated.
    pub(crate) fn give_up(&mut self) {
        self.sorts = false;
        self.state = TunerState::Settled;
    }

    /// Begins a wave, and returns whether this wave sorts its hits.
    pub fn begin(&mut self) -> bool {
        let may_sort = self.may_sort();
        match &mut self.state {
            TunerState::Trying { begun, .. } if may_sort => {
                *begun += 1;
                // Two waves of each kind in turn, because two waves are in flight at a time, each with its own graph.
                (*begun - 1) % 4 < 2
            }
            _ => self.sorts(),
        }
    }

    /// Adds the measurement of a completed wave. Call it in the order in which waves began.
    pub fn learn(&mut self, wave: Timed) {
        if !self.is_automatic() {
            return;
        }
        match &mut self.state {
            TunerState::Steadying {
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
                self.state = if self.trials > MAX_TRIALS {
                    TunerState::Settled
                } else {
                    TunerState::Trying {
                        paths: wave.paths,
                        begun: 0,
                        times: [Vec::new(), Vec::new()],
                    }
                };
            }
            TunerState::Trying { paths, .. } if *paths != wave.paths => {
                self.state = TunerState::UNSTEADY
            }
            TunerState::Trying { times, .. } => {
                if wave.repeats {
                    times[usize::from(wave.sorts_hits)].push(wave.milliseconds);
                }
                if times.iter().all(|times| times.len() >= TIMED) {
                    let [plain, sorted] = times.each_mut().map(|times| median(times));
                    let gain = plain / sorted.max(1e-6);
                    self.sorts = gain > 1.0;
                    self.gain = Some(gain);
                    self.state = TunerState::Settled;
                }
            }
            TunerState::Settled => {}
        }
    }

    /// Returns whether waves sort their hits at present, or a trial is in progress, in which some do. If not, the
    /// buffers for sorting can be freed.
    pub(crate) fn may_sort(&self) -> bool {
        self.sorts() || self.is_automatic() && matches!(self.state, TunerState::Trying { .. })
    }

    /// Returns whether waves outside of trials sort their hits. With [`SortHits::Auto`] they do only after a trial has
    /// shown that sorting saves time.
    pub fn sorts(&self) -> bool {
        self.sorts && (self.is_automatic() || self.choice == SortHits::On)
    }

    /// Returns whether trials decide about sorting, instead of the user's setting or the strategy alone.
    fn is_automatic(&self) -> bool {
        self.choice == SortHits::Auto && self.has_kinds && self.compacts
    }

    /// Returns the speed of waves with sorted hits relative to waves without: above 1 if sorting saves time. `None`
    /// before a trial has ended.
    pub fn gain(&self) -> Option<f64> {
        self.gain
    }
}

/// Returns the median of at least one time; for an even number, the larger of the two in the middle.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
