//! What a scene's objects are made of.

use std::collections::HashMap;

use glam::Vec3;

use super::{
    Masking, Metal, Principled, Roughness, Surface, check_brightness,
    metals::METALS,
    source::{Extent, Object, Raw, Source, excerpt},
    text::{MaterialText, MaterialsText, PrincipledText},
    wording::alternatives,
};
use crate::{Error, microfacet::MIN_ALPHA};

/// Indices by name, and the materials.
pub(super) fn materials(
    source: &Source,
    written: &MaterialsText,
    spp: u32,
) -> Result<(HashMap<String, u32>, Vec<Surface>), Error> {
    let mut names = HashMap::new();
    let mut materials = Vec::new();
    for &(key, raw) in &written.0 {
        let object = Object::new(format!("material {}", materials.len() + 1), key);
        let name: String = source.field(&object, "name", key, "a text in quotes", |_| true)?;
        let object = Object::new(format!("material {name:?}"), raw);
        if names.insert(name, materials.len() as u32).is_some() {
            return Err(source.error(&object, key, "is given twice, expected another name"));
        }
        materials.push(material(source, &object, spp)?);
    }
    Ok((names, materials))
}

/// Light given off, dim enough for the film.
pub(super) fn radiance(
    source: &Source,
    object: &Object,
    raw: Raw,
    spp: u32,
) -> Result<Vec3, Error> {
    bright(source, object, "radiance", raw, spp)
}

/// The same in another field.
fn bright(
    source: &Source,
    object: &Object,
    field: &str,
    raw: Raw,
    spp: u32,
) -> Result<Vec3, Error> {
    let expected = "(r, g, b), each 0 or more";
    let radiance = source.triple(object, field, raw, expected, Extent::FromZero)?;
    let radiance = radiance.as_vec3();
    check_brightness(radiance.max_element(), spp)
        .map_err(|problem| source.error(object, raw, problem))?;
    Ok(radiance)
}

/// A refractive index.
fn index(source: &Source, object: &Object, raw: Raw) -> Result<f32, Error> {
    let valid = |ior: f64| (0.1..=10.0).contains(&ior);
    let ior = source.number(object, "ior", raw, "a number from 0.1 to 10", valid)?;
    Ok(ior as f32)
}

/// A metal by its name, its refractive index or its colour.
fn metal(
    source: &Source,
    object: &Object,
    preset: Option<Raw>,
    eta: Option<Raw>,
    k: Option<Raw>,
    color: Option<Raw>,
) -> Result<Metal, Error> {
    let part = |field, raw| {
        let expected = "(r, g, b), each from 0 to 100";
        let part = source.triple(object, field, raw, expected, Extent::Index)?;
        Ok::<Vec3, Error>(part.as_vec3())
    };
    match (preset, eta, k, color) {
        (Some(raw), None, None, None) => {
            let expected = "the name of a metal in quotes";
            let name: String = source.field(object, "preset", raw, expected, |_| true)?;
            let known = METALS.iter().find(|&&(metal, ..)| metal == name);
            let &(_, eta, k) = known.ok_or_else(|| {
                let names: Vec<&str> = METALS.iter().map(|&(metal, ..)| metal).collect();
                let alternatives = alternatives(&name, &names);
                let problem = format!("preset: unknown metal `{}`{alternatives}", excerpt(&name));
                source.error(object, raw, problem)
            })?;
            Ok(Metal::Index { eta, k })
        }
        (None, Some(eta), Some(k), None) => Ok(Metal::Index {
            eta: part("eta", eta)?,
            k: part("k", k)?,
        }),
        (None, None, None, Some(raw)) => {
            let expected = "(r, g, b), each from 0 to 1";
            let color = source.triple(object, "color", raw, expected, Extent::Part)?;
            Ok(Metal::Color(color.as_vec3()))
        }
        _ => Err(source.error(
            object,
            object.raw,
            "expected what the metal is: `preset`, or `eta` and `k`, or `color`, and only one of them",
        )),
    }
}

/// A number from 0 to 1.
fn fraction(source: &Source, object: &Object, field: &str, raw: Raw) -> Result<f32, Error> {
    let valid = |part: f64| (0.0..=1.0).contains(&part);
    let part = source.number(object, field, raw, "a number from 0 to 1", valid)?;
    Ok(part as f32)
}

fn principled(
    source: &Source,
    object: &Object,
    written: &PrincipledText,
    spp: u32,
) -> Result<Principled, Error> {
    let part = |field: &str, raw: Option<Raw>, default: f32| {
        raw.map_or(Ok(default), |raw| fraction(source, object, field, raw))
    };
    let flag = |field: &str, raw: Option<Raw>| {
        raw.map_or(Ok(false), |raw| {
            source.field(object, field, raw, "true or false", |_| true)
        })
    };
    let triple = |field: &str, raw: Option<Raw>, default: Vec3, most: &str, extent: Extent| {
        raw.map_or(Ok(default), |raw| {
            let expected = format!("(r, g, b), each from 0 to {most}");
            let triple = source.triple(object, field, raw, &expected, extent)?;
            Ok::<Vec3, Error>(triple.as_vec3())
        })
    };
    let default = Principled::default();
    let (ior, emission) = (written.ior, written.emission);
    Ok(Principled {
        base_color: triple(
            "base_color",
            written.base_color,
            default.base_color,
            "1",
            Extent::Part,
        )?,
        metallic: part("metallic", written.metallic, default.metallic)?,
        roughness: part("roughness", written.roughness, default.roughness)?,
        ior: ior.map_or(Ok(default.ior), |raw| index(source, object, raw))?,
        specular: part("specular", written.specular, default.specular)?,
        specular_color: triple(
            "specular_color",
            written.specular_color,
            default.specular_color,
            "100",
            Extent::Index,
        )?,
        transmission: part("transmission", written.transmission, default.transmission)?,
        thin: flag("thin", written.thin)?,
        clearcoat: part("clearcoat", written.clearcoat, default.clearcoat)?,
        clearcoat_roughness: part(
            "clearcoat_roughness",
            written.clearcoat_roughness,
            default.clearcoat_roughness,
        )?,
        emission: emission.map_or(Ok(default.emission), |raw| {
            bright(source, object, "emission", raw, spp)
        })?,
        one_sided: flag("one_sided", written.one_sided)?,
    })
}

/// How rough it is, and how that is taken.
fn roughness(
    source: &Source,
    object: &Object,
    alpha: Raw,
    masking: Option<Raw>,
    energy_compensation: Option<Raw>,
) -> Result<Roughness, Error> {
    let valid = |alpha: f64| (MIN_ALPHA..=1.0).contains(&(alpha as f32));
    let rough = format!("a number from {MIN_ALPHA} to 1; a smooth surface is of another material");
    let forms = "Separable or HeightCorrelated";
    Ok(Roughness {
        alpha: source.number(object, "alpha", alpha, &rough, valid)? as f32,
        masking: masking.map_or(Ok(Masking::default()), |raw| {
            source.field(object, "masking", raw, forms, |_| true)
        })?,
        energy_compensation: energy_compensation.map_or(Ok(true), |raw| {
            let expected = "true or false";
            source.field(object, "energy_compensation", raw, expected, |_| true)
        })?,
    })
}

fn material(source: &Source, object: &Object, spp: u32) -> Result<Surface, Error> {
    let part = |field, raw| {
        source
            .triple(
                object,
                field,
                raw,
                "(r, g, b), each from 0 to 1",
                Extent::Part,
            )
            .map(|part| part.as_vec3())
    };
    let flag = |raw: Option<Raw>| match raw {
        Some(raw) => source.field(object, "one_sided", raw, "true or false", |_| true),
        None => Ok(false),
    };
    Ok(match source.parse(object)? {
        MaterialText::Diffuse { albedo, one_sided } => Surface::Diffuse {
            albedo: part("albedo", albedo)?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::Mirror {
            reflectance,
            one_sided,
        } => Surface::Mirror {
            reflectance: part("reflectance", reflectance)?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::Dielectric { ior } => Surface::Dielectric {
            ior: index(source, object, ior)?,
        },
        MaterialText::Conductor {
            preset,
            eta,
            k,
            color,
            one_sided,
        } => Surface::Conductor {
            metal: metal(source, object, preset, eta, k, color)?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::RoughConductor {
            preset,
            eta,
            k,
            color,
            alpha,
            masking,
            energy_compensation,
            one_sided,
        } => Surface::RoughConductor {
            metal: metal(source, object, preset, eta, k, color)?,
            roughness: roughness(source, object, alpha, masking, energy_compensation)?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::RoughDielectric {
            ior,
            alpha,
            masking,
            energy_compensation,
        } => Surface::RoughDielectric {
            ior: index(source, object, ior)?,
            roughness: roughness(source, object, alpha, masking, energy_compensation)?,
        },
        MaterialText::CoatedDiffuse {
            albedo,
            ior,
            alpha,
            one_sided,
        } => Surface::CoatedDiffuse {
            albedo: part("albedo", albedo)?,
            ior: ior.map_or(Ok(1.5), |raw| index(source, object, raw))?,
            alpha: alpha.map_or(Ok(0.0), |raw| fraction(source, object, "alpha", raw))?,
            one_sided: flag(one_sided)?,
        },
        MaterialText::Principled(written) => {
            Surface::Principled(principled(source, object, &written, spp)?)
        }
        MaterialText::Emissive {
            radiance: raw,
            albedo,
            one_sided,
        } => Surface::Emissive {
            radiance: radiance(source, object, raw, spp)?,
            albedo: albedo.map_or(Ok(Vec3::ZERO), |raw| part("albedo", raw))?,
            one_sided: flag(one_sided)?,
        },
    })
}
