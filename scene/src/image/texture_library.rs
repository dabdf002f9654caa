//! The images and textures of a scene while it is read.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use glam::{Mat2, Vec2, Vec3};

use super::height_maps;
use crate::{
    color::luminance,
    scene::{Encoding, Filter, Image, Texels, Texture, Wrap},
};

/// The images and textures of a scene or model while it is read. A file is read once, and equal textures are stored
/// once.
#[derive(Default)]
pub(crate) struct TextureLibrary {
    pub(crate) images: Vec<Arc<Image>>,
    pub(crate) textures: Vec<Texture>,
    /// Index into `textures` of each texture.
    by_texture: HashMap<TextureKey, u32>,
    /// Index into `images` of each image file that was read, by canonical path.
    by_path: HashMap<PathBuf, u32>,
    /// Index into `images` of each normal map that was made from a height map. The key is the height image's index, the
    /// bits of the slopes, and the wrap mode.
    height_maps: HashMap<(u32, [u32; 4], Wrap), u32>,
    /// Index into `images` of each image whose colors are a function of those of another one. The key is the index and
    /// the encoding of that one, and the function.
    mapped: HashMap<(u32, Encoding, ColorMap), u32>,
    /// Properties of images, by index into `images`. Many textures can share a large image, which is then read once.
    properties: Mutex<HashMap<(u32, ImageProperty), f32>>,
}

/// The fields of a texture in their order, with the bits of its transform.
type TextureKey = (u32, Encoding, [Wrap; 2], Filter, [u32; 6], bool);

/// A property of all texels of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ImageProperty {
    /// 1 if red, green and blue are equal in each texel, otherwise 0.
    IsGray,
    /// 1 if alpha is 1 in each texel, otherwise 0.
    IsOpaque,
    /// The largest red, green or blue value, decoded to linear.
    Brightest(Encoding),
}

/// A function of colors.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ColorMap {
    /// The square root of each channel.
    SquareRoot,
    /// The square of each channel.
    Square,
    /// The color as it is.
    Identity,
    /// The luminance, as red, green and blue.
    Luminance,
    /// The mean of the channels, as red, green and blue.
    Mean,
    /// The alpha, as red, green and blue.
    Alpha,
    /// A product and a sum, by the bits of the factor and the summand.
    Affine([u32; 6]),
    /// [`CoatBase::albedo`], by the bits of the factor and of the numbers of the conversion.
    CoatBase([u32; 7]),
}

/// The conversion of the albedo of a base below a coat of another renderer, so that the base is as bright here.
#[derive(Clone, Copy)]
pub(crate) struct CoatBase {
    /// Light that leaves that coat after one reflection at a white base, as a fraction of the diffuse light that enters
    /// the coat here.
    pub(crate) passed: f32,
    /// Fraction of the light from the base that returns to it in that coat, 0 to 0.999.
    pub(crate) returned: f32,
    /// Number of reflections at the base after which that renderer drops light, 1 to [`CoatBase::ALL`].
    pub(crate) reflections: u32,
    /// Fraction of the light from the base that returns to it here, below 1.
    pub(crate) inside: f32,
}

impl CoatBase {
    /// Number of reflections at the base that leaves no visible light.
    pub(crate) const ALL: u32 = 64;

    /// Returns the conversion for a renderer in which all reflections at the base together multiply light by the albedo
    /// once, as Mitsuba's `plastic` without `nonlinear`.
    pub(crate) fn linear(self) -> CoatBase {
        CoatBase {
            passed: self.passed / (1.0 - self.returned),
            reflections: 1,
            ..self
        }
    }

    /// Returns the albedo here of a base that has the albedo `color` in the other renderer. Diffuse light then makes
    /// both equally bright, unless that takes more than 1. Values outside of 0..=1 are clamped, and NaN becomes 0.
    pub(crate) fn albedo(self, color: Vec3) -> Vec3 {
        color.map(|albedo| {
            let albedo = if albedo > 0.0 { albedo.min(1.0) } else { 0.0 };
            let again = albedo * self.returned;
            let reflected = albedo * (1.0 - again.powi(self.reflections as i32)) / (1.0 - again);
            let lit = self.passed * reflected;
            (lit / (1.0 - self.inside + lit * self.inside)).clamp(0.0, 1.0)
        })
    }
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
    /// index `texture`. Returns the new texture's index. Equal calls return the same one. Fails if memory does not
    /// suffice.
    pub(crate) fn square_root(&mut self, texture: u32) -> Result<u32, String> {
        self.mapped(texture, ColorMap::SquareRoot, |color| {
            color.max(Vec3::ZERO).map(f32::sqrt)
        })
    }

    /// Adds a texture whose red, green and blue are the luminances of the texture with index `texture`. Returns the new
    /// texture's index, or `texture` if its image is grey. Equal calls return the same one. Fails if memory does not
    /// suffice.
    pub(crate) fn luminance(&mut self, texture: u32) -> Result<u32, String> {
        if self.property(texture, ImageProperty::IsGray) == 1.0 {
            return Ok(texture);
        }
        self.mapped(texture, ColorMap::Luminance, |color| {
            Vec3::splat(luminance(color).clamp(f32::MIN, f32::MAX))
        })
    }

    /// Adds a texture whose red, green and blue are the means of the channels of the texture with index `texture`, or
    /// its alpha if that is not 1 everywhere and `use_alpha` is set. Returns the new texture's index, or `texture` if
    /// its image is grey and alpha does not count. Equal calls return the same one. Fails if memory does not suffice.
    pub(crate) fn mean_or_alpha(&mut self, texture: u32, use_alpha: bool) -> Result<u32, String> {
        if use_alpha && !self.is_opaque(texture) {
            let texture = self.textures[texture as usize];
            let key = (texture.image, texture.encoding, ColorMap::Alpha);
            let image = match self.mapped.get(&key) {
                Some(&known) => known,
                None => {
                    let image = self.images[texture.image as usize].of_alpha()?;
                    let image = self.add_image(image);
                    self.mapped.insert(key, image);
                    image
                }
            };
            return Ok(self.add_texture(Texture { image, ..texture }));
        }
        if self.property(texture, ImageProperty::IsGray) == 1.0 {
            return Ok(texture);
        }
        self.mapped(texture, ColorMap::Mean, |color| {
            Vec3::splat((color / 3.0).element_sum().clamp(f32::MIN, f32::MAX))
        })
    }

    /// Adds a texture whose texels are the linear values of the texture with index `texture`. Returns the new texture's
    /// index, or `texture` if it is linear. Equal calls return the same one. Fails if memory does not suffice.
    pub(crate) fn linear(&mut self, texture: u32) -> Result<u32, String> {
        let is_linear = self.textures[texture as usize].encoding == Encoding::Linear;
        match is_linear || matches!(self.image_of(texture).texels, Texels::Floats(_)) {
            true => Ok(texture),
            false => self.mapped(texture, ColorMap::Identity, |color| color),
        }
    }

    /// Adds a texture whose colors are those of the texture with index `texture` times `factor` plus `summand`, at least
    /// 0. Those of an image without floats are at most 1. Returns the new texture's index. Equal calls return the same
    /// one. Fails if memory does not suffice.
    pub(crate) fn affine(
        &mut self,
        texture: u32,
        factor: Vec3,
        summand: Vec3,
    ) -> Result<u32, String> {
        let [a, b, c] = factor.to_array().map(f32::to_bits);
        let [d, e, f] = summand.to_array().map(f32::to_bits);
        self.mapped(texture, ColorMap::Affine([a, b, c, d, e, f]), |color| {
            (color * factor + summand)
                .max(Vec3::ZERO)
                .min(Vec3::splat(f32::MAX))
        })
    }

    /// Returns the image of the texture with this index. Panics if the index is invalid.
    fn image_of(&self, texture: u32) -> &Image {
        &self.images[self.textures[texture as usize].image as usize]
    }

    /// Adds a texture whose red, green and blue values are the squares of the linear values of the texture with index
    /// `texture`. Returns the new texture's index. Equal calls return the same one. Fails if memory does not suffice.
    pub(crate) fn square(&mut self, texture: u32) -> Result<u32, String> {
        self.mapped(texture, ColorMap::Square, |color| {
            (color * color).min(Vec3::splat(f32::MAX))
        })
    }

    /// Adds a texture whose colors are [`CoatBase::albedo`] of those of the texture with index `texture` times
    /// `factor`. Returns the new texture's index. Equal calls return the same one. Fails if memory does not suffice.
    pub(crate) fn coat_base(
        &mut self,
        texture: u32,
        factor: Vec3,
        coat: CoatBase,
    ) -> Result<u32, String> {
        let [r, g, b] = factor.to_array().map(f32::to_bits);
        let [passed, returned, inside] =
            [coat.passed, coat.returned, coat.inside].map(f32::to_bits);
        let bits = [r, g, b, passed, returned, inside, coat.reflections];
        self.mapped(texture, ColorMap::CoatBase(bits), |color| {
            coat.albedo(color * factor)
        })
    }

    /// Adds a texture whose colors are `of` those of the texture with index `texture`, which `map` identifies. Returns
    /// the new texture's index. Equal calls return the same one. Fails if memory does not suffice.
    fn mapped(
        &mut self,
        texture: u32,
        map: ColorMap,
        of: impl Fn(Vec3) -> Vec3,
    ) -> Result<u32, String> {
        let texture = self.textures[texture as usize];
        let key = (texture.image, texture.encoding, map);
        let image = match self.mapped.get(&key) {
            Some(&known) => known,
            None => {
                let image = self.images[texture.image as usize].map_colors(texture.encoding, of)?;
                let image = self.add_image(image);
                self.mapped.insert(key, image);
                image
            }
        };
        Ok(self.add_texture(Texture {
            image,
            encoding: Encoding::Linear,
            ..texture
        }))
    }

    /// Converts the height map with index `image` to a normal map of square texels, in which white is a hundredth of the
    /// image's width times `scale` above black. Returns the index of that image. Equal calls return the same image.
    ///
    /// # Errors
    /// A one-line message if the normal map does not fit into memory.
    pub(crate) fn normal_map_from_heights(
        &mut self,
        image: u32,
        scale: f32,
        wrap: Wrap,
    ) -> Result<u32, String> {
        let width = self.images[image as usize].width as f32;
        let slopes = Mat2::from_diagonal(Vec2::splat(height_maps::HEIGHT * scale * width));
        self.normal_map_with_slopes(image, slopes, wrap)
    }

    /// Converts the height map with index `image` to a normal map and returns the index of that image. Equal calls return
    /// the same image. `slopes` is as for [`height_maps::normals`].
    ///
    /// # Errors
    /// A one-line message if the normal map does not fit into memory.
    pub(crate) fn normal_map_with_slopes(
        &mut self,
        image: u32,
        slopes: Mat2,
        wrap: Wrap,
    ) -> Result<u32, String> {
        let key = (image, slopes.to_cols_array().map(f32::to_bits), wrap);
        if let Some(&known) = self.height_maps.get(&key) {
            return Ok(known);
        }
        let normals = height_maps::normals(&self.images[image as usize], slopes, wrap)?;
        let number = self.add_image(normals);
        self.height_maps.insert(key, number);
        Ok(number)
    }

    /// Returns the largest red, green or blue value, decoded to linear, in the image of the texture with this index.
    /// Panics if the index is invalid.
    pub(crate) fn brightest(&self, texture: u32) -> f32 {
        let encoding = self.textures[texture as usize].encoding;
        self.property(texture, ImageProperty::Brightest(encoding))
    }

    /// Returns whether alpha is 1 in each texel of the image of the texture with this index. Panics if the index is
    /// invalid.
    pub(crate) fn is_opaque(&self, texture: u32) -> bool {
        self.property(texture, ImageProperty::IsOpaque) == 1.0
    }

    /// Returns a property of the image of the texture with this index. Panics if the index is invalid.
    fn property(&self, texture: u32, property: ImageProperty) -> f32 {
        let index = self.textures[texture as usize].image;
        let mut known = self
            .properties
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known.entry((index, property)).or_insert_with(|| {
            let image = &self.images[index as usize];
            match property {
                ImageProperty::IsGray => f32::from(image.is_gray()),
                ImageProperty::IsOpaque => f32::from(image.is_opaque()),
                ImageProperty::Brightest(encoding) => image.brightest(encoding),
            }
        })
    }

    /// Adds a texture and returns its index, or returns the index of an equal one.
    pub(crate) fn add_texture(&mut self, texture: Texture) -> u32 {
        let Texture {
            image,
            encoding,
            wrap,
            filter,
            transform,
            uses_second_uvs,
        } = texture;
        // The sum turns -0 into 0, which is equal.
        let bits = transform
            .to_cols_array()
            .map(|number| (number + 0.0).to_bits());
        let key = (image, encoding, wrap, filter, bits, uses_second_uvs);
        let textures = &mut self.textures;
        *self.by_texture.entry(key).or_insert_with(|| {
            textures.push(texture);
            textures.len() as u32 - 1
        })
    }
}
