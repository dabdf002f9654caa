//! Values collected from real paths.

use std::sync::{Arc, OnceLock};

use compaction::select::Strategy;
use glam::Vec3;
use raysieve::{
    camera::Camera,
    device::render_scene::RenderScene,
    film::Film,
    path::{Hit, Ray, ShadowRay, Span},
    scene::{self, Focus, Lens, PixelFilter, Projection},
    stages::{
        Keep,
        wave::{CpuWave, Wave, counts},
    },
    wavefront::{Step, steps},
};

use crate::common::{add_extended_materials, alpha_tested_garden, garden};

/// Values collected from paths through a scene, and the scenes.
pub(crate) struct Harvest {
    /// The scene without instances.
    pub(crate) scene: RenderScene,
    /// Perspective and orthographic cameras with all kinds of lenses and filters.
    pub(crate) cameras: Vec<Camera>,
    /// The scene with instances and opacity.
    pub(crate) instanced: RenderScene,
    /// Rays with their hits.
    pub(crate) hits: Vec<(Ray, Hit)>,
    /// Shadow rays.
    pub(crate) shadow_rays: Vec<ShadowRay>,
    /// Vectors that occurred: origins, directions, throughputs and radiances.
    pub(super) vectors: Vec<Vec3>,
    /// Numbers that occurred: pdfs, distances and barycentric weights.
    pub(super) numbers: Vec<f32>,
}

impl Harvest {
    /// Returns the values collected from the garden, which is traced once per process.
    pub(crate) fn get() -> &'static Harvest {
        static HARVEST: OnceLock<Harvest> = OnceLock::new();
        HARVEST.get_or_init(Harvest::gather)
    }

    /// Traces the garden on the CPU and collects what its paths meet.
    fn gather() -> Harvest {
        let mut scene = garden();
        add_extended_materials(&mut scene);
        let (width, height) = (64, 48);
        let camera = Camera::new(&scene.camera, width, height);
        let span = Span {
            width,
            pixel_count: width * height,
            path_count: 4 * width * height,
            seed: 3,
            ..Span::default()
        };
        let mut wave = Wave::Cpu(Box::new(CpuWave::new(
            Arc::new(RenderScene::new(&scene).unwrap()),
            camera,
            Arc::new(Film::new(span.pixel_count).unwrap()),
            scene.max_bounces,
            span.path_count,
            Strategy::default(),
        )));
        let mut harvest = Harvest {
            scene: RenderScene::new(&scene).unwrap(),
            cameras: cameras(&scene.camera, width, height),
            instanced: RenderScene::new(&alpha_tested_garden()).unwrap(),
            hits: Vec::new(),
            shadow_rays: Vec::new(),
            vectors: Vec::new(),
            numbers: Vec::new(),
        };
        wave.begin(span).unwrap();
        for step in steps(scene.max_bounces) {
            step.run(&mut wave).unwrap();
            match step {
                Step::Compact(bounce, Keep::Hits) => harvest.rays_of(&wave, bounce),
                Step::Shade(bounce) => harvest.shadow_rays_of(&wave, bounce),
                _ => {}
            }
        }
        assert!(harvest.hits.len() > 20_000 && harvest.shadow_rays.len() > 2000);
        harvest
    }

    /// Collects the rays that hit at a bounce.
    fn rays_of(&mut self, wave: &Wave, bounce: u32) {
        let Wave::Cpu(wave) = wave else {
            unreachable!("a wave on the CPU")
        };
        let hits = counts::hits(bounce);
        for &path in &wave.queue[..wave.counts[hits] as usize] {
            let path = path as usize;
            let (ray, hit) = (wave.rays[path], wave.hits[path]);
            self.hits.push((ray, hit));
            self.vectors.extend([
                ray.origin,
                ray.direction,
                wave.throughputs[path].rgb,
                wave.radiances[path].rgb,
            ]);
            self.numbers.extend([ray.pdf, hit.distance, hit.u, hit.v]);
        }
    }

    /// Collects the shadow rays of a bounce.
    fn shadow_rays_of(&mut self, wave: &Wave, bounce: u32) {
        let Wave::Cpu(wave) = wave else {
            unreachable!("a wave on the CPU")
        };
        let hits = counts::hits(bounce);
        let cast = wave.shadow_rays[..wave.counts[hits] as usize].iter();
        for ray in cast.filter(|ray| ray.distance > 0.0) {
            self.shadow_rays.push(*ray);
            self.vectors.extend([ray.direction, ray.light]);
            self.numbers.push(ray.distance);
        }
    }
}

/// Returns perspective and orthographic cameras at the place of a pinhole camera, with all kinds of lenses and filters.
fn cameras(pinhole: &scene::Camera, width: u32, height: u32) -> Vec<Camera> {
    let lens = |blades| {
        Some(Lens {
            radius: 0.2,
            focus: Focus::Point(pinhole.target),
            blades,
            rotation_degrees: 11.0,
        })
    };
    let filters = [
        PixelFilter::default(),
        PixelFilter::Box { radius: 1.25 },
        PixelFilter::Gaussian {
            radius: 1.5,
            sigma: 0.5,
        },
        PixelFilter::BlackmanHarris { radius: 2.0 },
    ];
    let orthographic = Projection::Orthographic { width: 3.0 };
    let lenses = [None, lens(0), lens(5), lens(16)];
    [pinhole.projection, orthographic]
        .into_iter()
        .flat_map(|projection| {
            lenses.iter().zip(filters).map(move |(&lens, filter)| {
                let camera = scene::Camera {
                    projection,
                    lens,
                    filter,
                    ..*pinhole
                };
                Camera::new(&camera, width, height)
            })
        })
        .collect()
}
