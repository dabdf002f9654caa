//! The shading of one path at a hit: emission, a shadow ray, and the next ray. Twin: `kernels/shared/shading.cuh`.
//!
//! Method: multiple importance sampling with the power heuristic (Veach 1997), and Russian roulette by the largest
//! channel of the throughput, from the fifth scattering on. The parameter `INSTANCED` of functions is `false` for
//! scenes without instances, textures and extended materials. At the first dispersive surface, a path chooses one
//! color channel.

use glam::Vec3;

use super::rays::clamp_indirect;
use crate::{
    accel::{
        instance::{
            NO_INSTANCE, consistent_normal, instance_surface, ray_origin, tangent_at, to_object,
        },
        primitive::{Surface, hit_primitive, shear, surface_at},
    },
    device::render_scene::RenderScene,
    lights::{
        light::{
            BSDF_SAMPLES, LIGHT_SAMPLES, LightSample, emitter_area_pdf, light_pdf, sample_light,
            sample_weight,
        },
        light_tree::NO_LIGHT,
    },
    math::{dot, max_component, min_f32},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay, Throughput},
    sampler::{PAIR_BLEND, PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits},
    shading::{
        bodies::{
            absorption_before, absorption_beyond, bodies_beyond, body_of, material_in,
            nested_beyond, outside_body, priority_of,
        },
        bsdf::{
            Bsdf, bsdf_of, bsdf_sample, bsdf_value,
            extended::{along_tangent, anisotropy_direction},
            is_specular, sample_specular,
        },
        material::{
            ANISOTROPIC_FACETS, BLEND, BY_SIDE, EXTENDED, MAX_BLENDS, MIRRORED_RELIEF, Material,
            TWO_SIDED_EMISSION, choose_channel, choose_material, dispersed_ior, dispersed_table,
            is_black, transmitted,
        },
        material_textures::{emission_at, material_at},
        microfacet::in_frame,
    },
};

/// A path at its hit: the input and the output of shading.
pub struct Vertex {
    /// Sampler of the path's random numbers.
    pub numbers: Sampler,
    /// Number of times that the path has scattered before.
    pub bounce: u32,
    /// Index of the instance that was hit, or `NO_INSTANCE`.
    pub instance: u32,
    /// Input: the ray that hit. Output: the next ray, if the path continues.
    pub ray: Ray,
    /// Input: the throughput before this vertex. Output: the throughput of the next ray.
    pub throughput: Throughput,
    /// Input: the list of [bodies](crate::shading::bodies) that the path is inside. Output: that of the next ray.
    pub bodies: u32,
    /// Output: radiance that the surface emits along the path, weighted and clamped.
    pub emitted: Vec3,
    /// Output: the ray towards a light, with the radiance that it adds unless it is blocked; distance 0 means none.
    pub shadow_ray: ShadowRay,
    /// Output: the instance that the shadow ray goes to, or `NO_INSTANCE`.
    pub light_instance: u32,
    /// Output: the list of bodies at the origin of the shadow ray, in scenes with boundaries of media.
    pub shadow_bodies: u32,
}

impl Vertex {
    /// Creates the vertex of a path whose `ray` hit a surface, before it is shaded. The path is inside no body, and
    /// outputs are empty.
    #[inline]
    pub fn new(
        numbers: Sampler,
        bounce: u32,
        instance: u32,
        ray: Ray,
        throughput: Throughput,
    ) -> Vertex {
        Vertex {
            numbers,
            bounce,
            instance,
            ray,
            throughput,
            bodies: 0,
            emitted: Vec3::ZERO,
            shadow_ray: ShadowRay::default(),
            light_instance: NO_INSTANCE,
            shadow_bodies: 0,
        }
    }
}

/// Returns the offset from the index of a mesh's triangle to that of its world-space copy, which represents it in light
/// sampling. Returns `NO_LIGHT` if the instance has no copies, because it is not sampled as a light.
#[inline]
pub fn instance_entry(scene: &RenderScene, instance: u32) -> u32 {
    let light_params = &scene.light_params;
    if light_params.first_instanced == NO_PRIMITIVE {
        return NO_LIGHT;
    }
    scene.light_places[(light_params.instance_entries + instance) as usize]
}

/// Returns the light that the path gains from the emission of the surface it hit: throughput times radiance times MIS
/// weight, because light sampling could have sampled the same point.
///
/// `emitted` is the radiance of the surface. `cosine` is that between the front normal and the direction back along the
/// ray, above 0.
#[inline]
pub fn emission(
    scene: &RenderScene,
    hit: &Hit,
    emitted: Vec3,
    vertex: &Vertex,
    cosine: f32,
) -> Vec3 {
    let carried = vertex.throughput.rgb * emitted;
    if vertex.ray.pdf == 0.0 {
        return carried;
    }
    let mut position = hit.primitive;
    if vertex.instance != NO_INSTANCE {
        let entry = instance_entry(scene, vertex.instance);
        if entry == NO_LIGHT {
            return carried;
        }
        position += entry;
    }
    let origin = vertex.ray.origin;
    let share = emitter_area_pdf(&scene.lights(), position, origin);
    let primitive = &scene.primitives[position as usize];
    let pdf = light_pdf(primitive, share, origin, hit.distance, cosine);
    let strategies = scene.light_params.strategies;
    carried * sample_weight(strategies, BSDF_SAMPLES, vertex.ray.pdf, pdf)
}

/// Returns the radiance of an emissive surface at the point that a light sample chose, with its texture.
///
/// `to` is the index of the primitive in the scene or in the mesh of `instance`, which is `NO_INSTANCE` for the scene.
#[inline]
pub fn sent(
    scene: &RenderScene,
    origin: Vec3,
    sample: &LightSample,
    to: u32,
    instance: u32,
) -> Vec3 {
    let chosen = &scene.primitives[sample.to_primitive as usize];
    let material = &scene.materials[chosen.material as usize];
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
        let mesh_instance = &scene.instances[instance as usize];
        local = to_object(mesh_instance, origin - mesh_instance.position);
        inward = to_object(mesh_instance, ray.direction);
    }
    let primitive = &scene.primitives[to as usize];
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
        let mesh_instance = &scene.instances[instance as usize];
        let (corners, vertices) = (&scene.corners, &scene.vertices);
        instance_surface(mesh_instance, corners, vertices, primitive, &ray, &hit)
    };
    emission_at(&scene.texture_atlas(), material, &surface)
}

/// Returns the primitive that a light sample chose, in the scene or in the mesh of an instance, that instance or
/// `NO_INSTANCE`, and the radiance sent to `origin`.
#[inline]
pub(crate) fn light_target(
    scene: &RenderScene,
    origin: Vec3,
    sample: &LightSample,
) -> (u32, u32, Vec3) {
    let mut to = sample.to_primitive;
    if to == NO_PRIMITIVE {
        return (to, NO_INSTANCE, sample.radiance);
    }
    let mut instance = NO_INSTANCE;
    if to >= scene.light_params.first_instanced {
        instance = scene.primitives[to as usize].number;
        to -= instance_entry(scene, instance);
    }
    (to, instance, sent(scene, origin, sample, to, instance))
}

/// Samples a point on a light, and stores the shadow ray in the vertex with the light that it carries. Stores nothing
/// if the sample cannot contribute. `primitive_left` is the index of the primitive that was hit.
#[inline]
pub fn connect_light<const INSTANCED: bool>(
    scene: &RenderScene,
    bsdf: &Bsdf,
    primitive_left: u32,
    surface: &Surface,
    vertex: &mut Vertex,
) {
    let (choice, _) = pair_bits(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let (u, v) = pair_bits(vertex.numbers, vertex.bounce, PAIR_LIGHT);
    let (origin, lifted) = ray_origin(surface, 1.0);
    let sample = sample_light(&scene.lights(), origin, choice, u, v);
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
    let (to, light_instance, radiance) = if INSTANCED {
        light_target(scene, origin, &sample)
    } else {
        (sample.to_primitive, NO_INSTANCE, sample.radiance)
    };
    let value = bsdf_value(
        &scene.energy,
        bsdf,
        surface.shading,
        -vertex.ray.direction,
        sample.direction,
    );
    let found = if sample.is_delta == 1 { 0.0 } else { value.pdf };
    let strategies = scene.light_params.strategies;
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
    let scatterings = vertex.bounce + 1;
    vertex.shadow_ray.light = clamp_indirect(&scene.light_params, light_here, scatterings);
}

/// Samples a light, unless the BSDF is specular, and the next ray. Stores both in the vertex. Returns whether the next
/// ray is transmitted through the surface.
///
/// The next ray leaves on the same side of the geometric and the shading normal, or the throughput becomes 0. The
/// surface's normals must face the path.
#[inline]
pub fn scatter<const INSTANCED: bool>(
    scene: &RenderScene,
    choice: f32,
    bsdf: &Bsdf,
    primitive: u32,
    surface: &Surface,
    vertex: &mut Vertex,
) -> bool {
    let (normal, to_eye) = (surface.shading, -vertex.ray.direction);
    let next = if is_specular(bsdf) {
        sample_specular(bsdf, normal, to_eye, choice)
    } else {
        if scene.light_params.light_count > 0 {
            connect_light::<INSTANCED>(scene, bsdf, primitive, surface, vertex);
        }
        let (u, v) = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
        bsdf_sample(&scene.energy, bsdf, normal, to_eye, choice, u, v)
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
    next.side < 0.0
}

/// Plays Russian roulette after scattering event `bounce` + 1: returns whether the path survives, and divides its
/// throughput by the probability of survival.
///
/// `start` is [`LightParams::roulette_start`]: paths survive unchanged before that event. From it on, the probability is
/// the largest component of the throughput, times its `eta_scale`, at most 1, so that survivors carry at least as much
/// light as the path began with. `choice` is a random number in [0, 1).
///
/// [`LightParams::roulette_start`]: crate::lights::light::LightParams::roulette_start
#[inline(always)]
pub fn survives_roulette(
    start: u32,
    bounce: u32,
    choice: f32,
    throughput: &mut Throughput,
) -> bool {
    if bounce + 1 < start {
        return true;
    }
    let chance = min_f32(max_component(throughput.rgb) * throughput.eta_scale, 1.0);
    throughput.rgb *= 1.0 / chance;
    choice < chance
}

/// Returns the light that the path gains from the emission of an emissive surface it hit, weighted and clamped.
/// `cosine` is that between the front normal and the direction back along the ray.
#[inline]
pub(crate) fn emitted_light(
    scene: &RenderScene,
    hit: &Hit,
    material: &Material,
    vertex: &Vertex,
    cosine: f32,
) -> Vec3 {
    let emitted = if cosine > 0.0 {
        emission(scene, hit, material.emission, vertex, cosine)
    } else if material.flags & TWO_SIDED_EMISSION != 0 {
        vertex.throughput.rgb * material.emission
    } else {
        Vec3::ZERO
    };
    clamp_indirect(&scene.light_params, emitted, vertex.bounce)
}

/// Returns the material at a point of a surface, with its textures, whose normal maps bend the surface's shading
/// normals. Of a blend it is one of the materials, with the emission of the blend; the random number of the path, or
/// the side that was hit, chooses it.
#[inline]
pub fn material_here<const INSTANCED: bool>(
    scene: &RenderScene,
    vertex: &Vertex,
    surface: &mut Surface,
) -> Material {
    let table = &scene.materials[surface.material as usize];
    // Before a normal map bends the shading normal.
    let front = -dot(vertex.ray.direction, surface.shading) > 0.0;
    let mut is_turned = false;
    let mut textured = |table: &Material, surface: &mut Surface| {
        if INSTANCED && table.maps != 0 {
            // The opposite tangent reverses the slopes of the relief.
            let turns = !front && table.flags & MIRRORED_RELIEF != 0;
            if turns != is_turned {
                surface.tangent = -surface.tangent;
            }
            is_turned = turns;
            material_at(&scene.texture_atlas(), table, surface)
        } else {
            *table
        }
    };
    let mut material = textured(table, surface);
    if !INSTANCED || material.flags & BLEND == 0 {
        return material;
    }
    let (emission, sides) = (material.emission, material.flags & TWO_SIDED_EMISSION);
    let mut choice = pair(vertex.numbers, vertex.bounce, PAIR_BLEND).0;
    for _ in 0..MAX_BLENDS {
        if material.flags & BLEND == 0 {
            break;
        }
        if !front && material.flags & BY_SIDE != 0 {
            material.weight = 1.0;
        }
        let (index, rest) = choose_material(&material, choice);
        choice = rest;
        material = textured(&scene.materials[index as usize], surface);
    }
    material.emission = emission;
    material.flags = (material.flags & !TWO_SIDED_EMISSION) | sides;
    material
}

/// Why a path ended at a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has scattered as often as it may.
    LastBounce,
    /// The surface scatters no light on the path.
    Absorbed,
    /// Russian roulette ended it.
    Roulette,
}

/// Shades one path at its hit: writes the outputs of `vertex`. The path continues unless the result says why it ended.
/// `scatters` is `false` at the maximum number of bounces, where only emission counts.
#[inline]
pub fn shade_path<const INSTANCED: bool>(
    scene: &RenderScene,
    scatters: bool,
    hit: &Hit,
    vertex: &mut Vertex,
) -> Result<(), Ended> {
    let primitive = &scene.primitives[hit.primitive as usize];
    let mut surface = if INSTANCED && vertex.instance != NO_INSTANCE {
        let mesh_instance = &scene.instances[vertex.instance as usize];
        let (corners, vertices) = (&scene.corners, &scene.vertices);
        instance_surface(
            mesh_instance,
            corners,
            vertices,
            primitive,
            &vertex.ray,
            hit,
        )
    } else {
        surface_at(primitive, &vertex.ray, hit)
    };
    let material = &material_here::<INSTANCED>(scene, vertex, &mut surface);
    let cosine = -dot(vertex.ray.direction, surface.normal);
    let front = cosine > 0.0;
    let absorption = if scene.light_params.tracks_bodies == 1 && !scene.has_boundaries() {
        let body = body_of(surface.material);
        absorption_before(&scene.materials, vertex.bodies, body, material, front)
    } else {
        Vec3::ZERO
    };
    if max_component(absorption) > 0.0 {
        vertex.throughput.rgb *= transmitted(absorption, hit.distance);
    }
    if max_component(material.emission) > 0.0 {
        vertex.emitted = emitted_light(scene, hit, material, vertex, cosine);
    }
    if !scatters {
        return Err(Ended::LastBounce);
    }
    if !front && material.one_sided == 1 {
        return Err(Ended::Absorbed);
    }
    // A lamp, for example. It would be in vain to choose a light for it.
    if is_black(material) {
        vertex.throughput.rgb = Vec3::ZERO;
        return Err(Ended::Absorbed);
    }
    let side = if front { 1.0 } else { -1.0 };
    let normal = surface.normal * side;
    let front_shading = surface.shading;
    let (shading, coat) = if INSTANCED {
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
    let mut choice = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let (mut tangent, mut along2) = (Vec3::ZERO, 0.0);
    let mut material = material;
    let mut refracting;
    if material.kind == EXTENDED || material.flags & ANISOTROPIC_FACETS != 0 {
        let (from, handedness) = (surface.tangent, surface.handedness);
        let direction = anisotropy_direction(material, front_shading, from, handedness);
        tangent = tangent_at(direction, surface.shading);
        along2 = along_tangent(in_frame(surface.shading, tangent, -vertex.ray.direction));
        if material.dispersion > 0.0 && material.transmission > 0.0 {
            refracting = *material;
            let channel;
            (vertex.throughput.rgb, channel, choice.1) =
                choose_channel(vertex.throughput.rgb, choice.1);
            refracting.table = dispersed_table(material, channel);
            refracting.ior = dispersed_ior(material, channel);
            material = &refracting;
        }
    }
    let nested;
    if scene.has_priorities() && priority_of(material) > 0 {
        let outside = outside_body(vertex.bodies, body_of(surface.material));
        if outside != 0 {
            let outside = &scene.materials[outside as usize - 1];
            let mut outside_ior = outside.ior;
            if outside.dispersion > 0.0 {
                let channel;
                (vertex.throughput.rgb, channel, choice.1) =
                    choose_channel(vertex.throughput.rgb, choice.1);
                outside_ior = dispersed_ior(outside, channel);
            }
            nested = material_in(&scene.energy, material, outside_ior);
            material = &nested;
        }
    }
    let mut bsdf = bsdf_of(&scene.energy, material, cos_eye, cos_coat, along2, front);
    bsdf.coat_normal = surface.coat;
    bsdf.tangent = tangent;
    let is_transmitted =
        scatter::<INSTANCED>(scene, choice.0, &bsdf, hit.primitive, &surface, vertex);
    if scene.light_params.tracks_bodies == 1 {
        let body = body_of(surface.material);
        let beyond = if scene.has_priorities() {
            nested_beyond(&scene.materials, vertex.bodies, body, material, front)
        } else {
            bodies_beyond(vertex.bodies, body, material, front)
        };
        let shadow_ray = &mut vertex.shadow_ray;
        let is_below = dot(surface.shading, shadow_ray.direction) < 0.0;
        vertex.shadow_bodies = if is_below { beyond } else { vertex.bodies };
        // No light at infinity is inside a body.
        let is_near = shadow_ray.distance > 0.0 && shadow_ray.distance < f32::MAX;
        if is_near && !scene.has_boundaries() {
            let absorption = if is_below {
                absorption_beyond(&scene.materials, beyond, absorption, material, front)
            } else {
                absorption
            };
            if max_component(absorption) > 0.0 {
                shadow_ray.light *= transmitted(absorption, shadow_ray.distance);
            }
        }
        if is_transmitted {
            vertex.bodies = beyond;
        }
    }
    let carries_light = max_component(vertex.throughput.rgb) > 0.0;
    let start = scene.light_params.roulette_start;
    if !carries_light {
        Err(Ended::Absorbed)
    } else if survives_roulette(start, vertex.bounce, choice.1, &mut vertex.throughput) {
        Ok(())
    } else {
        Err(Ended::Roulette)
    }
}
