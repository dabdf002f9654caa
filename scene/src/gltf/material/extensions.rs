//! Extensions of glTF materials that the crate `gltf` does not support: sheen, anisotropy, iridescence, diffuse
//! transmission and dispersion.

use std::f64::consts::TAU;

use glam::Vec3;
use gltf::json::{Value, texture::Info};
use serde::de::DeserializeOwned;
use serde_json::Map;

use super::{color, part, value};
use crate::{
    image::texture_library::TextureLibrary,
    limits::{MAX_DISPERSION, MAX_FILM_THICKNESS, MIN_ALPHA},
    model::ModelMaterial,
    scene::{
        Channel::{self, Alpha, Green, Red},
        Encoding::{self, Linear, Srgb},
        FacetDistribution, GlassTint, Masking, MaterialTexture, Parameter, Principled, Roughness,
        Surface,
    },
};

const SHEEN: &str = "KHR_materials_sheen";
const ANISOTROPY: &str = "KHR_materials_anisotropy";
const IRIDESCENCE: &str = "KHR_materials_iridescence";
const DIFFUSE_TRANSMISSION: &str = "KHR_materials_diffuse_transmission";
const DISPERSION: &str = "KHR_materials_dispersion";

/// A texture of a material's extension. The parts are: name of the JSON field, reference to the texture, material
/// parameter that it sets, channel to read, and encoding of the image.
pub(super) type ExtensionTexture = (&'static str, Info, Parameter, Channel, Encoding);

/// Reads the factors of sheen, anisotropy, iridescence, diffuse transmission and dispersion into a material. `others`
/// are the extensions that the crate `gltf` leaves as JSON. An absent extension changes nothing.
///
/// Factors are clamped to their ranges. Fails if a factor is not a finite number; the message names its field.
pub(super) fn read(others: &Map<String, Value>, material: &mut Principled) -> Result<(), String> {
    if let Some(written) = others.get(SHEEN) {
        let field = "sheenColorFactor";
        material.sheen_color = color(field, or(written, field, [0.0; 3])?)?;
        material.sheen_roughness = fraction(written, "sheenRoughnessFactor")?;
    }
    if let Some(written) = others.get(ANISOTROPY) {
        material.anisotropy = fraction(written, "anisotropyStrength")?;
        let field = "anisotropyRotation";
        let radians: f64 = or(written, field, 0.0)?;
        if !radians.is_finite() {
            return Err(format!("{field} is {radians}, expected a number"));
        }
        material.anisotropy_rotation = radians.rem_euclid(TAU).to_degrees() as f32;
    }
    if let Some(written) = others.get(IRIDESCENCE) {
        material.iridescence = fraction(written, "iridescenceFactor")?;
        material.iridescence_ior = within(written, "iridescenceIor", 1.3, [1.0, 10.0])?;
        let film = [0.0, MAX_FILM_THICKNESS];
        let field = "iridescenceThicknessMinimum";
        material.iridescence_thickness_min = within(written, field, 100.0, film)?;
        let field = "iridescenceThicknessMaximum";
        material.iridescence_thickness = within(written, field, 400.0, film)?;
    }
    if let Some(written) = others.get(DIFFUSE_TRANSMISSION) {
        material.diffuse_transmission = fraction(written, "diffuseTransmissionFactor")?;
        let field = "diffuseTransmissionColorFactor";
        material.diffuse_transmission_color = color(field, or(written, field, [1.0; 3])?)?;
    }
    if let Some(written) = others.get(DISPERSION) {
        material.dispersion = within(written, "dispersion", 0.0, [0.0, MAX_DISPERSION])?;
    }
    Ok(())
}

/// Returns the textures of the extensions that [`read`] reads, without those of a factor of 0, which have no effect.
/// Fails if a field is malformed.
pub(super) fn textures(others: &Map<String, Value>) -> Result<Vec<ExtensionTexture>, String> {
    let mut material = Principled::default();
    read(others, &mut material)?;
    let has_sheen = material.sheen_color != Vec3::ZERO;
    let has_film = material.iridescence > 0.0;
    let transmits = material.diffuse_transmission > 0.0;
    let uses = [
        (
            has_sheen,
            SHEEN,
            "sheenColorTexture",
            Parameter::SheenColor,
            Red,
            Srgb,
        ),
        (
            has_sheen,
            SHEEN,
            "sheenRoughnessTexture",
            Parameter::SheenRoughness,
            Alpha,
            Linear,
        ),
        (
            material.anisotropy > 0.0,
            ANISOTROPY,
            "anisotropyTexture",
            Parameter::Anisotropy,
            Red,
            Linear,
        ),
        (
            has_film,
            IRIDESCENCE,
            "iridescenceTexture",
            Parameter::Iridescence,
            Red,
            Linear,
        ),
        (
            has_film,
            IRIDESCENCE,
            "iridescenceThicknessTexture",
            Parameter::IridescenceThickness,
            Green,
            Linear,
        ),
        (
            transmits,
            DIFFUSE_TRANSMISSION,
            "diffuseTransmissionTexture",
            Parameter::DiffuseTransmission,
            Alpha,
            Linear,
        ),
        (
            transmits,
            DIFFUSE_TRANSMISSION,
            "diffuseTransmissionColorTexture",
            Parameter::DiffuseTransmissionColor,
            Red,
            Srgb,
        ),
    ];
    let mut textures = Vec::new();
    for (has_effect, extension, field, parameter, channel, encoding) in uses {
        let Some(written) = others.get(extension).filter(|_| has_effect) else {
            continue;
        };
        if let Some(info) = value(written, field)? {
            textures.push((field, info, parameter, channel, encoding));
        }
    }
    Ok(textures)
}

/// Reads a field of an extension. Returns `default` if the field is missing, and fails if it is not a `T`.
fn or<T: DeserializeOwned>(written: &Value, field: &str, default: T) -> Result<T, String> {
    Ok(value(written, field)?.unwrap_or(default))
}

/// Replaces the surface of a material by the rough dielectric that it equals, if it is anisotropic glass: colorless, with
/// a volume, without other layers and with textures for its normal, opacity and roughness alone. With a normal map, the
/// direction of anisotropy must be that of the tangent or across it; without one, the tangents are turned to any other.
/// Other materials stay as they are. Fails if memory does not suffice.
pub(super) fn convert_anisotropic_glass(
    material: &mut ModelMaterial,
    library: &mut TextureLibrary,
) -> Result<(), String> {
    let Surface::Principled(principled) = material.surface else {
        return Ok(());
    };
    let glass = Principled {
        transmission: 1.0,
        roughness: principled.roughness,
        ior: principled.ior,
        absorption: principled.absorption,
        anisotropy: principled.anisotropy,
        anisotropy_rotation: principled.anisotropy_rotation,
        ..Principled::default()
    };
    let is_plain = |map: &Parameter| match map {
        Parameter::Normal | Parameter::Opacity | Parameter::Roughness => true,
        // It multiplies a factor of 0.
        Parameter::Metallic => true,
        _ => false,
    };
    let quarters = principled.anisotropy_rotation / 90.0;
    let is_straight = (quarters - quarters.round()).abs() < 1e-3;
    // A normal map needs the tangents where they are.
    let can_turn = is_straight || !material.maps.has_normal_map();
    let is_brushed = principled == glass && principled.anisotropy > 0.0 && can_turn;
    if !is_brushed || !material.maps.textures.keys().all(is_plain) {
        return Ok(());
    }
    let textures = &mut material.maps.textures;
    textures.remove(&Parameter::Metallic);
    let raised = principled.anisotropy * principled.anisotropy;
    let factor = principled.roughness * principled.roughness;
    // The texture of the roughness becomes one of its square for each direction.
    let mut alphas = [factor + (1.0 - factor) * raised, factor];
    let mut maps = [None; 2];
    if let Some(map) = textures.remove(&Parameter::Roughness) {
        let square = library.square(map.texture)?;
        let along = Vec3::splat(factor * (1.0 - raised));
        let along = library.affine(square, along, Vec3::splat(raised))?;
        maps = [along, square].map(|texture| Some(MaterialTexture { texture, ..map }));
        alphas[0] = 1.0;
    }
    if !is_straight {
        material.tangent_turn = principled.anisotropy_rotation;
    } else if quarters.round() as i32 % 2 != 0 {
        alphas.reverse();
        maps.reverse();
    }
    let parameters = [Parameter::Roughness, Parameter::RoughnessV];
    for (parameter, map) in parameters.into_iter().zip(maps) {
        textures.extend(map.map(|map| (parameter, map)));
    }
    let [alpha, alpha_v] = alphas.map(|alpha| alpha.clamp(MIN_ALPHA, 1.0));
    material.surface = Surface::RoughDielectric {
        ior: principled.ior,
        roughness: Roughness {
            alpha,
            alpha_v: Some(alpha_v),
            distribution: FacetDistribution::Ggx,
            masking: Masking::HeightCorrelated,
            energy_compensation: false,
        },
        tint: GlassTint::WHITE,
        absorption: principled.absorption,
    };
    Ok(())
}

/// Returns whether a material has glass and a specular strength or color of its own, which the renderer applies only to
/// opaque parts.
pub(super) fn has_unused_specular(material: &ModelMaterial) -> bool {
    let Surface::Principled(principled) = &material.surface else {
        return false;
    };
    let textures = &material.maps.textures;
    let differs = principled.specular != 1.0
        || principled.specular_color != Vec3::ONE
        || textures.contains_key(&Parameter::Specular)
        || textures.contains_key(&Parameter::SpecularColor);
    differs && principled.transmission > 0.0 && principled.metallic < 1.0
}

/// Reads a factor and clamps it to 0..=1; 0 if it is missing. Fails if it is not a finite number.
fn fraction(written: &Value, field: &str) -> Result<f32, String> {
    part(field, or(written, field, 0.0)?)
}

/// Reads a factor and clamps it to the range from `low` to `high`. Returns `default` if it is missing, and fails if it
/// is not a finite number.
fn within(
    written: &Value,
    field: &str,
    default: f32,
    [low, high]: [f32; 2],
) -> Result<f32, String> {
    let factor: f32 = or(written, field, default)?;
    if factor.is_finite() {
        Ok(factor.clamp(low, high))
    } else {
        Err(format!(
            "{field} is {factor}, expected a number from {low} to {high}"
        ))
    }
}
