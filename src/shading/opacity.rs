//! Stochastic opacity: alpha-tested and partly transparent surfaces. Twin: `kernels/shared/opacity.cuh`.
//!
//! A ray intersects such a surface with probability equal to its opacity. The random number is a hash of the sample,
//! the bounce, the instance and the primitive (stochastic any-hit tests: Enderton et al. 2010, Stochastic
//! Transparency), so that the nearest accepted hit depends neither on the BVH nor on the order of tests.

mod on_cpu;

use glam::Vec3;

use crate::{
    accel::{
        bvh::{InstancedScene, visit_instanced},
        instance::{
            COORDINATES, Corners, InstanceHit, MeshVertex, NO_INSTANCE, OpacityTest,
            SECOND_COORDINATES, instance_material, nearer_instance_hit, to_object,
        },
        primitive::{Primitive, Shear, hit_primitive, shear, sphere_coordinates},
    },
    math::normalize,
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    sampler::{Sampler, hash, unit},
    shading::{
        material::{HIDDEN, Material},
        material_textures::{MAP_OPACITY, TextureAtlas, apply_cutoff, channel_value},
        opacity_map::{OPAQUE, TRANSPARENT, known_opacity},
        texture::sample_texture,
    },
};

/// All data that the opacity test during traversal reads, borrowed from the scene.
#[derive(Clone, Copy)]
pub struct StochasticOpacity<'a> {
    /// The BVH, primitives and instances.
    pub scene: InstancedScene<'a>,
    /// Vertex indices of mesh triangles, which lead to their texture coordinates.
    pub corners: &'a [Corners],
    /// Vertex attributes of meshes, of which opacity reads the texture coordinates.
    pub vertices: &'a [MeshVertex],
    /// The scene's materials, by index. `Material::maps` is the index of a material's textures and opacity in
    /// `atlas.maps`; 0 for an opaque material without textures.
    pub materials: &'a [Material],
    /// The opacity factors, cutoffs and textures of the materials, see `materials`.
    pub atlas: TextureAtlas<'a>,
    /// Opacity maps of the primitives, see [`opacity_map`](super::opacity_map).
    pub opacity_maps: &'a [u32],
    /// Whether the rays are camera rays, which do not see materials with the flag [`HIDDEN`].
    pub from_camera: bool,
}

impl StochasticOpacity<'_> {
    /// Returns the test for the rays of paths at a bounce; 0 is that of the camera rays.
    #[inline(always)]
    pub fn of_path_rays(self, bounce: u32) -> Self {
        StochasticOpacity {
            from_camera: bounce == 0,
            ..self
        }
    }

    /// Returns the result of the opacity test at a hit if the opacity map knows it for all random numbers.
    #[inline(always)]
    fn known_result(&self, hit: &Hit) -> Option<bool> {
        match known_opacity(self.opacity_maps, hit.primitive, hit.u, hit.v) {
            OPAQUE => Some(true),
            TRANSPARENT => Some(false),
            _ => None,
        }
    }
}

impl OpacityTest for StochasticOpacity<'_> {
    const IS_NEEDED: bool = true;

    #[inline]
    fn accepts(&self, ray: &Ray, found: &InstanceHit, key: u32) -> bool {
        on_cpu::accepts(self, ray, found, key)
    }

    #[inline]
    fn nearer_hit(
        &self,
        at: (u32, u32, Vec3),
        ray: &Ray,
        from: u32,
        shear: &Shear,
        key: u32,
        best: &mut InstanceHit,
    ) {
        nearer_alpha_tested_hit(self, at, ray, from, shear, key, best);
    }
}

/// Argument `ray` of [`opacity_hash`]: the path's ray to its next hit.
pub const PATH_RAY: u32 = 0;
/// Argument `ray` of [`opacity_hash`]: the shadow ray from that hit.
pub const SHADOW_RAY: u32 = 1;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![PATH_RAY, SHADOW_RAY];

/// Returns the hash on which all opacity tests of one ray depend. `ray` is [`PATH_RAY`] or [`SHADOW_RAY`].
#[inline]
pub fn opacity_hash(sampler: Sampler, bounce: u32, ray: u32) -> u32 {
    hash(
        sampler.key
            ^ hash(sampler.sample ^ hash((bounce.wrapping_mul(2).wrapping_add(ray)) ^ 0x510e_527f)),
    )
}

/// Returns the random number in [0, 1) that decides whether a ray hits a surface. `number` is the primitive's number.
#[inline]
pub fn opacity_random(key: u32, number: u32, instance: u32) -> f32 {
    unit(hash(key ^ hash(number ^ hash(instance))))
}

/// Returns the texture coordinates (u, v) where a ray hits a primitive; the second set if `second` is 1 and the mesh
/// has one.
#[inline]
pub fn coordinates_at(
    opacity: &StochasticOpacity,
    ray: &Ray,
    found: &InstanceHit,
    second: u32,
) -> (f32, f32) {
    let hit = &found.hit;
    let primitive = &opacity.scene.primitives[hit.primitive as usize];
    if primitive.is_sphere() {
        let normal = normalize(ray.origin + ray.direction * hit.distance - primitive.a);
        return sphere_coordinates(normal);
    }
    if found.instance != NO_INSTANCE {
        let mesh_instance = &opacity.scene.instances[found.instance as usize];
        if mesh_instance.flags & COORDINATES != 0 {
            let at = opacity.corners[hit.primitive.wrapping_add(mesh_instance.corners) as usize];
            let next = second & u32::from(mesh_instance.flags & SECOND_COORDINATES != 0);
            let a = &opacity.vertices[(at.a + next) as usize];
            let b = &opacity.vertices[(at.b + next) as usize];
            let c = &opacity.vertices[(at.c + next) as usize];
            let first = 1.0 - hit.u - hit.v;
            return (
                a.u * first + b.u * hit.u + c.u * hit.v,
                a.v * first + b.v * hit.u + c.v * hit.v,
            );
        }
    }
    (hit.u, 1.0 - hit.v)
}

/// Returns the opacity of the surface where a ray hits it, 0..=1; 0 if the camera does not see it.
#[inline]
pub fn opacity_at(opacity: &StochasticOpacity, ray: &Ray, found: &InstanceHit) -> f32 {
    let primitive = &opacity.scene.primitives[found.hit.primitive as usize];
    let material = if found.instance == NO_INSTANCE {
        primitive.material
    } else {
        instance_material(&opacity.scene.instances[found.instance as usize], primitive)
    };
    let material = &opacity.materials[material as usize];
    if material.maps == 0 {
        return 1.0;
    }
    if opacity.from_camera && material.flags & HIDDEN != 0 {
        return 0.0;
    }
    let maps = &opacity.atlas.maps[material.maps as usize];
    if maps.used & (1 << MAP_OPACITY) == 0 {
        return apply_cutoff(maps, maps.opacity);
    }
    let map = maps.textures[MAP_OPACITY as usize];
    let texture = &opacity.atlas.textures[(map >> 2) as usize];
    let (u, v) = coordinates_at(opacity, ray, found, texture.second);
    let value = sample_texture(opacity.atlas.texels, texture, u, v);
    apply_cutoff(maps, maps.opacity * channel_value(value, map & 3))
}

/// Returns whether a ray's intersection with a surface is accepted by the opacity test.
#[inline]
pub fn passes_opacity(
    opacity: &StochasticOpacity,
    ray: &Ray,
    found: &InstanceHit,
    key: u32,
) -> bool {
    if let Some(passes) = opacity.known_result(&found.hit) {
        return passes;
    }
    let primitive = &opacity.scene.primitives[found.hit.primitive as usize];
    opacity_random(key, primitive.number, found.instance) < opacity_at(opacity, ray, found)
}

/// Replaces `best` by the ray's hit with one primitive if that is nearer and passes the opacity test.
///
/// The tuple holds the primitive's index, its instance and the ray's origin in the instance's object space. If a
/// sphere's near side fails the test, its far side is tested with another random number.
#[inline]
pub fn nearer_alpha_tested_hit(
    opacity: &StochasticOpacity,
    (position, instance, origin): (u32, u32, Vec3),
    ray: &Ray,
    from: u32,
    shear: &Shear,
    key: u32,
    best: &mut InstanceHit,
) {
    let primitives = opacity.scene.primitives;
    let at = (position, instance, origin);
    let mut near = *best;
    nearer_instance_hit(primitives, at, ray, from, shear, &mut near);
    if near.hit.primitive != position || near.instance != instance {
        return;
    }
    if passes_opacity(opacity, ray, &near, key) {
        *best = near;
        return;
    }
    if !primitives[position as usize].is_sphere() {
        return;
    }
    let leaving = Ray {
        from_primitive: position,
        ..*ray
    };
    let mut far = *best;
    nearer_instance_hit(primitives, at, &leaving, instance, shear, &mut far);
    let behind = far.hit.primitive == position && far.hit.distance > near.hit.distance;
    if behind && passes_opacity(opacity, ray, &far, hash(key)) {
        *best = far;
    }
}

/// Returns whether one primitive blocks a shadow ray, opacity test included. See [`nearer_alpha_tested_hit`] for the
/// tuple.
///
/// `from` and `to` are the instances that the ray leaves and goes to.
#[inline]
pub fn alpha_tested_blocks(
    opacity: &StochasticOpacity,
    (position, instance, origin): (u32, u32, Vec3),
    ray: &ShadowRay,
    (from, to): (u32, u32),
    shear: &Shear,
    key: u32,
) -> bool {
    if position == ray.to_primitive && instance == to {
        return false;
    }
    let along = Ray {
        origin: ray.origin,
        pdf: 0.0,
        direction: ray.direction,
        from_primitive: ray.from_primitive,
    };
    let mut best = InstanceHit::none_within(ray.distance);
    let at = (position, instance, origin);
    nearer_alpha_tested_hit(opacity, at, &along, from, shear, key, &mut best);
    best.hit.distance < ray.distance
}

/// Returns the ray's nearest hit that passes the opacity test. `from` is the instance that the ray leaves.
#[inline(never)]
pub fn nearest_alpha_tested(
    opacity: &StochasticOpacity,
    ray: &Ray,
    from: u32,
    key: u32,
) -> InstanceHit {
    let mut best = InstanceHit::none_within(f32::MAX);
    visit_instanced(
        &opacity.scene,
        (ray.origin, ray.direction),
        f32::MAX,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            nearer_alpha_tested_hit(opacity, at, ray, from, shear, key, &mut best);
            best.hit.distance
        },
    );
    best
}

/// Returns whether a hit lies behind another one of the same ray, `after`, in the order of [`nearer_instance_hit`].
/// Every hit lies behind one without a primitive.
#[inline]
pub fn is_beyond(primitives: &[Primitive], found: &InstanceHit, after: &InstanceHit) -> bool {
    if after.hit.primitive == NO_PRIMITIVE {
        return true;
    }
    if found.hit.distance != after.hit.distance {
        return found.hit.distance > after.hit.distance;
    }
    let (ours, others) = (
        found.instance.wrapping_add(1),
        after.instance.wrapping_add(1),
    );
    if ours != others {
        return ours > others;
    }
    let number = primitives[found.hit.primitive as usize].number;
    number > primitives[after.hit.primitive as usize].number
}

/// Replaces `best` by the ray's hit with one primitive if that is nearer, lies behind `after` and passes the opacity
/// test. See [`nearer_alpha_tested_hit`] for the tuple.
#[expect(
    clippy::too_many_arguments,
    reason = "the kernel of the same name takes them"
)]
#[inline]
pub fn nearer_hit_beyond(
    opacity: &StochasticOpacity,
    (position, instance, origin): (u32, u32, Vec3),
    ray: &Ray,
    from: u32,
    shear: &Shear,
    key: u32,
    after: &InstanceHit,
    best: &mut InstanceHit,
) {
    let primitives = opacity.scene.primitives;
    let at = (position, instance, origin);
    let mut near = *best;
    nearer_instance_hit(primitives, at, ray, from, shear, &mut near);
    if near.hit.primitive != position || near.instance != instance {
        return;
    }
    if is_beyond(primitives, &near, after) && passes_opacity(opacity, ray, &near, key) {
        *best = near;
        return;
    }
    if !primitives[position as usize].is_sphere() {
        return;
    }
    let leaving = Ray {
        from_primitive: position,
        ..*ray
    };
    let mut far = *best;
    nearer_instance_hit(primitives, at, &leaving, instance, shear, &mut far);
    let behind = far.hit.primitive == position && far.hit.distance > near.hit.distance;
    if behind && is_beyond(primitives, &far, after) && passes_opacity(opacity, ray, &far, hash(key))
    {
        *best = far;
    }
}

/// Returns the ray's nearest hit behind `after` that passes the opacity test, within `distance` metres. `from` is the
/// instance that the ray leaves. `to` is a primitive with its instance that the ray ignores.
///
/// All hits of a ray, one after the other, are found from one origin, so that none of several coincident surfaces is
/// lost to rounding.
#[inline(never)]
pub fn nearest_beyond(
    opacity: &StochasticOpacity,
    ray: &Ray,
    from: u32,
    key: u32,
    after: &InstanceHit,
    distance: f32,
    to: (u32, u32),
) -> InstanceHit {
    let mut best = InstanceHit::none_within(distance);
    visit_instanced(
        &opacity.scene,
        (ray.origin, ray.direction),
        distance,
        |position, instance, origin, shear| {
            if (position, instance) != to {
                let at = (position, instance, origin);
                nearer_hit_beyond(opacity, at, ray, from, shear, key, after, &mut best);
            }
            best.hit.distance
        },
    );
    best
}

/// Returns whether the sampled point of a light itself passes the opacity test; always true for lights that are not
/// surfaces.
///
/// `to` is the light's instance.
#[inline]
pub fn light_passes_opacity(
    opacity: &StochasticOpacity,
    ray: &ShadowRay,
    to: u32,
    key: u32,
) -> bool {
    if ray.to_primitive == NO_PRIMITIVE {
        return true;
    }
    let along = Ray {
        origin: ray.origin,
        pdf: 0.0,
        direction: ray.direction,
        from_primitive: ray.from_primitive,
    };
    let mut origin = ray.origin;
    let mut inward = ray.direction;
    if to != NO_INSTANCE {
        let mesh_instance = &opacity.scene.instances[to as usize];
        origin = to_object(mesh_instance, ray.origin - mesh_instance.position);
        inward = to_object(mesh_instance, ray.direction);
    }
    let primitive = &opacity.scene.primitives[ray.to_primitive as usize];
    let (_, u, v) = hit_primitive(primitive, origin, ray.direction, &shear(inward), false);
    let hit = Hit {
        distance: ray.distance,
        primitive: ray.to_primitive,
        u,
        v,
    };
    passes_opacity(opacity, &along, &InstanceHit { hit, instance: to }, key)
}

/// Returns whether a shadow ray is blocked, opacity tests included. The light's own surface blocks it if the sampled
/// point fails its test.
#[inline(never)]
pub fn occluded_alpha_tested(
    opacity: &StochasticOpacity,
    ray: &ShadowRay,
    from: u32,
    to: u32,
    key: u32,
) -> bool {
    let mut blocked = !light_passes_opacity(opacity, ray, to, key);
    if blocked {
        return true;
    }
    visit_instanced(
        &opacity.scene,
        (ray.origin, ray.direction),
        ray.distance,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            blocked = alpha_tested_blocks(opacity, at, ray, (from, to), shear, key);
            if blocked { -1.0 } else { ray.distance }
        },
    );
    blocked
}
