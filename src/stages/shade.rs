//! shade: what happens where a ray hit.
//!
//! Reads: queue, rays, hits, throughputs, primitives, materials, lights. Writes: radiances (emission); shadow rays by
//! lane; rays and throughputs of the paths that go on; flags by lane, 1 for those; the count of shadow rays.
//! Light sampling and BSDF sampling are combined by the power heuristic (Veach 1997); roulette by the throughput's
//! largest channel, from the fifth scattering on.

use glam::Vec3;

use compaction::cuda::{In, InOut, Source};

use crate::{
    Error,
    kernels::stage,
    light::{Light, Surroundings, choose_light, light_pdf, sample_light},
    material::{
        DIFFUSE, MIRROR, Material, fresnel, power_heuristic, reflect, refract, sample_cosine,
    },
    math::{INV_PI, dot, lesser, max_component, offset_point},
    path::{
        Hit, MOST_LIKELY, NO_PATH, ROULETTE_AFTER, Ray, Rgb, ShadowRay, Span, pixel_and_sample,
    },
    primitive::{Primitive, Surface, surface_at},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, sampler},
    wave::{CpuWave, CudaWave, Stage, Wave, counts},
    world::World,
};

/// Runs the stage.
pub fn shade(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shade)
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let world = &*wave.world;
    let scatters = bounce < wave.max_bounces;
    for lane in 0..wave.lanes(counts::hits(bounce)) {
        let path = wave.queue[lane];
        wave.shadow_rays[lane].distance = 0.0;
        wave.flags[lane] = 0;
        if path == NO_PATH {
            continue;
        }
        let slot = path as usize;
        let (pixel, sample) = pixel_and_sample(&wave.span, path);
        let mut vertex = Vertex {
            numbers: sampler(wave.span.seed, pixel, sample),
            bounce,
            ray: wave.rays[slot],
            throughput: wave.throughputs[slot].rgb,
            emitted: Vec3::ZERO,
            shadow_ray: ShadowRay {
                path,
                ..ShadowRay::default()
            },
        };
        let goes_on = shade_path(world, scatters, &wave.hits[slot], &mut vertex);
        wave.radiances[slot].rgb += vertex.emitted;
        if vertex.shadow_ray.distance > 0.0 {
            wave.shadow_rays[lane] = vertex.shadow_ray;
            wave.counts[counts::shadow_rays(bounce)] += 1;
        }
        if goes_on {
            wave.rays[slot] = vertex.ray;
            wave.throughputs[slot].rgb = vertex.throughput;
            wave.flags[lane] = 1;
        }
    }
}

/// A path where it hit, before and after it is shaded.
struct Vertex {
    numbers: Sampler,
    bounce: u32,
    ray: Ray,
    throughput: Vec3,
    emitted: Vec3,
    shadow_ray: ShadowRay,
}

/// Shades one path; whether it goes on.
#[inline]
fn shade_path(world: &World, scatters: bool, hit: &Hit, vertex: &mut Vertex) -> bool {
    let primitive = &world.primitives[hit.primitive as usize];
    let material = &world.materials[primitive.material as usize];
    let surface = surface_at(primitive, vertex.ray.origin, vertex.ray.direction, hit);
    let cosine = -dot(vertex.ray.direction, surface.normal);
    let front = cosine > 0.0;
    if front && max_component(material.emission) > 0.0 {
        vertex.emitted = emission(
            &world.surroundings,
            primitive,
            material,
            vertex,
            hit.distance,
            cosine,
        );
    }
    if !scatters || (!front && material.one_sided == 1) {
        return false;
    }
    let choice = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let scattered = if material.kind == DIFFUSE {
        let normal = surface.normal * if front { 1.0 } else { -1.0 };
        scatter_diffuse(world, choice.0, material, surface.point, normal, vertex)
    } else {
        scatter_specular(choice.0, material, &surface, cosine, vertex)
    };
    scattered && survives_roulette(choice.1, vertex)
}

/// What the surface itself sends along the path, weighted against the light sample that could have found it.
#[inline]
fn emission(
    surroundings: &Surroundings,
    primitive: &Primitive,
    material: &Material,
    vertex: &Vertex,
    distance: f32,
    cosine: f32,
) -> Vec3 {
    let carried = vertex.throughput * material.emission;
    if vertex.ray.pdf == 0.0 {
        return carried;
    }
    let pdf = light_pdf(
        primitive,
        material,
        surroundings,
        vertex.ray.origin,
        distance,
        cosine,
    );
    carried * power_heuristic(vertex.ray.pdf, pdf)
}

/// A light sample and the next ray, from a surface that scatters to all sides alike.
#[inline]
fn scatter_diffuse(
    world: &World,
    choice: f32,
    material: &Material,
    point: Vec3,
    normal: Vec3,
    vertex: &mut Vertex,
) -> bool {
    vertex.throughput *= material.color;
    if max_component(vertex.throughput) <= 0.0 {
        return false;
    }
    let origin = offset_point(point, normal);
    if world.surroundings.light_count > 0 {
        connect_light(
            world,
            pair(vertex.numbers, vertex.bounce, PAIR_LIGHT),
            choice,
            origin,
            normal,
            vertex,
        );
    }
    let (u, v) = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
    let (direction, cosine) = sample_cosine(normal, u, v);
    vertex.ray = Ray {
        origin,
        pdf: cosine * INV_PI,
        direction,
        _pad: 0,
    };
    cosine > 0.0
}

/// A shadow ray to a point on a light, with the light that it would bring.
#[inline]
fn connect_light(
    world: &World,
    point: (f32, f32),
    choice: f32,
    origin: Vec3,
    normal: Vec3,
    vertex: &mut Vertex,
) {
    let light =
        &world.lights[choose_light(&world.lights, world.surroundings.light_count, choice) as usize];
    let primitive = &world.primitives[light.primitive as usize];
    let material = &world.materials[primitive.material as usize];
    let sample = sample_light(
        primitive,
        material,
        &world.surroundings,
        origin,
        point.0,
        point.1,
    );
    let cosine = dot(normal, sample.direction);
    let lit = sample.distance > 0.0 && cosine > 0.0;
    if !lit {
        return;
    }
    let pdf = cosine * INV_PI;
    let weight = power_heuristic(sample.pdf, pdf);
    vertex.shadow_ray.origin = origin;
    vertex.shadow_ray.distance = sample.distance;
    vertex.shadow_ray.direction = sample.direction;
    vertex.shadow_ray.light = vertex.throughput * sample.radiance * (pdf * weight / sample.pdf);
}

/// The next ray from a mirror or a smooth boundary. Radiance is not scaled by the squared index: in closed bodies it
/// cancels.
#[inline]
fn scatter_specular(
    choice: f32,
    material: &Material,
    surface: &Surface,
    cosine: f32,
    vertex: &mut Vertex,
) -> bool {
    let front = cosine > 0.0;
    let side = if front { 1.0 } else { -1.0 };
    let normal = surface.normal * side;
    let cos_in = cosine * side;
    let eta = if front {
        1.0 / material.ior
    } else {
        material.ior
    };
    vertex.throughput *= material.color;
    let (reflected, cos_out) = if material.kind == MIRROR {
        (1.0, 0.0)
    } else {
        fresnel(cos_in, eta)
    };
    let (origin, direction) = if choice < reflected {
        (
            offset_point(surface.point, normal),
            reflect(vertex.ray.direction, normal),
        )
    } else {
        (
            offset_point(surface.point, -normal),
            refract(vertex.ray.direction, normal, eta, cos_in, cos_out),
        )
    };
    vertex.ray = Ray {
        origin,
        pdf: 0.0,
        direction,
        _pad: 0,
    };
    max_component(vertex.throughput) > 0.0
}

/// Ends dim paths by chance, and makes the others brighter by as much.
#[inline]
fn survives_roulette(choice: f32, vertex: &mut Vertex) -> bool {
    if vertex.bounce + 1 < ROULETTE_AFTER {
        return true;
    }
    let chance = lesser(max_component(vertex.throughput), MOST_LIKELY);
    vertex.throughput *= 1.0 / chance;
    choice < chance
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Primitive>,
    In<Material>,
    In<Light>,
    Surroundings,
    Span,
    u32,
    u32,
    In<u32>,
    In<u32>,
    In<Hit>,
    InOut<Ray>,
    InOut<Rgb>,
    InOut<Rgb>,
    InOut<ShadowRay>,
    InOut<u8>,
    InOut<u32>,
);

/// The kernel's file.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/shade.cu",
        include_str!("../../kernels/shade.cu"),
        "shade",
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::hits(bounce));
    let grid = wave.over_lanes();
    let (counted, mut uncounted) = wave.counts.split_at_mut(counts::shadow_rays(bounce));
    wave.kernels.shade.launch(
        &wave.stream,
        grid,
        (
            wave.primitives.as_view(),
            wave.materials.as_view(),
            wave.lights.as_view(),
            wave.surroundings,
            wave.span,
            bounce,
            u32::from(bounce < wave.max_bounces),
            counted.slice(lanes),
            wave.queue.as_view(),
            wave.hits.as_view(),
            wave.rays.as_view_mut(),
            wave.throughputs.as_view_mut(),
            wave.radiances.as_view_mut(),
            wave.shadow_rays.as_view_mut(),
            wave.flags.as_view_mut(),
            uncounted.slice_mut(..1),
        ),
    )?;
    Ok(())
}
