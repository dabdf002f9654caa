//! Shadow rays in the form in which kernels read and write them.

use raysieve::{
    device::path_buffers::{PackedShadowRay, ShadowOrigin},
    path::{Ray, ShadowRay},
    wavefront::Step,
};

use crate::buffers::Buffers;

/// The shadow rays of a wave, by queue entry, as kernels store them.
#[derive(Clone, Default)]
pub(crate) struct PackedShadowRays {
    pub(crate) rays: Vec<PackedShadowRay>,
    pub(crate) origins: Vec<ShadowOrigin>,
}

impl PackedShadowRays {
    /// Packs shadow rays. `queue` and `rays` are those of the wave: a shadow ray with the origin and primitive of its
    /// path's ray is marked as sharing it. All origins are kept, for entries without a shadow ray.
    pub(crate) fn pack(shadow_rays: &[ShadowRay], queue: &[u32], rays: &[Ray]) -> PackedShadowRays {
        let pack = |(shadow_ray, &path): (&ShadowRay, &u32)| PackedShadowRay {
            direction: shadow_ray.direction,
            signed_distance: match rays.get(path as usize) {
                Some(next) if shares_origin(shadow_ray, next) => shadow_ray.distance,
                _ => -shadow_ray.distance,
            },
            light: shadow_ray.light,
            to_primitive: shadow_ray.to_primitive,
        };
        let origins = shadow_rays.iter().map(|shadow_ray| ShadowOrigin {
            origin: shadow_ray.origin,
            from_primitive: shadow_ray.from_primitive,
        });
        PackedShadowRays {
            rays: shadow_rays.iter().zip(queue).map(pack).collect(),
            origins: origins.collect(),
        }
    }

    /// Returns the shadow rays after a step that began with the buffers `before` and left `rays`. An entry of distance
    /// 0, which means that there is no shadow ray, has the origin that was packed.
    pub(crate) fn unpack(&self, step: Step, before: &Buffers, rays: &[Ray]) -> Vec<ShadowRay> {
        let stores_shadow_rays = matches!(step, Step::Shade(_));
        let rays = if stores_shadow_rays {
            rays
        } else {
            &before.rays
        };
        let unpack = |((packed, own), &path): ((&PackedShadowRay, &ShadowOrigin), &u32)| {
            let is_own = packed.signed_distance.is_sign_negative() || packed.signed_distance == 0.0;
            let (origin, from_primitive) = if is_own {
                (own.origin, own.from_primitive)
            } else {
                let next = &rays[path as usize];
                (next.origin, next.from_primitive)
            };
            ShadowRay {
                origin,
                distance: packed.signed_distance.abs(),
                direction: packed.direction,
                from_primitive,
                light: packed.light,
                to_primitive: packed.to_primitive,
            }
        };
        let entries = self.rays.iter().zip(&self.origins).zip(&before.queue);
        entries.map(unpack).collect()
    }
}

/// Returns whether a shadow ray leaves the same point and primitive as another ray.
fn shares_origin(shadow_ray: &ShadowRay, next: &Ray) -> bool {
    let bits = |origin: glam::Vec3| origin.to_array().map(f32::to_bits);
    shadow_ray.from_primitive == next.from_primitive && bits(shadow_ray.origin) == bits(next.origin)
}
