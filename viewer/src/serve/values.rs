//! The values of magnified pixels, which a page asks for.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{broadcast::Broadcaster, pages::refusal};
use crate::overlay::pixels;
use raysieve::render::region::Region;

/// The values of the pixels of a region.
#[derive(Serialize)]
struct PixelValues {
    /// Column of the upper left pixel of the region, from 0 at the left edge of the picture.
    x: u32,
    /// Row of the upper left pixel of the region, from 0 at the top of the picture.
    y: u32,
    width: u32,
    height: u32,
    /// Red, green and blue of each pixel in linear light, row by row from the top, as text of at most six characters.
    values: Vec<String>,
}

/// Maximum number of pixels of a region, its width times its height. More pixels would be too small for text on any
/// screen.
const MAX_PIXELS: u64 = 8192;

/// Returns the values of the newest picture in a region as JSON, see [`PixelValues`]. The query names the region:
/// column and row of its upper left pixel, its width and its height, as in `16,0,40,30`.
///
/// The status is 400 if the query is no region or names more than [`MAX_PIXELS`]. It is 404 if the region is empty or
/// not inside the picture, and while there is no picture or only a smaller preview.
pub(super) async fn values(
    State(broadcaster): State<Arc<Broadcaster>>,
    RawQuery(query): RawQuery,
) -> Response {
    let region = query.as_deref().and_then(region);
    let is_small =
        |region: &Region| u64::from(region.width) * u64::from(region.height) <= MAX_PIXELS;
    let Some(region) = region.filter(is_small) else {
        let why = "expected a region such as 0,0,16,9, of at most 8192 pixels";
        return refusal(StatusCode::BAD_REQUEST, why);
    };
    let frame = broadcaster.frame();
    let Some(values) = frame.and_then(|frame| pixels::values(&frame, region)) else {
        return refusal(StatusCode::NOT_FOUND, "these pixels are not rendered yet");
    };
    let values = PixelValues {
        x: region.x,
        y: region.y,
        width: region.width,
        height: region.height,
        values,
    };
    match serde_json::to_string(&values) {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(_) => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the values cannot be written",
        ),
    }
}

/// Parses column, row, width and height of a region, as in `16,0,40,30`; `None` if the text is not four numbers of type
/// `u32`. Does not check whether the region has pixels or is inside a picture.
fn region(text: &str) -> Option<Region> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.parse().ok()).collect();
    match numbers?[..] {
        [x, y, width, height] => Some(Region {
            x,
            y,
            width,
            height,
        }),
        _ => None,
    }
}
