//! The fonts of all texts: DejaVu Sans Mono, which the program contains, and fonts of the system for what it lacks, such
//! as Chinese characters.

use std::sync::{Mutex, OnceLock, PoisonError};

use ab_glyph::{Font, FontRef};
use fontdb::{Database, Family, ID, Query};

/// DejaVu Sans Mono, which has Latin, Greek and Cyrillic letters.
pub(crate) static EMBEDDED: &[u8] = include_bytes!("../assets/DejaVuSansMono.ttf");

/// A font of the system that has been loaded. It stays in memory until the program ends.
#[derive(Clone, Copy)]
pub(crate) struct SystemFont {
    /// Content of the font file.
    pub(crate) data: &'static [u8],
    pub(crate) index: u32,
}

impl SystemFont {
    /// Returns the font for drawing; `None` if its file is damaged.
    pub(crate) fn parsed(self) -> Option<FontRef<'static>> {
        FontRef::try_from_slice_and_index(self.data, self.index).ok()
    }
}

pub(crate) fn embedded() -> FontRef<'static> {
    FontRef::try_from_slice(EMBEDDED).expect("the font in the program is a font")
}

/// Returns a font of the system that has a character, preferably with letters of one width or without serifs. Returns
/// `None` if no font has it, or for control characters. The first call searches the system, which can take a second.
pub(crate) fn for_character(character: char) -> Option<SystemFont> {
    static SYSTEM: OnceLock<Mutex<System>> = OnceLock::new();
    if character.is_control() {
        return None;
    }
    let system = SYSTEM.get_or_init(|| Mutex::new(System::search()));
    let mut system = system.lock().unwrap_or_else(PoisonError::into_inner);
    system.for_character(character)
}

struct System {
    database: Database,
    /// Fonts in order of preference.
    preferred: Vec<ID>,
    loaded: Vec<SystemFont>,
}

impl System {
    fn search() -> Self {
        let mut database = Database::new();
        database.load_system_fonts();
        let of = |family| {
            database.query(&Query {
                families: &[family],
                ..Query::default()
            })
        };
        let generic = [of(Family::Monospace), of(Family::SansSerif)];
        let mut others: Vec<_> = database.faces().collect();
        others.sort_by_key(|face| {
            let family = face.families.first().map_or("", |(name, _)| name.as_str());
            let is_plain = face.style == fontdb::Style::Normal && face.weight.0 == 400;
            let is_sans = family.contains("Sans") && !family.contains("Serif");
            (
                !is_plain,
                !face.monospaced,
                !is_sans,
                face.post_script_name.clone(),
            )
        });
        let others = others.into_iter().map(|face| face.id);
        let preferred = generic.into_iter().flatten().chain(others).collect();
        Self {
            database,
            preferred,
            loaded: Vec::new(),
        }
    }

    fn for_character(&mut self, character: char) -> Option<SystemFont> {
        let known = self.loaded.iter().find(|font| {
            font.parsed()
                .is_some_and(|font| font.glyph_id(character).0 != 0)
        });
        if let Some(known) = known {
            return Some(*known);
        }
        let found = self.preferred.iter().find_map(|&id| {
            self.database.with_face_data(id, |data, index| {
                let font = FontRef::try_from_slice_and_index(data, index).ok()?;
                let has_outline = font.outline(font.glyph_id(character)).is_some();
                (font.glyph_id(character).0 != 0 && has_outline).then(|| SystemFont {
                    data: Box::leak(data.to_vec().into_boxed_slice()),
                    index,
                })
            })?
        })?;
        self.loaded.push(found);
        Some(found)
    }
}
