//! The stage `shade`: adds emission where a ray hit, samples a light, and scatters the path.
//!
//! Reads: queue, rays, hits, instances, throughputs, and the scene. Writes by path: radiances (emission, and whether the
//! path has scattered off anything but mirrors and glass), rays and throughputs of paths that continue. Writes by queue
//! entry: shadow rays and the instances they go to, and flags, 1 for paths that continue. Counts the shadow rays.
//! Method: multiple importance sampling with the power heuristic (Veach 1997), and Russian roulette by the largest
//! channel of the throughput, from the fifth scattering on.

mod block;

use block::Block;
use glam::Vec3;

use compaction::cuda::{In, InOut, Source};

use super::KernelVariant;
use crate::{
    Error,
    accel::{
        instance::{NO_INSTANCE, consistent_normal, instance_surface, ray_origin, to_object},
        primitive::{Surface, hit_primitive, shear, surface_at},
        vectors::vectorized,
    },
    device::{
        device_scene::DeviceScene, kernels::stage_for, path_buffers::PathBuffers,
        render_scene::RenderScene,
    },
    lights::{
        light::{
            BSDF_SAMPLES, LIGHT_SAMPLES, LightSample, emitter_area_pdf, light_pdf, sample_light,
            sample_weight,
        },
        light_tree::NO_LIGHT,
    },
    math::{clamped, dot, max_component, min_f32},
    path::{Hit, MAX_SURVIVAL, NO_PATH, NO_PRIMITIVE, ROULETTE_START, Ray, ShadowRay, Throughput},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits, sampler},
    shading::{
        bsdf::{Bsdf, bsdf_of, bsdf_sample, bsdf_value, is_specular, sample_specular},
        material::{ALL_KINDS, PLAIN_KINDS, TWO_SIDED_EMISSION, transmitted},
        material_textures::{emission_at, material_at},
    },
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// Runs the stage on a wave.
pub fn shade(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.world.is_plain() => on_cpu::<false>(cpu, bounce),
        Wave::Cpu(cpu) => on_cpu::<true>(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shade);
    Ok(())
}

/// Runs the stage on the CPU, specialised for scenes with (`PLACED`) or without instances and textures.
fn on_cpu<const PLACED: bool>(wave: &mut CpuWave, bounce: u32) {
    let world = wave.world.clone();
    // At the last bounce only emission counts.
    if PLACED || bounce == wave.max_bounces {
        each_path(wave, bounce, |wave, lane, slot| {
            shade_lane::<PLACED>(wave, &world, bounce, lane, slot);
        });
        return;
    }
    vectorized(
        #[inline(always)]
        || {
            let mut block = Block::default();
            each_path(
                wave,
                bounce,
                #[inline(always)]
                |wave, lane, slot| {
                    if !block.takes(wave, &world, lane, slot) {
                        shade_lane::<PLACED>(wave, &world, bounce, lane, slot);
                    } else if block.is_full() {
                        block.shade(wave, &world, bounce);
                    }
                },
            );
            block.shade(wave, &world, bounce);
        },
    );
}

/// Clears the flag and the shadow ray of each queue entry, and calls `shade` with the queue index and path index of each path.
#[inline(always)]
fn each_path(wave: &mut CpuWave, bounce: u32, mut shade: impl FnMut(&mut CpuWave, usize, usize)) {
    for lane in 0..wave.lanes(counts::hits(bounce)) {
        let path = wave.queue[lane];
        wave.shadow_rays[lane].distance = 0.0;
        wave.flags[lane] = 0;
        if path != NO_PATH {
            shade(wave, lane, path as usize);
        }
    }
}

/// Shades one path and stores the results in the wave.
fn shade_lane<const PLACED: bool>(
    wave: &mut CpuWave,
    world: &RenderScene,
    bounce: u32,
    lane: usize,
    slot: usize,
) {
    let scatters = bounce < wave.max_bounces;
    let mut vertex = Vertex::of::<PLACED>(wave, bounce, slot);
    let goes_on = shade_path::<PLACED>(world, scatters, &wave.hits[slot], &mut vertex);
    let after = |scatterings| world.surroundings.clamped_after(scatterings).max_indirect;
    wave.radiances[slot].rgb += clamped(vertex.emitted, after(bounce));
    if vertex.shadow_ray.distance > 0.0 {
        wave.shadow_rays[lane] = ShadowRay {
            light: clamped(vertex.shadow_ray.light, after(bounce + 1)),
            ..vertex.shadow_ray
        };
        if PLACED {
            wave.light_instances[lane] = vertex.light_instance;
        }
        wave.counts[counts::shadow_rays(bounce)] += 1;
    }
    if goes_on {
        wave.rays[slot] = vertex.ray;
        wave.throughputs[slot] = vertex.throughput;
        wave.flags[lane] = 1;
        if vertex.ray.pdf != 0.0 {
            wave.radiances[slot].scattered = 1;
        }
    }
}

/// A path at its hit: the input and the output of shading.
pub(super) struct Vertex {
    pub(super) numbers: Sampler,
    pub(super) bounce: u32,
    /// The instance that was hit, or `NO_INSTANCE`.
    pub(super) instance: u32,
    pub(super) ray: Ray,
    pub(super) throughput: Throughput,
    pub(super) emitted: Vec3,
    pub(super) shadow_ray: ShadowRay,
    /// The instance that the shadow ray goes to, or `NO_INSTANCE`.
    pub(super) light_instance: u32,
}

impl Vertex {
    /// Reads the vertex of a path that hit.
    fn of<const PLACED: bool>(wave: &CpuWave, bounce: u32, slot: usize) -> Vertex {
        let (pixel, sample) = wave.pairs[slot];
        Vertex {
            numbers: sampler(wave.span.seed, pixel, sample),
            bounce,
            instance: if PLACED {
                wave.instances[slot]
            } else {
                NO_INSTANCE
            },
            ray: wave.rays[slot],
            throughput: wave.throughputs[slot],
            emitted: Vec3::ZERO,
            shadow_ray: ShadowRay::default(),
            light_instance: NO_INSTANCE,
        }
    }
}

/// Returns whether Russian roulette is about to end a path that hit; the stage itself does not record the reason.
pub(crate) fn ended_by_roulette(wave: &CpuWave, bounce: u32, slot: usize) -> bool {
    fn ends<const PLACED: bool>(wave: &CpuWave, bounce: u32, slot: usize) -> bool {
        let mut vertex = Vertex::of::<PLACED>(wave, bounce, slot);
        let scatters = bounce < wave.max_bounces;
        let before = vertex.ray.origin;
        let goes_on = shade_path::<PLACED>(&wave.world, scatters, &wave.hits[slot], &mut vertex);
        // A path that scattered has another ray.
        let scattered = vertex.ray.origin != before;
        !goes_on && scattered && max_component(vertex.throughput.rgb) > 0.0
    }
    if wave.world.is_plain() {
        ends::<false>(wave, bounce, slot)
    } else {
        ends::<true>(wave, bounce, slot)
    }
}

/// Shades one path, and returns whether it continues.
#[inline]
pub(super) fn shade_path<const PLACED: bool>(
    world: &RenderScene,
    scatters: bool,
    hit: &Hit,
    vertex: &mut Vertex,
) -> bool {
    let primitive = &world.primitives[hit.primitive as usize];
    let mut surface = if PLACED && vertex.instance != NO_INSTANCE {
        let placed = &world.instances[vertex.instance as usize];
        let (corners, vertices) = (&world.corners, &world.vertices);
        instance_surface(placed, corners, vertices, primitive, &vertex.ray, hit)
    } else {
        surface_at(primitive, &vertex.ray, hit)
    };
    let table = &world.materials[surface.material as usize];
    let material = &if PLACED && table.maps != 0 {
        material_at(&world.texture_atlas(), table, &mut surface)
    } else {
        *table
    };
    let cosine = -dot(vertex.ray.direction, surface.normal);
    let front = cosine > 0.0;
    if max_component(material.emission) > 0.0 {
        if front {
            vertex.emitted = emission(world, hit, material.emission, vertex, cosine);
        } else if material.flags & TWO_SIDED_EMISSION != 0 {
            vertex.emitted = vertex.throughput.rgb * material.emission;
        }
    }
    if !scatters || (!front && material.one_sided == 1) {
        return false;
    }
    if !front && max_component(material.absorption) > 0.0 {
        vertex.throughput.rgb *= transmitted(material, hit.distance);
    }
    let side = if front { 1.0 } else { -1.0 };
    let normal = surface.normal * side;
    let (shading, coat) = if PLACED {
        let to_eye = -vertex.ray.direction;
        (
            consistent_normal(surface.shading * side, normal, to_eye),
            consistent_normal(surface.coat * side, normal, to_eye),
        )
    } else {
        (normal, normal)
    };
    let surface = Surface {
        normal,
        shading,
        coat,
        ..surface
    };
    let cos_eye = -dot(vertex.ray.direction, surface.shading);
    let cos_coat = -dot(vertex.ray.direction, surface.coat);
    let choice = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let mut bsdf = bsdf_of(&world.energy, material, cos_eye, cos_coat, front);
    bsdf.coat_normal = surface.coat;
    scatter::<PLACED>(world, choice.0, &bsdf, hit.primitive, &surface, vertex);
    max_component(vertex.throughput.rgb) > 0.0
        && survives_roulette(vertex.bounce, choice.1, &mut vertex.throughput)
}

/// Returns the emission of the surface along the path, weighted against the light sample that could have found it.
#[inline]
fn emission(world: &RenderScene, hit: &Hit, emitted: Vec3, vertex: &Vertex, cosine: f32) -> Vec3 {
    let carried = vertex.throughput.rgb * emitted;
    if vertex.ray.pdf == 0.0 {
        return carried;
    }
    let mut position = hit.primitive;
    if vertex.instance != NO_INSTANCE {
        let entry = instance_entry(world, vertex.instance);
        if entry == NO_LIGHT {
            return carried;
        }
        position += entry;
    }
    let origin = vertex.ray.origin;
    let share = emitter_area_pdf(&world.lights(), position, origin);
    let primitive = &world.primitives[position as usize];
    let pdf = light_pdf(primitive, share, origin, hit.distance, cosine);
    let strategies = world.surroundings.strategies;
    carried * sample_weight(strategies, BSDF_SAMPLES, vertex.ray.pdf, pdf)
}

/// Returns the offset from a mesh's triangle to its world-space copy if the instance is emissive, else `NO_LIGHT`.
#[inline]
fn instance_entry(world: &RenderScene, instance: u32) -> u32 {
    let surroundings = &world.surroundings;
    if surroundings.first_instanced == NO_PRIMITIVE {
        return NO_LIGHT;
    }
    world.light_places[(surroundings.instance_entries + instance) as usize]
}

/// Samples a light and the next ray.
///
/// The next ray leaves on the same side of the geometric and the shading normal, or the throughput becomes 0. The
/// surface's normals must face the path.
#[inline]
fn scatter<const PLACED: bool>(
    world: &RenderScene,
    choice: f32,
    bsdf: &Bsdf,
    primitive: u32,
    surface: &Surface,
    vertex: &mut Vertex,
) {
    let (normal, to_eye) = (surface.shading, -vertex.ray.direction);
    let next = if is_specular(bsdf) {
        sample_specular(bsdf, normal, to_eye, choice)
    } else {
        if world.surroundings.light_count > 0 {
            connect_light::<PLACED>(world, bsdf, primitive, surface, vertex);
        }
        let (u, v) = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
        bsdf_sample(&world.energy, bsdf, normal, to_eye, choice, u, v)
    };
    vertex.throughput.rgb *= next.weight;
    vertex.throughput.eta_scale *= next.eta_scale;
    let (origin, lifted) = ray_origin(surface, next.side);
    if dot(surface.normal, next.direction) * next.side < 0.0 && !lifted {
        vertex.throughput.rgb = Vec3::ZERO;
    }
    vertex.ray.origin = origin;
    vertex.ray.from_primitive = if lifted { NO_PRIMITIVE } else { primitive };
    vertex.ray.direction = next.direction;
    vertex.ray.pdf = next.pdf;
}

/// Samples a point on a light, and stores the shadow ray with the light that it carries.
#[inline]
fn connect_light<const PLACED: bool>(
    world: &RenderScene,
    bsdf: &Bsdf,
    primitive_left: u32,
    surface: &Surface,
    vertex: &mut Vertex,
) {
    let (choice, _) = pair_bits(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let (u, v) = pair_bits(vertex.numbers, vertex.bounce, PAIR_LIGHT);
    let (origin, lifted) = ray_origin(surface, 1.0);
    let sample = sample_light(&world.lights(), origin, choice, u, v);
    let cosine = dot(surface.normal, sample.direction);
    let shaded = dot(surface.shading, sample.direction);
    let above = shaded > 0.0 && (cosine > 0.0 || lifted);
    let below = shaded < 0.0 && cosine < 0.0;
    if sample.distance <= 0.0 || !(above || below) {
        return;
    }
    // Transmitted light arrives on the far side.
    let (origin, lifted) = if below {
        ray_origin(surface, -1.0)
    } else {
        (origin, lifted)
    };
    let (mut to, mut light_instance) = (sample.to_primitive, NO_INSTANCE);
    let stands = to < world.surroundings.first_instanced || to == NO_PRIMITIVE;
    if PLACED && !stands {
        light_instance = world.primitives[to as usize].number;
        to -= instance_entry(world, light_instance);
    }
    let radiance = if PLACED && to != NO_PRIMITIVE {
        sent(world, origin, &sample, to, light_instance)
    } else {
        sample.radiance
    };
    let value = bsdf_value(
        &world.energy,
        bsdf,
        surface.shading,
        -vertex.ray.direction,
        sample.direction,
    );
    let found = if sample.is_delta == 1 { 0.0 } else { value.pdf };
    let strategies = world.surroundings.strategies;
    let weight = sample_weight(strategies, LIGHT_SAMPLES, sample.pdf, found);
    let light_here =
        vertex.throughput.rgb * value.color * radiance * (value.scale * weight / sample.pdf);
    if max_component(light_here) <= 0.0 {
        return;
    }
    vertex.shadow_ray.origin = origin;
    vertex.shadow_ray.distance = sample.distance;
    vertex.shadow_ray.direction = sample.direction;
    vertex.shadow_ray.from_primitive = if lifted { NO_PRIMITIVE } else { primitive_left };
    vertex.shadow_ray.to_primitive = to;
    vertex.light_instance = light_instance;
    vertex.shadow_ray.light = light_here;
}

/// Returns the radiance of a textured emissive surface at the point that a light sample chose.
#[inline]
fn sent(world: &RenderScene, origin: Vec3, sample: &LightSample, to: u32, instance: u32) -> Vec3 {
    let chosen = &world.primitives[sample.to_primitive as usize];
    let material = &world.materials[chosen.material as usize];
    if material.maps == 0 {
        return sample.radiance;
    }
    let ray = Ray {
        origin,
        pdf: 0.0,
        direction: sample.direction,
        from_primitive: NO_PRIMITIVE,
    };
    let (mut local, mut inward) = (origin, ray.direction);
    if instance != NO_INSTANCE {
        let placed = &world.instances[instance as usize];
        local = to_object(placed, origin - placed.position);
        inward = to_object(placed, ray.direction);
    }
    let primitive = &world.primitives[to as usize];
    let (_, u, v) = hit_primitive(primitive, local, ray.direction, &shear(inward), false);
    let hit = Hit {
        distance: sample.distance,
        primitive: to,
        u,
        v,
    };
    let surface = if instance == NO_INSTANCE {
        surface_at(primitive, &ray, &hit)
    } else {
        let placed = &world.instances[instance as usize];
        let (corners, vertices) = (&world.corners, &world.vertices);
        instance_surface(placed, corners, vertices, primitive, &ray, &hit)
    };
    emission_at(&world.texture_atlas(), material, &surface)
}

/// Plays Russian roulette: returns whether the path survives, and divides its throughput by the chance of that.
#[inline]
fn survives_roulette(bounce: u32, choice: f32, throughput: &mut Throughput) -> bool {
    if bounce + 1 < ROULETTE_START {
        return true;
    }
    let chance = min_f32(
        max_component(throughput.rgb) * throughput.eta_scale,
        MAX_SURVIVAL,
    );
    throughput.rgb *= 1.0 / chance;
    choice < chance
}

/// Parameters of the kernel: the scene, the paths, the bounce, the number of queue entries, 1 if paths may scatter, the
/// count of shadow rays, and the start time.
pub(super) type Arguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    u32,
    In<u32>,
    u32,
    InOut<u32>,
    InOut<u64>,
);

/// Returns the name of the kernel variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.known_materials(), scene.placed) {
        (PLAIN_KINDS, false) => "shade_plain",
        (PLAIN_KINDS, true) => "shade_plain_placed",
        (_, false) => "shade",
        (ALL_KINDS, true) => "shade_placed",
        _ => "shade_rare_placed",
    }
}

/// Returns the source of the kernel variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    stage_for::<Arguments>(
        "kernels/shade.cu",
        include_str!("../../kernels/shade.cu"),
        name_for(scene),
        (scene.known_materials(), scene.placed),
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::hits(bounce));
    let grid = wave.over_lanes(bounce);
    let (counted, mut uncounted) = wave.counts.split_at_mut(counts::shadow_rays(bounce));
    wave.kernels.shade.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument(),
            wave.paths.argument(),
            bounce,
            counted.slice(lanes),
            u32::from(bounce < wave.max_bounces),
            uncounted.slice_mut(..1),
            wave.stamps.slice_mut(clock::shade(bounce)),
        ),
    )?;
    Ok(())
}
