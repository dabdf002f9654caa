//! What varies over a surface: images, how they are laid onto it, and the parameters of a material that they scale.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use glam::{Affine2, DVec3, Vec2, Vec3};
use serde::Deserialize;

use super::{Image, Texels, bumps};
use crate::texture::srgb_value;

/// An image as it lies on a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Index into [`Scene::images`](super::Scene::images).
    pub image: u32,
    /// What its numbers are; images of floats are linear, whatever stands here.
    pub encoding: Encoding,
    /// How it goes on to the left and right, and above and below.
    pub wrap: [Wrap; 2],
    /// What is between its texels.
    pub filter: Filter,
    /// From the surface's coordinates to the image's: (0, 0) is its upper left corner, (1, 1) its lower right one.
    pub transform: Affine2,
    /// Whether it lies by a mesh's second coordinates, if it has such.
    pub second: bool,
}

/// What the numbers of an image are. Alpha is linear in any case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Colours by sRGB's curve.
    Srgb,
    /// Data, or colours as they are.
    Linear,
}

/// How an image goes on beyond its edges.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// Beside itself, again and again.
    Repeat,
    /// Beside its mirror image.
    Mirror,
    /// By its outermost texels.
    Clamp,
}

/// What is between an image's texels.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Filter {
    /// A value between the four nearest.
    Bilinear,
    /// The nearest.
    Nearest,
}

/// Where a texture has a single number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Channel {
    /// The first channel, and that of a grey image.
    Red,
    /// The second.
    Green,
    /// The third.
    Blue,
    /// The fourth.
    Alpha,
}

/// A parameter of a material that a texture may scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Parameter {
    /// Albedo, reflectance, base colour.
    Color,
    /// Radiance.
    Emission,
    /// Not scaled but replaced: the direction that a surface faces, by a normal map with red to the right on the image,
    /// green up and blue away from the surface, each 0 to 1 for −1 to 1.
    Normal,
    /// Of a principled material: its roughness.
    Roughness,
    /// Of a principled material: the part that is metal.
    Metallic,
    /// Of a principled material: the part that is glass.
    Transmission,
    /// Of a principled material: the part that is coated.
    Clearcoat,
    /// Of a principled material: the coat's roughness.
    ClearcoatRoughness,
    /// Of a principled material: how much its boundary reflects.
    Specular,
    /// Of a principled material: in which colour it does, head on.
    SpecularColor,
    /// Of any material: how much it hides of what is behind it.
    Opacity,
    /// Of a principled material: as `Normal`, of its coat alone, which else has the surface's.
    ClearcoatNormal,
}

/// A texture that scales a parameter: what the parameter is where the texture is 1 stands in the material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Index into [`Scene::textures`](super::Scene::textures).
    pub texture: u32,
    /// Where its number is, if the parameter is one.
    pub channel: Channel,
}

/// The textures of a material.
#[derive(Clone, Debug, PartialEq)]
pub struct Maps {
    /// What they scale.
    pub textures: BTreeMap<Parameter, Map>,
    /// How far a normal map bends: 1 as it says, 0 not at all.
    pub bend: f32,
    /// The same of the coat's.
    pub coat_bend: f32,
    /// How much the surface hides of what is behind it, 0..=1, where its texture is 1.
    pub opacity: f32,
    /// If above 0: the surface hides all where it is at least as opaque, and nothing elsewhere.
    pub cutoff: f32,
}

impl Default for Maps {
    /// None.
    fn default() -> Self {
        Maps {
            textures: BTreeMap::new(),
            bend: 1.0,
            coat_bend: 1.0,
            opacity: 1.0,
            cutoff: 0.0,
        }
    }
}

impl Texture {
    /// A texture that is laid on as it is, repeats, and is filtered.
    pub fn new(image: u32, encoding: Encoding) -> Texture {
        Texture {
            image,
            encoding,
            wrap: [Wrap::Repeat; 2],
            filter: Filter::Bilinear,
            transform: Affine2::IDENTITY,
            second: false,
        }
    }

    /// Its coordinates scaled, then turned by an angle in radians, counter-clockwise as the image is seen, then moved: as
    /// of glTF's `KHR_texture_transform`.
    pub fn transformed(self, scale: Vec2, angle: f64, offset: Vec2) -> Texture {
        let (sine, cosine) = (libm::sin(angle) as f32, libm::cos(angle) as f32);
        let transform = Affine2::from_cols(
            Vec2::new(cosine, -sine) * scale.x,
            Vec2::new(sine, cosine) * scale.y,
            offset,
        );
        Texture { transform, ..self }
    }
}

/// The images and textures of a scene while it is read, each once.
#[derive(Default)]
pub(super) struct Library {
    pub(super) images: Vec<Arc<Image>>,
    pub(super) textures: Vec<Texture>,
    by_path: HashMap<PathBuf, u32>,
    /// Normal maps by their image of heights, the bits of its scale, and how it goes on.
    bumps: HashMap<(u32, u32, Wrap), u32>,
}

impl Library {
    /// The index of a file's image.
    pub(super) fn open(&mut self, path: &Path) -> Result<u32, String> {
        let known = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(&index) = self.by_path.get(&known) {
            return Ok(index);
        }
        let index = self.image(Image::open(path)?);
        self.by_path.insert(known, index);
        Ok(index)
    }

    /// The index of an image from elsewhere.
    pub(super) fn image(&mut self, image: Image) -> u32 {
        self.images.push(Arc::new(image));
        self.images.len() as u32 - 1
    }

    /// Takes all of another library in: where its textures are now.
    pub(super) fn adopt(&mut self, other: &Library) -> Vec<u32> {
        let first = self.images.len() as u32;
        self.images.extend(other.images.iter().cloned());
        let moved = |texture: &Texture| Texture {
            image: first + texture.image,
            ..*texture
        };
        let moved = other.textures.iter().map(moved);
        moved.map(|texture| self.texture(texture)).collect()
    }

    /// The texture of roughness that one is whose alpha times `factor` is smoothness.
    pub(super) fn rough(&mut self, texture: u32, factor: f32) -> u32 {
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
        let image = self.image(image);
        self.texture(Texture {
            image,
            encoding: Encoding::Linear,
            ..texture
        })
    }

    /// The index of the normal map of an image of heights, times `scale`.
    pub(super) fn bumps(&mut self, image: u32, scale: f32, wrap: Wrap) -> Result<u32, String> {
        let key = (image, scale.to_bits(), wrap);
        if let Some(&known) = self.bumps.get(&key) {
            return Ok(known);
        }
        let normals = bumps::normals(&self.images[image as usize], scale, wrap)?;
        let number = self.image(normals);
        self.bumps.insert(key, number);
        Ok(number)
    }

    /// The largest number of a texture's colours.
    pub(super) fn brightest(&self, texture: u32) -> f32 {
        let texture = &self.textures[texture as usize];
        self.images[texture.image as usize].brightest(texture.encoding)
    }

    /// The index of a texture of one of the images.
    pub(super) fn texture(&mut self, texture: Texture) -> u32 {
        let known = self.textures.iter().position(|&known| known == texture);
        known.unwrap_or_else(|| {
            self.textures.push(texture);
            self.textures.len() - 1
        }) as u32
    }
}

impl Image {
    /// The largest number of its colours.
    pub(super) fn brightest(&self, encoding: Encoding) -> f32 {
        let mut most = Vec3::ZERO;
        self.each_color(encoding, |color| most = most.max(color));
        most.max_element()
    }

    /// Whether its alpha is 1 everywhere.
    pub(crate) fn is_opaque(&self) -> bool {
        match &self.texels {
            Texels::Bytes(texels) => texels.iter().all(|texel| texel[3] == u8::MAX),
            Texels::Words(texels) => texels.iter().all(|texel| texel[3] == u16::MAX),
            Texels::Floats(texels) => texels.iter().all(|texel| texel[3] >= 1.0),
        }
    }

    /// The mean of its colours.
    pub(crate) fn mean(&self, encoding: Encoding) -> Vec3 {
        let mut sum = DVec3::ZERO;
        // What is below 0 counts as 0, as it does where it is looked up.
        self.each_color(encoding, |color| sum += color.max(Vec3::ZERO).as_dvec3());
        (sum / (f64::from(self.width) * f64::from(self.height))).as_vec3()
    }

    /// Calls `take` with every texel's colour, linear.
    fn each_color(&self, encoding: Encoding, mut take: impl FnMut(Vec3)) {
        let decoded = |encoded: f64| match encoding {
            Encoding::Srgb => srgb_value(encoded),
            Encoding::Linear => encoded as f32,
        };
        match &self.texels {
            Texels::Bytes(texels) => {
                let values: [f32; 256] = std::array::from_fn(|byte| decoded(byte as f64 / 255.0));
                for &[r, g, b, _] in texels {
                    take(Vec3::from_array(
                        [r, g, b].map(|byte| values[usize::from(byte)]),
                    ));
                }
            }
            Texels::Words(texels) => {
                let values: Vec<f32> = (0..=u16::MAX)
                    .map(|word| decoded(f64::from(word) / 65535.0))
                    .collect();
                for &[r, g, b, _] in texels {
                    take(Vec3::from_array(
                        [r, g, b].map(|word| values[usize::from(word)]),
                    ));
                }
            }
            Texels::Floats(texels) => texels
                .iter()
                .for_each(|&[r, g, b, _]| take(Vec3::new(r, g, b))),
        }
    }
}
