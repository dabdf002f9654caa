//! Comparison of renders with those of another renderer: the means of pixel blocks must agree within the noise of both.

use raysieve::scene::Scene;

use super::{on_cpu, render, sized};

/// Side of a block in pixels.
pub(crate) const BLOCK: usize = 8;
/// Number of renders of a scene, each with its own seed. Their spread gives the standard error of their mean.
pub(crate) const BATCHES: u32 = 16;

/// Mean radiance of each block and channel, and the variance of that mean.
pub(crate) struct Blocks {
    pub(crate) mean: Vec<f64>,
    pub(crate) variance: Vec<f64>,
}

/// The difference of two images.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Fraction of the blocks that differ by less than four standard errors.
    within_four: f64,
    /// Root mean square of the blocks' differences in standard errors; about 1 if both renderers agree.
    rms: f64,
    /// Difference of the images' means per channel, in standard errors.
    mean_z: [f64; 3],
    /// Difference of the images' means per channel, relative to the reference's mean.
    mean_ratio: [f64; 3],
    /// Largest relative difference of a block in which neither image has noise.
    noiseless: f64,
}

impl Comparison {
    /// Returns `Err` with the reason if the images cannot be of the same scene.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut problems = Vec::new();
        let mut expect = |holds: bool, problem: &str| {
            if !holds {
                problems.push(problem.to_owned());
            }
        };
        expect(
            self.within_four >= 0.995,
            "more than 0.5 % of the blocks are 4 standard errors off",
        );
        // Estimating the spread from 16 batches makes it sqrt(15 / 13) = 1.07 if all noise is ours.
        expect(self.rms < 1.15, "the blocks differ by more than noise");
        expect(
            self.mean_z.iter().all(|z| z.abs() < 4.0),
            "the means differ by more than noise",
        );
        expect(
            self.mean_ratio.iter().all(|ratio| ratio.abs() < 0.01),
            "the means differ by more than 1 %",
        );
        expect(self.noiseless < 1e-4, "blocks without noise differ");
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("; "))
        }
    }
}

/// Compares the means of blocks with those of a reference.
pub(crate) fn compare(ours: &Blocks, reference: &Blocks) -> Comparison {
    let (mut noisy, mut within, mut squares, mut noiseless) = (0, 0, 0.0, 0.0_f64);
    let (mut difference, mut variance, mut light) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    for block in 0..reference.mean.len() {
        let offset = ours.mean[block] - reference.mean[block];
        let spread = ours.variance[block] + reference.variance[block];
        difference[block % 3] += offset;
        variance[block % 3] += spread;
        light[block % 3] += reference.mean[block];
        if spread > 0.0 {
            let z = offset / spread.sqrt();
            noisy += 1;
            within += u32::from(z.abs() < 4.0);
            squares += z * z;
        } else {
            noiseless = noiseless.max(offset.abs() / reference.mean[block].max(1e-3));
        }
    }
    let total = f64::from(noisy).max(1.0);
    let channels = [0, 1, 2];
    Comparison {
        within_four: if noisy == 0 {
            1.0
        } else {
            f64::from(within) / total
        },
        rms: (squares / total).sqrt(),
        mean_z: channels.map(|c: usize| difference[c] / variance[c].sqrt().max(f64::MIN_POSITIVE)),
        mean_ratio: channels.map(|c: usize| difference[c] / light[c]),
        noiseless,
    }
}

/// Renders a scene with [`BATCHES`] seeds and returns the mean and the variance of the mean.
pub(crate) fn estimate(scene: &Scene, spp: u32) -> Blocks {
    let (width, height) = scene.size;
    let scene = sized(scene.clone(), width, height, spp);
    let batches: Vec<Vec<f64>> = (0..BATCHES)
        .map(|seed| {
            let (picture, _) = render(
                &Scene {
                    seed,
                    ..scene.clone()
                },
                &on_cpu(),
            );
            block_means(
                width as usize,
                height as usize,
                picture.pixels.iter().map(|pixel| pixel.to_array()),
            )
        })
        .collect();
    let count = f64::from(BATCHES);
    let of_block = |statistic: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        let batch =
            |block: usize| -> Vec<f64> { batches.iter().map(|batch| batch[block]).collect() };
        (0..batches[0].len())
            .map(|block| statistic(&batch(block)))
            .collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let variance = |values: &[f64]| {
        let mean = mean(values);
        values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / (count - 1.0)
            / count
    };
    Blocks {
        mean: of_block(&mean),
        variance: of_block(&variance),
    }
}

/// Returns the mean of each block and channel of an image.
fn block_means(width: usize, height: usize, pixels: impl Iterator<Item = [f32; 3]>) -> Vec<f64> {
    let blocks = width / BLOCK;
    let mut means = vec![0.0; 3 * blocks * (height / BLOCK)];
    for (index, pixel) in pixels.enumerate() {
        let (x, y) = (index % width, index / width);
        for (channel, value) in pixel.into_iter().enumerate() {
            means[3 * (y / BLOCK * blocks + x / BLOCK) + channel] +=
                f64::from(value) / (BLOCK * BLOCK) as f64;
        }
    }
    means
}
