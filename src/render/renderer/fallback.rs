//! Continues a render on the CPU after all its GPUs have failed.

use std::sync::Arc;

use super::Renderer;
use crate::{
    Error,
    accel::trees::SceneBvhs,
    backend::{BackendChoice, Settings},
    scene::Scene,
};

impl Renderer {
    /// Returns whether the settings left the choice of the backend to [`BackendChoice::Auto`]. The CPU may then continue
    /// a render whose GPUs have failed.
    pub fn has_automatic_backend(&self) -> bool {
        self.settings.backend == BackendChoice::Auto
    }

    /// Returns a renderer on the CPU that continues this render, whose GPUs have all failed with `error`: see
    /// [`Renderer::all_gpus_failed`]. It begins with the last copy of the film in host memory, and its film gets the
    /// same bits as without the failure. A region begins again, because its film is not copied.
    ///
    /// `scene` is the scene of this renderer, whose camera and size are ignored. Its BVHs are built again unless a
    /// caller holds them. [`Renderer::take_notes`] then says what has happened.
    ///
    /// # Errors
    /// `scene` is not that of this render, or the host has too little memory.
    pub fn continue_on_cpu(&mut self, error: &Error, scene: &Scene) -> Result<Renderer, Error> {
        let scene = Scene {
            camera: self.view,
            size: self.size,
            ..scene.clone()
        };
        let trees = match self.trees() {
            Some(trees) => trees,
            None => Arc::new(SceneBvhs::of(&scene)?),
        };
        let settings = Settings {
            backend: BackendChoice::Cpu,
            strategy: self
                .stats
                .compaction
                .parse()
                .unwrap_or(self.settings.strategy),
            // It is the size for a thread on the CPU, and was that for a whole GPU.
            wave_size: None,
            ..self.settings.clone()
        };
        let mut renderer = Renderer::with_trees(trees, &scene, &settings)?;
        renderer.spp = self.spp;
        renderer.range = self.range.clone();
        renderer.pixels = self.pixels;
        renderer.region = self.region;
        renderer.goal = self.goal;
        renderer.keeps_earlier = self.keeps_earlier;
        renderer.restart()?;
        let part = self.part()?;
        let from = match part.header.samples.min_samples() {
            _ if self.region.is_some() || part.header.samples.is_empty() => {
                "renders from the beginning".to_owned()
            }
            samples => {
                renderer.resume(&part)?;
                match samples {
                    0 => "continues the first sample of every pixel".to_owned(),
                    1 => "continues from 1 sample per pixel".to_owned(),
                    _ => format!("continues from {samples} samples per pixel"),
                }
            }
        };
        for gpu in &self.backend.devices {
            renderer.stats.set_failed(gpu);
        }
        renderer.notes = self.take_notes();
        renderer.notes.push(format!("{error}; the CPU {from}"));
        Ok(renderer)
    }
}
