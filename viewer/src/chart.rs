//! The colors that the overlay, the page and charts of the same figures share.

use raysieve::stages::Stage;

/// Color (`#rrggbb`) of paths that continue to the next bounce, in charts, the overlay and the page. The color is
/// from the color-blind-safe palette of Okabe & Ito (2008).
pub const SURVIVORS: &str = "#009e73";
/// Color (`#rrggbb`) of paths that ended at a surface, in charts, the overlay and the page.
pub const ENDED: &str = "#e69f00";
/// Color (`#rrggbb`) of rays that left the scene, in charts, the overlay and the page.
pub const MISSES: &str = "#56b4e9";

/// Colors (`#rrggbb`) of the stages in the overlay and the page, in the order of [`Stage::OF_BOUNCE`].
///
/// Any two differ by at least 16 (CIEDE2000), also with simulated protanopia, deuteranopia and tritanopia.
///
/// In this crate, a new stage whose time is measured needs only a color here: bars and legends iterate over the
/// stages.
pub const STAGES: [&str; Stage::OF_BOUNCE.len()] = ["#2a7fd0", "#d55e00", "#e8b4d4", "#6e6e6e"];

/// Returns the color (`#rrggbb`) of a stage from [`STAGES`].
///
/// # Panics
///
/// Panics if the stage is not in [`Stage::OF_BOUNCE`].
pub const fn stage_color(stage: Stage) -> &'static str {
    let mut index = 0;
    while index < STAGES.len() {
        if Stage::OF_BOUNCE[index] as usize == stage as usize {
            return STAGES[index];
        }
        index += 1;
    }
    panic!("a stage without a color")
}

/// Color of a displayed path's segments between two vertices.
pub(crate) const PATH: &str = "#ffd56e";
/// Color of the last segment of a displayed path that left the scene.
pub(crate) const MISSED: &str = "#98a1ae";
/// Color of a displayed path's unblocked shadow rays.
pub(crate) const LIGHT: &str = "#56b4e9";
/// Color of a displayed path's blocked shadow rays.
pub(crate) const BLOCKED: &str = "#d55e00";
