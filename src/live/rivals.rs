//! The strategies of the sieve against each other, on one view: which is faster, by how much, and whether that can be said.

use std::collections::VecDeque;

use serde::Serialize;

/// A strategy of the sieve that rendered this view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Rival {
    pub(crate) strategy: String,
    /// Median of rays a second; 0 if none is known.
    pub(crate) rays_per_second: f64,
    /// How it compares with the one that renders now, which is the first.
    pub(crate) against: Against,
}

/// What can be said of a strategy against the one that renders now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Against {
    /// It is that one.
    Itself,
    /// Of one or the other too little was rendered.
    NotEnough,
    /// They differ by no more than each from lap to lap.
    Alike,
    /// It is faster, by this part of the other's rays a second.
    Faster(f64),
    /// It is slower.
    Slower(f64),
}

/// With the one that renders now.
const SHOWN: usize = 4;

/// Laps of a strategy before anything is said of it, and that are kept.
const FEWEST: usize = 8;
const MOST: usize = 100;

/// What is known of the strategies, on one view; the one that rendered last comes first.
#[derive(Default)]
pub(super) struct Rivals(Vec<(String, VecDeque<f64>)>);

impl Rivals {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A lap's rays a second.
    pub(super) fn add(&mut self, strategy: &str, rays_per_second: f64) {
        let place = self.0.iter().position(|(name, _)| name == strategy);
        let (name, mut laps) = match place {
            Some(place) => self.0.remove(place),
            None => (strategy.to_owned(), VecDeque::new()),
        };
        if laps.len() == MOST {
            laps.pop_front();
        }
        laps.push_back(rays_per_second);
        self.0.insert(0, (name, laps));
    }

    /// The strategy that renders now, and those before it.
    pub(super) fn standing(&self, now: &str) -> Vec<Rival> {
        let laps = |name: &str| self.0.iter().find(|(known, _)| known == name);
        let own = laps(now).map(|(_, laps)| Spread::of(laps));
        let first = Rival {
            strategy: now.to_owned(),
            rays_per_second: own.as_ref().map_or(0.0, |own| own.median),
            against: Against::Itself,
        };
        let others = self
            .0
            .iter()
            .filter(|(name, _)| name != now)
            .map(|(name, laps)| {
                let other = Spread::of(laps);
                Rival {
                    strategy: name.clone(),
                    rays_per_second: other.median,
                    against: own
                        .as_ref()
                        .map_or(Against::NotEnough, |own| other.against(own)),
                }
            });
        [first].into_iter().chain(others).take(SHOWN).collect()
    }
}

struct Spread {
    laps: usize,
    median: f64,
    /// Half of the notch around the median, 1.57 interquartile ranges over the root of the number: medians differ, at
    /// some 95 %, whose notches do not overlap (McGill, Tukey & Larsen 1978).
    notch: f64,
}

impl Spread {
    fn of(laps: &VecDeque<f64>) -> Self {
        let mut sorted: Vec<f64> = laps.iter().copied().collect();
        let mut at = |part| quantile(&mut sorted, part);
        let (low, median, high) = (at(0.25), at(0.5), at(0.75));
        Self {
            laps: laps.len(),
            median,
            notch: 1.57 * (high - low) / (laps.len() as f64).sqrt(),
        }
    }

    fn against(&self, other: &Self) -> Against {
        if self.laps.min(other.laps) < FEWEST {
            return Against::NotEnough;
        }
        let by = self.median / other.median - 1.0;
        if (self.median - other.median).abs() <= self.notch + other.notch || !by.is_finite() {
            Against::Alike
        } else if by > 0.0 {
            Against::Faster(by)
        } else {
            Against::Slower(-by)
        }
    }
}

/// Of the values, which get sorted: 0.5 for the median; 0 of none.
pub(super) fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = part * values.len().saturating_sub(1) as f64;
    let at = |place: f64| values.get(place as usize).copied().unwrap_or(0.0);
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}
