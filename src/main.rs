//! The program: reads the command line, loads the scene, renders in a window or without one.

mod again;
mod bench;
mod cli;
mod farm;
mod headless;
mod inspect;
mod merge;
mod progress;
mod signals;
mod table;
mod verify;

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use again::Again;
use cli::{Arguments, Command};
use raysieve::{
    Error,
    checkpoint::{Beginning, Checkpoint},
    devices, output,
    renderer::{Ahead, Renderer},
    serve::Server,
    window::{self, Outcome},
};
use signals::Signals;

/// How a run ended that did not fail; the number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done = 0,
    /// As a shell reports a process that Ctrl-C ended.
    Interrupted = 130,
}

fn main() -> ExitCode {
    signals::outlive_file_limits();
    match cli::read()
        .and_then(|arguments| arguments.map_or(Ok(Ending::Done), |arguments| run(&arguments)))
    {
        Ok(ending) => ExitCode::from(ending as u8),
        Err(error) => {
            note(&format!("raysieve: {}", error.line()));
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<Ending, Error> {
    match (&arguments.command, &arguments.scene) {
        (Some(Command::Merge(merge)), _) => merge::merge(merge).map(|()| Ending::Done),
        (Some(Command::Verify(verify)), _) => verify::verify(verify).map(|()| Ending::Done),
        (Some(Command::Inspect(inspect)), _) => inspect::inspect(inspect).map(|()| Ending::Done),
        (Some(Command::Farm(arguments)), _) => farm::farm(arguments),
        (Some(Command::Bench(arguments)), _) => bench::bench(arguments),
        (None, Some(scene)) if !arguments.list_devices => render(arguments, scene),
        _ => say(&devices::list()).map(|()| Ending::Done),
    }
}

fn render(arguments: &Arguments, scene: &Path) -> Result<Ending, Error> {
    let mut outputs = arguments.outputs(scene);
    outputs.check_stats()?;
    if arguments.writes_picture() {
        outputs.check_picture()?;
    }
    let has_window = arguments.serve.is_none() && arguments.wants_window();
    // Before anything else: what was safe is not to be lost by a signal.
    let signals = match Again::is_expected() && !has_window {
        true => Some(Signals::watch()?),
        false => None,
    };
    let again = Again::read()?;
    // Before the scene is read, which may take long.
    let seat = again.as_ref().and_then(|again| again.seat().cloned());
    let server = match (arguments.serve, seat) {
        (Some(_), Some(seat)) => Some(Server::bind_again(seat)?),
        (address, _) => address.map(Server::bind).transpose()?,
    };
    // Where GPUs have failed, which of them are well is not known here.
    let ahead = again.is_none().then(|| Ahead::open(arguments.backend()));
    let (scene, samples) = arguments.load_scene(scene)?;
    outputs.look = arguments.look(&scene);
    if arguments.writes_picture() {
        outputs.check_apart(&scene)?;
    }
    if let Some((path, _)) = arguments.checkpoint() {
        output::check_apart(path, &scene)?;
    }
    let scene = Arc::new(scene);
    scene.notes.iter().for_each(|line| note(line));
    let make = |left: &[_]| arguments.renderer(&scene, left);
    let (mut renderer, again) = again::renderer(again, arguments.backend(), make)?;
    drop(ahead);
    note(&backend_line(&renderer));
    let watch = || signals.map_or_else(Signals::watch, Ok);
    let options = arguments.view_options(outputs.look);
    if server.is_none() && !has_window {
        renderer.set_samples(&samples)?;
        let checkpoint = match arguments.checkpoint() {
            Some((path, every)) => Some(begin(path, every, &mut renderer)?),
            None => None,
        };
        if let Some(again) = again {
            again.resume(&scene, &mut renderer)?;
        }
        let layers = arguments.layers();
        return headless::render(renderer, &scene, layers, &outputs, checkpoint, &watch()?);
    }
    let standing = match again {
        Some(again) => again.resume(&scene, &mut renderer)?,
        None => None,
    };
    if let Some(server) = server {
        let writes = arguments.writes_picture();
        let view = (options, standing);
        return headless::serve(server, renderer, &scene, view, writes, &outputs, &watch()?);
    }
    match window::run(renderer, &scene, options, standing)? {
        Outcome::Closed { mut renderer } => {
            headless::report(&mut renderer, &outputs).map(|_| Ending::Done)
        }
        Outcome::Fallen(fallen) => Err(again::go_on_shown(*fallen, None)),
        Outcome::NoWindow { renderer, reason } => {
            note(&format!(
                "no window: {reason}; rendering into {}",
                outputs.picture.display()
            ));
            outputs.check_picture()?;
            outputs.check_apart(&scene)?;
            headless::render(renderer, &scene, &[], &outputs, None, &watch()?)
        }
    }
}

fn backend_line(renderer: &Renderer) -> String {
    format!(
        "backend: {}, {}",
        renderer.stats().backend,
        renderer.backend_line()
    )
}

/// Goes on from the checkpoint, if there is one, and says so.
fn begin(path: &Path, every: Duration, renderer: &mut Renderer) -> Result<Checkpoint, Error> {
    output::check_place(path)?;
    let (checkpoint, beginning) = Checkpoint::begin(path, every, renderer)?;
    let path = path.display();
    match beginning {
        Beginning::Anew => {}
        Beginning::After(samples) => {
            let after = match renderer.stats().noise {
                Some(noise) => format!("{:.1} samples a pixel", noise.mean_samples),
                None => format!("samples {samples}"),
            };
            note(&format!("checkpoint: {path}, going on after {after}"));
        }
        Beginning::Damaged { kept, problem } => note(&format!(
            "checkpoint: {path} is damaged: {problem}; it is kept as {}, and the render begins anew",
            kept.display()
        )),
    }
    Ok(checkpoint)
}

/// A line for the person who runs the program, apart from its results. One that nobody can read stops no render.
fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints results. That their reader has seen enough and gone away is no error.
fn say(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Write {
            path: "the standard output".into(),
            problem: format!("not written: {error}; send it elsewhere"),
        }),
        _ => Ok(()),
    }
}
