//! Arbitrary output variables (AOVs): additional EXR layers, such as albedo, normal and depth of the first hit.
//!
//! They are traced on the CPU whatever the backend, and depend only on the scene and its seed. The camera rays of the
//! first [`SAMPLES`] samples are averaged in order, so every render of a scene has the same AOVs.

use std::str::FromStr;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::{
    Error,
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::render_scene::RenderScene,
    math::dot,
    path::{Hit, NO_PRIMITIVE, Ray, Span, pixel_and_sample},
    sampler::sampler,
    scene::Scene,
    stages::{Preview, first_ray},
    vertex::rays::nearest_hit,
};

/// Number of samples over which each value is averaged.
pub const SAMPLES: u32 = 16;

/// An arbitrary output variable (AOV): an additional layer of an EXR file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aov {
    /// `albedo.R`, `.G`, `.B`: base colour of the first hit, including textures; black where nothing is hit. Partially opaque
    /// surfaces count in proportion to how often the render hits them.
    Albedo,
    /// `normal.X`, `.Y`, `.Z`: world-space shading normal on the camera's side. The average is shorter than 1 where the normal
    /// varies. It is not corrected for reflections below the surface.
    Normal,
    /// `depth.Z`: distance along the viewing direction in metres, averaged over the rays that hit; 0 where none does.
    Depth,
    /// `samples`: number of samples of the pixel on the film.
    Samples,
    /// `denoised.R`, `.G`, `.B`: the denoised picture, a [`Preview`].
    Denoised,
}

impl Aov {
    /// All AOVs.
    pub const ALL: [Aov; 5] = [
        Aov::Albedo,
        Aov::Normal,
        Aov::Depth,
        Aov::Samples,
        Aov::Denoised,
    ];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Aov::Albedo => "albedo",
            Aov::Normal => "normal",
            Aov::Depth => "depth",
            Aov::Samples => "samples",
            Aov::Denoised => "denoised",
        }
    }

    /// Returns the names of the AOV's EXR channels.
    pub(crate) fn channels(self) -> &'static [&'static str] {
        match self {
            Aov::Albedo => &["albedo.R", "albedo.G", "albedo.B"],
            Aov::Normal => &["normal.X", "normal.Y", "normal.Z"],
            Aov::Depth => &["depth.Z"],
            Aov::Samples => &["samples"],
            Aov::Denoised => &["denoised.R", "denoised.G", "denoised.B"],
        }
    }
}

impl FromStr for Aov {
    type Err = String;

    fn from_str(name: &str) -> Result<Aov, String> {
        let named = Aov::ALL.into_iter().find(|aov| aov.name() == name);
        named.ok_or_else(|| "expected albedo, normal, depth, samples or denoised".to_owned())
    }
}

/// The AOVs of a picture: per-pixel values, rows from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aovs {
    /// AOVs to write to a file, sorted and without duplicates.
    pub requested: Vec<Aov>,
    pixels: Vec<Features>,
    preview: Option<Preview>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Features {
    albedo: [f32; 3],
    normal: [f32; 3],
    depth: f32,
}

impl Aovs {
    /// Computes the requested AOVs. Camera rays are traced only if albedo, normal or depth is requested.
    ///
    /// # Errors
    /// See [`RenderScene::new`].
    pub fn trace(scene: &Scene, requested: &[Aov]) -> Result<Aovs, Error> {
        let mut aovs = Aovs {
            requested: requested.to_vec(),
            pixels: Vec::new(),
            preview: None,
        };
        aovs.requested.sort();
        aovs.requested.dedup();
        let of_the_scene = |aov: &Aov| !matches!(aov, Aov::Samples | Aov::Denoised);
        if aovs.requested.iter().any(of_the_scene) {
            let (width, height) = scene.size;
            let world = RenderScene::new(scene)?;
            let camera = Camera::new(&scene.camera, width, height);
            let span = Span {
                width,
                pixel_count: width * height,
                path_count: 1,
                seed: scene.seed,
                ..Span::default()
            };
            let pixel = |pixel| features(&world, &camera, &span, pixel);
            aovs.pixels = (0..width * height).into_par_iter().map(pixel).collect();
        }
        Ok(aovs)
    }

    /// Sets the denoised picture; without one, [`Aov::Denoised`] is omitted from files.
    pub fn set_preview(&mut self, preview: Option<Preview>) {
        self.preview = preview;
    }

    /// Returns the denoised picture, if there is one.
    pub fn preview(&self) -> Option<&Preview> {
        self.preview.as_ref()
    }

    /// Returns the values of channel `number` of an AOV, row by row; empty for [`Aov::Samples`], which the film counts.
    pub(crate) fn channel(&self, aov: Aov, number: usize) -> Vec<f32> {
        let of = |value: fn(&Features, usize) -> f32| {
            let values = self.pixels.iter().map(|pixel| value(pixel, number));
            values.collect()
        };
        match aov {
            Aov::Albedo => of(|pixel, number| pixel.albedo[number]),
            Aov::Normal => of(|pixel, number| pixel.normal[number]),
            Aov::Depth => of(|pixel, _| pixel.depth),
            Aov::Samples => Vec::new(),
            Aov::Denoised => {
                let pixels = self
                    .preview
                    .iter()
                    .flat_map(|preview| &preview.picture.pixels);
                pixels.map(|pixel| pixel[number]).collect()
            }
        }
    }
}

fn features(world: &RenderScene, camera: &Camera, span: &Span, pixel: u32) -> Features {
    let (mut albedo, mut normal, mut depth, mut hits) = (DVec3::ZERO, DVec3::ZERO, 0.0, 0);
    for sample in 0..SAMPLES {
        let span = Span {
            first_pixel: pixel,
            first_sample: sample,
            ..*span
        };
        let ray = first_ray(camera, &span, &[], 0);
        let (pixel, sample) = pixel_and_sample(&span, &[], 0);
        let numbers = sampler(span.seed, pixel, sample);
        let found = nearest_hit::<true>(world, &ray, NO_INSTANCE, numbers, 0);
        let seen = first_hit(world, camera, &ray, &found.hit, found.instance);
        if let Some(seen) = seen {
            hits += 1;
            albedo += seen.albedo.as_dvec3();
            normal += seen.normal.as_dvec3();
            depth += seen.depth;
        }
    }
    let mean = |sum: DVec3| (sum / f64::from(SAMPLES)).as_vec3().to_array();
    Features {
        albedo: mean(albedo),
        normal: mean(normal),
        depth: (depth / f64::from(hits.max(1))) as f32,
    }
}

/// Properties of a camera ray's first hit.
pub(crate) struct FirstHit {
    pub(crate) albedo: Vec3,
    /// Shading normal in world space, on the camera's side.
    pub(crate) normal: Vec3,
    /// Distance along the viewing direction in metres.
    pub(crate) depth: f64,
}

/// Returns the properties of a camera ray's hit; `None` if the ray left the scene.
pub(crate) fn first_hit(
    world: &RenderScene,
    camera: &Camera,
    ray: &Ray,
    hit: &Hit,
    instance: u32,
) -> Option<FirstHit> {
    if hit.primitive == NO_PRIMITIVE {
        return None;
    }
    let (surface, material) = world.surface_and_material(ray, hit, instance);
    let facing = if dot(surface.normal, ray.direction) > 0.0 {
        -1.0
    } else {
        1.0
    };
    let along = dot(ray.direction, camera.forward);
    Some(FirstHit {
        albedo: material.color,
        normal: surface.shading * facing,
        depth: f64::from(hit.distance) * f64::from(along),
    })
}
