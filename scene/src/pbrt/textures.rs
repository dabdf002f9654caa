//! Textures of pbrt.

use std::path::Path;

use glam::{Vec2, Vec3};

use super::{Converter, parameters::Parameters, state::typed, tokens::Tokens};
use crate::{
    error::excerpt,
    import::materials::{Color, checkerboard, uv_transform},
    scene::{Encoding, Filter, Texture, Wrap},
};

/// Fraction of a surface that pbrt's `dots` cover: half of the unit squares have one, of radius 0.35.
const DOTS: f32 = 0.5 * std::f32::consts::PI * 0.35 * 0.35;

impl Converter {
    /// Reads the parameters of the directive `Texture`, and stores the converted texture by its name.
    pub(super) fn texture(&mut self, tokens: &mut Tokens) -> Result<(), String> {
        let name = tokens.text("a name")?;
        let kind = tokens.text("the type of its values")?;
        let (class, mut parameters) = typed(tokens)?;
        self.check_names("Texture", &class, &parameters);
        self.add_defaults("Texture", &mut parameters);
        let problem = |problem: String| format!("\"{}\": {problem}", excerpt(&name));
        let is_number = kind == "float";
        let color = self
            .new_texture(&class, &parameters, is_number)
            .map_err(problem)?;
        match is_number {
            true => {
                self.scalars.insert(name, color.scalar());
            }
            false => {
                self.colors.insert(name, color);
            }
        }
        Ok(())
    }

    /// Converts a texture of a class, whose values are numbers if `is_number`, and else colors. One of an unknown
    /// class is grey, with a warning.
    fn new_texture(
        &mut self,
        class: &str,
        parameters: &Parameters,
        is_number: bool,
    ) -> Result<Color, String> {
        Ok(match class {
            "constant" => self.input(parameters, "value", 1.0, is_number)?,
            "scale" => {
                let texture = self.input(parameters, "tex", 1.0, is_number)?;
                let scale = self.input(parameters, "scale", 1.0, true)?;
                match (texture.texture, scale.texture) {
                    (Some(_), Some(_)) => {
                        self.note("approximated: the product of two textures by one of them");
                        let mean = scale.mean(&self.scene.model.library);
                        Color {
                            factor: texture.factor * mean,
                            ..texture
                        }
                    }
                    (None, Some(_)) => Color {
                        factor: texture.factor * scale.factor,
                        ..scale
                    },
                    _ => Color {
                        factor: texture.factor * scale.factor,
                        ..texture
                    },
                }
            }
            "mix" | "directionmix" => {
                let first = self.input(parameters, "tex1", 0.0, is_number)?;
                let second = self.input(parameters, "tex2", 1.0, is_number)?;
                if class == "directionmix" {
                    self.note("approximated: textures of type `directionmix` by the mean of both of their textures");
                }
                let amount = self.input(parameters, "amount", 0.5, true)?;
                self.mix_textures(first, second, amount)?
            }
            "checkerboard" => self.checkerboard(parameters, is_number)?,
            "imagemap" => self.image(parameters, is_number)?,
            "dots" => {
                self.note("approximated: textures of type `dots` by their mean");
                let inside = self.input(parameters, "inside", 1.0, is_number)?;
                let outside = self.input(parameters, "outside", 0.0, is_number)?;
                let library = &self.scene.model.library;
                let (inside, outside) = (inside.mean(library), outside.mean(library));
                outside.lerp(inside, DOTS).into()
            }
            class => {
                let class = excerpt(class);
                self.note(format!(
                    "not shown: textures of type `{class}`; grey is used"
                ));
                Vec3::splat(0.5).into()
            }
        })
    }

    /// Returns the mix of two textures, `first` for an amount of 0 and `second` for 1. If two or more of the three have
    /// images, all are replaced by their means, with a warning.
    fn mix_textures(
        &mut self,
        first: Color,
        second: Color,
        amount: Color,
    ) -> Result<Color, String> {
        let (from, to, part) = (first.factor, second.factor, amount.factor);
        match (first.texture, second.texture, amount.texture) {
            (Some(texture), None, None) => self.affine(texture, from * (1.0 - part), to * part),
            (None, Some(texture), None) => self.affine(texture, to * part, from * (1.0 - part)),
            (None, None, Some(texture)) => self.affine(texture, (to - from) * part, from),
            (None, None, None) => Ok((from + (to - from) * part).into()),
            _ => {
                self.note("approximated: the mix of textures by its mean");
                let library = &self.scene.model.library;
                let [first, second, amount] =
                    [first, second, amount].map(|color| color.mean(library));
                Ok((first + (second - first) * amount).into())
            }
        }
    }

    /// Returns a color that is `factor` times the texture plus `summand`, at least 0.
    fn affine(&mut self, texture: u32, factor: Vec3, summand: Vec3) -> Result<Color, String> {
        // Images without floats hold values up to 1.
        let largest = summand.max(summand + factor).max_element().max(1.0);
        let library = &mut self.scene.model.library;
        Ok(Color {
            factor: Vec3::splat(largest),
            texture: Some(library.affine(texture, factor / largest, summand / largest)?),
        })
    }

    /// Returns the input of a texture with this name, or `default` if there is none. It is read as a number if
    /// `is_number`, and else as a color.
    fn input(
        &mut self,
        parameters: &Parameters,
        name: &str,
        default: f32,
        is_number: bool,
    ) -> Result<Color, String> {
        if !is_number {
            return self.color(parameters, name, default);
        }
        let scalar = self.scalar(parameters, name, default)?;
        Ok(Color {
            factor: Vec3::splat(scalar.factor),
            texture: scalar.texture.map(|map| map.texture),
        })
    }

    /// Converts a checkerboard. Textures inside it are replaced by their means, with a warning.
    fn checkerboard(&mut self, parameters: &Parameters, is_number: bool) -> Result<Color, String> {
        let inputs = [
            self.input(parameters, "tex1", 1.0, is_number)?,
            self.input(parameters, "tex2", 0.0, is_number)?,
        ];
        if inputs.iter().any(|input| input.texture.is_some()) {
            self.note("approximated: textures inside a checkerboard by their means");
        }
        let colors = inputs.map(|input| input.mean(&self.scene.model.library));
        if parameters.number("dimension", 2.0) != 2.0 {
            self.note("approximated: checkerboards in three dimensions by their mean");
            return Ok(((colors[0] + colors[1]) / 2.0).into());
        }
        let (scale, offset) = self.mapping(parameters);
        // Meshes have v downwards, 1 − v. The image of two by two squares covers two units.
        let to_uv = uv_transform(
            Vec2::new(scale.x, -scale.y) / 2.0,
            Vec2::new(offset.x, scale.y + offset.y) / 2.0,
        );
        Ok(Color {
            factor: Vec3::ONE,
            texture: Some(checkerboard(&mut self.scene.model.library, colors, to_uv)),
        })
    }

    /// Converts a texture of an image file. Read as a number, colors are replaced by the means of their channels, or by
    /// the alpha that an image in PNG or EXR has, as in pbrt. An image that cannot be read is grey, with a warning.
    fn image(&mut self, parameters: &Parameters, is_number: bool) -> Result<Color, String> {
        let name = parameters.text("filename", "");
        let opened = self.open_image(name);
        let Some(image) = opened else {
            return Ok(Vec3::splat(0.5).into());
        };
        let wrap = match parameters.text("wrap", "repeat") {
            "clamp" => Wrap::Clamp,
            "repeat" => Wrap::Repeat,
            _ => {
                self.note("approximated: the wrap mode `black` by `clamp`");
                Wrap::Clamp
            }
        };
        let is_of = |kind: &str| {
            let extension = Path::new(name).extension();
            extension.is_some_and(|extension| extension.eq_ignore_ascii_case(kind))
        };
        // pbrt takes the integers of other formats for sRGB, whatever the file tells.
        let encoding = match parameters.text("encoding", "sRGB") {
            "linear" if is_of("png") => Encoding::Linear,
            "linear" => Encoding::Srgb,
            "sRGB" => Encoding::Srgb,
            _ => {
                self.note("approximated: the gamma encoding of images by sRGB");
                Encoding::Srgb
            }
        };
        let filter = match parameters.text("filter", "bilinear") {
            "point" => Filter::Nearest,
            "bilinear" => Filter::Bilinear,
            _ => {
                self.note("approximated: the texture filters `trilinear` and `EWA` by `bilinear`");
                Filter::Bilinear
            }
        };
        let (scale, offset) = self.mapping(parameters);
        let library = &mut self.scene.model.library;
        let mut texture = library.add_texture(Texture {
            wrap: [wrap; 2],
            filter,
            // Meshes have v downwards, 1 − v, as images have.
            transform: uv_transform(scale, Vec2::new(offset.x, 1.0 - scale.y - offset.y)),
            ..Texture::new(image, encoding)
        });
        if is_number {
            texture = library.mean_or_alpha(texture, is_of("png") || is_of("exr"))?;
        }
        let factor = Vec3::splat(parameters.number("scale", 1.0) as f32);
        match parameters.flag("invert", false) {
            true => self.affine(texture, -factor, Vec3::ONE),
            false => Ok(Color {
                factor,
                texture: Some(texture),
            }),
        }
    }

    /// Returns the index of the image in a file; `None`, with a warning, if it cannot be read.
    pub(super) fn open_image(&mut self, name: &str) -> Option<u32> {
        let library = &mut self.scene.model.library;
        let path = self.files.find_by_last_component(name);
        match path.and_then(|path| library.open(&path)) {
            Ok(image) => Some(image),
            Err(problem) => {
                self.scene.note_image(name, &problem);
                None
            }
        }
    }

    /// Returns the scale and the offset of texture coordinates with v upwards.
    fn mapping(&mut self, parameters: &Parameters) -> (Vec2, Vec2) {
        if parameters.text("mapping", "uv") != "uv" {
            self.note("approximated: spherical, cylindrical and planar mappings by the coordinates of the shape");
        }
        let pair = |u: &str, v: &str, default: f64| {
            let number = |name: &str| parameters.number(name, default) as f32;
            Vec2::new(number(u), number(v))
        };
        (pair("uscale", "vscale", 1.0), pair("udelta", "vdelta", 0.0))
    }
}
