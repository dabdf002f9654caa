//! A scene as it is written: which fields there are. Values stay text until their object is built.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::{source::Raw, wording};

#[derive(Deserialize)]
#[serde(rename = "Scene", deny_unknown_fields)]
pub(super) struct SceneText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) size: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) spp: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) max_bounces: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) seed: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) clamp_indirect: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) exposure: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) tone: Option<Raw<'a>>,
    pub(super) camera: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) sky: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) direct_light: Option<Raw<'a>>,
    #[serde(default)]
    pub(super) lights: LightsText<'a>,
    #[serde(default)]
    pub(super) materials: MaterialsText<'a>,
    pub(super) objects: ObjectsText<'a>,
}

#[derive(Deserialize)]
#[serde(rename = "Camera", deny_unknown_fields)]
pub(super) struct CameraText<'a> {
    #[serde(borrow)]
    pub(super) origin: Raw<'a>,
    pub(super) target: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) up: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) fov: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) width: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) lens: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) filter: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Lens", deny_unknown_fields)]
pub(super) struct LensText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) radius: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) f_stop: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) focus_distance: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) focus_point: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) blades: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) rotation: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum FilterText<'a> {
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum MaterialText<'a> {
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

/// What stands in place of a number or a colour.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum ParameterText<'a> {
    Texture(#[serde(borrow)] TextureText<'a>),
}

#[derive(Deserialize)]
#[serde(rename = "Texture", deny_unknown_fields)]
pub(super) struct TextureText<'a> {
    #[serde(borrow)]
    pub(super) file: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) factor: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) channel: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) encoding: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) filter: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) wrap: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) offset: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Principled", deny_unknown_fields)]
pub(super) struct PrincipledText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) base_color: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) metallic: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) roughness: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) ior: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) specular: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) specular_color: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) transmission: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) thin: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) clearcoat: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) clearcoat_roughness: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) clearcoat_normal: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) both_sides: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) emission: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) absorption: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) normal: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) opacity: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) cutoff: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) one_sided: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum ObjectText<'a> {
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

#[derive(Deserialize)]
#[serde(rename = "Mesh", deny_unknown_fields)]
pub(super) struct MeshText<'a> {
    #[serde(borrow)]
    pub(super) file: Raw<'a>,
    pub(super) material: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) smooth: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) translate: Option<Raw<'a>>,
}

/// One of the three says where.
#[derive(Deserialize)]
#[serde(rename = "Instances", deny_unknown_fields)]
pub(super) struct InstancesText<'a> {
    #[serde(borrow)]
    pub(super) of: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) at: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) grid: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) scatter: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Place", deny_unknown_fields)]
pub(super) struct PlaceText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) translate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) material: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Grid", deny_unknown_fields)]
pub(super) struct GridText<'a> {
    #[serde(borrow)]
    pub(super) count: Raw<'a>,
    pub(super) spacing: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) center: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Scatter", deny_unknown_fields)]
pub(super) struct ScatterText<'a> {
    #[serde(borrow)]
    pub(super) count: Raw<'a>,
    pub(super) from: Raw<'a>,
    pub(super) to: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) seed: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) turn: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "Model", deny_unknown_fields)]
pub(super) struct ModelText<'a> {
    #[serde(borrow)]
    pub(super) file: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) material: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) lights: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) scale: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) rotate: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) translate: Option<Raw<'a>>,
}

#[derive(Deserialize)]
#[serde(rename = "DisplacedSphere", deny_unknown_fields)]
pub(super) struct DisplacedSphereText<'a> {
    #[serde(borrow)]
    pub(super) rings: Raw<'a>,
    pub(super) segments: Raw<'a>,
    #[serde(default, deserialize_with = "given")]
    pub(super) amplitudes: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) center: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) radius: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) smooth: Option<Raw<'a>>,
    pub(super) material: Raw<'a>,
}

/// An optional field is written as it is, without RON's `Some(..)`.
fn given<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw<'a>>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}

/// Names and materials, in the file's order.
#[derive(Default)]
pub(super) struct MaterialsText<'a>(pub(super) Vec<(Raw<'a>, Raw<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for MaterialsText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<(Raw<'de>, Raw<'de>)>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("materials by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                loop {
                    let ordinal = format!("material {}", entries.len() + 1);
                    let key = map
                        .next_key::<Raw>()
                        .map_err(|error| wording::within(&ordinal, &error))?;
                    let Some(key) = key else { return Ok(entries) };
                    let name = format!("material {}", key.trim().get_ron());
                    entries.push((
                        key,
                        map.next_value()
                            .map_err(|error| wording::within(&name, &error))?,
                    ));
                }
            }
        }
        deserializer.deserialize_map(Entries).map(MaterialsText)
    }
}

/// At least one object, in the file's order.
pub(super) struct ObjectsText<'a>(pub(super) Vec<Raw<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for ObjectsText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<Raw<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of objects")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut objects = Vec::new();
                loop {
                    let name = format!("object {}", objects.len() + 1);
                    match list
                        .next_element()
                        .map_err(|error| wording::within(&name, &error))?
                    {
                        Some(object) => objects.push(object),
                        None if objects.is_empty() => {
                            return Err(A::Error::custom("expected at least one object"));
                        }
                        None => return Ok(objects),
                    }
                }
            }
        }
        deserializer.deserialize_seq(Entries).map(ObjectsText)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum LightText<'a> {
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

/// Lights, in the file's order.
#[derive(Default)]
pub(super) struct LightsText<'a>(pub(super) Vec<Raw<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for LightsText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<Raw<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of lights")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut lights = Vec::new();
                loop {
                    let name = format!("light {}", lights.len() + 1);
                    match list
                        .next_element()
                        .map_err(|error| wording::within(&name, &error))?
                    {
                        Some(light) => lights.push(light),
                        None => return Ok(lights),
                    }
                }
            }
        }
        deserializer.deserialize_seq(Entries).map(LightsText)
    }
}

#[derive(Deserialize)]
#[serde(rename = "SunSky", deny_unknown_fields)]
pub(super) struct SunSkyText<'a> {
    #[serde(borrow, default, deserialize_with = "given")]
    pub(super) elevation: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) azimuth: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) date: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) time: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) latitude: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) longitude: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) turbidity: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) ground: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) sun: Option<Raw<'a>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) scale: Option<Raw<'a>>,
}
