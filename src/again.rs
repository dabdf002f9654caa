//! The program starts itself again in place when all GPUs of its process have fallen: the same process and the same command
//! to whoever started it, with the GPUs that are left, and with what was safe.
//!
//! What one start leaves to the next is a file, which an environment variable names, and a part beside it. It leaves out a
//! GPU that has failed, or one that is suspected (see [`Renderer::to_blame`]), which is back once another one has failed for
//! certain. That comes to an end, since no GPUs are started together twice.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
};

use raysieve::{
    Error,
    live::{Fallen, Standing},
    output::write_json,
    part::{Packing, Part},
    renderer::{BackendChoice, Gpu, Renderer},
    scene::Scene,
    serve::Seat,
};
use serde::{Deserialize, Serialize};

use crate::note;

/// Names the file.
const VARIABLE: &str = "RAYSIEVE_AGAIN";
/// By their UUIDs: a driver does not even look at the others then, which may be past answering.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// What a start leaves to the next.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// The process, which stays the same: no other one is meant.
    process: u32,
    gpus: Vec<Gpu>,
    /// The part that was safe, if any of it is not in a checkpoint.
    film: Option<PathBuf>,
    standing: Option<Standing>,
    seat: Option<Seat>,
}

/// What the start before this one has left.
pub(crate) struct Again {
    file: PathBuf,
    state: State,
    film: Option<Part>,
}

/// What is to be left besides the GPUs.
#[derive(Default)]
pub(crate) struct Legacy {
    pub(crate) film: Film,
    pub(crate) standing: Option<Standing>,
    pub(crate) seat: Option<Seat>,
}

/// Where the next start finds what was rendered.
#[derive(Default)]
pub(crate) enum Film {
    /// It begins anew.
    #[default]
    Nowhere,
    InCheckpoint,
    /// In a file in this folder.
    In(PathBuf),
}

/// Makes the renderer, on the GPUs that an earlier start has left, if there was one: whatever else it left comes with it. If
/// one fails before it rendered anything, it starts again with the others: if there was an earlier start, or if it is to
/// render on all, whichever there are.
pub(crate) fn renderer(
    mut again: Option<Again>,
    backend: &BackendChoice,
    make: impl FnOnce(&[Gpu]) -> Result<Renderer, Error>,
) -> Result<(Renderer, Option<Again>), Error> {
    let known = again.as_ref().map_or(&[][..], |again| &again.state.gpus);
    // Now: once one hangs, the driver may answer nothing.
    let all = match backend {
        BackendChoice::AllCuda if again.is_none() => Gpu::all().unwrap_or_default(),
        _ => Vec::new(),
    };
    let error = match make(known) {
        Ok(renderer) => return Ok((renderer, again)),
        Err(error) => error,
    };
    if let Error::Gpu {
        gpu,
        problem,
        leaves_others: true,
    } = &error
    {
        match &mut again {
            Some(again) => {
                let _ = fs::remove_file(&again.file);
                start_without(&mut again.state, gpu, problem);
            }
            None if !all.is_empty() => start_without(&mut State::of(all), gpu, problem),
            None => {}
        }
    }
    Err(error)
}

impl State {
    fn of(gpus: Vec<Gpu>) -> State {
        State {
            process: process::id(),
            gpus,
            film: None,
            standing: None,
            seat: None,
        }
    }
}

/// Leaves out one more, which has failed before it rendered anything. Returns only where that cannot be.
fn start_without(state: &mut State, gpu: &str, problem: &str) {
    let before = state.gpus.clone();
    Gpu::leave_out(&mut state.gpus, gpu, problem);
    let what = format!("{gpu} has failed and is left out");
    let line = told(&what, &before, &state.gpus, "", problem);
    if let Some(standing) = &mut state.standing {
        standing.say(line.clone());
    }
    start(state, &line);
}

impl Again {
    /// Whether there may be something to read.
    pub(crate) fn is_expected() -> bool {
        env::var_os(VARIABLE).is_some()
    }

    /// `None` for a process that begins.
    pub(crate) fn read() -> Result<Option<Again>, Error> {
        let Some(file) = env::var_os(VARIABLE).map(PathBuf::from) else {
            return Ok(None);
        };
        let refused = |problem: String| Error::File {
            file: file.display().to_string(),
            problem: format!("{problem}; start without the variable {VARIABLE}"),
        };
        let text = fs::read(&file).map_err(|error| refused(format!("cannot be read: {error}")))?;
        let state: State = serde_json::from_slice(&text)
            .map_err(|error| refused(format!("is not as it was written: {error}")))?;
        if state.process != process::id() {
            return Ok(None);
        }
        if let Some(name) = env::args_os().next() {
            // Else the process would be known by the name of the link that it was started by.
            let name = Path::new(&name).file_name().unwrap_or_default();
            let _ = fs::write("/proc/self/comm", name.as_encoded_bytes());
        }
        let film = state.film.as_deref().map(Part::read).transpose()?;
        Ok(Some(Again { file, state, film }))
    }

    /// Where a page was.
    pub(crate) fn seat(&self) -> Option<&Seat> {
        self.state.seat.as_ref()
    }

    /// Lets the renderer go on where the other one was, if it has not come as far by itself. Of a render that people look
    /// at it tells how that stood.
    pub(crate) fn resume(
        mut self,
        scene: &Scene,
        renderer: &mut Renderer,
    ) -> Result<Option<Standing>, Error> {
        let standing = self.state.standing.take();
        let done = renderer.samples_done().len();
        let resumed = match (&standing, &self.film) {
            (Some(standing), film) => standing.restore(scene, renderer, film.as_ref()),
            (None, Some(film)) if film.claim.samples.len() > done => renderer.resume(film),
            (None, _) => Ok(()),
        };
        resumed?;
        // The renderer has it now. A file that cannot be removed harms nobody.
        let _ = self.state.film.take().map(fs::remove_file);
        Ok(standing)
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        if let Some(film) = &self.state.film {
            note(&format!(
                "raysieve: {} has what was brought to safety before",
                film.display()
            ));
        }
    }
}

/// The same as [`go_on`] for a render that people looked at, on a page where there is a seat: its error, where it returns.
pub(crate) fn go_on_shown(fallen: Fallen, seat: Option<Seat>) -> Error {
    let Fallen {
        mut renderer,
        error,
        standing,
    } = fallen;
    let legacy = Legacy {
        film: Film::In(env::temp_dir()),
        standing: Some(standing),
        seat,
    };
    go_on(&mut renderer, legacy);
    error
}

/// After all GPUs have fallen: starts the program again with those that are left. Returns only where that cannot be, which
/// it says unless none is left.
pub(crate) fn go_on(renderer: &mut Renderer, legacy: Legacy) {
    let Some(to_blame) = renderer.to_blame().cloned() else {
        return;
    };
    let mut state = State {
        standing: legacy.standing,
        seat: legacy.seat,
        ..State::of(renderer.gpus().to_vec())
    };
    if left(&state.gpus).next().is_none() {
        return;
    }
    let after = match (&legacy.film, renderer.samples_done()) {
        (Film::Nowhere, _) => String::new(),
        (_, done) if done.is_empty() => String::new(),
        (_, done) => format!(", after samples {done}"),
    };
    let what = match to_blame.is_suspect {
        true => format!(
            "GPUs have fallen together, and which it was is not known; {} is suspected and is left out",
            to_blame.name
        ),
        false => format!("{} has failed and is left out", to_blame.name),
    };
    let before = renderer.settings().gpus;
    let problem = to_blame.failure.unwrap_or_default();
    let line = told(&what, &before, &state.gpus, &after, &problem);
    if let Some(standing) = &mut state.standing {
        standing.say(line.clone());
    }
    if let Film::In(folder) = &legacy.film
        && !after.is_empty()
    {
        match write_film(renderer, folder) {
            Ok(film) => state.film = Some(film),
            Err(error) => return refuse(&error.to_string()),
        }
    }
    start(&state, &line);
    let _ = state.film.map(fs::remove_file);
}

fn left(gpus: &[Gpu]) -> impl Iterator<Item = &str> {
    let works = gpus.iter().filter(|gpu| gpu.failure.is_none());
    works.map(|gpu| gpu.uuid.as_str())
}

/// In a line: what happened, and who renders from now on. Who was left out before and is not now was only suspected.
fn told(what: &str, before: &[Gpu], gpus: &[Gpu], after: &str, problem: &str) -> String {
    let is_back = |known: &&Gpu| {
        let now = gpus.iter().find(|gpu| gpu.uuid == known.uuid);
        known.failure.is_some() && now.is_some_and(|gpu| gpu.failure.is_none())
    };
    let back = before.iter().filter(is_back);
    let back: Vec<&str> = back.map(|gpu| &*gpu.name).collect();
    let others = match back[..] {
        [] => "the others".to_owned(),
        _ => format!("the others, {} among them again", back.join(", ")),
    };
    format!("{what}; the program starts again with {others}{after}: {problem}")
}

fn refuse(problem: &str) {
    note(&format!(
        "raysieve: not started again with the GPUs that are left: {problem}"
    ));
}

fn write_film(renderer: &mut Renderer, folder: &Path) -> Result<PathBuf, Error> {
    let part = renderer.part()?;
    let path = unique(folder, ".exr")?;
    part.write(&path, Packing::Fast)?;
    Ok(path)
}

/// A new file that nobody else may read.
fn unique(folder: &Path, ending: &str) -> Result<PathBuf, Error> {
    let made = tempfile::Builder::new()
        .prefix(".raysieve-again-")
        .suffix(ending)
        .tempfile_in(folder)
        .and_then(|file| Ok(file.into_temp_path().keep()?));
    made.map_err(|error| Error::Write {
        path: folder.to_owned(),
        problem: format!("no file for what was safe: {error}"),
    })
}

/// Says the line and starts again. Returns only if that cannot be: it says why, unless none is left.
fn start(state: &State, line: &str) {
    let visible: Vec<&str> = left(&state.gpus).collect();
    if visible.is_empty() {
        return;
    }
    let written =
        unique(&env::temp_dir(), ".json").and_then(|file| write_json(&file, state).map(|()| file));
    match written {
        Ok(file) => {
            note(&format!("raysieve: {line}"));
            refuse(&exec(&file, &visible.join(",")).to_string());
            let _ = fs::remove_file(&file);
        }
        Err(error) => refuse(&error.to_string()),
    }
}

/// Becomes this very program, also if its file has been replaced since. Nothing is taken down before: what the driver has
/// taken along cannot be, and a GPU that hangs would be waited for.
#[cfg(target_os = "linux")]
fn exec(file: &Path, visible: &str) -> io::Error {
    use std::os::unix::process::CommandExt;

    let mut words = env::args_os();
    let name = words.next().unwrap_or_default();
    process::Command::new("/proc/self/exe")
        .arg0(name)
        .args(words)
        .env(VARIABLE, file)
        .env(VISIBLE, visible)
        .exec()
}

#[cfg(not(target_os = "linux"))]
fn exec(_: &Path, _: &str) -> io::Error {
    io::ErrorKind::Unsupported.into()
}
