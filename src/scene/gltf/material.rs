//! Materials: the metallic-roughness model and its extensions, with their textures.

use glam::Vec3;
use gltf::json::{
    Material, Value, extensions::texture::TextureTransform, material::AlphaMode, mesh::Primitive,
    texture::Info, validation::Checked,
};
use serde::de::DeserializeOwned;

use super::{container::File, image::Images};
use crate::scene::{
    Channel, Encoding, Map, Maps, Parameter, Principled, Surface,
    model::{Model, ModelMaterial},
    source::excerpt,
};

const CLEARCOAT: &str = "KHR_materials_clearcoat";
const TRANSFORM: &str = "KHR_texture_transform";

/// Where a material looks at a texture.
pub(super) struct Slot {
    /// As it is called in the file.
    field: &'static str,
    /// Number of the texture.
    pub(super) texture: usize,
    uv_set: u32,
    pub(super) transform: Option<TextureTransform>,
    parameter: Parameter,
    channel: Channel,
    pub(super) encoding: Encoding,
}

/// Reads the materials that are named, and their textures.
pub(super) fn read(file: &File, named: &[usize], model: &mut Model) -> Result<(), String> {
    let within = |index: usize| move |problem: String| format!("material {index}: {problem}");
    let mut slots = Vec::new();
    for &index in named {
        let written = &file.root.materials[index];
        slots.push(slots_of(written).map_err(within(index))?);
    }
    let mut images = Images::read(file, slots.iter().flatten(), model)?;
    let count = file.root.materials.len();
    model.materials.resize(count, ModelMaterial::default());
    for (&index, slots) in named.iter().zip(&slots) {
        let written = &file.root.materials[index];
        let mut material = surface(written, model).map_err(within(index))?;
        for slot in slots {
            if slot.uv_set != uv_set_of(slots) {
                model.note(format!(
                    "not shown: textures by a second set of texture coordinates ({})",
                    slot.field
                ));
                continue;
            }
            let texture = images
                .texture(file, slot, model)
                .map_err(|problem| within(index)(format!("{}: {problem}", slot.field)))?;
            let channel = slot.channel;
            let map = texture.map(|texture| Map { texture, channel });
            if let Some(map) = map {
                material.maps.textures.insert(slot.parameter, map);
            }
        }
        model.materials[index] = material;
    }
    Ok(())
}

/// The material of a primitive that names none.
pub(super) fn default(file: &File, model: &mut Model) -> usize {
    let index = file.root.materials.len();
    if model.materials.len() == index {
        // As the file would have written it: nothing.
        model
            .materials
            .push(ModelMaterial::from(Surface::Principled(Principled {
                metallic: 1.0,
                roughness: 1.0,
                ..Principled::default()
            })));
    }
    index
}

/// Which texture coordinates of its vertices a primitive's material looks at.
pub(super) fn uv_set(file: &File, primitive: &Primitive) -> u32 {
    let material = primitive
        .material
        .and_then(|material| file.root.materials.get(material.value()));
    // What is wrong with the slots is said where the material is read.
    let slots = material.and_then(|material| slots_of(material).ok());
    slots.map_or(0, |slots| uv_set_of(&slots))
}

fn uv_set_of(slots: &[Slot]) -> u32 {
    slots.first().map_or(0, |slot| slot.uv_set)
}

/// All textures of a material that change something, that of its base colour first.
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
    let field = "baseColorTexture";
    if is_unlit(written) {
        let info = pbr.base_color_texture.as_ref();
        add(field, info, Parameter::Emission, Red, Srgb);
        return Ok(slots);
    }
    add(
        field,
        pbr.base_color_texture.as_ref(),
        Parameter::Color,
        Red,
        Srgb,
    );
    let field = "metallicRoughnessTexture";
    let info = pbr.metallic_roughness_texture.as_ref();
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
    Ok(slots)
}

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
    }
}

fn is_unlit(written: &Material) -> bool {
    let extensions = written.extensions.as_ref();
    extensions.is_some_and(|extensions| extensions.unlit.is_some())
}

/// What the surface is made of, but for its textures.
fn surface(written: &Material, model: &mut Model) -> Result<ModelMaterial, String> {
    let pbr = &written.pbr_metallic_roughness;
    let [r, g, b, _] = pbr.base_color_factor.0;
    let base_color = color("baseColorFactor", [r, g, b])?;
    if !matches!(written.alpha_mode, Checked::Valid(AlphaMode::Opaque)) {
        model.note("not shown: what is cut out or see-through by its alpha (alphaMode)".to_owned());
    }
    if is_unlit(written) {
        return Ok(ModelMaterial::from(Surface::Emissive {
            radiance: base_color,
            albedo: Vec3::ZERO,
            one_sided: false,
        }));
    }
    let mut principled = Principled {
        base_color,
        metallic: part("metallicFactor", pbr.metallic_factor.0)?,
        roughness: part("roughnessFactor", pbr.roughness_factor.0)?,
        ..Principled::default()
    };
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
        // Without a volume behind it a surface is a wall.
        let volume = extensions.volume.as_ref();
        let thin = volume.is_none_or(|volume| volume.thickness_factor.0 == 0.0);
        principled.thin = thin && principled.transmission > 0.0;
        let absorbs = volume.is_some_and(|volume| {
            volume.attenuation_distance.0.is_finite() && volume.attenuation_color.0 != [1.0; 3]
        });
        if absorbs && !thin && principled.transmission > 0.0 {
            model.note("not shown: absorption (KHR_materials_volume)".to_owned());
        }
        if let Some(written) = extensions.others.get(CLEARCOAT) {
            let number = |field| value(written, field).map(Option::unwrap_or_default);
            principled.clearcoat = part("clearcoatFactor", number("clearcoatFactor")?)?;
            let field = "clearcoatRoughnessFactor";
            principled.clearcoat_roughness = part(field, number(field)?)?;
            if written.get("clearcoatNormalTexture").is_some() {
                model.note("not shown: the normals of coats (clearcoatNormalTexture)".to_owned());
            }
        }
    }
    let emission = Vec3::from_array(written.emissive_factor.0) * strength;
    principled.emission = positive("emissiveFactor", emission)?;
    let bend = written.normal_texture.as_ref().map_or(1.0, |map| map.scale);
    if !(-100.0..=100.0).contains(&bend) {
        return Err(format!(
            "normalTexture: its scale is {bend}, expected a number from -100 to 100"
        ));
    }
    Ok(ModelMaterial {
        surface: Surface::Principled(principled),
        maps: Maps {
            bend,
            ..Maps::default()
        },
    })
}

/// A field of an extension that the crate `gltf` does not know.
fn value<T: DeserializeOwned>(written: &Value, field: &str) -> Result<Option<T>, String> {
    let value = written.get(field);
    value.map(|value| parsed(value, field)).transpose()
}

fn parsed<T: DeserializeOwned>(value: &Value, field: &str) -> Result<T, String> {
    serde_json::from_value(value.clone())
        .map_err(|error| format!("{field}: {}", excerpt(&error.to_string())))
}

fn part(field: &str, value: f32) -> Result<f32, String> {
    if value.is_finite() {
        Ok(value.clamp(0.0, 1.0))
    } else {
        Err(format!("{field} is {value}, expected a number from 0 to 1"))
    }
}

fn color(field: &str, color: [f32; 3]) -> Result<Vec3, String> {
    let color = Vec3::from_array(color);
    if color.is_finite() {
        Ok(color.clamp(Vec3::ZERO, Vec3::ONE))
    } else {
        Err(format!("{field} is {color}, expected numbers from 0 to 1"))
    }
}

fn positive(field: &str, color: Vec3) -> Result<Vec3, String> {
    if color.is_finite() && color.min_element() >= 0.0 {
        Ok(color)
    } else {
        Err(format!("{field} is {color}, expected numbers from 0"))
    }
}

/// glTF's 0 stands for an infinite one, which reflects everything.
fn ior(value: f32) -> Result<f32, String> {
    match value {
        0.0 => Ok(10.0),
        _ if (1.0..=10.0).contains(&value) => Ok(value),
        _ => Err(format!("ior is {value}, expected a number from 1 to 10")),
    }
}
