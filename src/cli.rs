//! The command line: what may be asked for, checked before any work.

mod farm;
mod values;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};
use compaction::select::Strategy;
use raysieve::{
    Error,
    layers::Layer,
    live::{self, ViewOptions},
    output::{self, Look, PictureFormat},
    part::{Place, Samples},
    renderer::{BackendChoice, Gpu, Partition, Renderer, Settings},
    scene::{Changes, Scene},
    serve::Address,
    sight::Sight,
    tone::Tone,
};

pub(crate) use self::farm::{Engine, Farm};
use self::values::{
    bench_path, chart_path, clamp, duration, exposure, method, noise, part_path, partition,
    patience, percentage, picture_path, pixel, sample_range, scene_hash, scene_path, sight, size,
    stats_path, strategy, tone, track_path, whole_range,
};
use crate::headless::{reading, telling};

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

/// Adds up parts of a render, to the bits of one go
///
/// A part is an .exr that raysieve wrote: a render of some --samples, a render that Ctrl-C ended, a checkpoint, or what
/// was merged before.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve merge PART... -o FILE [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve scenes/cornell.ron --samples 0..32 -o a.exr
  raysieve scenes/cornell.ron --samples 32..64 -o b.exr
  raysieve merge a.exr b.exr -o box.exr
          renders 64 samples a pixel in two parts, on two machines if you like; box.exr has the bits of one go
  raysieve merge box.exr -o box.png --exposure 1
          shows it as a PNG"
)]
pub(crate) struct Merge {
    /// Parts to add, .exr files of one render
    #[arg(value_name = "PART", value_parser = part_path(), required = true)]
    pub(crate) parts: Vec<PathBuf>,

    /// File to write: .exr (a part again) or .png (8-bit sRGB)
    #[arg(short, long, value_name = "FILE", value_parser = picture_path())]
    pub(crate) output: PathBuf,

    /// Let samples be missing between the parts
    #[arg(long)]
    pub(crate) allow_gaps: bool,

    /// Samples that the parts must be together, no fewer and no more, such as 0..64 [default: what they are]
    #[arg(long, value_name = "A..B", value_parser = whole_range, conflicts_with = "allow_gaps")]
    samples: Option<Range<Place>>,

    /// Merge only parts that show the scene of this scene_hash [default: that of the first]
    #[arg(long, value_name = "HASH", value_parser = scene_hash)]
    pub(crate) scene_hash: Option<String>,

    /// Wait until the parts are there and hold the samples of --samples
    #[arg(long, requires = "samples")]
    pub(crate) wait: bool,

    /// Statistics of all parts together to write, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = stats_path())]
    stats: Option<PathBuf>,

    #[command(flatten)]
    look: LookArguments,
}

/// Renders a picture's samples again, and says whether its bits hold
///
/// Exit code 0 says that they do, 1 that they do not, with the first pixel that differs; 2 that there was nothing to
/// compare with.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve verify PICTURE [SCENE] [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve verify box.exr
          renders box.exr again by the scene that it names
  raysieve verify from-the-farm.exr scenes/cornell.ron
          where the scene lies elsewhere on this machine
  raysieve verify box.exr --pixels 10%
          a tenth of its pixels, in a tenth of the time"
)]
pub(crate) struct Verify {
    /// Picture to verify, an .exr that raysieve wrote
    #[arg(value_name = "PICTURE", value_parser = part_path())]
    pub(crate) picture: PathBuf,

    /// Scene that it shows, a .ron file or a model [default: the one that it names]
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: Option<PathBuf>,

    /// Compare only this part of the pixels, spread over the picture by chance, such as 10% [default: 100%]
    #[arg(long, value_name = "PART", value_parser = percentage)]
    pub(crate) pixels: Option<f64>,

    /// Which pixels those are; a number that a run with --pixels told repeats it [default: by chance]
    #[arg(long, value_name = "N", requires = "pixels")]
    pub(crate) pick: Option<u32>,

    #[command(flatten)]
    pub(crate) machine: Machine,
}

/// Tells what happened to one path, bounce by bounce
///
/// Where it went, what it met, what it carried, what light it found and what the light that it looked for brought; and
/// where the sieve took it out, and why. Its light is, to the last bit, the sample that a render puts onto the film.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve inspect SCENE X,Y [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve inspect scenes/cornell.ron 256,300
          the first path of the pixel in column 256 and row 300, from the upper left
  raysieve inspect scenes/cornell.ron 256,300 --sample 63 --json path.json
          the last of 64, and into a file"
)]
pub(crate) struct Inspect {
    /// Scene that it is in, a .ron file or a model
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: PathBuf,

    /// Pixel that it is of: column and row from the upper left, such as 256,300
    #[arg(value_name = "X,Y", value_parser = pixel)]
    pub(crate) pixel: (u32, u32),

    /// Which of the pixel's samples it is, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) sample: u32,

    #[command(flatten)]
    settings: SceneArguments,

    /// Write it to this file too, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = track_path(), help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
}

impl Inspect {
    /// The scene, with what the command line says otherwise.
    pub(crate) fn load_scene(&self) -> Result<Scene, Error> {
        self.settings.load(&self.scene, None)
    }
}

/// What of a scene the command line may say otherwise, but for its samples.
#[derive(Args, Clone, Debug)]
struct SceneArguments {
    /// Picture size in pixels, such as 1920x1080 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, help_heading = "Rendering")]
    size: Option<(u32, u32)>,

    /// Times that a path may scatter; 0 shows only what the camera sees shine [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    max_bounces: Option<u32>,

    /// Most that light scattered more than once may add to a sample, against bright specks; the picture gets darker by
    /// what is cut off [default: the scene's, else no limit]
    #[arg(long, value_name = "RADIANCE", value_parser = clamp, help_heading = "Rendering")]
    clamp_indirect: Option<f32>,

    /// Seed of all random numbers: another seed, other noise [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    seed: Option<u32>,
}

impl SceneArguments {
    /// The scene, with what is said here otherwise, and so many samples.
    fn load(&self, path: &Path, spp: Option<u32>) -> Result<Scene, Error> {
        let mut scene = reading(path, || Scene::load(path))?;
        scene.change(&self.changes(spp))?;
        Ok(scene)
    }

    /// What is said here, and so many samples.
    fn changes(&self, spp: Option<u32>) -> Changes {
        Changes {
            size: self.size,
            spp,
            max_bounces: self.max_bounces,
            clamp_indirect: self.clamp_indirect,
            seed: self.seed,
        }
    }
}

/// Measures what the sieve is worth: every strategy, bounce by bounce, beside none
///
/// Each scene is rendered with each strategy in turn, round after round, so that what disturbs the machine disturbs all
/// alike; and with a megakernel, which traces each path in one go, without stages and without a sieve. The tables are Markdown: the time of a frame and its spread, how many times as fast as without a sieve (off),
/// and for every bounce the paths that live and the time of its stages. The film must be the same every time.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve bench [SCENE...] [OPTIONS]\n       raysieve bench --from FILE [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve bench
          cornell, spheres and mesh of the folder scenes/, where they are
  raysieve bench scenes/cornell.ron --size 1024x1024 --spp 256 --strategies look-back,off
          one scene, and of the strategies only two
  raysieve bench --json before.json
  raysieve bench --compare before.json
          before a change and after it: exit code 1 if a strategy is slower on a scene
  raysieve bench --from before.json --plot before.svg
          the tables once more and a chart, nothing measured

When it is slower:
  A strategy is slower where the median of its frames takes more than 5 % longer than it did, and the noise on top of
  that. The noise of a run is three times the median absolute deviation of its frames, over their median: two standard
  deviations of a normal distribution. Both runs' noise counts, as the root of the sum of squares. A run of one round
  has no spread that could be measured, and counts as free of noise.

Ctrl-C:
  Ends it after the rounds that are whole: their tables are printed, and the files written of them.

What the rays alone are:
  Rays over the time of their stage, which reads and writes the state of the paths too: intersect of bounce 0 for rays
  from the camera, of bounce 1 for those that were scattered once, and shadow of all bounces."
)]
pub(crate) struct Bench {
    /// Scenes to render, .ron files or models [default: cornell, spheres and mesh of ./scenes]
    #[arg(value_name = "SCENE", value_parser = scene_path(), conflicts_with = "from")]
    pub(crate) scenes: Vec<PathBuf>,

    /// Picture size in pixels, such as 1024x1024 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, conflicts_with = "from")]
    pub(crate) size: Option<(u32, u32)>,

    /// Samples a pixel [default: what makes some 4 million paths a frame on the CPU, 256 million on a GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "from")]
    pub(crate) spp: Option<u32>,

    /// Frames of each strategy that are measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 5,
        conflicts_with = "from")]
    pub(crate) rounds: u32,

    /// Frames of each strategy before those, which do not count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000), default_value_t = 1,
        conflicts_with = "from")]
    pub(crate) warm_up: u32,

    /// Strategies to measure, a partition by material, and the megakernel [default: all]
    #[arg(long, value_name = "STRATEGIES", value_delimiter = ',', value_parser = method(), conflicts_with = "from")]
    strategies: Vec<Method>,

    #[command(flatten)]
    device: Device,

    /// Show what was measured before, a .json file that --json wrote, and measure nothing
    #[arg(long, value_name = "FILE", value_parser = bench_path(),
        conflicts_with_all = ["backend", "wave_size", "threads", "patience", "keep_every"])]
    pub(crate) from: Option<PathBuf>,

    /// Write what was measured, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = bench_path(), help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Compare with what was measured before on the same machine, a .json file that --json wrote; exit code 1 if it is
    /// slower now
    #[arg(long, value_name = "FILE", value_parser = bench_path(), help_heading = "Output")]
    pub(crate) compare: Option<PathBuf>,

    /// Draw a chart of it, an .svg file [default: none]
    #[arg(long, value_name = "FILE", value_parser = chart_path(), help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
}

impl Bench {
    /// What is measured, in the order of the tables.
    pub(crate) fn methods(&self) -> Vec<Method> {
        let wanted =
            |method: &Method| self.strategies.is_empty() || self.strategies.contains(method);
        Method::all().filter(wanted).collect()
    }

    /// The scene on its backend.
    pub(crate) fn renderer(&self, scene: &Scene) -> Result<Renderer, Error> {
        let (strategy, partition) = (Strategy::default(), Partition::Off);
        self.device.renderer(scene, strategy, partition, &[])
    }
}

/// How a frame is rendered: stage by stage with a sieve between them, or each path in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Sieve(Strategy),
    /// By the default strategy, hits ordered by material before they are shaded.
    Partition,
    Megakernel,
}

impl Method {
    fn all() -> impl Iterator<Item = Method> {
        let sieves = Strategy::ALL.iter().copied().map(Method::Sieve);
        sieves.chain([Method::Partition, Method::Megakernel])
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Sieve(strategy) => strategy.name(),
            Method::Partition => "partition",
            Method::Megakernel => "megakernel",
        }
    }
}

/// What renders, and how; none of it changes the picture.
#[derive(Args, Clone, Debug)]
pub(crate) struct Machine {
    #[command(flatten)]
    device: Device,

    /// How the rays are sieved; any strategy gives the same picture
    #[arg(long, value_name = "STRATEGY", value_parser = strategy(), default_value_t,
        help_heading = "Rendering")]
    compaction: Strategy,

    /// Order hits by the kind of material before they are shaded: auto (on a GPU where it pays, as a few waves tell), on
    /// or off; the picture is the same
    #[arg(long, value_name = "WHEN", value_parser = partition(), default_value = Partition::default().name(),
        help_heading = "Rendering")]
    order_hits: Partition,
}

/// What renders, and how much of it.
#[derive(Args, Clone, Debug)]
struct Device {
    /// Where to render: auto (the first usable GPU, else the CPU), cpu, cuda:all (all GPUs side by side), cuda:N (the
    /// GPU of number N, 0 if not said) or cuda:N,N (some of them)
    #[arg(long, value_name = "BACKEND", value_parser = str::parse::<BackendChoice>, default_value = "auto", help_heading = "Rendering")]
    backend: BackendChoice,

    /// Paths in flight, per thread on the CPU and in all on a GPU; any number gives the same picture [default: what the
    /// backend is fastest with]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    wave_size: Option<u32>,

    /// Threads of the CPU, 1 to 1024 [default: one for each that it runs at a time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Rendering")]
    threads: Option<u16>,

    /// Time that a wave gets on a GPU before that counts as hung, and is left out where there are others, such as 30s or
    /// 2m; a wave gets a hundred times what the last one took if that is more, and the first a second for a million rays;
    /// the same for each step in which a GPU is opened [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = patience, help_heading = "Rendering")]
    patience: Option<Duration>,

    /// Time between two copies of what several GPUs have rendered to this machine's memory, such as 2s: as much is rendered
    /// again at most when one fails [default: 2s, more where that takes long]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Rendering")]
    keep_every: Option<Duration>,
}

/// How a PNG shows the light.
#[derive(Args, Clone, Debug)]
struct LookArguments {
    /// Draw the statistics on the PNG too
    #[arg(long, help_heading = "Output")]
    overlay: bool,

    /// Exposure of the window and the PNG in stops, -32 to 32: one more is twice as bright [default: the
    /// scene's]
    #[arg(long, value_name = "STOPS", value_parser = exposure, allow_negative_numbers = true,
        help_heading = "Output")]
    exposure: Option<f32>,

    /// Tone curve of the window and the PNG: how what is brighter than the screen is shown [default: the
    /// scene's]
    #[arg(long, value_name = "CURVE", value_parser = tone(), help_heading = "Output")]
    tone: Option<Tone>,
}

impl LookArguments {
    /// What is not said is as in `own`.
    fn look(&self, own: Look) -> Look {
        Look {
            exposure_stops: self.exposure.unwrap_or(own.exposure_stops),
            tone: self.tone.unwrap_or(own.tone),
            overlay: self.overlay,
            denoise: own.denoise,
        }
    }

    /// An EXR takes no look.
    fn check(&self, output: &Path) -> Result<(), Error> {
        let given = match self {
            _ if PictureFormat::of(output) != Some(PictureFormat::Exr) => return Ok(()),
            LookArguments { overlay: true, .. } => "--overlay",
            LookArguments {
                exposure: Some(_), ..
            } => "--exposure",
            LookArguments { tone: Some(_), .. } => "--tone",
            _ => return Ok(()),
        };
        Err(Error::Usage(format!(
            "{given} is for a .png, and {} holds the light as it is; leave it out or name a .png",
            output.display()
        )))
    }
}

/// Where samples begin and end; what is left open is where the scene's do.
#[derive(Clone, Copy, Debug)]
struct SampleRange {
    start: Option<Place>,
    end: Option<Place>,
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

/// Whether the scene is the one that was asked for.
fn check_hash(scene: &Scene, expected: &str) -> Result<(), Error> {
    let found = scene.hash();
    if found == expected {
        return Ok(());
    }
    Err(Error::File {
        file: scene.path.display().to_string(),
        problem: format!(
            "has scene_hash {found}, not {expected}: it or its files have changed since; put back what was there, or \
             render what is there now anew"
        ),
    })
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
            (Some(Command::Merge(merge)), _) => merge.look.check(&merge.output),
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

impl Merge {
    /// The samples that the parts must be together, of a picture of so many pixels.
    pub(crate) fn samples(&self, pixel_count: u32) -> Result<Option<Samples>, Error> {
        let of = |range: &Range<Place>| samples_between(range.start, range.end, pixel_count);
        self.samples.as_ref().map(of).transpose()
    }

    /// The files to write.
    pub(crate) fn outputs(&self) -> Outputs {
        Outputs {
            picture: self.output.clone(),
            stats: self.stats.clone(),
            look: self.look.look(Look::default()),
            sight: Sight::Light,
        }
    }
}

impl Machine {
    /// Where to render.
    pub(crate) fn backend(&self) -> &BackendChoice {
        &self.device.backend
    }

    /// The scene on its backend; on those of these GPUs that have not failed, if an earlier start has left any.
    pub(crate) fn renderer_on(&self, scene: &Scene, gpus: &[Gpu]) -> Result<Renderer, Error> {
        let (strategy, partition) = (self.compaction, self.order_hits);
        self.device.renderer(scene, strategy, partition, gpus)
    }
}

impl Device {
    fn renderer(
        &self,
        scene: &Scene,
        strategy: Strategy,
        partition: Partition,
        gpus: &[Gpu],
    ) -> Result<Renderer, Error> {
        let settings = Settings {
            backend: self.backend.clone(),
            strategy,
            partition,
            wave_size: self.wave_size,
            threads: self.threads.map(usize::from),
            keep_every: self.keep_every,
            patience: self.patience,
            gpus: gpus.to_vec(),
        };
        let what = format!("building the trees of {}", scene.path.display());
        telling(what, || Renderer::new(scene, &settings)).map_err(|error| {
            match (&self.backend, error) {
                (
                    BackendChoice::Cuda(_) | BackendChoice::SomeCuda(_) | BackendChoice::AllCuda,
                    Error::Compaction(missing @ compaction::Error::NoDevice { .. }),
                ) => Error::Setting {
                    setting: format!("--backend {}", self.backend),
                    problem: format!("{missing}; use --backend cpu"),
                },
                (_, error) => error,
            }
        })
    }
}

impl SampleRange {
    /// These samples of the scene.
    fn of(&self, scene: &Scene, pixel_count: u32) -> Result<Samples, Error> {
        let place = |sample| Place { sample, pixel: 0 };
        samples_between(
            self.start.unwrap_or(place(0)),
            self.end.unwrap_or(place(scene.spp.into())),
            pixel_count,
        )
    }
}

fn samples_between(start: Place, end: Place, pixel_count: u32) -> Result<Samples, Error> {
    let problem = match Samples::new(start..end, pixel_count) {
        Some(samples) if !samples.is_empty() => return Ok(samples),
        _ if start >= end => "a range ends after it begins, such as 0..16".to_owned(),
        _ => {
            format!(
                "samples have the numbers 0 to 4294967295, and a picture the pixels 0 to {}",
                pixel_count - 1
            )
        }
    };
    Err(Error::Setting {
        setting: format!("--samples {start}..{end}"),
        problem,
    })
}

/// The files that a render is to leave.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    /// Written by a render without a window.
    pub(crate) picture: PathBuf,
    pub(crate) stats: Option<PathBuf>,
    pub(crate) look: Look,
    pub(crate) sight: Sight,
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
