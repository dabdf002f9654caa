//! Materials of pbrt, converted to the nearest ones.

use std::rc::Rc;

use glam::Vec3;

use super::{Converter, lights::Emission, parameters::Parameters};
use crate::{
    error::excerpt,
    image::texture_library::CoatBase,
    import::{
        bump::Bump,
        coat::{Facets, LossyCoat},
        materials::{Alphas, Color, Scalar, metal_color, reflectance},
        media::shows_inside,
    },
    limits::MIN_ALPHA,
    model::ModelMaterial,
    scene::{
        Absorption, Channel, Encoding, GlassTint, Masking, MaterialTexture, MaterialTextures,
        Metal, Parameter, Principled, Surface, Texture,
    },
};

/// A material as the file describes it.
pub(super) struct Described {
    /// Number of the material among all of the scene, from 1.
    pub(super) number: usize,
    /// Type such as `diffuse`.
    pub(super) kind: String,
    /// Name; empty if it has none.
    pub(super) name: String,
    pub(super) parameters: Parameters,
}

/// A converted material.
#[derive(Clone)]
pub(super) struct Converted {
    /// Material without emission.
    pub(super) material: ModelMaterial,
    /// Height map, which becomes a normal map when the size of the shape is known.
    pub(super) bump: Option<Bump>,
    /// Whether the surface is invisible: it is only the boundary of a medium. A shape is then left out unless it emits.
    invisible: bool,
}

/// The properties on which a material of the model depends: the numbers of the material, the area light and the medium
/// inside (0 for none), the bits of the factor of the opacity with its texture, and the bits of the sizes of the bump
/// map.
pub(super) type Key = (usize, usize, usize, u32, Option<u32>, [u32; 2]);

/// Largest depth of mixed materials.
const MAX_MIXES: u32 = 8;

impl From<Surface> for Converted {
    fn from(surface: Surface) -> Converted {
        Converted {
            material: surface.into(),
            bump: None,
            invisible: false,
        }
    }
}

impl Converter {
    /// Returns the converted material of the current graphics state.
    pub(super) fn current_material(&mut self) -> Result<Converted, String> {
        match self.state.material.clone() {
            Some(material) => self.converted(&material, 0),
            None => Ok(grey()),
        }
    }

    /// Returns the index in the model of the material for a shape of `area` square metres on which u and v
    /// cover `size` metres. Returns `None` if the shape is invisible. `alpha` is the opacity of the shape, and `emission` its area
    /// light.
    pub(super) fn material(
        &mut self,
        size: [f32; 2],
        area: f64,
        alpha: Scalar,
        emission: Option<&Rc<Emission>>,
    ) -> Result<Option<usize>, String> {
        let mut converted = self.current_material()?;
        let (number, medium) = self.medium_inside();
        if converted.invisible && emission.is_none() {
            if medium.is_none() {
                return Ok(None);
            }
            converted = Converted::from(Surface::Boundary);
        }
        if shows_inside(&converted.material.surface) {
            converted.material.medium = medium;
        }
        let (bump, reflection) = (converted.bump, &converted.material);
        let relief_size = self.scene.relief_size(reflection, bump, size);
        // The radiance of a light with a given power depends on the area of its shape.
        let power = emission.map_or(0.0, |emission| emission.parameters.number("power", 0.0));
        let shared = power <= 0.0;
        let key = (
            self.state
                .material
                .as_ref()
                .map_or(0, |material| material.number),
            emission.map_or(0, |emission| emission.number),
            number,
            alpha.factor.to_bits(),
            alpha.texture.map(|map| map.texture),
            relief_size.map_or([0; 2], |size| size.map(f32::to_bits)),
        );
        if shared && let Some(&known) = self.materials.get(&key) {
            return Ok(Some(known));
        }
        let mut material = converted.material;
        self.scene.add_relief(&mut material, bump, size)?;
        let is_boundary = matches!(material.surface, Surface::Boundary);
        if !is_boundary && (alpha.factor != 1.0 || alpha.texture.is_some()) {
            self.scene.multiply_opacity(&mut material.maps, alpha);
        }
        if let Some(emission) = emission {
            self.emit(&mut material, &emission.parameters, area)?;
        }
        let index = self.scene.model.materials.len();
        if relief_size.is_some() {
            self.scene.bumped.insert(index);
        }
        self.scene.model.materials.push(material);
        if shared {
            self.materials.insert(key, index);
        }
        Ok(Some(index))
    }

    /// Converts a material with its bump and normal maps, once per material. `depth` is the number of mixes that
    /// contain it.
    fn converted(&mut self, described: &Rc<Described>, depth: u32) -> Result<Converted, String> {
        if let Some(known) = self.converted.get(&described.number) {
            return Ok(known.clone());
        }
        let mut converted = self.new_material(described, depth)?;
        let parameters = &described.parameters;
        if converted.material.name.is_empty() {
            converted.material.name = crate::error::escaped(&described.name);
        }
        let displacement = self.scalar(parameters, "displacement", 0.0)?;
        if let Some(map) = displacement.texture {
            self.note("approximated: bump maps by normal maps");
            converted.bump = Some(Bump {
                texture: map.texture,
                scale: displacement.factor,
            });
        }
        let normal_map = parameters.text("normalmap", "");
        if !normal_map.is_empty()
            && let Some(image) = self.open_image(normal_map)
        {
            let library = &mut self.scene.model.library;
            let map = MaterialTexture {
                texture: library.add_texture(Texture::new(image, Encoding::Linear)),
                channel: Channel::Red,
            };
            converted
                .material
                .maps
                .textures
                .insert(Parameter::Normal, map);
        }
        self.converted.insert(described.number, converted.clone());
        Ok(converted)
    }

    /// Converts a material that was not converted before, without its bump and normal maps.
    fn new_material(&mut self, described: &Described, depth: u32) -> Result<Converted, String> {
        let parameters = &described.parameters;
        match described.kind.as_str() {
            "diffuse" => {
                let color = self.reflectance(parameters, "reflectance", 0.5)?;
                Ok(colored(color, |albedo| Surface::Diffuse {
                    albedo,
                    one_sided: false,
                }))
            }
            "diffusetransmission" => self.diffuse_transmission(parameters),
            kind @ ("coateddiffuse" | "subsurface") => {
                let (note, grey) = match kind {
                    "subsurface" => (
                        "not shown: subsurface scattering; its surfaces are coated and diffuse",
                        0.7,
                    ),
                    _ => (
                        "approximated: the layers of `coateddiffuse` by a coat with Schlick's formula",
                        0.5,
                    ),
                };
                self.note(note);
                let color = self.reflectance(parameters, "reflectance", grey)?;
                let ior = self.ior(parameters, "eta")?;
                let alpha = self.plain_alpha(parameters, "roughness", "")?;
                let color = match kind {
                    "subsurface" => color,
                    _ => {
                        let coat = self.coat(parameters, alpha, ior)?;
                        let base = self.scene.coat_base(coat);
                        self.scene.below_coat(color, base)?
                    }
                };
                Ok(colored(color, |albedo| Surface::CoatedDiffuse {
                    albedo,
                    ior,
                    alpha,
                    reflection_tint: Vec3::ONE,
                    one_sided: false,
                }))
            }
            "conductor" => {
                let (metal, color) = self.metal(parameters, "")?;
                let mut maps = MaterialTextures::default();
                color.apply(Parameter::Color, &mut maps);
                let surface = match self.alphas(parameters, "roughness", "")? {
                    Some(alphas) => Surface::RoughConductor {
                        metal,
                        roughness: alphas.apply(Masking::HeightCorrelated, &mut maps),
                        one_sided: false,
                    },
                    None => Surface::Conductor {
                        metal,
                        one_sided: false,
                    },
                };
                let mut converted = Converted::from(surface);
                converted.material.maps = maps;
                Ok(converted)
            }
            "coatedconductor" => {
                self.note("approximated: the layers of `coatedconductor` by a clear coat");
                let of_layer = [
                    "thickness",
                    "interface.thickness",
                    "albedo",
                    "g",
                    "maxdepth",
                ];
                if of_layer.iter().any(|name| parameters.get(name).is_some()) {
                    self.note(
                        "not used: `thickness`, `albedo`, `g` and `maxdepth` of `coatedconductor`",
                    );
                }
                let mut metal = self.metal(parameters, "conductor.")?;
                if let Metal::Index { eta, k, .. } = &mut metal.0 {
                    // The metal lies below the coat, and not in air.
                    let ior = self.ior(parameters, "interface.eta")?;
                    *eta /= ior;
                    *k /= ior;
                }
                let alpha = self.plain_alpha(parameters, "conductor.roughness", "conductor.")?;
                let coat = self.plain_alpha(parameters, "interface.roughness", "interface.")?;
                let mut converted = Converted::from(Surface::Principled(Principled {
                    base_color: metal_color(metal.0),
                    metallic: 1.0,
                    roughness: alpha.sqrt(),
                    clearcoat: 1.0,
                    clearcoat_roughness: coat.sqrt(),
                    ..Principled::default()
                }));
                metal
                    .1
                    .apply(Parameter::Color, &mut converted.material.maps);
                Ok(converted)
            }
            "dielectric" => {
                let ior = self.ior(parameters, "eta")?;
                let (tint, absorption) = (GlassTint::WHITE, Absorption::NONE);
                let mut maps = MaterialTextures::default();
                let surface = match self.alphas(parameters, "roughness", "")? {
                    Some(alphas) => Surface::RoughDielectric {
                        ior,
                        roughness: alphas.apply(Masking::HeightCorrelated, &mut maps),
                        tint,
                        absorption,
                    },
                    None => Surface::Dielectric {
                        ior,
                        thin: false,
                        tint,
                        absorption,
                    },
                };
                let mut converted = Converted::from(surface);
                converted.material.maps = maps;
                Ok(converted)
            }
            "thindielectric" => Ok(Surface::Dielectric {
                ior: self.ior(parameters, "eta")?,
                thin: true,
                tint: GlassTint::WHITE,
                absorption: Absorption::NONE,
            }
            .into()),
            "mix" => self.mix(parameters, depth),
            "interface" | "" | "none" => Ok(Converted {
                invisible: true,
                ..grey()
            }),
            kind => {
                let one = format!(
                    "not shown: the material `{}`; its surfaces are grey",
                    excerpt(kind)
                );
                let several =
                    "not shown: {} kinds of materials, such as `{first}`; their surfaces are grey";
                self.scene.note_each(several, kind, one);
                Ok(grey())
            }
        }
    }

    /// Converts a sheet that reflects and transmits light diffusely.
    fn diffuse_transmission(&mut self, parameters: &Parameters) -> Result<Converted, String> {
        let scale = parameters.number("scale", 1.0) as f32;
        let mut color = |name: &str| -> Result<(Color, f32), String> {
            let color = self.reflectance(parameters, name, 0.25)?;
            let factor = reflectance(color.factor * scale);
            let library = &self.scene.model.library;
            let brightest = color.texture.map_or(1.0, |map| library.brightest(map));
            let strength = factor.max_element() * brightest.clamp(0.0, 1.0);
            Ok((Color { factor, ..color }, strength))
        };
        let ((reflected, r), (transmitted, t)) = (color("reflectance")?, color("transmittance")?);
        // Each color is divided by its part of the light. The largest channel of both becomes `r + t`, which is more
        // than 1 if they are bright and have different hues, or textures.
        let part = if t > 0.0 { t / (r + t) } else { 0.0 };
        let divided = |color: Color, by: f32| Color {
            factor: color.factor / if by > 0.0 { by } else { 1.0 },
            ..color
        };
        let reflected = divided(reflected, 1.0 - part);
        let transmitted = divided(transmitted, part);
        let mut converted = Converted::from(Surface::Principled(Principled {
            base_color: reflected.factor,
            specular: 0.0,
            thin: true,
            diffuse_transmission: part,
            diffuse_transmission_color: transmitted.factor,
            ..Principled::default()
        }));
        let maps = &mut converted.material.maps;
        reflected.apply(Parameter::Color, maps);
        if part > 0.0 {
            transmitted.apply(Parameter::DiffuseTransmissionColor, maps);
        }
        Ok(converted)
    }

    /// Returns the coat of a `coateddiffuse`. Its layer absorbs what it does not scatter.
    fn coat(&mut self, parameters: &Parameters, alpha: f32, ior: f32) -> Result<LossyCoat, String> {
        let scattered = self.reflectance(parameters, "albedo", 0.0)?;
        let scattered = scattered.mean(&self.scene.model.library).element_sum() / 3.0;
        if scattered > 0.0 {
            self.note("approximated: the scattering below the coat of `coateddiffuse`");
        }
        let absorbed = 1.0 - scattered.clamp(0.0, 1.0);
        let depth = parameters.number("maxdepth", 10.0) as u32;
        Ok(LossyCoat {
            facets: Facets {
                alpha,
                beckmann: false,
                masking: Masking::HeightCorrelated,
            },
            ior,
            thickness: self.constant(parameters, "thickness", 0.01)? * absorbed,
            // Every second event in the layer is a reflection at the base.
            reflections: depth.clamp(1, 2 * CoatBase::ALL).div_ceil(2),
        })
    }

    /// Adds the warning about a name that no material has.
    pub(super) fn note_unknown_material(&mut self, name: &str) {
        let one = format!(
            "no material has the name \"{}\"; its surfaces are grey",
            excerpt(name)
        );
        let several = "no materials have {} names, such as \"{first}\"; their surfaces are grey";
        self.scene.note_each(several, name, one);
    }

    /// Converts a mix of two named materials. `depth` is the number of mixes that contain this one; fails if it is
    /// [`MAX_MIXES`].
    fn mix(&mut self, parameters: &Parameters, depth: u32) -> Result<Converted, String> {
        let names = parameters
            .get("materials")
            .map_or(&[][..], |list| &list.texts);
        let amount = self.scalar(parameters, "amount", 0.5)?;
        if depth >= MAX_MIXES {
            return Err(format!(
                "materials are mixed more than {MAX_MIXES} times in turn"
            ));
        }
        let mut of = |name: &String| -> Result<Converted, String> {
            match self.named.get(name).cloned() {
                Some(material) => self.converted(&material, depth + 1),
                None => {
                    self.note_unknown_material(name);
                    Ok(grey())
                }
            }
        };
        let [first, second] = names else {
            return Err("materials: expected the names of two materials".to_owned());
        };
        let (mut first, mut second) = (of(first)?, of(second)?);
        for part in [&mut first, &mut second] {
            if part.invisible {
                part.material.maps.opacity = 0.0;
            }
        }
        let invisible = first.invisible && second.invisible;
        let parts = [first, second].map(|part| (part.material, part.bump));
        let [first, second] = parts;
        let (material, bump) = self.scene.blend(first, second, amount)?;
        Ok(Converted {
            material,
            bump,
            invisible,
        })
    }

    /// Returns a metal, and a color with the texture of its reflectance if there is one. Without parameters the metal
    /// is copper. `prefix` stands before the names of the parameters.
    fn metal(&mut self, parameters: &Parameters, prefix: &str) -> Result<(Metal, Color), String> {
        for name in [format!("{prefix}reflectance"), "reflectance".to_owned()] {
            if parameters.get(&name).is_some() {
                let color = self.reflectance(parameters, &name, 1.0)?;
                let factor = color.factor.clamp(Vec3::ZERO, Vec3::ONE);
                if color.texture.is_none() {
                    // As in pbrt, the index is that of a metal without refraction.
                    let factor = factor.min(Vec3::splat(0.9999));
                    let k = factor.map(|part| 2.0 * (part / (1.0 - part)).sqrt());
                    let metal = Metal::Index {
                        eta: Vec3::ONE,
                        k: k.min(Vec3::splat(100.0)),
                        tint: Vec3::ONE,
                    };
                    return Ok((metal, Vec3::ONE.into()));
                }
                self.note("approximated: the Fresnel reflection of conductors with `reflectance`");
                return Ok((Metal::Color(factor), color));
            }
        }
        let mut index = |name: String, default: &str| -> Result<Vec3, String> {
            let color = match parameters.get(&name) {
                Some(parameter) if parameter.kind == "texture" => {
                    let color = self.reflectance(parameters, &name, 1.0)?;
                    color.mean(&self.scene.model.library)
                }
                Some(parameter) => self.constant_color(parameter)?,
                None => {
                    let metal = crate::import::refractive_indices::conductor("Cu");
                    let (eta, k) = metal.unwrap_or((Vec3::ONE, Vec3::ZERO));
                    if default == "eta" { eta } else { k }
                }
            };
            Ok(color.clamp(Vec3::ZERO, Vec3::splat(100.0)))
        };
        let eta = index(format!("{prefix}eta"), "eta")?;
        let k = index(format!("{prefix}k"), "k")?;
        let tint = Vec3::ONE;
        Ok((Metal::Index { eta, k, tint }, tint.into()))
    }

    /// Returns the index of refraction with this name, clamped to 0.1..=10; 1.5 if there is none.
    fn ior(&mut self, parameters: &Parameters, name: &str) -> Result<f32, String> {
        let ior = match parameters.get(name) {
            Some(parameter) if parameter.kind == "spectrum" => {
                if parameter.numbers.len() != 1 {
                    self.note("not shown: the dispersion of materials whose `eta` is a spectrum");
                }
                self.constant_color(parameter)?.element_sum() / 3.0
            }
            _ => self.constant(parameters, name, 1.5)?,
        };
        Ok(if ior.is_finite() {
            ior.clamp(0.1, 10.0)
        } else {
            1.5
        })
    }

    /// Returns the GGX alphas of a rough material; `None` if it is smooth. `name` is that of the roughness, and
    /// `prefix` stands before the names of the roughness along u and v.
    fn alphas(
        &mut self,
        parameters: &Parameters,
        name: &str,
        prefix: &str,
    ) -> Result<Option<Alphas>, String> {
        let even = self.scalar(parameters, name, 0.0)?;
        let remap = parameters.flag("remaproughness", true);
        let mut along = |name: &str| -> Result<Scalar, String> {
            let name = format!("{prefix}{name}");
            let roughness = match parameters.get(&name) {
                Some(_) => self.scalar(parameters, &name, 0.0)?,
                None => even,
            };
            if !remap {
                return Ok(roughness);
            }
            let texture = match roughness.texture {
                Some(map) => Some(MaterialTexture {
                    texture: self.scene.model.library.square_root(map.texture)?,
                    ..map
                }),
                None => None,
            };
            Ok(Scalar {
                factor: roughness.factor.max(0.0).sqrt(),
                texture,
            })
        };
        let (along_u, along_v) = (along("uroughness")?, along("vroughness")?);
        // As in pbrt, a surface whose alphas are both smaller is smooth.
        let is_smooth = |alpha: Scalar| alpha.texture.is_none() && alpha.factor < MIN_ALPHA;
        let smooth = is_smooth(along_u) && is_smooth(along_v);
        Ok((!smooth).then(|| Alphas::new(along_u, along_v)))
    }

    /// Returns the GGX alpha of a layer that has one for the whole surface, 0 if it is smooth. Textures, and different
    /// alphas along u and v, are approximated, with a warning. The names are as in [`Self::alphas`].
    fn plain_alpha(
        &mut self,
        parameters: &Parameters,
        name: &str,
        prefix: &str,
    ) -> Result<f32, String> {
        let Some(alphas) = self.alphas(parameters, name, prefix)? else {
            return Ok(0.0);
        };
        if alphas.vary() {
            self.note(format!(
                "approximated: `{name}` of coated materials by its mean"
            ));
        }
        let alpha = alphas.mean(&self.scene.model.library);
        Ok(match alpha.is_finite() {
            true => alpha.clamp(0.0, 1.0),
            false => 1.0,
        })
    }
}

/// Makes a material of a color with a texture.
fn colored(color: Color, surface: impl FnOnce(Vec3) -> Surface) -> Converted {
    let mut converted = Converted::from(surface(reflectance(color.factor)));
    color.apply(Parameter::Color, &mut converted.material.maps);
    converted
}

/// Returns the material of shapes whose own is missing or not supported: diffuse, with an albedo of 0.5.
fn grey() -> Converted {
    Surface::Diffuse {
        albedo: Vec3::splat(0.5),
        one_sided: false,
    }
    .into()
}
