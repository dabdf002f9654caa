//! A render without a window: progress, Ctrl-C, the files and the table at the end.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use indicatif::{
    HumanDuration, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle,
};
use raysieve::{
    Error,
    checkpoint::Checkpoint,
    layers::{Layer, Layers},
    live::{Standing, ViewOptions},
    output::{self, PictureFormat},
    part::Part,
    renderer::Renderer,
    scene::Scene,
    serve::{Outcome, Server},
    sight::{Sight, Sighting},
    stats::Stats,
};

use crate::{
    Ending,
    again::{self, Film, Legacy},
    cli::Outputs,
    note,
    progress::Progress,
    say,
    signals::Signals,
    table,
};

/// Renders all samples, or as many as there are when a signal ends it; writes the files, prints the table.
pub(crate) fn render(
    mut renderer: Renderer,
    scene: &Scene,
    layers: &[Layer],
    outputs: &Outputs,
    checkpoint: Option<Checkpoint>,
    signals: &Signals,
) -> Result<Ending, Error> {
    let spp = scene.spp;
    let mut layers = Layers::trace(scene, layers)?;
    if wants_preview(outputs, &layers) {
        renderer.keep_for_previews();
    }
    let mut checkpoint = checkpoint.map(|file| Keeper { file, told: None });
    let mut progress = Progress::new(&renderer);
    let rendered = advance_until(
        &mut renderer,
        signals.came(),
        &mut progress,
        checkpoint.as_mut(),
    );
    progress.finish();
    tell_notes(&mut renderer, |line| progress.say(line));
    let done = match rendered {
        Err(error) if renderer.has_fallen() => {
            let is_kept = checkpoint
                .as_mut()
                .is_some_and(|keeper| keeper.rescue(&mut renderer, &progress));
            if !signals.have_come() {
                let film = match is_kept {
                    true => Film::InCheckpoint,
                    false => Film::In(output::folder_of(&outputs.picture).to_owned()),
                };
                let legacy = Legacy {
                    film,
                    ..Legacy::default()
                };
                again::go_on(&mut renderer, legacy);
                if let Some(keeper) = checkpoint.filter(|_| is_kept) {
                    keeper.tell_rescued(&renderer);
                }
                return Err(error);
            }
            // It is to end anyway, with what there is.
            false
        }
        rendered => rendered?,
    };
    // Where the picture goes there is the checkpoint until all samples are there. It alone knows whether somebody else has
    // come further meanwhile, such as another job for the same part.
    let is_picture = |keeper: &Keeper| keeper.file.path() == outputs.picture;
    let is_picture = checkpoint.as_ref().is_some_and(is_picture);
    if let Some(keeper) = &mut checkpoint
        && !(done && is_picture)
    {
        // Before the files, so that one that cannot be written costs no render.
        keeper.write(&mut renderer, &progress, "");
    }
    if done {
        let stats = finish(&mut renderer, scene, outputs, &mut layers)?;
        if let Some(noise) = stats.noise.filter(|noise| noise.unfinished > 0) {
            note(&format!(
                "raysieve: {} pixels have {spp} samples and are not good enough yet; a larger --spp lets them go on",
                table::grouped(noise.unfinished.into())
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
            "raysieve: interrupted after {}; the same command goes on from {picture}",
            so_far(&stats, spp)
        ));
        return Ok(Ending::Interrupted);
    }
    let stats = finish(&mut renderer, scene, outputs, &mut layers)?;
    let pixels = stats.size.map(u64::from).iter().product::<u64>();
    let begun = if stats.noise.is_none() && stats.paths > u64::from(stats.spp) * pixels {
        ", some pixels one more"
    } else {
        ""
    };
    let rest = match (&checkpoint, PictureFormat::of(&outputs.picture)) {
        (Some(keeper), _) => format!(
            "; the same command goes on from {}",
            keeper.file.path().display()
        ),
        (None, Some(PictureFormat::Exr)) if stats.noise.is_some() => {
            format!("; to go on from it: --checkpoint {picture}")
        }
        (None, Some(PictureFormat::Exr)) => {
            format!(
                "; to be merged with it: --samples {}",
                renderer.samples_left()
            )
        }
        (None, _) => String::new(),
    };
    note(&format!(
        "raysieve: interrupted; {picture} has {}{begun}{rest}",
        so_far(&stats, spp)
    ));
    Ok(Ending::Interrupted)
}

/// How much of a render there is.
fn so_far(stats: &Stats, spp: u32) -> String {
    match &stats.noise {
        Some(noise) => format!(
            "{:.1} samples a pixel, and {} of its pixels are not good enough yet",
            noise.mean_samples,
            table::grouped(noise.unfinished.into())
        ),
        None => format!("{} of {spp} samples a pixel", stats.spp),
    }
}

/// Shows the render on a page until a signal ends it; then writes the picture, if one is asked for, and prints the table.
pub(crate) fn serve(
    server: Server,
    renderer: Renderer,
    scene: &Arc<Scene>,
    (options, standing): (ViewOptions, Option<Standing>),
    writes_picture: bool,
    outputs: &Outputs,
    signals: &Signals,
) -> Result<Ending, Error> {
    let stopper = server.stopper();
    signals.then(move || stopper.stop());
    note(&format!("page: {}", server.url()));
    let seat = server.seat().clone();
    let (mut renderer, scene) = match server.run(renderer, scene, options, standing)? {
        Outcome::Stopped(renderer, scene) => (*renderer, scene),
        Outcome::Fallen(fallen) => {
            return Err(if signals.have_come() {
                fallen.error
            } else {
                again::go_on_shown(*fallen, Some(seat))
            });
        }
    };
    if !writes_picture {
        return report(&mut renderer, outputs).map(|_| Ending::Done);
    }
    // A preview, or less than a sample, is not what was asked for.
    let (width, height) = scene.size;
    if renderer.stats().size != [width, height] {
        renderer.set_size(width, height)?;
    }
    while renderer.stats().spp == 0 && renderer.advance()? {}
    let stats = finish(
        &mut renderer,
        &scene,
        outputs,
        &mut Layers::trace(&scene, &[])?,
    )?;
    if stats.spp < scene.spp && stats.noise.is_none() {
        note(&format!(
            "{} has {} of {} samples a pixel",
            outputs.picture.display(),
            stats.spp,
            scene.spp
        ));
    }
    Ok(Ending::Done)
}

/// `false` if it was interrupted before the last sample.
fn advance_until(
    renderer: &mut Renderer,
    interrupted: &AtomicBool,
    progress: &mut Progress,
    mut checkpoint: Option<&mut Keeper>,
) -> Result<bool, Error> {
    while !interrupted.load(Ordering::Relaxed) {
        if !renderer.advance()? {
            return Ok(true);
        }
        tell_notes(renderer, |line| progress.say(line));
        progress.update(renderer)?;
        if let Some(keeper) = &mut checkpoint
            && keeper.file.is_due()
        {
            keeper.write(renderer, progress, "; the render goes on");
        }
    }
    Ok(renderer.progress() >= 1.0)
}

/// Says what happened that a user should know.
pub(crate) fn tell_notes(renderer: &mut Renderer, say: impl Fn(&str)) {
    for line in renderer.take_notes() {
        say(&format!("raysieve: {line}"));
    }
}

/// Keeps the checkpoint. What it cannot write ends no render.
struct Keeper {
    file: Checkpoint,
    /// What it could not do the last time.
    told: Option<String>,
}

impl Keeper {
    fn write(&mut self, renderer: &mut Renderer, progress: &Progress, what_then: &str) {
        let problem = self
            .file
            .write(renderer)
            .err()
            .map(|error| error.to_string());
        if let Some(problem) = &problem
            && self.told.as_ref() != Some(problem)
        {
            progress.say(&format!("checkpoint: {problem}{what_then}"));
        }
        self.told = problem;
    }

    /// Writes what is left after all GPUs have failed; whether it is written.
    fn rescue(&mut self, renderer: &mut Renderer, progress: &Progress) -> bool {
        self.write(renderer, progress, "");
        self.told.is_none()
    }

    fn tell_rescued(&self, renderer: &Renderer) {
        if renderer.progress() > 0.0 {
            note(&format!(
                "checkpoint: {} has what was brought to safety; the same command goes on from there",
                self.file.path().display()
            ));
        }
    }
}

/// Whether there is to be a picture with less noise.
fn wants_preview(outputs: &Outputs, layers: &Layers) -> bool {
    let shows = outputs.look.denoise && outputs.sight == Sight::Light;
    shows || layers.wanted.contains(&Layer::Denoised)
}

/// Writes the files and prints the table.
fn finish(
    renderer: &mut Renderer,
    scene: &Scene,
    outputs: &Outputs,
    layers: &mut Layers,
) -> Result<Stats, Error> {
    let counts = match outputs.sight {
        Sight::Samples => renderer.sample_counts()?,
        _ => Vec::new(),
    };
    let part = renderer.part()?;
    let samples = part.claim.samples.of_every_pixel();
    let sighting = Sighting::measure(scene, outputs.sight, samples, &counts)?;
    if wants_preview(outputs, layers) {
        layers.set_preview(renderer.preview()?);
        let picture = outputs.picture.display();
        note(&match layers.preview() {
            Some(_) if outputs.look.denoise => format!(
                "raysieve: {picture} shows a denoised preview, not what was rendered; an .exr would hold that"
            ),
            Some(_) => format!("raysieve: {picture} has a denoised preview beside the picture"),
            None if part.claim.stats.noise.is_some() => format!(
                "raysieve: {picture} is without a denoised preview: with --noise it is known from 32 samples a pixel on what \
                 noise it has"
            ),
            None => format!(
                "raysieve: {picture} is without a denoised preview: what noise it has is told by twice the samples of \
                 some earlier time, two a pixel at least"
            ),
        });
    }
    write_files(&part, outputs, layers, sighting.as_ref())?;
    Ok(part.claim.stats)
}

/// Writes the files and prints the table, the table even if a file cannot be written.
pub(crate) fn write_files(
    part: &Part,
    outputs: &Outputs,
    layers: &Layers,
    sighting: Option<&Sighting>,
) -> Result<(), Error> {
    let stats = &Stats {
        denoise_ms: layers.preview().map(|preview| preview.milliseconds),
        ..part.claim.stats.clone()
    };
    let (picture, look) = (&outputs.picture, outputs.look);
    let picture_written = match sighting {
        Some(sighting) => output::write_sighting(picture, sighting, stats, look),
        None => output::write_picture(picture, part, look, layers),
    };
    let stats_written = write_stats(stats, outputs);
    say(&table::of(stats))?;
    picture_written?;
    say(&format!("picture      {}\n", outputs.picture.display()))?;
    stats_written
}

/// What is left to do when a window has closed: the table and the statistics' file.
pub(crate) fn report(renderer: &mut Renderer, outputs: &Outputs) -> Result<Stats, Error> {
    let stats = renderer.finish()?;
    say(&table::of(&stats))?;
    write_stats(&stats, outputs)?;
    Ok(stats)
}

fn write_stats(stats: &Stats, outputs: &Outputs) -> Result<(), Error> {
    outputs
        .stats
        .as_deref()
        .map_or(Ok(()), |path| output::write_stats(path, stats))
}

pub(crate) const PROGRESS_STEPS: u64 = 10_000;

/// Draws on the standard error, and only if that is a terminal.
pub(crate) fn progress_bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{msg}{wide_bar} {percent:>3} %{time_left}") {
        bar.set_style(style.with_key("time_left", time_left));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Reads a file, and says so on a terminal if it takes longer than a second.
pub(crate) fn reading<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    telling(format!("reading {}", path.display()), read)
}

/// Does something, and says on a terminal what it is if it takes longer than a second.
pub(crate) fn telling<T>(what: String, work: impl FnOnce() -> T) -> T {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{msg}, {elapsed}") {
        line.set_style(style);
    }
    line.set_message(what);
    let shown = &line;
    let (done, waiting) = mpsc::channel::<()>();
    let result = thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(PATIENCE);
            }
        });
        let result = work();
        drop(done);
        result
    });
    line.finish_and_clear();
    result
}

const PATIENCE: Duration = Duration::from_secs(1);

/// Nothing can be said of it before the first wave is done.
pub(crate) fn time_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(text, ", {:#} left", HumanDuration(state.eta()));
    }
}
