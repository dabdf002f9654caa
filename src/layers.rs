//! Layers beside a picture: what its camera rays hit first, averaged over a pixel.
//!
//! They are traced by themselves, on the CPU whatever the backend, from the scene and its seed alone: the rays of the first
//! [`SAMPLES`] samples, as the render takes them, summed in their order. So every render of a scene has the same layers.

use std::str::FromStr;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::{
    Error, bvh,
    camera::Camera,
    instance::NO_INSTANCE,
    math::dot,
    opacity::{PATH_RAY, nearest_veiled, veil_key},
    path::{Hit, NO_PRIMITIVE, Ray, Span, pixel_and_sample},
    sampler::sampler,
    scene::Scene,
    stages::{Preview, first_ray},
    world::World,
};

/// Samples that a layer's value is the mean of.
pub const SAMPLES: u32 = 16;

/// What can be had beside a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// `albedo.R`, `.G`, `.B`: the colour of what is hit, textures and all; black where nothing is. What hides only a part of
    /// what is behind it is hit as often as the render hits it.
    Albedo,
    /// `normal.X`, `.Y`, `.Z`: its shading normal in world space, on the camera's side, not of length 1 where it varies. It is
    /// the surface's own, from wherever it is seen: not bent as it is for what would mirror the eye into the surface.
    Normal,
    /// `depth.Z`: metres along the view, of the rays that hit; 0 where none does.
    Depth,
    /// `samples`: how many samples the picture has there.
    Samples,
    /// `denoised.R`, `.G`, `.B`: the picture with less noise, a [`Preview`].
    Denoised,
}

impl Layer {
    /// All.
    pub const ALL: [Layer; 5] = [
        Layer::Albedo,
        Layer::Normal,
        Layer::Depth,
        Layer::Samples,
        Layer::Denoised,
    ];

    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Albedo => "albedo",
            Layer::Normal => "normal",
            Layer::Depth => "depth",
            Layer::Samples => "samples",
            Layer::Denoised => "denoised",
        }
    }

    /// Its channels in an EXR.
    pub(crate) fn channels(self) -> &'static [&'static str] {
        match self {
            Layer::Albedo => &["albedo.R", "albedo.G", "albedo.B"],
            Layer::Normal => &["normal.X", "normal.Y", "normal.Z"],
            Layer::Depth => &["depth.Z"],
            Layer::Samples => &["samples"],
            Layer::Denoised => &["denoised.R", "denoised.G", "denoised.B"],
        }
    }
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(name: &str) -> Result<Layer, String> {
        let named = Layer::ALL.into_iter().find(|layer| layer.name() == name);
        named.ok_or_else(|| "known are albedo, normal, depth, samples and denoised".to_owned())
    }
}

/// What the camera sees first, pixel by pixel, rows from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// Which of them a file is to get.
    pub wanted: Vec<Layer>,
    pixels: Vec<Features>,
    preview: Option<Preview>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Features {
    albedo: [f32; 3],
    normal: [f32; 3],
    depth: f32,
}

impl Layers {
    /// Traces the camera rays of the scene, if any of these layers needs them.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn trace(scene: &Scene, wanted: &[Layer]) -> Result<Layers, Error> {
        let mut layers = Layers {
            wanted: wanted.to_vec(),
            pixels: Vec::new(),
            preview: None,
        };
        layers.wanted.sort();
        layers.wanted.dedup();
        let of_the_scene = |layer: &Layer| !matches!(layer, Layer::Samples | Layer::Denoised);
        if layers.wanted.iter().any(of_the_scene) {
            let (width, height) = scene.size;
            let world = World::new(scene)?;
            let camera = Camera::new(&scene.camera, width, height);
            let span = Span {
                width,
                pixel_count: width * height,
                path_count: 1,
                seed: scene.seed,
                ..Span::default()
            };
            let pixel = |pixel| features(&world, &camera, &span, pixel);
            layers.pixels = (0..width * height).into_par_iter().map(pixel).collect();
        }
        Ok(layers)
    }

    /// Adds the picture with less noise; without one, [`Layer::Denoised`] is left out of a file.
    pub fn set_preview(&mut self, preview: Option<Preview>) {
        self.preview = preview;
    }

    /// The picture with less noise, if there is one.
    pub fn preview(&self) -> Option<&Preview> {
        self.preview.as_ref()
    }

    /// The floats of a layer's channel of this number; none for [`Layer::Samples`], which is counted by the film.
    pub(crate) fn channel(&self, layer: Layer, number: usize) -> Vec<f32> {
        let of = |value: fn(&Features, usize) -> f32| {
            let values = self.pixels.iter().map(|pixel| value(pixel, number));
            values.collect()
        };
        match layer {
            Layer::Albedo => of(|pixel, number| pixel.albedo[number]),
            Layer::Normal => of(|pixel, number| pixel.normal[number]),
            Layer::Depth => of(|pixel, _| pixel.depth),
            Layer::Samples => Vec::new(),
            Layer::Denoised => {
                let pixels = self
                    .preview
                    .iter()
                    .flat_map(|preview| &preview.picture.pixels);
                pixels.map(|pixel| pixel[number]).collect()
            }
        }
    }
}

fn features(world: &World, camera: &Camera, span: &Span, pixel: u32) -> Features {
    let veils = world.veils();
    let (mut albedo, mut normal, mut depth, mut hits) = (DVec3::ZERO, DVec3::ZERO, 0.0, 0);
    for sample in 0..SAMPLES {
        let span = Span {
            first_pixel: pixel,
            first_sample: sample,
            ..*span
        };
        let ray = first_ray(camera, &span, &[], 0);
        let found = match &veils {
            Some(veils) => {
                let (pixel, sample) = pixel_and_sample(&span, &[], 0);
                let key = veil_key(sampler(span.seed, pixel, sample), 0, PATH_RAY);
                nearest_veiled(veils, &ray, NO_INSTANCE, key)
            }
            None => bvh::nearest_placed(&world.placed_scene(), &ray, NO_INSTANCE),
        };
        let seen = first_seen(world, camera, &ray, &found.hit, found.instance);
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

/// What a camera's ray hit.
pub(crate) struct FirstSeen {
    pub(crate) albedo: Vec3,
    /// Shading normal, on the camera's side.
    pub(crate) normal: Vec3,
    /// Metres along the view.
    pub(crate) depth: f64,
}

/// What a camera's ray hit, if it did.
pub(crate) fn first_seen(
    world: &World,
    camera: &Camera,
    ray: &Ray,
    hit: &Hit,
    instance: u32,
) -> Option<FirstSeen> {
    if hit.primitive == NO_PRIMITIVE {
        return None;
    }
    let (surface, material) = world.seen(ray, hit, instance);
    let facing = if dot(surface.normal, ray.direction) > 0.0 {
        -1.0
    } else {
        1.0
    };
    let along = dot(ray.direction, camera.forward);
    Some(FirstSeen {
        albedo: material.color,
        normal: surface.shading * facing,
        depth: f64::from(hit.distance) * f64::from(along),
    })
}
