//! Records of single paths: every vertex, the light it contributed, and the reason why the path ended.
//!
//! A path is traced again on the CPU by the stages of the loop, whatever backend rendered it. Its radiance has the same
//! bits as the sample on the film.

mod polyline;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use compaction::select::Strategy;
use glam::{DVec3, Vec3};
use serde::{Serialize, Serializer};

use crate::{
    Error,
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::{camera_bodies::camera_in, render_scene::RenderScene},
    film::is_valid_sample,
    light_shares,
    math::dot,
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay, Span},
    scene::{self, Scene, position_in_file},
    stages::wave::{CpuWave, Wave},
    stages::{Keep, Passage, passage, path_end},
    vertex::shading::Ended,
    wavefront::{Step, steps},
};

pub use polyline::{PathSegment, SegmentKind};

/// An inspector of a scene, which traces and records single paths.
pub struct Inspector {
    render_scene: Arc<RenderScene>,
    /// The scene with the probabilities of lights for the camera, made by the first path.
    lit_scene: OnceLock<Arc<RenderScene>>,
    camera: Camera,
    size: (u32, u32),
    seed: u32,
    max_bounces: u32,
    /// Names of the materials, by index.
    materials: Vec<String>,
    /// [`Scene::origin`], to which positions of the renderer are relative.
    origin: DVec3,
}

/// A position, which is serialised in the coordinates of the scene's file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Position relative to `origin`, in metres.
    pub relative: Vec3,
    /// [`Scene::origin`].
    pub origin: DVec3,
}

impl Position {
    /// Returns the position in the coordinates of the scene's file, with as few digits as tell it apart.
    pub fn in_file(&self) -> DVec3 {
        position_in_file(self.relative, self.origin)
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.in_file().to_array().serialize(serializer)
    }
}

/// A record of one path from the camera to its end. Light is in linear sRGB, lengths are in metres.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathRecord {
    /// Column and row of the pixel, from the upper left.
    pub pixel: [u32; 2],
    /// Number of the sample within the pixel, from 0.
    pub sample: u32,
    /// Radiance of the sample: the sum of what all vertices contributed.
    #[serde(serialize_with = "numbers")]
    pub radiance: Vec3,
    /// Whether the film does not add this sample because its radiance is not finite or too bright.
    pub rejected: bool,
    /// Vertices in order; entry 0 is where the camera ray ends.
    pub vertices: Vec<PathVertex>,
    /// Reason why the path ended after the last vertex.
    pub end: End,
}

/// A bounce of a path: a ray, the surface it hit, and the light gained there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathVertex {
    /// Origin of the ray that arrives at this vertex.
    pub origin: Position,
    /// Direction in which the ray was traced, away from `origin`, in world space and of length 1.
    #[serde(serialize_with = "numbers")]
    pub direction: Vec3,
    /// The surface hit; `None` if the ray left the scene, or the path scattered before.
    pub hit: Option<SurfaceHit>,
    /// Position where the path scattered in a medium, if it did before it hit a surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scattering: Option<Position>,
    /// Throughput of the path when it arrived here, before this surface scatters it.
    #[serde(serialize_with = "numbers")]
    pub throughput: Vec3,
    /// Radiance that the path gained here from the surface's emission or, if it left the scene, from the sky;
    /// multiplied by throughput and weighted against light sampling by multiple importance sampling.
    #[serde(serialize_with = "numbers")]
    pub emission: Vec3,
    /// The sample of direct light at this vertex; `None` if no light was sampled.
    pub light_sample: Option<DirectLightSample>,
}

/// A hit of a ray with a surface: its position, shading normal, material and primitive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurfaceHit {
    /// Position of the hit.
    pub position: Position,
    /// Distance from the ray's origin in metres.
    pub distance: f32,
    /// Shading normal in world space, of length 1, on the front side of the surface.
    #[serde(serialize_with = "numbers")]
    pub normal: Vec3,
    /// Whether the front side was hit.
    pub front: bool,
    /// Name of the surface's material; empty if it has none.
    pub material: String,
    /// Index of the material in the scene.
    pub material_index: u32,
    /// Number of the triangle or sphere in the order of the scene, or in the order of its mesh if it belongs to an
    /// instance.
    pub primitive: u32,
    /// Index of the instance; `None` if the surface belongs to none.
    pub instance: Option<u32>,
}

/// A sample of direct light: the shadow ray to a point on a light, and the light that it carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectLightSample {
    /// Origin of the shadow ray, at the surface.
    pub origin: Position,
    /// Direction of the shadow ray, from the surface to the light, in world space and of length 1.
    #[serde(serialize_with = "numbers")]
    pub direction: Vec3,
    /// Distance to the light in metres; larger than any scene for infinitely distant lights.
    pub distance: f32,
    /// Radiance that the light adds to the path unless it is blocked, after multiplication by throughput and its
    /// weight.
    #[serde(serialize_with = "numbers")]
    pub light: Vec3,
    /// Whether a surface blocked the light.
    pub blocked: bool,
}

/// The reason why a path ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The ray left the scene without a hit.
    Missed,
    /// The path reached the maximum number of bounces.
    LastBounce,
    /// The surface scattered no light.
    Absorbed,
    /// Russian roulette ended the path.
    Roulette,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Missed => "left the scene",
            End::LastBounce => "reached the maximum number of bounces",
            End::Absorbed => "absorbed by the surface",
            End::Roulette => "ended by Russian roulette",
        })
    }
}

impl Inspector {
    /// Builds the acceleration structures of the scene.
    ///
    /// # Errors
    /// See [`RenderScene::new`].
    pub fn new(scene: &Scene) -> Result<Inspector, Error> {
        Ok(Inspector::for_scene(
            Arc::new(RenderScene::new(scene)?),
            scene,
        ))
    }

    /// Creates an inspector that uses existing acceleration structures; `render_scene` must be prepared from `scene`.
    pub fn for_scene(render_scene: Arc<RenderScene>, scene: &Scene) -> Inspector {
        Inspector {
            camera: camera_in(&render_scene, &scene.camera, scene.size.0, scene.size.1),
            render_scene,
            lit_scene: OnceLock::new(),
            size: scene.size,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            materials: scene.material_names.clone(),
            origin: scene.origin,
        }
    }

    /// Returns the camera from which paths are traced.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Sets the camera, and the width and height of its image in pixels.
    pub fn set_camera(&mut self, camera: &scene::Camera, size: (u32, u32)) {
        self.camera = camera_in(&self.render_scene, camera, size.0, size.1);
        self.size = size;
        self.lit_scene = OnceLock::new();
    }

    /// Returns the scene with the probabilities of lights that a render from this camera has.
    fn lit_scene(&self) -> Arc<RenderScene> {
        let prepare =
            || light_shares::for_camera(&self.render_scene, &self.camera, self.max_bounces);
        self.lit_scene.get_or_init(prepare).clone()
    }

    /// Traces one sample of the pixel in this column and row, and records its path.
    ///
    /// # Errors
    /// [`Error::Setting`] if the pixel lies outside the image.
    pub fn trace(&self, (column, row): (u32, u32), sample: u32) -> Result<PathRecord, Error> {
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
            self.lit_scene(),
            self.camera,
            // No film is needed, so it has no pixels.
            Arc::default(),
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
        let mut record = PathRecord {
            pixel: [column, row],
            sample,
            radiance: Vec3::ZERO,
            rejected: false,
            vertices: Vec::new(),
            end: End::LastBounce,
        };
        let mut end = Ok(());
        let mut has_scattered = false;
        let mut scattered_path = None;
        for step in steps(self.max_bounces) {
            match step {
                // Computed before `shade`, which overwrites the path's state.
                Step::Shade(bounce) if !has_scattered => {
                    end = path_end(cpu_wave(&mut wave), bounce, 0);
                }
                // Computed before `scatter` for the same reason.
                Step::Scatter(bounce) => {
                    has_scattered = false;
                    let passage = passage(cpu_wave(&mut wave), bounce, 0);
                    if let (
                        Some(Passage {
                            vertex: path,
                            scattered: Some(result),
                            ..
                        }),
                        Some(vertex),
                    ) = (passage, record.vertices.last_mut())
                    {
                        (end, has_scattered) = (result, true);
                        scattered_path = Some(path);
                        vertex.hit = None;
                        vertex.emission = Vec3::ZERO;
                    }
                }
                // The film has no pixels.
                Step::Accumulate => break,
                _ => {}
            }
            step.run(&mut wave)?;
            let path = cpu_wave(&mut wave);
            let added = std::mem::take(&mut path.radiances[0].rgb);
            record.radiance += added;
            match (step, record.vertices.last_mut()) {
                (Step::Intersect(_), _) => record.vertices.push(self.vertex(path, added)),
                (Step::Scatter(_), Some(vertex)) => {
                    if let Some(path) = scattered_path.take() {
                        vertex.scattering = Some(self.position(path.ray.origin));
                        vertex.light_sample = self.direct_light_sample(&path.shadow_ray, added);
                    } else if self.render_scene.has_boundaries() {
                        // The ray may have passed boundaries, and only then left the scene.
                        let emission = vertex.emission + added;
                        *vertex = self.vertex(path, emission);
                    }
                }
                (Step::Compact(_, Keep::Hits) | Step::Shade(_) | Step::Shadow(_), _)
                    if has_scattered => {}
                (Step::Shade(_), Some(vertex)) => vertex.emission = added,
                (Step::Shadow(_), Some(vertex)) => {
                    vertex.light_sample = self.direct_light_sample(&path.shadow_rays[0], added);
                }
                (Step::Compact(bounce, keep), _) if path.counts[keep.counts(bounce).1] == 0 => {
                    record.end = match keep {
                        Keep::Hits => End::Missed,
                        Keep::Survivors => match end {
                            Ok(()) | Err(Ended::LastBounce) => End::LastBounce,
                            Err(Ended::Absorbed) => End::Absorbed,
                            Err(Ended::Roulette) => End::Roulette,
                        },
                    };
                    break;
                }
                // Listed, so that a new step compiles only once its light belongs to a vertex.
                (
                    Step::Generate
                    | Step::Scatter(_)
                    | Step::Compact(..)
                    | Step::SortHits(_)
                    | Step::Shade(_)
                    | Step::Shadow(_)
                    | Step::Accumulate,
                    _,
                ) => {}
            }
        }
        record.rejected = !is_valid_sample(record.radiance);
        Ok(record)
    }

    /// Returns the vertex where the path's ray ends, before it is shaded. `emission` is the light of the sky, if it
    /// missed.
    fn vertex(&self, wave: &CpuWave, emission: Vec3) -> PathVertex {
        let ray = &wave.rays[0];
        PathVertex {
            origin: self.position(ray.origin),
            direction: ray.direction,
            hit: self.surface_hit(wave, ray),
            scattering: None,
            throughput: wave.throughputs[0].rgb,
            emission,
            light_sample: None,
        }
    }

    /// Returns the surface that the path's ray hit, or `None` if the ray left the scene.
    fn surface_hit(&self, wave: &CpuWave, ray: &Ray) -> Option<SurfaceHit> {
        let hit: Hit = wave.hits[0];
        if hit.primitive == NO_PRIMITIVE {
            return None;
        }
        let instance = wave.instances.first().copied().unwrap_or(NO_INSTANCE);
        let (surface, _) = self.render_scene.surface_and_material(ray, &hit, instance);
        let primitive = &self.render_scene.primitives[hit.primitive as usize];
        let name = self.materials.get(surface.material as usize);
        Some(SurfaceHit {
            position: self.position(ray.origin + ray.direction * hit.distance),
            distance: hit.distance,
            normal: surface.shading,
            front: dot(ray.direction, surface.normal) < 0.0,
            material: name.cloned().unwrap_or_default(),
            material_index: surface.material,
            primitive: primitive.number,
            instance: (instance != NO_INSTANCE).then_some(instance),
        })
    }

    /// Returns the record of a shadow ray after the stage `shadow`, which has added the radiance `added` to the path.
    /// Returns `None` if there was no shadow ray.
    fn direct_light_sample(&self, ray: &ShadowRay, added: Vec3) -> Option<DirectLightSample> {
        (ray.distance > 0.0).then(|| DirectLightSample {
            origin: self.position(ray.origin),
            direction: ray.direction,
            distance: ray.distance,
            // Media between boundaries attenuate it on its way.
            light: if added == Vec3::ZERO {
                ray.light
            } else {
                added
            },
            blocked: added == Vec3::ZERO,
        })
    }

    fn position(&self, relative: Vec3) -> Position {
        Position {
            relative,
            origin: self.origin,
        }
    }
}

/// Returns the CPU wave that `trace` has created. Its only path has index 0.
fn cpu_wave(wave: &mut Wave) -> &mut CpuWave {
    match wave {
        Wave::Cpu(cpu) => cpu,
        Wave::Cuda(_) => unreachable!("it was made on the CPU"),
    }
}

/// Serialises a vector as an array of three numbers.
fn numbers<S: Serializer>(vector: &Vec3, serializer: S) -> Result<S::Ok, S::Error> {
    vector.to_array().serialize(serializer)
}
