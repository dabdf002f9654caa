//! BSDFs of Mitsuba, converted to the nearest material.

use std::rc::Rc;

use glam::Vec3;

use super::{Converter, document::Object, textures::Use, values::Value};
use crate::{
    error::excerpt,
    image::texture_library::CoatBase,
    import::{
        bump::Bump,
        coat::{Facets, LossyCoat},
        materials::{Alphas, Color, Scalar, reflectance},
        refractive_indices,
    },
    limits::MIN_ALPHA,
    model::ModelMaterial,
    scene::{
        Absorption, FacetDistribution, GlassTint, Masking, MaterialTextures, Metal, Parameter,
        Surface,
    },
};

/// A converted BSDF.
#[derive(Clone)]
pub(super) struct Bsdf {
    /// Material without emission.
    pub(super) material: ModelMaterial,
    /// Height map, which becomes a normal map when the size of the shape is known.
    pub(super) bump: Option<Bump>,
    /// Whether the surface is invisible: it is only the boundary of a medium. A shape is then left out unless it emits.
    pub(super) invisible: bool,
    /// Whether the colors of a mesh multiply that of the material.
    pub(super) has_mesh_colors: bool,
}

impl From<Surface> for Bsdf {
    fn from(surface: Surface) -> Bsdf {
        Bsdf {
            material: surface.into(),
            bump: None,
            invisible: false,
            has_mesh_colors: false,
        }
    }
}

impl Bsdf {
    /// Creates a visible BSDF with these textures.
    fn new(surface: Surface, maps: MaterialTextures) -> Bsdf {
        let mut bsdf = Bsdf::from(surface);
        bsdf.material.maps = maps;
        bsdf
    }

    /// Returns the material and the bump map for use in a blend, where an invisible surface has an opacity of 0.
    fn part(mut self) -> (ModelMaterial, Option<Bump>) {
        if self.invisible {
            self.material.maps.opacity = 0.0;
        }
        (self.material, self.bump)
    }
}

impl Converter<'_> {
    /// Converts a BSDF, once per object. One of an unknown type becomes grey, with a warning. Fails if it contains
    /// itself, is nested too deeply or has an invalid parameter.
    pub(super) fn bsdf(&mut self, object: &Rc<Object>) -> Result<Bsdf, String> {
        if let Some(known) = self.bsdfs.get(&object.number) {
            self.reads_mesh_colors |= known.has_mesh_colors;
            return Ok(known.clone());
        }
        let before = std::mem::take(&mut self.reads_mesh_colors);
        let mut bsdf = self.nested(object, |own| own.new_bsdf(object))?;
        bsdf.has_mesh_colors = self.reads_mesh_colors;
        self.reads_mesh_colors |= before;
        if bsdf.material.name.is_empty() {
            bsdf.material.name = crate::error::escaped(&object.id);
        }
        self.bsdfs.insert(object.number, bsdf.clone());
        Ok(bsdf)
    }

    /// Converts a BSDF that was not converted before.
    fn new_bsdf(&mut self, object: &Rc<Object>) -> Result<Bsdf, String> {
        match object.plugin.as_str() {
            "diffuse" | "lambertian" => {
                // Versions before 0.4 call it `diffuse_reflectance`.
                let names = ["reflectance", "diffuse_reflectance"];
                let has = |name: &&str| {
                    object.value(name).is_some() || self.document.child(object, name).is_some()
                };
                let name = names.into_iter().find(has).unwrap_or(names[0]);
                let color = self.reflectance(object, name, 0.5)?;
                Ok(colored(color, |albedo| Surface::Diffuse {
                    albedo,
                    one_sided: true,
                }))
            }
            "twosided" => {
                let inner: Vec<_> = self.inner(object).cloned().collect();
                match inner.as_slice() {
                    [] => self.two_sided(grey()),
                    [both] => {
                        let bsdf = self.bsdf(both)?;
                        self.two_sided(bsdf)
                    }
                    [front, back, others @ ..] => {
                        if !others.is_empty() {
                            self.scene
                                .note("not used: the third and further BSDFs of `twosided`");
                        }
                        self.front_and_back(front, back)
                    }
                }
            }
            "dielectric" | "thindielectric" => {
                let mut maps = MaterialTextures::default();
                let surface = Surface::Dielectric {
                    ior: self.relative_ior(object, 1.5046)?,
                    thin: object.plugin == "thindielectric",
                    tint: self.glass_tint(object, &mut maps)?,
                    absorption: Absorption::NONE,
                };
                Ok(Bsdf::new(surface, maps))
            }
            "roughdielectric" => {
                let mut maps = MaterialTextures::default();
                let surface = Surface::RoughDielectric {
                    ior: self.relative_ior(object, 1.5046)?,
                    roughness: self.alphas(object)?.apply(Masking::Separable, &mut maps),
                    tint: self.glass_tint(object, &mut maps)?,
                    absorption: Absorption::NONE,
                };
                Ok(Bsdf::new(surface, maps))
            }
            "conductor" | "roughconductor" => self.conductor(object),
            "plastic" | "roughplastic" | "pplastic" => self.plastic(object),
            "principled" => self.principled(object, false),
            "principledthin" => self.principled(object, true),
            "mask" => {
                let mut bsdf = self.only_inner(object)?;
                let opacity = self.scalar(object, "opacity", 0.5)?;
                self.scene
                    .multiply_opacity(&mut bsdf.material.maps, opacity);
                Ok(bsdf)
            }
            "blendbsdf" => self.blend(object),
            "bumpmap" | "bump" => {
                let mut bsdf = self.only_inner(object)?;
                self.note_relief(object, &bsdf);
                let texture = self.inner_texture(object, Use::Number)?;
                if let Some(map) = texture.texture {
                    self.scene.note("approximated: bump maps by normal maps");
                    bsdf.bump = Some(Bump {
                        texture: map,
                        scale: texture.scalar().factor * object.number("scale", 1.0) as f32,
                    });
                }
                Ok(bsdf)
            }
            "normalmap" => {
                let mut bsdf = self.only_inner(object)?;
                self.note_relief(object, &bsdf);
                let map = self.inner_texture(object, Use::Reflectance)?;
                map.apply(Parameter::Normal, &mut bsdf.material.maps);
                Ok(bsdf)
            }
            "polarizer" | "circular" | "retarder" => {
                self.scene
                    .note("not used: the polarization of light; polarizers let half of it pass");
                let color = self.reflectance(object, "transmittance", 1.0)?;
                let mut maps = MaterialTextures::default();
                let part = match object.plugin == "retarder" {
                    true => 1.0,
                    false => 0.5,
                };
                let surface = Surface::Dielectric {
                    ior: 1.0,
                    thin: true,
                    tint: GlassTint {
                        transmission: reflectance(color.apply(Parameter::Color, &mut maps)) * part,
                        ..GlassTint::WHITE
                    },
                    absorption: Absorption::NONE,
                };
                Ok(Bsdf::new(surface, maps))
            }
            "null" => Ok(Bsdf {
                invisible: true,
                ..grey()
            }),
            plugin => {
                let one = format!(
                    "not shown: the BSDF `{}`; its surfaces are grey",
                    excerpt(plugin)
                );
                let several =
                    "not shown: {} kinds of BSDFs, such as `{first}`; their surfaces are grey";
                self.scene.note_each(several, plugin, one);
                Ok(grey())
            }
        }
    }

    /// Returns the BSDFs that are children of another one, written inside it or referred to, in their order.
    fn inner<'o>(&'o self, object: &'o Object) -> impl Iterator<Item = &'o Rc<Object>> {
        let children = self.document.children(object);
        children
            .filter(|(_, child)| child.tag == "bsdf")
            .map(|(_, child)| child)
    }

    /// Converts the first BSDF inside another one; grey if there is none.
    fn only_inner(&mut self, object: &Object) -> Result<Bsdf, String> {
        let inner = self.inner(object).next().cloned();
        inner.map_or(Ok(grey()), |inner| self.bsdf(&inner))
    }

    /// Adds warnings about parameters of a bump map or a normal map, and if the BSDF inside it has such a map itself.
    fn note_relief(&mut self, object: &Object, inner: &Bsdf) {
        if object.flag("use_shadowing_function", true) {
            self.scene.note("approximated: bump maps and normal maps, without the shadows that Mitsuba adds unless `use_shadowing_function` is false");
        }
        if !object.flag("flip_invalid_normals", true) {
            self.scene.note(
                "not used: a `flip_invalid_normals` of false; normals that face away are flipped",
            );
        }
        if inner.bump.is_some() || inner.material.maps.has_normal_map() {
            self.scene
                .note("approximated: several bump maps and normal maps of a BSDF by the outermost");
        }
    }

    /// Converts the first texture inside a BSDF; white if there is none.
    fn inner_texture(&mut self, object: &Object, of: Use) -> Result<Color, String> {
        let document = self.document;
        match document.child_of_kind(object, "texture") {
            Some(texture) => self.texture(texture, of),
            None => Ok(Vec3::ONE.into()),
        }
    }

    /// Returns the colors by which a dielectric multiplies light, and adds their textures to `maps`.
    fn glass_tint(
        &mut self,
        object: &Object,
        maps: &mut MaterialTextures,
    ) -> Result<GlassTint, String> {
        let mut tint = |name: &str, parameter| -> Result<Vec3, String> {
            let color = self.reflectance(object, name, 1.0)?;
            Ok(reflectance(color.apply(parameter, maps)))
        };
        Ok(GlassTint {
            reflection: tint("specular_reflectance", Parameter::SpecularColor)?,
            transmission: tint("specular_transmittance", Parameter::Color)?,
        })
    }

    /// Returns the index of refraction inside a surface divided by that outside, clamped to 0.1..=10. `default` is that
    /// inside if the BSDF names none. Fails if it names an unknown material.
    fn relative_ior(&mut self, object: &Object, default: f32) -> Result<f32, String> {
        let mut ior = |name: &str, default: f32| match object.value(name) {
            Some(Value::Text(text)) => refractive_indices::dielectric(text).ok_or_else(|| {
                let text = excerpt(text);
                format!("{name}: found `{text}`, expected a number or a material such as bk7")
            }),
            _ => self.constant(object, name, default),
        };
        let (inside, outside) = (ior("int_ior", default)?, ior("ext_ior", 1.000_277)?);
        let ratio = object.number("eta", f64::from(inside / outside)) as f32;
        Ok(if ratio.is_finite() {
            ratio.clamp(0.1, 10.0)
        } else {
            1.5
        })
    }

    /// Returns the facets of a rough BSDF. Other distributions than GGX and Beckmann's are approximated, with a warning.
    fn alphas(&mut self, object: &Object) -> Result<Alphas, String> {
        let distribution = match object.text("distribution", "beckmann") {
            "ggx" => FacetDistribution::Ggx,
            "beckmann" => FacetDistribution::Beckmann,
            name => {
                let name = excerpt(name);
                self.scene.note(format!(
                    "approximated: the `{name}` distribution of rough surfaces by Beckmann's"
                ));
                FacetDistribution::Beckmann
            }
        };
        let alpha = self.scalar(object, "alpha", 0.1)?;
        let mut along = |name: &str| -> Result<Scalar, String> {
            let own = self.scalar(object, name, f32::NAN)?;
            Ok(match own.texture.is_none() && own.factor.is_nan() {
                true => alpha,
                false => own,
            })
        };
        let alphas = Alphas::new(along("alpha_u")?, along("alpha_v")?);
        Ok(Alphas {
            distribution,
            ..alphas
        })
    }

    /// Returns the alpha of a BSDF that has one for the whole surface, 0.001 to 1. Textures, and different alphas
    /// along u and v, are approximated, with a warning.
    fn plain_alpha(&mut self, object: &Object) -> Result<f32, String> {
        let alphas = self.alphas(object)?;
        if alphas.vary() {
            let plugin = excerpt(&object.plugin);
            self.scene.note(format!(
                "approximated: the roughness of `{plugin}` by its mean"
            ));
        }
        let alpha = alphas.mean(&self.scene.model.library);
        Ok(if alpha.is_finite() {
            alpha.clamp(MIN_ALPHA, 1.0)
        } else {
            1.0
        })
    }

    /// Converts a smooth or rough conductor.
    fn conductor(&mut self, object: &Object) -> Result<Bsdf, String> {
        let tint = self.reflectance(object, "specular_reflectance", 1.0)?;
        let named = object.text("material", "");
        let index = match named {
            "none" => None,
            "" => match (
                self.color(object, "eta", Use::Reflectance)?,
                self.color(object, "k", Use::Reflectance)?,
            ) {
                (None, None) => None,
                (eta, k) => {
                    let library = &self.scene.model.library;
                    let index = |color: Option<Color>, default: f32| {
                        let color = color.map_or(Vec3::splat(default), |color| color.mean(library));
                        color.clamp(Vec3::ZERO, Vec3::splat(100.0))
                    };
                    Some((index(eta, 0.0), index(k, 1.0)))
                }
            },
            name => match refractive_indices::conductor(name) {
                Some(index) => Some(index),
                None => {
                    let name = excerpt(name);
                    return Err(format!(
                        "material: found `{name}`, expected a metal such as Au"
                    ));
                }
            },
        };
        let mut maps = MaterialTextures::default();
        let tint = reflectance(tint.apply(Parameter::Color, &mut maps));
        // A metal without a refractive index is a perfect mirror, whatever the angle, as one of this index is.
        let (eta, k) = index.unwrap_or((Vec3::ZERO, Vec3::ONE));
        let metal = Metal::Index { eta, k, tint };
        let surface = match (object.plugin.as_str(), index) {
            ("roughconductor", _) => Surface::RoughConductor {
                metal,
                roughness: self.alphas(object)?.apply(Masking::Separable, &mut maps),
                one_sided: true,
            },
            (_, None) => Surface::Mirror {
                reflectance: tint,
                one_sided: true,
            },
            (_, Some(_)) => Surface::Conductor {
                metal,
                one_sided: true,
            },
        };
        Ok(Bsdf::new(surface, maps))
    }

    /// Converts plastic: a diffuse base under a dielectric coat.
    fn plastic(&mut self, object: &Object) -> Result<Bsdf, String> {
        self.scene
            .note("approximated: the Fresnel reflection of `plastic` by Schlick's formula");
        let color = self.reflectance(object, "diffuse_reflectance", 0.5)?;
        let specular = self.reflectance(object, "specular_reflectance", 1.0)?;
        if specular.texture.is_some() {
            self.scene
                .note("approximated: the texture `specular_reflectance` of `plastic` by its mean");
        }
        let reflection_tint = reflectance(specular.mean(&self.scene.model.library));
        let ior = self.relative_ior(object, 1.49)?;
        let alpha = match object.plugin.as_str() {
            "plastic" => 0.0,
            _ => {
                if is_beckmann(object) {
                    self.scene.note(
                        "approximated: the distribution of the facets of `roughplastic` by GGX",
                    );
                }
                self.plain_alpha(object)?
            }
        };
        let coat = LossyCoat {
            facets: Facets {
                alpha,
                beckmann: is_beckmann(object),
                masking: Masking::Separable,
            },
            ior,
            thickness: 0.0,
            reflections: CoatBase::ALL,
        };
        let base = self.scene.coat_base(coat);
        let base = match object.flag("nonlinear", false) {
            true => base,
            false => base.linear(),
        };
        let color = self.scene.below_coat(color, base)?;
        Ok(colored(color, |albedo| Surface::CoatedDiffuse {
            albedo,
            ior,
            alpha,
            reflection_tint,
            one_sided: true,
        }))
    }

    /// Converts a `twosided` of one BSDF.
    fn two_sided(&mut self, mut bsdf: Bsdf) -> Result<Bsdf, String> {
        self.scene.show_both_sides(&mut bsdf.material, bsdf.bump);
        Ok(bsdf)
    }

    /// Converts a `twosided` of two BSDFs.
    fn front_and_back(&mut self, front: &Rc<Object>, back: &Rc<Object>) -> Result<Bsdf, String> {
        let [front, back] = [self.bsdf(front)?, self.bsdf(back)?];
        let (one, other) = (&front.material, &back.material);
        let same = one.surface == other.surface
            && one.maps == other.maps
            && front.bump == back.bump
            && front.invisible == back.invisible;
        if same {
            return self.two_sided(front);
        }
        let invisible = front.invisible && back.invisible;
        let [front, back] = [front, back].map(Bsdf::part);
        let (material, bump) = self.scene.front_and_back(front, back);
        Ok(Bsdf {
            material,
            bump,
            invisible,
            has_mesh_colors: false,
        })
    }

    /// Converts a blend of two BSDFs; with fewer than two, converts the first, or returns grey.
    fn blend(&mut self, object: &Object) -> Result<Bsdf, String> {
        let inner: Vec<_> = self.inner(object).cloned().collect();
        let weight = self.scalar(object, "weight", 0.5)?;
        let [first, second, ..] = inner.as_slice() else {
            return self.only_inner(object);
        };
        let (first, second) = (self.bsdf(first)?, self.bsdf(second)?);
        let invisible = first.invisible && second.invisible;
        let [first, second] = [first, second].map(Bsdf::part);
        let (material, bump) = self.scene.blend(first, second, weight)?;
        Ok(Bsdf {
            material,
            bump,
            invisible,
            has_mesh_colors: false,
        })
    }
}

/// Returns whether the facets of a rough BSDF have Beckmann's distribution, which is Mitsuba's default, or one of those
/// of older versions that are like it.
fn is_beckmann(object: &Object) -> bool {
    object.text("distribution", "beckmann") != "ggx"
}

/// Makes a BSDF of a color with a texture.
pub(super) fn colored(color: Color, surface: impl FnOnce(Vec3) -> Surface) -> Bsdf {
    let mut bsdf = Bsdf::from(surface(reflectance(color.factor)));
    color.apply(Parameter::Color, &mut bsdf.material.maps);
    bsdf
}

/// Returns the BSDF of a shape that has none: diffuse grey.
pub(super) fn grey() -> Bsdf {
    Surface::Diffuse {
        albedo: Vec3::splat(0.5),
        one_sided: true,
    }
    .into()
}

/// Returns the BSDF of an area light that has none: black.
pub(super) fn black() -> Bsdf {
    Surface::Diffuse {
        albedo: Vec3::ZERO,
        one_sided: true,
    }
    .into()
}
