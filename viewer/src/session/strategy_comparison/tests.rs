//! Tests of the comparison of strategies with synthetic times.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::*;

/// Relative times of the methods that the tests compare; `off` is 1.
const TIMES: [(Method, f64); 4] = [
    (Method::Compact(Strategy::LookBack), 0.8),
    (Method::Compact(Strategy::Atomic), 0.99),
    (Method::Compact(Strategy::Off), 1.0),
    (Method::Megakernel, 1.3),
];

/// Measures the methods in turns, each round beginning one later. `slowness` returns the factor by which the machine
/// is slower in a turn of this number.
fn measured(rounds: usize, mut slowness: impl FnMut(usize) -> f64) -> Vec<(Method, Vec<Turn>)> {
    let mut all: Vec<(Method, Vec<Turn>)> = TIMES.map(|(method, _)| (method, Vec::new())).to_vec();
    let mut number = 0;
    for round in 0..rounds {
        for turn in 0..TIMES.len() {
            let place = (round + turn) % TIMES.len();
            let seconds = TIMES[place].1 * slowness(number);
            all[place].1.push(Turn {
                number,
                seconds,
                rays: 1e6,
                ..Turn::default()
            });
            number += 1;
        }
    }
    all
}

/// Returns the difference of a method that was compared with `off`.
fn difference_of(rows: &[StrategyComparison], strategy: &str) -> Difference {
    let row = rows.iter().find(|row| row.strategy == strategy);
    match row.expect("the method").comparison {
        Comparison::Difference(difference) => difference,
        ref other => panic!("{strategy}: {other:?}"),
    }
}

/// Checks that the comparison finds the faster and the slower method, and does not claim the opposite of the truth.
fn check(rows: &[StrategyComparison], case: &str) {
    let faster = difference_of(rows, "look-back");
    assert!(faster.low > 0.0, "{case}: {faster:?}");
    assert!((faster.by - 0.25).abs() < 0.05, "{case}: {faster:?}");
    let slower = difference_of(rows, "megakernel");
    assert!(slower.high < 0.0, "{case}: {slower:?}");
    let alike = difference_of(rows, "atomic");
    assert!(alike.high >= 0.0, "{case}: {alike:?}");
    let fastest: Vec<&str> = rows
        .iter()
        .filter(|row| row.is_fastest)
        .map(|row| row.strategy.as_str())
        .collect();
    assert_eq!(fastest, ["look-back"], "{case}");
}

#[test]
fn drift_of_the_machine_cancels() {
    // In the end, the machine is three times as slow.
    let drift = |turn: usize| 1.0 + 2.0 * turn as f64 / 64.0;
    let mut noise = Xoshiro256PlusPlus::seed_from_u64(1);
    let rows = compare(&measured(16, |turn| {
        drift(turn) * (1.0 + 0.02 * noise.random::<f64>())
    }));
    check(&rows, "drift");
}

#[test]
fn bursts_of_load_change_neither_order_nor_sign() {
    let mut unclear = 0;
    for seed in 0..200 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut is_busy, mut left) = (false, 0);
        let mut slowness = |_| {
            if left == 0 {
                is_busy = !is_busy;
                left = 2 + random.random_range(0..14);
            }
            left -= 1;
            let load = if is_busy { 1.9 } else { 1.0 };
            load * (1.0 + 0.04 * random.random::<f64>())
        };
        let rows = compare(&measured(16, &mut slowness));
        for (strategy, is_faster) in [("look-back", true), ("atomic", true), ("megakernel", false)]
        {
            let found = difference_of(&rows, strategy);
            let is_wrong = match is_faster {
                true => found.high < 0.0,
                false => found.low > 0.0,
            };
            assert!(!is_wrong, "seed {seed}, {strategy}: {found:?}");
        }
        let is_fastest = |strategy: &str| {
            let row = rows.iter().find(|row| row.strategy == strategy);
            row.expect("the method").is_fastest
        };
        assert!(is_fastest("look-back"), "seed {seed}");
        unclear += usize::from(is_fastest("megakernel"));
    }
    // The intervals are wide, but seldom wide enough to contain a difference of more than half.
    assert!(unclear <= 10, "{unclear} of 200");
}

#[test]
fn a_few_outliers_do_not_matter() {
    let rows = compare(&measured(16, |turn| match turn {
        9 | 30 => 25.0,
        turn => 1.0 + 0.01 * (turn % 3) as f64,
    }));
    check(&rows, "outliers");
}

#[test]
fn few_rounds_are_not_compared() {
    let rows = compare(&measured(4, |_| 1.0));
    assert_eq!(rows.len(), TIMES.len());
    for row in &rows {
        let expected = match row.strategy.as_str() {
            "off" => Comparison::Baseline,
            _ => Comparison::NotEnoughData,
        };
        assert_eq!(row.comparison, expected);
        assert!(!row.is_fastest);
        assert!(row.rays_per_second > 0.0);
    }
}

#[test]
fn savings_and_break_even_follow_from_the_times_of_stages() {
    let turn = |times: [[f64; 4]; 3]| Turn {
        number: 0,
        seconds: 1.0,
        rays: 1.0,
        lane_use: 0.5,
        bounces: (times.map(StageTimes))
            .map(|times| TurnBounce {
                times,
                lane_use: 0.5,
            })
            .to_vec(),
    };
    let measured = [
        (
            Method::Compact(Strategy::LookBack),
            vec![turn([
                [10.0, 1.0, 5.0, 1.0],
                [5.0, 1.0, 2.0, 1.0],
                [2.0, 4.0, 1.0, 1.0],
            ])],
        ),
        (
            Method::Compact(Strategy::Off),
            vec![turn([
                [12.0, 0.5, 6.0, 1.0],
                [9.0, 0.0, 2.0, 1.0],
                [4.0, 0.0, 1.0, 1.0],
            ])],
        ),
        (Method::Megakernel, vec![turn([[0.0; 4]; 3])]),
    ];
    let rows = compare(&measured);
    let saved: Vec<_> = rows[0]
        .bounces
        .iter()
        .map(|bounce| bounce.saved_us)
        .collect();
    assert_eq!(saved, [Some(3.0), Some(4.0), Some(2.0)]);
    assert_eq!(rows[0].total.times.median.of(Stage::Compact), 6.0);
    assert_eq!(rows[0].total.saved_us, Some(9.0));
    assert_eq!(rows[0].pays, Pays::Before(2));
    assert_eq!(rows[1].pays, Pays::Unknown);
    assert_eq!(rows[2].pays, Pays::Unknown);
    assert_eq!(rows[2].bounces[0].saved_us, None);
}
