//! The fields of a scene file, as serde structures.
//!
//! Values stay unparsed ([`Raw`]) until their object is built. A field that may be omitted is an `Option`; the
//! documentation of the [crate](super) lists meanings, units and defaults.

use serde::{Deserialize, Deserializer};

use super::{
    lists::{self, MaterialsText},
    source::Raw,
};

/// The fields at the top level of a scene file, with unparsed values.
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
    pub(crate) direct_light: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "lists::lights")]
    pub(crate) lights: Vec<Raw<'a>>,
    #[serde(default)]
    pub(crate) materials: MaterialsText<'a>,
    #[serde(deserialize_with = "lists::objects")]
    pub(crate) objects: Vec<Raw<'a>>,
}

/// The fields of `camera`, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Camera", deny_unknown_fields)]
pub(crate) struct CameraText<'a> {
    #[serde(borrow)]
    pub(crate) origin: Raw<'a>,
    pub(crate) target: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) up: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) fov: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) width: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) lens: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) filter: Option<Raw<'a>>,
}

/// The fields of a camera's `lens`, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Lens", deny_unknown_fields)]
pub(crate) struct LensText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(crate) radius: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) f_stop: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) focus_distance: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) focus_point: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) blades: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) rotation: Option<Raw<'a>>,
}

/// The field `filter` of a camera: its type and the unparsed values of its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum FilterText<'a> {
    Box {
        #[serde(borrow, default, deserialize_with = "given")]
        radius: Option<Raw<'a>>,
    },
    Gaussian {
        #[serde(default, deserialize_with = "given")]
        radius: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        sigma: Option<Raw<'a>>,
    },
    BlackmanHarris {
        #[serde(default, deserialize_with = "given")]
        radius: Option<Raw<'a>>,
    },
}

/// A material: its type and the unparsed values of its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum MaterialText<'a> {
    Diffuse {
        #[serde(borrow)]
        albedo: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        one_sided: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    Mirror {
        reflectance: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        one_sided: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    Dielectric {
        ior: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        absorption: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    Conductor {
        #[serde(default, deserialize_with = "given")]
        preset: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        eta: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        k: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        color: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        one_sided: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    RoughConductor {
        #[serde(default, deserialize_with = "given")]
        preset: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        eta: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        k: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        color: Option<Raw<'a>>,
        alpha: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        masking: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        energy_compensation: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        one_sided: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    RoughDielectric {
        ior: Raw<'a>,
        alpha: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        masking: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        energy_compensation: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        absorption: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    CoatedDiffuse {
        albedo: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        ior: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        alpha: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        one_sided: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
    Principled(#[serde(borrow)] PrincipledText<'a>),
    Emissive {
        radiance: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        albedo: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        both_sides: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        one_sided: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        normal: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        opacity: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        cutoff: Option<Raw<'a>>,
    },
}

/// A `Texture(..)`, which may be given instead of a number or a colour.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum ParameterText<'a> {
    Texture(#[serde(borrow)] TextureText<'a>),
}

/// The fields of a `Texture` of a material parameter, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Texture", deny_unknown_fields)]
pub(crate) struct TextureText<'a> {
    #[serde(borrow)]
    pub(crate) file: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) factor: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) channel: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) encoding: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) filter: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) wrap: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) offset: Option<Raw<'a>>,
}

/// The fields of a `Principled` material, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Principled", deny_unknown_fields)]
pub(crate) struct PrincipledText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(crate) base_color: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) metallic: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) roughness: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) ior: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) specular: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) specular_color: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) transmission: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) thin: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) clearcoat: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) clearcoat_roughness: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) clearcoat_normal: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) both_sides: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) emission: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) absorption: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) normal: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) opacity: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) cutoff: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) one_sided: Option<Raw<'a>>,
}

/// An entry of `objects`: its type and the unparsed values of its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum ObjectText<'a> {
    Quad {
        #[serde(borrow)]
        corner: Raw<'a>,
        edge_u: Raw<'a>,
        edge_v: Raw<'a>,
        material: Raw<'a>,
    },
    Box {
        center: Raw<'a>,
        half_size: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        rotate_y: Option<Raw<'a>>,
        material: Raw<'a>,
    },
    Sphere {
        center: Raw<'a>,
        radius: Raw<'a>,
        material: Raw<'a>,
    },
    Mesh(#[serde(borrow)] MeshText<'a>),
    Model(ModelText<'a>),
    Instances(InstancesText<'a>),
    DisplacedSphere(DisplacedSphereText<'a>),
}

/// The fields of a `Mesh` object, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Mesh", deny_unknown_fields)]
pub(crate) struct MeshText<'a> {
    #[serde(borrow)]
    pub(crate) file: Raw<'a>,
    pub(crate) material: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) smooth: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) translate: Option<Raw<'a>>,
}

/// The fields of `Instances`. Exactly one of `at`, `grid` and `scatter` must be given.
#[derive(Deserialize)]
#[serde(rename = "Instances", deny_unknown_fields)]
pub(crate) struct InstancesText<'a> {
    #[serde(borrow)]
    pub(crate) of: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) at: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) grid: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) scatter: Option<Raw<'a>>,
}

/// An entry of the field `at` of `Instances`: the transform and material of one instance.
#[derive(Deserialize)]
#[serde(rename = "Place", deny_unknown_fields)]
pub(crate) struct PlaceText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(crate) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) translate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) material: Option<Raw<'a>>,
}

/// The fields of `grid`, a regular grid of instances, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Grid", deny_unknown_fields)]
pub(crate) struct GridText<'a> {
    #[serde(borrow)]
    pub(crate) count: Raw<'a>,
    pub(crate) spacing: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) center: Option<Raw<'a>>,
}

/// The fields of `scatter`, a random distribution of instances, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Scatter", deny_unknown_fields)]
pub(crate) struct ScatterText<'a> {
    #[serde(borrow)]
    pub(crate) count: Raw<'a>,
    pub(crate) from: Raw<'a>,
    pub(crate) to: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) seed: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) turn: Option<Raw<'a>>,
}

/// The fields of a `Model` object, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "Model", deny_unknown_fields)]
pub(crate) struct ModelText<'a> {
    #[serde(borrow)]
    pub(crate) file: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) material: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) lights: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) translate: Option<Raw<'a>>,
}

/// The fields of a `DisplacedSphere` object, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "DisplacedSphere", deny_unknown_fields)]
pub(crate) struct DisplacedSphereText<'a> {
    #[serde(borrow)]
    pub(crate) rings: Raw<'a>,
    pub(crate) segments: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) amplitudes: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) center: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) radius: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) smooth: Option<Raw<'a>>,
    pub(crate) material: Raw<'a>,
}

/// Reads an optional field whose value is written directly, without RON's `Some(..)`.
fn given<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw<'a>>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}

/// An entry of `lights`: its type and the unparsed values of its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum LightText<'a> {
    Point {
        #[serde(borrow)]
        position: Raw<'a>,
        intensity: Raw<'a>,
    },
    Spot {
        position: Raw<'a>,
        direction: Raw<'a>,
        intensity: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        inner: Option<Raw<'a>>,
        outer: Raw<'a>,
    },
    Directional {
        direction: Raw<'a>,
        irradiance: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        angle: Option<Raw<'a>>,
    },
    SunSky(#[serde(borrow)] SunSkyText<'a>),
    Environment {
        file: Raw<'a>,
        #[serde(default, deserialize_with = "given")]
        scale: Option<Raw<'a>>,
        #[serde(default, deserialize_with = "given")]
        rotate_y: Option<Raw<'a>>,
    },
}

/// The fields of a `SunSky` light, with unparsed values.
#[derive(Deserialize)]
#[serde(rename = "SunSky", deny_unknown_fields)]
pub(crate) struct SunSkyText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(crate) elevation: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) azimuth: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) date: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) time: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) latitude: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) longitude: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) turbidity: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) ground: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) sun: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(crate) scale: Option<Raw<'a>>,
}
