//! Delta distributions: mirrors, smooth conductors and smooth dielectrics. Twin: `kernels/shared/specular.cuh`.

use glam::Vec3;

use crate::{
    math::dot,
    shading::{
        bsdf::conductor::metal_reflectance,
        bsdf_types::{Bsdf, BsdfSample},
        material::{CONDUCTOR, DIELECTRIC, MIRROR, THIN, fresnel, reflect, refract},
    },
};

/// Returns whether the BSDF consists of delta distributions only, so that light samples contribute nothing.
#[inline]
pub fn is_specular(bsdf: &Bsdf) -> bool {
    bsdf.kind == MIRROR || bsdf.kind == DIELECTRIC || bsdf.kind == CONDUCTOR
}

/// Samples the next direction of a mirror, smooth conductor or smooth dielectric.
///
/// `choice`, uniform in [0, 1), decides between reflection and refraction. The weight of a refraction contains the
/// radiance scaling by the squared ratio of the refractive indices. Light that a thin pane lets pass keeps its direction,
/// and all reflections between its sides count.
#[inline]
pub fn sample_specular(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, choice: f32) -> BsdfSample {
    let eta = bsdf.eta;
    let cos_in = dot(normal, to_eye);
    let (mut reflected, cos_out) = if bsdf.kind == DIELECTRIC {
        fresnel(cos_in, eta)
    } else {
        (1.0, 0.0)
    };
    let thin = bsdf.flags & THIN != 0;
    if thin {
        // The sum of the geometric series.
        reflected = 2.0 * reflected / (1.0 + reflected);
    }
    if choice < reflected {
        return BsdfSample {
            direction: reflect(-to_eye, normal),
            weight: if bsdf.kind == CONDUCTOR {
                metal_reflectance(bsdf, cos_in)
            } else if bsdf.kind == DIELECTRIC {
                bsdf.index
            } else {
                bsdf.color
            },
            pdf: 0.0,
            eta_scale: 1.0,
            side: 1.0,
        };
    }
    if thin {
        return BsdfSample {
            direction: -to_eye,
            weight: bsdf.color,
            pdf: 0.0,
            eta_scale: 1.0,
            side: -1.0,
        };
    }
    BsdfSample {
        direction: refract(-to_eye, normal, eta, cos_in, cos_out),
        weight: bsdf.color * (eta * eta),
        pdf: 0.0,
        eta_scale: 1.0 / (eta * eta),
        side: -1.0,
    }
}
