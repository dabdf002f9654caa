//! Packs a scene's images and textures into the buffers that lookups read.

use std::collections::HashMap;

use crate::{
    scene::{
        self, Channel, Encoding, Filter, Image, Parameter, Scene, Texels, Wrap, color::srgb_value,
        memory,
    },
    shading::{
        material::{HIDDEN, MIRRORED_RELIEF, Material},
        material_textures::{
            MAP_ANISOTROPY, MAP_CLEARCOAT, MAP_CLEARCOAT_ROUGHNESS, MAP_COAT_NORMAL, MAP_COLOR,
            MAP_DIFFUSE_TRANSMISSION, MAP_DIFFUSE_TRANSMISSION_COLOR, MAP_EMISSION, MAP_FILM,
            MAP_FILM_THICKNESS, MAP_METALLIC, MAP_NORMAL, MAP_OPACITY, MAP_ROUGHNESS,
            MAP_ROUGHNESS_ACROSS, MAP_SHEEN_COLOR, MAP_SHEEN_ROUGHNESS, MAP_SPECULAR,
            MAP_SPECULAR_COLOR, MAP_TRANSMISSION, MAP_WEIGHT, MaterialTextures,
        },
        texture::{
            BILINEAR, CLAMP, FLOAT, LINEAR_8, LINEAR_16, MIRRORED_REPEAT, NEAREST, REPEAT, SRGB_8,
            SRGB_VALUES, Texture, srgb_values,
        },
    },
};

/// Owned texture data of a scene, the buffers that a [`TextureAtlas`](crate::shading::material_textures::TextureAtlas)
/// borrows. All buffers are empty if all materials are opaque and without textures.
#[derive(Default)]
pub(crate) struct TextureBuffers {
    /// Textures and opacity of each material that is not opaque or has textures, indexed by `Material::maps`; entry 0
    /// is unused.
    pub(crate) maps: Vec<MaterialTextures>,
    /// The textures.
    pub(crate) textures: Vec<Texture>,
    /// The texel buffer, in 32-bit words: the table of sRGB values, then the images.
    pub(crate) texels: Vec<u32>,
}

impl TextureBuffers {
    /// Packs the textures, stores their indices in `Material::maps` and scales the emission of textured emitters by
    /// their mean.
    ///
    /// # Errors
    /// A message, if the texels exceed the address range or the available memory.
    pub(crate) fn new(scene: &Scene, materials: &mut [Material]) -> Result<TextureBuffers, String> {
        if scene.maps.is_empty() {
            return Ok(TextureBuffers::default());
        }
        let (textures, texels) = pack(scene)?;
        // Entry 0 belongs to the materials without textures.
        let mut maps = vec![MaterialTextures::default()];
        for (&index, written) in &scene.maps {
            let material = &mut materials[index as usize];
            material.maps = maps.len() as u32;
            if written.mirrored_relief {
                material.flags |= MIRRORED_RELIEF;
            }
            if written.hidden_from_camera {
                material.flags |= HIDDEN;
            }
            let mut packed = MaterialTextures {
                emission: material.emission,
                normal_scale: written.normal_scale,
                coat_normal_scale: written.coat_normal_scale,
                opacity: written.opacity,
                cutoff: written.cutoff,
                ..MaterialTextures::default()
            };
            for (&parameter, map) in &written.textures {
                let texture = &scene.textures[map.texture as usize];
                let image = &scene.images[texture.image as usize];
                // Many files declare an alpha channel although the image is opaque.
                let is_redundant = parameter == Parameter::Opacity
                    && map.channel == Channel::Alpha
                    && image.is_opaque();
                if is_redundant {
                    continue;
                }
                let index = map_index(parameter);
                packed.textures[index as usize] = 4 * map.texture + map.channel as u32;
                packed.used |= 1 << index;
            }
            maps.push(packed);
            // Light sampling uses the mean emission.
            if let Some(map) = written.textures.get(&Parameter::Emission) {
                let texture = &scene.textures[map.texture as usize];
                let image = &scene.images[texture.image as usize];
                material.emission *= image.mean(texture.encoding);
            }
        }
        Ok(TextureBuffers {
            maps,
            textures,
            texels,
        })
    }
}

/// Returns the index of a parameter in `MaterialTextures::textures`.
fn map_index(parameter: Parameter) -> u32 {
    match parameter {
        Parameter::Color => MAP_COLOR,
        Parameter::Emission => MAP_EMISSION,
        Parameter::Normal => MAP_NORMAL,
        Parameter::Roughness => MAP_ROUGHNESS,
        Parameter::Metallic => MAP_METALLIC,
        Parameter::Transmission => MAP_TRANSMISSION,
        Parameter::Clearcoat => MAP_CLEARCOAT,
        Parameter::ClearcoatRoughness => MAP_CLEARCOAT_ROUGHNESS,
        Parameter::Specular => MAP_SPECULAR,
        Parameter::SpecularColor => MAP_SPECULAR_COLOR,
        Parameter::Opacity => MAP_OPACITY,
        Parameter::ClearcoatNormal => MAP_COAT_NORMAL,
        Parameter::SheenColor => MAP_SHEEN_COLOR,
        Parameter::SheenRoughness => MAP_SHEEN_ROUGHNESS,
        Parameter::Anisotropy => MAP_ANISOTROPY,
        Parameter::Iridescence => MAP_FILM,
        Parameter::IridescenceThickness => MAP_FILM_THICKNESS,
        Parameter::DiffuseTransmission => MAP_DIFFUSE_TRANSMISSION,
        Parameter::DiffuseTransmissionColor => MAP_DIFFUSE_TRANSMISSION_COLOR,
        Parameter::RoughnessV => MAP_ROUGHNESS_ACROSS,
        Parameter::BlendWeight => MAP_WEIGHT,
    }
}

/// Returns the textures and the texel buffer. An image is stored once for all textures that read it in the same format.
fn pack(scene: &Scene) -> Result<(Vec<Texture>, Vec<u32>), String> {
    let mut starts: HashMap<(u32, u64), u64> = HashMap::new();
    let mut packed = Vec::new();
    let mut end = u64::from(SRGB_VALUES);
    for texture in &scene.textures {
        let image = &scene.images[texture.image as usize];
        let words = words_of_texel(format(image, texture.encoding));
        starts.entry((texture.image, words)).or_insert_with(|| {
            packed.push((image, words));
            let start = end;
            end += words * u64::from(image.width) * u64::from(image.height);
            start
        });
    }
    if end > u64::from(u32::MAX) {
        return Err(format!(
            "the scene's textures {} GiB are more than 16 GiB; use smaller images",
            end >> 28
        ));
    }
    memory::check(4 * end).map_err(|problem| format!("the scene's textures {problem}"))?;
    let mut texels = Vec::with_capacity(end as usize);
    texels.extend(srgb_values().map(f32::to_bits));
    for (image, words) in packed {
        put(image, words, &mut texels);
    }
    let textures = scene.textures.iter().map(|texture| {
        let image = &scene.images[texture.image as usize];
        let format = format(image, texture.encoding);
        let start = starts[&(texture.image, words_of_texel(format))];
        to_texture(texture, image, format, start as u32)
    });
    Ok((textures.collect(), texels))
}

/// Returns the texel format in which an image is stored for an encoding. sRGB images of 16 bits are decoded to floats.
fn format(image: &Image, encoding: Encoding) -> u32 {
    match (&image.texels, encoding) {
        (Texels::Bytes(_), Encoding::Srgb) => SRGB_8,
        (Texels::Bytes(_), Encoding::Linear) => LINEAR_8,
        (Texels::Words(_), Encoding::Linear) => LINEAR_16,
        (Texels::Words(_), Encoding::Srgb) | (Texels::Floats(_), _) => FLOAT,
    }
}

/// Returns the number of words per texel of a format.
fn words_of_texel(format: u32) -> u64 {
    match format {
        FLOAT => 4,
        LINEAR_16 => 2,
        _ => 1,
    }
}

/// Appends an image's texels, `words` words each, to the texel buffer.
fn put(image: &Image, words: u64, into: &mut Vec<u32>) {
    match &image.texels {
        Texels::Bytes(texels) => into.extend(texels.iter().map(|&texel| u32::from_le_bytes(texel))),
        Texels::Words(texels) if words == 2 => {
            let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
            let pairs = texels.iter().map(|&[r, g, b, a]| [pair(r, g), pair(b, a)]);
            into.extend(pairs.flatten());
        }
        Texels::Words(texels) => {
            let part = |word: usize| word as f64 / 65535.0;
            let decoded: Vec<u32> = (0..=65535)
                .map(|word| srgb_value(part(word)).to_bits())
                .collect();
            let color = |word: u16| decoded[usize::from(word)];
            let quads = texels.iter().map(|&[r, g, b, a]| {
                let alpha = part(usize::from(a)) as f32;
                [color(r), color(g), color(b), alpha.to_bits()]
            });
            into.extend(quads.flatten());
        }
        Texels::Floats(texels) => {
            into.extend(texels.iter().flat_map(|texel| texel.map(f32::to_bits)));
        }
    }
}

/// Returns the texture over an image whose first word is at `start`.
fn to_texture(texture: &scene::Texture, image: &Image, format: u32, start: u32) -> Texture {
    let wrap = |wrap| match wrap {
        Wrap::Repeat => REPEAT,
        Wrap::Mirror => MIRRORED_REPEAT,
        Wrap::Clamp => CLAMP,
    };
    let [u_by_u, v_by_u, u_by_v, v_by_v, u_at_zero, v_at_zero] = texture.transform.to_cols_array();
    Texture {
        start,
        width: image.width,
        height: image.height,
        format,
        u_by_u,
        u_by_v,
        u_at_zero,
        wrap_u: wrap(texture.wrap[0]),
        v_by_u,
        v_by_v,
        v_at_zero,
        wrap_v: wrap(texture.wrap[1]),
        filter: match texture.filter {
            Filter::Bilinear => BILINEAR,
            Filter::Nearest => NEAREST,
        },
        second: texture.uses_second_uvs.into(),
        ..Texture::default()
    }
}
