//! Arbitrary output variables (AOVs): additional EXR layers, such as albedo, normal and depth of the first hit.
//!
//! They are traced on the CPU whatever the backend, and depend only on the scene and its seed. The camera rays of the
//! first [`SAMPLES`] samples are averaged in order, so every render of a scene has the same AOVs.

mod alpha;

use std::{str::FromStr, sync::Arc};

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use self::alpha::alpha;
use crate::{
    Error,
    accel::{
        instance::{InstanceHit, NO_INSTANCE},
        trees::SceneBvhs,
    },
    camera::Camera,
    device::{camera_bodies::camera_in, render_scene::RenderScene},
    math::dot,
    path::{Hit, NO_PRIMITIVE, Ray, Span},
    sampler::sampler,
    scene::{Background, Scene, memory},
    stages::{Preview, first_ray},
    vertex::{boundaries::pass_boundaries, rays::nearest_hit},
};

/// Number of samples over which each value is averaged.
pub const SAMPLES: u32 = 16;

/// An arbitrary output variable (AOV): an additional layer of an EXR file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aov {
    /// `albedo.R`, `.G`, `.B`: base color of the first hit, including textures; black where nothing is hit. Partially
    /// opaque surfaces count in proportion to how often the render hits them.
    Albedo,
    /// `normal.X`, `.Y`, `.Z`: world-space shading normal on the camera's side. The average is shorter than 1 where the
    /// normal varies. It is not corrected for reflections below the surface.
    Normal,
    /// `depth.Z`: distance along the viewing direction in metres, averaged over the rays that hit; 0 where none does.
    Depth,
    /// `samples`: number of samples of the pixel on the film.
    Samples,
    /// `denoised.R`, `.G`, `.B`: the denoised image, see [`Preview`].
    Denoised,
    /// `A`: share of the camera rays that hit something, and the shadows on the ground. Scenes with a transparent
    /// background always have it, and others never. `R`, `G` and `B` are premultiplied by it.
    Alpha,
}

impl Aov {
    /// All AOVs.
    pub const ALL: [Aov; 6] = [
        Aov::Albedo,
        Aov::Normal,
        Aov::Depth,
        Aov::Samples,
        Aov::Denoised,
        Aov::Alpha,
    ];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Aov::Albedo => "albedo",
            Aov::Normal => "normal",
            Aov::Depth => "depth",
            Aov::Samples => "samples",
            Aov::Denoised => "denoised",
            Aov::Alpha => "alpha",
        }
    }

    /// Returns the names of the AOV's EXR channels.
    pub fn channels(self) -> &'static [&'static str] {
        match self {
            Aov::Albedo => &["albedo.R", "albedo.G", "albedo.B"],
            Aov::Normal => &["normal.X", "normal.Y", "normal.Z"],
            Aov::Depth => &["depth.Z"],
            Aov::Samples => &["samples"],
            Aov::Denoised => &["denoised.R", "denoised.G", "denoised.B"],
            Aov::Alpha => &["A"],
        }
    }
}

impl FromStr for Aov {
    type Err = String;

    /// Parses the name of an AOV that can be requested: any but [`Aov::Alpha`].
    fn from_str(name: &str) -> Result<Aov, String> {
        let mut aovs = Aov::ALL.into_iter();
        let named = aovs.find(|&aov| aov != Aov::Alpha && aov.name() == name);
        named.ok_or_else(|| "expected albedo, normal, depth, samples or denoised".to_owned())
    }
}

/// The AOVs of an image: per-pixel values, rows from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aovs {
    /// AOVs to write to a file, sorted and without duplicates.
    pub requested: Vec<Aov>,
    /// The averaged features of each pixel; empty if none of albedo, normal and depth is requested.
    pixels: Vec<Features>,
    /// The denoised image, if there is one.
    preview: Option<Preview>,
    /// The alpha of each pixel; empty unless [`Aov::Alpha`] is requested.
    alpha: Vec<f32>,
}

/// The features of a pixel, averaged over its samples; see [`Aov`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Features {
    albedo: [f32; 3],
    normal: [f32; 3],
    depth: f32,
}

impl Aovs {
    /// Memory of the AOVs of the surfaces in bytes per pixel.
    pub(crate) const BYTES_PER_PIXEL: u64 = size_of::<Features>() as u64;

    /// Memory of alpha in bytes per pixel, while it is traced.
    pub(crate) const ALPHA_BYTES_PER_PIXEL: u64 = 5;

    /// Computes the requested AOVs, and alpha if the background of the scene is transparent. Camera rays are traced
    /// only for alpha, albedo, normal and depth.
    ///
    /// `trees` are the BVHs of this scene, such as [`Renderer::trees`](crate::render::renderer::Renderer::trees)
    /// returns them. With `None` they are built.
    ///
    /// # Errors
    /// See [`RenderScene::new`].
    pub fn trace(
        scene: &Scene,
        trees: Option<Arc<SceneBvhs>>,
        requested: &[Aov],
    ) -> Result<Aovs, Error> {
        let mut aovs = Aovs {
            requested: requested.to_vec(),
            pixels: Vec::new(),
            preview: None,
            alpha: Vec::new(),
        };
        aovs.requested.retain(|&aov| aov != Aov::Alpha);
        let has_alpha = scene.background == Background::Transparent;
        let of_surfaces = |aov: &Aov| matches!(aov, Aov::Albedo | Aov::Normal | Aov::Depth);
        let has_features = aovs.requested.iter().any(of_surfaces);
        aovs.requested.extend(has_alpha.then_some(Aov::Alpha));
        aovs.requested.sort();
        aovs.requested.dedup();
        if has_features || has_alpha {
            let (width, height) = scene.size;
            let render_scene = match trees {
                Some(trees) => RenderScene::with_trees(trees, scene)?,
                None => RenderScene::new(scene)?,
            };
            let camera = camera_in(&render_scene, &scene.camera, width, height);
            let span = Span {
                width,
                pixel_count: width * height,
                path_count: 1,
                seed: scene.seed,
                ..Span::default()
            };
            if has_alpha {
                aovs.alpha = alpha(&render_scene, &camera, &span, scene.shadow_catcher)?;
            }
            if !has_features {
                return Ok(aovs);
            }
            let pixel = |pixel| features(&render_scene, &camera, &span, pixel);
            let pixel_count = width * height;
            memory::reserve(&mut aovs.pixels, pixel_count as usize)
                .map_err(Error::memory(scene.size))?;
            let pixels = (0..pixel_count).into_par_iter().map(pixel);
            pixels.collect_into_vec(&mut aovs.pixels);
        }
        Ok(aovs)
    }

    /// Sets the denoised image. If it is `None`, [`Aov::Denoised`] is omitted from files.
    pub fn set_preview(&mut self, preview: Option<Preview>) {
        self.preview = preview;
    }

    /// Sets the alpha of each pixel, row by row from the top, and requests it for files.
    pub fn set_alpha(&mut self, alpha: Vec<f32>) {
        self.alpha = alpha;
        if !self.requested.contains(&Aov::Alpha) {
            self.requested.push(Aov::Alpha);
        }
    }

    /// Returns the alpha of each pixel, row by row from the top; `None` for an opaque image.
    pub fn alpha(&self) -> Option<&[f32]> {
        let has_alpha = self.requested.contains(&Aov::Alpha);
        has_alpha.then_some(&self.alpha)
    }

    /// Returns the denoised image, if there is one.
    pub fn preview(&self) -> Option<&Preview> {
        self.preview.as_ref()
    }

    /// Returns the value of channel `number` of a requested AOV at a pixel, given by its row-major index. It is 0 for
    /// [`Aov::Samples`], which the film counts, and for a missing denoised image.
    ///
    /// # Panics
    /// If the AOV is not requested, or has no such channel or pixel.
    pub fn value(&self, aov: Aov, number: usize, pixel: u32) -> f32 {
        let pixel = pixel as usize;
        match aov {
            Aov::Albedo => self.pixels[pixel].albedo[number],
            Aov::Normal => self.pixels[pixel].normal[number],
            Aov::Depth => self.pixels[pixel].depth,
            Aov::Alpha => self.alpha[pixel],
            Aov::Samples => 0.0,
            Aov::Denoised => {
                let preview = self.preview.as_ref();
                preview.map_or(0.0, |preview| preview.picture.pixels[pixel][number])
            }
        }
    }
}

/// Returns the features of a pixel, averaged over its first [`SAMPLES`] samples.
fn features(render_scene: &RenderScene, camera: &Camera, span: &Span, pixel: u32) -> Features {
    let (mut albedo, mut normal, mut depth, mut hits) = (DVec3::ZERO, DVec3::ZERO, 0.0, 0);
    for sample in 0..SAMPLES {
        let (ray, found) = camera_hit(render_scene, camera, span, pixel, sample);
        let first = first_hit(render_scene, camera, &ray, &found.hit, found.instance);
        if let Some(first) = first {
            hits += 1;
            albedo += first.albedo.as_dvec3();
            normal += first.normal.as_dvec3();
            depth += first.depth;
        }
    }
    let mean = |sum: DVec3| (sum / f64::from(SAMPLES)).as_vec3().to_array();
    Features {
        albedo: mean(albedo),
        normal: mean(normal),
        depth: (depth / f64::from(hits.max(1))) as f32,
    }
}

/// Returns the camera ray of a sample, and what it hits first, as in the render.
fn camera_hit(
    render_scene: &RenderScene,
    camera: &Camera,
    span: &Span,
    pixel: u32,
    sample: u32,
) -> (Ray, InstanceHit) {
    let ray = first_ray(camera, span, pixel, sample);
    let numbers = sampler(span.seed, pixel, sample);
    let mut found = nearest_hit::<true>(render_scene, &ray, NO_INSTANCE, numbers, 0);
    if render_scene.has_boundaries() {
        pass_boundaries(render_scene, &ray, numbers, 0, &mut found, camera.bodies);
    }
    (ray, found)
}

/// The properties of the surface that a camera ray hit first.
pub(crate) struct FirstHit {
    /// Base color in linear sRGB, with textures.
    pub(crate) albedo: Vec3,
    /// Shading normal in world space, on the camera's side.
    pub(crate) normal: Vec3,
    /// Distance along the viewing direction in metres.
    pub(crate) depth: f64,
}

/// Returns the properties of the surface that a camera ray hit, or `None` if the ray left the scene. `instance` is the
/// index of the instance that was hit, or `NO_INSTANCE`.
pub(crate) fn first_hit(
    render_scene: &RenderScene,
    camera: &Camera,
    ray: &Ray,
    hit: &Hit,
    instance: u32,
) -> Option<FirstHit> {
    if hit.primitive == NO_PRIMITIVE {
        return None;
    }
    let (surface, material) = render_scene.surface_and_material(ray, hit, instance);
    let facing = if dot(surface.normal, ray.direction) > 0.0 {
        -1.0
    } else {
        1.0
    };
    let along = dot(ray.direction, camera.viewing_direction());
    Some(FirstHit {
        albedo: material.color,
        normal: surface.shading * facing,
        depth: f64::from(hit.distance) * f64::from(along),
    })
}
