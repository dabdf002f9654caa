//! Files that viewers download: the picture, the film with its layers, the scene, the figures, and the values of
//! magnified pixels.

use std::{fs, path::Path, sync::Arc};

use axum::{
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{broadcast::Broadcaster, encode, refusal};
use crate::{
    overlay::{FigureFormat, Figures, Units, figures_as, pixels},
    saved_picture::SavedPicture,
};
use raysieve::{
    inspect::debug_view::DebugView,
    render::{output::DisplayImage, region::Region, stats::Stats},
};

/// Returns the current picture, or the debug image with its legend, as a PNG file to download. The status is 404 before
/// the first picture, and 500 if the file cannot be made.
pub(super) async fn picture(State(broadcaster): State<Arc<Broadcaster>>) -> Response {
    download(broadcaster, "png", "image/png", |broadcaster| {
        let (frame, session) = (broadcaster.frame()?, broadcaster.session());
        let debug_image = session.debug_image(&frame);
        let picture = SavedPicture::new(&session, frame, debug_image, None);
        drop(session);
        let png = picture.png(png::Compression::Fast);
        Some(png.map_err(|error| error.line()))
    })
    .await
}

/// Returns the image with which the picture can be compared, as a PNG. The status is 404 if there is none.
pub(super) async fn compared(State(broadcaster): State<Arc<Broadcaster>>) -> Response {
    download(broadcaster, "png", "image/png", |broadcaster| {
        let session = broadcaster.session();
        let (image, look) = (session.compared.clone()?, session.look);
        drop(session);
        let image = DisplayImage {
            size: image.size(),
            rgba: image.to_display(look.exposure_stops, look.tone),
            debug_view: DebugView::Light,
        };
        Some(encode::png(&image, &Stats::default()))
    })
    .await
}

/// Returns the film with all layers as an EXR file to download. The status is 404 before the first picture, and 500
/// if the file cannot be made.
pub(super) async fn film(State(broadcaster): State<Arc<Broadcaster>>) -> Response {
    download(broadcaster, "exr", "image/x-exr", |broadcaster| {
        broadcaster.frame()?;
        let film = broadcaster.session().request_film();
        let write = |path: &Path| film.write(path);
        Some(through_file("film.exr", write))
    })
    .await
}

/// Returns the scene with the viewers' camera and edits as a scene file to download; for a model, a scene that shows
/// it. A message to all viewers names the edited parts that the file lacks, if any. The status is 500 if the scene has
/// a format that cannot be written.
pub(super) async fn scene(State(broadcaster): State<Arc<Broadcaster>>) -> Response {
    download(
        broadcaster,
        "ron",
        "text/plain; charset=utf-8",
        |broadcaster| {
            let scene = broadcaster.session().scene_to_save();
            // The paths in it are relative to the folder of the scene.
            let written = scene.text(&scene.path().with_extension("ron"));
            let text = written.map(|(text, without)| {
                if !without.is_empty() {
                    broadcaster
                        .session()
                        .say(format!("scene downloaded{without}"));
                }
                text.into_bytes()
            });
            Some(text.map_err(|error| error.line()))
        },
    )
    .await
}

/// Returns the figures as a file in this format to download. The query `total` selects figures since the start of the
/// film; without it, they are for one sample of every pixel. The status is 404 before the first picture.
pub(super) async fn figures(
    broadcaster: Arc<Broadcaster>,
    query: Option<String>,
    format: FigureFormat,
) -> Response {
    let (ending, kind) = match format {
        FigureFormat::Csv => ("csv", "text/csv; charset=utf-8"),
        FigureFormat::Json => ("json", "application/json"),
    };
    let units = match query.as_deref() {
        Some("total") => Units::Total,
        _ => Units::PerSample,
    };
    download(broadcaster, ending, kind, move |broadcaster| {
        let frame = broadcaster.frame()?;
        let stats = frame.stats_in(broadcaster.session().look, false);
        let figures = Figures::of(&frame, &stats, units);
        Some(Ok(figures_as(&figures, format).into_bytes()))
    })
    .await
}

/// Lets `write` write a temporary file of this name, and returns the content. The error is one line.
fn through_file(
    name: &str,
    write: impl FnOnce(&Path) -> Result<(), crate::Error>,
) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(name);
    write(&path).map_err(|error| error.line())?;
    fs::read(&path).map_err(|error| error.to_string())
}

/// Returns the file that `make` makes on a thread of its own, named after the scene, with this ending and `kind` as its
/// media type. The status is 404 if it makes nothing. If it fails, the status is 500, and the problem is the text of
/// the response and a message to all viewers, because browsers do not display that text. One file is made at a time.
async fn download(
    broadcaster: Arc<Broadcaster>,
    ending: &str,
    kind: &'static str,
    make: impl FnOnce(&Broadcaster) -> Option<Result<Vec<u8>, String>> + Send + 'static,
) -> Response {
    let turn = broadcaster.saving.lock().await;
    let of = broadcaster.clone();
    // Encoding would block the runtime's only thread.
    let made = tokio::task::spawn_blocking(move || make(&of)).await;
    drop(turn);
    match made {
        Ok(None) => refusal(StatusCode::NOT_FOUND, "there is no picture yet"),
        Ok(Some(Ok(bytes))) => {
            let scene = broadcaster.session().scene.path.clone();
            let name = scene.file_stem().unwrap_or_default().to_string_lossy();
            let name: String = name
                .chars()
                .map(|letter| match letter {
                    'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => letter,
                    _ => '_',
                })
                .collect();
            let named = format!("attachment; filename=\"{name}.{ending}\"");
            let headers = [
                (header::CONTENT_TYPE, kind.to_owned()),
                (header::CONTENT_DISPOSITION, named),
            ];
            (headers, bytes).into_response()
        }
        Ok(Some(Err(problem))) => {
            broadcaster.session().report_problem(problem.clone());
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{problem}\n")).into_response()
        }
        Err(_) => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the file could not be made",
        ),
    }
}

/// Maximum number of pixels of a region, its width times its height. More pixels would be too small for text on any
/// screen.
const MAX_PIXELS: u64 = 8192;

/// Returns the values of the newest picture in a region as JSON: column `x` and row `y` of its upper left pixel, its
/// `width` and `height`, and `values`. These are red, green and blue of each pixel in linear light, row by row from the
/// top, as text of at most six characters. The query names the region, as in `16,0,40,30`.
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
    let Region { x, y, .. } = region;
    let (width, height) = (region.width, region.height);
    let json = json!({ "x": x, "y": y, "width": width, "height": height, "values": values });
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, json.to_string()).into_response()
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
