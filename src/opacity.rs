//! Surfaces that hide only a part of what is behind them. Twin: `kernels/shared/opacity.cuh`.
//!
//! A ray meets such a surface, or does not, by a random number of its own for every surface: a hash of the sample, the
//! bounce, the instance and the primitive (as of stochastic any-hit tests: Enderton et al. 2010, Stochastic Transparency).
//! So the nearest that is met depends neither on the tree nor on the order of the tests.

use glam::Vec3;

use crate::{
    bvh::{PlacedScene, visit_placed},
    instance::{
        COORDINATES, Corners, MeshVertex, NO_INSTANCE, PlacedHit, SECOND_COORDINATES, enter,
        nearer_placed_hit, placed_material,
    },
    maps::{Imagery, MAP_OPACITY, cut, part_of},
    material::Material,
    math::normalize,
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{SPHERE, Shear, hit_primitive, shear, sphere_coordinates},
    sampler::{Sampler, hash, unit},
    texture::sample_texture,
};

/// All that says how much a surface hides.
#[derive(Clone, Copy)]
pub struct Veils<'a> {
    /// What rays are traced through.
    pub scene: PlacedScene<'a>,
    /// By instance and triangle.
    pub corners: &'a [Corners],
    /// By corner.
    pub vertices: &'a [MeshVertex],
    /// By index.
    pub materials: &'a [Material],
    /// Their textures.
    pub imagery: Imagery<'a>,
}

/// `veil_key`: of the path's ray to its next hit.
pub const PATH_RAY: u32 = 0;
/// `veil_key`: of the shadow ray from there.
pub const LIGHT_RAY: u32 = 1;

/// What the random numbers of one ray depend on.
#[inline]
pub fn veil_key(sampler: Sampler, bounce: u32, ray: u32) -> u32 {
    hash(
        sampler.key
            ^ hash(sampler.sample ^ hash((bounce.wrapping_mul(2).wrapping_add(ray)) ^ 0x510e_527f)),
    )
}

/// The random number of a surface, in [0, 1).
#[inline]
pub fn veil_number(key: u32, number: u32, instance: u32) -> f32 {
    unit(hash(key ^ hash(number ^ hash(instance))))
}

/// Texture coordinates where a ray meets a primitive; the second ones if `second` is 1.
#[inline]
pub fn coordinates_at(veils: &Veils, ray: &Ray, found: &PlacedHit, second: u32) -> (f32, f32) {
    let hit = &found.hit;
    let primitive = &veils.scene.primitives[hit.primitive as usize];
    if primitive.kind == SPHERE {
        let normal = normalize(ray.origin + ray.direction * hit.distance - primitive.a);
        return sphere_coordinates(normal);
    }
    if found.instance != NO_INSTANCE {
        let placed = &veils.scene.instances[found.instance as usize];
        if placed.holds & COORDINATES != 0 {
            let at = veils.corners[hit.primitive.wrapping_add(placed.corners) as usize];
            let next = second & u32::from(placed.holds & SECOND_COORDINATES != 0);
            let a = &veils.vertices[(at.a + next) as usize];
            let b = &veils.vertices[(at.b + next) as usize];
            let c = &veils.vertices[(at.c + next) as usize];
            let first = 1.0 - hit.u - hit.v;
            return (
                a.u * first + b.u * hit.u + c.u * hit.v,
                a.v * first + b.v * hit.u + c.v * hit.v,
            );
        }
    }
    (hit.u, 1.0 - hit.v)
}

/// How much a surface hides where a ray meets it, 0..=1.
#[inline]
pub fn opacity_at(veils: &Veils, ray: &Ray, found: &PlacedHit) -> f32 {
    let primitive = &veils.scene.primitives[found.hit.primitive as usize];
    let material = if found.instance == NO_INSTANCE {
        primitive.material
    } else {
        placed_material(&veils.scene.instances[found.instance as usize], primitive)
    };
    let maps = veils.materials[material as usize].maps;
    if maps == 0 {
        return 1.0;
    }
    let maps = &veils.imagery.maps[maps as usize];
    if maps.used & (1 << MAP_OPACITY) == 0 {
        return cut(maps, maps.opacity);
    }
    let map = maps.of[MAP_OPACITY as usize];
    let texture = &veils.imagery.textures[(map >> 2) as usize];
    let (u, v) = coordinates_at(veils, ray, found, texture.second);
    let value = sample_texture(veils.imagery.texels, texture, u, v);
    cut(maps, maps.opacity * part_of(value, map & 3))
}

/// Whether a ray meets a surface there.
#[inline]
pub fn meets(veils: &Veils, ray: &Ray, found: &PlacedHit, key: u32) -> bool {
    let primitive = &veils.scene.primitives[found.hit.primitive as usize];
    veil_number(key, primitive.number, found.instance) < opacity_at(veils, ray, found)
}

/// What `nearer_placed_hit` does, with what the ray meets; a sphere's far side has a chance of its own.
#[inline]
pub fn nearer_met_hit(
    veils: &Veils,
    (position, instance, origin): (u32, u32, Vec3),
    ray: &Ray,
    from: u32,
    shear: &Shear,
    key: u32,
    best: &mut PlacedHit,
) {
    let primitives = veils.scene.primitives;
    let at = (position, instance, origin);
    let mut near = *best;
    nearer_placed_hit(primitives, at, ray, from, shear, &mut near);
    if near.hit.primitive != position || near.instance != instance {
        return;
    }
    if meets(veils, ray, &near, key) {
        *best = near;
        return;
    }
    if primitives[position as usize].kind != SPHERE {
        return;
    }
    let leaving = Ray {
        from: position,
        ..*ray
    };
    let mut far = *best;
    nearer_placed_hit(primitives, at, &leaving, instance, shear, &mut far);
    let behind = far.hit.primitive == position && far.hit.distance > near.hit.distance;
    if behind && meets(veils, ray, &far, hash(key)) {
        *best = far;
    }
}

/// What `placed_blocks` does, with what the ray meets.
#[inline]
pub fn met_blocks(
    veils: &Veils,
    (position, instance, origin): (u32, u32, Vec3),
    ray: &ShadowRay,
    (from, to): (u32, u32),
    shear: &Shear,
    key: u32,
) -> bool {
    if position == ray.to && instance == to {
        return false;
    }
    let along = Ray {
        origin: ray.origin,
        pdf: 0.0,
        direction: ray.direction,
        from: ray.from,
    };
    let mut best = PlacedHit {
        hit: Hit {
            distance: ray.distance,
            primitive: NO_PRIMITIVE,
            u: 0.0,
            v: 0.0,
        },
        instance: NO_INSTANCE,
    };
    let at = (position, instance, origin);
    nearer_met_hit(veils, at, &along, from, shear, key, &mut best);
    best.hit.distance < ray.distance
}

/// What `nearest_placed` does, with what the ray meets.
#[inline(never)]
pub fn nearest_veiled(veils: &Veils, ray: &Ray, from: u32, key: u32) -> PlacedHit {
    let mut best = PlacedHit {
        hit: Hit {
            distance: f32::MAX,
            primitive: NO_PRIMITIVE,
            u: 0.0,
            v: 0.0,
        },
        instance: NO_INSTANCE,
    };
    visit_placed(
        &veils.scene,
        (ray.origin, ray.direction),
        f32::MAX,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            nearer_met_hit(veils, at, ray, from, shear, key, &mut best);
            best.hit.distance
        },
    );
    best
}

/// Whether a shadow ray meets the point of a light that it goes to, if nothing else.
#[inline]
pub fn meets_light(veils: &Veils, ray: &ShadowRay, to: u32, key: u32) -> bool {
    if ray.to == NO_PRIMITIVE {
        return true;
    }
    let along = Ray {
        origin: ray.origin,
        pdf: 0.0,
        direction: ray.direction,
        from: ray.from,
    };
    let mut origin = ray.origin;
    let mut inward = ray.direction;
    if to != NO_INSTANCE {
        let placed = &veils.scene.instances[to as usize];
        origin = enter(placed, ray.origin - placed.position);
        inward = enter(placed, ray.direction);
    }
    let primitive = &veils.scene.primitives[ray.to as usize];
    let (_, u, v) = hit_primitive(primitive, origin, ray.direction, &shear(inward), false);
    let hit = Hit {
        distance: ray.distance,
        primitive: ray.to,
        u,
        v,
    };
    meets(veils, &along, &PlacedHit { hit, instance: to }, key)
}

/// What `occluded_placed` does, with what the ray meets; the light is in its own way where it is not met.
#[inline(never)]
pub fn occluded_veiled(veils: &Veils, ray: &ShadowRay, from: u32, to: u32, key: u32) -> bool {
    let mut blocked = !meets_light(veils, ray, to, key);
    if blocked {
        return true;
    }
    visit_placed(
        &veils.scene,
        (ray.origin, ray.direction),
        ray.distance,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            blocked = met_blocks(veils, at, ray, (from, to), shear, key);
            if blocked { -1.0 } else { ray.distance }
        },
    );
    blocked
}
