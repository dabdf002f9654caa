//! The layout of the window: the regions of the picture and of its figures, which are beside, below or over it.

use serde::{Deserialize, Serialize};

use crate::overlay::{
    Detail, Figures, Overlay,
    canvas::Area,
    fitted::{Fitted, SMALL, Zoom},
};

/// The place and amount of the figures in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Placement {
    /// All figures beside or below the picture, or only a few below it if the window is too small.
    #[default]
    #[serde(alias = "full")]
    Panel,
    /// All figures over the picture.
    Overlay,
    /// A few figures below the picture.
    Short,
    #[serde(alias = "none")]
    Off,
}

impl Placement {
    /// Returns the placement that follows this one, cyclically.
    pub(super) fn next(self) -> Self {
        let all = [Self::Panel, Self::Overlay, Self::Short, Self::Off];
        all[(self as usize + 1) % all.len()]
    }

    /// Returns the message that tells the user about this placement.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Panel => "figures: panel beside the picture",
            Self::Overlay => "figures: over the picture",
            Self::Short => "figures: short form below the picture",
            Self::Off => "figures: off",
        }
    }
}

/// The regions of a window's content. Lengths are in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) picture: Area,
    /// Region of the figures, and their amount; `None` if they are off.
    pub(super) figures: Option<(Area, Detail)>,
}

/// Minimum scale of the picture beside a panel, as a fraction of its scale above a strip. If it were smaller, the
/// figures are in a strip below the picture.
const MIN_SCALE: f64 = 0.5;

/// Ratio of the window's height to the maximum height of a strip with a few figures. The strip has room for two lines
/// of text even if they are higher than this maximum.
const STRIP_SHARE: i32 = 4;

/// Minimum number of lines below the picture with which all figures are displayed there instead of the short form.
const FULL_LINES: i32 = 10;

/// Width in characters of the panel beside the picture if a wider one leaves too little of the picture. The most important
/// columns of the table fit in it.
const NARROW_CELLS: i32 = 44;

/// The sizes, in physical pixels, of the two possible areas for figures: beside the picture or below it.
#[derive(Clone, Copy)]
struct Room {
    /// Width of the panel beside the picture.
    panel: i32,
    /// Height of the strip with a few figures below the picture.
    strip: i32,
}

impl Room {
    /// Returns the largest scales of a picture in a window of this size: beside the panel, and above the strip.
    fn scales(self, picture: (u32, u32), (width, height): (i32, i32)) -> (f64, f64) {
        let scale = |width: i32, height: i32| {
            let across = f64::from(width) / f64::from(picture.0);
            across.min(f64::from(height) / f64::from(picture.1))
        };
        (
            scale(width - self.panel, height),
            scale(width, height - self.strip),
        )
    }
}

impl Layout {
    /// Divides a window between a picture and its figures as `placement` describes. The window's width and height are
    /// in physical pixels, the picture's in its own. `overlay` measures `figures`, whose `detail` is ignored.
    pub(super) fn new(
        overlay: &Overlay,
        window: (u32, u32),
        picture: (u32, u32),
        placement: Placement,
        figures: &Figures<'_>,
    ) -> Self {
        let whole = Area::of(window);
        let (panel, needed) = overlay.stats_size(
            window,
            &Figures {
                detail: Detail::Short,
                ..*figures
            },
        );
        let highest = overlay
            .lines_height(window, 2)
            .max(whole.height / STRIP_SHARE);
        let room = Room {
            panel,
            strip: needed.min(highest).min(whole.height - 1),
        };
        match placement {
            Placement::Off => Self {
                picture: whole,
                figures: None,
            },
            Placement::Overlay => Self {
                picture: whole,
                figures: Some((whole, Detail::Full)),
            },
            Placement::Short => Self::above_strip(whole, room.strip, Detail::Short),
            Placement::Panel => {
                let narrow = Room {
                    panel: panel.min(overlay.cells_width(window, NARROW_CELLS)),
                    ..room
                };
                let fitting = [room, narrow].into_iter().find(|room| {
                    let (beside, above) = room.scales(picture, (whole.width, whole.height));
                    beside >= MIN_SCALE * above
                });
                if let Some(room) = fitting {
                    // The panel takes what the picture leaves free.
                    let shown = Fitted::new(picture, whole, Zoom::default()).area.width;
                    let panel = room.panel.max(whole.width - shown);
                    let width = whole.width - panel;
                    return Self {
                        picture: whole.columns(0, width),
                        figures: Some((whole.columns(width, panel), Detail::Everything)),
                    };
                }
                // The picture needs no more than its height at the full width of the window.
                let high = (f64::from(picture.1) * f64::from(whole.width) / f64::from(picture.0))
                    .ceil() as i32;
                let free = (whole.height - high).max(room.strip);
                if free >= overlay.lines_height(window, FULL_LINES) {
                    Self::above_strip(whole, free, Detail::Full)
                } else {
                    Self::above_strip(whole, room.strip, Detail::Short)
                }
            }
        }
    }

    fn above_strip(whole: Area, strip: i32, detail: Detail) -> Self {
        let height = whole.height - strip;
        Self {
            picture: whole.rows(0, height),
            figures: Some((whole.rows(height, strip), detail)),
        }
    }
}

/// Minimum height in logical pixels of a new window with a panel beside the picture, unless the monitor is smaller. All
/// figures of most scenes and the first hints fit in it.
const PANEL_HEIGHT: f64 = 512.0;

/// Height in logical pixels of a new window's strip.
const STRIP_HEIGHT: f64 = 128.0;

/// Returns the size of a new window in logical pixels, for a picture of this size and a placement of figures. `panel`
/// is the width of the panel at scale 1. `monitor` is the room on the monitor, which the size does not exceed; `None`
/// if it is unknown.
pub(super) fn window_size(
    picture: (u32, u32),
    placement: Placement,
    panel: f64,
    monitor: Option<(f64, f64)>,
) -> (f64, f64) {
    let (width, height) = (f64::from(picture.0), f64::from(picture.1));
    let factor = f64::from(SMALL.div_ceil(picture.0.max(picture.1)).max(1));
    let (wide, high) = monitor.unwrap_or((f64::INFINITY, f64::INFINITY));
    let scale = |across: f64, down: f64| {
        let fit = ((wide - across) / width).min((high - down) / height);
        match fit {
            _ if fit >= factor => factor,
            1.0.. if factor > 1.0 => fit.floor(),
            _ => fit,
        }
    };
    // Text is larger in a window that is higher than 1080 pixels.
    let panel = panel * (scale(panel, 0.0) * height / 1080.0).max(1.0);
    let (beside, above, alone) = (scale(panel, 0.0), scale(0.0, STRIP_HEIGHT), scale(0.0, 0.0));
    let size = match placement {
        Placement::Panel if beside >= MIN_SCALE * above => {
            (width * beside + panel, (height * beside).max(PANEL_HEIGHT))
        }
        Placement::Panel | Placement::Short if above > 0.0 => {
            (width * above, height * above + STRIP_HEIGHT)
        }
        _ => (width * alone, height * alone),
    };
    (
        size.0.min(wide).round().max(1.0),
        size.1.min(high).round().max(1.0),
    )
}
