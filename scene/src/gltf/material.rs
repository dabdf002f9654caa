//! glTF materials: the metallic-roughness model, its extensions, and their textures.

mod extensions;

use glam::Vec3;
use gltf::json::{
    Material, Value, extensions::texture::TextureTransform, material::AlphaMode, texture::Info,
    validation::Checked,
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    container::File,
    image::{ImageCache, Images, Slot},
};
use crate::{
    error::{excerpt, sentence},
    model::{Model, ModelMaterial},
    scene::{
        Absorption, Channel, Encoding, MaterialTexture, MaterialTextures, Parameter, Principled,
        Surface,
    },
};

const CLEARCOAT: &str = "KHR_materials_clearcoat";
const GLOSSINESS: &str = "KHR_materials_pbrSpecularGlossiness";
const TRANSFORM: &str = "KHR_texture_transform";

/// Adds the materials with the indices `named`, and their textures, to the model. The others get a default value, so
/// that indices stay those of the file.
///
/// The index one past the file's materials adds glTF's default material. Images in `cache` are not decoded again. Fails
/// with a message that names the faulty material.
pub(super) fn read(
    file: &File,
    named: &[usize],
    cache: &mut ImageCache,
    model: &mut Model,
) -> Result<(), String> {
    let within = |index: usize| move |problem: String| format!("material {index}: {problem}");
    let count = file.root.materials.len();
    let unnamed = named.contains(&count);
    let named = || named.iter().copied().filter(|&index| index < count);
    let mut slots = Vec::new();
    for index in named() {
        let written = &file.root.materials[index];
        slots.push(slots_of(written).map_err(within(index))?);
    }
    let mut images = Images::read(file, slots.iter().flatten(), cache, model);
    model.materials.resize(count, ModelMaterial::default());
    if unnamed {
        // glTF's defaults for a material without any fields.
        let unnamed = Principled {
            metallic: 1.0,
            roughness: 1.0,
            ..Principled::default()
        };
        model.materials.push(Surface::Principled(unnamed).into());
    }
    for (index, slots) in named().zip(&slots) {
        let written = &file.root.materials[index];
        let mut material = surface(written).map_err(within(index))?;
        let name = match written.name.as_deref() {
            Some(name) if !name.is_empty() => format!("material {index} ({})", excerpt(name)),
            _ => format!("material {index}"),
        };
        // A texture that drives two parameters has two slots.
        let mut left_out = Vec::new();
        for slot in slots {
            let set = sets(slots).iter().position(|&set| set == Some(slot.uv_set));
            let Some(set) = set else {
                let text = format!(
                    "not shown: textures that use a third set of texture coordinates ({}, {{}})",
                    slot.field
                );
                if !left_out.contains(&slot.field) {
                    left_out.push(slot.field);
                    model.note_count(&text, ["material", "materials"], 1);
                }
                continue;
            };
            let is_normal_map = matches!(
                slot.parameter,
                Parameter::Normal | Parameter::ClearcoatNormal
            );
            if is_normal_map && set != 0 {
                let text = format!(
                    "not shown: a second normal map with other texture coordinates ({}, {{}})",
                    slot.field
                );
                model.note_count(&text, ["material", "materials"], 1);
                continue;
            }
            let texture = images
                .texture(file, slot, set == 1, &name, model)
                .map_err(|problem| within(index)(format!("{}: {problem}", slot.field)))?;
            let texture = match slot.glossiness {
                Some(factor) => {
                    texture.map(|texture| model.library.roughness_from_glossiness(texture, factor))
                }
                None => texture,
            };
            let texture = match slot.parameter {
                Parameter::Opacity => texture.filter(|&texture| !model.library.is_opaque(texture)),
                _ => texture,
            };
            let channel = slot.channel;
            let map = texture.map(|texture| MaterialTexture { texture, channel });
            if let Some(map) = map {
                material.maps.textures.insert(slot.parameter, map);
            }
        }
        keep_coat_smooth(&mut material);
        extensions::convert_anisotropic_glass(&mut material, &mut model.library)
            .map_err(within(index))?;
        if let Surface::Principled(surface) = &material.surface
            && surface.anisotropy > 0.0
            && surface.transmission > 0.0
            && surface.metallic < 1.0
        {
            let text = "approximated: the anisotropic glass of {} by glass that is equally rough in all directions; exact only if white, with a volume and no other layers, and without a normal map unless the direction is along or across the tangent";
            model.note_count(text, ["material", "materials"], 1);
        }
        if extensions::has_unused_specular(&material) {
            let text = "not used: the specular strength and color (KHR_materials_specular) of the glass of {}, which reflects by its index of refraction; change KHR_materials_ior instead";
            model.note_count(text, ["material", "materials"], 1);
        }
        model.materials[index] = material;
    }
    images.note_unreadable(model);
    Ok(())
}

/// Returns the sets of texture coordinates (n for `TEXCOORD_n`) that the material with this index uses as its first and
/// second set; see [`sets`]. Without a material, or with an invalid index, there are none.
pub(super) fn uv_sets(file: &File, material: Option<usize>) -> [Option<u32>; 2] {
    let material = material.and_then(|material| file.root.materials.get(material));
    // `read` reports invalid slots.
    let slots = material.and_then(|material| slots_of(material).ok());
    sets(&slots.unwrap_or_default())
}

/// Keeps a clear coat without a normal map smooth, as glTF demands: gives it the surface's normal map with strength 0.
/// Without any map it would use the shading normal of the surface.
fn keep_coat_smooth(material: &mut ModelMaterial) {
    let Surface::Principled(Principled { clearcoat, .. }) = material.surface else {
        return;
    };
    let textures = &mut material.maps.textures;
    if let (Some(&map), true, false) = (
        textures.get(&Parameter::Normal),
        clearcoat > 0.0,
        textures.contains_key(&Parameter::ClearcoatNormal),
    ) {
        textures.insert(Parameter::ClearcoatNormal, map);
        material.maps.coat_normal_scale = 0.0;
    }
}

/// Returns the two sets of texture coordinates (n for `TEXCOORD_n`) that a material with these slots may use; `None` if
/// it needs fewer. Slots with a third set are not shown.
///
/// The first set is that of a normal map if there is one, because tangents belong to the first set. Otherwise it is
/// that of the first slot.
fn sets(slots: &[Slot]) -> [Option<u32>; 2] {
    let is_normal_map = |slot: &&Slot| slot.parameter == Parameter::Normal;
    let is_coat_normal_map = |slot: &&Slot| slot.parameter == Parameter::ClearcoatNormal;
    let first = (slots.iter().find(is_normal_map))
        .or_else(|| slots.iter().find(is_coat_normal_map))
        .or_else(|| slots.first())
        .map(|slot| slot.uv_set);
    let mut others = slots.iter().map(|slot| Some(slot.uv_set));
    [first, others.find(|&set| set != first).flatten()]
}

/// Returns the slots of a material, as the file describes it. An opaque material has none for opacity, and an unlit one
/// has only those of its base color texture. [`extensions::textures`] leaves out textures without effect.
///
/// The slots of the base color texture come first, because [`sets`] prefers the first slot. Fails if an extension is
/// malformed.
fn slots_of(written: &Material) -> Result<Vec<Slot>, String> {
    use Channel::{Alpha, Blue, Green, Red};
    use Encoding::{Linear, Srgb};
    let mut slots = Vec::new();
    let mut add = |field, info: Option<&Info>, parameter, channel, encoding| {
        slots.extend(info.map(|info| {
            let transform = info.extensions.as_ref();
            let transform = transform.and_then(|all| all.texture_transform.clone());
            slot(
                field,
                info.index.value(),
                info.tex_coord,
                transform,
                parameter,
                channel,
                encoding,
            )
        }));
    };
    let pbr = &written.pbr_metallic_roughness;
    let glossy = glossy(written)?;
    let (field, info) = match &glossy {
        Some(glossy) => ("diffuseTexture", glossy.diffuse_texture.as_ref()),
        None => ("baseColorTexture", pbr.base_color_texture.as_ref()),
    };
    if has_alpha(written) {
        add(field, info, Parameter::Opacity, Alpha, Srgb);
    }
    if is_unlit(written) {
        add(field, info, Parameter::Emission, Red, Srgb);
        return Ok(slots);
    }
    add(field, info, Parameter::Color, Red, Srgb);
    let field = "specularGlossinessTexture";
    let info = glossy.as_ref();
    let info = info.and_then(|glossy| glossy.specular_glossiness_texture.as_ref());
    add(field, info, Parameter::SpecularColor, Red, Srgb);
    add(field, info, Parameter::Roughness, Red, Linear);
    let field = "metallicRoughnessTexture";
    let info = pbr.metallic_roughness_texture.as_ref();
    let info = info.filter(|_| glossy.is_none());
    add(field, info, Parameter::Roughness, Green, Linear);
    add(field, info, Parameter::Metallic, Blue, Linear);
    let info = written.emissive_texture.as_ref();
    add("emissiveTexture", info, Parameter::Emission, Red, Srgb);
    if let Some(extensions) = &written.extensions {
        if let Some(transmission) = &extensions.transmission {
            let info = transmission.transmission_texture.as_ref();
            add(
                "transmissionTexture",
                info,
                Parameter::Transmission,
                Red,
                Linear,
            );
        }
        if let Some(specular) = &extensions.specular {
            let info = specular.specular_texture.as_ref();
            add("specularTexture", info, Parameter::Specular, Alpha, Linear);
            let info = specular.specular_color_texture.as_ref();
            add(
                "specularColorTexture",
                info,
                Parameter::SpecularColor,
                Red,
                Srgb,
            );
        }
        if let Some(coat) = extensions.others.get(CLEARCOAT) {
            let field = "clearcoatTexture";
            let info: Option<Info> = value(coat, field)?;
            add(field, info.as_ref(), Parameter::Clearcoat, Red, Linear);
            let field = "clearcoatRoughnessTexture";
            let info: Option<Info> = value(coat, field)?;
            add(
                field,
                info.as_ref(),
                Parameter::ClearcoatRoughness,
                Green,
                Linear,
            );
        }
        for (field, info, parameter, channel, encoding) in extensions::textures(&extensions.others)?
        {
            add(field, Some(&info), parameter, channel, encoding);
        }
    }
    if let Some(normal) = &written.normal_texture {
        let extension = normal.extensions.as_ref();
        let extension = extension.and_then(|extension| extension.others.get(TRANSFORM));
        let transform = extension.map(|extension| parsed(extension, TRANSFORM));
        slots.push(slot(
            "normalTexture",
            normal.index.value(),
            normal.tex_coord,
            transform.transpose()?,
            Parameter::Normal,
            Red,
            Linear,
        ));
    }
    if let Some(coat) = coat_normal(written)? {
        slots.push(slot(
            "clearcoatNormalTexture",
            coat.index.value(),
            coat.tex_coord,
            coat.extensions.and_then(|all| all.texture_transform),
            Parameter::ClearcoatNormal,
            Red,
            Linear,
        ));
    }
    for slot in &mut slots {
        if slot.field == "specularGlossinessTexture" && slot.parameter == Parameter::Roughness {
            slot.glossiness = glossy.as_ref().map(|glossy| glossy.glossiness_factor);
        }
    }
    Ok(slots)
}

/// The fields of `KHR_materials_pbrSpecularGlossiness`, which older files have instead of the metallic-roughness model.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Glossy {
    diffuse_factor: [f32; 4],
    diffuse_texture: Option<Info>,
    specular_factor: [f32; 3],
    glossiness_factor: f32,
    specular_glossiness_texture: Option<Info>,
}

impl Default for Glossy {
    fn default() -> Self {
        Glossy {
            diffuse_factor: [1.0; 4],
            diffuse_texture: None,
            specular_factor: [1.0; 3],
            glossiness_factor: 1.0,
            specular_glossiness_texture: None,
        }
    }
}

/// Returns the normal map of a material's clear coat, or `None` if it has none. Fails if that field is malformed.
fn coat_normal(written: &Material) -> Result<Option<Info>, String> {
    let extensions = written.extensions.as_ref();
    match extensions.and_then(|extensions| extensions.others.get(CLEARCOAT)) {
        Some(coat) => value(coat, "clearcoatNormalTexture"),
        None => Ok(None),
    }
}

/// Returns the fields of `KHR_materials_pbrSpecularGlossiness`, or `None` if the material does not have that extension.
/// Fails if they are malformed.
fn glossy(written: &Material) -> Result<Option<Glossy>, String> {
    let extensions = written.extensions.as_ref();
    let glossy = extensions.and_then(|extensions| extensions.others.get(GLOSSINESS));
    glossy.map(|glossy| parsed(glossy, GLOSSINESS)).transpose()
}

/// Makes a slot without glossiness. The texture transform may override `uv_set`, the set of texture coordinates.
fn slot(
    field: &'static str,
    texture: usize,
    uv_set: u32,
    transform: Option<TextureTransform>,
    parameter: Parameter,
    channel: Channel,
    encoding: Encoding,
) -> Slot {
    let other_set = transform.as_ref().and_then(|transform| transform.tex_coord);
    Slot {
        field,
        texture,
        uv_set: other_set.unwrap_or(uv_set),
        transform,
        parameter,
        channel,
        encoding,
        glossiness: None,
    }
}

fn is_unlit(written: &Material) -> bool {
    let extensions = written.extensions.as_ref();
    extensions.is_some_and(|extensions| extensions.unlit.is_some())
}

/// Returns whether the alpha of the base color is the opacity, that is whether `alphaMode` is not `OPAQUE`.
fn has_alpha(written: &Material) -> bool {
    !matches!(written.alpha_mode, Checked::Valid(AlphaMode::Opaque))
}

/// Converts the constant factors of a glTF material to a material without textures. Factors from 0 to 1 are clamped.
/// Fails if a factor is not finite, or cannot be clamped and is out of range; the message names its field.
fn surface(written: &Material) -> Result<ModelMaterial, String> {
    let name = written.name.clone().unwrap_or_default();
    let pbr = &written.pbr_metallic_roughness;
    let glossy = glossy(written)?;
    let (field, [r, g, b, alpha]) = match &glossy {
        Some(glossy) => ("diffuseFactor", glossy.diffuse_factor),
        None => ("baseColorFactor", pbr.base_color_factor.0),
    };
    let base_color = color(field, [r, g, b])?;
    let mut maps = MaterialTextures::default();
    let mut alpha_tested = has_alpha(written);
    if alpha_tested {
        maps.opacity = part(field, alpha)?;
    }
    if let Checked::Valid(AlphaMode::Mask) = written.alpha_mode {
        maps.cutoff = written.alpha_cutoff.map_or(0.5, |cutoff| cutoff.0);
        // A cutoff of 0 or less removes nothing, and one above 1 removes everything.
        if !(maps.cutoff > 0.0 && maps.cutoff <= 1.0) {
            maps.opacity = if maps.cutoff > 1.0 { 0.0 } else { 1.0 };
            maps.cutoff = 0.0;
            alpha_tested = false;
        }
    }
    if is_unlit(written) {
        let surface = Surface::Emissive {
            radiance: base_color,
            albedo: Vec3::ZERO,
            one_sided: false,
            // glTF lets renderers cull backs that are not `doubleSided`. Nothing is culled here.
            both_sides: true,
        };
        return Ok(ModelMaterial {
            name,
            surface,
            maps,
            alpha_tested,
            ..ModelMaterial::default()
        });
    }
    let mut principled = Principled {
        base_color,
        metallic: part("metallicFactor", pbr.metallic_factor.0)?,
        roughness: part("roughnessFactor", pbr.roughness_factor.0)?,
        ..Principled::default()
    };
    if let Some(glossy) = &glossy {
        principled.metallic = 0.0;
        let glossiness = part("glossinessFactor", glossy.glossiness_factor)?;
        principled.roughness = match glossy.specular_glossiness_texture {
            Some(_) => 1.0,
            None => 1.0 - glossiness,
        };
        // The default index of refraction, 1.5, reflects 1/25 at normal incidence.
        principled.specular_color = color("specularFactor", glossy.specular_factor)? * 25.0;
    }
    let mut strength = 1.0;
    if let Some(extensions) = &written.extensions {
        if let Some(written) = &extensions.emissive_strength {
            strength = written.emissive_strength.0;
        }
        if let Some(written) = &extensions.ior {
            principled.ior = ior(written.ior.0)?;
        }
        if let Some(written) = &extensions.specular {
            principled.specular = part("specularFactor", written.specular_factor.0)?;
            let tint = written.specular_color_factor.0;
            let tint = positive("specularColorFactor", Vec3::from_array(tint))?;
            principled.specular_color = tint.min(Vec3::splat(100.0));
        }
        if let Some(written) = &extensions.transmission {
            principled.transmission = part("transmissionFactor", written.transmission_factor.0)?;
        }
        extensions::read(&extensions.others, &mut principled)?;
        // A transmissive surface without a volume is a thin wall.
        let volume = extensions.volume.as_ref();
        let thin = volume.is_none_or(|volume| volume.thickness_factor.0 == 0.0);
        let transmits = principled.transmission > 0.0 || principled.diffuse_transmission > 0.0;
        principled.thin = thin && transmits;
        if let Some(volume) = volume {
            let left = color("attenuationColor", volume.attenuation_color.0)?;
            let distance = volume.attenuation_distance.0;
            if distance.is_nan() || distance <= 0.0 {
                return Err(format!(
                    "attenuationDistance is {distance}, expected a number above 0"
                ));
            }
            if distance.is_finite() && left != Vec3::ONE {
                // Distances below a micrometre would overflow the coefficient.
                principled.absorption = Absorption::new(left, f64::from(distance.max(1e-6)));
            }
        }
        if let Some(written) = extensions.others.get(CLEARCOAT) {
            let number = |field| value(written, field).map(Option::unwrap_or_default);
            principled.clearcoat = part("clearcoatFactor", number("clearcoatFactor")?)?;
            let field = "clearcoatRoughnessFactor";
            principled.clearcoat_roughness = part(field, number(field)?)?;
            if let Some(map) = written.get("clearcoatNormalTexture") {
                maps.coat_normal_scale = value(map, "scale")?.unwrap_or(1.0);
                check_normal_scale("clearcoatNormalTexture", maps.coat_normal_scale)?;
            }
        }
    }
    let emission = Vec3::from_array(written.emissive_factor.0) * strength;
    principled.emission = positive("emissiveFactor", emission)?;
    principled.both_sides = written.double_sided && principled.emission != Vec3::ZERO;
    maps.normal_scale = written.normal_texture.as_ref().map_or(1.0, |map| map.scale);
    check_normal_scale("normalTexture", maps.normal_scale)?;
    let surface = Surface::Principled(principled);
    Ok(ModelMaterial {
        name,
        surface,
        maps,
        alpha_tested,
        ..ModelMaterial::default()
    })
}

/// Fails if the `scale` of a normal map is not from -100 to 100. `field` names the map in the message.
fn check_normal_scale(field: &str, scale: f32) -> Result<(), String> {
    if (-100.0..=100.0).contains(&scale) {
        return Ok(());
    }
    Err(format!(
        "{field}: its scale is {scale}, expected a number from -100 to 100"
    ))
}

/// Reads a field of an extension that the crate `gltf` does not support. Returns `None` if the field is missing, and
/// fails if it is not a `T`.
fn value<T: DeserializeOwned>(written: &Value, field: &str) -> Result<Option<T>, String> {
    let value = written.get(field);
    value.map(|value| parsed(value, field)).transpose()
}

/// Parses a JSON value, such as an extension, as a `T`. Fails if it is something else; the message names `field`.
fn parsed<T: DeserializeOwned>(value: &Value, field: &str) -> Result<T, String> {
    serde_json::from_value(value.clone())
        .map_err(|error| format!("{field}: {}", sentence(&error.to_string())))
}

/// Returns a factor clamped to 0..=1. Fails, with the name `field`, if it is not finite.
fn part(field: &str, value: f32) -> Result<f32, String> {
    if value.is_finite() {
        Ok(value.clamp(0.0, 1.0))
    } else {
        Err(format!("{field} is {value}, expected a number from 0 to 1"))
    }
}

/// Returns a color clamped to 0..=1 per channel. Fails, with the name `field`, if it is not finite.
fn color(field: &str, color: [f32; 3]) -> Result<Vec3, String> {
    let color = Vec3::from_array(color);
    if color.is_finite() {
        Ok(color.clamp(Vec3::ZERO, Vec3::ONE))
    } else {
        Err(format!("{field} is {color}, expected numbers from 0 to 1"))
    }
}

/// Returns the color. Fails, with the name `field`, if a channel is not finite or is negative.
fn positive(field: &str, color: Vec3) -> Result<Vec3, String> {
    if color.is_finite() && color.min_element() >= 0.0 {
        Ok(color)
    } else {
        Err(format!("{field} is {color}, expected numbers of 0 or more"))
    }
}

/// Checks an index of refraction, and fails unless it is 0 or from 1 to 10. glTF's 0 means infinity, which reflects
/// everything; it becomes 10.
fn ior(value: f32) -> Result<f32, String> {
    match value {
        0.0 => Ok(10.0),
        _ if (1.0..=10.0).contains(&value) => Ok(value),
        _ => Err(format!("ior is {value}, expected a number from 1 to 10")),
    }
}
