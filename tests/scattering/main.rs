//! Tests of all BSDFs: sampled directions follow the claimed density, BSDFs are reciprocal, and energy is conserved.

#[path = "../common/mod.rs"]
mod common;

mod density;
mod laws;
mod layers;

use std::sync::OnceLock;

use common::{Random, load};
use glam::Vec3;
use raysieve::{
    scene::{
        Absorption, FacetDistribution, GlassTint, Masking, Metal, Principled, Roughness, Surface,
    },
    shading::{
        bsdf::{
            Bsdf, BsdfSample, BsdfValue, bsdf_of, bsdf_sample, bsdf_value, extended::along_tangent,
            is_specular,
        },
        energy::tables,
        material::{Material, THIN},
        microfacet::in_frame,
    },
};

/// The front normal of the surfaces under test.
const NORMAL: Vec3 = Vec3::new(0.36, -0.48, 0.8);
/// A direction perpendicular to [`NORMAL`].
const ACROSS: Vec3 = Vec3::new(0.8, 0.6, 0.0);

/// Materials with the energy compensation tables that they use.
pub(crate) struct Shelf {
    energy: Vec<f32>,
    pub(crate) items: Vec<Item>,
}

/// A material with its name for messages.
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) surface: Surface,
    material: Material,
}

impl Item {
    /// Returns the BSDF for an eye at this cosine to the normal, whose azimuth to the tangent has the squared cosine
    /// `along2`. `coat_normal` and `tangent` are not set.
    fn bsdf(&self, energy: &[f32], cosine: f32, along2: f32, front: bool) -> Bsdf {
        bsdf_of(energy, &self.material, cosine, cosine, along2, front)
    }
}

impl Shelf {
    pub(crate) fn new(surfaces: Vec<(String, Surface)>) -> Shelf {
        let of = |(_, surface): &(String, Surface)| Material::from(surface);
        let mut materials: Vec<Material> = surfaces.iter().map(of).collect();
        let energy = tables(&mut materials);
        let items = surfaces.into_iter().zip(materials);
        Shelf {
            energy,
            items: items
                .map(|((name, surface), material)| Item {
                    name,
                    surface,
                    material,
                })
                .collect(),
        }
    }

    /// Returns all tested materials: those of `tests/scenes/every_field.ron` and of [`materials`]. Perfectly specular
    /// ones are left out.
    pub(crate) fn get() -> &'static Shelf {
        static SHELF: OnceLock<Shelf> = OnceLock::new();
        SHELF.get_or_init(|| {
            let scene = load("tests/scenes/every_field.ron");
            let names = scene.material_names.into_iter();
            let mut shelf = Shelf::new(names.zip(scene.materials).chain(materials()).collect());
            shelf
                .items
                .retain(|item| !is_specular(&item.bsdf(&shelf.energy, 1.0, 0.5, true)));
            // A blend scatters as by one of its materials, which are here themselves.
            let is_blend = |item: &Item| matches!(item.surface, Surface::Blend { .. });
            shelf.items.retain(|item| !is_blend(item));
            shelf
        })
    }

    pub(crate) fn seen(&self, item: &Item, to_eye: Vec3, normal: Vec3, front: bool) -> Seen<'_> {
        let cosine = normal.dot(to_eye);
        // It lies oblique to the directions of `under`, and is the same from both sides.
        let across = NORMAL.cross(ACROSS);
        let tangent = (ACROSS * 0.8 + across * 0.6).normalize();
        let along2 = along_tangent(in_frame(normal, tangent, to_eye));
        let bsdf = Bsdf {
            coat_normal: normal,
            tangent,
            ..item.bsdf(&self.energy, cosine, along2, front)
        };
        let ior = item.material.ior;
        let ior2 = if item.material.flags & THIN == 0 {
            f64::from(ior * ior)
        } else {
            1.0
        };
        Seen {
            energy: &self.energy,
            bsdf,
            normal,
            to_eye,
            index2: if front { 1.0 } else { ior2 },
            beyond2: if front { ior2 } else { 1.0 },
        }
    }

    /// Returns the material viewed at this cosine to its normal.
    pub(crate) fn under(&self, item: &Item, cosine: f32, front: bool) -> Seen<'_> {
        let normal = NORMAL;
        let to_eye = normal * cosine + ACROSS * (1.0 - cosine * cosine).sqrt();
        self.seen(item, to_eye.normalize(), normal, front)
    }
}

/// A material viewed from a fixed direction, from its front or its back.
pub(crate) struct Seen<'a> {
    energy: &'a [f32],
    bsdf: Bsdf,
    pub(crate) normal: Vec3,
    to_eye: Vec3,
    /// Squared index of refraction on the eye's side.
    pub(crate) index2: f64,
    /// Squared index of refraction on the other side.
    pub(crate) beyond2: f64,
}

impl Seen<'_> {
    pub(crate) fn value(&self, to_light: Vec3) -> BsdfValue {
        bsdf_value(self.energy, &self.bsdf, self.normal, self.to_eye, to_light)
    }

    pub(crate) fn sample(&self, choice: f32, u: f32, v: f32) -> BsdfSample {
        bsdf_sample(
            self.energy,
            &self.bsdf,
            self.normal,
            self.to_eye,
            choice,
            u,
            v,
        )
    }
}

pub(crate) fn rough(alpha: f32, masking: Masking, energy_compensation: bool) -> Roughness {
    Roughness {
        alpha,
        alpha_v: None,
        distribution: FacetDistribution::Ggx,
        masking,
        energy_compensation,
    }
}

pub(crate) fn metal(metal: Metal, roughness: Roughness) -> Surface {
    Surface::RoughConductor {
        metal,
        roughness,
        one_sided: false,
    }
}

pub(crate) fn glass(ior: f32, roughness: Roughness) -> Surface {
    Surface::RoughDielectric {
        ior,
        roughness,
        tint: GlassTint::WHITE,
        absorption: Absorption::NONE,
    }
}

pub(crate) fn gold() -> Metal {
    Metal::Index {
        eta: Vec3::new(0.143, 0.375, 1.442),
        k: Vec3::new(3.983, 2.386, 1.603),
        tint: Vec3::ONE,
    }
}

fn materials() -> Vec<(String, Surface)> {
    let mut materials = vec![(
        "diffuse".to_owned(),
        Surface::Diffuse {
            albedo: Vec3::new(0.3, 0.6, 0.9),
            one_sided: false,
        },
    )];
    for masking in [Masking::Separable, Masking::HeightCorrelated] {
        for compensated in [false, true] {
            for alpha in [0.1, 0.5, 1.0] {
                let roughness = rough(alpha, masking, compensated);
                let of = format!("alpha {alpha}, {masking:?}, compensated: {compensated}");
                materials.push((format!("gold, {of}"), metal(gold(), roughness)));
                materials.push((format!("glass, {of}"), glass(1.5, roughness)));
            }
        }
    }
    for (alpha, alpha_v, masking) in [
        (0.15, 0.5, Masking::Separable),
        (0.9, 0.3, Masking::HeightCorrelated),
    ] {
        let roughness = Roughness {
            alpha_v: Some(alpha_v),
            ..rough(alpha, masking, false)
        };
        let of = format!("alphas {alpha} and {alpha_v}, {masking:?}");
        materials.push((format!("gold, {of}"), metal(gold(), roughness)));
        materials.push((format!("glass, {of}"), glass(1.5, roughness)));
    }
    for (alpha, alpha_v, masking) in [
        (0.1, None, Masking::Separable),
        (0.6, None, Masking::HeightCorrelated),
        (0.15, Some(0.5), Masking::Separable),
    ] {
        let roughness = Roughness {
            alpha_v,
            distribution: FacetDistribution::Beckmann,
            ..rough(alpha, masking, false)
        };
        let of = format!("Beckmann, alphas {alpha} and {alpha_v:?}, {masking:?}");
        materials.push((format!("gold, {of}"), metal(gold(), roughness)));
        materials.push((format!("glass, {of}"), glass(1.5, roughness)));
    }
    let roughness = rough(0.3, Masking::HeightCorrelated, true);
    let color = Metal::Color(Vec3::new(0.9, 0.5, 0.2));
    materials.push(("metal by color".to_owned(), metal(color, roughness)));
    materials.push(("dense glass".to_owned(), glass(2.4, roughness)));
    materials.push(("a bubble".to_owned(), glass(0.6, roughness)));
    for alpha in [0.1, 0.6] {
        let coated = Surface::CoatedDiffuse {
            albedo: Vec3::new(0.8, 0.4, 0.1),
            ior: 1.5,
            alpha,
            reflection_tint: Vec3::ONE,
            one_sided: false,
        };
        materials.push((format!("coated, alpha {alpha}"), coated));
    }
    let base = Principled {
        base_color: Vec3::new(0.8, 0.5, 0.3),
        roughness: 0.6,
        clearcoat_roughness: 0.4,
        ..Principled::default()
    };
    let principled = [
        ("plastic", base),
        (
            "metal",
            Principled {
                metallic: 1.0,
                ..base
            },
        ),
        (
            "glass",
            Principled {
                transmission: 1.0,
                ..base
            },
        ),
        (
            "thin glass",
            Principled {
                transmission: 1.0,
                thin: true,
                ..base
            },
        ),
        (
            "lacquer",
            Principled {
                clearcoat: 1.0,
                specular: 0.3,
                specular_color: Vec3::new(1.0, 2.0, 3.0),
                ..base
            },
        ),
        (
            "all of it",
            Principled {
                metallic: 0.3,
                transmission: 0.5,
                clearcoat: 0.6,
                ..base
            },
        ),
        (
            "all of it, thin",
            Principled {
                metallic: 0.3,
                transmission: 0.5,
                clearcoat: 0.6,
                thin: true,
                ..base
            },
        ),
    ];
    for (name, principled) in principled.into_iter().chain(extended()) {
        materials.push((
            format!("principled {name}"),
            Surface::Principled(principled),
        ));
    }
    materials
}

/// Returns extended materials: each feature alone, and together with others.
fn extended() -> Vec<(&'static str, Principled)> {
    let base = Principled {
        base_color: Vec3::new(0.8, 0.5, 0.3),
        roughness: 0.6,
        clearcoat_roughness: 0.4,
        ..Principled::default()
    };
    let cloth = Principled {
        sheen_color: Vec3::new(0.9, 0.6, 0.7),
        sheen_roughness: 0.4,
        ..base
    };
    let film = Principled {
        iridescence: 1.0,
        iridescence_ior: 1.6,
        iridescence_thickness: 450.0,
        ..base
    };
    let leaf = Principled {
        diffuse_transmission: 0.6,
        diffuse_transmission_color: Vec3::new(0.5, 0.9, 0.3),
        ..base
    };
    vec![
        ("cloth", cloth),
        (
            "smooth cloth",
            Principled {
                sheen_roughness: 0.15,
                ..cloth
            },
        ),
        (
            "dust on a coat over a metal",
            Principled {
                metallic: 0.5,
                clearcoat: 0.7,
                ..cloth
            },
        ),
        (
            "velvet on glass",
            Principled {
                transmission: 0.6,
                ..cloth
            },
        ),
        (
            "brushed metal",
            Principled {
                metallic: 1.0,
                anisotropy: 0.9,
                roughness: 0.45,
                ..base
            },
        ),
        (
            "brushed plastic",
            Principled {
                anisotropy: 0.5,
                ..base
            },
        ),
        ("film on plastic", film),
        (
            "film on a metal",
            Principled {
                metallic: 1.0,
                ..film
            },
        ),
        (
            "soap bubble",
            Principled {
                base_color: Vec3::ONE,
                transmission: 1.0,
                thin: true,
                ..film
            },
        ),
        (
            "film on glass",
            Principled {
                transmission: 1.0,
                iridescence: 0.7,
                ..film
            },
        ),
        ("leaf", leaf),
        (
            "lacquered lampshade",
            Principled {
                clearcoat: 0.5,
                sheen_color: Vec3::splat(0.3),
                ..leaf
            },
        ),
    ]
}

/// Returns a direction distributed uniformly over the sphere.
pub(crate) fn any_direction(random: &mut Random) -> Vec3 {
    loop {
        let v = Vec3::new(random.signed(), random.signed(), random.signed());
        let length2 = v.length_squared();
        if (0.01..=1.0).contains(&length2) {
            return v / length2.sqrt();
        }
    }
}
