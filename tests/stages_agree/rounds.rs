//! The convergence test on synthetic films, noisy, noise-free and arbitrary ones, and their denoising.

use std::sync::Arc;

use compaction::cuda::download;
use raysieve::{
    adaptive::{
        adaptive_window::TABLES,
        pixel_noise::{ConvergenceTest, PixelNoise},
        pixel_stats::PixelStats,
        schedule::RoundResult,
    },
    film::{Film, fixed_point},
    path::TILE,
    stages::wave::Wave,
    stages::{Preview, denoise, test_convergence},
};

use crate::{
    buffers::first_difference,
    common::{Random, load},
    machines::{Cpu, Cuda, Host, Setting, list, list_mut, listed_channels, put, value},
    setting,
};

/// Image sizes: more pixels than a block has threads, one pixel, and some that do not fill a warp.
const SIZES: [(u32, u32); 4] = [(70, 45), (1, 1), (3, 5), (1, 40)];

/// Numbers of rounds, each with the samples per pixel before and after it: the first rounds, and two later ones.
const ROUNDS: [(u32, u32, u32); 5] = [
    (0, 0, 16),
    (1, 16, 32),
    (2, 32, 48),
    (8, 128, 160),
    (21, 1280, 1536),
];

/// The input of the convergence test.
pub(crate) struct Case {
    /// The film's sums after the round.
    sums: Vec<u64>,
    /// Per-pixel statistics before the test.
    pixel_stats: PixelStats,
    /// The pixels that were sampled in the round.
    list: Vec<u32>,
    round: ConvergenceTest,
}

/// The result of the convergence test.
#[derive(Debug, PartialEq)]
pub(crate) struct TestResult {
    round_result: RoundResult,
    pixel_stats: PixelStats,
    list: Vec<u32>,
}

/// A machine that runs the convergence test, and denoises by the statistics of adaptive sampling.
pub(crate) trait ConvergenceTester {
    /// Runs the convergence test.
    fn test_convergence(&mut self, case: &Case) -> TestResult;
    /// Returns all channels of the denoised image of a film.
    fn denoise(&mut self, sums: &[u64], pixel_stats: &PixelStats) -> Vec<f32>;
}

impl ConvergenceTester for Cpu {
    fn test_convergence(&mut self, case: &Case) -> TestResult {
        run_test(&mut self.0, case)
    }

    fn denoise(&mut self, sums: &[u64], pixel_stats: &PixelStats) -> Vec<f32> {
        run_denoise(&mut self.0, sums, pixel_stats)
    }
}

impl ConvergenceTester for Cuda {
    fn test_convergence(&mut self, case: &Case) -> TestResult {
        run_test(&mut self.0, case)
    }

    fn denoise(&mut self, sums: &[u64], pixel_stats: &PixelStats) -> Vec<f32> {
        run_denoise(&mut self.0, sums, pixel_stats)
    }
}

/// Prepares a wave with this film, list of pixels and statistics.
fn begin(wave: &mut Wave, sums: &[u64], listed: &[u32], pixel_stats: &PixelStats) {
    let camera = match wave {
        Wave::Cpu(wave) => wave.camera,
        Wave::Cuda(wave) => wave.camera.host,
    };
    let black = Arc::new(Film::new(camera.pixel_count()).unwrap());
    wave.set_camera(camera, &black).unwrap();
    wave.begin_adaptive(&listed.into(), Some(pixel_stats))
        .unwrap();
    put(wave, sums);
}

/// Runs the convergence test on a wave.
fn run_test(wave: &mut Wave, case: &Case) -> TestResult {
    begin(wave, &case.sums, &case.list, &case.pixel_stats);
    let round_result = test_convergence(wave, &case.round).unwrap();
    let mut list = match wave {
        Wave::Cpu(wave) => wave.list.to_vec(),
        Wave::Cuda(wave) => download(&wave.stream, &wave.paths.list).unwrap(),
    };
    list.truncate(round_result.left as usize);
    TestResult {
        round_result,
        pixel_stats: wave.pixel_stats().unwrap().unwrap(),
        list,
    }
}

/// Denoises the film of a wave by these statistics.
fn run_denoise(wave: &mut Wave, sums: &[u64], pixel_stats: &PixelStats) -> Vec<f32> {
    begin(wave, sums, &[0], pixel_stats);
    let mut preview = Preview::default();
    assert!(denoise(wave, 0, &mut preview).unwrap());
    listed_channels(&preview.picture)
}

impl ConvergenceTester for Host {
    fn test_convergence(&mut self, case: &Case) -> TestResult {
        let listed = case.list.len() as u32;
        let mut pixel_stats = case.pixel_stats.clone();
        let (mut flags, mut tally) = (vec![2_u8; case.list.len()], [0_u64; 3]);
        let mut arguments = [
            value(&case.round),
            value(&listed),
            list(&case.list),
            list(&case.sums),
            list_mut(&mut pixel_stats.sums_at_test),
            list_mut(&mut pixel_stats.pixel_noise),
        ];
        self.launch("estimate_noise", listed, &mut arguments);
        let mut arguments = [
            value(&case.round),
            value(&listed),
            list(&case.list),
            list_mut(&mut pixel_stats.pixel_noise),
            list_mut(&mut flags),
            list_mut(&mut tally),
        ];
        self.launch("test_convergence", listed, &mut arguments);
        // Flagged pixels, in order: the definition of the list's compaction.
        let flagged = case.list.iter().zip(&flags).filter(|&(_, &flag)| flag == 1);
        let left: Vec<u32> = flagged.map(|(&pixel, _)| pixel).collect();
        let [done_error, left_error, to_go] = tally;
        TestResult {
            round_result: RoundResult {
                left: left.len() as u32,
                done_error,
                left_error,
                to_go,
            },
            pixel_stats,
            list: left,
        }
    }

    fn denoise(&mut self, sums: &[u64], pixel_stats: &PixelStats) -> Vec<f32> {
        let pixel_count = pixel_stats.sample_counts.len() as u32;
        let mut lights = vec![f32::NAN; sums.len()];
        let mut items = vec![0_u64; (TABLES * pixel_count) as usize];
        let mut arguments = [
            value(&pixel_count),
            list(&pixel_stats.sample_counts),
            list(&pixel_stats.pixel_noise),
            list(sums),
            list_mut(&mut lights),
            list_mut(&mut items),
        ];
        self.launch("denoise_adaptive_items", pixel_count, &mut arguments);
        self.smooth(&lights, &items)
    }
}

/// Asserts that the convergence test gives the same results on the CPU and on another machine.
pub(crate) fn agree(machine: impl Fn(&Setting) -> Box<dyn ConvergenceTester>) {
    let scene = load("scenes/cornell.ron");
    let mut random = Random::new(5);
    let (mut left, mut done) = (0, 0);
    for size in SIZES {
        let setting = setting(&scene, size.0, size.1);
        let (mut cpu, mut other) = (Cpu::new(&setting, 1), machine(&setting));
        for round in ROUNDS {
            for is_wild in [false, true] {
                let case = case(&mut random, size, round, is_wild);
                let (ours, theirs) = (cpu.test_convergence(&case), other.test_convergence(&case));
                let (known, found) = (
                    &ours.pixel_stats.pixel_noise,
                    &theirs.pixel_stats.pixel_noise,
                );
                let mut pixels = known.iter().zip(found).enumerate();
                let differs = pixels.find(|(_, (ours, theirs))| ours != theirs);
                assert_eq!(differs, None, "test_convergence, {size:?}, round {round:?}");
                assert!(
                    ours == theirs,
                    "test_convergence, {size:?}, round {round:?}: {:?} and {:?}; the lists or the statistics differ",
                    ours.round_result,
                    theirs.round_result
                );
                // Pixels outside of the round keep their statistics.
                let mut others = (0..size.0 * size.1).filter(|pixel| !case.list.contains(pixel));
                let stays = |pixel: u32| {
                    known[pixel as usize] == case.pixel_stats.pixel_noise[pixel as usize]
                };
                assert!(
                    others.all(stays),
                    "test_convergence, {size:?}, round {round:?}"
                );
                left += ours.round_result.left;
                done += case.list.len() as u32 - ours.round_result.left;
            }
        }
    }
    assert!(
        left > 1000 && done > 1000,
        "{left} pixels left, {done} done"
    );
}

/// Asserts that denoising by adaptive statistics gives the same bits on the CPU and on another machine.
pub(crate) fn previews_agree(machine: impl Fn(&Setting) -> Box<dyn ConvergenceTester>) {
    let scene = load("scenes/cornell.ron");
    let mut random = Random::new(7);
    for size in SIZES {
        let setting = setting(&scene, size.0, size.1);
        let (mut cpu, mut other) = (Cpu::new(&setting, 1), machine(&setting));
        for is_wild in [false, true] {
            let case = case(&mut random, size, ROUNDS[3], is_wild);
            let ours = cpu.denoise(&case.sums, &case.pixel_stats);
            let theirs = other.denoise(&case.sums, &case.pixel_stats);
            let found = first_difference("channel", "preview", &ours, &theirs);
            assert!(found.is_none(), "denoise, {found:?}, {size:?}");
            assert!(ours.iter().all(|channel| channel.is_finite()));
        }
    }
}

/// Returns a round over about half of the pixels, of which some have converged, now or before, and some are far from
/// it.
///
/// If `is_wild`, the round covers all pixels, and sums and statistics are arbitrary.
fn case(
    random: &mut Random,
    (width, height): (u32, u32),
    (number, before, after): (u32, u32, u32),
    is_wild: bool,
) -> Case {
    let pixel_count = width * height;
    let chance = |random: &mut Random| (random.word() >> 40) as f32 / (1 << 24) as f32;
    let is_listed = |random: &mut Random| is_wild || random.word().is_multiple_of(2);
    let mut pixel_stats = PixelStats::new(pixel_count);
    let mut sums = vec![0; 3 * pixel_count as usize];
    for pixel in 0..pixel_count as usize {
        // Noise from 0 to the level of the signal, little in every other tile.
        let is_calm = (pixel as u32 / width / TILE + pixel as u32 % width / TILE).is_multiple_of(2);
        let noise = match (is_wild, is_calm) {
            (true, _) => 1.0,
            (false, true) => 0.01 * chance(random),
            (false, false) => chance(random).powi(8),
        };
        for place in [0, 1, 2].map(|channel| 3 * pixel + channel) {
            let mut light = |samples: u32| {
                let light = 0.5 + noise * (chance(random) - 0.5);
                if is_wild {
                    random.word()
                } else {
                    fixed_point(light) * u64::from(samples)
                }
            };
            pixel_stats.sums_at_test[place] = light(before);
            sums[place] = pixel_stats.sums_at_test[place].wrapping_add(light(after - before));
        }
        pixel_stats.sample_counts[pixel] = if is_wild {
            random.word() as u32 >> 8
        } else {
            after
        };
        let variance = chance(random) * 0.01 * noise;
        pixel_stats.pixel_noise[pixel] = PixelNoise {
            variance: if is_wild {
                variance * libm::exp2f(200.0 * (chance(random) - 0.5))
            } else {
                variance
            },
            error: if is_wild { chance(random) } else { 0.2 * noise },
            converged_rounds: (random.word() % 3) as u32,
        };
    }
    let mut list: Vec<u32> = (0..pixel_count).filter(|_| is_listed(random)).collect();
    // A list may be in any order, and has at least one pixel.
    list.reverse();
    if list.is_empty() {
        list.push(0);
    }
    Case {
        sums,
        pixel_stats,
        list,
        round: ConvergenceTest {
            noise: 0.1,
            brightness_offset: 0.03,
            number,
            before,
            after,
            limit: 4096,
            width,
            height,
        },
    }
}
