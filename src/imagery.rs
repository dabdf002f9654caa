//! Images and textures of a scene, made ready to be looked up.

use std::collections::HashMap;

use crate::{
    maps::{
        MAP_CLEARCOAT, MAP_CLEARCOAT_ROUGHNESS, MAP_COAT_NORMAL, MAP_COLOR, MAP_EMISSION,
        MAP_METALLIC, MAP_NORMAL, MAP_OPACITY, MAP_ROUGHNESS, MAP_SPECULAR, MAP_SPECULAR_COLOR,
        MAP_TRANSMISSION, Maps,
    },
    material::Material,
    scene::{self, Channel, Encoding, Filter, Image, Parameter, Scene, Texels, Wrap, memory},
    texture::{
        BILINEAR, CLAMP, FLOAT, LINEAR_8, LINEAR_16, MIRRORED_REPEAT, NEAREST, REPEAT, SRGB_8,
        SRGB_VALUES, Texture, srgb_value, srgb_values,
    },
};

/// See [`crate::maps::Imagery`]; all empty where nothing has a texture.
#[derive(Default)]
pub(crate) struct Imagery {
    pub(crate) maps: Vec<Maps>,
    pub(crate) textures: Vec<Texture>,
    pub(crate) texels: Vec<u32>,
}

impl Imagery {
    /// Gathers the textures, and notes in the materials which are theirs.
    pub(crate) fn new(scene: &Scene, materials: &mut [Material]) -> Result<Imagery, String> {
        if scene.maps.is_empty() {
            return Ok(Imagery::default());
        }
        let (textures, texels) = pack(scene)?;
        // The first one is that of materials without.
        let mut maps = vec![Maps::default()];
        for (&index, written) in &scene.maps {
            let material = &mut materials[index as usize];
            material.maps = maps.len() as u32;
            let mut packed = Maps {
                emission: material.emission,
                bend: written.bend,
                coat_bend: written.coat_bend,
                opacity: written.opacity,
                cutoff: written.cutoff,
                ..Maps::default()
            };
            for (&parameter, map) in &written.textures {
                let texture = &scene.textures[map.texture as usize];
                let image = &scene.images[texture.image as usize];
                // Many files say of images without holes that they have some.
                let says_nothing = parameter == Parameter::Opacity
                    && map.channel == Channel::Alpha
                    && image.is_opaque();
                if says_nothing {
                    continue;
                }
                let place = place(parameter);
                packed.of[place as usize] = 4 * map.texture + map.channel as u32;
                packed.used |= 1 << place;
            }
            maps.push(packed);
            // Lights are chosen by what they give off in the mean.
            if let Some(map) = written.textures.get(&Parameter::Emission) {
                let texture = &scene.textures[map.texture as usize];
                let image = &scene.images[texture.image as usize];
                material.emission *= image.mean(texture.encoding);
            }
        }
        Ok(Imagery {
            maps,
            textures,
            texels,
        })
    }
}

fn place(parameter: Parameter) -> u32 {
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
    }
}

/// The textures, and the texels of their images, each once for all textures that read it alike.
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

fn format(image: &Image, encoding: Encoding) -> u32 {
    match (&image.texels, encoding) {
        (Texels::Bytes(_), Encoding::Srgb) => SRGB_8,
        (Texels::Bytes(_), Encoding::Linear) => LINEAR_8,
        (Texels::Words(_), Encoding::Linear) => LINEAR_16,
        (Texels::Words(_), Encoding::Srgb) | (Texels::Floats(_), _) => FLOAT,
    }
}

fn words_of_texel(format: u32) -> u64 {
    match format {
        FLOAT => 4,
        LINEAR_16 => 2,
        _ => 1,
    }
}

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
            let colour = |word: u16| decoded[usize::from(word)];
            let quads = texels.iter().map(|&[r, g, b, a]| {
                let alpha = part(usize::from(a)) as f32;
                [colour(r), colour(g), colour(b), alpha.to_bits()]
            });
            into.extend(quads.flatten());
        }
        Texels::Floats(texels) => {
            into.extend(texels.iter().flat_map(|texel| texel.map(f32::to_bits)));
        }
    }
}

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
        second: texture.second.into(),
        ..Texture::default()
    }
}
