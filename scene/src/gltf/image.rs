//! Images and textures of glTF materials.

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
use crate::{
    image::IMAGE_TYPES,
    model::Model,
    scene::{Filter, Image, Texture, Wrap},
};

/// Name of the extension by which a texture has a WebP image as its source.
const WEBP: &str = "EXT_texture_webp";
/// Name of the extension by which a texture has a Basis Universal image in KTX2 as its source.
const BASIS: &str = "KHR_texture_basisu";

/// The images of a file that its materials use, decoded and added to the model's texture library.
pub(super) struct Images {
    /// Index in the model's texture library of each image, by its index in the file.
    numbers: HashMap<usize, u32>,
}

impl Images {
    /// Decodes the images that the slots use, each once, on all threads, and adds them to `model`. Images that no slot
    /// uses are not read. Fails if an image cannot be decoded.
    pub(super) fn read<'s>(
        file: &File,
        slots: impl Iterator<Item = &'s Slot>,
        model: &mut Model,
    ) -> Result<Images, String> {
        // `texture` reports invalid references, with the name of the slot.
        let wanted: BTreeSet<usize> = slots
            .filter_map(|slot| source(file, slot.texture).ok().flatten())
            .collect();
        let wanted: Vec<usize> = wanted.into_iter().collect();
        for &index in &wanted {
            if let Some(uri) = &file.root.images[index].uri {
                file.record_dependency(uri);
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
            images
                .numbers
                .insert(index, model.library.add_image(image?));
        }
        Ok(images)
    }

    /// Adds the texture of a slot to the model's library and returns its index there. `second` selects the second set
    /// of texture coordinates.
    ///
    /// Returns `None`, with a warning, if the texture has no image. Fails if the texture, its image or its sampler does
    /// not exist or is invalid.
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
            uses_second_uvs: second,
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
        Ok(Some(model.library.add_texture(texture)))
    }
}

/// Returns the image index of the texture with this index, or `None` if it has no image. The image of an extension is
/// preferred, because the plain one is only a fallback.
///
/// Fails if the texture or the image does not exist.
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

/// Decodes the image with this index in the file, which is stored in a buffer view, a data URI or a file of its own.
/// Fails if it cannot be read or decoded.
fn decode(file: &File, index: usize) -> Result<Image, String> {
    let written = &file.root.images[index];
    match (written.buffer_view, &written.uri) {
        (Some(view), _) => Image::decode(file.view(view.value())?.0),
        (None, Some(uri)) => Image::decode(&file.resource(uri, &IMAGE_TYPES, u64::MAX)?),
        (None, None) => Err("has neither a bufferView nor a uri".to_owned()),
    }
}

/// Returns the texture with the wrap modes and the magnification filter of a sampler. The filter is bilinear by
/// default. Fails if a wrap mode is unknown.
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
