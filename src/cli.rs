//! The command line: what may be asked for, checked before any work.

mod bench;
mod farm;
mod inspect;
mod machine;
mod merge;
mod output;
mod scene;
mod values;
mod verify;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};
use raysieve::{
    Error,
    layers::Layer,
    live::{self, ViewOptions},
    output::{Look, PictureFormat},
    part::Samples,
    renderer::{BackendChoice, Gpu, Renderer},
    scene::Scene,
    serve::Address,
    sight::Sight,
};

pub(crate) use self::{
    bench::{Bench, Method},
    farm::{Engine, Farm},
    inspect::Inspect,
    merge::Merge,
    output::Outputs,
    verify::Verify,
};
use self::{
    machine::Machine,
    output::LookArguments,
    scene::{SampleRange, SceneArguments, check_hash},
    values::{
        duration, noise, part_path, picture_path, sample_range, scene_hash, scene_path, sight,
        stats_path,
    },
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
    override_usage = "raysieve SCENE [OPTIONS]\n       raysieve merge PART... -o FILE\n       \
                      raysieve verify PICTURE [SCENE]\n       raysieve inspect SCENE X,Y\n       \
                      raysieve farm SCENE -o FILE\n       raysieve bench [SCENE...]\n       raysieve --list-devices",
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Scene to render, a .ron file, or a model, a .glb, .gltf, .obj or .ply file
    #[arg(value_name = "SCENE", value_parser = scene_path(), required_unless_present = "list_devices")]
    pub(crate) scene: Option<PathBuf>,

    /// Samples a pixel [default: the scene's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    spp: Option<u32>,

    /// Stop at each pixel that is good enough: at an estimated error of this part of what it shows, such as 0.01, 0.0001
    /// to 1; after --spp samples at the latest [default: every pixel gets --spp]
    #[arg(long, value_name = "ERROR", value_parser = noise, allow_negative_numbers = true, conflicts_with = "samples",
        help_heading = "Rendering")]
    noise: Option<f32>,

    #[command(flatten)]
    settings: SceneArguments,

    /// Samples to render of every pixel, from A on and before B, to be merged with others; implies --headless
    /// [default: 0..SPP]
    #[arg(long, value_name = "A..B", value_parser = sample_range, requires = "output", help_heading = "Rendering")]
    samples: Option<SampleRange>,

    /// Render only what has this scene_hash, as an .exr of it says: a scene that was changed is refused [default: as it
    /// is]
    #[arg(long, value_name = "HASH", value_parser = scene_hash, help_heading = "Rendering")]
    scene_hash: Option<String>,

    #[command(flatten)]
    machine: Machine,

    /// Open no window, even with a display
    #[arg(long, help_heading = "Output")]
    headless: bool,

    /// Show the render on a page for browsers, at an address and port of this machine such as 127.0.0.1:8080, and
    /// open no window; other machines reach only another address, such as 0.0.0.0:8080, with the token that the
    /// printed URL has [default: a free port of this machine alone]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "0",
        conflicts_with_all = ["samples", "checkpoint", "layers"], help_heading = "Output")]
    pub(crate) serve: Option<Address>,

    /// Show something else than the light, in false colours, in the window, on the page or as a PNG
    #[arg(long = "view", value_name = "VIEW", value_parser = sight(), default_value = Sight::default().name(),
        help_heading = "Output")]
    sight: Sight,

    /// Picture to write: .png (8-bit sRGB) or .exr (linear 32-bit float); implies --headless [default: ./SCENE.png]
    #[arg(short, long, value_name = "FILE", value_parser = picture_path(), help_heading = "Output")]
    output: Option<PathBuf>,

    /// Layers to write beside the picture into the .exr: of what the camera sees first albedo, normal and depth; samples;
    /// and denoised, the picture with less noise
    #[arg(
        long,
        value_name = "LAYERS",
        value_delimiter = ',',
        requires = "output",
        help_heading = "Output"
    )]
    layers: Vec<Layer>,

    /// Statistics to write, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = stats_path(), help_heading = "Output")]
    stats: Option<PathBuf>,

    #[command(flatten)]
    look: LookArguments,

    /// Show a preview with less noise in the window, on the page and as the PNG, which says so; an .exr has the light as
    /// it is
    #[arg(long, help_heading = "Output")]
    denoise: bool,

    /// Write the film to this .exr from time to time, and go on from there when started again; implies --headless
    #[arg(long, value_name = "FILE", value_parser = part_path(), help_heading = "Output")]
    checkpoint: Option<PathBuf>,

    /// Time between two checkpoints, such as 30s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", requires = "checkpoint",
        help_heading = "Output")]
    every: Duration,

    /// List what can render on this machine, and end
    #[arg(long, help_heading = "Output")]
    pub(crate) list_devices: bool,
}

/// What else the program does than to render a scene.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    Merge(Merge),
    Verify(Verify),
    Inspect(Inspect),
    Farm(Box<Farm>),
    Bench(Bench),
}

const EXAMPLES: &str = "\
Examples:
  raysieve scenes/cornell.ron
          in a window; without a display, into cornell.png
  raysieve model.glb
          a model on its own, framed and lit
  raysieve scenes/cornell.ron --size 1024x1024 --spp 256 -o box.exr --stats box.json
          into a picture in linear light, with its statistics
  raysieve scenes/mesh.ron --backend cpu --compaction off --headless --overlay
          into mesh.png with the statistics drawn on it, on the CPU and without a sieve
  raysieve scenes/cornell.ron --noise 0.01 --spp 16384 -o box.exr
          until each pixel is about 1 % from the truth, or has 16384 samples
  raysieve scenes/mesh.ron --backend cuda:all -o mesh.exr
          on all GPUs of the machine, to the bits of one
  raysieve scenes/cornell.ron --serve 127.0.0.1:8080
          on a page for browsers, also through a tunnel: ssh -L 8080:localhost:8080 HOST
  raysieve scenes/mesh.ron --spp 100000 -o mesh.exr --checkpoint mesh-so-far.exr
          a long one: whatever ends it, the same command goes on with it
  raysieve scenes/mesh.ron --samples 0..32 -o a.exr
  raysieve scenes/mesh.ron --samples 32..64 -o b.exr
  raysieve merge a.exr b.exr -o mesh.exr
          in two parts, which may come from two machines
  raysieve farm scenes/mesh.ron --spp 65536 --parts 64 -o mesh.exr
          in 64 parts on the machines of a Slurm cluster
  raysieve verify mesh.exr
          renders it again and compares every bit
  raysieve inspect scenes/cornell.ron 256,300
          why a pixel looks as it does: one of its paths, bounce by bounce
  raysieve bench
          what the sieve is worth on this machine, bounce by bounce";

const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  the render failed, a file could not be written, a picture does not hold, or a bench is slower than before
    2  wrong usage, or a wrong scene
  130  ended by Ctrl-C: the picture is written, with the samples that it has; a second Ctrl-C
       ends it at once, without; a page of --serve ends with 0";

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
    let arguments = matches.and_then(|matches| {
        let mut arguments = Arguments::from_arg_matches(&matches)?;
        if let (Some(Command::Farm(farm)), Some(("farm", given))) =
            (&mut arguments.command, matches.subcommand())
        {
            farm.machine = given_options::<Machine>(given);
            farm.changed = given_options::<SceneArguments>(given);
        }
        Ok(arguments)
    });
    match arguments {
        Ok(arguments) => arguments.check().map(|()| Some(arguments)),
        Err(error) if error.use_stderr() => Err(Error::Usage(problem(&error))),
        Err(help) => {
            // Nobody is left to tell when the reader has gone away.
            let _ = help.print();
            Ok(None)
        }
    }
}

/// The options of a group as they were given, to be given again.
fn given_options<Group: Args>(matches: &ArgMatches) -> Vec<String> {
    let group = Group::augment_args(clap::Command::new("group"));
    let mut words = Vec::new();
    for option in group.get_arguments() {
        let (id, name) = (option.get_id().as_str(), option.get_long());
        if let Some(name) = name
            && matches.value_source(id) == Some(ValueSource::CommandLine)
        {
            words.push(format!("--{name}"));
            let values = matches.get_raw(id).into_iter().flatten();
            words.extend(values.map(|value| value.to_string_lossy().into_owned()));
        }
    }
    words
}

impl Arguments {
    fn check(&self) -> Result<(), Error> {
        let is_picture = self.command.is_none() && self.serve.is_none() && self.writes_picture();
        if is_picture && self.denoise && self.sight != Sight::Light {
            return Err(Error::Usage(format!(
                "--denoise is for the light, and with --view {} the picture shows something else; leave one of them out",
                self.sight.name()
            )));
        }
        match (&self.command, &self.output) {
            (Some(Command::Merge(merge)), _) => merge.check(),
            (None, Some(output)) => {
                self.look.check(output)?;
                if self.denoise && PictureFormat::of(output) == Some(PictureFormat::Exr) {
                    return Err(Error::Usage(format!(
                        "--denoise is for a .png, and {} holds the light as it is; use --layers denoised to add the \
                         preview to it, or name a .png",
                        output.display()
                    )));
                }
                if !self.layers.is_empty() && PictureFormat::of(output) == Some(PictureFormat::Png)
                {
                    return Err(Error::Usage(format!(
                        "--layers is for an .exr, and {} has no room for them; leave it out or name an .exr",
                        output.display()
                    )));
                }
                if self.sight != Sight::Light
                    && PictureFormat::of(output) == Some(PictureFormat::Exr)
                {
                    return Err(Error::Usage(format!(
                        "--view is for a .png, and {} holds the light as it is; leave it out or name a .png",
                        output.display()
                    )));
                }
                Ok(())
            }
            (Some(Command::Farm(farm)), _) => farm.check(),
            (Some(Command::Verify(_) | Command::Inspect(_) | Command::Bench(_)) | None, _) => {
                Ok(())
            }
        }
    }

    /// Whether to try a window.
    pub(crate) fn wants_window(&self) -> bool {
        !self.headless && self.output.is_none() && self.checkpoint.is_none()
    }

    /// Whether a picture is asked for, or all that there would be.
    pub(crate) fn writes_picture(&self) -> bool {
        self.output.is_some() || self.serve.is_none() && !self.wants_window()
    }

    /// The scene, with what the command line says otherwise, and the samples to render of it.
    pub(crate) fn load_scene(&self, path: &Path) -> Result<(Scene, Samples), Error> {
        let mut scene = self.settings.load(path, self.spp)?;
        if let Some(expected) = &self.scene_hash {
            check_hash(&scene, expected)?;
        }
        let pixel_count = scene.size.0 * scene.size.1;
        let samples = match &self.samples {
            None => Samples::first(scene.spp, pixel_count),
            Some(range) => {
                let samples = range.of(&scene, pixel_count)?;
                scene.spp = samples.of_any_pixel();
                scene.check_settings()?;
                samples
            }
        };
        Ok((scene, samples))
    }

    /// Where the render writes down how far it has come, and how often.
    pub(crate) fn checkpoint(&self) -> Option<(&Path, Duration)> {
        self.checkpoint.as_deref().map(|path| (path, self.every))
    }

    /// Where to render.
    pub(crate) fn backend(&self) -> &BackendChoice {
        self.machine.backend()
    }

    /// The scene on its backend; on those of these GPUs that have not failed, if an earlier start has left any.
    pub(crate) fn renderer(&self, scene: &Scene, gpus: &[Gpu]) -> Result<Renderer, Error> {
        let mut renderer = self.machine.renderer_on(scene, gpus)?;
        if self.noise.is_some() {
            renderer.set_noise(self.noise)?;
        }
        Ok(renderer)
    }

    /// How a window begins, or a page.
    pub(crate) fn view_options(&self, look: Look) -> ViewOptions {
        ViewOptions {
            look,
            sight: self.sight,
            strategy: self.machine.compaction,
            keep_size: self.settings.size.is_some(),
            changes: self.settings.changes(self.spp),
            noise: self.noise,
            // Who wants one scene alone wants no other.
            watches: self.scene_hash.is_none(),
        }
    }

    /// How the scene is shown.
    pub(crate) fn look(&self, scene: &Scene) -> Look {
        self.look.look(Look {
            exposure_stops: scene.exposure_stops,
            tone: scene.tone,
            overlay: false,
            denoise: self.denoise,
        })
    }

    /// What to write beside the picture.
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The files to write for the scene of this path, in the look of any scene.
    pub(crate) fn outputs(&self, scene: &Path) -> Outputs {
        let named_by_scene =
            || Path::new(scene.file_stem().unwrap_or_default()).with_added_extension("png");
        Outputs {
            picture: self.output.clone().unwrap_or_else(named_by_scene),
            stats: self.stats.clone(),
            look: self.look.look(Look::default()),
            sight: self.sight,
        }
    }
}

fn keys_of_the_window() -> String {
    let mut text = "In the window, and on the page of --serve:".to_owned();
    for (key, action) in live::controls() {
        text.push_str(&format!("\n  {key:<16}{action}"));
    }
    text.push_str("\n\nKept for the next window, where the platform keeps settings ($XDG_CONFIG_HOME/raysieve/window.ron):");
    text.push_str("\n  how much of the statistics is shown, and the size that a window was given");
    text
}

/// What is wrong, in one line.
fn problem(error: &clap::Error) -> String {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        // Anything behind a scene that is no option.
        (ErrorKind::ArgumentConflict, Some(ContextValue::String(found))) => format!(
            "'{found}' cannot stand there: one scene is rendered at a time, and merge, verify, inspect, farm or bench come first \
             of all; see raysieve --help"
        ),
        _ => one_line(&error.to_string()),
    }
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
