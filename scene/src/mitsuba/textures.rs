//! Textures and spectra of Mitsuba.

use glam::{Affine2, DMat4, Mat2, Vec2, Vec3};

use super::{Converter, document::Object, values::Value};
use crate::{
    error::excerpt,
    import::{
        materials::{Color, Scalar, checkerboard},
        spectrum,
    },
    scene::{Encoding, Filter, Texture, Wrap},
};

/// The quantity for which a texture or a spectrum is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Use {
    /// A color of a surface, or a similar quantity.
    Reflectance,
    /// The light of an emitter.
    Emission,
    /// A number, such as an opacity or a roughness.
    Number,
}

impl Converter<'_> {
    /// Returns the reflectance with this name, or `default` if there is none. One outside 0 to 1, which Mitsuba refuses,
    /// is reported.
    pub(super) fn reflectance(
        &mut self,
        object: &Object,
        name: &str,
        default: f32,
    ) -> Result<Color, String> {
        if let Some(Value::Color(_) | Value::Number(_) | Value::Uniform(_)) = object.value(name) {
            let written = object.value(name).and_then(Value::reflectance);
            self.scene.check_reflectance(written.unwrap_or_default());
        }
        let color = self.color(object, name, Use::Reflectance)?;
        Ok(color.unwrap_or_else(|| Vec3::splat(default).into()))
    }

    /// Returns the emission with this name, or white of value 1 if there is none.
    pub(super) fn emission(&mut self, object: &Object, name: &str) -> Result<Color, String> {
        let color = self.color(object, name, Use::Emission)?;
        Ok(color.unwrap_or_else(|| Vec3::ONE.into()))
    }

    /// Returns the number with this name, or `default` if there is none.
    pub(super) fn scalar(
        &mut self,
        object: &Object,
        name: &str,
        default: f32,
    ) -> Result<Scalar, String> {
        if let Some(number) = object.value(name).and_then(Value::number) {
            return Ok((number as f32).into());
        }
        let child = self.document.child(object, name);
        Ok(match child {
            Some(child) => self.texture(child, Use::Number)?.scalar(),
            None => default.into(),
        })
    }

    /// Returns the number with this name, or `default` if there is none. A texture is replaced by its mean, with a
    /// warning.
    pub(super) fn constant(
        &mut self,
        object: &Object,
        name: &str,
        default: f32,
    ) -> Result<f32, String> {
        let scalar = self.scalar(object, name, default)?;
        if scalar.texture.is_some() {
            let plugin = excerpt(&object.plugin);
            self.scene.note(format!(
                "approximated: the texture of `{name}` of `{plugin}` by its mean"
            ));
        }
        Ok(scalar.mean(&self.scene.model.library))
    }

    /// Returns the color with this name. Returns `None` if there is none, or it is a value of another type.
    pub(super) fn color(
        &mut self,
        object: &Object,
        name: &str,
        of: Use,
    ) -> Result<Option<Color>, String> {
        if let Some(value) = object.value(name) {
            let color = match of {
                Use::Emission => value.emission(),
                Use::Reflectance | Use::Number => value.reflectance(),
            };
            return Ok(color.map(Color::from));
        }
        match self.document.child(object, name) {
            Some(child) => self.texture(child, of).map(Some),
            None => Ok(None),
        }
    }

    /// Converts a texture or a spectrum.
    pub(super) fn texture(&mut self, object: &Object, of: Use) -> Result<Color, String> {
        let key = (object.number, of);
        if let Some(&known) = self.textures.get(&key) {
            self.reads_mesh_colors |= self.colored_by_mesh.contains(&object.number);
            return Ok(known);
        }
        let before = std::mem::take(&mut self.reads_mesh_colors);
        let color = self.nested(object, |own| own.new_texture(object, of))?;
        if self.reads_mesh_colors {
            self.colored_by_mesh.insert(object.number);
        }
        self.reads_mesh_colors |= before;
        self.textures.insert(key, color);
        Ok(color)
    }

    /// Converts a texture that was not converted before.
    fn new_texture(&mut self, object: &Object, of: Use) -> Result<Color, String> {
        let constant = |value: Option<&Value>| -> Vec3 {
            let color = value.and_then(|value| match of {
                Use::Emission => value.emission(),
                Use::Reflectance | Use::Number => value.reflectance(),
            });
            color.unwrap_or(Vec3::ONE)
        };
        let samples = |samples: &[(f64, f64)]| match of {
            Use::Emission => spectrum::emission(samples),
            Use::Reflectance | Use::Number => spectrum::reflectance(samples),
        };
        let scale = object.number("scale", 1.0) as f32;
        Ok(match object.plugin.as_str() {
            "bitmap" => self.bitmap(object, of)?,
            "checkerboard" => self.checkerboard(object, of)?,
            "mesh_attribute" => {
                let name = object.text("name", "");
                if of != Use::Number && ["vertex_color", "face_color"].contains(&name) {
                    // The colors of the mesh multiply that of the material.
                    self.reads_mesh_colors = true;
                    Vec3::splat(scale).into()
                } else {
                    let name = excerpt(name);
                    self.scene.note(format!(
                        "not shown: the mesh attribute `{name}`; grey is used"
                    ));
                    Vec3::splat(0.5).into()
                }
            }
            "scale" => {
                let document = self.document;
                let inner = document.children(object).next().map(|(_, child)| child);
                let color = match inner {
                    Some(inner) => self.texture(inner, of)?,
                    None => constant(object.value("value")).into(),
                };
                Color {
                    factor: color.factor * scale,
                    ..color
                }
            }
            "uniform" => {
                let number = object.number("value", 1.0);
                let value = match of {
                    Use::Emission => Value::Uniform(number),
                    Use::Reflectance | Use::Number => Value::Number(number),
                };
                constant(Some(&value)).into()
            }
            "srgb" | "rawconstant" => {
                constant(object.value("color").or(object.value("value"))).into()
            }
            "d65" => (constant(object.value("color").or(object.value("value"))) * scale).into(),
            "blackbody" => {
                (spectrum::black_body(object.number("temperature", 5000.0)) * scale).into()
            }
            "regular" => {
                let low = object.number("wavelength_min", 360.0);
                let high = object.number("wavelength_max", 830.0);
                let list = list(object, "values");
                let step = (high - low) / (list.len().max(2) - 1) as f64;
                let list: Vec<_> = (0..)
                    .zip(list)
                    .map(|(at, value)| (low + step * f64::from(at), value))
                    .collect();
                samples(&list).into()
            }
            "irregular" => {
                let (wavelengths, list) = (list(object, "wavelengths"), list(object, "values"));
                let list: Vec<_> = wavelengths.into_iter().zip(list).collect();
                if !list.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                    return Err("wavelengths: expected increasing numbers".to_owned());
                }
                samples(&list).into()
            }
            plugin => {
                let plugin = excerpt(plugin);
                self.scene.note(format!(
                    "not shown: textures of type `{plugin}`; grey is used"
                ));
                Vec3::splat(0.5).into()
            }
        })
    }

    /// Converts a texture of an image file. Read as a number, colors are replaced by their luminance, as in Mitsuba. An
    /// image that cannot be read is grey, with a warning.
    fn bitmap(&mut self, object: &Object, of: Use) -> Result<Color, String> {
        let name = object.text("filename", "");
        let library = &mut self.scene.model.library;
        let opened = self
            .files
            .find_by_last_component(name)
            .and_then(|path| library.open(&path));
        let image = match opened {
            Ok(image) => image,
            Err(problem) => {
                self.scene.note_image(name, &problem);
                return Ok(Vec3::splat(0.5).into());
            }
        };
        let scene = &mut self.scene;
        let mut wrap = |name: &str| match object.text(name, object.text("wrap_mode", "repeat")) {
            "mirror" => Wrap::Mirror,
            "clamp" => Wrap::Clamp,
            "repeat" => Wrap::Repeat,
            mode => {
                let mode = excerpt(mode);
                scene.note(format!("approximated: the wrap mode `{mode}` by `repeat`"));
                Wrap::Repeat
            }
        };
        // Versions before 2 have one for each axis.
        let wrap = ["wrap_mode_u", "wrap_mode_v"].map(&mut wrap);
        let filter = match object.text("filter_type", "bilinear") {
            "nearest" => Filter::Nearest,
            "bilinear" => Filter::Bilinear,
            filter => {
                let filter = excerpt(filter);
                scene.note(format!(
                    "approximated: the texture filter `{filter}` by `bilinear`"
                ));
                Filter::Bilinear
            }
        };
        // Versions before 2 have a `gamma`, of which 1 is linear and -1 that of the file.
        let gamma = object.number("gamma", -1.0);
        if ![-1.0, 1.0].contains(&gamma) {
            scene.note("approximated: the `gamma` of images by sRGB; convert them, or set `raw` for linear values");
        }
        let encoding = match object.flag("raw", gamma == 1.0) {
            true => Encoding::Linear,
            false => Encoding::Srgb,
        };
        let texture = Texture {
            wrap,
            filter,
            transform: to_uv(object),
            ..Texture::new(image, encoding)
        };
        let library = &mut self.scene.model.library;
        let texture = library.add_texture(texture);
        Ok(Color {
            factor: Vec3::ONE,
            texture: Some(match of {
                Use::Number => library.luminance(texture)?,
                Use::Reflectance | Use::Emission => texture,
            }),
        })
    }

    /// Converts a checkerboard. Textures inside it are replaced by their means, with a warning. Read as a number, its
    /// colors are exchanged, as in Mitsuba 3.9.
    fn checkerboard(&mut self, object: &Object, of: Use) -> Result<Color, String> {
        let mut colors = [Vec3::ZERO; 2];
        for (color, (name, default)) in colors.iter_mut().zip([("color0", 0.4), ("color1", 0.2)]) {
            let inner = self.reflectance(object, name, default)?;
            if inner.texture.is_some() {
                self.scene
                    .note("approximated: textures inside a checkerboard by their means");
            }
            *color = inner.mean(&self.scene.model.library);
        }
        if of == Use::Number {
            colors.reverse();
        }
        Ok(Color {
            factor: Vec3::ONE,
            texture: Some(checkerboard(
                &mut self.scene.model.library,
                colors,
                to_uv(object),
            )),
        })
    }
}

/// Returns the numbers of the text with this name; empty if it is missing or no list of numbers.
fn list(object: &Object, name: &str) -> Vec<f64> {
    super::values::numbers(object.text(name, "")).unwrap_or_default()
}

/// Returns the transform of texture coordinates. Older scenes have scales and offsets instead.
fn to_uv(object: &Object) -> Affine2 {
    if let Some(Value::Transform(matrix)) = object.value("to_uv") {
        return planar(matrix);
    }
    let pair = |u: &str, v: &str, default: f64| {
        Vec2::new(
            object.number(u, default) as f32,
            object.number(v, default) as f32,
        )
    };
    let scale = pair("uscale", "vscale", 1.0);
    Affine2::from_mat2_translation(Mat2::from_diagonal(scale), pair("uoffset", "voffset", 0.0))
}

/// Returns the part of a matrix that transforms x and y; the identity if it is not finite.
fn planar(matrix: &DMat4) -> Affine2 {
    let [x, y, _, offset] = [matrix.x_axis, matrix.y_axis, matrix.z_axis, matrix.w_axis];
    let column = |column: glam::DVec4| Vec2::new(column.x as f32, column.y as f32);
    let planar = Affine2::from_cols(column(x), column(y), column(offset));
    match planar.is_finite() {
        true => planar,
        false => Affine2::IDENTITY,
    }
}
