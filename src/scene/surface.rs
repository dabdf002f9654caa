//! What surfaces do with light.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::view::numbers;

/// What a surface does with light; colours are linear sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Surface {
    /// Scatters evenly to all sides (Lambert).
    Diffuse {
        /// Part of the light that is scattered, 0..=1.
        #[serde(with = "numbers")]
        albedo: Vec3,
        /// Black from behind.
        one_sided: bool,
    },
    /// Reflects in one direction.
    Mirror {
        /// Part of the light that is reflected, 0..=1.
        #[serde(with = "numbers")]
        reflectance: Vec3,
        /// Black from behind.
        one_sided: bool,
    },
    /// Reflects and refracts, smooth and clear.
    Dielectric {
        /// Index of refraction inside over outside.
        ior: f32,
        /// Coefficient of absorption inside, 1/m per channel.
        #[serde(with = "numbers")]
        absorption: Vec3,
    },
    /// A smooth metal.
    Conductor {
        /// What it reflects.
        metal: Metal,
        /// Black from behind.
        one_sided: bool,
    },
    /// A metal of small facets (GGX).
    RoughConductor {
        /// What the facets reflect.
        metal: Metal,
        /// How they are spread.
        roughness: Roughness,
        /// Black from behind.
        one_sided: bool,
    },
    /// A clear boundary of small facets (GGX), which reflect and refract.
    RoughDielectric {
        /// Index of refraction inside over outside.
        ior: f32,
        /// How they are spread.
        roughness: Roughness,
        /// Coefficient of absorption inside, 1/m per channel.
        #[serde(with = "numbers")]
        absorption: Vec3,
    },
    /// An even base under a clear boundary of small facets (GGX).
    CoatedDiffuse {
        /// Part of the light that the base scatters, 0..=1.
        #[serde(with = "numbers")]
        albedo: Vec3,
        /// Index of refraction of the boundary.
        ior: f32,
        /// GGX alpha, 0..=1.
        alpha: f32,
        /// Black from behind.
        one_sided: bool,
    },
    /// The material of glTF.
    Principled(Principled),
    /// Shines to the front, and reflects like `Diffuse`.
    Emissive {
        /// W·sr⁻¹·m⁻² per channel.
        #[serde(with = "numbers")]
        radiance: Vec3,
        /// Part of the light that is scattered, 0..=1.
        #[serde(with = "numbers")]
        albedo: Vec3,
        /// Black from behind; else its back reflects too.
        one_sided: bool,
        /// Its back shines as its front does; light that goes there is found by paths that meet it alone.
        both_sides: bool,
    },
}

/// The metallic-roughness material of glTF 2.0 with the extensions `ior`, `specular`, `transmission`, `volume`,
/// `clearcoat` and `emissive_strength`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Principled {
    /// Reflectance of a metal, albedo of what is none, and what tints light that goes through; 0..=1.
    #[serde(with = "numbers")]
    pub base_color: Vec3,
    /// Part that is metal, 0..=1.
    pub metallic: f32,
    /// The square root of GGX alpha, 0..=1.
    pub roughness: f32,
    /// Index of refraction of what is no metal.
    pub ior: f32,
    /// Strength of the reflection of what is no metal, 0..=1; of no effect on what goes through.
    pub specular: f32,
    /// Its tint head on, 0 or more.
    #[serde(with = "numbers")]
    pub specular_color: Vec3,
    /// Part of what is no metal that light goes through, 0..=1.
    pub transmission: f32,
    /// A wall without a volume behind it: light goes through without being bent.
    pub thin: bool,
    /// Strength of a clear coat of index 1.5 over everything, 0..=1.
    pub clearcoat: f32,
    /// The square root of its GGX alpha, 0..=1.
    pub clearcoat_roughness: f32,
    /// Given off to the front, W·sr⁻¹·m⁻² per channel.
    #[serde(with = "numbers")]
    pub emission: Vec3,
    /// Given off to the back too; light that goes there is found by paths that meet it alone.
    pub both_sides: bool,
    /// Black from behind.
    pub one_sided: bool,
    /// Coefficient of absorption behind its front, 1/m per channel, of what lets light through and is not thin.
    #[serde(with = "numbers")]
    pub absorption: Vec3,
}

impl Default for Principled {
    fn default() -> Principled {
        Principled {
            base_color: Vec3::ONE,
            metallic: 0.0,
            roughness: 0.5,
            ior: 1.5,
            specular: 1.0,
            specular_color: Vec3::ONE,
            transmission: 0.0,
            thin: false,
            clearcoat: 0.0,
            clearcoat_roughness: 0.0,
            emission: Vec3::ZERO,
            both_sides: false,
            one_sided: false,
            absorption: Vec3::ZERO,
        }
    }
}

/// What a metal reflects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Metal {
    /// By Fresnel's equations for a complex refractive index.
    Index {
        /// Real part per channel, 0 or more.
        #[serde(with = "numbers")]
        eta: Vec3,
        /// Imaginary part, 0 or more.
        #[serde(with = "numbers")]
        k: Vec3,
    },
    /// By Schlick's approximation, from this head on to 1 at grazing angles.
    Color(#[serde(with = "numbers")] Vec3),
}

/// How facets are spread, and what is made of light that hits several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roughness {
    /// GGX alpha, 0.001..=1: about the root mean square slope.
    pub alpha: f32,
    /// How facets hide each other.
    pub masking: Masking,
    /// Whether light that hits several facets leaves; else it is lost.
    pub energy_compensation: bool,
}

/// How facets hide each other from the eye and from the light (Smith).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Masking {
    /// From each as if it had nothing to do with the other.
    Separable,
    /// High facets are hidden from both less.
    #[default]
    HeightCorrelated,
}

impl Surface {
    /// The coefficient of absorption, 1/m, of what leaves so much of white light, 0..=1 per channel, over a distance in
    /// metres.
    pub fn absorption(left: Vec3, distance: f64) -> Vec3 {
        // Black is as good as what leaves e⁻²⁰⁰.
        let of = |left: f32| (-libm::log(f64::from(left)) / distance).min(200.0 / distance);
        Vec3::from_array(left.to_array().map(|left| of(left) as f32))
    }

    /// What it gives off to the front, W·sr⁻¹·m⁻² per channel.
    pub fn radiance(&self) -> Vec3 {
        match *self {
            Surface::Emissive { radiance, .. } => radiance,
            Surface::Principled(Principled { emission, .. }) => emission,
            Surface::Diffuse { .. }
            | Surface::Mirror { .. }
            | Surface::Dielectric { .. }
            | Surface::Conductor { .. }
            | Surface::RoughConductor { .. }
            | Surface::RoughDielectric { .. }
            | Surface::CoatedDiffuse { .. } => Vec3::ZERO,
        }
    }
}
