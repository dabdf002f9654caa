//! Materials of other renderers that combine others: blends by a weight, opacities, and materials that are seen from
//! both sides.

use glam::Vec3;

use super::{
    Imported,
    bump::Bump,
    materials::{Scalar, normal_reflectance, principled},
};
use crate::{
    limits::MAX_BLENDS,
    model::ModelMaterial,
    scene::{Absorption, MaterialTexture, MaterialTextures, Parameter, Principled, Surface},
};

impl Imported {
    /// Returns a material that is `second` on the fraction `weight` of its surface, and `first` elsewhere. `weight` is
    /// clamped to 0..=1. Two diffuse materials become one with the weighted mean albedo if neither they nor `weight`
    /// have textures.
    ///
    /// Each material has its bump map, if any. The second value is the bump map of the whole result; those of a blend
    /// belong to its parts unless they are equal.
    ///
    /// In a [`Surface::Blend`] both materials become opaque, and the blend gets the weighted mean of their opacities.
    /// A texture of `weight` with a fully transparent material is the opacity of the other one. Three approximations give
    /// a warning, and the function fails if memory does not suffice:
    ///
    /// - A texture of an opacity is replaced by its mean.
    /// - If the opacities differ and both are above 0, a texture of `weight` is replaced by its mean in the whole blend.
    /// - If blends would nest deeper than [`MAX_BLENDS`], the result is a single material with interpolated parameters.
    pub(crate) fn blend(
        &mut self,
        (mut first, first_bump): (ModelMaterial, Option<Bump>),
        (mut second, second_bump): (ModelMaterial, Option<Bump>),
        weight: Scalar,
    ) -> Result<(ModelMaterial, Option<Bump>), String> {
        let same_relief = first_bump == second_bump
            && (first_bump.is_none() || first.maps.mirrored_relief == second.maps.mirrored_relief);
        let heavier = |weight: f32| match weight < 0.5 {
            true => first_bump,
            false => second_bump,
        };
        let factor = match weight.factor.is_nan() {
            true => 0.5,
            false => weight.factor.clamp(0.0, 1.0),
        };
        let mut weight = Scalar { factor, ..weight };
        let is_constant = weight.texture.is_none();
        let is_one = factor == 1.0 || factor == 0.0;
        if is_constant && (is_one || same_relief && blends_exactly(&first, &second)) {
            return Ok((interpolated(&first, &second, factor), heavier(factor)));
        }
        let is_clear = |material: &ModelMaterial| material.maps.opacity == 0.0;
        if !is_constant && is_clear(&first) != is_clear(&second) {
            // A mask of the other material.
            let (mut shown, bump, share) = match is_clear(&first) {
                true => (second, second_bump, weight),
                false => (first, first_bump, self.complement(weight)?),
            };
            self.multiply_opacity(&mut shown.maps, share);
            return Ok((shown, bump));
        }
        let levels = [&first, &second].map(|material| self.blend_levels(&material.surface));
        if levels.into_iter().max() >= Some(MAX_BLENDS) {
            self.note("approximated: blends that contain many others by a single material");
            let mean = weight.mean(&self.model.library).clamp(0.0, 1.0);
            return Ok((interpolated(&first, &second, mean), heavier(mean)));
        }
        let mut maps = MaterialTextures::default();
        if same_relief && first_bump.is_some() {
            maps.mirrored_relief = first.maps.mirrored_relief;
            (first.maps.mirrored_relief, second.maps.mirrored_relief) = (false, false);
        }
        let opacities = [&mut first, &mut second].map(|part| self.take_opacity(part));
        if opacities != [1.0; 2] {
            if weight.texture.is_some() && opacities[0] != opacities[1] {
                self.note(
                    "approximated: the weight of a blend with different opacities by its mean",
                );
                weight = weight.mean(&self.model.library).clamp(0.0, 1.0).into();
            }
            // Of the rays that hit either material, this part hits the second one.
            let shares = [
                (1.0 - weight.factor) * opacities[0],
                weight.factor * opacities[1],
            ];
            maps.opacity = (shares[0] + shares[1]).clamp(0.0, 1.0);
            if weight.texture.is_some() {
                maps.opacity = opacities[0];
            } else if maps.opacity > 0.0 {
                weight.factor = shares[1] / maps.opacity;
            }
        }
        let weight = weight.apply(Parameter::BlendWeight, &mut maps);
        let of_part = |bump: Option<Bump>| bump.filter(|_| !same_relief);
        let surface = Surface::Blend {
            first: self.push_part(first, of_part(first_bump)),
            second: self.push_part(second, of_part(second_bump)),
            weight,
            by_side: false,
            emission: Vec3::ZERO,
            both_sides: false,
        };
        let material = ModelMaterial {
            maps,
            ..ModelMaterial::from(surface)
        };
        Ok((material, first_bump.filter(|_| same_relief)))
    }

    /// Returns a material that is `front` on the front, and on the back what `back` is on its front, mirrored at the
    /// surface. Each has its bump map, if any, as has the result.
    ///
    /// The result is a [`Surface::Blend`], which has the opacity of `front`. Two approximations give a warning: a
    /// different opacity of `back`, and a `front` with so many blends that the result can only be `front`.
    pub(crate) fn front_and_back(
        &mut self,
        (mut front, front_bump): (ModelMaterial, Option<Bump>),
        (mut back, back_bump): (ModelMaterial, Option<Bump>),
    ) -> (ModelMaterial, Option<Bump>) {
        let levels = [&front, &back].map(|part| self.blend_levels(&part.surface));
        if levels.into_iter().max() >= Some(MAX_BLENDS) {
            self.note("approximated: `twosided` of blends that contain many others by the first BSDF on both sides");
            self.show_both_sides(&mut front, front_bump);
            return (front, front_bump);
        }
        let own = |material: &ModelMaterial| {
            let map = material.maps.textures.get(&Parameter::Opacity);
            (material.maps.opacity, map.copied())
        };
        let (opacity, texture) = own(&front);
        if own(&back) != (opacity, texture) {
            self.note(
                "approximated: the opacity of the second BSDF of `twosided` by that of the first; put one `mask` around `twosided`",
            );
        }
        let mut maps = MaterialTextures {
            opacity,
            ..MaterialTextures::default()
        };
        if let Some(texture) = texture {
            maps.textures.insert(Parameter::Opacity, texture);
        }
        for part in [&mut front, &mut back] {
            part.maps.textures.remove(&Parameter::Opacity);
            part.maps.opacity = 1.0;
        }
        self.show_both_sides(&mut front, front_bump);
        self.show_both_sides(&mut back, back_bump);
        let surface = Surface::Blend {
            first: self.push_part(front, front_bump),
            second: self.push_part(back, back_bump),
            weight: 0.5,
            by_side: true,
            emission: Vec3::ZERO,
            both_sides: false,
        };
        let material = ModelMaterial {
            maps,
            ..ModelMaterial::from(surface)
        };
        (material, None)
    }

    /// Adds a material that is a part of a blend, with its bump map, to the model. Returns its index.
    fn push_part(&mut self, part: ModelMaterial, bump: Option<Bump>) -> u32 {
        let index = self.model.materials.len() as u32;
        self.model.materials.push(part);
        if let Some(bump) = bump {
            self.part_bumps.insert(index, bump);
        }
        index
    }

    /// Returns 1 minus a number from 0 to 1. Fails if memory does not suffice.
    fn complement(&mut self, number: Scalar) -> Result<Scalar, String> {
        let Some(map) = number.texture else {
            return Ok((1.0 - number.factor).into());
        };
        let library = &mut self.model.library;
        let texture = library.affine(map.texture, Vec3::splat(-number.factor), Vec3::ONE)?;
        Ok(Scalar {
            factor: 1.0,
            texture: Some(MaterialTexture { texture, ..map }),
        })
    }

    /// Multiplies the opacity of a material. Of two textures, that of the material is replaced by its mean, with a
    /// warning.
    pub(crate) fn multiply_opacity(&mut self, maps: &mut MaterialTextures, opacity: Scalar) {
        if opacity.texture.is_some()
            && let Some(texture) = maps.textures.remove(&Parameter::Opacity)
        {
            self.note("approximated: the product of two opacities with textures, by the outer one times the mean of the inner one");
            let own = Scalar {
                factor: maps.opacity,
                texture: Some(texture),
            };
            maps.opacity = own.mean(&self.model.library).clamp(0.0, 1.0);
        }
        maps.opacity *= opacity.apply(Parameter::Opacity, maps).clamp(0.0, 1.0);
    }

    /// Returns the depth to which blends are nested in a material: 0 if it is not a blend, 1 if it blends no blends.
    fn blend_levels(&self, surface: &Surface) -> u32 {
        let parts = surface.blended();
        parts.map_or(0, |parts| {
            let level = |part: u32| self.blend_levels(&self.model.materials[part as usize].surface);
            1 + level(parts[0]).max(level(parts[1]))
        })
    }

    /// Makes a material opaque and returns its opacity before, 0..=1. A texture of it is replaced by its mean, with a
    /// warning.
    fn take_opacity(&mut self, material: &mut ModelMaterial) -> f32 {
        let maps = &mut material.maps;
        let texture = maps.textures.remove(&Parameter::Opacity);
        if texture.is_some() {
            self.note("approximated: the texture of an opacity in a blend by its mean");
        }
        let factor = std::mem::replace(&mut maps.opacity, 1.0);
        let opacity = Scalar { factor, texture };
        opacity.mean(&self.model.library).clamp(0.0, 1.0)
    }

    /// Makes the back of a material with this bump map the mirror image of its front, also of the materials of a blend.
    /// These are copied, because others may use them.
    pub(crate) fn show_both_sides(&mut self, material: &mut ModelMaterial, bump: Option<Bump>) {
        material.surface.show_both_sides();
        let maps = &mut material.maps;
        maps.mirrored_relief = bump.is_some() || maps.has_normal_map();
        match &mut material.surface {
            Surface::Blend {
                first,
                second,
                by_side: true,
                ..
            } => {
                *first = self.two_sided_part(*first);
                *second = *first;
            }
            Surface::Blend { first, second, .. } => {
                *first = self.two_sided_part(*first);
                *second = self.two_sided_part(*second);
            }
            _ => {}
        }
    }

    /// Returns the index of a copy of a part of a blend that [`Imported::show_both_sides`] has changed.
    fn two_sided_part(&mut self, part: u32) -> u32 {
        if let Some(&known) = self.two_sided.get(&part) {
            return known;
        }
        let mut copy = self.model.materials[part as usize].clone();
        let bump = self.part_bumps.get(&part).copied();
        self.show_both_sides(&mut copy, bump);
        let index = self.push_part(copy, bump);
        self.two_sided.insert(part, index);
        index
    }
}

/// Returns a material between two others: `first` at a `weight` of 0, `second` at 1. Two diffuse materials without
/// textures are blended exactly, apart from their backs. Others become principled materials, whose parameters are
/// interpolated. The textures are those of the material with the larger weight.
fn interpolated(first: &ModelMaterial, second: &ModelMaterial, weight: f32) -> ModelMaterial {
    let weight = weight.clamp(0.0, 1.0);
    let heavier = if weight < 0.5 { first } else { second };
    if weight == 0.0 || weight == 1.0 {
        return heavier.clone();
    }
    let number = |from: f32, to: f32| from + (to - from) * weight;
    let surface = match (&first.surface, &second.surface) {
        (
            &Surface::Diffuse { albedo, one_sided },
            &Surface::Diffuse {
                albedo: other,
                one_sided: both,
            },
        ) => Surface::Diffuse {
            albedo: albedo.lerp(other, weight),
            one_sided: one_sided && both,
        },
        (first, second) => {
            let (a, b) = (principled(first), principled(second));
            // The reflectance of a boundary is interpolated, rather than its index.
            let reflectance = number(
                normal_reflectance(a.ior) * a.specular,
                normal_reflectance(b.ior) * b.specular,
            );
            let ior = if a.transmission > b.transmission {
                a.ior
            } else {
                b.ior
            };
            Surface::Principled(Principled {
                base_color: a.base_color.lerp(b.base_color, weight),
                metallic: number(a.metallic, b.metallic),
                roughness: number(a.roughness, b.roughness),
                ior,
                specular: (reflectance / normal_reflectance(ior).max(1e-6)).clamp(0.0, 1.0),
                specular_color: a.specular_color.lerp(b.specular_color, weight),
                transmission: number(a.transmission, b.transmission),
                thin: a.thin || b.thin,
                clearcoat: number(a.clearcoat, b.clearcoat),
                clearcoat_roughness: number(a.clearcoat_roughness, b.clearcoat_roughness),
                emission: a.emission.lerp(b.emission, weight),
                both_sides: a.both_sides || b.both_sides,
                one_sided: a.one_sided && b.one_sided,
                absorption: Absorption::of_coefficient(
                    a.absorption
                        .coefficient()
                        .lerp(b.absorption.coefficient(), weight),
                ),
                // No imported material has the other properties.
                ..Principled::default()
            })
        }
    };
    ModelMaterial {
        surface,
        ..heavier.clone()
    }
}

/// Returns whether [`interpolated`] is exact for these materials, apart from their backs.
fn blends_exactly(first: &ModelMaterial, second: &ModelMaterial) -> bool {
    let plain = |material: &ModelMaterial| {
        matches!(material.surface, Surface::Diffuse { .. })
            && material.maps == MaterialTextures::default()
    };
    plain(first) && plain(second)
}
