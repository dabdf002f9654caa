//! The editable fields of materials.

use glam::Vec3;

use super::{
    COLOR, Entry, Field, FieldKind, FieldValue, RADIANT, Scene, Slot, fraction, logarithmic, number,
};
use crate::{
    limits::{MAX_DISPERSION, MAX_FILM_THICKNESS, MIN_ALPHA},
    scene::{Metal, Parameter, Principled, Roughness, Surface},
};

/// The kind of an index of refraction.
const IOR: FieldKind = number("", (0.1, 10.0), (1.0, 3.0));

/// The kind of a GGX alpha that cannot be 0.
const ALPHA: FieldKind = number("", (MIN_ALPHA, 1.0), (MIN_ALPHA, 1.0));

/// The kind of the thickness of a thin film.
const THICKNESS: FieldKind = number("nm", (0.0, MAX_FILM_THICKNESS), (0.0, 1000.0));

/// Anisotropy of a material that is anisotropic. It cannot become 0, because a scene without anisotropic materials is
/// loaded without the texture coordinates that they need.
const ANISOTROPY: FieldKind = number("", (0.001, 1.0), (0.001, 1.0));

/// Label of roughness that is stated as GGX alpha.
const ROUGHNESS: &str = "roughness (alpha)";

/// Label of the roughness across the direction in which `u` grows.
const ROUGHNESS_ACROSS: &str = "roughness across";

impl Surface {
    /// Stores the value of a field, clamped to its range. Does nothing if there is no such field.
    pub(super) fn store(&mut self, name: &str, value: FieldValue) {
        let mut entries = self.entries().into_iter();
        if let Some(entry) = entries.find(|entry| entry.name == name) {
            entry.store(value);
        }
    }

    /// Returns the fields of the material without regard to textures.
    pub(crate) fn fields(&self) -> Vec<Field> {
        let mut surface = *self;
        surface.entries().iter().map(Entry::field).collect()
    }

    /// Returns the editable fields, with the names that they have in a scene file.
    fn entries(&mut self) -> Vec<Entry<'_>> {
        match self {
            Surface::Diffuse { albedo, .. } => vec![color("albedo", "color", albedo)],
            Surface::Mirror { reflectance, .. } => {
                vec![color("reflectance", "color", reflectance)]
            }
            Surface::Dielectric { ior, .. } => vec![value("ior", "index of refraction", IOR, ior)],
            Surface::Conductor { metal, .. } => metal.entry().into_iter().collect(),
            Surface::RoughConductor {
                metal, roughness, ..
            } => metal
                .entry()
                .into_iter()
                .chain(roughness.entries())
                .collect(),
            Surface::RoughDielectric { ior, roughness, .. } => {
                let ior = value("ior", "index of refraction", IOR, ior);
                [ior].into_iter().chain(roughness.entries()).collect()
            }
            Surface::CoatedDiffuse {
                albedo, ior, alpha, ..
            } => vec![
                color("albedo", "color", albedo),
                value("ior", "index of refraction", IOR, ior),
                value("alpha", ROUGHNESS, fraction(), alpha),
            ],
            Surface::Principled(principled) => principled.entries(),
            Surface::Blend {
                weight, emission, ..
            } => vec![
                part("weight", "part of the second", weight),
                Entry {
                    kind: RADIANT,
                    ..color("emission", "emission", emission)
                },
            ],
            Surface::Emissive {
                radiance, albedo, ..
            } => vec![
                Entry {
                    kind: RADIANT,
                    ..color("radiance", "light", radiance)
                },
                color("albedo", "reflected color", albedo),
            ],
        }
    }
}

/// Returns the field of a colour of which each channel is at most 1.
fn color<'a>(name: &'static str, label: &'static str, slot: &'a mut Vec3) -> Entry<'a> {
    Entry {
        name,
        label,
        kind: COLOR,
        slot: Slot::Color(slot),
    }
}

/// Returns the field of a number.
fn value<'a>(
    name: &'static str,
    label: &'static str,
    kind: FieldKind,
    slot: &'a mut f32,
) -> Entry<'a> {
    Entry {
        name,
        label,
        kind,
        slot: Slot::Number(slot),
    }
}

/// Returns the field of a fraction, from 0 to 1.
fn part<'a>(name: &'static str, label: &'static str, slot: &'a mut f32) -> Entry<'a> {
    value(name, label, fraction(), slot)
}

impl Metal {
    /// Returns the field of the colour; `None` if the metal has an index of refraction instead.
    fn entry(&mut self) -> Option<Entry<'_>> {
        match self {
            Metal::Index { .. } => None,
            Metal::Color(slot) => Some(color("color", "color", slot)),
        }
    }
}

impl Roughness {
    /// Returns the fields of the roughness: one, or one for each direction of the surface.
    fn entries(&mut self) -> impl Iterator<Item = Entry<'_>> {
        let across = self.alpha_v.as_mut();
        let across = across.map(|alpha_v| value("alpha_v", ROUGHNESS_ACROSS, ALPHA, alpha_v));
        [value("alpha", ROUGHNESS, ALPHA, &mut self.alpha)]
            .into_iter()
            .chain(across)
    }
}

impl Principled {
    /// Returns the editable fields, with the names that they have in a scene file.
    fn entries(&mut self) -> Vec<Entry<'_>> {
        let is_anisotropic = self.anisotropy > 0.0;
        let mut entries = vec![
            color("base_color", "color", &mut self.base_color),
            part("metallic", "metallic", &mut self.metallic),
            part("roughness", "roughness", &mut self.roughness),
            value("ior", "index of refraction", IOR, &mut self.ior),
            part("specular", "specular", &mut self.specular),
            Entry {
                kind: FieldKind::Color { max: 100.0 },
                ..color("specular_color", "specular color", &mut self.specular_color)
            },
            part("transmission", "transmission", &mut self.transmission),
            part("clearcoat", "clear coat", &mut self.clearcoat),
            part(
                "clearcoat_roughness",
                "coat roughness",
                &mut self.clearcoat_roughness,
            ),
            Entry {
                kind: RADIANT,
                ..color("emission", "emission", &mut self.emission)
            },
            color("sheen_color", "sheen color", &mut self.sheen_color),
            part(
                "sheen_roughness",
                "sheen roughness",
                &mut self.sheen_roughness,
            ),
            part("iridescence", "thin film", &mut self.iridescence),
            value(
                "iridescence_ior",
                "film refraction",
                number("", (1.0, 10.0), (1.0, 3.0)),
                &mut self.iridescence_ior,
            ),
            value(
                "iridescence_thickness",
                "film thickness",
                THICKNESS,
                &mut self.iridescence_thickness,
            ),
            part(
                "diffuse_transmission",
                "translucency",
                &mut self.diffuse_transmission,
            ),
            color(
                "diffuse_transmission_color",
                "translucent color",
                &mut self.diffuse_transmission_color,
            ),
            value(
                "dispersion",
                "dispersion",
                logarithmic("", (0.0, MAX_DISPERSION), (0.01, 20.0)),
                &mut self.dispersion,
            ),
        ];
        if is_anisotropic {
            let rotation = number("°", (-1e6, 1e6), (-180.0, 180.0));
            entries.extend([
                value("anisotropy", "anisotropy", ANISOTROPY, &mut self.anisotropy),
                value(
                    "anisotropy_rotation",
                    "anisotropy rotation",
                    rotation,
                    &mut self.anisotropy_rotation,
                ),
            ]);
        }
        entries
    }
}

impl Scene {
    /// Returns the fields of the material with this index; none if there is no such material.
    pub(super) fn material_fields(&self, index: usize) -> Vec<Field> {
        let mut fields = self
            .materials
            .get(index)
            .map_or_else(Vec::new, Surface::fields);
        let maps = u32::try_from(index)
            .ok()
            .and_then(|index| self.maps.get(&index));
        if let Some(maps) = maps {
            for field in &mut fields {
                let parameter = textured_parameter(field.name);
                field.is_textured =
                    parameter.is_some_and(|parameter| maps.textures.contains_key(&parameter));
            }
        }
        fields
    }
}

/// Returns the parameter whose texture multiplies a field; `None` if the field cannot have a texture.
fn textured_parameter(field: &str) -> Option<Parameter> {
    Some(match field {
        "albedo" | "reflectance" | "base_color" => Parameter::Color,
        "radiance" | "emission" => Parameter::Emission,
        "metallic" => Parameter::Metallic,
        "roughness" | "alpha" => Parameter::Roughness,
        "alpha_v" => Parameter::RoughnessV,
        "weight" => Parameter::BlendWeight,
        "specular" => Parameter::Specular,
        "specular_color" => Parameter::SpecularColor,
        "transmission" => Parameter::Transmission,
        "clearcoat" => Parameter::Clearcoat,
        "clearcoat_roughness" => Parameter::ClearcoatRoughness,
        "sheen_color" => Parameter::SheenColor,
        "sheen_roughness" => Parameter::SheenRoughness,
        "anisotropy" => Parameter::Anisotropy,
        "iridescence" => Parameter::Iridescence,
        "iridescence_thickness" => Parameter::IridescenceThickness,
        "diffuse_transmission" => Parameter::DiffuseTransmission,
        "diffuse_transmission_color" => Parameter::DiffuseTransmissionColor,
        _ => return None,
    })
}
