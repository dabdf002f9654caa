//! MTL: what the faces of an OBJ file are made of.

use std::{
    collections::HashSet,
    io::BufReader,
    path::{Path, PathBuf},
};

use glam::{Vec2, Vec3};

use super::{beside::Beside, line_end, obj, read_line};
use crate::scene::{
    Channel, Encoding, Map, Maps, Parameter, Principled, Surface, Texture, Wrap,
    model::{Model, ModelMaterial},
    source::{excerpt, open_plain, shown},
    sun_sky::xyz_to_rgb,
};

/// The libraries of an OBJ file.
pub(super) struct Libraries {
    beside: Beside,
    read: HashSet<PathBuf>,
}

impl Libraries {
    /// Of a file in that folder.
    pub(super) fn new(folder: &Path) -> Self {
        Libraries {
            beside: Beside::new(folder),
            read: HashSet::new(),
        }
    }

    /// Reads those that a `mtllib` line names, each once for all lines: the materials and their names. One that is missing
    /// is noted.
    pub(super) fn read(
        &mut self,
        names: &str,
        model: &mut Model,
    ) -> Result<Vec<(String, ModelMaterial)>, String> {
        // One name with spaces is more common than two names.
        let whole = self.beside.file(names)?;
        let files = if whole.exists() {
            vec![whole]
        } else {
            let each = names.split_whitespace().map(|name| self.beside.file(name));
            each.collect::<Result<_, _>>()?
        };
        let mut materials = Vec::new();
        for path in files {
            if !path.exists() {
                model.note(format!(
                    "{}: does not exist; its materials are missing",
                    shown(&path)
                ));
            } else if self.read.insert(path.clone()) {
                library(&path, &mut materials, model)
                    .map_err(|problem| format!("{}: {problem}", shown(&path)))?;
            }
        }
        Ok(materials)
    }
}

fn library(
    path: &Path,
    materials: &mut Vec<(String, ModelMaterial)>,
    model: &mut Model,
) -> Result<(), String> {
    let mut beside = Beside::new(path.parent().unwrap_or(Path::new("")));
    let mut reader = BufReader::new(open_plain(path, &["mtl"])?);
    let mut line = String::new();
    let mut written: Vec<(String, Written)> = Vec::new();
    let mut number = 0u64;
    let end = line_end(&mut reader).map_err(|error| format!("cannot be read: {error}"))?;
    loop {
        number += 1;
        let within = |problem: String| format!("line {number}: {problem}");
        let more =
            read_line(&mut reader, end, &mut line).map_err(|error| within(error.to_string()))?;
        if !more {
            break;
        }
        let code = line.split('#').next().unwrap_or_default().trim();
        let keyword = code.split_whitespace().next().unwrap_or_default();
        if keyword == "newmtl" {
            let name = obj::rest(code, keyword).to_owned();
            written.push((name, Written::default()));
        } else if let Some((_, material)) = written.last_mut() {
            material
                .statement(keyword, code, &mut beside, model)
                .map_err(within)?;
        }
    }
    materials.extend(
        written
            .into_iter()
            .map(|(name, written)| (name.clone(), written.material(name))),
    );
    Ok(())
}

/// What a library says of a material.
struct Written {
    diffuse: Option<Vec3>,
    specular: Vec3,
    /// Phong's.
    exponent: Option<f32>,
    emission: Vec3,
    ior: f32,
    opacity: Option<f32>,
    transparency: f32,
    /// The model of illumination.
    model: u32,
    /// Those that came with physically based rendering.
    roughness: Option<f32>,
    metallic: Option<f32>,
    clearcoat: Option<f32>,
    clearcoat_roughness: f32,
    maps: Maps,
}

impl Default for Written {
    fn default() -> Self {
        Written {
            diffuse: None,
            specular: Vec3::ZERO,
            exponent: None,
            emission: Vec3::ZERO,
            ior: 1.5,
            opacity: None,
            transparency: 0.0,
            model: 2,
            roughness: None,
            metallic: None,
            clearcoat: None,
            clearcoat_roughness: 0.0,
            maps: Maps::default(),
        }
    }
}

impl Written {
    fn statement(
        &mut self,
        keyword: &str,
        code: &str,
        beside: &mut Beside,
        model: &mut Model,
    ) -> Result<(), String> {
        use Encoding::{Linear, Srgb};
        let part = |code: &str| number(code).map(|value| value.clamp(0.0, 1.0));
        match keyword {
            "Kd" | "Ks" | "Ke" if code.split_whitespace().nth(1) == Some("spectral") => {
                model.note(format!("not used: colors by spectra ({keyword} spectral)"));
            }
            "Kd" => self.diffuse = Some(color(code)?.clamp(Vec3::ZERO, Vec3::ONE)),
            "Ks" => self.specular = color(code)?.clamp(Vec3::ZERO, Vec3::ONE),
            "Ke" => self.emission = color(code)?.max(Vec3::ZERO),
            "Ns" => self.exponent = Some(number(code)?.max(0.0)),
            "Ni" => self.ior = number(code)?.clamp(1.0, 10.0),
            "illum" => self.model = number(code)?.clamp(0.0, 10.0) as u32,
            "Pr" => self.roughness = Some(part(code)?),
            "Pm" => self.metallic = Some(part(code)?),
            "Pc" => self.clearcoat = Some(part(code)?),
            "Pcr" => self.clearcoat_roughness = part(code)?,
            // `d -halo 0.5` too.
            "d" => self.opacity = Some(last(code)?.clamp(0.0, 1.0)),
            "Tr" => self.transparency = last(code)?.clamp(0.0, 1.0),
            "map_Kd" => self.map(code, keyword, Parameter::Color, Srgb, beside, model),
            "map_Ks" => self.map(code, keyword, Parameter::SpecularColor, Srgb, beside, model),
            "map_Ke" => self.map(code, keyword, Parameter::Emission, Srgb, beside, model),
            "map_d" => self.map(code, keyword, Parameter::Opacity, Linear, beside, model),
            "map_Pr" => self.map(code, keyword, Parameter::Roughness, Linear, beside, model),
            "map_Pm" => self.map(code, keyword, Parameter::Metallic, Linear, beside, model),
            "norm" | "map_Kn" | "map_Bump" | "map_bump" | "bump" => {
                self.map(code, keyword, Parameter::Normal, Linear, beside, model);
            }
            // What scatters the light of nowhere.
            "map_Ka" => {}
            _ if keyword.starts_with("map_") || keyword == "disp" => {
                model.note(format!("not shown: textures ({})", excerpt(keyword)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes a texture; one that cannot be read is left out, and told.
    fn map(
        &mut self,
        code: &str,
        keyword: &str,
        parameter: Parameter,
        encoding: Encoding,
        beside: &mut Beside,
        model: &mut Model,
    ) {
        let lie = Lie::of(obj::rest(code, keyword));
        let opened = beside.file_or_last(lie.file).and_then(|path| {
            let image = model.library.open(&path);
            image.map_err(|problem| format!("{}: {problem}", shown(&path)))
        });
        let mut bend = lie.bend;
        let opened = opened.and_then(|image| {
            if parameter != Parameter::Normal || keyword == "norm" || keyword == "map_Kn" {
                return Ok(image);
            }
            let mean = model.library.images[image as usize].mean(Encoding::Linear);
            // A map of heights is grey; one of normals is blue, since most of it looks away from the surface.
            if mean.z >= mean.x.max(mean.y) + 0.2 {
                return Ok(image);
            }
            bend = 1.0;
            model.library.bumps(image, lie.bend, lie.wrap)
        });
        let image = match opened {
            Ok(image) => image,
            Err(problem) => return model.note(format!("shown without {keyword}: {problem}")),
        };
        if parameter == Parameter::Normal {
            self.maps.bend = bend;
        }
        let texture = Texture {
            wrap: [lie.wrap; 2],
            ..Texture::new(image, encoding)
        };
        // Its v grows upwards.
        let offset = Vec2::new(lie.offset.x, 1.0 - lie.scale.y - lie.offset.y);
        let texture = texture.transformed(lie.scale, 0.0, offset);
        let is_opaque = model.library.images[image as usize].is_opaque();
        let map = Map {
            texture: model.library.texture(texture),
            channel: match parameter {
                Parameter::Opacity if !is_opaque => Channel::Alpha,
                _ => Channel::Red,
            },
        };
        self.maps.textures.insert(parameter, map);
    }

    fn material(mut self, name: String) -> ModelMaterial {
        let has = |parameter| self.maps.textures.contains_key(&parameter);
        // A colour that would make the texture black is none.
        let tinted = |color: Option<Vec3>, otherwise: Vec3, parameter| match color {
            Some(color) if color != Vec3::ZERO || !has(parameter) => color,
            _ if has(parameter) => Vec3::ONE,
            _ => otherwise,
        };
        let diffuse = tinted(self.diffuse, Vec3::splat(0.8), Parameter::Color);
        let emission = tinted(Some(self.emission), Vec3::ZERO, Parameter::Emission);
        let by_texture = |value: Option<f32>, otherwise: f32, parameter| match value {
            Some(value) => value,
            None if has(parameter) => 1.0,
            None => otherwise,
        };
        let metallic = by_texture(self.metallic, 0.0, Parameter::Metallic);
        // Phong's exponent as the width of GGX: alpha² = 2 / (n + 2), and roughness² = alpha.
        let blurred = |exponent: f32| (2.0 / (exponent + 2.0)).sqrt().sqrt();
        let roughness = self.roughness.or(self.exponent.map(blurred));
        let roughness = by_texture(roughness, 0.5, Parameter::Roughness);
        let physical = self.roughness.is_some()
            || self.metallic.is_some()
            || self.clearcoat.is_some()
            || has(Parameter::Roughness)
            || has(Parameter::Metallic);
        // Flat, and without highlights.
        let glossy = !matches!(self.model, 0 | 1) && self.specular != Vec3::ZERO;
        let principled = Principled {
            base_color: diffuse,
            metallic,
            roughness,
            ior: self.ior,
            clearcoat: self.clearcoat.unwrap_or(0.0),
            clearcoat_roughness: self.clearcoat_roughness,
            emission,
            ..Principled::default()
        };
        let most = self.specular.max_element();
        let surface = match self.model {
            // Glass, with or without ray tracing.
            4 | 6 | 7 | 9 if !physical => Surface::Dielectric {
                ior: self.ior,
                absorption: Vec3::ZERO,
            },
            _ if physical => Surface::Principled(principled),
            // What shows nothing but what it reflects is a metal.
            _ if glossy && diffuse == Vec3::ZERO => Surface::Principled(Principled {
                base_color: self.specular,
                metallic: 1.0,
                ..principled
            }),
            // A half is what a dielectric of index 1.5 reflects, as exporters write it.
            _ if glossy => Surface::Principled(Principled {
                ior: 1.5,
                specular: (2.0 * most).min(1.0),
                specular_color: self.specular / most,
                ..principled
            }),
            _ if emission != Vec3::ZERO => Surface::Emissive {
                radiance: emission,
                albedo: diffuse,
                one_sided: false,
                both_sides: false,
            },
            _ => Surface::Diffuse {
                albedo: diffuse,
                one_sided: false,
            },
        };
        self.maps.opacity = self.opacity.unwrap_or(1.0 - self.transparency);
        let textures = &mut self.maps.textures;
        match surface {
            Surface::Principled(_) => {}
            // Glass is see-through as it is.
            Surface::Dielectric { .. } => {
                textures.retain(|&of, _| of == Parameter::Normal);
                self.maps.opacity = 1.0;
            }
            _ => textures.retain(|of, _| {
                use Parameter::{Color, Emission, Normal, Opacity};
                [Color, Emission, Normal, Opacity].contains(of)
            }),
        }
        ModelMaterial {
            name,
            surface,
            maps: self.maps,
            veiled: false,
        }
    }
}

/// How a texture lies on the surface: `-s 2 2 1 -o 0.5 wood.png`.
struct Lie<'c> {
    file: &'c str,
    scale: Vec2,
    offset: Vec2,
    bend: f32,
    wrap: Wrap,
}

impl<'c> Lie<'c> {
    fn of(code: &'c str) -> Lie<'c> {
        let mut lie = Lie {
            file: code,
            scale: Vec2::ONE,
            offset: Vec2::ZERO,
            bend: 1.0,
            wrap: Wrap::Repeat,
        };
        // A word, and what stands behind it.
        fn next(code: &str) -> Option<(&str, &str)> {
            let code = code.trim_start();
            let end = code.find(char::is_whitespace)?;
            Some((&code[..end], code[end..].trim_start()))
        }
        while let Some((option, rest)) = next(lie.file).filter(|(word, _)| word.starts_with('-')) {
            lie.file = rest;
            let mut numbers = Vec::new();
            while let Some((word, rest)) = next(lie.file).filter(|_| numbers.len() < 3)
                && let Some(number) = word.parse().ok().filter(|n: &f32| n.abs() <= 1e8)
            {
                numbers.push(number);
                lie.file = rest;
            }
            match (option, &numbers[..]) {
                ("-s", &[u, ref rest @ ..]) => {
                    lie.scale = Vec2::new(u, rest.first().copied().unwrap_or(1.0));
                }
                ("-o", &[u, ref rest @ ..]) => {
                    lie.offset = Vec2::new(u, rest.first().copied().unwrap_or(0.0));
                }
                ("-bm", &[bend, ..]) => lie.bend = bend.clamp(-100.0, 100.0),
                (_, []) => {
                    // Of a word instead of numbers: `-clamp on`.
                    if let Some((word, rest)) = next(lie.file) {
                        if option == "-clamp" && word == "on" {
                            lie.wrap = Wrap::Clamp;
                        }
                        lie.file = rest;
                    }
                }
                _ => {}
            }
        }
        lie
    }
}

/// One number, or three; of sRGB, or behind `xyz` of CIE XYZ.
fn color(code: &str) -> Result<Vec3, String> {
    let mut words = code.split_whitespace().skip(1).peekable();
    let xyz = words.next_if_eq(&"xyz").is_some();
    let numbers: Vec<f32> = words.map_while(|word| word.parse().ok()).collect();
    let color = match numbers[..] {
        [r, g, b, ..] => Vec3::new(r, g, b),
        [grey, ..] => Vec3::splat(grey),
        [] => Vec3::NAN,
    };
    let color = if xyz {
        xyz_to_rgb(color.as_dvec3()).as_vec3()
    } else {
        color
    };
    if color.is_finite() {
        Ok(color)
    } else {
        Err(format!(
            "found `{}`, expected a color `r g b`",
            excerpt(code)
        ))
    }
}

fn number(code: &str) -> Result<f32, String> {
    parsed(code, code.split_whitespace().nth(1))
}

fn last(code: &str) -> Result<f32, String> {
    parsed(code, code.split_whitespace().skip(1).last())
}

fn parsed(code: &str, word: Option<&str>) -> Result<f32, String> {
    let word = word.unwrap_or_default();
    let number: Option<f32> = word.parse().ok();
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("found `{}`, expected a number", excerpt(code)))
}
