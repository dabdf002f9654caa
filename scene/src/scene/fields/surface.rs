//! The editable fields of materials: those of their surface, and their opacity.

use glam::Vec3;

use super::{
    COLOR, Entry, Field, FieldKind, FieldValue, RADIANT, Scene, Slot, fraction, logarithmic,
    number, number_kind,
};
use crate::{
    limits::{MAX_DISPERSION, MAX_FILM_THICKNESS, MIN_ALPHA},
    scene::{
        Absorption, BlendError, GlassTint, MaterialTextures, Metal, Parameter, Principled,
        Roughness, Surface,
    },
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

/// The kind of an alpha cutoff. It cannot become 0, which would make a cut-out partly transparent.
const CUTOFF: FieldKind = number("", (0.001, 1.0), (0.001, 1.0));

/// Label, as users see it, of the field `alpha`: a roughness that is stated as GGX alpha. It applies to all directions,
/// or to the direction in which `u` grows.
const ROUGHNESS: &str = "roughness (alpha)";

/// Label, as users see it, of the field `alpha_v`: the GGX alpha across the direction in which `u` grows.
const ROUGHNESS_ACROSS: &str = "roughness across";

/// Label, as users see it, of the field `reflection_tint`: the color by which reflected light is multiplied.
const REFLECTION_TINT: &str = "tint of reflection";

impl Surface {
    /// Stores the value of the field with the name `name` in a scene file, clamped to its range. Does nothing if there
    /// is no such field.
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
            Surface::Dielectric {
                ior,
                thin,
                tint,
                absorption,
            } => {
                let ior = value("ior", "index of refraction", IOR, ior);
                // A thin pane has no body that could absorb light.
                let body = (!*thin).then_some(absorption);
                let entries = [ior].into_iter().chain(tint.entries());
                entries.chain(body.map(absorbed)).collect()
            }
            Surface::Conductor { metal, .. } => metal.entries(),
            Surface::RoughConductor {
                metal, roughness, ..
            } => {
                let mut entries = metal.entries();
                entries.extend(roughness.entries());
                entries
            }
            Surface::RoughDielectric {
                ior,
                roughness,
                tint,
                absorption,
            } => {
                let ior = value("ior", "index of refraction", IOR, ior);
                let entries = [ior].into_iter().chain(roughness.entries());
                let entries = entries.chain(tint.entries());
                entries.chain([absorbed(absorption)]).collect()
            }
            Surface::CoatedDiffuse {
                albedo,
                ior,
                alpha,
                reflection_tint,
                ..
            } => vec![
                color("albedo", "color", albedo),
                value("ior", "index of refraction", IOR, ior),
                value("alpha", ROUGHNESS, fraction(), alpha),
                color("reflection_tint", REFLECTION_TINT, reflection_tint),
            ],
            Surface::Principled(principled) => principled.entries(),
            Surface::Boundary => Vec::new(),
            Surface::Blend {
                weight,
                by_side,
                emission,
                ..
            } => {
                let emission = Entry {
                    kind: RADIANT,
                    ..color("emission", "emission", emission)
                };
                match by_side {
                    false => vec![part("weight", "part of the second", weight), emission],
                    true => vec![emission],
                }
            }
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

/// Returns the field of a color of which each channel is at most 1.
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

/// Returns the field `absorption` of a transparent body. Its value holds a color and the distance to which the color
/// belongs.
fn absorbed(slot: &mut Absorption) -> Entry<'_> {
    Entry {
        name: "absorption",
        label: "body",
        kind: FieldKind::Absorption,
        slot: Slot::Absorption(slot),
    }
}

/// Returns the field of a part of a metal's index of refraction, with the identifiers of its channels.
fn index<'a>(
    name: &'static str,
    label: &'static str,
    ids: [&'static str; 3],
    slot: &'a mut Vec3,
) -> Entry<'a> {
    Entry {
        name,
        label,
        kind: FieldKind::Channels {
            number: number_kind("", (0.0, 100.0), (0.0, 10.0), false),
            ids,
        },
        slot: Slot::Color(slot),
    }
}

impl Metal {
    /// Returns the fields of the reflectance: both parts of the index of refraction, or the color.
    fn entries(&mut self) -> Vec<Entry<'_>> {
        match self {
            Metal::Index { eta, k, tint } => vec![
                index(
                    "eta",
                    "refraction (eta)",
                    ["eta_red", "eta_green", "eta_blue"],
                    eta,
                ),
                index("k", "extinction (k)", ["k_red", "k_green", "k_blue"], k),
                color("tint", "tint", tint),
            ],
            Metal::Color(slot) => vec![color("color", "color", slot)],
        }
    }
}

impl GlassTint {
    /// Returns the fields of both colors.
    fn entries(&mut self) -> [Entry<'_>; 2] {
        [
            color("reflection_tint", REFLECTION_TINT, &mut self.reflection),
            color(
                "transmission_tint",
                "tint of transmission",
                &mut self.transmission,
            ),
        ]
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
        // A thin wall has no body that could absorb light.
        let body = (!self.thin).then_some(&mut self.absorption);
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
        entries.extend(body.map(absorbed));
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

/// Returns the fields of a material: those of its surface, and the opacity and the alpha cutoff of its textures.
/// `maps` is `None` for an opaque material without textures.
pub(crate) fn fields_of_material(surface: &Surface, maps: Option<&MaterialTextures>) -> Vec<Field> {
    let (opacity, cutoff) = maps.map_or((1.0, 0.0), |maps| (maps.opacity, maps.cutoff));
    let mut fields = surface.fields();
    fields.push(Field::of_number("opacity", "opacity", fraction(), opacity));
    if cutoff > 0.0 {
        fields.push(Field::of_number("cutoff", "opacity cutoff", CUTOFF, cutoff));
    }
    if let Some(maps) = maps {
        for field in &mut fields {
            let parameter = textured_parameter(field.name);
            field.is_textured =
                parameter.is_some_and(|parameter| maps.textures.contains_key(&parameter));
        }
    }
    fields
}

impl Scene {
    /// Returns the fields of the material with this index; none if there is no such material.
    pub(super) fn material_fields(&self, index: usize) -> Vec<Field> {
        self.materials.get(index).map_or_else(Vec::new, |surface| {
            fields_of_material(surface, self.maps_of(index))
        })
    }

    /// Returns the textures and the opacity of the material with this index; `None` if it is opaque and has no
    /// textures.
    pub(super) fn maps_of(&self, index: usize) -> Option<&MaterialTextures> {
        let index = u32::try_from(index).ok()?;
        self.maps.get(&index)
    }

    /// Sets the textures and the opacity of the material with this index.
    pub(super) fn set_maps(&mut self, index: usize, maps: MaterialTextures) {
        let Ok(index) = u32::try_from(index) else {
            return;
        };
        if maps == MaterialTextures::default() {
            self.maps.remove(&index);
        } else {
            self.maps.insert(index, maps);
        }
    }

    /// Sets a field of the material with this index, which must exist.
    ///
    /// # Errors
    /// One line if a blend cannot contain the changed material.
    pub(super) fn set_material(
        &mut self,
        index: usize,
        name: &str,
        value: FieldValue,
    ) -> Result<(), BlendError> {
        let mut maps = self.maps_of(index).cloned().unwrap_or_default();
        let (kind, slot) = match name {
            "opacity" => (fraction(), &mut maps.opacity),
            "cutoff" => (CUTOFF, &mut maps.cutoff),
            _ => {
                self.materials[index].store(name, value);
                return self.check_blends();
            }
        };
        if let FieldValue::Number(value) = kind.clamped(value) {
            *slot = value;
        }
        self.set_maps(index, maps);
        self.check_blends()
    }
}

/// Returns the parameter whose texture multiplies a field; `None` if the field cannot have a texture.
fn textured_parameter(field: &str) -> Option<Parameter> {
    Some(match field {
        "albedo" | "reflectance" | "base_color" | "tint" | "transmission_tint" => Parameter::Color,
        "radiance" | "emission" => Parameter::Emission,
        "metallic" => Parameter::Metallic,
        "roughness" | "alpha" => Parameter::Roughness,
        "alpha_v" => Parameter::RoughnessV,
        "weight" => Parameter::BlendWeight,
        "opacity" => Parameter::Opacity,
        "specular" => Parameter::Specular,
        "specular_color" | "reflection_tint" => Parameter::SpecularColor,
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
