//! The fields of a scene file, as serde structures.
//!
//! Values stay unparsed ([`Raw`]) until their object is built. A field that may be omitted is an `Option`; the
//! documentation of the [crate](super) lists meanings, units and defaults.

use serde::{Deserialize, Deserializer};

use super::{
    lists::{self, MaterialsText},
    source::Raw,
};

// `$never` matches nothing: it lets the expansion of a field depend on its `?`.
/// Declares structs and enums that read the fields of an object, or of each variant of an enum, from a scene file. A
/// field marked with `?` may be omitted.
///
/// A struct is followed by the name that a scene may write before its fields. A variant is followed by its fields, or
/// by the struct that declares them.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        struct $name:ident = $written:literal { $($field:ident $(? $(@ $never:tt)?)?),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(rename = $written, deny_unknown_fields)]
        pub(crate) struct $name<'a> {
            $(
                #[serde(borrow)]
                $(#[serde(default, deserialize_with = "crate::ron::text::given")] $($never)?)?
                pub(crate) $field: $($($never)? Option<)? crate::ron::source::Raw<'a> $($($never)? >)?,
            )*
        }
    };
    (
        $(#[$meta:meta])*
        enum $name:ident {
            $($kind:ident $(($fields:ident))? $({ $($field:ident $(? $(@ $never:tt)?)?),* $(,)? })?),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) enum $name<'a> {
            $(
                $kind $((#[serde(borrow)] $fields<'a>))? $({
                    $(
                        #[serde(borrow)]
                        $(#[serde(default, deserialize_with = "crate::ron::text::given")] $($never)?)?
                        $field: $($($never)? Option<)? crate::ron::source::Raw<'a> $($($never)? >)?,
                    )*
                })?,
            )*
        }
    };
}

pub(super) use fields;

/// Reads the value of an optional field that is present. Scene files write it directly, without RON's `Some(..)`.
pub(super) fn given<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Raw<'a>>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}

/// The fields at the top level of a scene file, with unparsed values; `None` for those that the file omits.
#[derive(Deserialize)]
#[serde(rename = "Scene", deny_unknown_fields)]
pub(crate) struct SceneText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(crate) size: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) spp: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) max_bounces: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) roulette: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) seed: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) clamp_indirect: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) exposure: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) tone: Option<Raw<'a>>,
    pub(crate) camera: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) sky: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) background: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) shadow_catcher: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) fog: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) direct_light: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "lists::lights")]
    pub(crate) lights: Vec<Raw<'a>>,
    #[serde(default)]
    pub(crate) materials: MaterialsText<'a>,
    #[serde(deserialize_with = "lists::objects")]
    pub(crate) objects: Vec<Raw<'a>>,
}

fields! {
    /// The fields of `camera`, with unparsed values.
    struct CameraText = "Camera" { origin, target, up?, fov?, width?, shift?, pixel_aspect?, lens?, filter? }
}

fields! {
    /// The fields of a camera's `lens`, with unparsed values.
    struct LensText = "Lens" { radius?, f_stop?, focus_distance?, focus_point?, blades?, rotation? }
}

fields! {
    /// The field `filter` of a camera: the type of the filter and the unparsed values of its fields.
    enum FilterText {
        Box { radius? },
        Gaussian { radius?, sigma? },
        BlackmanHarris { radius? },
    }
}

fields! {
    /// The fields of `fog`, with unparsed values.
    struct MediumText = "Medium" { scattering, absorption?, anisotropy? }
}

fields! {
    /// A `Texture(..)`, which may be given instead of a number or a color.
    enum ParameterText { Texture(TextureText) }
}

fields! {
    /// The fields of a `Texture` of a material parameter, with unparsed values.
    struct TextureText = "Texture" {
        file, factor?, channel?, encoding?, filter?, wrap?, scale?, rotate?, offset?,
    }
}

fields! {
    /// An entry of `objects`: its type and the unparsed values of its fields.
    enum ObjectText {
        Quad { corner, edge_u, edge_v, material },
        Box { center, half_size, rotate_y?, material },
        Sphere { center, radius, material },
        Mesh(MeshText),
        Model(ModelText),
        Instances(InstancesText),
        DisplacedSphere(DisplacedSphereText),
    }
}

fields! {
    /// The fields of a `Mesh` object, with unparsed values.
    struct MeshText = "Mesh" { file, material, smooth?, scale?, rotate?, translate? }
}

fields! {
    /// The fields of an `Instances` object, with unparsed values. Exactly one of `at`, `grid` and `scatter` must be
    /// given, which is checked later.
    struct InstancesText = "Instances" { of, at?, grid?, scatter? }
}

fields! {
    /// An entry of the field `at` of `Instances`: the unparsed transform of one instance, applied in this order, and
    /// the material that replaces that of its mesh.
    struct PlaceText = "Place" { scale?, rotate?, translate?, material? }
}

fields! {
    /// The fields of `grid`, a regular grid of instances, with unparsed values.
    struct GridText = "Grid" { count, spacing, center? }
}

fields! {
    /// The fields of `scatter`, a random distribution of instances, with unparsed values.
    struct ScatterText = "Scatter" { count, from, to, seed?, scale?, turn? }
}

fields! {
    /// The fields of a `Model` object, with unparsed values.
    struct ModelText = "Model" {
        file, material?, lights?, variant?, animation?, time?, line_width?, scale?, rotate?, translate?,
    }
}

fields! {
    /// The fields of a `DisplacedSphere` object, with unparsed values.
    struct DisplacedSphereText = "DisplacedSphere" {
        rings, segments, amplitudes?, center?, radius?, smooth?, material,
    }
}

fields! {
    /// An entry of `lights`: its type and the unparsed values of its fields.
    enum LightText {
        Point { position, intensity },
        Spot { position, direction, intensity, inner?, outer, falloff? },
        Directional { direction, irradiance, angle? },
        SunSky(SunSkyText),
        Environment { file, scale?, rotate_y? },
        Studio { azimuth?, scale? },
    }
}

impl<'a> LightText<'a> {
    /// Returns the name of the type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            LightText::Point { .. } => "Point",
            LightText::Spot { .. } => "Spot",
            LightText::Directional { .. } => "Directional",
            LightText::SunSky(_) => "SunSky",
            LightText::Environment { .. } => "Environment",
            LightText::Studio { .. } => "Studio",
        }
    }

    /// Returns the unparsed value of an editable field, or `None` if the scene omits it or the light does not have it.
    pub(crate) fn field(&self, name: &str) -> Option<Raw<'a>> {
        match (self, name) {
            (
                LightText::Point { intensity, .. } | LightText::Spot { intensity, .. },
                "intensity",
            ) => Some(*intensity),
            (LightText::Spot { inner, .. }, "inner") => *inner,
            (LightText::Spot { outer, .. }, "outer") => Some(*outer),
            (LightText::Directional { irradiance, .. }, "irradiance") => Some(*irradiance),
            (LightText::Directional { angle, .. }, "angle") => *angle,
            (LightText::Environment { scale, .. } | LightText::Studio { scale, .. }, "scale") => {
                *scale
            }
            (LightText::Environment { rotate_y, .. }, "rotate_y") => *rotate_y,
            (LightText::Studio { azimuth, .. }, "azimuth") => *azimuth,
            (LightText::SunSky(fields), name) => match name {
                "scale" => fields.scale,
                "elevation" => fields.elevation,
                "azimuth" => fields.azimuth,
                "time" => fields.time,
                "north" => fields.north,
                "turbidity" => fields.turbidity,
                "ground" => fields.ground,
                _ => None,
            },
            _ => None,
        }
    }
}

fields! {
    /// The fields of a `SunSky` light, with unparsed values.
    struct SunSkyText = "SunSky" {
        elevation?, azimuth?, date?, time?, latitude?, longitude?, north?, turbidity?, ground?, sun?, scale?,
    }
}
