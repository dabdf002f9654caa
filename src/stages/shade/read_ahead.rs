//! Reads ahead on the CPU what shading will read at the last bounce in scenes with instances, textures or extended
//! materials, where paths are shaded one by one.
//!
//! Shading one path takes longer than a processor looks ahead, so that its reads of scattered memory do not overlap
//! with those of the next path. Here they do: for a group of paths, each loop makes the next few reads of the chain,
//! and the reads of different paths do not depend on each other.

use std::{hint::black_box, ops::Range};

use crate::{
    accel::instance::{COORDINATES, Corners, NO_INSTANCE, NORMALS},
    device::render_scene::RenderScene,
    path::NO_PATH,
    stages::wave::CpuWave,
};

/// Number of queue entries for which memory is read ahead.
pub(super) const GROUP: usize = 32;

/// Reads the surfaces that the paths of these queue entries hit, at most [`GROUP`].
pub(super) fn read_ahead(wave: &CpuWave, scene: &RenderScene, entries: Range<usize>) {
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
    black_box(sum);
}
