//! The program `raysieve`: parses the command line, then renders a scene in a window, on a web page or headless, or
//! runs a subcommand.

mod address_space;
mod bench;
mod arguments;
mod compare;
mod error;
mod failure;
mod farm;
mod frames;
mod generate;
mod headless;
mod inspect;
mod merge;
#[cfg(feature = "serve")]
mod page;
mod panics;
mod progress;
mod rescue;
mod signals;
mod table;
mod tev;
mod verify;

use std::{
    env,
    io::{self, Write},
    path::Path,
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};

#[cfg(feature = "window")]
use arguments::Outputs;
use arguments::{Arguments, Command, is_image};
use error::Error;
use raysieve::{
    devices,
    render::{
        checkpoint::{Beginning, Checkpoint},
        output,
        renderer::{Ahead, Renderer, Settings},
    },
};
#[cfg(feature = "window")]
use raysieve_scene::Scene;
use raysieve_scene::{atomic_file, memory};
#[cfg(feature = "serve")]
use raysieve_viewer::serve::Server;
#[cfg(feature = "window")]
use raysieve_viewer::{
    session::{Ended, ViewOptions},
    window::{self, Stopper, WindowOutcome},
};
use signals::Signals;
use tev::Tev;

/// The outcome of a run without an error. The discriminant is the exit code of the process: 0 or 130.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Everything that the command line asked for was done, the user closed the window, or a signal ended the page of
    /// `--serve`.
    Done = 0,
    /// A signal ended the run early: SIGINT (Ctrl-C), SIGTERM or SIGHUP. For all three, the exit code is the one that
    /// shells report for a process that Ctrl-C ended.
    Interrupted = 130,
}

fn main() -> ExitCode {
    address_space::spare_if_limited();
    signals::survive_file_size_limit();
    let ended = panics::reported(|| {
        let Some(arguments) = arguments::read()? else {
            return Ok(Ending::Done);
        };
        start_threads()?;
        run(&arguments)
    });
    match ended {
        Some(Ok(ending)) => ExitCode::from(ending as u8),
        Some(Err(error)) => {
            note(&format!("raysieve: {}", error.line()));
            ExitCode::from(error.exit_code())
        }
        None => ExitCode::FAILURE,
    }
}

/// Starts the threads that read scenes, which would panic later if they could not be started. There are fewer of them
/// if a limit of the memory leaves too little for all.
fn start_threads() -> Result<(), Error> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if memory::is_limited() {
        let wished = env::var("RAYON_NUM_THREADS").ok();
        let wished = wished.and_then(|count| count.parse::<usize>().ok());
        let max = wished
            .filter(|&count| count > 0)
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        let of_paths = Settings::default().bytes_per_cpu_thread();
        let fitting = memory::fitting_threads(max, of_paths);
        pool = pool.num_threads(fitting.map_err(|problem| Error::Setting {
            setting: "memory limit".to_owned(),
            problem: format!("{problem}; allow more"),
        })?);
    }
    pool.build_global().map_err(|error| Error::Setting {
        setting: "threads".to_owned(),
        problem: format!(
            "cannot be started: {error}; allow more memory or processes, or set RAYON_NUM_THREADS=1"
        ),
    })
}

/// Runs the subcommand, if the command line has one. Otherwise lists the devices with `--list-devices`, compares two
/// images, writes a scene file with `--write-scene`, or renders the scene or a sequence of frames.
fn run(arguments: &Arguments) -> Result<Ending, Error> {
    match (&arguments.command, &arguments.scene) {
        (Some(Command::Merge(merge)), _) => merge::merge(merge).map(|()| Ending::Done),
        (Some(Command::Verify(verify)), _) => verify::verify(verify).map(|()| Ending::Done),
        (Some(Command::Inspect(inspect)), _) => inspect::inspect(inspect).map(|()| Ending::Done),
        (Some(Command::Farm(arguments)), _) => farm::farm(arguments),
        (Some(Command::Bench(arguments)), _) => bench::bench(arguments),
        (Some(Command::Completions(arguments)), _) => {
            generate::completions(arguments).map(|()| Ending::Done)
        }
        (Some(Command::Man(arguments)), _) => generate::man(arguments).map(|()| Ending::Done),
        (None, Some(scene)) if !arguments.list_devices => {
            if let Some(other) = arguments.compare.as_deref().filter(|_| is_image(scene)) {
                let map = arguments.map_path(scene);
                return compare::compare_files(scene, other, arguments.outputs(scene).look, &map)
                    .map(|()| Ending::Done);
            }
            match (&arguments.write_scene, arguments.frames.frames()) {
                (Some(path), _) => write_scene(arguments, scene, path),
                (None, Some(frames)) => frames::render(arguments, scene, &frames),
                (None, None) => render(arguments, scene),
            }
        }
        _ => print_result(&devices::list()).map(|()| Ending::Done),
    }
}

/// Renders `scene` on a page with `--serve`, in a window if options, build and display allow, and otherwise headless.
///
/// Output paths that cannot be written are reported before the render begins.
fn render(arguments: &Arguments, scene: &Path) -> Result<Ending, Error> {
    let mut outputs = arguments.outputs(scene);
    outputs.check_stats()?;
    if arguments.writes_picture() {
        outputs.check_picture()?;
    }
    if arguments.compare.is_some() && arguments.writes_picture() {
        atomic_file::check_place(&compare::map_path(&outputs.picture))?;
    }
    let has_window = arguments.page.serve.is_none() && arguments.wants_window();
    #[cfg(not(feature = "serve"))]
    if arguments.page.serve.is_some() {
        return Err(Error::Usage(
            "--serve: this build of raysieve cannot serve a page; build it with the feature `serve`"
                .to_owned(),
        ));
    }
    // An address in use is reported before the scene is loaded, which can take long.
    #[cfg(feature = "serve")]
    let bind = |address| Server::bind(address, arguments.page.token());
    #[cfg(feature = "serve")]
    let server = arguments.page.serve.map(bind).transpose()?;
    let tev = arguments.tev.as_deref().map(Tev::connect).transpose()?;
    outputs.oidn = arguments.oidn()?;
    let ahead = Ahead::open(arguments.backend());
    let (scene, samples) = arguments.load_scene(scene)?;
    outputs.look = arguments.look(&scene);
    let read = |path| compare::read(path, scene.size).map(Arc::new);
    outputs.compared = arguments.compare.as_deref().map(read).transpose()?;
    if arguments.writes_picture() {
        outputs.check_apart(&scene)?;
    }
    if let Some((path, _)) = arguments.checkpoint() {
        output::check_apart(path, &scene)?;
    }
    if !has_window {
        arguments.check_memory(&scene)?;
    }
    let scene = Arc::new(scene);
    scene.notes.iter().for_each(|line| note(line));
    let mut renderer = arguments.renderer(&scene, None)?;
    drop(ahead);
    renderer.empty_view().into_iter().for_each(note);
    note(&backend_line(&renderer));
    #[cfg(feature = "serve")]
    if let Some(server) = server {
        let options = arguments.view_options(&outputs);
        let writes = arguments.writes_picture();
        let signals = Signals::watch()?;
        return page::show(
            server, renderer, &scene, options, writes, &outputs, &signals,
        );
    }
    #[cfg(feature = "window")]
    if has_window {
        let options = arguments.view_options(&outputs);
        return show_window(renderer, &scene, options, &outputs);
    }
    let _ = has_window;
    renderer.set_samples(&samples)?;
    let checkpoint = match arguments.checkpoint() {
        Some((path, every)) => Some(open_checkpoint(path, every, &mut renderer)?),
        None => None,
    };
    let layers = arguments.layers();
    let signals = Signals::watch()?;
    headless::render(
        renderer, &scene, layers, &outputs, checkpoint, tev, &signals,
    )
}

/// Writes the model `scene` as a scene file at `path`, which must not exist, and prints that path.
///
/// # Errors
/// If the model cannot be read, or the file exists or cannot be written.
fn write_scene(arguments: &Arguments, scene: &Path, path: &Path) -> Result<Ending, Error> {
    let refuse_existing = || match path.symlink_metadata() {
        Ok(_) => Err(Error::Write {
            path: path.to_owned(),
            problem: "exists, and may contain changes; name another file".to_owned(),
        }),
        Err(_) => Ok(()),
    };
    refuse_existing()?;
    atomic_file::check_place(path)?;
    let text = arguments.scene_text(scene, path)?;
    refuse_existing()?;
    atomic_file::write_whole(path, |file| file.write_all(text.as_bytes()))?;
    print_result(&format!("scene        {}\n", path.display()))?;
    Ok(Ending::Done)
}

/// Renders in a window until the user closes it, or a signal such as that of Ctrl-C on the terminal, after which unsaved
/// edits are kept. Then prints the table and writes the statistics, but no image. Returns [`Ending::Interrupted`] after
/// a signal.
///
/// If no window can be opened, calls [`headless::render`] instead, which writes the image.
///
/// # Errors
/// If the render fails, or a file cannot be written. When every GPU of the render has failed, [`failure::save_part`]
/// saves the film if it can, and extends the error.
#[cfg(feature = "window")]
fn show_window(
    renderer: Renderer,
    scene: &Arc<Scene>,
    options: ViewOptions,
    outputs: &Outputs,
) -> Result<Ending, Error> {
    let signals = Signals::watch()?;
    let receive_stopper = |stopper: Stopper| signals.on_first(move || stopper.stop());
    match window::run(renderer, scene, options, receive_stopper)? {
        WindowOutcome::Closed(Ended {
            mut renderer,
            error: Some(error),
        }) => Err(failure::save_part(
            error.into(),
            &mut renderer,
            Some(scene),
            outputs,
        )),
        WindowOutcome::Closed(Ended { mut renderer, .. }) => {
            headless::report(&mut renderer, outputs)?;
            Ok(match signals.were_received() {
                true => Ending::Interrupted,
                false => Ending::Done,
            })
        }
        WindowOutcome::NoWindow { renderer, reason } => {
            note(&format!(
                "no window: {reason}; rendering to {}",
                outputs.picture.display()
            ));
            outputs.check_picture()?;
            outputs.check_apart(scene)?;
            if outputs.compared.is_some() {
                atomic_file::check_place(&compare::map_path(&outputs.picture))?;
            }
            headless::render(*renderer, scene, &[], outputs, None, None, &signals)
        }
    }
}

/// Returns a line such as `backend: cuda, NVIDIA H200 (cuda:0)`. With `--backend auto`, the reason for the choice
/// follows.
fn backend_line(renderer: &Renderer) -> String {
    format!(
        "backend: {}, {}",
        renderer.stats().backend,
        renderer.backend_line()
    )
}

/// Opens the checkpoint at `path`, loads its film into the renderer if the file exists, and prints which samples the
/// film contains. With `--noise` it prints their mean number per pixel instead. `every` is the minimum time between two
/// checkpoints during the render.
///
/// A damaged checkpoint is renamed, and the render starts from the beginning. Only the last three damaged files are
/// kept. Also removes temporary files that killed processes left for this path.
///
/// # Errors
/// If no file can be written at `path`, or if the file there is not a checkpoint of this render. Also if a damaged file
/// cannot be renamed.
fn open_checkpoint(
    path: &Path,
    every: Duration,
    renderer: &mut Renderer,
) -> Result<Checkpoint, Error> {
    atomic_file::check_place(path)?;
    let (checkpoint, beginning) = Checkpoint::begin(path, every, renderer)?;
    let path = path.display();
    match beginning {
        Beginning::Anew => {}
        Beginning::After(samples) => {
            let after = match renderer.stats().noise {
                Some(noise) => format!("{:.1} samples per pixel", noise.mean_samples),
                None => format!("samples {samples}"),
            };
            note(&format!("checkpoint: {path}, continuing after {after}"));
        }
        Beginning::Damaged {
            kept,
            removed,
            problem,
        } => {
            let older = match removed {
                0 => "",
                _ => " (only the last three damaged ones are)",
            };
            note(&format!(
                "checkpoint: {path} is damaged: {problem}; it is kept as {}{older}, and the render starts from the beginning",
                kept.display()
            ));
        }
    }
    Ok(checkpoint)
}

/// Prints a line to standard error. Ignores failures, so that a closed standard error does not end a render.
fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints `text` to standard output, without adding a line break. A closed pipe is not an error.
///
/// # Errors
/// [`Error::Write`] if the text cannot be written for another reason, for example because the disk is full.
fn print_result(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    check_output(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of writing to standard output. A closed pipe is not an error.
fn check_output(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Write {
            path: "the standard output".into(),
            problem: match atomic_file::is_full_disk(&error) {
                true => format!(
                    "not written: {error}; {}",
                    atomic_file::write_remedy(&error)
                ),
                false => format!("not written: {error}; redirect it elsewhere"),
            },
        }),
        _ => Ok(()),
    }
}
