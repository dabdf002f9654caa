//! The program: reads the command line, loads the scene, renders in a window or without one.

mod cli;
mod headless;
mod table;

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use cli::Arguments;
use raysieve::{
    Error, devices,
    window::{self, Outcome},
};

/// How a run ended that did not fail; the number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done = 0,
    /// As a shell reports a process that Ctrl-C ended.
    Interrupted = 130,
}

fn main() -> ExitCode {
    match cli::read()
        .and_then(|arguments| arguments.map_or(Ok(Ending::Done), |arguments| run(&arguments)))
    {
        Ok(ending) => ExitCode::from(ending as u8),
        Err(error) => {
            note(&format!("raysieve: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<Ending, Error> {
    match &arguments.scene {
        Some(scene) if !arguments.list_devices => render(arguments, scene),
        _ => say(&devices::list()).map(|()| Ending::Done),
    }
}

fn render(arguments: &Arguments, scene: &Path) -> Result<Ending, Error> {
    let outputs = arguments.outputs(scene);
    outputs.check_stats()?;
    if !arguments.wants_window() {
        outputs.check_picture()?;
    }
    let scene = arguments.load_scene(scene)?;
    scene.notes.iter().for_each(|line| note(line));
    let renderer = arguments.renderer(&scene)?;
    note(&format!(
        "backend: {}, {}",
        renderer.stats().backend,
        renderer.backend_line()
    ));
    if !arguments.wants_window() {
        return headless::render(renderer, scene.spp, &outputs);
    }
    match window::run(renderer, &scene, arguments.window_options())? {
        Outcome::Closed { renderer } => headless::report(renderer, &outputs).map(|()| Ending::Done),
        Outcome::NoWindow { renderer, reason } => {
            note(&format!(
                "no window: {reason}; rendering into {}",
                outputs.picture.display()
            ));
            outputs.check_picture()?;
            headless::render(renderer, scene.spp, &outputs)
        }
    }
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
