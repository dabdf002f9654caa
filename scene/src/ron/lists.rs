//! The lists of a scene file: `materials`, `objects` and `lights`. Their syntax errors name the entry.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::{error_text, source::Raw};

/// The `materials` of a scene: pairs of name and definition, in the file's order. Names may repeat.
#[derive(Default)]
pub(crate) struct MaterialsText<'a>(pub(crate) Vec<(Raw<'a>, Raw<'a>)>);

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
                        .map_err(|error| error_text::in_entry(&ordinal, &error))?;
                    let Some(key) = key else { return Ok(entries) };
                    let name = format!("material {}", key.trim().get_ron());
                    entries.push((
                        key,
                        map.next_value()
                            .map_err(|error| error_text::in_entry(&name, &error))?,
                    ));
                }
            }
        }
        deserializer.deserialize_map(Entries).map(MaterialsText)
    }
}

/// The `objects` of a scene, at least one, in the file's order.
pub(crate) struct ObjectsText<'a>(pub(crate) Vec<Raw<'a>>);

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
                        .map_err(|error| error_text::in_entry(&name, &error))?
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

/// The `lights` of a scene, in the file's order.
#[derive(Default)]
pub(crate) struct LightsText<'a>(pub(crate) Vec<Raw<'a>>);

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
                        .map_err(|error| error_text::in_entry(&name, &error))?
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
