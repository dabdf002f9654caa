//! Reads MTL material libraries of OBJ files and maps their materials to surfaces and textures.
//!
//! `docs/experiments/081-libraries-for-files.md` says why this is not a library.

use std::{
    collections::HashSet,
    io::BufReader,
    path::{Path, PathBuf},
};

use glam::{Vec2, Vec3};

use super::{
    statements,
    texture_options::{TextureOptions, unquoted},
};
use crate::{
    color::xyz_to_rgb,
    error::excerpt,
    files::{display_path, lines::Lines, open_regular_file, relative_paths::RelativePaths},
    model::{Model, ModelMaterial},
    scene::{
        Absorption, Channel, Encoding, GlassTint, MaterialTexture, MaterialTextures, Parameter,
        Principled, Surface, Texture,
    },
};

/// Statements that name a texture that is not shown, besides those that begin with `map_`.
const TEXTURES: [&str; 3] = ["disp", "decal", "refl"];
/// Statements with a parameter that is not shown: sheen, anisotropy and its rotation, and the color of transmission.
const PARAMETERS: [&str; 4] = ["Ps", "aniso", "anisor", "Tf"];
/// Index of refraction below which glass is invisible.
const LEAST_GLASS: f32 = 1.001;
/// Singular and plural of the objects that warnings of this module count.
const MATERIALS: [&str; 2] = ["material", "materials"];

/// The loader of the MTL libraries that an OBJ file names. Each library is read once.
pub(crate) struct Libraries {
    relative_paths: RelativePaths,
    /// Paths of the libraries that were read already.
    read: HashSet<PathBuf>,
}

impl Libraries {
    /// Creates a loader of libraries in `folder`, which contains the OBJ file, or below it.
    pub(crate) fn new(folder: &Path) -> Self {
        Libraries {
            relative_paths: RelativePaths::new(folder),
            read: HashSet::new(),
        }
    }

    /// Reads the libraries of a `mtllib` statement that were not read before, and returns their materials with their
    /// names. `names` is one file name, which may contain spaces, or several names separated by spaces.
    ///
    /// A missing library, or one outside of the folder, is a warning in `model`. Fails if a library is malformed.
    pub(crate) fn read(
        &mut self,
        names: &str,
        model: &mut Model,
    ) -> Result<Vec<(String, ModelMaterial)>, String> {
        let names = unquoted(names);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // A single name that contains spaces is more common than two names.
        let whole = self.relative_paths.find_by_last_component(names);
        let files = match whole {
            Ok(path) if path.is_file() => vec![Ok(path)],
            whole if names.contains(['/', '\\']) && !names.contains(char::is_whitespace) => {
                vec![whole]
            }
            _ => {
                let each = names.split_whitespace();
                each.map(|name| self.relative_paths.find_by_last_component(name))
                    .collect()
            }
        };
        let mut materials = Vec::new();
        for file in files {
            let path = match file {
                Ok(path) => path,
                Err(problem) => {
                    model.note(format!("its materials are missing: {problem}"));
                    continue;
                }
            };
            if !path.exists() {
                model.note(format!(
                    "{}: does not exist; its materials are missing",
                    display_path(&path)
                ));
            } else if self.read.insert(path.clone()) {
                library(&path, &mut materials, model)
                    .map_err(|problem| format!("{}: {problem}", display_path(&path)))?;
            }
        }
        Ok(materials)
    }
}

/// Reads the library at `path` and appends its materials with their names. Fails if it cannot be read or is malformed;
/// the message begins with the line number where one is known.
fn library(
    path: &Path,
    materials: &mut Vec<(String, ModelMaterial)>,
    model: &mut Model,
) -> Result<(), String> {
    let mut relative_paths = RelativePaths::new(path.parent().unwrap_or(Path::new("")));
    let mut reader = BufReader::new(open_regular_file(path, &["mtl"])?);
    let mut line = String::new();
    let mut written: Vec<(String, MtlMaterial)> = Vec::new();
    let mut number = 0u64;
    let mut lines = Lines::new(&mut reader).map_err(|error| format!("cannot be read: {error}"))?;
    loop {
        number += 1;
        let within = |problem: String| format!("line {number}: {problem}");
        let more = lines
            .read(&mut line)
            .map_err(|error| within(error.to_string()))?;
        if !more {
            break;
        }
        let code = line.split('#').next().unwrap_or_default().trim();
        let keyword = code.split_whitespace().next().unwrap_or_default();
        if keyword == "newmtl" {
            let name = statements::rest(code, keyword).to_owned();
            written.push((name, MtlMaterial::default()));
        } else if let Some((_, material)) = written.last_mut() {
            material
                .statement(keyword, code, &mut relative_paths, model)
                .map_err(within)?;
        }
    }
    materials.extend(
        written
            .into_iter()
            .map(|(name, written)| (name.clone(), written.material(name, model))),
    );
    Ok(())
}

/// The statements of one material of a library, before they are converted to a surface.
struct MtlMaterial {
    /// Statement `Kd`: diffuse reflectance, linear sRGB, 0 to 1; `None` if absent.
    diffuse: Option<Vec3>,
    /// Statement `Ks`: specular reflectance, linear sRGB, 0 to 1; black if absent.
    specular: Vec3,
    /// Statement `Ns`: exponent of the Phong highlight, 0 or more; `None` if absent.
    exponent: Option<f32>,
    /// Statement `Ke`: emitted radiance, W·sr⁻¹·m⁻² in linear sRGB, 0 or more; 0 if absent.
    emission: Vec3,
    /// Statement `Ni`: index of refraction, 1 to 10; 1.5 if absent.
    ior: f32,
    /// Statement `d`: opacity, 0 to 1; `None` if absent.
    opacity: Option<f32>,
    /// Statement `Tr`: 1 minus the opacity, 0 to 1; 0 if absent. It is ignored if `opacity` is given.
    transparency: f32,
    /// Statement `illum`: number of the illumination model, 0 to 10; 2 if absent.
    illumination: u32,
    /// Statement `Pr` of the PBR extension: perceptual roughness, 0 to 1; `None` if absent.
    roughness: Option<f32>,
    /// Statement `Pm` of the PBR extension: metallic fraction, 0 to 1; `None` if absent.
    metallic: Option<f32>,
    /// Statement `Pc` of the PBR extension: strength of the clear coat, 0 to 1; `None` if absent.
    clearcoat: Option<f32>,
    /// Statement `Pcr` of the PBR extension: perceptual roughness of the clear coat, 0 to 1; 0 if absent.
    clearcoat_roughness: f32,
    maps: MaterialTextures,
}

impl Default for MtlMaterial {
    fn default() -> Self {
        MtlMaterial {
            diffuse: None,
            specular: Vec3::ZERO,
            exponent: None,
            emission: Vec3::ZERO,
            ior: 1.5,
            opacity: None,
            transparency: 0.0,
            illumination: 2,
            roughness: None,
            metallic: None,
            clearcoat: None,
            clearcoat_roughness: 0.0,
            maps: MaterialTextures::default(),
        }
    }
}

impl MtlMaterial {
    /// Applies one statement `code` that begins with `keyword`. Unknown keywords are ignored, and unsupported textures
    /// are warnings in `model`. Fails if a value is not a finite number.
    fn statement(
        &mut self,
        keyword: &str,
        code: &str,
        relative_paths: &mut RelativePaths,
        model: &mut Model,
    ) -> Result<(), String> {
        use Encoding::{Linear, Srgb};
        let part = |code: &str| number(code).map(|value| value.clamp(0.0, 1.0));
        match keyword {
            "Kd" | "Ks" | "Ke" if code.split_whitespace().nth(1) == Some("spectral") => {
                let text = format!("not used: colors by spectra of {{}} ({keyword} spectral)");
                model.note_count(&text, MATERIALS, 1);
            }
            "Kd" => self.diffuse = Some(color(code)?.clamp(Vec3::ZERO, Vec3::ONE)),
            "Ks" => self.specular = color(code)?.clamp(Vec3::ZERO, Vec3::ONE),
            "Ke" => self.emission = color(code)?.max(Vec3::ZERO),
            "Ns" => self.exponent = Some(number(code)?.max(0.0)),
            "Ni" => self.ior = number(code)?.clamp(1.0, 10.0),
            "illum" => self.illumination = number(code)?.clamp(0.0, 10.0) as u32,
            "Pr" => self.roughness = Some(part(code)?),
            "Pm" => self.metallic = Some(part(code)?),
            "Pc" => self.clearcoat = Some(part(code)?),
            "Pcr" => self.clearcoat_roughness = part(code)?,
            // The last word also covers `d -halo 0.5`.
            "d" => self.opacity = Some(last(code)?.clamp(0.0, 1.0)),
            "Tr" => self.transparency = last(code)?.clamp(0.0, 1.0),
            "map_Kd" => self.map(code, keyword, Parameter::Color, Srgb, relative_paths, model),
            "map_Ks" => self.map(
                code,
                keyword,
                Parameter::SpecularColor,
                Srgb,
                relative_paths,
                model,
            ),
            "map_Ke" => self.map(
                code,
                keyword,
                Parameter::Emission,
                Srgb,
                relative_paths,
                model,
            ),
            "map_d" => self.map(
                code,
                keyword,
                Parameter::Opacity,
                Linear,
                relative_paths,
                model,
            ),
            "map_Pr" => self.map(
                code,
                keyword,
                Parameter::Roughness,
                Linear,
                relative_paths,
                model,
            ),
            "map_Pm" => self.map(
                code,
                keyword,
                Parameter::Metallic,
                Linear,
                relative_paths,
                model,
            ),
            "norm" | "map_Kn" | "map_Bump" | "map_bump" | "bump" => {
                self.map(
                    code,
                    keyword,
                    Parameter::Normal,
                    Linear,
                    relative_paths,
                    model,
                );
            }
            // Ambient color has no meaning in a path tracer.
            "map_Ka" => {}
            _ if keyword.starts_with("map_") || TEXTURES.contains(&keyword) => {
                let text = format!("not shown: textures of {{}} ({})", excerpt(keyword));
                model.note_count(&text, MATERIALS, 1);
            }
            // Exporters write the value that has no effect into every material.
            _ if PARAMETERS.contains(&keyword) => {
                let mut words = code.split_whitespace().skip(1);
                let no_effect = if keyword == "Tf" { 1.0 } else { 0.0 };
                let has_effect = |word: &str| word.parse() != Ok(no_effect);
                if words.any(has_effect) {
                    let text = format!("not shown: {keyword} of {{}}");
                    model.note_count(&text, MATERIALS, 1);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets the texture of a parameter from a texture statement `code` that begins with `keyword`. An image that cannot
    /// be read is left out, with a warning in `model`.
    fn map(
        &mut self,
        code: &str,
        keyword: &str,
        parameter: Parameter,
        encoding: Encoding,
        relative_paths: &mut RelativePaths,
        model: &mut Model,
    ) {
        let options = TextureOptions::parse(statements::rest(code, keyword));
        let opened = relative_paths
            .find_by_last_component(options.file)
            .and_then(|path| {
                let image = model.library.open(&path);
                image.map_err(|problem| format!("{}: {problem}", display_path(&path)))
            });
        let mut normal_scale = options.bump_scale;
        let opened = opened.and_then(|image| {
            if parameter != Parameter::Normal || keyword == "norm" || keyword == "map_Kn" {
                return Ok(image);
            }
            let mean = model.library.images[image as usize].mean(Encoding::Linear);
            // A height map is grey on average. A normal map is blue, because most normals point away from the surface.
            if mean.z >= mean.x.max(mean.y) + 0.2 {
                return Ok(image);
            }
            normal_scale = 1.0;
            model
                .library
                .normal_map_from_heights(image, options.bump_scale, options.wrap)
        });
        let image = match opened {
            Ok(image) => image,
            Err(problem) => {
                let text = format!("{{}} shown without {keyword}: {problem}");
                return model.note_count(&text, MATERIALS, 1);
            }
        };
        if parameter == Parameter::Normal {
            self.maps.normal_scale = normal_scale;
        }
        let texture = Texture {
            wrap: [options.wrap; 2],
            ..Texture::new(image, encoding)
        };
        // MTL offsets v upwards, textures downwards.
        let offset = Vec2::new(options.offset.x, 1.0 - options.scale.y - options.offset.y);
        let texture = texture.transformed(options.scale, 0.0, offset);
        let texture = model.library.add_texture(texture);
        let channel = match parameter {
            Parameter::Opacity if !model.library.is_opaque(texture) => Channel::Alpha,
            _ => Channel::Red,
        };
        let map = MaterialTexture { texture, channel };
        self.maps.textures.insert(parameter, map);
    }

    /// Converts the statements to a material with this name, of the type `Dielectric`, `Principled`, `Emissive` or
    /// `Diffuse`. A material that nobody could see is opaque instead, with a warning in `model`.
    fn material(mut self, name: String, model: &mut Model) -> ModelMaterial {
        let has = |parameter| self.maps.textures.contains_key(&parameter);
        // Exporters write black beside a texture; multiplying by it would hide the texture.
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
        // A Phong exponent n corresponds to GGX with alpha² = 2 / (n + 2), and roughness² = alpha.
        let blurred = |exponent: f32| (2.0 / (exponent + 2.0)).sqrt().sqrt();
        let roughness = self.roughness.or(self.exponent.map(blurred));
        let roughness = by_texture(roughness, 0.5, Parameter::Roughness);
        let physical = self.roughness.is_some()
            || self.metallic.is_some()
            || self.clearcoat.is_some()
            || has(Parameter::Roughness)
            || has(Parameter::Metallic);
        // Illumination models 0 and 1 have no highlights.
        let glossy = !matches!(self.illumination, 0 | 1) && self.specular != Vec3::ZERO;
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
        if matches!(self.illumination, 4 | 6 | 7 | 9) && !physical && self.ior < LEAST_GLASS {
            let text =
                "shown as a surface, not as glass: {} whose `Ni` of 1 would make it invisible";
            model.note_count(text, MATERIALS, 1);
        }
        let surface = match self.illumination {
            // The illumination models for glass.
            4 | 6 | 7 | 9 if !physical && self.ior >= LEAST_GLASS => Surface::Dielectric {
                ior: self.ior,
                thin: false,
                tint: GlassTint::WHITE,
                absorption: Absorption::NONE,
            },
            _ if physical => Surface::Principled(principled),
            // A surface without diffuse reflection is a metal.
            _ if glossy && diffuse == Vec3::ZERO => Surface::Principled(Principled {
                base_color: self.specular,
                metallic: 1.0,
                ..principled
            }),
            // Exporters write 0.5 for the reflection of a dielectric of index 1.5.
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
        // Several programs write `Tr 1` or `d 0` for opaque.
        self.maps.opacity = self.opacity.unwrap_or(1.0 - self.transparency);
        let is_glass = matches!(surface, Surface::Dielectric { .. });
        if self.maps.opacity == 0.0 && !is_glass {
            self.maps.opacity = 1.0;
            let statement = if self.opacity.is_some() {
                "d 0"
            } else {
                "Tr 1"
            };
            let text = format!("shown opaque: {{}} that `{statement}` would make invisible");
            model.note_count(&text, MATERIALS, 1);
        }
        let textures = &mut self.maps.textures;
        match surface {
            Surface::Principled(_) => {}
            // The dielectric transmits light itself, so opacity must not apply to it as well.
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
            ..surface.into()
        }
    }
}

/// Parses the values of the statement `code` as a color: one (grey) or three finite numbers in linear sRGB, or in CIE
/// XYZ after the word `xyz`. Fails if there are none.
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

/// Parses the first word after the keyword of the statement `code` as a finite number.
fn number(code: &str) -> Result<f32, String> {
    parsed(code, code.split_whitespace().nth(1))
}

/// Parses the last word of the statement `code`, which begins with a keyword, as a finite number.
fn last(code: &str) -> Result<f32, String> {
    parsed(code, code.split_whitespace().skip(1).last())
}

/// Parses `word` as a finite number. Fails for other text or `None`; the message quotes the statement `code`.
fn parsed(code: &str, word: Option<&str>) -> Result<f32, String> {
    let word = word.unwrap_or_default();
    let number: Option<f32> = word.parse().ok();
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("found `{}`, expected a number", excerpt(code)))
}
