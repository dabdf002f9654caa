//! Rendering with `--serve`: runs the web page of the viewer until a signal, then writes the files.

use std::sync::Arc;

use raysieve::{inspect::aovs::Aovs, render::renderer::Renderer};
use raysieve_scene::Scene;
use raysieve_viewer::{serve::Server, session::ViewOptions};

use crate::{
    Ending,
    arguments::Outputs,
    error::Error,
    failure,
    headless::{finish, report},
    note,
    signals::Signals,
    table::samples_per_pixel,
};

/// Serves the render as a web page until SIGINT, SIGTERM or SIGHUP arrives, even if the render is complete before. Then
/// writes the image if `writes_picture`, writes the statistics, and prints the table.
///
/// The image contains the samples rendered so far, at least one per pixel. It shows the scene and camera as last
/// rendered, with the look of the command line. Returns [`Ending::Done`], although a signal ended the page.
///
/// # Errors
/// If the render fails, also while the page is served, or if a file cannot be written.
pub(crate) fn show(
    server: Server,
    renderer: Renderer,
    scene: &Arc<Scene>,
    options: ViewOptions,
    writes_picture: bool,
    outputs: &Outputs,
    signals: &Signals,
) -> Result<Ending, Error> {
    let stopper = server.stopper();
    signals.on_first(move || stopper.stop());
    note(&format!("page: {}", server.url()));
    let (ended, last_scene) = server.run(renderer, scene, options)?;
    let mut renderer = *ended.renderer;
    if let Some(error) = ended.error {
        return Err(failure::save_part(
            error.into(),
            &mut renderer,
            Some(scene),
            outputs,
        ));
    }
    let scene = last_scene;
    if !writes_picture {
        return report(&mut renderer, outputs).map(|_| Ending::Done);
    }
    // The image must have the scene's size, not that of a reduced preview, and at least one sample per pixel.
    let (width, height) = scene.size;
    if renderer.stats().size != [width, height] {
        renderer.set_size(width, height)?;
    }
    while renderer.stats().spp == 0 && renderer.advance()? {}
    let stats = finish(
        renderer,
        &scene,
        outputs,
        &mut Aovs::trace(&scene, None, &[])?,
        Some(signals),
    )?;
    if stats.spp < scene.spp && stats.noise.is_none() {
        note(&format!(
            "{} has {} of {} {}",
            outputs.picture.display(),
            stats.spp,
            scene.spp,
            samples_per_pixel(scene.spp)
        ));
    }
    Ok(Ending::Done)
}
