//! The host memory of a headless render, estimated before it starts.

use glam::Vec3;

use crate::{
    accel::trees::primitive_count,
    adaptive::pixel_noise::PixelNoise,
    film::Film,
    inspect::aovs::Aovs,
    scene::{
        Scene,
        limits::{BUILDING_BYTES, INSTANCE_BYTES, RENDERING_BYTES},
    },
};

/// The parts of a headless render that need memory in proportion to the image, besides the film. Debug views are not
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Whether checkpoints are written.
    pub checkpoint: bool,
    /// Whether the render continues from a checkpoint.
    pub resumed: bool,
    /// Whether sampling is adaptive.
    pub adaptive: bool,
    /// Whether the film is denoised.
    pub denoised: bool,
    /// Whether there are AOVs of the surfaces: albedo, normal or depth.
    pub surface_aovs: bool,
    /// Whether the image has an alpha channel.
    pub alpha: bool,
    /// Whether statistics are drawn onto a PNG.
    pub overlay: bool,
}

/// Memory of a picture in linear light, in bytes per pixel.
const PICTURE: u64 = size_of::<Vec3>() as u64;
/// Memory of a copy of the statistics of adaptive sampling, in bytes per pixel: sample counts, sums at
/// the last test, error, variance and rounds.
const PIXEL_STATS: u64 = 4 + 3 * 8 + 3 * 4;
/// Memory of adaptive sampling in bytes per pixel: the statistics, the sample counts and the list of pixels.
const ADAPTIVE: u64 = PIXEL_STATS + 4 + 4;
/// Memory of a convergence test in bytes per pixel: film sums and noise, padded to a multiple of eight bytes, a flag,
/// and the list of pixels that need more samples.
const CONVERGENCE_TEST: u64 = size_of::<([u64; 3], PixelNoise)>() as u64 + 1 + 4;
/// Memory of the two copies of the film that denoising needs, in bytes per pixel.
const SNAPSHOTS: u64 = 2 * Film::BYTES_PER_PIXEL;
/// Memory of denoising in bytes per pixel: radiance and variance, and four tables of 64-bit integers before and after
/// they are summed.
const DENOISING: u64 = PICTURE + 4 + 2 * 4 * 8;
/// Memory of a PNG that is drawn as a whole, in bytes per pixel: picture, RGBA and RGB.
const OVERLAY: u64 = PICTURE + 4 + 3;

impl MemoryUse {
    /// Returns the peak memory in bytes per pixel: at least 36, the film and a picture from which its noise is
    /// estimated. The files are written in bands of a few rows.
    pub fn bytes_per_pixel(self) -> u64 {
        let when = |condition: bool, bytes: u64| if condition { bytes } else { 0 };
        let copy = when(self.adaptive, PIXEL_STATS);
        let preview = when(self.denoised, PICTURE);
        let always = Film::BYTES_PER_PIXEL
            + when(self.surface_aovs, Aovs::BYTES_PER_PIXEL)
            + when(self.alpha, Aovs::ALPHA_BYTES_PER_PIXEL);
        let renderer = when(self.adaptive, ADAPTIVE) + when(self.denoised, SNAPSHOTS);
        let noise = if self.adaptive {
            CONVERGENCE_TEST
        } else {
            PICTURE
        };
        let steps = [
            // Reading the checkpoint.
            when(self.resumed, Film::BYTES_PER_PIXEL + PICTURE + copy),
            // Estimating the noise.
            renderer + noise,
            // Writing a checkpoint.
            renderer + when(self.checkpoint, Film::BYTES_PER_PIXEL + copy),
            // Denoising.
            renderer + when(self.denoised, DENOISING + PICTURE),
            // Taking the film out of the renderer.
            renderer + preview + copy,
            // Writing the files.
            preview + copy + when(self.overlay, OVERLAY),
        ];
        always + steps.into_iter().max().unwrap_or(0)
    }

    /// Returns the peak memory in bytes of the render of a scene that is already in memory, on the CPU: trees, film and
    /// output. On one GPU, the film is in the GPU's memory, but a copy of it and of its statistics in host memory takes
    /// up to 64 bytes per pixel. Adaptive sampling on several GPUs needs about 180 bytes per pixel.
    pub fn bytes(self, scene: &Scene) -> u64 {
        let primitives = primitive_count(scene) as u64;
        let pixels = u64::from(scene.size.0) * u64::from(scene.size.1);
        let rendering = primitives * RENDERING_BYTES + pixels * self.bytes_per_pixel();
        rendering.max(primitives * BUILDING_BYTES) + scene.instances.len() as u64 * INSTANCE_BYTES
    }
}
