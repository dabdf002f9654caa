//! The images and textures of a scene while it is read.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use glam::Vec3;

use super::height_maps;
use crate::scene::{Encoding, Image, Texels, Texture, Wrap};

/// The images and textures of a scene or model while it is read. A file is read once, and equal textures are stored
/// once.
#[derive(Default)]
pub(crate) struct TextureLibrary {
    pub(crate) images: Vec<Arc<Image>>,
    pub(crate) textures: Vec<Texture>,
    /// Index into `images` of each image file that was read, by canonical path.
    by_path: HashMap<PathBuf, u32>,
    /// Index into `images` of each normal map that was made from a height map. The key is the height image's index, the
    /// bits of the scale, and the wrap mode.
    height_maps: HashMap<(u32, u32, Wrap), u32>,
    /// Index into `images` of each image whose colours are a function of those of another one. The key is the index and
    /// the encoding of that one, and the function.
    mapped: HashMap<(u32, Encoding, ColorMap), u32>,
}

/// A function of colours.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ColorMap {
    /// The square root of each channel.
    SquareRoot,
    /// [`coat_base`], by the bits of the factor and of the fraction of the light that the coat returns.
    CoatBase([u32; 4]),
}

impl TextureLibrary {
    /// Returns the index of the image in a file. The first call for a file reads it.
    ///
    /// # Errors
    /// A one-line message without the file's name.
    pub(crate) fn open(&mut self, path: &Path) -> Result<u32, String> {
        let known = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(&index) = self.by_path.get(&known) {
            return Ok(index);
        }
        let index = self.add_image(Image::open(path)?);
        self.by_path.insert(known, index);
        Ok(index)
    }

    /// Adds an image that is not a file of its own, such as an embedded one, and returns its index.
    pub(crate) fn add_image(&mut self, image: Image) -> u32 {
        self.share_image(Arc::new(image))
    }

    /// Adds an image that others may use too, and returns its index.
    pub(crate) fn share_image(&mut self, image: Arc<Image>) -> u32 {
        self.images.push(image);
        self.images.len() as u32 - 1
    }

    /// Adds all images of another library, and its textures unless equal ones exist. Returns the new index of each
    /// texture of `other`. Images are not compared.
    pub(crate) fn append(&mut self, other: &TextureLibrary) -> Vec<u32> {
        let first = self.images.len() as u32;
        self.images.extend(other.images.iter().cloned());
        let reindexed = |texture: &Texture| Texture {
            image: first + texture.image,
            ..*texture
        };
        let textures = other.textures.iter().map(reindexed);
        textures.map(|texture| self.add_texture(texture)).collect()
    }

    /// Adds a texture of roughness, made from the texture with index `texture`, whose alpha times `factor` is
    /// glossiness. Roughness is 1 − glossiness. Returns the new texture's index.
    pub(crate) fn roughness_from_glossiness(&mut self, texture: u32, factor: f32) -> u32 {
        let texture = self.textures[texture as usize];
        let image = &self.images[texture.image as usize];
        let rough = |smooth: f32| {
            let rough = 1.0 - (smooth * factor).clamp(0.0, 1.0);
            [(rough * 255.0).round() as u8; 4]
        };
        let texels: Vec<[u8; 4]> = match &image.texels {
            Texels::Bytes(texels) => {
                let by_byte: Vec<_> = (0..=255).map(|byte| rough(byte as f32 / 255.0)).collect();
                texels
                    .iter()
                    .map(|texel| by_byte[usize::from(texel[3])])
                    .collect()
            }
            Texels::Words(texels) => {
                let part = |texel: &[u16; 4]| f32::from(texel[3]) / 65535.0;
                texels.iter().map(|texel| rough(part(texel))).collect()
            }
            Texels::Floats(texels) => texels.iter().map(|texel| rough(texel[3])).collect(),
        };
        let image = Image {
            width: image.width,
            height: image.height,
            texels: Texels::Bytes(texels),
        };
        let image = self.add_image(image);
        self.add_texture(Texture {
            image,
            encoding: Encoding::Linear,
            ..texture
        })
    }

    /// Adds a texture whose red, green and blue values are the square roots of the linear values of the texture with
    /// index `texture`. Returns the new texture's index. Equal calls return the same one.
    pub(crate) fn square_root(&mut self, texture: u32) -> u32 {
        self.mapped(texture, ColorMap::SquareRoot, |color| {
            color.max(Vec3::ZERO).map(f32::sqrt)
        })
    }

    /// Adds a texture whose colours are [`coat_base`] of those of the texture with index `texture` times `factor`.
    /// Returns the new texture's index. Equal calls return the same one.
    pub(crate) fn coat_base(&mut self, texture: u32, factor: Vec3, inside: f32) -> u32 {
        let bits = factor.extend(inside).to_array().map(f32::to_bits);
        self.mapped(texture, ColorMap::CoatBase(bits), |color| {
            coat_base(color * factor, inside)
        })
    }

    /// Adds a texture whose colours are `of` those of the texture with index `texture`, which `map` identifies. Returns
    /// the new texture's index. Equal calls return the same one.
    fn mapped(&mut self, texture: u32, map: ColorMap, of: impl Fn(Vec3) -> Vec3) -> u32 {
        let texture = self.textures[texture as usize];
        let key = (texture.image, texture.encoding, map);
        let image = match self.mapped.get(&key) {
            Some(&known) => known,
            None => {
                let image = self.images[texture.image as usize].map_colors(texture.encoding, of);
                let image = self.add_image(image);
                self.mapped.insert(key, image);
                image
            }
        };
        self.add_texture(Texture {
            image,
            encoding: Encoding::Linear,
            ..texture
        })
    }

    /// Converts the height map with index `image`, with heights times `scale`, to a normal map and returns the index of
    /// that image. Equal calls return the same image.
    ///
    /// # Errors
    /// A one-line message if the normal map does not fit into memory.
    pub(crate) fn normal_map_from_heights(
        &mut self,
        image: u32,
        scale: f32,
        wrap: Wrap,
    ) -> Result<u32, String> {
        let key = (image, scale.to_bits(), wrap);
        if let Some(&known) = self.height_maps.get(&key) {
            return Ok(known);
        }
        let normals = height_maps::normals(&self.images[image as usize], scale, wrap)?;
        let number = self.add_image(normals);
        self.height_maps.insert(key, number);
        Ok(number)
    }

    /// Returns the largest red, green or blue value, decoded to linear, in the image of the texture with this index.
    /// Panics if the index is invalid.
    pub(crate) fn brightest(&self, texture: u32) -> f32 {
        let texture = &self.textures[texture as usize];
        self.images[texture.image as usize].brightest(texture.encoding)
    }

    /// Adds a texture and returns its index, or returns the index of an equal one.
    pub(crate) fn add_texture(&mut self, texture: Texture) -> u32 {
        let known = self.textures.iter().position(|&known| known == texture);
        known.unwrap_or_else(|| {
            self.textures.push(texture);
            self.textures.len() - 1
        }) as u32
    }
}

/// Returns the albedo of a base under a coat that returns the fraction `inside` of its light to it, below 1, each time
/// multiplied by the albedo. It is as bright as a base of the albedo `color` to which all of that light returns without
/// a loss.
pub(crate) fn coat_base(color: Vec3, inside: f32) -> Vec3 {
    let color = color.clamp(Vec3::ZERO, Vec3::ONE);
    color / (1.0 - inside + color * inside).max(Vec3::splat(1e-3))
}
