//! The HTTP routes: the page's files, the current picture, the statistics, and the live view.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{FromRequestParts, RawQuery, Request, State, WebSocketUpgrade},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{
    access::{Access, HEADERS},
    broadcast::Broadcaster,
    connections::Newcomer,
    downloads, refusal, viewer,
};
use crate::{chart, overlay::FigureFormat};
use raysieve::stages::Stage;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The static files of the page, which are part of the program: URL path, content type and text of each.
const FILES: [(&str, &str, &str); 24] = [
    ("/", HTML, include_str!("page/index.html")),
    ("/style.css", CSS, include_str!("page/style.css")),
    ("/controls.css", CSS, include_str!("page/controls.css")),
    ("/panel.css", CSS, include_str!("page/panel.css")),
    ("/tables.css", CSS, include_str!("page/tables.css")),
    ("/properties.css", CSS, include_str!("page/properties.css")),
    ("/icon.svg", SVG, include_str!("page/icon.svg")),
    ("/view.js", SCRIPT, include_str!("page/view.js")),
    ("/input.js", SCRIPT, include_str!("page/input.js")),
    ("/controls.js", SCRIPT, include_str!("page/controls.js")),
    ("/clipboard.js", SCRIPT, include_str!("page/clipboard.js")),
    ("/format.js", SCRIPT, include_str!("page/format.js")),
    ("/tables.js", SCRIPT, include_str!("page/tables.js")),
    ("/plots.js", SCRIPT, include_str!("page/plots.js")),
    ("/strategies.js", SCRIPT, include_str!("page/strategies.js")),
    ("/statistics.js", SCRIPT, include_str!("page/statistics.js")),
    ("/properties.js", SCRIPT, include_str!("page/properties.js")),
    ("/messages.js", SCRIPT, include_str!("page/messages.js")),
    ("/animation.js", SCRIPT, include_str!("page/animation.js")),
    ("/compare.js", SCRIPT, include_str!("page/compare.js")),
    ("/region.js", SCRIPT, include_str!("page/region.js")),
    ("/zoom.js", SCRIPT, include_str!("page/zoom.js")),
    ("/values.js", SCRIPT, include_str!("page/values.js")),
    ("/path.js", SCRIPT, include_str!("page/path.js")),
];

/// Returns a style sheet that defines the colors of charts, paths and stages as CSS variables, such as `--survivors`
/// or `--shade`.
fn colors() -> String {
    let colors = [
        ("survivors", chart::SURVIVORS),
        ("ended", chart::ENDED),
        ("misses", chart::MISSES),
        ("path", chart::PATH),
        ("missed", chart::MISSED),
        ("light", chart::LIGHT),
        ("blocked", chart::BLOCKED),
    ];
    let stages = Stage::OF_BOUNCE.map(Stage::label);
    let variables: String = colors
        .into_iter()
        .chain(stages.into_iter().zip(chart::STAGES))
        .map(|(name, color)| format!("  --{name}: {color};\n"))
        .collect();
    format!(":root {{\n{variables}}}\n")
}

/// Builds the router of all pages. Every request passes the access check first.
pub(super) fn router(broadcaster: Arc<Broadcaster>, access: Access) -> Router {
    let mut pages = Router::new();
    for (path, kind, text) in FILES {
        pages = pages.route(
            path,
            get(async move || ([(header::CONTENT_TYPE, kind)], text)),
        );
    }
    for (path, format) in [
        ("/figures.csv", FigureFormat::Csv),
        ("/figures.json", FigureFormat::Json),
    ] {
        let figures = async move |State(broadcaster), RawQuery(query)| {
            downloads::figures(broadcaster, query, format).await
        };
        pages = pages.route(path, get(figures));
    }
    let css = [(header::CONTENT_TYPE, CSS)];
    pages
        .route("/colors.css", get(async move || (css, colors())))
        .route("/live", get(live))
        .route("/picture.png", get(downloads::picture))
        .route("/compared.png", get(downloads::compared))
        .route("/film.exr", get(downloads::film))
        .route("/scene.ron", get(downloads::scene))
        .route("/stats.json", get(stats))
        .route("/values.json", get(downloads::values))
        .fallback(async || refusal(StatusCode::NOT_FOUND, "page not found"))
        .layer(middleware::from_fn_with_state(Arc::new(access), guard))
        .with_state(broadcaster)
}

/// Passes a request on if it has access, and otherwise answers it with status 403 and closes its connection. Adds the
/// security headers to each response.
async fn guard(
    State(access): State<Arc<Access>>,
    Extension(newcomer): Extension<Newcomer>,
    request: Request,
    next: Next,
) -> Response {
    let checked = access.check(request.headers(), request.uri());
    let mut response = match checked {
        Ok(cookie) => {
            newcomer.admit();
            let mut response = next.run(request).await;
            if let Some(cookie) = cookie {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(why) => {
            let mut response = refusal(StatusCode::FORBIDDEN, why);
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
            response
        }
    };
    response.headers_mut().extend(HEADERS);
    response
}

/// Upgrades a request to a viewer's WebSocket. The status is 403 for requests from another site, and 503 if there are
/// too many viewers.
async fn live(State(broadcaster): State<Arc<Broadcaster>>, request: Request) -> Response {
    if !Access::is_from_page(request.headers()) {
        return refusal(
            StatusCode::FORBIDDEN,
            "the live view can only be opened from the page itself",
        );
    }
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &broadcaster).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Some(guard) = broadcaster.add_viewer() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many viewers");
    };
    upgrade
        .max_message_size(viewer::MAX_MESSAGE_BYTES)
        .max_frame_size(viewer::MAX_MESSAGE_BYTES)
        .on_upgrade(|socket| viewer::serve(socket, broadcaster, guard))
}

/// Returns the statistics of the newest frame as JSON. The status is 404 before the first frame.
async fn stats(State(broadcaster): State<Arc<Broadcaster>>) -> Response {
    let look = broadcaster.session().look;
    let stats = broadcaster.frame().map(|frame| frame.stats_in(look, false));
    match stats.map(|stats| serde_json::to_string_pretty(&stats)) {
        Some(Ok(json)) => {
            ([(header::CONTENT_TYPE, "application/json")], json + "\n").into_response()
        }
        _ => refusal(StatusCode::NOT_FOUND, "there are no statistics yet"),
    }
}
