//! Reads ahead on the CPU what shading will read in scenes with instances or textures.
//!
//! Shading one path takes longer than a processor looks ahead, so that its reads of scattered memory do not overlap with
//! those of the next path. Here they do: for a group of paths, each loop makes the next few reads of the chain, and
//! the reads of different paths do not depend on each other.

use std::{hint::black_box, ops::Range};

use crate::{
    accel::instance::{COORDINATES, Corners, NO_INSTANCE, NORMALS},
    device::render_scene::RenderScene,
    lights::{environment, light::ENVIRONMENT},
    path::NO_PATH,
    sampler::{PAIR_LIGHT, pair_bits},
    stages::wave::CpuWave,
};

/// Number of queue entries for which memory is read ahead.
pub(super) const GROUP: usize = environment::READ_AHEAD;

/// Reads the surfaces that the paths of these queue entries hit, at most [`GROUP`]. If the environment map is a light, it
/// also reads the parts of it that samples with the paths' random numbers would choose.
pub(super) fn read_ahead(wave: &CpuWave, scene: &RenderScene, bounce: u32, entries: Range<usize>) {
    let mut sum = 0_u32;
    let mut paths = [0; GROUP];
    let mut count = 0;
    for &path in &wave.queue[entries] {
        if path != NO_PATH {
            paths[count % GROUP] = path as usize;
            count += 1;
        }
    }
    let paths = &paths[..count.min(GROUP)];

    let mut corners = [Corners::default(); GROUP];
    for (&path, corners) in paths.iter().zip(&mut corners) {
        let primitive = wave.hits[path].primitive;
        sum ^= scene.primitives[primitive as usize].material;
        let instance = wave.instances[path];
        if instance != NO_INSTANCE {
            let instance = &scene.instances[instance as usize];
            if instance.flags & (NORMALS | COORDINATES) != 0 {
                *corners = scene.corners[primitive.wrapping_add(instance.corners) as usize];
            }
        }
    }
    for corners in &corners[..paths.len()] {
        for vertex in [corners.a, corners.b, corners.c] {
            sum ^= scene
                .vertices
                .get(vertex as usize)
                .map_or(0, |vertex| vertex.v.to_bits());
        }
    }

    let lights = scene.lights();
    let is_sampled = bounce < wave.max_bounces
        && lights
            .table
            .last()
            .is_some_and(|light| light.kind == ENVIRONMENT);
    if is_sampled {
        let mut samples = [(0, 0); GROUP];
        for (&path, sample) in paths.iter().zip(&mut samples) {
            *sample = pair_bits(wave.path_sampler(path), bounce, PAIR_LIGHT);
        }
        let samples = &samples[..paths.len()];
        let (environment, rows) = (&lights.environment, lights.rows);
        sum ^= environment::read_ahead(environment, rows, lights.texels, lights.guide, samples);
    }
    black_box(sum);
}
