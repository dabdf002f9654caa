//! Materials: the metallic-roughness model and its extensions, with their textures.

use glam::Vec3;
use gltf::json::{
    Material, Value, extensions::texture::TextureTransform, material::AlphaMode, mesh::Primitive,
    texture::Info, validation::Checked,
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{container::File, image::Images};
use crate::scene::{
    Channel, Encoding, Map, Maps, Parameter, Principled, Surface,
    model::{Model, ModelMaterial},
    source::excerpt,
};

const CLEARCOAT: &str = "KHR_materials_clearcoat";
const GLOSSINESS: &str = "KHR_materials_pbrSpecularGlossiness";
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
    /// The texture's alpha times this is smoothness, of which roughness is made.
    smooth: Option<f32>,
}

/// Reads the materials that are named, and their textures. The one behind the file's own is that of primitives without.
pub(super) fn read(file: &File, named: &[usize], model: &mut Model) -> Result<(), String> {
    let within = |index: usize| move |problem: String| format!("material {index}: {problem}");
    let count = file.root.materials.len();
    let unnamed = named.contains(&count);
    let named = || named.iter().copied().filter(|&index| index < count);
    let mut slots = Vec::new();
    for index in named() {
        let written = &file.root.materials[index];
        slots.push(slots_of(written).map_err(within(index))?);
    }
    let mut images = Images::read(file, slots.iter().flatten(), model)?;
    model.materials.resize(count, ModelMaterial::default());
    if unnamed {
        // As the file would have written it: nothing.
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
        for slot in slots {
            let set = sets(slots).iter().position(|&set| set == Some(slot.uv_set));
            let Some(set) = set else {
                model.note(format!(
                    "not shown: textures by a third set of texture coordinates ({})",
                    slot.field
                ));
                continue;
            };
            let bends = matches!(
                slot.parameter,
                Parameter::Normal | Parameter::ClearcoatNormal
            );
            if bends && set != 0 {
                model.note(format!(
                    "not shown: a second normal map by other texture coordinates ({})",
                    slot.field
                ));
                continue;
            }
            let texture = images
                .texture(file, slot, set == 1, model)
                .map_err(|problem| within(index)(format!("{}: {problem}", slot.field)))?;
            let texture = match slot.smooth {
                Some(factor) => texture.map(|texture| model.library.rough(texture, factor)),
                None => texture,
            };
            let opaque = |&texture: &u32| {
                let texture = model.library.textures[texture as usize];
                model.library.images[texture.image as usize].is_opaque()
            };
            let texture = match slot.parameter {
                Parameter::Opacity => texture.filter(|texture| !opaque(texture)),
                _ => texture,
            };
            let channel = slot.channel;
            let map = texture.map(|texture| Map { texture, channel });
            if let Some(map) = map {
                material.maps.textures.insert(slot.parameter, map);
            }
        }
        smooth_coat(&mut material);
        model.materials[index] = material;
    }
    Ok(())
}

/// Which texture coordinates of its vertices a primitive's material looks at, if it does at any.
pub(super) fn uv_sets(file: &File, primitive: &Primitive) -> [Option<u32>; 2] {
    let material = primitive
        .material
        .and_then(|material| file.root.materials.get(material.value()));
    // What is wrong with the slots is said where the material is read.
    let slots = material.and_then(|material| slots_of(material).ok());
    sets(&slots.unwrap_or_default())
}

/// A coat without a normal map of its own is smooth, whatever that of the surface below: what the surface's map says of it
/// counts for nothing.
fn smooth_coat(material: &mut ModelMaterial) {
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
        material.maps.coat_bend = 0.0;
    }
}

/// The sets of texture coordinates that these lie by: the first one is that of normal maps, which need its tangents.
fn sets(slots: &[Slot]) -> [Option<u32>; 2] {
    let bends = |slot: &&Slot| slot.parameter == Parameter::Normal;
    let coat_bends = |slot: &&Slot| slot.parameter == Parameter::ClearcoatNormal;
    let first = (slots.iter().find(bends))
        .or_else(|| slots.iter().find(coat_bends))
        .or_else(|| slots.first())
        .map(|slot| slot.uv_set);
    let mut others = slots.iter().map(|slot| Some(slot.uv_set));
    [first, others.find(|&set| set != first).flatten()]
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
    let glossy = glossy(written)?;
    let (field, info) = match &glossy {
        Some(glossy) => ("diffuseTexture", glossy.diffuse_texture.as_ref()),
        None => ("baseColorTexture", pbr.base_color_texture.as_ref()),
    };
    if is_veiled(written) {
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
            slot.smooth = glossy.as_ref().map(|glossy| glossy.glossiness_factor);
        }
    }
    Ok(slots)
}

/// What stood in the place of the metallic-roughness model in older files.
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

/// The normal map of a coat.
fn coat_normal(written: &Material) -> Result<Option<Info>, String> {
    let extensions = written.extensions.as_ref();
    match extensions.and_then(|extensions| extensions.others.get(CLEARCOAT)) {
        Some(coat) => value(coat, "clearcoatNormalTexture"),
        None => Ok(None),
    }
}

fn glossy(written: &Material) -> Result<Option<Glossy>, String> {
    let extensions = written.extensions.as_ref();
    let glossy = extensions.and_then(|extensions| extensions.others.get(GLOSSINESS));
    glossy.map(|glossy| parsed(glossy, GLOSSINESS)).transpose()
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
        smooth: None,
    }
}

fn is_unlit(written: &Material) -> bool {
    let extensions = written.extensions.as_ref();
    extensions.is_some_and(|extensions| extensions.unlit.is_some())
}

/// Whether the alpha of its base colour says what it hides.
fn is_veiled(written: &Material) -> bool {
    !matches!(written.alpha_mode, Checked::Valid(AlphaMode::Opaque))
}

/// What the surface is made of, but for its textures.
fn surface(written: &Material) -> Result<ModelMaterial, String> {
    let name = written.name.clone().unwrap_or_default();
    let pbr = &written.pbr_metallic_roughness;
    let glossy = glossy(written)?;
    let (field, [r, g, b, alpha]) = match &glossy {
        Some(glossy) => ("diffuseFactor", glossy.diffuse_factor),
        None => ("baseColorFactor", pbr.base_color_factor.0),
    };
    let base_color = color(field, [r, g, b])?;
    let mut maps = Maps::default();
    let mut veiled = is_veiled(written);
    if veiled {
        maps.opacity = part(field, alpha)?;
    }
    if let Checked::Valid(AlphaMode::Mask) = written.alpha_mode {
        maps.cutoff = written.alpha_cutoff.map_or(0.5, |cutoff| cutoff.0);
        // By one of 0 nothing is cut out, and by one above 1 all is.
        if !(maps.cutoff > 0.0 && maps.cutoff <= 1.0) {
            maps.opacity = if maps.cutoff > 1.0 { 0.0 } else { 1.0 };
            maps.cutoff = 0.0;
            veiled = false;
        }
    }
    if is_unlit(written) {
        let surface = Surface::Emissive {
            radiance: base_color,
            albedo: Vec3::ZERO,
            one_sided: false,
            // Backs that are not `doubleSided` are for their renderers to leave out; here nothing is.
            both_sides: true,
        };
        return Ok(ModelMaterial {
            name,
            surface,
            maps,
            veiled,
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
        let smooth = part("glossinessFactor", glossy.glossiness_factor)?;
        principled.roughness = match glossy.specular_glossiness_texture {
            Some(_) => 1.0,
            None => 1.0 - smooth,
        };
        // An index of 1.5 reflects a 25th.
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
        // Without a volume behind it a surface is a wall.
        let volume = extensions.volume.as_ref();
        let thin = volume.is_none_or(|volume| volume.thickness_factor.0 == 0.0);
        principled.thin = thin && principled.transmission > 0.0;
        if let Some(volume) = volume {
            let left = color("attenuationColor", volume.attenuation_color.0)?;
            let distance = volume.attenuation_distance.0;
            if distance.is_nan() || distance <= 0.0 {
                return Err(format!(
                    "attenuationDistance is {distance}, expected a number above 0"
                ));
            }
            if distance.is_finite() && left != Vec3::ONE {
                // Less than a micrometre is no distance to see through.
                principled.absorption = Surface::absorption(left, f64::from(distance.max(1e-6)));
            }
        }
        if let Some(written) = extensions.others.get(CLEARCOAT) {
            let number = |field| value(written, field).map(Option::unwrap_or_default);
            principled.clearcoat = part("clearcoatFactor", number("clearcoatFactor")?)?;
            let field = "clearcoatRoughnessFactor";
            principled.clearcoat_roughness = part(field, number(field)?)?;
            if let Some(map) = written.get("clearcoatNormalTexture") {
                maps.coat_bend = value(map, "scale")?.unwrap_or(1.0);
                bend_of("clearcoatNormalTexture", maps.coat_bend)?;
            }
        }
    }
    let emission = Vec3::from_array(written.emissive_factor.0) * strength;
    principled.emission = positive("emissiveFactor", emission)?;
    principled.both_sides = written.double_sided && principled.emission != Vec3::ZERO;
    maps.bend = written.normal_texture.as_ref().map_or(1.0, |map| map.scale);
    bend_of("normalTexture", maps.bend)?;
    let surface = Surface::Principled(principled);
    Ok(ModelMaterial {
        name,
        surface,
        maps,
        veiled,
    })
}

fn bend_of(field: &str, scale: f32) -> Result<(), String> {
    if (-100.0..=100.0).contains(&scale) {
        return Ok(());
    }
    Err(format!(
        "{field}: its scale is {scale}, expected a number from -100 to 100"
    ))
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
