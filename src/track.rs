//! What happened to one path: where it went, what it met, what it carried, and where the sieve took it out and why.
//!
//! The path is traced again, on the CPU whatever rendered it, by the stages of the loop: its light has the bits of the sample
//! that is on the film.

mod sketch;

use std::{fmt, sync::Arc};

use compaction::select::Strategy;
use glam::Vec3;
use serde::{Serialize, Serializer};

use crate::{
    Error,
    camera::Camera,
    film::{Film, is_exposable},
    instance::NO_INSTANCE,
    math::dot,
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay, Span},
    scene::{self, Scene},
    stages::{Keep, ended_by_roulette, generate, intersect, shade, shadow, sieve},
    wave::{CpuWave, Wave, counts},
    world::World,
};

pub use sketch::{Flight, Stroke};

/// Looks at the paths of a scene, one at a time.
pub struct Inspector {
    world: Arc<World>,
    camera: Camera,
    size: (u32, u32),
    seed: u32,
    max_bounces: u32,
    /// Names of the materials.
    materials: Vec<String>,
}

/// A path from the camera to its end. Light is linear sRGB, lengths are in metres.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Track {
    /// Column and row of the pixel that it is of, from the upper left.
    pub pixel: [u32; 2],
    /// Which of the pixel's samples it is.
    pub sample: u32,
    /// What the film got of it: all that its vertices added.
    #[serde(serialize_with = "numbers")]
    pub radiance: Vec3,
    /// Whether that is no sample for the film: not finite, or too bright.
    pub rejected: bool,
    /// Where it went, bounce by bounce.
    pub vertices: Vec<Vertex>,
    /// Why the sieve took it out, after the last of them.
    pub end: End,
}

/// One bounce of a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Vertex {
    /// Where its ray began.
    #[serde(serialize_with = "numbers")]
    pub origin: Vec3,
    /// The way that it went, of length 1.
    #[serde(serialize_with = "numbers")]
    pub direction: Vec3,
    /// What it hit; nothing if it missed everything.
    pub met: Option<Met>,
    /// The fraction of light that the path passed on when it came here.
    #[serde(serialize_with = "numbers")]
    pub throughput: Vec3,
    /// Light that it found here: what the surface gives off, or the sky, weighted against the light sample that could have
    /// found it too.
    #[serde(serialize_with = "numbers")]
    pub found: Vec3,
    /// The ray towards a light.
    pub light_sample: Option<Probe>,
}

/// Where a ray hit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Met {
    /// The point.
    #[serde(serialize_with = "numbers")]
    pub position: Vec3,
    /// From where the ray began.
    pub distance: f32,
    /// Of the surface as it is shaded, of length 1, on the side of its front.
    #[serde(serialize_with = "numbers")]
    pub normal: Vec3,
    /// Whether the front was hit.
    pub front: bool,
    /// Name of what the surface is made of; empty if it has none.
    pub material: String,
    /// Which of the scene's triangles and spheres, as they follow each other in the scene; within a mesh of the mesh's.
    pub primitive: u32,
    /// Number of the instance, if it was one.
    pub instance: Option<u32>,
}

/// A ray towards a light.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    /// Where it began.
    #[serde(serialize_with = "numbers")]
    pub origin: Vec3,
    /// The way that it went, of length 1.
    #[serde(serialize_with = "numbers")]
    pub direction: Vec3,
    /// To the light; that of what is infinitely far is larger than any scene.
    pub distance: f32,
    /// What it brings if nothing is in its way.
    #[serde(serialize_with = "numbers")]
    pub light: Vec3,
    /// Whether something was.
    pub blocked: bool,
}

/// Why a path left the wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It missed everything, and saw the sky.
    Missed,
    /// It may not scatter more often.
    LastBounce,
    /// What it met passes nothing on.
    Absorbed,
    /// It was dim, and lost at roulette.
    Roulette,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Missed => "its ray missed everything and saw the sky",
            End::LastBounce => "it may not scatter more often",
            End::Absorbed => "what it met passes no light on",
            End::Roulette => "it was dim and lost at roulette",
        })
    }
}

impl Inspector {
    /// Builds the trees over the scene.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn new(scene: &Scene) -> Result<Inspector, Error> {
        Ok(Inspector::within(Arc::new(World::new(scene)?), scene))
    }

    /// Looks at the paths of a scene whose world is there.
    pub(crate) fn within(world: Arc<World>, scene: &Scene) -> Inspector {
        Inspector {
            world,
            camera: Camera::new(&scene.camera, scene.size.0, scene.size.1),
            size: scene.size,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            materials: scene.material_names.clone(),
        }
    }

    /// What it looks through.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Looks from elsewhere, at a picture of this size.
    pub fn look(&mut self, camera: &scene::Camera, size: (u32, u32)) {
        self.camera = Camera::new(camera, size.0, size.1);
        self.size = size;
    }

    /// Traces one sample of the pixel in this column and row.
    ///
    /// # Errors
    /// [`Error::Setting`] if the picture has no such pixel.
    pub fn track(&self, (column, row): (u32, u32), sample: u32) -> Result<Track, Error> {
        let (width, height) = self.size;
        if column >= width || row >= height {
            return Err(Error::Setting {
                setting: format!("pixel {column},{row}"),
                problem: format!(
                    "the picture has columns 0 to {} and rows 0 to {}, from the upper left",
                    width - 1,
                    height - 1
                ),
            });
        }
        let mut wave = Wave::Cpu(Box::new(CpuWave::new(
            self.world.clone(),
            self.camera,
            // Nothing is accumulated.
            Arc::new(Film::new(0)),
            self.max_bounces,
            1,
            Strategy::default(),
        )));
        wave.begin(Span {
            width,
            pixel_count: width * height,
            first_pixel: row * width + column,
            first_sample: sample,
            path_count: 1,
            seed: self.seed,
            ..Span::default()
        })?;
        let mut track = Track {
            pixel: [column, row],
            sample,
            radiance: Vec3::ZERO,
            rejected: false,
            vertices: Vec::new(),
            end: End::LastBounce,
        };
        generate(&mut wave)?;
        for bounce in 0..=self.max_bounces {
            let (vertex, end) = self.bounce(&mut wave, bounce)?;
            // In the order in which the stages add it.
            track.radiance += vertex.found;
            if let Some(Probe { light, blocked, .. }) = vertex.light_sample
                && !blocked
            {
                track.radiance += light;
            }
            track.vertices.push(vertex);
            if let Some(end) = end {
                track.end = end;
                break;
            }
        }
        track.rejected = !is_exposable(track.radiance);
        Ok(track)
    }

    /// The stages of a bounce, and what they did; why the path ended, if it did.
    fn bounce(&self, wave: &mut Wave, bounce: u32) -> Result<(Vertex, Option<End>), Error> {
        let (ray, throughput) = (path(wave).rays[0], path(wave).throughputs[0].rgb);
        intersect(wave, bounce)?;
        let mut vertex = Vertex {
            origin: ray.origin,
            direction: ray.direction,
            met: self.met(path(wave), &ray),
            throughput,
            found: taken(wave),
            light_sample: None,
        };
        sieve(wave, bounce, Keep::Hits)?;
        if path(wave).counts[counts::hits(bounce)] == 0 {
            return Ok((vertex, Some(End::Missed)));
        }
        // What it does not write where the path ends.
        let roulette = ended_by_roulette(path(wave), bounce, 0);
        shade(wave, bounce)?;
        vertex.found = taken(wave);
        let probe = path(wave).shadow_rays[0];
        shadow(wave, bounce)?;
        vertex.light_sample = probed(&probe, taken(wave));
        sieve(wave, bounce, Keep::Survivors)?;
        let end = match path(wave).counts[counts::survivors(bounce)] {
            1 => None,
            _ if bounce == self.max_bounces => Some(End::LastBounce),
            _ if roulette => Some(End::Roulette),
            _ => Some(End::Absorbed),
        };
        Ok((vertex, end))
    }

    fn met(&self, wave: &CpuWave, ray: &Ray) -> Option<Met> {
        let hit: Hit = wave.hits[0];
        if hit.primitive == NO_PRIMITIVE {
            return None;
        }
        let instance = wave.instances.first().copied().unwrap_or(NO_INSTANCE);
        let (surface, _) = self.world.seen(ray, &hit, instance);
        let primitive = &self.world.primitives[hit.primitive as usize];
        let name = self.materials.get(surface.material as usize);
        Some(Met {
            position: ray.origin + ray.direction * hit.distance,
            distance: hit.distance,
            normal: surface.shading,
            front: dot(ray.direction, surface.normal) < 0.0,
            material: name.cloned().unwrap_or_default(),
            primitive: primitive.number,
            instance: (instance != NO_INSTANCE).then_some(instance),
        })
    }
}

/// The wave's only path is in slot 0 of its buffers.
fn path(wave: &mut Wave) -> &mut CpuWave {
    match wave {
        Wave::Cpu(cpu) => cpu,
        Wave::Cuda(_) => unreachable!("it was made on the CPU"),
    }
}

/// What was added to the path's light since the last time.
fn taken(wave: &mut Wave) -> Vec3 {
    std::mem::take(&mut path(wave).radiances[0].rgb)
}

fn probed(ray: &ShadowRay, brought: Vec3) -> Option<Probe> {
    (ray.distance > 0.0).then(|| Probe {
        origin: ray.origin,
        direction: ray.direction,
        distance: ray.distance,
        light: ray.light,
        blocked: brought == Vec3::ZERO,
    })
}

fn numbers<S: Serializer>(vector: &Vec3, serializer: S) -> Result<S::Ok, S::Error> {
    vector.to_array().serialize(serializer)
}
