//! Conversion of coated materials of renderers whose microfacets lose light, because they scatter it only once.

use std::f64::consts::{PI, TAU};

use glam::Vec3;

use super::{Imported, materials::Color};
use crate::{image::texture_library::CoatBase, limits::MIN_ALPHA, scene::Masking};

/// Number of rays that integrate over all directions and facets. The converted albedo is then exact to 0.5 %.
const RAYS: u32 = 2048;

/// A dielectric coat of another renderer, whose facets scatter light once: what hits a second facet is lost.
#[derive(Clone, Copy)]
pub(crate) struct LossyCoat {
    /// Facets of the boundary.
    pub(crate) facets: Facets,
    /// Index of refraction of the coat divided by that outside. Less than 1 counts as 1.
    pub(crate) ior: f32,
    /// Optical thickness of the layer between boundary and base, which absorbs light; 0 for none.
    pub(crate) thickness: f32,
    /// Number of reflections at the base after which light is dropped, 1 to [`CoatBase::ALL`].
    pub(crate) reflections: u32,
}

/// The microfacets of a boundary.
#[derive(Clone, Copy)]
pub(crate) struct Facets {
    /// Roughness, 0 to 1.
    pub(crate) alpha: f32,
    /// Whether their distribution is Beckmann's instead of GGX.
    pub(crate) beckmann: bool,
    /// Form of Smith's masking-shadowing function.
    pub(crate) masking: Masking,
}

/// Fractions of diffuse light that a boundary reflects and transmits.
#[derive(Clone, Copy, Default)]
struct Passage {
    /// Transmitted light that also passes the layer.
    transmitted: f64,
    /// Reflected light that also passes the layer, before and after the reflection.
    reflected: f64,
    /// Reflected light by Schlick's formula instead of Fresnel's, without the layer.
    schlick: f64,
}

impl LossyCoat {
    /// Returns the conversion from the albedo below this coat to the albedo below a coat of this renderer.
    fn base(self) -> CoatBase {
        let ior = f64::from(self.ior.max(1.0));
        let thickness = f64::from(self.thickness.max(0.0));
        let outside = self.facets.passage(ior, thickness);
        let inside = self.facets.passage(1.0 / ior, thickness);
        // Facets of this renderer lose no light below the boundary.
        let own = Facets {
            beckmann: false,
            masking: Masking::HeightCorrelated,
            ..self.facets
        };
        let entered = 1.0 - own.passage(ior, 0.0).schlick;
        let square = ior * ior;
        CoatBase {
            // By reciprocity, the coat transmits as much on the way out, divided by the square of the index.
            passed: (outside.transmitted * outside.transmitted / (square * entered)) as f32,
            returned: inside.reflected.min(0.999) as f32,
            reflections: self.reflections,
            inside: (1.0 - entered / square) as f32,
        }
    }

    /// Returns numbers that are equal only for equal coats.
    fn key(self) -> [u32; 6] {
        let LossyCoat {
            facets,
            ior,
            thickness,
            reflections,
        } = self;
        let Facets {
            alpha,
            beckmann,
            masking,
        } = facets;
        let [alpha, ior, thickness] = [alpha, ior, thickness].map(f32::to_bits);
        [
            alpha,
            ior,
            thickness,
            reflections,
            beckmann.into(),
            masking as u32,
        ]
    }
}

impl Imported {
    /// Returns the conversion from the albedo below `coat` to the albedo below a coat of this renderer. It is computed
    /// once for all equal coats.
    pub(crate) fn coat_base(&mut self, coat: LossyCoat) -> CoatBase {
        let known = self.coat_bases.entry(coat.key());
        *known.or_insert_with(|| coat.base())
    }

    /// Returns the color of a base below the coat of another renderer, converted by [`CoatBase::albedo`]. Fails if
    /// memory does not suffice.
    pub(crate) fn below_coat(&mut self, color: Color, coat: CoatBase) -> Result<Color, String> {
        let Some(texture) = color.texture else {
            return Ok(coat.albedo(color.factor).into());
        };
        let library = &mut self.model.library;
        Ok(Color {
            factor: Vec3::ONE,
            texture: Some(library.coat_base(texture, color.factor, coat)?),
        })
    }
}

impl Facets {
    /// Returns the fractions of diffuse light from outside that a boundary of this index reflects: by Fresnel's formula
    /// with these facets, and by Schlick's formula with the facets of this renderer. An index below 1 counts as 1.
    pub(crate) fn reflected(self, ior: f32) -> [f32; 2] {
        let ior = f64::from(ior.max(1.0));
        let own = Facets {
            beckmann: false,
            masking: Masking::HeightCorrelated,
            ..self
        };
        [
            self.passage(ior, 0.0).reflected as f32,
            own.passage(ior, 0.0).schlick as f32,
        ]
    }

    /// Returns what a boundary of these facets does with diffuse light from one side. `eta` is the index of refraction
    /// behind the boundary divided by that before it. The layer is on the side with the larger index.
    fn passage(self, eta: f64, thickness: f64) -> Passage {
        let alpha = f64::from(self.alpha.max(MIN_ALPHA));
        let layer = |cosine: f64| libm::exp(-thickness / cosine.abs().max(1e-6));
        let mut sum = Passage::default();
        for ray in 0..RAYS {
            // Points of a sequence with even gaps (M. Roberts, The Unreasonable Effectiveness of Quasirandom Sequences,
            // 2018).
            let sequence = |step: f64| (0.5 + step * f64::from(ray)).fract();
            let cosine = (f64::from(ray) + 0.5) / f64::from(RAYS);
            let (radial, turn) = (
                1.0 - sequence(0.754_877_666_246_692_7),
                TAU * sequence(0.569_840_290_998_053_2),
            );
            // Square of a slope of facets in units of alpha. Its density has longer tails than both distributions.
            let square = 1.0 / (radial * radial) - 1.0;
            let density_ratio = match self.beckmann {
                true => 2.0 * libm::exp(-square) / radial.powi(3),
                false => 2.0 * radial,
            };
            let slope = alpha * square.sqrt();
            let up = 1.0 / (1.0 + slope * slope).sqrt();
            // Cosine between the ray and the facet's normal.
            let sine = (1.0 - cosine * cosine).sqrt();
            let before = up * (sine * slope * libm::cos(turn) + cosine);
            if before <= 0.0 {
                continue;
            }
            let lambda = self.lambda(cosine, alpha);
            // The cosine of the ray cancels in the weights of diffuse light and of visible facets.
            let weight = 2.0 * before / up * density_ratio / (1.0 + lambda);
            let seen = |to: f64| match self.masking {
                Masking::Separable => 1.0 / (1.0 + self.lambda(to, alpha)),
                Masking::HeightCorrelated => {
                    (1.0 + lambda) / (1.0 + lambda + self.lambda(to, alpha))
                }
            };
            let sine2_behind = (1.0 - before * before) / (eta * eta);
            let behind = (1.0 - sine2_behind).max(0.0).sqrt();
            let fresnel = match sine2_behind < 1.0 {
                true => fresnel(before, behind, eta),
                false => 1.0,
            };
            let mirrored = 2.0 * before * up - cosine;
            if mirrored > 0.0 {
                let passes = match eta < 1.0 {
                    true => layer(cosine) * layer(mirrored),
                    false => 1.0,
                };
                let reflected = weight * seen(mirrored);
                sum.reflected += reflected * fresnel * passes;
                sum.schlick += reflected * schlick(before, eta);
            }
            let refracted = (before / eta - behind) * up - cosine / eta;
            if fresnel < 1.0 && refracted < 0.0 {
                let passes = layer(if eta < 1.0 { cosine } else { refracted });
                sum.transmitted += weight * seen(refracted) * (1.0 - fresnel) * passes;
            }
        }
        let part = 1.0 / f64::from(RAYS);
        Passage {
            transmitted: (sum.transmitted * part).min(1.0),
            reflected: (sum.reflected * part).min(1.0),
            schlick: (sum.schlick * part).min(1.0),
        }
    }

    /// Returns Smith's Λ for a direction with this cosine, on either side.
    fn lambda(self, cosine: f64, alpha: f64) -> f64 {
        let cosine = cosine.abs().clamp(1e-9, 1.0);
        let tangent = alpha * (1.0 - cosine * cosine).sqrt() / cosine;
        if !self.beckmann {
            return 0.5 * ((1.0 + tangent * tangent).sqrt() - 1.0);
        }
        let slope = 1.0 / tangent.max(1e-9);
        if slope > 5.0 {
            return 0.0;
        }
        let tail = libm::exp(-slope * slope) / (2.0 * slope * PI.sqrt());
        (tail - 0.5 * libm::erfc(slope)).max(0.0)
    }
}

/// Returns Fresnel's reflectance for cosines before and behind a smooth boundary of relative index `eta`.
fn fresnel(before: f64, behind: f64, eta: f64) -> f64 {
    let parallel = (eta * before - behind) / (eta * before + behind);
    let perpendicular = (before - eta * behind) / (before + eta * behind);
    0.5 * (parallel * parallel + perpendicular * perpendicular)
}

/// Returns Schlick's approximation of the reflectance of a smooth boundary of relative index `eta`.
fn schlick(cosine: f64, eta: f64) -> f64 {
    let amplitude = (eta - 1.0) / (eta + 1.0);
    let grazing = (1.0 - cosine.min(1.0)).powi(5);
    amplitude * amplitude * (1.0 - grazing) + grazing
}
