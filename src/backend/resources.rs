//! The memory of a backend by kind, and its waves.

use serde::{Deserialize, Serialize};

use super::{Backend, Engine, waves::lock};
use crate::{film::Film, stages::wave::Wave};

/// The memory of a render in bytes by kind: host memory on the CPU, otherwise the memory of all GPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// Sums of the film, on each GPU.
    pub film: u64,
    /// State of the paths of all waves.
    pub paths: u64,
    /// Materials, textures, lights and environment.
    pub scene: u64,
    /// Primitives, instances, and the BVHs over them.
    pub trees: u64,
}

impl MemoryStats {
    /// Returns the sum over all kinds in bytes.
    pub fn total(&self) -> u64 {
        self.film + self.paths + self.scene + self.trees
    }

    /// Returns the kinds with their names, in the order in which tables list them.
    pub fn kinds(&self) -> [(&'static str, u64); 4] {
        [
            ("film", self.film),
            ("paths", self.paths),
            ("scene", self.scene),
            ("trees", self.trees),
        ]
    }
}

/// The waves of a render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveStats {
    /// Number of paths of the next wave: of each thread on the CPU, otherwise of each GPU on average.
    pub paths: u64,
    /// Maximum number of waves in flight: one per thread on the CPU, up to two per GPU.
    pub in_flight: u32,
}

impl Backend {
    /// Returns the memory by kind, and the size and number of waves.
    pub(crate) fn memory_and_waves(&self) -> (MemoryStats, WaveStats) {
        match &*self.engine {
            Engine::Waves(waves) => {
                let locked: Vec<_> = waves.waves.iter().map(lock).collect();
                of_waves(locked.iter().map(|wave| &**wave))
            }
            Engine::Gpus(gpus) => gpus.with_waves(|waves| of_waves(waves)),
        }
    }
}

/// Returns the memory and the figures of waves. Waves on the CPU share scene and film, which are counted once.
pub(super) fn of_waves<'a>(waves: impl Iterator<Item = &'a Wave>) -> (MemoryStats, WaveStats) {
    let (mut memory, mut figures, mut count) = (MemoryStats::default(), WaveStats::default(), 0);
    for wave in waves {
        count += 1;
        figures.paths += u64::from(wave.next_paths());
        match wave {
            Wave::Cpu(cpu) => {
                figures.in_flight += 1;
                memory.paths += cpu.path_bytes();
                memory.film = u64::from(cpu.camera.pixel_count()) * Film::BYTES_PER_PIXEL;
                (memory.scene, memory.trees) = cpu.scene.bytes();
            }
            Wave::Cuda(cuda) => {
                figures.in_flight += cuda.max_in_flight() as u32;
                memory.paths += cuda.paths.bytes();
                memory.film += cuda.film.bytes();
                let (scene, trees) = cuda.scene.bytes();
                memory.scene += scene;
                memory.trees += trees;
            }
        }
    }
    figures.paths /= count.max(1);
    (memory, figures)
}
