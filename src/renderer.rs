//! A render in progress: the scene on its backend, the film, and how far it has come.

use crate::{picture::Picture, scene::{Camera, Scene}, stats::Stats};

/// Where a scene is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first usable GPU, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
}

/// A scene that is being rendered.
pub struct Renderer {}

impl Renderer {
    /// Puts the scene on the backend. `Err` when it has no such backend or too little memory.
    pub fn new(scene: &Scene, backend: BackendChoice, strategy: compaction::Strategy) -> Result<Renderer, crate::Error>;
    /// Which backend, and why that one: "cuda:0, NVIDIA H200" or "cpu, 16 threads: no NVIDIA driver (libcuda) found".
    pub fn backend_line(&self) -> String;
    /// Renders the next wave or batch of waves, some 10 to 100 ms of work; `false` when all samples are done.
    pub fn advance(&mut self) -> Result<bool, crate::Error>;
    /// Part of the samples that is done, 0..=1.
    pub fn progress(&self) -> f64;
    /// Begins again from sample 0, with the film black.
    pub fn restart(&mut self) -> Result<(), crate::Error>;
    /// Looks from elsewhere; begins again.
    pub fn set_camera(&mut self, camera: Camera) -> Result<(), crate::Error>;
    /// Renders in another size (the window was resized); begins again.
    pub fn set_size(&mut self, width: u32, height: u32) -> Result<(), crate::Error>;
    /// Goes on with another implementation of the sieve; the film stays, since the bits do not change.
    pub fn set_strategy(&mut self, strategy: compaction::Strategy) -> Result<(), crate::Error>;
    /// The film as a picture: the mean of the samples so far.
    pub fn picture(&mut self) -> Result<Picture, crate::Error>;
    /// Counts and times so far. `film_hash` is empty: see `film_hash`.
    pub fn stats(&self) -> Stats;
    /// Hash of the film's integers.
    pub fn film_hash(&mut self) -> Result<String, crate::Error>;
}
