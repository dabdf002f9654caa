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
        materials::{Alphas, Color, Scalar, metal_color, reflectance, thin_ior},
        refractive_indices,
    },
    limits::MIN_ALPHA,
    model::ModelMaterial,
    scene::{Absorption, Masking, MaterialTextures, Metal, Parameter, Principled, Surface},
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
}

impl From<Surface> for Bsdf {
    fn from(surface: Surface) -> Bsdf {
        Bsdf {
            material: surface.into(),
            bump: None,
            invisible: false,
        }
    }
}

impl Bsdf {
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
            return Ok(known.clone());
        }
        let mut bsdf = self.nested(object, |own| own.new_bsdf(object))?;
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
            "dielectric" => {
                let ior = self.relative_ior(object, 1.5046)?;
                let glass = Surface::Dielectric {
                    ior,
                    absorption: Absorption::NONE,
                };
                self.glass(object, glass, (ior, 0.0, false))
            }
            "thindielectric" => {
                self.scene
                    .note("approximated: reflections between the sides of `thindielectric`");
                let ior = thin_ior(self.relative_ior(object, 1.5046)?);
                let glass = Surface::Principled(Principled {
                    transmission: 1.0,
                    thin: true,
                    roughness: 0.0,
                    ior,
                    ..Principled::default()
                });
                self.glass(object, glass, (ior, 0.0, true))
            }
            "roughdielectric" => {
                let ior = self.relative_ior(object, 1.5046)?;
                let mut maps = MaterialTextures::default();
                let roughness = self.alphas(object)?.apply(Masking::Separable, &mut maps);
                let glass = Surface::RoughDielectric {
                    ior,
                    roughness,
                    absorption: Absorption::NONE,
                };
                let mut bsdf = self.glass(object, glass, (ior, roughness.alpha, false))?;
                if bsdf.material.surface == glass {
                    bsdf.material.maps = maps;
                } else {
                    // The light that facets lose in Mitsuba is added back, and the roughness is one number.
                    self.scene
                        .note("approximated: the facets of `roughdielectric` with a color");
                }
                Ok(bsdf)
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

    /// Returns the BSDF of a dielectric: `glass` or, if it colors the light that it transmits, a principled material of
    /// this index, this alpha, thin or not. Warns if it colors the light that it reflects, which real ones do not.
    fn glass(
        &mut self,
        object: &Object,
        glass: Surface,
        (ior, alpha, thin): (f32, f32, bool),
    ) -> Result<Bsdf, String> {
        let is_white = |color: &Color| color.texture.is_none() && color.factor == Vec3::ONE;
        let reflectance = self.reflectance(object, "specular_reflectance", 1.0)?;
        if !is_white(&reflectance) {
            let plugin = excerpt(&object.plugin);
            let note = format!("not used: `specular_reflectance` of `{plugin}`");
            self.scene.note(note);
        }
        let transmittance = self.reflectance(object, "specular_transmittance", 1.0)?;
        if is_white(&transmittance) {
            return Ok(glass.into());
        }
        Ok(colored(transmittance, |base_color| {
            Surface::Principled(Principled {
                base_color,
                transmission: 1.0,
                roughness: alpha.sqrt(),
                ior,
                thin,
                ..Principled::default()
            })
        }))
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

    /// Returns the GGX alphas of a rough BSDF. Beckmann's distribution is approximated, with a warning.
    fn alphas(&mut self, object: &Object) -> Result<Alphas, String> {
        if is_beckmann(object) {
            let name = match object.text("distribution", "beckmann") {
                "beckmann" => "Beckmann".to_owned(),
                name => format!("`{}`", excerpt(name)),
            };
            self.scene.note(format!(
                "approximated: the {name} distribution of rough surfaces by GGX"
            ));
        }
        let alpha = self.scalar(object, "alpha", 0.1)?;
        let mut along = |name: &str| -> Result<Scalar, String> {
            let own = self.scalar(object, name, f32::NAN)?;
            Ok(match own.texture.is_none() && own.factor.is_nan() {
                true => alpha,
                false => own,
            })
        };
        Ok(Alphas::new(along("alpha_u")?, along("alpha_v")?))
    }

    /// Returns the GGX alpha of a BSDF that has one for the whole surface, 0.001 to 1. Textures, and different alphas
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
        let mut metal = match named {
            "none" => Metal::Color(Vec3::ONE),
            "" => match (
                self.color(object, "eta", Use::Reflectance)?,
                self.color(object, "k", Use::Reflectance)?,
            ) {
                (None, None) => Metal::Color(Vec3::ONE),
                (eta, k) => {
                    let library = &self.scene.model.library;
                    let index = |color: Option<Color>, default: f32| {
                        let color = color.map_or(Vec3::splat(default), |color| color.mean(library));
                        color.clamp(Vec3::ZERO, Vec3::splat(100.0))
                    };
                    Metal::Index {
                        eta: index(eta, 0.0),
                        k: index(k, 1.0),
                    }
                }
            },
            name => match refractive_indices::conductor(name) {
                Some((eta, k)) => Metal::Index { eta, k },
                None => {
                    let name = excerpt(name);
                    return Err(format!(
                        "material: found `{name}`, expected a metal such as Au"
                    ));
                }
            },
        };
        // A metal without a refractive index is a perfect mirror, whatever the angle.
        let mirror = metal == Metal::Color(Vec3::ONE);
        if tint.factor != Vec3::ONE || tint.texture.is_some() {
            // A smooth mirror reflects its color at all angles, and a rough one more at grazing angles.
            if !mirror || object.plugin == "roughconductor" {
                self.scene.note(
                    "approximated: the Fresnel reflection of conductors with `specular_reflectance`",
                );
            }
            metal = Metal::Color(reflectance(metal_color(metal) * tint.factor));
        }
        let rough = object.plugin == "roughconductor";
        let mut maps = MaterialTextures::default();
        let surface = match (rough, metal) {
            (true, _) => Surface::RoughConductor {
                metal,
                roughness: self.alphas(object)?.apply(Masking::Separable, &mut maps),
                one_sided: true,
            },
            (false, Metal::Color(reflectance)) if mirror => Surface::Mirror {
                reflectance,
                one_sided: true,
            },
            (false, _) => Surface::Conductor {
                metal,
                one_sided: true,
            },
        };
        let mut bsdf = Bsdf::from(surface);
        tint.apply(Parameter::Color, &mut maps);
        bsdf.material.maps = maps;
        Ok(bsdf)
    }

    /// Converts plastic: a diffuse base under a dielectric coat.
    fn plastic(&mut self, object: &Object) -> Result<Bsdf, String> {
        self.scene
            .note("approximated: the Fresnel reflection of `plastic` by Schlick's formula");
        let color = self.reflectance(object, "diffuse_reflectance", 0.5)?;
        let specular = self.reflectance(object, "specular_reflectance", 1.0)?;
        if specular.texture.is_some() || specular.factor != Vec3::ONE {
            self.scene
                .note("not used: `specular_reflectance` of `plastic`");
        }
        let ior = self.relative_ior(object, 1.49)?;
        let alpha = match object.plugin.as_str() {
            "plastic" => 0.0,
            _ => self.plain_alpha(object)?,
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
