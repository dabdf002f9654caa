//! Reads the materials of a scene file.

use glam::Vec3;

use super::{
    error_text::alternatives,
    lists::MaterialsText,
    metals::METALS,
    parameters::Parameters,
    source::{NumberRange, Object, Raw, SceneSource},
    text::{MaterialText, PrincipledText},
};
use crate::{
    Error,
    builder::materials::Materials,
    error::excerpt,
    limits::{MIN_ALPHA, check_brightness},
    scene::{Masking, MaterialTextures, Metal, Parameter, Principled, Roughness, Surface},
};

/// Reads the `materials` of a scene file and the images that they name.
///
/// `spp` is the number of samples per pixel that emission is checked against.
pub(crate) fn materials<'a>(
    source: &SceneSource<'a>,
    written: &MaterialsText<'a>,
    spp: u32,
) -> Result<Materials, Error> {
    let mut materials = Materials::default();
    for &(key, raw) in &written.0 {
        let index = materials.surfaces.len() as u32;
        let object = Object::new(format!("material {}", index + 1), key);
        let name: String = source.field(&object, "name", key, "a string in quotes", |_| true)?;
        let object = Object::new(format!("material {name:?}"), raw);
        materials.display_names.push(name.clone());
        if materials.names.insert(name, index).is_some() {
            return Err(source.error(&object, key, "is defined twice; rename one of the two"));
        }
        let mut parameters = Parameters::new(source, &object, &mut materials.library);
        let surface = material(source, &object, &mut parameters, spp)?;
        let maps = parameters.maps;
        materials.surfaces.push(surface);
        if maps != MaterialTextures::default() {
            materials.maps.insert(index, maps);
        }
    }
    Ok(materials)
}

/// Parses a radiance, 0 or more per channel, that the film can accumulate over `spp` samples.
pub(crate) fn radiance(
    source: &SceneSource,
    object: &Object,
    raw: Raw,
    spp: u32,
) -> Result<Vec3, Error> {
    let expected = "(r, g, b), each 0 or more";
    let radiance = source.triple(object, "radiance", raw, expected, NumberRange::FromZero)?;
    let radiance = radiance.as_vec3();
    check_brightness(radiance.max_element(), spp)
        .map_err(|problem| source.error(object, raw, problem))?;
    Ok(radiance)
}

/// Parses the field `ior`, an index of refraction from 0.1 to 10.
fn index(source: &SceneSource, object: &Object, raw: Raw) -> Result<f32, Error> {
    let valid = |ior: f64| (0.1..=10.0).contains(&ior);
    let ior = source.number(object, "ior", raw, "a number from 0.1 to 10", valid)?;
    Ok(ior as f32)
}

/// Parses a metal, given by exactly one of preset name, complex index of refraction (`eta` and `k`) or colour.
fn metal(
    source: &SceneSource,
    object: &Object,
    preset: Option<Raw>,
    eta: Option<Raw>,
    k: Option<Raw>,
    color: Option<Raw>,
) -> Result<Metal, Error> {
    let part = |field, raw| {
        let expected = "(r, g, b), each from 0 to 100";
        let part = source.triple(object, field, raw, expected, NumberRange::MetalIndex)?;
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
            let color = source.triple(object, "color", raw, expected, NumberRange::Fraction)?;
            Ok(Metal::Color(color.as_vec3()))
        }
        _ => Err(source.error(
            object,
            object.raw,
            "expected the metal as exactly one of `preset`, `eta` with `k`, or `color`",
        )),
    }
}

/// Parses a field as a number from 0 to 1, which cannot be a texture.
fn fraction(source: &SceneSource, object: &Object, field: &str, raw: Raw) -> Result<f32, Error> {
    let valid = |part: f64| (0.0..=1.0).contains(&part);
    let part = source.number(object, field, raw, "a number from 0 to 1", valid)?;
    Ok(part as f32)
}

/// Parses the field `absorption`: the transmittance per channel over a distance in metres.
///
/// Returns the absorption coefficient in 1/m per channel; 0 if the field is missing.
fn absorption(source: &SceneSource, object: &Object, raw: Option<Raw>) -> Result<Vec3, Error> {
    let Some(raw) = raw else {
        return Ok(Vec3::ZERO);
    };
    let expected =
        "((r, g, b), distance): r, g and b from 0 to 1, distance from 1e-6 to 1e8 metres";
    let ((r, g, b), distance) = source.field(
        object,
        "absorption",
        raw,
        expected,
        |&((r, g, b), distance): &((f64, f64, f64), f64)| {
            let parts = [r, g, b].iter().all(|part| (0.0..=1.0).contains(part));
            parts && (1e-6..=1e8).contains(&distance)
        },
    )?;
    let left = Vec3::new(r as f32, g as f32, b as f32);
    Ok(Surface::absorption(left, distance))
}

/// Builds a `Principled` material; missing fields get the defaults of [`Principled::default`].
fn principled<'a>(
    source: &SceneSource<'a>,
    object: &Object<'a>,
    parameters: &mut Parameters<'_, '_, 'a>,
    written: &PrincipledText<'a>,
    spp: u32,
) -> Result<Principled, Error> {
    let flag = |field: &str, raw: Option<Raw>| {
        raw.map_or(Ok(false), |raw| {
            source.field(object, field, raw, "true or false", |_| true)
        })
    };
    parameters.normal(written.normal)?;
    parameters.clearcoat_normal(written.clearcoat_normal)?;
    parameters.opacity(written.opacity, written.cutoff)?;
    let default = Principled::default();
    let mut part = |field, raw: Option<Raw<'a>>, parameter, default| {
        raw.map_or(Ok(default), |raw| {
            parameters.fraction(field, raw, parameter)
        })
    };
    Ok(Principled {
        metallic: part(
            "metallic",
            written.metallic,
            Parameter::Metallic,
            default.metallic,
        )?,
        roughness: part(
            "roughness",
            written.roughness,
            Parameter::Roughness,
            default.roughness,
        )?,
        specular: part(
            "specular",
            written.specular,
            Parameter::Specular,
            default.specular,
        )?,
        transmission: part(
            "transmission",
            written.transmission,
            Parameter::Transmission,
            default.transmission,
        )?,
        clearcoat: part(
            "clearcoat",
            written.clearcoat,
            Parameter::Clearcoat,
            default.clearcoat,
        )?,
        clearcoat_roughness: part(
            "clearcoat_roughness",
            written.clearcoat_roughness,
            Parameter::ClearcoatRoughness,
            default.clearcoat_roughness,
        )?,
        base_color: written.base_color.map_or(Ok(default.base_color), |raw| {
            parameters.color_fraction("base_color", raw, Parameter::Color)
        })?,
        specular_color: written
            .specular_color
            .map_or(Ok(default.specular_color), |raw| {
                parameters.specular_color(raw)
            })?,
        ior: written
            .ior
            .map_or(Ok(default.ior), |raw| index(source, object, raw))?,
        thin: flag("thin", written.thin)?,
        emission: written.emission.map_or(Ok(default.emission), |raw| {
            parameters.radiance("emission", raw, spp)
        })?,
        both_sides: flag("both_sides", written.both_sides)?,
        one_sided: flag("one_sided", written.one_sided)?,
        absorption: absorption(source, object, written.absorption)?,
    })
}

/// Parses the roughness fields of a rough conductor or dielectric.
fn roughness(
    source: &SceneSource,
    object: &Object,
    alpha: Raw,
    masking: Option<Raw>,
    energy_compensation: Option<Raw>,
) -> Result<Roughness, Error> {
    let valid = |alpha: f64| (MIN_ALPHA..=1.0).contains(&(alpha as f32));
    let rough = format!(
        "a number from {MIN_ALPHA} to 1; for a smooth surface use the material without `Rough` in its name"
    );
    let maskings = "Separable or HeightCorrelated";
    Ok(Roughness {
        alpha: source.number(object, "alpha", alpha, &rough, valid)? as f32,
        masking: masking.map_or(Ok(Masking::default()), |raw| {
            source.field(object, "masking", raw, maskings, |_| true)
        })?,
        energy_compensation: energy_compensation.map_or(Ok(true), |raw| {
            let expected = "true or false";
            source.field(object, "energy_compensation", raw, expected, |_| true)
        })?,
    })
}

/// Builds the material that `object` defines and notes its textures in `parameters`.
fn material<'a>(
    source: &SceneSource<'a>,
    object: &Object<'a>,
    parameters: &mut Parameters<'_, '_, 'a>,
    spp: u32,
) -> Result<Surface, Error> {
    let named_flag = |field: &str, raw: Option<Raw>| match raw {
        Some(raw) => source.field(object, field, raw, "true or false", |_| true),
        None => Ok(false),
    };
    let flag = |raw| named_flag("one_sided", raw);
    Ok(match source.parse(object)? {
        MaterialText::Diffuse {
            albedo,
            one_sided,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::Diffuse {
                albedo: parameters.color_fraction("albedo", albedo, Parameter::Color)?,
                one_sided: flag(one_sided)?,
            }
        }
        MaterialText::Mirror {
            reflectance,
            one_sided,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::Mirror {
                reflectance: parameters.color_fraction(
                    "reflectance",
                    reflectance,
                    Parameter::Color,
                )?,
                one_sided: flag(one_sided)?,
            }
        }
        MaterialText::Dielectric {
            ior,
            absorption: absorbed,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::Dielectric {
                ior: index(source, object, ior)?,
                absorption: absorption(source, object, absorbed)?,
            }
        }
        MaterialText::Conductor {
            preset,
            eta,
            k,
            color,
            one_sided,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::Conductor {
                metal: metal(source, object, preset, eta, k, color)?,
                one_sided: flag(one_sided)?,
            }
        }
        MaterialText::RoughConductor {
            preset,
            eta,
            k,
            color,
            alpha,
            masking,
            energy_compensation,
            one_sided,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::RoughConductor {
                metal: metal(source, object, preset, eta, k, color)?,
                roughness: roughness(source, object, alpha, masking, energy_compensation)?,
                one_sided: flag(one_sided)?,
            }
        }
        MaterialText::RoughDielectric {
            ior,
            alpha,
            masking,
            energy_compensation,
            absorption: absorbed,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::RoughDielectric {
                ior: index(source, object, ior)?,
                roughness: roughness(source, object, alpha, masking, energy_compensation)?,
                absorption: absorption(source, object, absorbed)?,
            }
        }
        MaterialText::CoatedDiffuse {
            albedo,
            ior,
            alpha,
            one_sided,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::CoatedDiffuse {
                albedo: parameters.color_fraction("albedo", albedo, Parameter::Color)?,
                ior: ior.map_or(Ok(1.5), |raw| index(source, object, raw))?,
                alpha: alpha.map_or(Ok(0.0), |raw| fraction(source, object, "alpha", raw))?,
                one_sided: flag(one_sided)?,
            }
        }
        MaterialText::Principled(written) => {
            Surface::Principled(principled(source, object, parameters, &written, spp)?)
        }
        MaterialText::Emissive {
            radiance: raw,
            albedo,
            both_sides,
            one_sided,
            normal,
            opacity,
            cutoff,
        } => {
            parameters.normal(normal)?;
            parameters.opacity(opacity, cutoff)?;
            Surface::Emissive {
                radiance: parameters.radiance("radiance", raw, spp)?,
                albedo: albedo.map_or(Ok(Vec3::ZERO), |raw| {
                    parameters.color_fraction("albedo", raw, Parameter::Color)
                })?,
                one_sided: flag(one_sided)?,
                both_sides: named_flag("both_sides", both_sides)?,
            }
        }
    })
}
