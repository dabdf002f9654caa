//! Traces paths of single pixels, each request on a thread of its own: to inspect a path, to focus, or to describe the
//! pixel.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use super::{
    events::{EventSender, RenderEvent, SessionEvent},
    path_query::{InspectedPath, PathQuery, PixelInfo, QueryKind},
    spawn,
};
use crate::Error;
use raysieve::inspect::path_record::{End, Inspector, PathRecord};

/// Maximum number of a pixel's samples that are traced again to estimate its error.
const MAX_TRACED: u32 = 64;

/// A tracer of requests on background threads. It traces at most one path at a time, to inspect it or to focus, and
/// describes at most one pixel at a time.
#[derive(Default)]
pub(super) struct Inspection {
    /// Whether a path is being traced, to inspect it or to focus.
    busy: Arc<AtomicBool>,
    pixel_busy: Arc<AtomicBool>,
}

impl Inspection {
    /// Starts a thread that traces the request. It reports the result by `RenderEvent::Path`, `RenderEvent::Pixel` or
    /// `SessionEvent::Focus`, or a message if there is none.
    ///
    /// Returns `false` and drops the request if an earlier one is still running. Descriptions of pixels and other
    /// requests do not block each other.
    pub(super) fn start(&self, query: PathQuery, events: EventSender) -> io::Result<bool> {
        let busy = match query.wanted {
            QueryKind::Pixel => &self.pixel_busy,
            QueryKind::Path | QueryKind::Focus => &self.busy,
        };
        if busy.swap(true, Relaxed) {
            return Ok(false);
        }
        let busy = Busy(busy.clone());
        let work = move || {
            let event = trace(query);
            drop(busy);
            events.send(event);
        };
        spawn("inspect", work).map(|_| true)
    }
}

/// A guard that clears the busy flag when dropped, even if the thread panics.
struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// Executes a request. Returns the event to report; an error becomes a problem to display.
fn trace(query: PathQuery) -> RenderEvent {
    try_trace(query).unwrap_or_else(|error| RenderEvent::Problem(error.to_string()))
}

/// Executes a request: traces a path, or the samples that describe a pixel. Returns the event to report, which is a
/// message if there is nothing to focus on.
///
/// # Errors
/// If the scene cannot be prepared for tracing, or the pixel lies outside the picture.
fn try_trace(query: PathQuery) -> Result<RenderEvent, Error> {
    let scene = &query.view.inspection_scene;
    let mut inspector = Inspector::for_scene(scene.render_scene()?, &scene.scene);
    inspector.set_camera(&query.view.camera, query.view.size);
    if query.wanted == QueryKind::Pixel {
        let info = pixel_info(&inspector, query)?;
        return Ok(RenderEvent::Pixel(Box::new(info)));
    }
    let path_record = inspector.trace(query.pixel, query.sample)?;
    if query.wanted == QueryKind::Focus {
        let hit = path_record
            .vertices
            .first()
            .and_then(|vertex| vertex.hit.as_ref());
        return Ok(match hit {
            Some(hit) => RenderEvent::Session(SessionEvent::Focus(hit.position.relative)),
            None => RenderEvent::Message("nothing to focus on there".into()),
        });
    }
    let segments = path_record.project(inspector.camera());
    let end = match path_record.end {
        End::Missed => "left the scene",
        End::LastBounce => "the last bounce that max_bounces allows",
        End::Absorbed => "absorbed by the surface",
        End::Roulette => "at random, because it carried little light",
    };
    Ok(RenderEvent::Path(Box::new(InspectedPath {
        path_record,
        end,
        segments,
        view: query.view,
    })))
}

/// Traces the first samples of a pixel again, at most [`MAX_TRACED`]. Returns the surface that the first one hits, and
/// the error that their spread implies for all samples of the pixel.
fn pixel_info(inspector: &Inspector, query: PathQuery) -> Result<PixelInfo, Error> {
    let samples = query.sample + 1;
    let traced = samples.min(MAX_TRACED);
    let mut surface = String::new();
    let (mut sum, mut squares) = (0.0, 0.0);
    for sample in 0..traced {
        let record = inspector.trace(query.pixel, sample)?;
        if sample == 0 {
            surface = surface_text(&record);
        }
        if !record.rejected {
            let brightness = f64::from(record.radiance.element_sum()) / 3.0;
            sum += brightness;
            squares += brightness * brightness;
        }
    }
    let count = f64::from(traced);
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0) * count / (count - 1.0);
    let error = (variance / f64::from(samples)).sqrt() / mean;
    Ok(PixelInfo {
        pixel: query.pixel,
        samples,
        error: Some(error).filter(|error| error.is_finite()),
        surface,
        view: query.view,
    })
}

/// Returns, as text, the material, instance and primitive that a path hits first, or that it hits only the background.
fn surface_text(record: &PathRecord) -> String {
    let Some(hit) = record
        .vertices
        .first()
        .and_then(|vertex| vertex.hit.as_ref())
    else {
        return "no object: the background".to_owned();
    };
    let instance = hit
        .instance
        .map_or(String::new(), |instance| format!("instance {instance}, "));
    let material = match hit.material.as_str() {
        "" => "no material".to_owned(),
        name => format!("material {:?}", raysieve_scene::escaped(name)),
    };
    format!("{material}, {instance}primitive {}", hit.primitive)
}
