//! Denoising of synthetic films: smooth, noisy, bright, black and arbitrary ones, of several sizes.

use raysieve::film::{SCALE, fixed_point};

use crate::{
    buffers::first_difference,
    common::{Random, load},
    machines::{Cpu, Machine, Setting},
    setting,
};

/// Image sizes: larger than the widest windows, and some without interior pixels.
const SIZES: [(u32, u32); 5] = [(70, 45), (1, 1), (3, 5), (1, 40), (33, 2)];

/// Samples per pixel of an earlier state of the film, and of the film itself.
const SAMPLES: [(u64, u64); 3] = [(4, 8), (1, 3), (6, 7)];

/// Asserts that denoising gives the same bits on the CPU and on another machine.
pub(crate) fn agree(machine: impl Fn(&Setting) -> Box<dyn Machine>) {
    let scene = load("scenes/cornell.ron");
    let mut random = Random::new(3);
    for size in SIZES {
        let setting = setting(&scene, size.0, size.1);
        let mut cpu = Cpu::new(&setting, 1);
        let mut other = machine(&setting);
        let pixels = u64::from(size.0 * size.1);
        for samples in SAMPLES {
            for film in [noisy, bright, wild] {
                let (earlier, sums) = film(&mut random, size, samples);
                // Some pixels have one sample more.
                let earlier = (&earlier[..], samples.0 * pixels + pixels / 3);
                let film = (&sums[..], samples.1 * pixels + pixels / 2);
                let ours = cpu.denoise(earlier, film);
                let theirs = other.denoise(earlier, film);
                let found = first_difference("channel", "preview", &ours, &theirs);
                assert!(found.is_none(), "denoise, {found:?}, {size:?}, {samples:?}");
                assert!(ours.iter().all(|channel| channel.is_finite()));
            }
        }
    }
}

/// Returns the sums of the film and of its earlier state, with each sample from a function of column, row and channel.
fn summed(
    (width, height): (u32, u32),
    (earlier, all): (u64, u64),
    mut sample: impl FnMut(u32, u32, u32) -> u64,
) -> (Vec<u64>, Vec<u64>) {
    let channels =
        (0..height).flat_map(|y| (0..width).flat_map(move |x| [0, 1, 2].map(|c| (x, y, c))));
    let sums = channels.map(|(x, y, channel)| {
        let first: u64 = (0..earlier).map(|_| sample(x, y, channel)).sum();
        let rest: u64 = (earlier..all).map(|_| sample(x, y, channel)).sum();
        (first, first + rest)
    });
    sums.unzip()
}

/// Returns a film with an edge between two surfaces, a gradient, noise except in a stripe, and isolated bright pixels.
fn noisy(random: &mut Random, size: (u32, u32), samples: (u64, u64)) -> (Vec<u64>, Vec<u64>) {
    summed(size, samples, |x, y, channel| {
        let surface = if x + y < 40 {
            0.2 + 0.1 * channel as f32
        } else {
            0.9 - 0.005 * y as f32
        };
        let chance = (random.word() >> 40) as f32 / (1 << 24) as f32;
        let light = match y {
            10..15 => surface,
            _ if random.word().is_multiple_of(300) => 40.0 * surface,
            _ => 2.0 * surface * chance,
        };
        fixed_point(light)
    })
}

/// Returns a film of samples up to the brightest that are accepted, with a black stripe.
fn bright(random: &mut Random, size: (u32, u32), samples: (u64, u64)) -> (Vec<u64>, Vec<u64>) {
    let brightest = SCALE as u64 * ((1 << 24) - 1);
    summed(size, samples, |x, _, _| match x {
        20..30 => 0,
        _ => brightest >> (random.word() % 30),
    })
}

/// Returns films of arbitrary bits, as a damaged file may contain.
fn wild(random: &mut Random, size: (u32, u32), _: (u64, u64)) -> (Vec<u64>, Vec<u64>) {
    let count = 3 * (size.0 * size.1) as usize;
    let mut words = || (0..count).map(|_| random.word()).collect();
    (words(), words())
}
