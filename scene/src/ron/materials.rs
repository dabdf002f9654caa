//! The materials of a scene file.
//!
//! The field `materials` of a scene maps names to materials, as in `{ "clay": Diffuse(albedo: (0.7, 0.5, 0.3)) }`.
//! Colors are in linear sRGB, and radiance is in W·sr⁻¹·m⁻² per channel.
//!
//! | material | field | meaning | default |
//! |---|---|---|---|
//! | `Diffuse` | `albedo` | fraction of the light that is scattered, equally in all directions (Lambert), 0 to 1 | required |
//! | | `one_sided` | whether the back is black and absorbs all light | `false` |
//! | `Mirror` | `reflectance` | fraction of the light that is reflected, 0 to 1 | required |
//! | | `one_sided` | like that of `Diffuse` | `false` |
//! | `Dielectric` | `ior` | index of refraction inside, divided by that outside, 0.1 to 10; the boundary is smooth and clear | required |
//! | | `absorption` | `(color, distance)`: the color, 0 to 1, that white light has after this distance in metres inside the body; needs `thin: false` | none |
//! | | `medium` | `(scattering: (r, g, b), absorption: (r, g, b), anisotropy: g)`: a medium inside the body, such as milk, with the fields of `fog`; needs `thin: false` and no `absorption` | none |
//! | | `thin` | whether the surface is a thin pane with parallel sides, such as a window, which light passes without refraction. Reflections between its sides are included | `false` |
//! | | `priority` | whole number from 0 to 255: where closed bodies overlap, the one of the highest priority fills the space, see below; needs `thin: false` | `0` |
//! | | `reflection_tint`, `transmission_tint` | colors by which reflected and transmitted light is multiplied, 0 to 1; real glass is white | `(1, 1, 1)` |
//! | `Conductor` | `preset` | name of a smooth metal, see below | one of `preset`, `eta` with `k`, and `color` is required |
//! | | `eta`, `k` | real and imaginary part of the complex index of refraction per channel, each 0 to 100 | |
//! | | `color` | reflectance at normal incidence, 0 to 1 (Schlick's approximation) | |
//! | | `tint` | color by which the reflectance of a `preset`, or of `eta` and `k`, is multiplied at all angles, 0 to 1 | `(1, 1, 1)` |
//! | | `one_sided` | like that of `Diffuse` | `false` |
//! | `RoughConductor` | | the fields of `Conductor`, and: | |
//! | | `alpha` | roughness, about the root mean square slope of the microfacets, 0.001 to 1 | required |
//! | | `alpha_v` | roughness across the direction in which `u` grows; `alpha` is then that along it, and light that scatters several times is lost | `alpha` |
//! | | `distribution` | distribution of the microfacets: `Ggx` or `Beckmann`, whose highlights end sooner and whose light that scatters several times is lost | `Ggx` |
//! | | `masking` | form of Smith's masking-shadowing term: `Separable` or `HeightCorrelated` | `HeightCorrelated` |
//! | | `energy_compensation` | whether light that scatters several times between microfacets is returned; otherwise it is lost | `true`, or `false` with `alpha_v` or `Beckmann` |
//! | `RoughDielectric` | `ior` | like that of `Dielectric` | required |
//! | | `alpha`, `alpha_v`, `distribution`, `masking`, `energy_compensation`, `absorption`, `medium`, `priority`, `reflection_tint`, `transmission_tint` | like those of `RoughConductor` and `Dielectric` | |
//! | `CoatedDiffuse` | `albedo` | like that of `Diffuse`, for the base below a clear boundary | required |
//! | | `ior` | index of refraction of the boundary, 0.1 to 10 | `1.5` |
//! | | `alpha` | GGX roughness of the boundary, 0 to 1 | `0` |
//! | | `reflection_tint` | color by which the reflection of the boundary is multiplied, 0 to 1; it has no texture, and the base receives the same light | `(1, 1, 1)` |
//! | | `one_sided` | like that of `Diffuse` | `false` |
//! | `Principled` | `base_color` | reflectance of the metallic part, albedo of the rest, and tint of transmitted light, 0 to 1 | `(1, 1, 1)` |
//! | | `metallic` | fraction of the surface that is metal, 0 to 1 | `0` |
//! | | `roughness` | square root of the GGX alpha, 0 to 1 | `0.5` |
//! | | `ior` | index of refraction of the part that is not metal, 0.1 to 10 | `1.5` |
//! | | `specular` | strength of the reflection of the part that is neither metal nor transmissive, 0 to 1 | `1` |
//! | | `specular_color` | tint of that reflection at normal incidence, 0 to 100 | `(1, 1, 1)` |
//! | | `transmission` | fraction of the non-metallic part that transmits light, 0 to 1 | `0` |
//! | | `absorption` | like that of `Dielectric`, for the volume behind the front of transmissive parts; needs `thin: false` | none |
//! | | `priority` | like that of `Dielectric`, for transmissive parts | `0` |
//! | | `thin` | whether the surface is a thin wall without a volume, which light crosses without refraction | `false` |
//! | | `clearcoat` | strength of a clear coat over the whole surface, 0 to 1 | `0` |
//! | | `clearcoat_roughness` | square root of the GGX alpha of the coat, 0 to 1 | `0` |
//! | | `clearcoat_normal` | `Texture(..)`: a separate normal map for the coat | `normal` |
//! | | `sheen_color` | color of a layer of cloth fibres below the coat, 0 to 1 | `(0, 0, 0)` |
//! | | `sheen_roughness` | roughness of the fibres, 0 to 1 | `0.5` |
//! | | `anisotropy` | stretch of highlights, 0 to 1: the GGX alpha along the anisotropy direction grows from `roughness`² to 1 with its square. Red and green of a texture are the direction, where 0 to 1 encodes −1 to 1, and blue is the strength | `0` |
//! | | `anisotropy_rotation` | angle in degrees, counter-clockwise, from the direction in which `u` grows to the anisotropy direction | `0` |
//! | | `iridescence` | strength of a thin film, whose interference colors reflections, 0 to 1 | `0` |
//! | | `iridescence_ior` | index of refraction of the film, 1 to 10 | `1.3` |
//! | | `iridescence_thickness` | thickness of the film in nanometres, 0 to 100000; of a texture, the `factor` is the thickness where it is 1 | `400` |
//! | | `iridescence_thickness_min` | thickness of the film in nanometres where the texture of `iridescence_thickness` is 0 | `100` |
//! | | `diffuse_transmission` | fraction of the diffuse part that leaves on the other side, 0 to 1, as for leaves and paper | `0` |
//! | | `diffuse_transmission_color` | color of that light, 0 to 1, instead of `base_color` | `(1, 1, 1)` |
//! | | `dispersion` | strength with which refraction splits light into colors, 0 to 100: 20 divided by the Abbe number | `0` |
//! | | `emission` | radiance emitted by the front, 0 or more | `(0, 0, 0)` |
//! | | `both_sides` | whether the back emits it too | `false` |
//! | | `one_sided` | like that of `Diffuse` | `false` |
//! | `Boundary` | `medium` | the medium inside a closed body without a surface, such as smoke, with the fields of `fog`. Light passes the boundary straight and unchanged, which does not count as a bounce. `Boundary` has none of the five fields below | required |
//! | | `priority` | like that of `Dielectric` | `0` |
//! | `Blend` | `first`, `second` | names of two materials that lie side by side, finer than a pixel; both must be opaque and emit no light | required |
//! | | `weight` | fraction of the surface that is `second`, 0 to 1 | `0.5` |
//! | | `by_side` | whether the side to which the shading normals point is `first` and the other side `second`, without a `weight`; a `second` that is `one_sided` is black | `false` |
//! | | `emission`, `both_sides` | like those of `Principled` | |
//! | `Emissive` | `radiance` | radiance emitted by the front, 0 or more | required |
//! | | `albedo` | diffuse reflection of the lamp itself, 0 to 1 | `(0, 0, 0)` |
//! | | `one_sided` | like that of `Diffuse`, for the reflection | `false` |
//! | | `both_sides` | whether the back emits too; that light is noisier, because it is found only by paths that hit the lamp | `false` |
//!
//! The metals of `preset` are "aluminium", "chromium", "copper", "gold", "iridium", "mercury", "nickel", "silver" and
//! "tungsten". Their refractive indices for linear sRGB are those of the renderer Tungsten, averages of measured
//! spectra.
//!
//! Absorption counts along the whole way of the light inside a closed body, also to and from objects and lamps in it. Of
//! bodies in one another, the one that the light entered last absorbs: a clear ball in juice has nothing of the juice
//! inside. Light that passes through a body in a body in a body in a fourth body forgets the outermost one.
//!
//! With priorities, bodies can overlap, and a body with a `priority` above 0 refracts between its `ior` and that of the
//! body outside it, as between glass and juice. For a glass of juice, model the wall of the glass as a closed body, let the
//! juice reach into it, and give the glass the higher priority:
//!
//! ```ron
//! "glass": Dielectric(ior: 1.5, priority: 2),
//! "juice": Dielectric(ior: 1.33, absorption: ((0.9, 0.5, 0.1), 0.05), priority: 1),
//! ```
//!
//! Surfaces of a body are not there inside a body of higher priority; opaque surfaces always are. At priority 0, an `ior`
//! is relative to air, or to whatever is outside. Bodies are told apart by their materials, so that two bodies that overlap
//! need two.
//!
//! A rough dielectric whose `ior` is within 0.001 of 1 does not refract and is treated as smooth.
//!
//! Every material has five more fields:
//!
//! | field | meaning | default |
//! |---|---|---|
//! | `opacity` | fraction of the light that meets the surface, 0 to 1; the rest continues as if the surface were not there. A number or a texture, which is read from `Alpha` unless it names a `channel` | `1` |
//! | `cutoff` | above 0, up to 1: the surface is fully there where its opacity is at least this, and absent elsewhere | none |
//! | `normal` | tangent-space normal map: red points right in the image, green up, blue away from the surface; 0 to 1 encodes −1 to 1 | none |
//! | `mirrored_relief` | whether bumps of the normal maps are bumps from behind too, as if they were mirrored at the surface; otherwise they are the dents of a thin sheet | `false` |
//! | `hidden_from_camera` | whether camera rays pass through the surface as if it were not there, so that a lamp is seen only in its reflections and by its light | `false` |

use glam::Vec3;

use super::{
    lists::MaterialsText,
    parameters::{NANOMETRES, Parameters},
    source::{NumberRange, Object, Raw, SceneSource},
    text::fields,
};
use crate::{
    Error,
    builder::materials::Materials,
    limits::{MAX_DISPERSION, check_brightness},
    scene::{self, MaterialTextures, Parameter, Principled, Surface},
};

/// Declares [`MaterialText`] from a list of materials and their fields, in the syntax of [`fields`]. Adds the fields
/// that every material has.
macro_rules! materials {
    ($($kind:ident { $($field:ident $(? $(@ $never:tt)?)?),* $(,)? }),* $(,)?) => {
        fields! {
            /// A material: its type and the unparsed values of its fields.
            #[expect(clippy::large_enum_variant, reason = "materials are parsed one at a time")]
            enum MaterialText {
                $($kind { $($field $(? $($never)?)?,)* normal?, mirrored_relief?, hidden_from_camera?, opacity?, cutoff? }),*
            }
        }

        impl<'a> MaterialText<'a> {
            /// Returns the unparsed value of the field `name`, or `None` if the scene omits it or the material does not
            /// have it.
            pub(crate) fn field(&self, name: &str) -> Option<Raw<'a>> {
                match *self {
                    $(MaterialText::$kind {
                        $($field,)* normal, mirrored_relief, hidden_from_camera, opacity, cutoff
                    } => match name {
                        $(stringify!($field) => Option::from($field),)*
                        "normal" => normal,
                        "mirrored_relief" => mirrored_relief,
                        "hidden_from_camera" => hidden_from_camera,
                        "opacity" => opacity,
                        "cutoff" => cutoff,
                        _ => None,
                    },)*
                }
            }
        }
    };
}

materials! {
    Diffuse { albedo, one_sided? },
    Mirror { reflectance, one_sided? },
    Dielectric { ior, thin?, reflection_tint?, transmission_tint?, absorption?, medium?, priority? },
    Conductor { preset?, eta?, k?, color?, tint?, one_sided? },
    RoughConductor {
        preset?, eta?, k?, color?, tint?, alpha, alpha_v?, distribution?, masking?, energy_compensation?, one_sided?,
    },
    RoughDielectric {
        ior, alpha, alpha_v?, distribution?, masking?, energy_compensation?, reflection_tint?, transmission_tint?, absorption?,
        medium?, priority?,
    },
    CoatedDiffuse { albedo, ior?, alpha?, reflection_tint?, one_sided? },
    Principled {
        base_color?, metallic?, roughness?, ior?, specular?, specular_color?, transmission?, thin?, clearcoat?,
        clearcoat_roughness?, clearcoat_normal?, both_sides?, emission?, absorption?, one_sided?, sheen_color?,
        sheen_roughness?, anisotropy?, anisotropy_rotation?, iridescence?, iridescence_ior?, iridescence_thickness?,
        iridescence_thickness_min?, diffuse_transmission?, diffuse_transmission_color?, dispersion?, priority?,
    },
    Boundary { medium, priority? },
    Blend { first, second, weight?, by_side?, emission?, both_sides? },
    Emissive { radiance, albedo?, both_sides?, one_sided? },
}

/// Reads the `materials` of a scene file and the images that they name.
///
/// `spp` is the number of samples per pixel, against which the brightness of emission is checked. Invalid values, a
/// name that occurs twice, and a blend of unsuitable materials are an [`Error::Scene`].
pub(crate) fn read<'a>(
    source: &SceneSource<'a>,
    written: &MaterialsText<'a>,
    spp: u32,
) -> Result<Materials, Error> {
    let mut materials = Materials::default();
    let mut objects = Vec::new();
    for (index, &(key, raw)) in (0..).zip(&written.0) {
        let object = Object::new(format!("material {}", index + 1), key);
        let name: String = source.field(&object, "name", key, "a string in quotes", |_| true)?;
        let object = Object::new(format!("material {name:?}"), raw);
        materials.display_names.push(name.clone());
        if materials.names.insert(name, index).is_some() {
            return Err(source.error(&object, key, "is defined twice; rename one of the two"));
        }
        objects.push(object);
    }
    for (index, object) in (0..).zip(&objects) {
        let (library, names) = (&mut materials.library, &materials.names);
        let mut parameters = Parameters::new(source, object, library, names);
        let text: MaterialText = source.parse(object)?;
        let surface = text.surface(&mut parameters, spp)?;
        let (maps, medium, priority) = (parameters.maps, parameters.medium, parameters.priority);
        materials.surfaces.push(surface);
        if let Some(medium) = medium {
            materials.media.insert(index, medium);
        }
        if priority > 0 {
            materials.priorities.insert(index, priority);
        }
        if maps != MaterialTextures::default() {
            materials.maps.insert(index, maps);
        }
    }
    let blends = scene::Blends {
        surfaces: &materials.surfaces,
        maps: &materials.maps,
        names: &materials.display_names,
    };
    blends.check().map_err(|(index, problem)| {
        let object = &objects[index];
        source.error(object, object.raw, problem)
    })?;
    Ok(materials)
}

/// Parses a radiance in W·sr⁻¹·m⁻², 0 or more per channel, that the film can accumulate over `spp` samples per pixel.
/// Any other value is an [`Error::Scene`].
pub(crate) fn radiance(
    source: &SceneSource,
    object: &Object,
    raw: Raw,
    spp: u32,
) -> Result<Vec3, Error> {
    let expected = "(r, g, b), each 0 or more";
    let radiance = source.triple(object, "radiance", raw, expected, NumberRange::FromZero)?;
    let radiance = radiance.as_vec3();
    check_brightness(radiance.max_element(), spp)
        .map_err(|problem| source.error(object, raw, problem))?;
    Ok(radiance)
}

/// Parses the optional field `mirrored_relief`; returns `false` if it is missing. `true` without a normal map is an
/// [`Error::Scene`].
fn mirrored_relief(parameters: &Parameters, raw: Option<Raw>) -> Result<bool, Error> {
    let mirrored = parameters.flag("mirrored_relief", raw)?;
    let is_normal_map =
        |parameter: &Parameter| matches!(parameter, Parameter::Normal | Parameter::ClearcoatNormal);
    match raw {
        Some(raw) if mirrored && !parameters.maps.textures.keys().any(is_normal_map) => {
            let problem =
                "`mirrored_relief` has no effect without a `normal`; add a normal map or remove it";
            Err(parameters.source.error(parameters.object, raw, problem))
        }
        _ => Ok(mirrored),
    }
}

/// Parses the optional field `by_side` of a blend; returns `false` if it is missing. `true` beside a `weight` is an
/// [`Error::Scene`].
fn by_side_flag(
    parameters: &Parameters,
    by_side: Option<Raw>,
    weight: Option<Raw>,
) -> Result<bool, Error> {
    let by_side = parameters.flag("by_side", by_side)?;
    match weight {
        Some(weight) if by_side => {
            let problem = "`weight` has no effect with `by_side: true`; remove one of them";
            Err(parameters.source.error(parameters.object, weight, problem))
        }
        _ => Ok(by_side),
    }
}

impl<'a> MaterialText<'a> {
    /// Parses the fields into a surface. Its textures, opacity, cutoff and normal map scales go to `parameters`.
    ///
    /// `spp` is the number of samples per pixel, against which the brightness of emission is checked. Invalid values
    /// are an [`Error::Scene`].
    fn surface(self, parameters: &mut Parameters<'_, '_, 'a>, spp: u32) -> Result<Surface, Error> {
        parameters.normal(self.field("normal"))?;
        parameters.clearcoat_normal(self.field("clearcoat_normal"))?;
        parameters.maps.mirrored_relief =
            mirrored_relief(parameters, self.field("mirrored_relief"))?;
        let hidden = "hidden_from_camera";
        parameters.maps.hidden_from_camera = parameters.flag(hidden, self.field(hidden))?;
        parameters.opacity(self.field("opacity"), self.field("cutoff"))?;
        Ok(match self {
            MaterialText::Diffuse {
                albedo, one_sided, ..
            } => Surface::Diffuse {
                albedo: parameters.color_fraction("albedo", albedo, Parameter::Color)?,
                one_sided: parameters.flag("one_sided", one_sided)?,
            },
            MaterialText::Mirror {
                reflectance,
                one_sided,
                ..
            } => Surface::Mirror {
                reflectance: parameters.color_fraction(
                    "reflectance",
                    reflectance,
                    Parameter::Color,
                )?,
                one_sided: parameters.flag("one_sided", one_sided)?,
            },
            MaterialText::Dielectric {
                ior,
                thin,
                reflection_tint,
                transmission_tint,
                absorption,
                medium,
                priority,
                ..
            } => {
                let thin = parameters.flag("thin", thin)?;
                parameters.medium(medium, absorption, thin)?;
                parameters.priority(priority, thin)?;
                Surface::Dielectric {
                    ior: parameters.ior(ior)?,
                    thin,
                    tint: parameters.glass_tint(reflection_tint, transmission_tint)?,
                    absorption: parameters.absorption(absorption)?,
                }
            }
            MaterialText::Conductor {
                preset,
                eta,
                k,
                color,
                tint,
                one_sided,
                ..
            } => Surface::Conductor {
                metal: parameters.metal(preset, (eta, k), color, tint)?,
                one_sided: parameters.flag("one_sided", one_sided)?,
            },
            MaterialText::RoughConductor {
                preset,
                eta,
                k,
                color,
                tint,
                alpha,
                alpha_v,
                distribution,
                masking,
                energy_compensation,
                one_sided,
                ..
            } => Surface::RoughConductor {
                metal: parameters.metal(preset, (eta, k), color, tint)?,
                roughness: parameters.roughness(
                    "Conductor",
                    (alpha, alpha_v),
                    (distribution, masking),
                    energy_compensation,
                )?,
                one_sided: parameters.flag("one_sided", one_sided)?,
            },
            MaterialText::RoughDielectric {
                ior,
                alpha,
                alpha_v,
                distribution,
                masking,
                energy_compensation,
                reflection_tint,
                transmission_tint,
                absorption,
                medium,
                priority,
                ..
            } => {
                parameters.medium(medium, absorption, false)?;
                parameters.priority(priority, false)?;
                Surface::RoughDielectric {
                    ior: parameters.ior(ior)?,
                    tint: parameters.glass_tint(reflection_tint, transmission_tint)?,
                    roughness: parameters.roughness(
                        "Dielectric",
                        (alpha, alpha_v),
                        (distribution, masking),
                        energy_compensation,
                    )?,
                    absorption: parameters.absorption(absorption)?,
                }
            }
            MaterialText::CoatedDiffuse {
                albedo,
                ior,
                alpha,
                reflection_tint,
                one_sided,
                ..
            } => Surface::CoatedDiffuse {
                albedo: parameters.color_fraction("albedo", albedo, Parameter::Color)?,
                ior: ior.map_or(Ok(1.5), |raw| parameters.ior(raw))?,
                alpha: parameters.fraction_or("alpha", alpha, Parameter::Roughness, 0.0)?,
                reflection_tint: parameters
                    .plain_color_or_white("reflection_tint", reflection_tint)?,
                one_sided: parameters.flag("one_sided", one_sided)?,
            },
            MaterialText::Principled {
                base_color,
                metallic,
                roughness,
                ior,
                specular,
                specular_color,
                transmission,
                thin,
                clearcoat,
                clearcoat_roughness,
                both_sides,
                emission,
                absorption,
                one_sided,
                sheen_color,
                sheen_roughness,
                anisotropy,
                anisotropy_rotation,
                iridescence,
                iridescence_ior,
                iridescence_thickness,
                iridescence_thickness_min,
                diffuse_transmission,
                diffuse_transmission_color,
                dispersion,
                priority,
                ..
            } => {
                let default = Principled::default();
                let thin = parameters.flag("thin", thin)?;
                parameters.priority(priority, thin)?;
                // The value of an optional field of the same name, by this function of `parameters`.
                macro_rules! or_default {
                    ($parse:ident, $field:ident, $kind:expr) => {
                        parameters.$parse(stringify!($field), $field, $kind, default.$field)?
                    };
                }
                Surface::Principled(Principled {
                    metallic: or_default!(fraction_or, metallic, Parameter::Metallic),
                    roughness: or_default!(fraction_or, roughness, Parameter::Roughness),
                    specular: or_default!(fraction_or, specular, Parameter::Specular),
                    transmission: or_default!(fraction_or, transmission, Parameter::Transmission),
                    clearcoat: or_default!(fraction_or, clearcoat, Parameter::Clearcoat),
                    clearcoat_roughness: or_default!(
                        fraction_or,
                        clearcoat_roughness,
                        Parameter::ClearcoatRoughness
                    ),
                    sheen_roughness: or_default!(
                        fraction_or,
                        sheen_roughness,
                        Parameter::SheenRoughness
                    ),
                    anisotropy: or_default!(fraction_or, anisotropy, Parameter::Anisotropy),
                    iridescence: or_default!(fraction_or, iridescence, Parameter::Iridescence),
                    diffuse_transmission: or_default!(
                        fraction_or,
                        diffuse_transmission,
                        Parameter::DiffuseTransmission
                    ),
                    base_color: or_default!(color_or, base_color, Parameter::Color),
                    sheen_color: or_default!(color_or, sheen_color, Parameter::SheenColor),
                    diffuse_transmission_color: or_default!(
                        color_or,
                        diffuse_transmission_color,
                        Parameter::DiffuseTransmissionColor
                    ),
                    anisotropy_rotation: or_default!(
                        number_or,
                        anisotropy_rotation,
                        (-1e6..=1e6, "an angle in degrees from -1e6 to 1e6")
                    ),
                    iridescence_ior: or_default!(
                        number_or,
                        iridescence_ior,
                        (1.0..=10.0, "a number from 1 to 10")
                    ),
                    iridescence_thickness: parameters
                        .film_thickness(iridescence_thickness, default.iridescence_thickness)?,
                    iridescence_thickness_min: or_default!(
                        number_or,
                        iridescence_thickness_min,
                        NANOMETRES
                    ),
                    dispersion: or_default!(
                        number_or,
                        dispersion,
                        (0.0..=MAX_DISPERSION.into(), "a number from 0 to 100")
                    ),
                    specular_color: specular_color.map_or(Ok(default.specular_color), |raw| {
                        parameters.specular_color(raw)
                    })?,
                    ior: ior.map_or(Ok(default.ior), |raw| parameters.ior(raw))?,
                    thin,
                    emission: emission.map_or(Ok(default.emission), |raw| {
                        parameters.radiance("emission", raw, spp)
                    })?,
                    both_sides: parameters.flag("both_sides", both_sides)?,
                    one_sided: parameters.flag("one_sided", one_sided)?,
                    absorption: parameters.absorption(absorption)?,
                })
            }
            MaterialText::Boundary {
                medium,
                priority,
                normal,
                mirrored_relief,
                hidden_from_camera,
                opacity,
                cutoff,
            } => {
                let fields = [normal, mirrored_relief, hidden_from_camera, opacity, cutoff];
                if let Some(raw) = fields.into_iter().flatten().next() {
                    let problem = "a `Boundary` has no surface; remove all fields but `medium` and `priority`";
                    return Err(parameters.source.error(parameters.object, raw, problem));
                }
                parameters.medium(Some(medium), None, false)?;
                parameters.priority(priority, false)?;
                Surface::Boundary
            }
            MaterialText::Blend {
                first,
                second,
                weight,
                by_side,
                emission,
                both_sides,
                ..
            } => Surface::Blend {
                first: parameters.material("first", first)?,
                second: parameters.material("second", second)?,
                by_side: by_side_flag(parameters, by_side, weight)?,
                weight: parameters.fraction_or("weight", weight, Parameter::BlendWeight, 0.5)?,
                emission: emission.map_or(Ok(Vec3::ZERO), |raw| {
                    parameters.radiance("emission", raw, spp)
                })?,
                both_sides: parameters.flag("both_sides", both_sides)?,
            },
            MaterialText::Emissive {
                radiance,
                albedo,
                both_sides,
                one_sided,
                ..
            } => Surface::Emissive {
                radiance: parameters.radiance("radiance", radiance, spp)?,
                albedo: albedo.map_or(Ok(Vec3::ZERO), |raw| {
                    parameters.color_fraction("albedo", raw, Parameter::Color)
                })?,
                one_sided: parameters.flag("one_sided", one_sided)?,
                both_sides: parameters.flag("both_sides", both_sides)?,
            },
        })
    }
}
