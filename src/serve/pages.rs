//! What there is to be had: the page's files, the picture as it is, the figures, and the live view.

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRequestParts, Request, State, WebSocketUpgrade},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{
    access::{Access, HEADERS},
    encode,
    hub::Hub,
    viewer,
};
use crate::chart;

/// A file of the page: its path, its kind and its text.
type File = (&'static str, &'static str, &'static str);

const FILES: [File; 8] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("page/index.html"),
    ),
    (
        "/style.css",
        "text/css; charset=utf-8",
        include_str!("page/style.css"),
    ),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    (
        "/view.js",
        "text/javascript; charset=utf-8",
        include_str!("page/view.js"),
    ),
    (
        "/hand.js",
        "text/javascript; charset=utf-8",
        include_str!("page/hand.js"),
    ),
    (
        "/figures.js",
        "text/javascript; charset=utf-8",
        include_str!("page/figures.js"),
    ),
    (
        "/materials.js",
        "text/javascript; charset=utf-8",
        include_str!("page/materials.js"),
    ),
    (
        "/path.js",
        "text/javascript; charset=utf-8",
        include_str!("page/path.js"),
    ),
];

/// The colours of what rays became, of what the stages took and of paths, as the rest of the program has them.
fn colours() -> String {
    let colours = [
        ("survivors", chart::SURVIVORS),
        ("ended", chart::ENDED),
        ("misses", chart::MISSES),
        ("intersect", chart::INTERSECT),
        ("sieve", chart::SIEVE),
        ("shade", chart::SHADE),
        ("shadow", chart::SHADOW),
        ("path", chart::PATH),
        ("missed", chart::MISSED),
        ("light", chart::LIGHT),
        ("blocked", chart::BLOCKED),
    ];
    let set = colours.map(|(name, colour)| format!("  --{name}: {colour};\n"));
    format!(":root {{\n{}}}\n", set.concat())
}

/// All pages, for those who may see them.
pub(super) fn router(hub: Arc<Hub>, access: Access) -> Router {
    let mut pages = Router::new();
    for (path, kind, text) in FILES {
        pages = pages.route(
            path,
            get(async move || ([(header::CONTENT_TYPE, kind)], text)),
        );
    }
    let css = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
    pages
        .route("/colours.css", get(async move || (css, colours())))
        .route("/live", get(live))
        .route("/picture.png", get(picture))
        .route("/stats.json", get(stats))
        .fallback(async || refusal(StatusCode::NOT_FOUND, "there is no such page"))
        .layer(middleware::from_fn_with_state(Arc::new(access), guard))
        .with_state(hub)
}

async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let checked = access.check(request.headers(), request.uri());
    let mut response = match checked {
        Ok(cookie) => {
            let mut response = next.run(request).await;
            if let Some(cookie) = cookie {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(why) => refusal(StatusCode::FORBIDDEN, why),
    };
    response.headers_mut().extend(HEADERS);
    response
}

async fn live(State(hub): State<Arc<Hub>>, request: Request) -> Response {
    if !Access::is_from_page(request.headers()) {
        return refusal(
            StatusCode::FORBIDDEN,
            "another site's page asks for this one's view",
        );
    }
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &hub).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Some(place) = hub.arrive() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many are looking");
    };
    upgrade
        .max_message_size(viewer::LONGEST_MESSAGE)
        .max_frame_size(viewer::LONGEST_MESSAGE)
        .on_upgrade(|socket| viewer::serve(socket, hub, place))
}

async fn picture(State(hub): State<Arc<Hub>>) -> Response {
    let turn = hub.saving.lock().await;
    let of = hub.clone();
    // Takes long enough to hold up the others.
    let encode = move || {
        of.developed()
            .map(|(developed, stats)| encode::png(&developed, &stats))
    };
    let encoded = tokio::task::spawn_blocking(encode).await;
    drop(turn);
    match encoded {
        Ok(None) => refusal(StatusCode::NOT_FOUND, "there is no picture yet"),
        Ok(Some(Ok(png))) => {
            let name: String = hub
                .scene()
                .chars()
                .map(|letter| match letter {
                    'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => letter,
                    _ => '_',
                })
                .collect();
            let named = format!("attachment; filename=\"{name}.png\"");
            let headers = [
                (header::CONTENT_TYPE, "image/png".to_owned()),
                (header::CONTENT_DISPOSITION, named),
            ];
            (headers, png).into_response()
        }
        Ok(Some(Err(_))) | Err(_) => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the picture could not be encoded",
        ),
    }
}

async fn stats(State(hub): State<Arc<Hub>>) -> Response {
    match hub
        .stats()
        .map(|stats| serde_json::to_string_pretty(&stats))
    {
        Some(Ok(json)) => {
            ([(header::CONTENT_TYPE, "application/json")], json + "\n").into_response()
        }
        _ => refusal(StatusCode::NOT_FOUND, "there are no figures yet"),
    }
}

/// A line of plain text.
fn refusal(status: StatusCode, why: &'static str) -> Response {
    (status, format!("{why}\n")).into_response()
}
