//! Images and textures of glTF materials.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use glam::Vec2;
use gltf::json::{
    Value,
    extensions::texture::TextureTransform,
    texture::{MagFilter, Sampler, WrappingMode},
    validation::Checked,
};
use rayon::prelude::*;

use super::container::File;
use crate::{
    error::excerpt,
    image::IMAGE_TYPES,
    model::Model,
    scene::{Channel, Encoding, Filter, Image, Parameter, Texture, Wrap},
};

/// Name of the extension by which a texture has a WebP image as its source.
const WEBP: &str = "EXT_texture_webp";
/// Name of the extension by which a texture has a Basis Universal image in KTX2 as its source.
const BASIS: &str = "KHR_texture_basisu";

/// Maximum number of materials that a warning lists by name; of further ones it gives the number.
const MAX_LISTED: usize = 4;

/// A use of a texture by a material parameter. A texture that drives two parameters has two slots.
pub(super) struct Slot {
    /// Name of the glTF field that holds the texture, for messages.
    pub(super) field: &'static str,
    /// Index of the texture in the file.
    pub(super) texture: usize,
    /// Set of texture coordinates: n for `TEXCOORD_n`.
    pub(super) uv_set: u32,
    pub(super) transform: Option<TextureTransform>,
    pub(super) parameter: Parameter,
    pub(super) channel: Channel,
    pub(super) encoding: Encoding,
    /// Glossiness factor. If set, the slot is for roughness, which is 1 minus the product of this factor and the
    /// texture's alpha. Otherwise `None`.
    pub(super) glossiness: Option<f32>,
}

/// The images of a file that were decoded so far, or the reasons why they could not be, by their index in the file. It
/// lives as long as the file is open, so that the frames of an animation share them.
pub(super) type ImageCache = HashMap<usize, Result<Arc<Image>, String>>;

/// The images of a file that its materials use, decoded and added to the model's texture library.
pub(super) struct Images {
    /// Index in the model's texture library of each image that could be read, by its index in the file.
    numbers: HashMap<usize, u32>,
    /// Images that could not be read, by their index in the file.
    unreadable: BTreeMap<usize, UnreadableImage>,
    /// Names of the materials with textures that refer to no image.
    imageless: Vec<String>,
}

/// An image that could not be read.
struct UnreadableImage {
    /// Cause and remedy on one line, with the name of the image's file if it has one.
    problem: String,
    /// Names of the materials that are shown without it, each once.
    materials: Vec<String>,
}

impl Images {
    /// Decodes the images that the slots use and that `cache` lacks, each once, on all threads, and adds all images of
    /// the slots to `model`. Images that no slot uses are not read. [`Images::note_unreadable`] reports those that
    /// cannot be read.
    pub(super) fn read<'s>(
        file: &File,
        slots: impl Iterator<Item = &'s Slot>,
        cache: &mut ImageCache,
        model: &mut Model,
    ) -> Images {
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
        let decoded: Vec<(usize, Result<Arc<Image>, String>)> = wanted
            .par_iter()
            .filter(|index| !cache.contains_key(index))
            .map(|&index| (index, decode(file, index).map(Arc::new)))
            .collect();
        cache.extend(decoded);
        let mut images = Images {
            numbers: HashMap::new(),
            unreadable: BTreeMap::new(),
            imageless: Vec::new(),
        };
        for index in wanted {
            let Some(image) = cache.get(&index) else {
                continue;
            };
            match image {
                Ok(image) => {
                    let number = model.library.share_image(image.clone());
                    images.numbers.insert(index, number);
                }
                Err(problem) => {
                    let problem = match file.root.images[index].name.as_deref() {
                        Some(name) if !name.is_empty() => format!("{}: {problem}", excerpt(name)),
                        _ => problem.clone(),
                    };
                    let materials = Vec::new();
                    let unreadable = UnreadableImage { problem, materials };
                    images.unreadable.insert(index, unreadable);
                }
            }
        }
        images
    }

    /// Adds warnings to `model` for each image that could not be read, and for textures without an image, with the names
    /// of the materials that are shown without it.
    pub(super) fn note_unreadable(&self, model: &mut Model) {
        for (index, UnreadableImage { problem, materials }) in &self.unreadable {
            let names = names(materials);
            model.note(format!(
                "image {index}: {problem}; shown without it: {names}"
            ));
        }
        if !self.imageless.is_empty() {
            let names = names(&self.imageless);
            model.note(format!(
                "textures refer to no image that can be read; shown without them: {names}"
            ));
        }
    }

    /// Adds the texture of a slot to the model's library, unless an equal one is there, and returns its index. `second`
    /// selects the second set of texture coordinates.
    ///
    /// Returns `None` if the texture refers to no image, or if the image could not be read.
    /// [`Images::note_unreadable`] then warns with `material`, the name of the slot's material. Fails if the
    /// texture, its image or its sampler does not exist, or its sampler or transform is invalid.
    pub(super) fn texture(
        &mut self,
        file: &File,
        slot: &Slot,
        second: bool,
        material: &str,
        model: &mut Model,
    ) -> Result<Option<u32>, String> {
        let Some(source) = source(file, slot.texture)? else {
            if !self.imageless.iter().any(|known| known == material) {
                self.imageless.push(material.to_owned());
            }
            return Ok(None);
        };
        if let Some(unreadable) = self.unreadable.get_mut(&source) {
            if !unreadable.materials.iter().any(|known| known == material) {
                unreadable.materials.push(material.to_owned());
            }
            return Ok(None);
        }
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

/// Lists the names of materials for a message, at most [`MAX_LISTED`] of them.
fn names(materials: &[String]) -> String {
    let more = materials.len().saturating_sub(MAX_LISTED);
    let mut names = materials[..materials.len() - more].join(", ");
    if more > 0 {
        names += &format!(" and {more} more");
    }
    names
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
        (Some(view), _) => Ok(Image::decode(file.view(view.value())?.0)?),
        (None, Some(uri)) => {
            let bytes = file.resource(uri, &IMAGE_TYPES, u64::MAX)?;
            Image::decode(&bytes).map_err(|problem| match uri.starts_with("data:") {
                true => problem.to_string(),
                false => format!("{}: {problem}", excerpt(uri)),
            })
        }
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
