//! The command line: what may be asked for, checked before any work.

use std::path::{Path, PathBuf};

use clap::{
    CommandFactory, FromArgMatches, Parser,
    builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser},
};
use compaction::Strategy;
use raysieve::{
    Error,
    output::{self, Look, PictureFormat},
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
    window::{self, WindowOptions},
};

/// Renders a scene by wavefront path tracing, live in a window or into a picture.
///
/// Every bounce traces a batch of rays and sieves it by stream compaction: the rays that missed and the paths that ended
/// leave the batch. The picture grows as you look, with the counts and times of every bounce laid over it.
///
/// With an NVIDIA GPU it renders there, without one on the CPU, to the same bits. With a display it opens a window;
/// without one it writes a PNG named after the scene into the current folder, and prints the same statistics.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "raysieve",
    version,
    override_usage = "raysieve SCENE [OPTIONS]\n       raysieve --list-devices",
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// Scene to render, a .ron file
    #[arg(value_name = "SCENE", value_parser = scene_path(), required_unless_present = "list_devices")]
    pub(crate) scene: Option<PathBuf>,

    /// Where to render: auto (the first usable GPU, else the CPU), cpu, cuda, or cuda:N (the GPU of number N)
    #[arg(long, value_name = "BACKEND", value_parser = backend, default_value = "auto", help_heading = "Rendering")]
    backend: BackendChoice,

    /// Picture size in pixels, such as 1920x1080 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, help_heading = "Rendering")]
    size: Option<(u32, u32)>,

    /// Samples a pixel [default: the scene's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    spp: Option<u32>,

    /// Times that a path may scatter; 0 shows only what the camera sees shine [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    max_bounces: Option<u32>,

    /// Seed of all random numbers: another seed, other noise [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    seed: Option<u32>,

    /// How the rays are sieved; any strategy gives the same picture
    #[arg(long, value_name = "STRATEGY", value_parser = strategy(), default_value_t,
        help_heading = "Rendering")]
    compaction: Strategy,

    /// Paths in flight, per thread on the CPU and in all on a GPU; any number gives the same picture [default: what the
    /// backend is fastest with]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    wave_size: Option<u32>,

    /// Threads of the CPU, 1 to 1024 [default: one for each that it runs at a time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Rendering")]
    threads: Option<u16>,

    /// Open no window, even with a display
    #[arg(long, help_heading = "Output")]
    headless: bool,

    /// Picture to write: .png (8-bit sRGB) or .exr (linear 32-bit float); implies --headless [default: ./SCENE.png]
    #[arg(short, long, value_name = "FILE", value_parser = picture_path(), help_heading = "Output")]
    output: Option<PathBuf>,

    /// Statistics to write, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = stats_path(), help_heading = "Output")]
    stats: Option<PathBuf>,

    /// Draw the statistics on the PNG too
    #[arg(long, help_heading = "Output")]
    overlay: bool,

    /// Exposure of the window and the PNG in stops, -32 to 32: one more is twice as bright
    #[arg(long, value_name = "STOPS", value_parser = exposure, default_value_t = 0.0, allow_negative_numbers = true,
        help_heading = "Output")]
    exposure: f32,

    /// List what can render on this machine, and end
    #[arg(long, help_heading = "Output")]
    pub(crate) list_devices: bool,
}

const EXAMPLES: &str = "\
Examples:
  raysieve scenes/cornell.ron
          in a window; without a display, into cornell.png
  raysieve scenes/cornell.ron --size 1024x1024 --spp 256 -o box.exr --stats box.json
          into a picture in linear light, with its statistics
  raysieve scenes/mesh.ron --backend cpu --compaction off --headless --overlay
          into mesh.png with the statistics drawn on it, on the CPU and without a sieve";

const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  the render failed, or a file could not be written
    2  wrong usage, or a wrong scene
  130  ended by Ctrl-C: the picture is written, with the samples that it has";

/// Reads the command line; `None` if it asked for the help or the version, which are then printed.
pub(crate) fn read() -> Result<Option<Arguments>, Error> {
    let matches = Arguments::command()
        .after_help(
            "raysieve --help tells more, with examples, the keys of the window and the exit codes.",
        )
        .after_long_help(format!(
            "{EXAMPLES}\n\n{}\n\n{EXIT_CODES}",
            keys_of_the_window()
        ))
        .try_get_matches();
    match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => Ok(Some(arguments)),
        Err(error) if error.use_stderr() => Err(Error::Usage(one_line(&error.to_string()))),
        Err(help) => {
            // Nobody is left to tell when the reader has gone away.
            let _ = help.print();
            Ok(None)
        }
    }
}

impl Arguments {
    /// Whether to try a window.
    pub(crate) fn wants_window(&self) -> bool {
        !self.headless && self.output.is_none()
    }

    /// The scene, with what the command line says otherwise.
    pub(crate) fn load_scene(&self, path: &Path) -> Result<Scene, Error> {
        let mut scene = Scene::load(path)?;
        scene.size = self.size.unwrap_or(scene.size);
        scene.spp = self.spp.unwrap_or(scene.spp);
        scene.max_bounces = self.max_bounces.unwrap_or(scene.max_bounces);
        scene.seed = self.seed.unwrap_or(scene.seed);
        scene.check_settings()?;
        Ok(scene)
    }

    /// The scene on its backend.
    pub(crate) fn renderer(&self, scene: &Scene) -> Result<Renderer, Error> {
        let settings = Settings {
            backend: self.backend,
            strategy: self.compaction,
            wave_size: self.wave_size,
            threads: self.threads.map(usize::from),
        };
        Renderer::new(scene, &settings).map_err(|error| match (self.backend, error) {
            (
                BackendChoice::Cuda(number),
                Error::Compaction(missing @ compaction::Error::NoDevice { .. }),
            ) => Error::Setting {
                setting: format!("--backend cuda:{number}"),
                problem: format!("{missing}; use --backend cpu"),
            },
            (_, error) => error,
        })
    }

    /// How a window begins.
    pub(crate) fn window_options(&self) -> WindowOptions {
        WindowOptions {
            exposure_stops: self.exposure,
            strategy: self.compaction,
            keep_size: self.size.is_some(),
        }
    }

    /// The files to write for the scene of this path.
    pub(crate) fn outputs(&self, scene: &Path) -> Outputs {
        let named_by_scene =
            || Path::new(scene.file_stem().unwrap_or_default()).with_added_extension("png");
        Outputs {
            picture: self.output.clone().unwrap_or_else(named_by_scene),
            stats: self.stats.clone(),
            look: Look {
                exposure_stops: self.exposure,
                overlay: self.overlay,
            },
        }
    }
}

/// The files that a render is to leave.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    /// Written by a render without a window.
    pub(crate) picture: PathBuf,
    pub(crate) stats: Option<PathBuf>,
    pub(crate) look: Look,
}

impl Outputs {
    /// Finds before the render what would keep the picture from being written after it.
    pub(crate) fn check_picture(&self) -> Result<(), Error> {
        output::check_place(&self.picture)
    }

    /// Finds before the render what would keep the statistics from being written after it.
    pub(crate) fn check_stats(&self) -> Result<(), Error> {
        self.stats.as_deref().map_or(Ok(()), output::check_place)
    }
}

fn keys_of_the_window() -> String {
    let mut text = "In the window:".to_owned();
    for (key, action) in window::keys() {
        text.push_str(&format!("\n  {key:<12}{action}"));
    }
    text
}

/// What clap says over several lines, in one.
fn one_line(message: &str) -> String {
    let said = message.strip_prefix("error: ").unwrap_or(message);
    let mut line = String::new();
    for part in said.lines().map(str::trim) {
        if part.starts_with("Usage:") {
            break;
        }
        // How to pass a dash at the head of a value: no option here takes such a one.
        let beside_the_point = part.starts_with("tip: to pass") || part.starts_with("For more");
        if part.is_empty() || beside_the_point {
            continue;
        }
        if !line.is_empty() {
            line.push_str(if line.ends_with(':') { " " } else { "; " });
        }
        line.push_str(part.strip_prefix("tip: ").unwrap_or(part));
    }
    line + "; see raysieve --help"
}

/// A path, in any encoding, that ends as it should.
fn path_ending(
    good: fn(&Path) -> bool,
    otherwise: &'static str,
) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| {
        if good(&path) {
            Ok(path)
        } else {
            Err(otherwise)
        }
    })
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

fn scene_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(|path| ends_with(path, "ron"), "a scene is a .ron file")
}

fn picture_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        |path| PictureFormat::of(path).is_some(),
        "a picture is a .png or an .exr file",
    )
}

fn stats_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        |path| ends_with(path, "json"),
        "statistics are a .json file",
    )
}

fn backend(text: &str) -> Result<BackendChoice, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(BackendChoice::Auto),
        None if text == "cpu" => Ok(BackendChoice::Cpu),
        None if text == "cuda" => Ok(BackendChoice::Cuda(0)),
        Some(("cuda", number)) => number.parse().map(BackendChoice::Cuda).map_err(|_| {
            "the number of a GPU is expected after \"cuda:\", such as cuda:0".to_owned()
        }),
        _ => Err("known are auto, cpu, cuda and cuda:N".to_owned()),
    }
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((0, _) | (_, 0)) => Err("a picture has at least one pixel a side".to_owned()),
        Some(sides) => Ok(sides),
        None => Err("width and height in pixels are expected, such as 1920x1080".to_owned()),
    }
}

fn strategy() -> impl TypedValueParser<Value = Strategy> {
    let names = Strategy::ALL.iter().map(|strategy| strategy.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Strategy>())
}

fn exposure(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(stops) if (-32.0..=32.0).contains(&stops) => Ok(stops),
        _ => Err("a number of stops from -32 to 32 is expected".to_owned()),
    }
}
