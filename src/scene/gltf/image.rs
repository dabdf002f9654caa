//! Images that materials look at, and how they lie on surfaces.

use std::collections::{BTreeSet, HashMap};

use glam::Vec2;
use gltf::json::{
    Value,
    extensions::texture::TextureTransform,
    texture::{MagFilter, Sampler, WrappingMode},
    validation::Checked,
};
use rayon::prelude::*;

use super::{container::File, material::Slot};
use crate::scene::{Filter, Image, Texture, Wrap, image::IMAGE_TYPES, model::Model};

const WEBP: &str = "EXT_texture_webp";
const BASIS: &str = "KHR_texture_basisu";

/// The images of a file, by their numbers there, as they are among the model's.
pub(super) struct Images {
    numbers: HashMap<usize, u32>,
}

impl Images {
    /// Decodes those that the slots look at, each once.
    pub(super) fn read<'s>(
        file: &File,
        slots: impl Iterator<Item = &'s Slot>,
        model: &mut Model,
    ) -> Result<Images, String> {
        // What is wrong with a texture is said where it is made.
        let wanted: BTreeSet<usize> = slots
            .filter_map(|slot| source(file, slot.texture).ok().flatten())
            .collect();
        let wanted: Vec<usize> = wanted.into_iter().collect();
        for &index in &wanted {
            if let Some(uri) = &file.root.images[index].uri {
                file.note(uri);
            }
        }
        let decoded: Vec<Result<Image, String>> = wanted
            .par_iter()
            .map(|&index| {
                decode(file, index).map_err(|problem| format!("image {index}: {problem}"))
            })
            .collect();
        let mut images = Images {
            numbers: HashMap::new(),
        };
        for (index, image) in wanted.into_iter().zip(decoded) {
            images.numbers.insert(index, model.library.image(image?));
        }
        Ok(images)
    }

    /// The texture of a slot; `None` if the file says nothing of its image.
    pub(super) fn texture(
        &mut self,
        file: &File,
        slot: &Slot,
        second: bool,
        model: &mut Model,
    ) -> Result<Option<u32>, String> {
        let Some(source) = source(file, slot.texture)? else {
            model.note("not shown: textures without an image".to_owned());
            return Ok(None);
        };
        let Some(&image) = self.numbers.get(&source) else {
            return Err(format!("there is no image {source}"));
        };
        let mut texture = Texture {
            second,
            ..Texture::new(image, slot.encoding)
        };
        if let Some(sampler) = file.root.textures[slot.texture].sampler {
            let index = sampler.value();
            let sampler = file.root.samplers.get(index);
            let sampler = sampler.ok_or_else(|| format!("there is no sampler {index}"))?;
            texture =
                sampled(texture, sampler).map_err(|what| format!("sampler {index}: {what}"))?;
        }
        let TextureTransform {
            offset,
            rotation,
            scale,
            ..
        } = slot.transform.clone().unwrap_or_default();
        let within = |number: f32| number.abs() <= 1e8;
        if !scale.0.into_iter().chain(offset.0).all(within) || !rotation.0.is_finite() {
            return Err("its KHR_texture_transform is not within 1e8 of 0".to_owned());
        }
        let (scale, offset) = (Vec2::from_array(scale.0), Vec2::from_array(offset.0));
        let texture = texture.transformed(scale, rotation.0.into(), offset);
        Ok(Some(model.library.texture(texture)))
    }
}

/// The number of a texture's image, that of an extension before that for programs which do not know it.
fn source(file: &File, texture: usize) -> Result<Option<usize>, String> {
    let written = file.root.textures.get(texture);
    let written = written.ok_or_else(|| format!("there is no texture {texture}"))?;
    let other = |name: &str| {
        let extension = written.extensions.as_ref()?.others.get(name)?;
        let source = extension.get("source").and_then(Value::as_u64)?;
        usize::try_from(source).ok()
    };
    let plain = written.source.value();
    let plain = (plain != u32::MAX as usize).then_some(plain);
    let source = other(BASIS).or_else(|| other(WEBP)).or(plain);
    match source {
        Some(source) if source >= file.root.images.len() => {
            Err(format!("texture {texture}: there is no image {source}"))
        }
        _ => Ok(source),
    }
}

fn decode(file: &File, index: usize) -> Result<Image, String> {
    let written = &file.root.images[index];
    match (written.buffer_view, &written.uri) {
        (Some(view), _) => Image::decode(file.view(view.value())?.0),
        (None, Some(uri)) => Image::decode(&file.resource(uri, &IMAGE_TYPES, u64::MAX)?),
        (None, None) => Err("has neither a bufferView nor a uri".to_owned()),
    }
}

fn sampled(texture: Texture, sampler: &Sampler) -> Result<Texture, &'static str> {
    let wrap = |written: &Checked<WrappingMode>| match written {
        Checked::Valid(WrappingMode::Repeat) => Ok(Wrap::Repeat),
        Checked::Valid(WrappingMode::MirroredRepeat) => Ok(Wrap::Mirror),
        Checked::Valid(WrappingMode::ClampToEdge) => Ok(Wrap::Clamp),
        Checked::Invalid => Err("has no known wrapping mode"),
    };
    Ok(Texture {
        wrap: [wrap(&sampler.wrap_s)?, wrap(&sampler.wrap_t)?],
        filter: match sampler.mag_filter {
            Some(Checked::Valid(MagFilter::Nearest)) => Filter::Nearest,
            _ => Filter::Bilinear,
        },
        ..texture
    })
}
