//! Reciprocity and energy conservation of all materials.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};
use raysieve::scene::{Masking, Metal, Principled, Surface};

use crate::{NORMAL, Seen, Shelf, any_direction, common::Random, glass, metal, rough};

/// Radiance divided by the squared index of refraction is reciprocal (Helmholtz; E. Veach 1997, section 5.2).
#[test]
fn every_bsdf_is_reciprocal() {
    let normal = NORMAL;
    let mut compared = 0;
    let mut wrong = Vec::new();
    let shelf = Shelf::get();
    for item in &shelf.items {
        let name = &item.name;
        // The directions of a material do not depend on the other materials.
        let mut random = Random::new(3);
        for _ in 0..300 {
            let [one, other] = [(); 2].map(|()| any_direction(&mut random));
            let (cos_one, cos_other) = (normal.dot(one), normal.dot(other));
            if cos_one.abs() < 0.05 || cos_other.abs() < 0.05 {
                continue;
            }
            let there = shelf.seen(item, one, normal * cos_one.signum(), cos_one > 0.0);
            let back = shelf.seen(item, other, normal * cos_other.signum(), cos_other > 0.0);
            let way = |seen: &Seen, to_light: Vec3| {
                let value = seen.value(to_light);
                let per_cosine = f64::from(value.scale / normal.dot(to_light).abs());
                value.color.as_dvec3() * (per_cosine / seen.index2)
            };
            let (there, back) = (way(&there, other), way(&back, one));
            let apart = (there - back).abs().max_element();
            if apart > 2e-3 * there.max_element().max(1e-3) {
                wrong.push(format!("{name}, {one} and {other}: {there} and {back}"));
                break;
            }
            compared += usize::from(there.max_element() > 0.0);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 3000, "only {compared} pairs of directions");
}

#[test]
fn no_material_reflects_more_light_than_arrives() {
    let shelf = Shelf::get();
    for item in &shelf.items {
        let name = &item.name;
        for cosine in [1.0, 0.7, 0.3, 0.05] {
            for front in [true, false] {
                let albedo = albedo(&shelf.under(item, cosine, front));
                assert!(
                    albedo.max_element() < 1.01 && albedo.min_element() > 0.0,
                    "{name}, cosine {cosine}, front {front}: {albedo}"
                );
            }
        }
    }
}

/// Materials without absorption return all light, within 1 % at every roughness and angle.
#[test]
fn white_materials_lose_nothing() {
    let white = Principled::default();
    let perfect = Metal::Index {
        eta: Vec3::ZERO,
        k: Vec3::ONE,
        tint: Vec3::ONE,
    };
    let mut surfaces = Vec::new();
    for alpha in [
        0.001, 0.0035, 0.0065, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95, 1.0_f32,
    ] {
        surfaces.push((
            format!("coated, alpha {alpha}"),
            Surface::CoatedDiffuse {
                albedo: Vec3::ONE,
                ior: 1.5,
                alpha,
                reflection_tint: Vec3::ONE,
                one_sided: false,
            },
        ));
        for masking in [Masking::Separable, Masking::HeightCorrelated] {
            let roughness = rough(alpha, masking, true);
            surfaces.push((
                format!("metal, alpha {alpha}, {masking:?}"),
                metal(perfect, roughness),
            ));
            for ior in [1.5, 1.1, 2.4, 0.7] {
                surfaces.push((
                    format!("glass {ior}, alpha {alpha}, {masking:?}"),
                    glass(ior, roughness),
                ));
            }
        }
        let of_a_kind = Principled {
            roughness: alpha.sqrt(),
            ..white
        };
        let kinds = [
            of_a_kind,
            Principled {
                metallic: 1.0,
                ..of_a_kind
            },
            Principled {
                transmission: 1.0,
                ..of_a_kind
            },
            Principled {
                transmission: 1.0,
                thin: true,
                ..of_a_kind
            },
            Principled {
                metallic: 0.5,
                transmission: 0.5,
                ..of_a_kind
            },
        ];
        surfaces.extend(kinds.map(|kind| (format!("{kind:?}"), Surface::Principled(kind))));
    }
    let shelf = Shelf::new(surfaces);
    let mut wrong = Vec::new();
    for item in &shelf.items {
        for cosine in [1.0, 0.8, 0.4, 0.2, 0.07, 0.03, 0.0085] {
            for front in [true, false] {
                let albedo = albedo(&shelf.under(item, cosine, front));
                if (albedo - DVec3::ONE).abs().max_element() >= 0.01 {
                    let name = &item.name;
                    wrong.push(format!("{name}, cosine {cosine}, front {front}: {albedo}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rough surfaces lose light without energy compensation, which shows that `white_materials_lose_nothing` is sensitive.
#[test]
fn single_scattering_loses_light() {
    let roughness = rough(1.0, Masking::HeightCorrelated, false);
    let shelf = Shelf::new(vec![
        (
            "metal".to_owned(),
            metal(Metal::Color(Vec3::ONE), roughness),
        ),
        ("glass".to_owned(), glass(1.5, roughness)),
    ]);
    for item in &shelf.items {
        let albedo = albedo(&shelf.under(item, 0.5, true));
        assert!(albedo.max_element() < 0.95, "{}: {albedo}", item.name);
    }
}

/// Returns the directional albedo: the fraction of light from all directions that reaches the eye, without the radiance
/// scaling by refraction.
///
/// Half of the directions come from the material's own sampling. The other half is dense at grazing angles, from where
/// a nearly smooth surface receives its multiply scattered light.
pub(crate) fn albedo(seen: &Seen) -> DVec3 {
    let mut sum = DVec3::ZERO;
    const COUNT: u32 = 1 << 13;
    // Cosines are squares of uniform numbers, on both sides.
    let density = |cosine: f64| 1.0 / (8.0 * PI * cosine.abs().max(1e-9).sqrt());
    let tangent = seen.normal.any_orthonormal_vector();
    let bitangent = seen.normal.cross(tangent);
    for index in 0..COUNT {
        // The R₃ sequence (M. Roberts, The Unreasonable Effectiveness of Quasirandom Sequences, 2018).
        let along = |step: f64| (0.5 + step * f64::from(index)).fract() as f32 * 0.999_999;
        let [choice, u, v] = [
            0.819_172_513_396_164_4,
            0.671_043_606_703_789_2,
            0.549_700_477_901_960_2,
        ]
        .map(along);
        let sample = seen.sample(choice, u, v);
        let cosine = f64::from(seen.normal.dot(sample.direction));
        let own = f64::from(sample.pdf);
        if own > 0.0 {
            let weight = sample.weight.as_dvec3() * f64::from(sample.eta_scale);
            sum += weight * (own / (own + density(cosine)));
        }

        let (sin, cos) = (2.0 * PI as f32 * v).sin_cos();
        let cosine = u * u * if choice < 0.5 { 1.0 } else { -1.0 };
        let across = (1.0 - cosine * cosine).sqrt();
        let direction = seen.normal * cosine + (tangent * cos + bitangent * sin) * across;
        let value = seen.value(direction.normalize());
        let eta_scale = if cosine < 0.0 {
            seen.beyond2 / seen.index2
        } else {
            1.0
        };
        let pdf = density(cosine.into()) + f64::from(value.pdf);
        sum += value.color.as_dvec3() * (f64::from(value.scale) * eta_scale / pdf);
    }
    sum / f64::from(COUNT)
}
