//! shade: what happens where a ray hit.
//!
//! Reads: queue, rays, hits and their instances, throughputs, primitives, meshes, materials, textures, energy, lights.
//! Writes: radiances (emission, and whether the path met more than mirrors and glass); shadow rays by lane, and the instances that they go to; rays and throughputs of the paths
//! that go on; flags by lane, 1 for those; the count of shadow rays.
//! Light sampling and BSDF sampling are combined by the power heuristic (Veach 1997); roulette by the throughput's
//! largest channel, from the fifth scattering on.

mod block;

use block::Block;
use glam::Vec3;

use compaction::cuda::{In, InOut, Source};

use super::SceneKind;
use crate::{
    Error,
    bsdf::{Bsdf, bsdf_of, bsdf_sample, bsdf_value, is_specular, sample_specular},
    environment::{Environment, EnvironmentRow, EnvironmentTexel},
    instance::{
        Corners, Instance, MeshVertex, NO_INSTANCE, consistent_normal, enter, placed_surface, start,
    },
    kernels::stage_for,
    light::{
        BSDF_SAMPLES, LIGHT_SAMPLES, Lamp, Light, LightSample, Surroundings, emitter_share,
        light_pdf, sample_light, sample_weight,
    },
    light_tree::{LightNode, NO_LIGHT},
    maps::{Maps, emission_at, material_at},
    material::{ALL_KINDS, Material, PLAIN_KINDS, SHINES_BEHIND, transmitted},
    math::{clamped, dot, lesser, max_component},
    path::{
        Hit, MOST_LIKELY, NO_PATH, NO_PRIMITIVE, ROULETTE_AFTER, Ray, Rgb, ShadowRay, Span,
        Throughput,
    },
    primitive::{Primitive, Surface, hit_primitive, shear, surface_at},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits, sampler},
    texture::Texture,
    vectors::by_vectors,
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
    world::World,
};

/// Runs the stage.
pub fn shade(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.world.is_plain() => on_cpu::<false>(cpu, bounce),
        Wave::Cpu(cpu) => on_cpu::<true>(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shade);
    Ok(())
}

/// Of a scene where meshes are placed, or of one without.
fn on_cpu<const PLACED: bool>(wave: &mut CpuWave, bounce: u32) {
    let world = wave.world.clone();
    // What is hit last only shines.
    if PLACED || bounce == wave.max_bounces {
        each_path(wave, bounce, |wave, lane, slot| {
            shade_lane::<PLACED>(wave, &world, bounce, lane, slot);
        });
        return;
    }
    by_vectors(
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

/// Offers each path that hit, by its lane and slot, with nothing shaded yet.
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

/// Shades one path, and tells the wave.
fn shade_lane<const PLACED: bool>(
    wave: &mut CpuWave,
    world: &World,
    bounce: u32,
    lane: usize,
    slot: usize,
) {
    let scatters = bounce < wave.max_bounces;
    let mut vertex = Vertex::of::<PLACED>(wave, bounce, slot);
    let goes_on = shade_path::<PLACED>(world, scatters, &wave.hits[slot], &mut vertex);
    let after = |scatterings| world.surroundings.after(scatterings).most_indirect;
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

/// A path where it hit, before and after it is shaded.
pub(super) struct Vertex {
    pub(super) numbers: Sampler,
    pub(super) bounce: u32,
    /// That was hit.
    pub(super) instance: u32,
    pub(super) ray: Ray,
    pub(super) throughput: Throughput,
    pub(super) emitted: Vec3,
    pub(super) shadow_ray: ShadowRay,
    /// That the shadow ray goes to.
    pub(super) light_instance: u32,
}

impl Vertex {
    /// Of a path that hit.
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

/// Whether a path that hit is about to be ended by roulette, which the stage does not tell.
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

/// Shades one path; whether it goes on.
#[inline]
pub(super) fn shade_path<const PLACED: bool>(
    world: &World,
    scatters: bool,
    hit: &Hit,
    vertex: &mut Vertex,
) -> bool {
    let primitive = &world.primitives[hit.primitive as usize];
    let mut surface = if PLACED && vertex.instance != NO_INSTANCE {
        let placed = &world.instances[vertex.instance as usize];
        let (corners, vertices) = (&world.corners, &world.vertices);
        placed_surface(placed, corners, vertices, primitive, &vertex.ray, hit)
    } else {
        surface_at(primitive, &vertex.ray, hit)
    };
    let table = &world.materials[surface.material as usize];
    let material = &if PLACED && table.maps != 0 {
        material_at(&world.imagery(), table, &mut surface)
    } else {
        *table
    };
    let cosine = -dot(vertex.ray.direction, surface.normal);
    let front = cosine > 0.0;
    if max_component(material.emission) > 0.0 {
        if front {
            vertex.emitted = emission(world, hit, material.emission, vertex, cosine);
        } else if material.flags & SHINES_BEHIND != 0 {
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

/// What the surface itself sends along the path, weighted against the light sample that could have found it.
#[inline]
fn emission(world: &World, hit: &Hit, emitted: Vec3, vertex: &Vertex, cosine: f32) -> Vec3 {
    let carried = vertex.throughput.rgb * emitted;
    if vertex.ray.pdf == 0.0 {
        return carried;
    }
    let mut position = hit.primitive;
    if vertex.instance != NO_INSTANCE {
        let entry = placed_entry(world, vertex.instance);
        if entry == NO_LIGHT {
            return carried;
        }
        position += entry;
    }
    let origin = vertex.ray.origin;
    let share = emitter_share(&world.lights(), position, origin);
    let primitive = &world.primitives[position as usize];
    let pdf = light_pdf(primitive, share, origin, hit.distance, cosine);
    let strategies = world.surroundings.strategies;
    carried * sample_weight(strategies, BSDF_SAMPLES, vertex.ray.pdf, pdf)
}

/// What leads from a mesh's triangle to where it stands in the world, if the instance is a light; else `NO_LIGHT`.
#[inline]
fn placed_entry(world: &World, instance: u32) -> u32 {
    let surroundings = &world.surroundings;
    if surroundings.first_placed == NO_PRIMITIVE {
        return NO_LIGHT;
    }
    world.light_places[(surroundings.placed_entries + instance) as usize]
}

/// A light sample and the next ray, which leaves on one side both of the surface and of what it is shaded by, or has
/// nothing. The surface's normals face the path.
#[inline]
fn scatter<const PLACED: bool>(
    world: &World,
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
    vertex.throughput.squeeze *= next.squeeze;
    let (origin, lifted) = start(surface, next.side);
    if dot(surface.normal, next.direction) * next.side < 0.0 && !lifted {
        vertex.throughput.rgb = Vec3::ZERO;
    }
    vertex.ray.origin = origin;
    vertex.ray.from = if lifted { NO_PRIMITIVE } else { primitive };
    vertex.ray.direction = next.direction;
    vertex.ray.pdf = next.pdf;
}

/// A shadow ray to a point on a light, with the light that it would bring.
#[inline]
fn connect_light<const PLACED: bool>(
    world: &World,
    bsdf: &Bsdf,
    primitive_left: u32,
    surface: &Surface,
    vertex: &mut Vertex,
) {
    let (choice, _) = pair_bits(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let (u, v) = pair_bits(vertex.numbers, vertex.bounce, PAIR_LIGHT);
    let (origin, lifted) = start(surface, 1.0);
    let sample = sample_light(&world.lights(), origin, choice, u, v);
    let cosine = dot(surface.normal, sample.direction);
    let shaded = dot(surface.shading, sample.direction);
    let above = shaded > 0.0 && (cosine > 0.0 || lifted);
    let below = shaded < 0.0 && cosine < 0.0;
    if sample.distance <= 0.0 || !(above || below) {
        return;
    }
    // What comes through the surface leaves it behind.
    let (origin, lifted) = if below {
        start(surface, -1.0)
    } else {
        (origin, lifted)
    };
    let (mut to, mut light_instance) = (sample.to, NO_INSTANCE);
    let stands = to < world.surroundings.first_placed || to == NO_PRIMITIVE;
    if PLACED && !stands {
        light_instance = world.primitives[to as usize].number;
        to -= placed_entry(world, light_instance);
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
    let found = if sample.only == 1 { 0.0 } else { value.pdf };
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
    vertex.shadow_ray.from = if lifted { NO_PRIMITIVE } else { primitive_left };
    vertex.shadow_ray.to = to;
    vertex.light_instance = light_instance;
    vertex.shadow_ray.light = light_here;
}

/// What a surface, whose radiance may vary over it, sends from the point that a sample chose: the one that its ray meets.
#[inline]
fn sent(world: &World, origin: Vec3, sample: &LightSample, to: u32, instance: u32) -> Vec3 {
    let chosen = &world.primitives[sample.to as usize];
    let material = &world.materials[chosen.material as usize];
    if material.maps == 0 {
        return sample.radiance;
    }
    let ray = Ray {
        origin,
        pdf: 0.0,
        direction: sample.direction,
        from: NO_PRIMITIVE,
    };
    let (mut local, mut inward) = (origin, ray.direction);
    if instance != NO_INSTANCE {
        let placed = &world.instances[instance as usize];
        local = enter(placed, origin - placed.position);
        inward = enter(placed, ray.direction);
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
        placed_surface(placed, corners, vertices, primitive, &ray, &hit)
    };
    emission_at(&world.imagery(), material, &surface)
}

/// Ends dim paths by chance, and makes the others brighter by as much.
#[inline]
fn survives_roulette(bounce: u32, choice: f32, throughput: &mut Throughput) -> bool {
    if bounce + 1 < ROULETTE_AFTER {
        return true;
    }
    let chance = lesser(
        max_component(throughput.rgb) * throughput.squeeze,
        MOST_LIKELY,
    );
    throughput.rgb *= 1.0 / chance;
    choice < chance
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Primitive>,
    In<Instance>,
    In<Corners>,
    In<MeshVertex>,
    In<Material>,
    In<Maps>,
    In<Texture>,
    In<u32>,
    In<f32>,
    In<Light>,
    In<LightNode>,
    In<u32>,
    Surroundings,
    In<Lamp>,
    Environment,
    In<EnvironmentRow>,
    In<EnvironmentTexel>,
    In<Span>,
    In<u32>,
    u32,
    u32,
    In<u32>,
    In<u32>,
    In<Hit>,
    In<u32>,
    InOut<Ray>,
    InOut<Throughput>,
    InOut<Rgb>,
    InOut<ShadowRay>,
    InOut<u32>,
    InOut<u8>,
    InOut<u32>,
    InOut<u64>,
);

/// The kernel that is made for such scenes.
pub(super) fn name_for(scene: SceneKind) -> &'static str {
    match (scene.known_materials(), scene.placed) {
        (PLAIN_KINDS, false) => "shade_plain",
        (PLAIN_KINDS, true) => "shade_plain_placed",
        (_, false) => "shade",
        (ALL_KINDS, true) => "shade_placed",
        _ => "shade_rare_placed",
    }
}

/// Its file.
pub(super) fn source_for(scene: SceneKind) -> Source {
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
            wave.primitives.as_view(),
            wave.placed.as_view(),
            wave.corners.as_view(),
            wave.vertices.as_view(),
            wave.materials.as_view(),
            wave.maps.as_view(),
            wave.textures.as_view(),
            wave.texels.as_view(),
            wave.energy.as_view(),
            wave.lights.as_view(),
            wave.light_nodes.as_view(),
            wave.light_places.as_view(),
            wave.surroundings,
            wave.lamps.as_view(),
            wave.environment,
            wave.environment_rows.as_view(),
            wave.environment_texels.as_view(),
            wave.device_span.as_view(),
            wave.list.as_view(),
            bounce,
            u32::from(bounce < wave.max_bounces),
            counted.slice(lanes),
            wave.queue.as_view(),
            wave.hits.as_view(),
            wave.instances.as_view(),
            wave.rays.as_view_mut(),
            wave.throughputs.as_view_mut(),
            wave.radiances.as_view_mut(),
            wave.shadow_rays.as_view_mut(),
            wave.light_instances.as_view_mut(),
            wave.flags.as_view_mut(),
            uncounted.slice_mut(..1),
            wave.stamps.slice_mut(clock::shade(bounce)),
        ),
    )?;
    Ok(())
}
