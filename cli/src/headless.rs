//! Headless rendering: checkpoints, Ctrl-C, and the files and the table at the end.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::error::Error;
use raysieve::{
    film::picture::comparison::Compared,
    inspect::aovs::{Aov, Aovs},
    inspect::debug_view::{DebugImage, DebugView},
    render::stats::Stats,
    render::{
        checkpoint::Checkpoint,
        oidn::{GUIDES, Oidn},
        output::{self, PictureFormat},
        part::Part,
        renderer::Renderer,
    },
    stages::Preview,
};
use raysieve_scene::{Scene, atomic_file::write_whole};
use raysieve_viewer::overlay::{self, FigureFormat};

use crate::{
    Ending,
    arguments::Outputs,
    compare::{compare, map_path},
    failure, note, print_result,
    progress::Progress,
    rescue,
    signals::Signals,
    table,
    tev::{Tev, TevImage},
};

/// Renders all samples, or stops early at SIGINT, SIGTERM or SIGHUP. Then writes the files and prints the table.
///
/// With `tev`, the image is shown there while it grows. After a signal before the first sample, nothing is written. If
/// image and checkpoint are the same file, an interrupted render leaves the checkpoint there. A failure to write the
/// checkpoint is printed and does not end the render.
///
/// When all GPUs have failed, the CPU continues if the backend was chosen automatically and there is no checkpoint. A
/// line says so.
///
/// # Errors
/// If the render fails, or if the image or the statistics cannot be written. When all GPUs have failed and the CPU does
/// not continue, the error names the command that continues or starts again.
pub(crate) fn render(
    mut renderer: Renderer,
    scene: &Scene,
    layers: &[Aov],
    outputs: &Outputs,
    checkpoint: Option<Checkpoint>,
    tev: Option<Tev>,
    signals: &Signals,
) -> Result<Ending, Error> {
    let spp = scene.spp;
    let mut layers = Aovs::trace(scene, renderer.trees(), layers)?;
    let name = outputs.picture.display().to_string();
    let mut tev = TevImage::create(tev, name, scene.size, &layers);
    if wants_preview(outputs, &layers) && outputs.oidn.is_none() {
        renderer.keep_for_previews();
    }
    let mut checkpoint = checkpoint.map(|file| CheckpointWriter {
        file,
        last_problem: None,
    });
    let mut progress = Progress::new(&renderer);
    let rendered = loop {
        let rendered = advance_until(
            &mut renderer,
            signals.received(),
            &mut progress,
            checkpoint.as_mut(),
            (&mut tev, &mut layers),
        );
        let rendered = rendered.and_then(|done| {
            tev.update(&mut renderer, &mut layers)?;
            Ok(done)
        });
        match rendered {
            // With a checkpoint, the same command continues on GPUs, and a farm repeats it.
            Err(Error::Render(error))
                if checkpoint.is_none()
                    && renderer.has_automatic_backend()
                    && renderer.all_gpus_failed() =>
            {
                match renderer.continue_on_cpu(&error, scene) {
                    Ok(on_cpu) => renderer = on_cpu,
                    Err(why) => {
                        progress.print(&format!("the CPU cannot continue: {why}"));
                        break Err(Error::Render(error));
                    }
                }
                print_notes(&mut renderer, |line| progress.print(line));
                progress.finish();
                progress = Progress::new(&renderer);
            }
            rendered => break rendered,
        }
    };
    progress.finish();
    print_notes(&mut renderer, |line| progress.print(line));
    let done = match rendered {
        Err(error) => {
            return Err(match &mut checkpoint {
                Some(writer) => failure::save_checkpoint(error, &mut renderer, &mut writer.file),
                None => failure::save_part(error, &mut renderer, None, outputs),
            });
        }
        Ok(done) => done,
    };
    // If the checkpoint has the path of the image, the file stays a checkpoint until the render is complete. Only the
    // checkpoint notices that another process, such as a second job for the same part, has saved more samples there.
    let is_picture = |writer: &CheckpointWriter| writer.file.path() == outputs.picture;
    let is_picture = checkpoint.as_ref().is_some_and(is_picture);
    if let Some(writer) = &mut checkpoint
        && !(done && is_picture)
    {
        // Written first, so that the samples are kept even if one of the files cannot be written.
        if let Err(error) = writer.write(&mut renderer, &progress, "") {
            return Err(failure::save_checkpoint(
                error,
                &mut renderer,
                &mut writer.file,
            ));
        }
    }
    // A checkpoint contains the samples already, or the render of a part that its job repeats.
    let is_safe = checkpoint
        .as_ref()
        .is_some_and(|writer| is_picture || writer.last_problem.is_none());
    let rescue = (!is_safe).then_some(signals);
    if done {
        let stats = finish(renderer, scene, outputs, &mut layers, rescue)?;
        if let Some(noise) = stats.noise.filter(|noise| noise.unconverged_pixels > 0) {
            note(&format!(
                "raysieve: {} pixels have {spp} samples and have not converged; a larger --spp continues them",
                table::grouped(noise.unconverged_pixels.into())
            ));
        }
        return Ok(Ending::Done);
    }
    let picture = outputs.picture.display();
    if renderer.progress() == 0.0 {
        note(&format!(
            "raysieve: interrupted before the first sample; {picture} is not written"
        ));
        return Ok(Ending::Interrupted);
    }
    if is_picture {
        let stats = report(&mut renderer, outputs)?;
        note(&format!(
            "raysieve: interrupted after {}; the same command continues from {picture}",
            samples_so_far(&stats, spp)
        ));
        return Ok(Ending::Interrupted);
    }
    let left = renderer.samples_left();
    let stats = finish(renderer, scene, outputs, &mut layers, rescue)?;
    let pixels = stats.size.map(u64::from).iter().product::<u64>();
    let begun = if stats.noise.is_none() && stats.paths > u64::from(stats.spp) * pixels {
        ", and one more in some pixels"
    } else {
        ""
    };
    let rest = match (&checkpoint, PictureFormat::of(&outputs.picture)) {
        (Some(writer), _) => format!(
            "; the same command continues from {}",
            writer.file.path().display()
        ),
        (None, _) if outputs.region.is_some() => String::new(),
        (None, Some(PictureFormat::Exr)) if stats.noise.is_some() => {
            format!("; continue from it with --checkpoint {picture}")
        }
        (None, Some(PictureFormat::Exr)) => {
            format!("; render the remaining samples with --samples {left} and merge them")
        }
        (None, _) => String::new(),
    };
    note(&format!(
        "raysieve: interrupted; {picture} has {}{begun}{rest}",
        samples_so_far(&stats, spp)
    ));
    Ok(Ending::Interrupted)
}

/// Returns text about the samples of an interrupted render, such as `12 of 64 samples per pixel`. `spp` is the
/// requested number. With `--noise`, the text gives the mean number and how many pixels have not converged.
fn samples_so_far(stats: &Stats, spp: u32) -> String {
    match &stats.noise {
        Some(noise) => format!(
            "{:.1} samples per pixel, and {} of its pixels have not converged",
            noise.mean_samples,
            table::grouped(noise.unconverged_pixels.into())
        ),
        None => format!("{} of {spp} {}", stats.spp, table::samples_per_pixel(spp)),
    }
}

/// Renders in steps of up to a second until all samples are done or `interrupted` is set. Writes checkpoints when
/// they are due, and shows the image and its layers in tev. Returns whether all samples are done.
fn advance_until(
    renderer: &mut Renderer,
    interrupted: &AtomicBool,
    progress: &mut Progress,
    mut checkpoint: Option<&mut CheckpointWriter>,
    (tev, layers): (&mut TevImage, &mut Aovs),
) -> Result<bool, Error> {
    while !interrupted.load(Ordering::Relaxed) {
        if !renderer.advance()? {
            return Ok(true);
        }
        print_notes(renderer, |line| progress.print(line));
        progress.update(renderer)?;
        if let Some(writer) = &mut checkpoint
            && writer.file.is_due()
        {
            writer.write(renderer, progress, "; the render continues")?;
        }
        if tev.is_due() {
            tev.update(renderer, layers)?;
        }
    }
    Ok(renderer.progress() >= 1.0)
}

/// Passes each pending note of the renderer to `print`, such as the failure of one of several GPUs, after the prefix
/// `raysieve: `. The renderer returns each note only once.
pub(crate) fn print_notes(renderer: &mut Renderer, print: impl Fn(&str)) {
    for line in renderer.take_notes() {
        print(&format!("raysieve: {line}"));
    }
}

/// The checkpoint of a headless render. If it cannot be written, the error is printed, and the render continues.
struct CheckpointWriter {
    file: Checkpoint,
    /// The error message of the last attempt to write the checkpoint. `None` if that attempt succeeded or there was
    /// none. An identical message is not printed twice in a row.
    last_problem: Option<String>,
}

impl CheckpointWriter {
    /// Writes the film to the checkpoint. If that fails, prints the error with `consequence` appended, unless the last
    /// attempt failed with the same error.
    ///
    /// # Errors
    /// All GPUs have failed, so that the render cannot continue.
    fn write(
        &mut self,
        renderer: &mut Renderer,
        progress: &Progress,
        consequence: &str,
    ) -> Result<(), Error> {
        let written = self.file.write(renderer);
        if renderer.all_gpus_failed() {
            return Ok(written?);
        }
        let problem = written.err().map(|error| error.to_string());
        if let Some(problem) = &problem
            && self.last_problem.as_ref() != Some(problem)
        {
            progress.print(&format!("checkpoint: {problem}{consequence}"));
        }
        self.last_problem = problem;
        Ok(())
    }
}

/// Returns whether the output files need a denoised image: as the PNG of `--denoise`, or as a layer of the EXR.
fn wants_preview(outputs: &Outputs, layers: &Aovs) -> bool {
    let displays = outputs.look.denoise && outputs.debug_view == DebugView::Light;
    displays || layers.requested.contains(&Aov::Denoised)
}

/// Ends the render with the samples that are done, writes image and statistics, prints the table, and returns the
/// statistics.
///
/// If the files need a denoised image, adds it to `layers`. A note on standard error says whether there were enough
/// samples to denoise. `rescue` is that of [`write_files`].
pub(crate) fn finish(
    mut renderer: Renderer,
    scene: &Scene,
    outputs: &Outputs,
    layers: &mut Aovs,
    rescue: Option<&Signals>,
) -> Result<Stats, Error> {
    let counts = match outputs.debug_view {
        DebugView::Samples => renderer.sample_counts()?,
        _ => Vec::new(),
    };
    let samples = renderer.samples_done().min_samples();
    let debug_image = DebugImage::compute(scene, outputs.debug_view, samples, &counts)?;
    if wants_preview(outputs, layers) {
        let preview = match &outputs.oidn {
            Some(oidn) => denoise_by(oidn, &mut renderer, scene)?,
            None => renderer.preview()?,
        };
        layers.set_preview(preview);
        if let Some(line) = denoising_note(&renderer.stats(), outputs, layers)
            && !outputs.has_said_denoised
        {
            note(&line);
        }
    }
    let part = renderer.into_part()?;
    write_files(&part, outputs, layers, debug_image.as_ref(), rescue)?;
    Ok(part.header.stats)
}

/// Returns the image denoised by Open Image Denoise, which albedo and normal of the scene guide. If that fails, prints
/// the error and returns `None`, because the render is worth more than its denoising.
///
/// # Errors
/// If the film cannot be read, or if albedo and normal cannot be traced.
fn denoise_by(
    oidn: &Oidn,
    renderer: &mut Renderer,
    scene: &Scene,
) -> Result<Option<Preview>, Error> {
    let guides = Aovs::trace(scene, renderer.trees(), &GUIDES)?;
    let denoised = oidn.denoise(&renderer.picture()?, &guides);
    Ok(denoised.map_or_else(
        |error| {
            note(&format!(
                "raysieve: {}; the image is not denoised",
                error.line()
            ));
            None
        },
        Some,
    ))
}

/// Returns a line about the denoised image that the files contain, or why they lack it. Returns `None` if Open Image
/// Denoise has failed, whose error is printed.
fn denoising_note(stats: &Stats, outputs: &Outputs, layers: &Aovs) -> Option<String> {
    let picture = outputs.picture.display();
    let is_layer = layers.requested.contains(&Aov::Denoised);
    let (preview, failed) = match outputs.oidn {
        Some(_) => ("an image denoised by Open Image Denoise", true),
        None => ("a denoised preview", false),
    };
    let line = match layers.preview() {
        Some(_) if is_layer => format!("contains {preview} as an additional layer"),
        Some(_) => {
            format!("contains {preview} instead of the rendered image, which an .exr contains")
        }
        None if failed => return None,
        None if stats.noise.is_some() => {
            "contains no denoised preview: with --noise, the noise is unknown below 32 samples per pixel"
                .to_owned()
        }
        None => "contains no denoised preview: too few samples to estimate the noise, which takes at least 2 per pixel"
            .to_owned(),
    };
    Some(format!("raysieve: {picture} {line}"))
}

/// Writes the image and the statistics, and compares the image with that of `--compare`. Prints the table to standard
/// output, even if a file cannot be written, unless the image is a frame of a sequence.
///
/// If there is a `debug_image`, it is written as a PNG instead of the film, so the image's path must end in `.png`.
/// With `rescue`, the signals of this process, a render whose image cannot be written is kept: see [`rescue::keep`]. On
/// a full disk, the other files wait for space, too.
pub(crate) fn write_files(
    part: &Part,
    outputs: &Outputs,
    layers: &Aovs,
    debug_image: Option<&DebugImage>,
    rescue: Option<&Signals>,
) -> Result<(), Error> {
    let stats = &Stats {
        denoise_ms: layers.preview().map(|preview| preview.milliseconds),
        ..part.header.stats.clone()
    };
    let (picture, look) = (&outputs.picture, outputs.look);
    let write_picture = || {
        let written = match (debug_image, outputs.region) {
            (None, Some(region)) => output::write_region(picture, part, region, look, layers),
            (Some(image), _) => {
                output::write_debug_image(picture, image, stats, &|display, stats| {
                    overlay::draw_legend(display, &image.legend);
                    overlay::annotate(display, stats, look);
                })
            }
            (None, None) => {
                output::write_picture(picture, part, look, layers, &|display, stats| {
                    overlay::annotate(display, stats, look);
                })
            }
        };
        written.map_err(Error::from)
    };
    // The part of a region cannot be merged, and a debug view is no render.
    let is_whole = outputs.region.is_none() && debug_image.is_none();
    let picture_written = write_picture().or_else(|error| match rescue {
        Some(signals) => rescue::keep(
            error,
            part,
            is_whole,
            outputs,
            layers,
            signals,
            write_picture,
        ),
        None => Err(error),
    });
    let write_or_wait = |what, write: &dyn Fn() -> Result<(), Error>| {
        write().or_else(|error| match rescue {
            Some(signals) => rescue::wait_for_space(error, what, signals, write),
            None => Err(error),
        })
    };
    let stats_written = write_or_wait("the statistics are", &|| write_stats(stats, outputs));
    if outputs.prints_table {
        print_result(&table::final_table(stats))?;
    }
    picture_written?;
    print_result(&format!("image        {}\n", outputs.picture.display()))?;
    if let Some(other) = &outputs.compared {
        let rendered = part.picture();
        write_or_wait("the error map is", &|| {
            let rendered = Compared::Picture(&rendered, layers.alpha());
            compare(rendered, other, look, &map_path(picture))
        })?;
    }
    stats_written
}

/// Ends a render that writes no image: prints the table, writes the statistics file if `--stats` names one, and returns
/// the statistics.
pub(crate) fn report(renderer: &mut Renderer, outputs: &Outputs) -> Result<Stats, Error> {
    let stats = renderer.finish()?;
    print_result(&table::final_table(&stats))?;
    write_stats(&stats, outputs)?;
    Ok(stats)
}

/// Writes the statistics as JSON to the file of `--stats`, and the figures of the overlay to that of `--figures`,
/// atomically, and replaces existing files. Does nothing without these options.
fn write_stats(stats: &Stats, outputs: &Outputs) -> Result<(), Error> {
    if let Some(path) = &outputs.stats {
        output::write_stats(path, stats)?;
    }
    if let Some((path, format)) = outputs
        .figures
        .as_deref()
        .and_then(|path| Some((path, FigureFormat::of(path)?)))
    {
        let figures = overlay::export(stats, format);
        write_whole(path, |file| file.write_all(figures.as_bytes()))?;
    }
    Ok(())
}
