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
    /// Packs the shadow rays of a wave before a step. A shadow ray with the origin and primitive of its path's ray is
    /// marked as sharing it. Its own origin is kept only for steps other than `Shadow`, which must not read it.
    pub(crate) fn pack(step: Step, buffers: &Buffers) -> PackedShadowRays {
        let mut packed = PackedShadowRays::default();
        for (shadow_ray, &path) in buffers.shadow_rays.iter().zip(&buffers.queue) {
            let next = buffers.rays.get(path as usize);
            let shares = next.is_some_and(|next| shares_origin(shadow_ray, next));
            let distance = shadow_ray.distance;
            packed.rays.push(PackedShadowRay {
                direction: shadow_ray.direction,
                distance_and_sign: if shares { distance } else { -distance },
                light: shadow_ray.light,
                to_primitive: shadow_ray.to_primitive,
            });
            let is_read = !shares || distance == 0.0 || !matches!(step, Step::Shadow(_));
            packed.origins.push(if is_read {
                ShadowOrigin {
                    origin: shadow_ray.origin,
                    from_primitive: shadow_ray.from_primitive,
                }
            } else {
                ShadowOrigin::default()
            });
        }
        packed
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
            let is_own =
                packed.distance_and_sign.is_sign_negative() || packed.distance_and_sign == 0.0;
            let (origin, from_primitive) = if is_own {
                (own.origin, own.from_primitive)
            } else {
                let next = &rays[path as usize];
                (next.origin, next.from_primitive)
            };
            ShadowRay {
                origin,
                distance: packed.distance_and_sign.abs(),
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
