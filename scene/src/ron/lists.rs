//! The lists of a scene file: `materials`, `objects` and `lights`. Their syntax errors name the entry.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

use super::{error_text, source::Raw};

/// The `materials` of a scene: unparsed pairs of name and definition, in the file's order. A name may occur twice here;
/// [`materials::read`](super::materials::read) rejects that.
#[derive(Default)]
pub(crate) struct MaterialsText<'a>(pub(crate) Vec<(Raw<'a>, Raw<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for MaterialsText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MaterialEntries;
        impl<'de> Visitor<'de> for MaterialEntries {
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
        deserializer
            .deserialize_map(MaterialEntries)
            .map(MaterialsText)
    }
}

/// Reads the `objects` of a scene as unparsed values in the file's order. An empty list is an error.
pub(crate) fn objects<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Raw<'a>>, D::Error> {
    deserializer.deserialize_seq(Entries {
        kind: "object",
        required: true,
    })
}

/// Reads the `lights` of a scene as unparsed values in the file's order. The list may be empty.
pub(crate) fn lights<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Raw<'a>>, D::Error> {
    deserializer.deserialize_seq(Entries {
        kind: "light",
        required: false,
    })
}

/// A reader of a list of unparsed values, whose errors name the entry.
struct Entries {
    /// Word for one entry in error messages, such as `object`.
    kind: &'static str,
    /// Whether an empty list is an error.
    required: bool,
}

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<Raw<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a list of {}s", self.kind)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Entries { kind, required } = self;
        let mut entries = Vec::new();
        loop {
            let name = format!("{kind} {}", entries.len() + 1);
            let entry = list.next_element();
            match entry.map_err(|error| error_text::in_entry(&name, &error))? {
                Some(entry) => entries.push(entry),
                None if required && entries.is_empty() => {
                    return Err(A::Error::custom(format!("expected at least one {kind}")));
                }
                None => return Ok(entries),
            }
        }
    }
}
