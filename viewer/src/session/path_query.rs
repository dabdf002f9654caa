//! Requests to trace paths of single pixels, and their results.

use serde::Serialize;

use super::inspection_scene::SceneView;
use raysieve::inspect::path_record::{PathRecord, PathSegment};

/// A request to trace one path of a pixel of a picture or, for [`QueryKind::Pixel`], several of its first paths.
pub(crate) struct PathQuery {
    pub(super) view: SceneView,
    /// Column and row of the pixel, from 0 at the upper left.
    pub(super) pixel: (u32, u32),
    /// Number of the sample to trace, from 0; for [`QueryKind::Pixel`], the number of the pixel's last sample. In a
    /// command it is ignored, and the render thread sets it.
    pub(super) sample: u32,
    pub(super) wanted: QueryKind,
}

/// The information that a request asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryKind {
    Path,
    /// The position of the first hit only, as a point to focus on.
    Focus,
    /// The surface in the pixel, and the spread of the pixel's samples.
    Pixel,
}

/// The content of a pixel: its surface, and the spread of its samples.
pub(crate) struct PixelInfo {
    /// Column and row of the pixel, from 0 at the upper left.
    pub(crate) pixel: (u32, u32),
    /// Number of samples of the pixel in the film when it was asked for.
    pub(crate) samples: u32,
    /// Estimated relative standard error of the pixel's mean brightness with that number of samples; `None` if the
    /// traced samples were black or too few. Rejected samples count as black.
    pub(crate) error: Option<f64>,
    /// Material, instance and primitive that the first sample hits first, as text; or that it hits only the background.
    pub(crate) surface: String,
    pub(crate) view: SceneView,
}

/// A traced path and its projection into the picture in which it was requested.
#[derive(Serialize)]
pub(crate) struct InspectedPath {
    pub(crate) path_record: PathRecord,
    /// Reason why the path ended, as text that needs no knowledge of rendering.
    pub(crate) end: &'static str,
    /// Projected segments of the path, in pixels from the upper left corner of the picture, possibly outside it.
    pub(crate) segments: Vec<PathSegment>,
    /// View in which the path was traced.
    #[serde(flatten)]
    pub(crate) view: SceneView,
}
