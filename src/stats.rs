//! What a render counted and how long it took; no drawing.

use serde::Serialize;

/// The figures of a render, as `--stats` writes them and the overlay shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// The scene's file, as it was given.
    pub scene: String,
    /// `cpu` or `cuda`.
    pub backend: &'static str,
    /// The processor's or the graphics card's name.
    pub device: String,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Samples that every pixel has.
    pub spp: u32,
    /// The seed of every random number.
    pub seed: u32,
    /// The strategy of the sieve.
    pub compaction: String,
    /// Time spent rendering, without loading and without pauses.
    pub seconds: f64,
    /// Camera paths traced: samples over all pixels.
    pub paths: u64,
    /// Rays traced, shadow rays among them.
    pub rays: u64,
    /// `paths / seconds`.
    pub paths_per_second: f64,
    /// `rays / seconds`.
    pub rays_per_second: f64,
    /// Samples that were not finite, or too bright for the film, and therefore not added.
    pub rejected_samples: u64,
    /// Hash of the film's integers, in hexadecimal digits: two renders are equal if it is equal.
    pub film_hash: String,
    /// One row per bounce, the camera's rays first.
    pub bounces: Vec<BounceStats>,
}

/// One bounce, summed over all paths.
///
/// `rays = hits + misses`, `hits = ended + survivors`, and the next bounce's `rays` are this one's `survivors`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BounceStats {
    /// 0 for the camera's rays.
    pub bounce: u32,
    /// Rays that went into the bounce.
    pub rays: u64,
    /// Rays that hit a surface.
    pub hits: u64,
    /// Rays that left the scene.
    pub misses: u64,
    /// Paths that ended at their hit: absorbed, out of bounces, or by roulette.
    pub ended: u64,
    /// Paths that go on to the next bounce.
    pub survivors: u64,
    /// Rays sent towards a light.
    pub shadow_rays: u64,
    /// Time of the stages, milliseconds; `compact_ms` is both sieves.
    pub intersect_ms: f64,
    /// See `intersect_ms`.
    pub shade_ms: f64,
    /// See `intersect_ms`.
    pub shadow_ms: f64,
    /// See `intersect_ms`.
    pub compact_ms: f64,
}
