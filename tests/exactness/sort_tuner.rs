//! Tests of the measurement, during a render, of whether sorting hits by material pays.

use compaction::select::Strategy;
use raysieve::{
    render::renderer::{BackendChoice, Settings, SortHits},
    stages::wave::{SortTuner, Timed},
};

use crate::{
    assert_equal,
    common::{garden, on_cpu, render, sized, start},
    harness::Gpu,
};

/// A simulated render whose waves take known times in milliseconds, without and with sorting.
struct Render {
    tuner: SortTuner,
    paths: u32,
    milliseconds: [f64; 2],
}

impl Render {
    fn new(choice: SortHits, kinds: u32, milliseconds: [f64; 2]) -> Render {
        Render {
            tuner: SortTuner::new(choice, kinds, Strategy::default()),
            paths: 1000,
            milliseconds,
        }
    }

    /// Simulates `count` waves, two in flight at a time, and returns for each whether it sorts its hits.
    fn waves(&mut self, count: usize) -> Vec<bool> {
        let mut sorting = vec![self.tuner.begin()];
        for _ in 0..count {
            sorting.push(self.tuner.begin());
            let sorts_hits = sorting[sorting.len() - 2];
            // Every fifth wave is slowed down by a disturbance.
            let disturbed = if sorting.len().is_multiple_of(5) {
                3.0
            } else {
                1.0
            };
            self.tuner.learn(Timed {
                paths: self.paths,
                sorts_hits,
                repeats: true,
                milliseconds: disturbed * self.milliseconds[usize::from(sorts_hits)],
            });
        }
        sorting.truncate(count);
        sorting
    }
}

pub(crate) fn sort_tuning_keeps_the_faster_setting() {
    for (milliseconds, pays) in [
        ([32.0, 24.0], true),
        ([32.0, 33.0], false),
        ([0.4, 0.5], false),
    ] {
        let mut render = Render::new(SortHits::Auto, 3, milliseconds);
        let waves = render.waves(1000);
        let gain = render.tuner.gain().unwrap();
        assert!((gain - milliseconds[0] / milliseconds[1]).abs() < 1e-9);
        assert_eq!(render.tuner.sorts(), pays, "{milliseconds:?}");
        // The cost of the measurement is bounded, and it is not repeated.
        let slower = waves.iter().filter(|&&sorts_hits| sorts_hits != pays);
        let steady = (250.0 / milliseconds[0]).ceil() as usize;
        let max_count = 9 + if pays { steady + 2 } else { 0 };
        assert!(slower.count() <= max_count, "{milliseconds:?}");
        assert!(
            render
                .waves(1000)
                .iter()
                .all(|&sorts_hits| sorts_hits == pays)
        );
        // A change of the view starts a new measurement.
        render.tuner.reset();
        assert_eq!(render.tuner.begin(), pays);
        render.milliseconds.reverse();
        render.waves(1000);
        assert_eq!(render.tuner.sorts(), !pays, "{milliseconds:?}");
    }
}

pub(crate) fn sort_tuning_waits_until_waves_are_steady() {
    let mut render = Render::new(SortHits::Auto, 3, [32.0, 8.0]);
    for round in 0..100 {
        render.paths = 1000 + round;
        assert!(!render.waves(3).contains(&true), "{round}");
    }
    // Kernels are loaded on their first launch, so the times of such waves are ignored.
    let mut trial = SortTuner::new(SortHits::Auto, 2, Strategy::default());
    for _ in 0..1000 {
        let orders = trial.begin();
        trial.learn(Timed {
            paths: 1000,
            sorts_hits: orders,
            repeats: false,
            milliseconds: 32.0,
        });
    }
    assert_eq!(trial.gain(), None);
}

pub(crate) fn sort_tuning_gives_up_if_wave_sizes_keep_changing() {
    let mut render = Render::new(SortHits::Auto, 3, [32.0, 8.0]);
    let mut ordered = 0;
    for round in 0..100 {
        render.paths = 1000 + round;
        let waves = render.waves(12);
        ordered += waves.iter().filter(|&&orders| orders).count();
    }
    assert!((1..=12).contains(&ordered), "{ordered}");
    assert!(!render.tuner.sorts());
}

pub(crate) fn sort_tuning_measures_nothing_that_cannot_pay() {
    let mut off = Render::new(SortHits::Auto, 3, [32.0, 8.0]);
    off.tuner.set_strategy(Strategy::Off);
    for (mut render, orders) in [
        (off, false),
        (Render::new(SortHits::Auto, 1, [32.0, 8.0]), false),
        (Render::new(SortHits::Off, 3, [32.0, 8.0]), false),
        (Render::new(SortHits::On, 3, [8.0, 32.0]), true),
    ] {
        assert!(render.waves(1000).iter().all(|&each| each == orders));
        assert_eq!(render.tuner.gain(), None);
    }
}

/// Waves of one sample each are recorded as CUDA graphs, with and without sorting, and give the CPU's film.
pub(crate) fn a_render_with_sort_tuning_has_the_cpus_film(_: &Gpu) {
    let scene = sized(garden(), 24, 16, 20_000);
    let settings = Settings {
        backend: BackendChoice::Cuda(0),
        wave_size: Some(24 * 16),
        ..Settings::default()
    };
    let mut renderer = start(&scene, &settings);
    while renderer.stats().sort_hits_gain.is_none() {
        assert!(renderer.advance().unwrap(), "the render ends before");
    }
    // Renders some more waves with the chosen setting.
    renderer.advance().unwrap();
    let stats = renderer.finish().unwrap();
    let pays = stats.sort_hits_gain.unwrap() > 1.0;
    assert_eq!(stats.sort_hits, if pays { "on" } else { "off" });
    let (_, expected) = render(&sized(garden(), 24, 16, stats.spp), &on_cpu());
    assert_equal(&stats, &expected, "after a trial");
    assert_eq!(expected.sort_hits, "off");
    assert_eq!(expected.sort_hits_gain, None);
}
