//! Pixels that are judged, on films that no render made: noisy and quiet ones, and any bits; and previews of such films.

use std::sync::Arc;

use compaction::cuda::download;
use raysieve::{
    confidence::TABLES,
    film::{Film, fixed_point},
    history::{History, Round},
    ledger::Ledger,
    stages::{Preview, Verdict, denoise, judge},
    wave::Wave,
};

use crate::{
    buffers::first,
    common::{Random, load},
    machines::{Cpu, Cuda, Host, Setting, list, list_mut, listed_channels, put, value},
    setting,
};

/// More than a block has, one pixel, and some that fill no warp.
const SIZES: [(u32, u32); 4] = [(70, 45), (1, 1), (3, 5), (1, 40)];

/// A round's number, and a pixel's samples before and after it: those of the first rounds, and two later ones.
const ROUNDS: [(u32, u32, u32); 5] = [
    (0, 0, 16),
    (1, 16, 32),
    (2, 32, 48),
    (8, 128, 160),
    (21, 1280, 1536),
];

/// What a round finds.
pub(crate) struct Case {
    /// The film's, after it.
    sums: Vec<u64>,
    /// Before it.
    ledger: Ledger,
    /// The pixels that had it.
    list: Vec<u32>,
    round: Round,
}

/// What it leaves.
#[derive(Debug, PartialEq)]
pub(crate) struct Judged {
    verdict: Verdict,
    ledger: Ledger,
    list: Vec<u32>,
}

/// What judges pixels, and smooths a picture by what they were judged by.
pub(crate) trait Judge {
    fn judge(&mut self, case: &Case) -> Judged;
    /// All channels of the preview of a film.
    fn denoise(&mut self, sums: &[u64], ledger: &Ledger) -> Vec<f32>;
}

impl Judge for Cpu {
    fn judge(&mut self, case: &Case) -> Judged {
        judged_by(&mut self.0, case)
    }

    fn denoise(&mut self, sums: &[u64], ledger: &Ledger) -> Vec<f32> {
        denoised_by(&mut self.0, sums, ledger)
    }
}

impl Judge for Cuda {
    fn judge(&mut self, case: &Case) -> Judged {
        judged_by(&mut self.0, case)
    }

    fn denoise(&mut self, sums: &[u64], ledger: &Ledger) -> Vec<f32> {
        denoised_by(&mut self.0, sums, ledger)
    }
}

/// With this film, of which that is known.
fn begin(wave: &mut Wave, sums: &[u64], listed: &[u32], ledger: &Ledger) {
    let camera = match wave {
        Wave::Cpu(wave) => wave.camera,
        Wave::Cuda(wave) => wave.camera,
    };
    let black = Arc::new(Film::new(camera.pixel_count()));
    wave.set_camera(camera, &black).unwrap();
    wave.begin_rounds(&listed.into(), Some(ledger)).unwrap();
    put(wave, sums);
}

fn judged_by(wave: &mut Wave, case: &Case) -> Judged {
    begin(wave, &case.sums, &case.list, &case.ledger);
    let verdict = judge(wave, &case.round, case.list.len() as u32).unwrap();
    let mut list = match wave {
        Wave::Cpu(wave) => wave.list.to_vec(),
        Wave::Cuda(wave) => download(&wave.stream, &wave.list).unwrap(),
    };
    list.truncate(verdict.left as usize);
    Judged {
        verdict,
        ledger: wave.ledger().unwrap().unwrap(),
        list,
    }
}

fn denoised_by(wave: &mut Wave, sums: &[u64], ledger: &Ledger) -> Vec<f32> {
    begin(wave, sums, &[0], ledger);
    let mut preview = Preview::default();
    assert!(denoise(wave, 0, &mut preview).unwrap());
    listed_channels(&preview.picture)
}

impl Judge for Host {
    fn judge(&mut self, case: &Case) -> Judged {
        let listed = case.list.len() as u32;
        let mut ledger = case.ledger.clone();
        let (mut flags, mut tally) = (vec![2_u8; case.list.len()], [0_u64; 3]);
        let mut arguments = [
            value(&case.round),
            value(&listed),
            list(&case.list),
            list(&case.sums),
            list_mut(&mut ledger.marks),
            list_mut(&mut ledger.histories),
            list_mut(&mut flags),
            list_mut(&mut tally),
        ];
        self.launch("judge", listed, &mut arguments);
        // Flagged pixels, in order: what the compaction of the list is specified by.
        let flagged = case.list.iter().zip(&flags).filter(|&(_, &flag)| flag == 1);
        let left: Vec<u32> = flagged.map(|(&pixel, _)| pixel).collect();
        let [done_error, left_error, to_go] = tally;
        Judged {
            verdict: Verdict {
                left: left.len() as u32,
                done_error,
                left_error,
                to_go,
            },
            ledger,
            list: left,
        }
    }

    fn denoise(&mut self, sums: &[u64], ledger: &Ledger) -> Vec<f32> {
        let pixel_count = ledger.taken.len() as u32;
        let mut lights = vec![f32::NAN; sums.len()];
        let mut items = vec![0_u64; (TABLES * pixel_count) as usize];
        let mut arguments = [
            value(&pixel_count),
            list(&ledger.taken),
            list(&ledger.histories),
            list(sums),
            list_mut(&mut lights),
            list_mut(&mut items),
        ];
        self.launch("denoise_judged_items", pixel_count, &mut arguments);
        self.smooth(&lights, &items)
    }
}

/// The CPU's verdicts, by another machine.
pub(crate) fn agree(machine: impl Fn(&Setting) -> Box<dyn Judge>) {
    let scene = load("scenes/cornell.ron");
    let mut random = Random(5);
    let (mut left, mut done) = (0, 0);
    for size in SIZES {
        let setting = setting(&scene, size.0, size.1);
        let (mut cpu, mut other) = (Cpu::new(&setting, 1), machine(&setting));
        for round in ROUNDS {
            for is_wild in [false, true] {
                let case = case(&mut random, size.0 * size.1, round, is_wild);
                let (ours, theirs) = (cpu.judge(&case), other.judge(&case));
                let (known, found) = (&ours.ledger.histories, &theirs.ledger.histories);
                let mut pixels = known.iter().zip(found).enumerate();
                let differs = pixels.find(|(_, (ours, theirs))| ours != theirs);
                assert_eq!(differs, None, "judge, {size:?}, round {round:?}");
                assert!(
                    ours == theirs,
                    "judge, {size:?}, round {round:?}: {:?} and {:?}, another list or other marks",
                    ours.verdict,
                    theirs.verdict
                );
                // Those that did not have the round stay as they are.
                let mut others = (0..size.0 * size.1).filter(|pixel| !case.list.contains(pixel));
                let stays =
                    |pixel: u32| known[pixel as usize] == case.ledger.histories[pixel as usize];
                assert!(others.all(stays), "judge, {size:?}, round {round:?}");
                left += ours.verdict.left;
                done += case.list.len() as u32 - ours.verdict.left;
            }
        }
    }
    assert!(
        left > 1000 && done > 1000,
        "{left} pixels left, {done} done"
    );
}

/// The CPU's previews, by another machine.
pub(crate) fn previews_agree(machine: impl Fn(&Setting) -> Box<dyn Judge>) {
    let scene = load("scenes/cornell.ron");
    let mut random = Random(7);
    for size in SIZES {
        let setting = setting(&scene, size.0, size.1);
        let (mut cpu, mut other) = (Cpu::new(&setting, 1), machine(&setting));
        for is_wild in [false, true] {
            let case = case(&mut random, size.0 * size.1, ROUNDS[3], is_wild);
            let ours = cpu.denoise(&case.sums, &case.ledger);
            let theirs = other.denoise(&case.sums, &case.ledger);
            let found = first("channel", "preview", &ours, &theirs);
            assert!(found.is_none(), "denoise, {found:?}, {size:?}");
            assert!(ours.iter().all(|channel| channel.is_finite()));
        }
    }
}

/// A round of about half of the pixels, of which some are good, some were good before, and some are far from it; or of all,
/// with any bits on the film and any noise known.
fn case(
    random: &mut Random,
    pixel_count: u32,
    (number, before, after): (u32, u32, u32),
    is_wild: bool,
) -> Case {
    let chance = |random: &mut Random| (random.word() >> 40) as f32 / (1 << 24) as f32;
    let is_listed = |random: &mut Random| is_wild || random.word().is_multiple_of(2);
    let mut ledger = Ledger::new(pixel_count);
    let mut sums = vec![0; 3 * pixel_count as usize];
    for pixel in 0..pixel_count as usize {
        // From no noise to as much as there is light.
        let noise = if is_wild { 1.0 } else { chance(random).powi(8) };
        for place in [0, 1, 2].map(|channel| 3 * pixel + channel) {
            let mut light = |samples: u32| {
                let light = 0.5 + noise * (chance(random) - 0.5);
                if is_wild {
                    random.word()
                } else {
                    fixed_point(light) * u64::from(samples)
                }
            };
            ledger.marks[place] = light(before);
            sums[place] = ledger.marks[place].wrapping_add(light(after - before));
        }
        ledger.taken[pixel] = if is_wild {
            random.word() as u32 >> 8
        } else {
            after
        };
        let variance = chance(random) * 0.01 * noise;
        ledger.histories[pixel] = History {
            variance: if is_wild {
                variance * libm::exp2f(200.0 * (chance(random) - 0.5))
            } else {
                variance
            },
            error: chance(random),
            good: (random.word() % 3) as u32,
        };
    }
    let mut list: Vec<u32> = (0..pixel_count).filter(|_| is_listed(random)).collect();
    // A list may be in any order, and has a pixel at the least.
    list.reverse();
    if list.is_empty() {
        list.push(0);
    }
    Case {
        sums,
        ledger,
        list,
        round: Round {
            noise: 0.1,
            dark: 0.03,
            number,
            before,
            after,
            limit: 4096,
        },
    }
}
