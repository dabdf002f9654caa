//! What a scene's objects are made of.

use std::collections::HashMap;

use glam::Vec3;

use super::{
    Surface, check_brightness,
    source::{Extent, Object, Raw, Source},
    text::{MaterialText, MaterialsText},
};
use crate::Error;

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
    let expected = "(r, g, b), each 0 or more";
    let radiance = source.triple(object, "radiance", raw, expected, Extent::FromZero)?;
    let radiance = radiance.as_vec3();
    check_brightness(radiance.max_element(), spp)
        .map_err(|problem| source.error(object, raw, problem))?;
    Ok(radiance)
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
        MaterialText::Dielectric { ior } => {
            let valid = |ior: f64| (0.1..=10.0).contains(&ior);
            Surface::Dielectric {
                ior: source.number(object, "ior", ior, "a number from 0.1 to 10", valid)? as f32,
            }
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
