//! The tone curves that a scene can name. The renderer evaluates them.

use serde::{Deserialize, Serialize};

/// A tone curve: how linear light beyond the range of a screen is compressed into it for display. The rendered light
/// never depends on it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Tone {
    /// No curve: each linear channel is clipped to 0..=1.
    #[default]
    Srgb,
    /// AgX by T. Sobotka, 2022: a sigmoid over the logarithm of 16.5 stops, between two matrices that let bright
    /// colors turn white. Its range ends 6.5 stops above middle grey, 0.18.
    AgX,
    /// The fit by S. Hill, 2015, of the reference and display transforms of ACES 1.0.
    Aces,
    /// Khronos PBR Neutral, 2024: base colors up to 0.76 keep hue and saturation; brighter ones are compressed.
    Neutral,
}

impl Tone {
    /// All curves, in the order in which the viewer's key cycles through them.
    pub const ALL: [Tone; 4] = [Tone::Srgb, Tone::AgX, Tone::Aces, Tone::Neutral];

    /// Returns the name of the curve for the command line and for display, such as `agx`.
    pub fn name(self) -> &'static str {
        match self {
            Tone::Srgb => "srgb",
            Tone::AgX => "agx",
            Tone::Aces => "aces",
            Tone::Neutral => "neutral",
        }
    }
}
