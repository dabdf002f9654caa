//! Whether to order hits by material is found out while a scene is rendered.

use compaction::select::Strategy;
use raysieve::{
    renderer::{BackendChoice, Partition, Settings},
    wave::{Timed, Trial},
};

use crate::{
    assert_equal,
    common::{garden, on_cpu, render, sized, start},
    harness::Gpu,
};

/// A render of which every wave is known beforehand: by how many milliseconds they take, as they come and ordered.
struct Render {
    trial: Trial,
    paths: u32,
    milliseconds: [f64; 2],
}

impl Render {
    fn new(choice: Partition, kinds: u32, milliseconds: [f64; 2]) -> Render {
        Render {
            trial: Trial::new(choice, kinds, Strategy::default()),
            paths: 1000,
            milliseconds,
        }
    }

    /// Whether each of the next waves orders its hits. Two are under way at a time.
    fn waves(&mut self, count: usize) -> Vec<bool> {
        let mut begun = vec![self.trial.begin()];
        for _ in 0..count {
            begun.push(self.trial.begin());
            let orders = begun[begun.len() - 2];
            // A wave every so often is disturbed.
            let disturbed = if begun.len().is_multiple_of(5) {
                3.0
            } else {
                1.0
            };
            self.trial.learn(Timed {
                paths: self.paths,
                orders,
                repeats: true,
                milliseconds: disturbed * self.milliseconds[usize::from(orders)],
            });
        }
        begun.truncate(count);
        begun
    }
}

pub(crate) fn keeps_what_is_faster() {
    for (milliseconds, pays) in [
        ([32.0, 24.0], true),
        ([32.0, 33.0], false),
        ([0.4, 0.5], false),
    ] {
        let mut render = Render::new(Partition::Auto, 3, milliseconds);
        let waves = render.waves(1000);
        let gain = render.trial.gain().unwrap();
        assert!((gain - milliseconds[0] / milliseconds[1]).abs() < 1e-9);
        assert_eq!(render.trial.orders(), pays, "{milliseconds:?}");
        // The cost of finding out is bounded, and nothing is tried again.
        let slower = waves.iter().filter(|&&orders| orders != pays);
        let steady = (250.0 / milliseconds[0]).ceil() as usize;
        let most = 9 + if pays { steady + 2 } else { 0 };
        assert!(slower.count() <= most, "{milliseconds:?}");
        assert!(render.waves(1000).iter().all(|&orders| orders == pays));
        // Until the view changes.
        render.trial.look_anew();
        assert_eq!(render.trial.begin(), pays);
        render.milliseconds.reverse();
        render.waves(1000);
        assert_eq!(render.trial.orders(), !pays, "{milliseconds:?}");
    }
}

pub(crate) fn waits_until_waves_are_steady() {
    let mut render = Render::new(Partition::Auto, 3, [32.0, 8.0]);
    for round in 0..100 {
        render.paths = 1000 + round;
        assert!(!render.waves(3).contains(&true), "{round}");
    }
    // Kernels load when they are first launched: such waves say nothing.
    let mut trial = Trial::new(Partition::Auto, 2, Strategy::default());
    for _ in 0..1000 {
        let orders = trial.begin();
        trial.learn(Timed {
            paths: 1000,
            orders,
            repeats: false,
            milliseconds: 32.0,
        });
    }
    assert_eq!(trial.gain(), None);
}

pub(crate) fn gives_up_where_sizes_change() {
    let mut render = Render::new(Partition::Auto, 3, [32.0, 8.0]);
    let mut ordered = 0;
    for round in 0..100 {
        render.paths = 1000 + round;
        let waves = render.waves(12);
        ordered += waves.iter().filter(|&&orders| orders).count();
    }
    assert!((1..=12).contains(&ordered), "{ordered}");
    assert!(!render.trial.orders());
}

pub(crate) fn tries_nothing_that_cannot_pay() {
    let mut off = Render::new(Partition::Auto, 3, [32.0, 8.0]);
    off.trial.set_strategy(Strategy::Off);
    for (mut render, orders) in [
        (off, false),
        (Render::new(Partition::Auto, 1, [32.0, 8.0]), false),
        (Render::new(Partition::Off, 3, [32.0, 8.0]), false),
        (Render::new(Partition::On, 3, [8.0, 32.0]), true),
    ] {
        assert!(render.waves(1000).iter().all(|&each| each == orders));
        assert_eq!(render.trial.gain(), None);
    }
}

/// By waves of one sample each, which become graphs, of both kinds.
pub(crate) fn has_the_cpus_film(_: &Gpu) {
    let scene = sized(garden(), 24, 16, 20_000);
    let settings = Settings {
        backend: BackendChoice::Cuda(0),
        wave_size: Some(24 * 16),
        ..Settings::default()
    };
    let mut renderer = start(&scene, &settings);
    while renderer.stats().partition_gain.is_none() {
        assert!(renderer.advance().unwrap(), "the render ends before");
    }
    // Some more, in the way that was found.
    renderer.advance().unwrap();
    let stats = renderer.finish().unwrap();
    let pays = stats.partition_gain.unwrap() > 1.0;
    assert_eq!(stats.partition, if pays { "on" } else { "off" });
    let (_, expected) = render(&sized(garden(), 24, 16, stats.spp), &on_cpu());
    assert_equal(&stats, &expected, "after a trial");
    assert_eq!(expected.partition, "off");
    assert_eq!(expected.partition_gain, None);
}
