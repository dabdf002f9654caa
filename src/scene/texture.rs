//! What varies over a surface: images, how they are laid onto it, and what is between their texels.

use glam::{Affine2, Vec2};

/// An image as it lies on a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Number of the image.
    pub image: u32,
    /// What its numbers are; images of floats are linear, whatever stands here.
    pub encoding: Encoding,
    /// How it goes on to the left and right, and above and below.
    pub wrap: [Wrap; 2],
    /// What is between its texels.
    pub filter: Filter,
    /// From the surface's coordinates to the image's: (0, 0) is its upper left corner, (1, 1) its lower right one.
    pub transform: Affine2,
}

/// What the numbers of an image are. Alpha is linear in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Colours by sRGB's curve.
    Srgb,
    /// Data, or colours as they are.
    Linear,
}

/// How an image goes on beyond its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// Beside itself, again and again.
    Repeat,
    /// Beside its mirror image.
    Mirror,
    /// By its outermost texels.
    Clamp,
}

/// What is between an image's texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A value between the four nearest.
    Bilinear,
    /// The nearest.
    Nearest,
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
        }
    }

    /// Scaled, then turned clockwise by an angle in radians as seen on the image, then moved: `KHR_texture_transform`.
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
