//! Materials: how a surface scatters, absorbs and emits light.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{Absorption, camera::numbers, hasher::Hasher};

/// A material without its textures, which [`Scene::maps`](crate::Scene::maps) contains. Colors are linear sRGB, and
/// indices of refraction lie in 0.1..=10.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Surface {
    /// A Lambertian reflector, which scatters light equally in all directions.
    Diffuse {
        /// Fraction of the light that is reflected, 0..=1 per channel.
        #[serde(with = "numbers")]
        albedo: Vec3,
        /// Whether the back side absorbs all light; otherwise it reflects like the front.
        one_sided: bool,
    },
    /// A perfect mirror, which reflects each ray in a single direction.
    Mirror {
        /// Fraction of the light that is reflected, 0..=1 per channel.
        #[serde(with = "numbers")]
        reflectance: Vec3,
        /// Whether the back side absorbs all light; otherwise it reflects like the front.
        one_sided: bool,
    },
    /// A smooth boundary of a transparent body such as glass, which reflects and refracts without blurring.
    Dielectric {
        /// Index of refraction behind the surface, divided by that in front of it, 0.1..=10.
        ior: f32,
        /// Whether the surface is a thin pane with parallel sides, which reflect light to and fro between them. Light
        /// passes it without refraction, and `ior` is that between the sides.
        #[serde(default)]
        thin: bool,
        /// Colors by which reflected and transmitted light is multiplied.
        #[serde(default)]
        tint: GlassTint,
        /// Absorption of the body behind the surface, unless it is thin.
        absorption: Absorption,
    },
    /// A metal with a smooth surface.
    Conductor {
        /// Reflectance of the metal, as a complex index of refraction or a color.
        metal: Metal,
        /// Whether the back side absorbs all light; otherwise it reflects like the front.
        one_sided: bool,
    },
    /// A metal with a rough surface of GGX microfacets.
    RoughConductor {
        /// Reflectance of the metal, as a complex index of refraction or a color.
        metal: Metal,
        /// Parameters of the GGX microfacet distribution.
        roughness: Roughness,
        /// Whether the back side absorbs all light; otherwise it reflects like the front.
        one_sided: bool,
    },
    /// A rough boundary of a transparent body: GGX microfacets that reflect and refract.
    RoughDielectric {
        /// Index of refraction behind the surface, divided by that in front of it, 0.1..=10.
        ior: f32,
        /// Parameters of the GGX microfacet distribution.
        roughness: Roughness,
        /// Colors by which reflected and transmitted light is multiplied.
        #[serde(default)]
        tint: GlassTint,
        /// Absorption of the body behind the surface.
        absorption: Absorption,
    },
    /// A Lambertian base under a transparent dielectric coat of GGX microfacets, such as plastic or varnish.
    CoatedDiffuse {
        /// Fraction of the light that the base reflects, 0..=1 per channel.
        #[serde(with = "numbers")]
        albedo: Vec3,
        /// Index of refraction of the coat, divided by that of the outside, 0.1..=10.
        ior: f32,
        /// GGX alpha of the coat, 0..=1; 0 is smooth.
        alpha: f32,
        /// Color by which the light that the coat reflects is multiplied, 0..=1 per channel. The base receives the same
        /// light whatever this color is.
        #[serde(default = "white", with = "numbers")]
        reflection_tint: Vec3,
        /// Whether the back side absorbs all light; otherwise it reflects like the front.
        one_sided: bool,
    },
    /// The metallic-roughness material of glTF.
    Principled(Principled),
    /// Two materials on one surface: mixed finer than a pixel, or one on each side (`by_side`). Each path that hits it
    /// scatters as by one of them. Their own emission and opacity have no effect.
    /// [`Scene::check_blends`](crate::Scene::check_blends) states what is valid.
    Blend {
        /// Index of the first material in [`Scene::materials`](crate::Scene::materials). While a model is read, index
        /// into the materials of the model.
        first: u32,
        /// Index of the second material.
        second: u32,
        /// Fraction of the surface that is the second material, 0..=1.
        weight: f32,
        /// Whether the side to which the shading normals point is the first material, and the other side the second
        /// one. `weight` then has no effect.
        by_side: bool,
        /// Radiance emitted from the front, W·sr⁻¹·m⁻² per channel, 0 or more.
        #[serde(with = "numbers")]
        emission: Vec3,
        /// Whether the back emits the same radiance as the front.
        both_sides: bool,
    },
    /// A boundary without a surface of the [medium](crate::Scene::media) in a closed body. Light passes it straight.
    Boundary,
    /// A light source that reflects like `Diffuse`. It emits from its front, and with `both_sides` from its back too.
    Emissive {
        /// Emitted radiance, W·sr⁻¹·m⁻² per channel, 0 or more, the same in all directions.
        #[serde(with = "numbers")]
        radiance: Vec3,
        /// Fraction of the light that is reflected, 0..=1 per channel.
        #[serde(with = "numbers")]
        albedo: Vec3,
        /// Whether the back side absorbs all light that reaches it; otherwise it reflects like the front.
        one_sided: bool,
        /// Whether the back emits the same radiance as the front. Light sampling covers only the front; the light of
        /// the back is found by paths that hit it.
        both_sides: bool,
    },
}

/// The metallic-roughness material of glTF 2.0, with the extensions `ior`, `specular`, `transmission`, `volume`,
/// `clearcoat`, `emissive_strength`, `sheen`, `anisotropy`, `iridescence`, `diffuse_transmission` and `dispersion`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Principled {
    /// Color, 0..=1 per channel: reflectance of the metallic part at normal incidence, albedo of the diffuse part, and
    /// tint of the light that `transmission` lets through, at each crossing.
    #[serde(with = "numbers")]
    pub base_color: Vec3,
    /// Blend from dielectric (0) to metal (1), 0..=1.
    pub metallic: f32,
    /// Perceptual roughness, 0..=1: the square root of the GGX alpha.
    pub roughness: f32,
    /// Index of refraction of the dielectric part, divided by that of the outside, 0.1..=10.
    pub ior: f32,
    /// Strength of the dielectric part's specular reflection, 0..=1. Transmission ignores it.
    pub specular: f32,
    /// Tint of the dielectric part's specular reflection at normal incidence, 0..=100 per channel, linear sRGB.
    #[serde(with = "numbers")]
    pub specular_color: Vec3,
    /// Fraction of the dielectric part that transmits light instead of reflecting it diffusely, 0..=1.
    pub transmission: f32,
    /// Whether the surface is a thin sheet without a volume behind it, so that transmitted light is not refracted.
    pub thin: bool,
    /// Strength of a clear coat with index of refraction 1.5 over the other layers, 0..=1.
    pub clearcoat: f32,
    /// Perceptual roughness of the clear coat, 0..=1: the square root of its GGX alpha.
    pub clearcoat_roughness: f32,
    /// Radiance emitted from the front, W·sr⁻¹·m⁻² per channel, 0 or more.
    #[serde(with = "numbers")]
    pub emission: Vec3,
    /// Whether the back emits the same radiance as the front. Light sampling covers only the front; the light of the
    /// back is found by paths that hit it.
    pub both_sides: bool,
    /// Whether the back side absorbs all light that reaches it; otherwise it scatters light like the front.
    pub one_sided: bool,
    /// Absorption of the volume behind the front. It has no effect if `thin` is set, or if `transmission` and
    /// `diffuse_transmission` are 0.
    pub absorption: Absorption,
    /// Color of a layer of cloth fibres above all layers but the clear coat, 0..=1 per channel; 0 for none.
    #[serde(with = "numbers")]
    pub sheen_color: Vec3,
    /// Perceptual roughness of the fibres, 0..=1: the square root of the alpha of their distribution.
    pub sheen_roughness: f32,
    /// Strength of anisotropy, 0..=1. It raises the GGX alpha along the anisotropy direction towards 1. Transmission
    /// and the clear coat ignore it.
    pub anisotropy: f32,
    /// Angle in degrees, -1e6..=1e6, counter-clockwise from the tangent, along which texture coordinates grow to the
    /// right, to the anisotropy direction.
    pub anisotropy_rotation: f32,
    /// Strength of a thin film on the surface, whose interference colors reflections, 0..=1.
    pub iridescence: f32,
    /// Index of refraction of the thin film, 1..=10.
    pub iridescence_ior: f32,
    /// Thickness of the thin film in nanometres where its texture is 0, 0..=100,000; without a texture it is unused.
    pub iridescence_thickness_min: f32,
    /// Thickness of the thin film in nanometres where its texture is 1 or missing, 0..=100,000.
    pub iridescence_thickness: f32,
    /// Fraction of the diffuse part that leaves on the other side of the surface, 0..=1.
    pub diffuse_transmission: f32,
    /// Color of the diffusely transmitted light, 0..=1 per channel. `base_color` does not affect that light.
    #[serde(with = "numbers")]
    pub diffuse_transmission_color: Vec3,
    /// Strength of dispersion, 0..=100: 20 divided by the Abbe number; 0 for none. It has no effect on thin surfaces.
    pub dispersion: f32,
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
            absorption: Absorption::NONE,
            sheen_color: Vec3::ZERO,
            sheen_roughness: 0.5,
            anisotropy: 0.0,
            anisotropy_rotation: 0.0,
            iridescence: 0.0,
            iridescence_ior: 1.3,
            iridescence_thickness_min: 100.0,
            iridescence_thickness: 400.0,
            diffuse_transmission: 0.0,
            diffuse_transmission_color: Vec3::ONE,
            dispersion: 0.0,
        }
    }
}

/// The reflectance of a metal, as an index of refraction or as a color.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Metal {
    /// A complex index of refraction η + ik, evaluated with the Fresnel equations.
    Index {
        /// Real part η per channel, 0..=100.
        #[serde(with = "numbers")]
        eta: Vec3,
        /// Imaginary part k per channel, 0..=100.
        #[serde(with = "numbers")]
        k: Vec3,
        /// Color by which the reflectance is multiplied at all angles, 0..=1 per channel. Real metals are white.
        #[serde(default = "white", with = "numbers")]
        tint: Vec3,
    },
    /// Reflectance at normal incidence, 0..=1 per channel. Schlick's approximation raises it to 1 at grazing angles.
    Color(#[serde(with = "numbers")] Vec3),
}

/// The colors by which a transparent boundary multiplies the light that it reflects and transmits. Real ones are white.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlassTint {
    /// Factor of reflected light, 0..=1 per channel.
    #[serde(with = "numbers")]
    pub reflection: Vec3,
    /// Factor of transmitted light at each crossing, 0..=1 per channel.
    #[serde(with = "numbers")]
    pub transmission: Vec3,
}

impl GlassTint {
    /// The tint of real glass: all light keeps its color.
    pub const WHITE: GlassTint = GlassTint {
        reflection: Vec3::ONE,
        transmission: Vec3::ONE,
    };

    /// Adds both colors to a hash. White ones add nothing, so that hashes made before the tint existed stay valid.
    fn add_to(self, hash: &mut Hasher) {
        if self != GlassTint::WHITE {
            hash.bytes(b"tint");
            hash.vectors([self.reflection, self.transmission]);
        }
    }
}

impl Default for GlassTint {
    fn default() -> GlassTint {
        GlassTint::WHITE
    }
}

/// Returns the tint that has no effect.
fn white() -> Vec3 {
    Vec3::ONE
}

/// The microfacet distribution of a rough surface, and how it treats multiple scattering between facets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roughness {
    /// Alpha of the facets, 0.001..=1; larger is rougher. With `alpha_v`, only that along the tangent, where `u` grows.
    pub alpha: f32,
    /// Alpha across the tangent, 0.001..=1, of a surface with grooves, such as brushed metal. `None` for the same
    /// alpha in all directions, which its texture scales too.
    #[serde(default)]
    pub alpha_v: Option<f32>,
    /// Distribution of the facets' normals.
    #[serde(default)]
    pub distribution: FacetDistribution,
    /// Form of Smith's masking-shadowing function.
    pub masking: Masking,
    /// Whether light that hits several facets is added back. Otherwise that light is lost, and rough surfaces become
    /// darker. It has no effect with `alpha_v` or Beckmann's distribution.
    pub energy_compensation: bool,
}

/// A distribution of the normals of microfacets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FacetDistribution {
    /// That of Trowbridge and Reitz, whose highlights have wide tails.
    #[default]
    Ggx,
    /// That of Beckmann, whose slopes are normally distributed. Highlights end sooner, and less light hits several facets.
    Beckmann,
}

/// A form of Smith's masking-shadowing function of microfacets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Masking {
    /// Masking and shadowing are independent: the product of the two.
    Separable,
    /// Masking and shadowing are correlated by the height of the facets, which darkens the surface less.
    #[default]
    HeightCorrelated,
}

impl Surface {
    /// Returns the radiance emitted from the front, W·sr⁻¹·m⁻² per channel; 0 for variants that do not emit.
    pub fn radiance(&self) -> Vec3 {
        match self {
            Surface::Principled(principled) => principled.emission,
            Surface::Emissive { radiance, .. } => *radiance,
            Surface::Blend { emission, .. } => *emission,
            _ => Vec3::ZERO,
        }
    }

    /// Returns whether reflections depend on the direction of the tangent. For a blend the materials that it contains
    /// do not count.
    pub(crate) fn is_anisotropic(&self) -> bool {
        match self {
            Surface::Principled(principled) => principled.anisotropy > 0.0,
            Surface::RoughConductor { roughness, .. }
            | Surface::RoughDielectric { roughness, .. } => roughness.alpha_v.is_some(),
            _ => false,
        }
    }

    /// Returns the indices of the two materials of a blend, or `None` for other materials.
    pub(crate) fn blended(&self) -> Option<[u32; 2]> {
        match *self {
            Surface::Blend { first, second, .. } => Some([first, second]),
            _ => None,
        }
    }

    /// Makes the back of a surface scatter light like its front. Transparent materials and blends stay as they are.
    pub(crate) fn show_both_sides(&mut self) {
        match self {
            Surface::Diffuse { one_sided, .. }
            | Surface::Mirror { one_sided, .. }
            | Surface::Conductor { one_sided, .. }
            | Surface::RoughConductor { one_sided, .. }
            | Surface::CoatedDiffuse { one_sided, .. }
            | Surface::Emissive { one_sided, .. } => *one_sided = false,
            Surface::Principled(principled) => principled.one_sided = false,
            Surface::Dielectric { .. }
            | Surface::RoughDielectric { .. }
            | Surface::Boundary
            | Surface::Blend { .. } => {}
        }
    }

    /// Returns a 128-bit hash of the kind and its parameters, without its textures and the materials of a blend.
    ///
    /// Checkpoints store hashes of scenes. So a new kind gets an unused first byte, and a parameter that is added to a
    /// kind is left out at its default.
    pub(crate) fn hash(&self) -> [u8; 16] {
        let mut hash = Hasher::default();
        match *self {
            Surface::Diffuse { albedo, one_sided } => {
                hash.bytes(&[0, one_sided.into()]);
                hash.vector(albedo);
            }
            Surface::Mirror {
                reflectance,
                one_sided,
            } => {
                hash.bytes(&[1, one_sided.into()]);
                hash.vector(reflectance);
            }
            Surface::Dielectric {
                ior,
                thin,
                tint,
                absorption,
            } => {
                hash.bytes(&[2]);
                hash.floats([ior]);
                if thin {
                    hash.bytes(b"thin");
                }
                tint.add_to(&mut hash);
                add_absorption(absorption, &mut hash);
            }
            Surface::Emissive {
                radiance,
                albedo,
                one_sided,
                both_sides,
            } => {
                hash.bytes(&[3, one_sided.into()]);
                hash.vectors([radiance, albedo]);
                add_both_sides(both_sides, &mut hash);
            }
            Surface::Conductor { metal, one_sided } => {
                hash.bytes(&[4, one_sided.into()]);
                metal.add_to(&mut hash);
            }
            Surface::RoughConductor {
                metal,
                roughness,
                one_sided,
            } => {
                hash.bytes(&[5, one_sided.into()]);
                metal.add_to(&mut hash);
                roughness.add_to(&mut hash);
            }
            Surface::RoughDielectric {
                ior,
                roughness,
                tint,
                absorption,
            } => {
                hash.bytes(&[6]);
                hash.floats([ior]);
                roughness.add_to(&mut hash);
                tint.add_to(&mut hash);
                add_absorption(absorption, &mut hash);
            }
            Surface::CoatedDiffuse {
                albedo,
                ior,
                alpha,
                reflection_tint,
                one_sided,
            } => {
                hash.bytes(&[7, one_sided.into()]);
                hash.vector(albedo);
                hash.floats([ior, alpha]);
                add_tint(reflection_tint, &mut hash);
            }
            Surface::Principled(principled) => principled.add_to(&mut hash),
            Surface::Boundary => hash.bytes(&[10]),
            Surface::Blend {
                first: _,
                second: _,
                weight,
                by_side,
                emission,
                both_sides,
            } => {
                hash.bytes(&[9]);
                match by_side {
                    false => hash.floats([weight]),
                    true => hash.bytes(b"by side"),
                }
                hash.vector(emission);
                add_both_sides(both_sides, &mut hash);
            }
        }
        hash.finish().to_le_bytes()
    }
}

impl Principled {
    /// Adds all parameters to a hash.
    fn add_to(self, hash: &mut Hasher) {
        let Principled {
            base_color,
            metallic,
            roughness,
            ior,
            specular,
            specular_color,
            transmission,
            thin,
            clearcoat,
            clearcoat_roughness,
            emission,
            both_sides,
            one_sided,
            absorption,
            sheen_color,
            sheen_roughness,
            anisotropy,
            anisotropy_rotation,
            iridescence,
            iridescence_ior,
            iridescence_thickness_min,
            iridescence_thickness,
            diffuse_transmission,
            diffuse_transmission_color,
            dispersion,
        } = self;
        hash.bytes(&[8, one_sided.into(), thin.into()]);
        hash.vector(base_color);
        hash.floats([metallic, roughness, ior, specular]);
        hash.vector(specular_color);
        hash.floats([transmission, clearcoat, clearcoat_roughness]);
        hash.vector(emission);
        add_both_sides(both_sides, hash);
        add_absorption(absorption, hash);
        // A layer that is absent adds nothing, so that hashes made before the layer existed stay valid.
        if sheen_color != Vec3::ZERO {
            hash.bytes(b"sheen");
            hash.vector(sheen_color);
            hash.floats([sheen_roughness]);
        }
        if anisotropy != 0.0 {
            hash.bytes(b"anisotropy");
            hash.floats([anisotropy, anisotropy_rotation]);
        }
        if iridescence != 0.0 {
            hash.bytes(b"iridescence");
            hash.floats([iridescence, iridescence_ior]);
            hash.floats([iridescence_thickness_min, iridescence_thickness]);
        }
        if diffuse_transmission != 0.0 {
            hash.bytes(b"diffuse transmission");
            hash.vector(diffuse_transmission_color);
            hash.floats([diffuse_transmission]);
        }
        if dispersion != 0.0 {
            hash.bytes(b"dispersion");
            hash.floats([dispersion]);
        }
    }
}

impl Metal {
    /// Adds the index of refraction or the color to a hash.
    fn add_to(self, hash: &mut Hasher) {
        match self {
            Metal::Index { eta, k, tint } => {
                hash.bytes(&[0]);
                hash.vectors([eta, k]);
                add_tint(tint, hash);
            }
            Metal::Color(color) => {
                hash.bytes(&[1]);
                hash.vector(color);
            }
        }
    }
}

impl Roughness {
    /// Adds all parameters to a hash.
    fn add_to(self, hash: &mut Hasher) {
        let Roughness {
            alpha,
            alpha_v,
            distribution,
            masking,
            energy_compensation,
        } = self;
        hash.floats([alpha]);
        // One alpha for all directions and GGX add nothing, so that hashes made before the parameters existed stay valid.
        if let Some(alpha_v) = alpha_v {
            hash.bytes(b"alpha v");
            hash.floats([alpha_v]);
        }
        if distribution == FacetDistribution::Beckmann {
            hash.bytes(b"beckmann");
        }
        let correlated = masking == Masking::HeightCorrelated;
        hash.bytes(&[correlated.into(), energy_compensation.into()]);
    }
}

/// Adds the flag `both_sides` to a hash if it is set. If it is not, nothing is added, so that hashes made before the
/// flag existed stay valid.
fn add_both_sides(both_sides: bool, hash: &mut Hasher) {
    if both_sides {
        hash.bytes(b"both sides");
    }
}

/// Adds a tint to a hash. White adds nothing, so that hashes made before the parameter existed stay valid.
fn add_tint(tint: Vec3, hash: &mut Hasher) {
    if tint != Vec3::ONE {
        hash.bytes(b"tint");
        hash.vector(tint);
    }
}

/// Adds an absorption coefficient to a hash. A coefficient of 0 adds nothing, so that hashes made before the parameter
/// existed stay valid.
fn add_absorption(absorption: Absorption, hash: &mut Hasher) {
    let coefficient = absorption.coefficient();
    if coefficient != Vec3::ZERO {
        hash.bytes(b"absorption");
        hash.vector(coefficient);
    }
}
