//! Command-line arguments: clap's definitions of options and subcommands, and the checks that need no scene.
//!
//! This module imports little of the program: its error type, the check of printed output, the default address of
//! `tev`, the image type of `compare`, and the progress lines.

mod bench;
mod combinations;
mod compared;
mod farm;
mod framing;
mod generate;
mod help_text;
mod inspect;
mod machine;
mod merge;
mod model;
mod output;
mod page;
mod scene;
mod usage;
mod values;
mod verify;
mod words;

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{check_output, error::Error, progress::with_reading_line, tev::DEFAULT_ADDRESS};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use raysieve::inspect::debug_view::DebugView;
use raysieve::{
    accel::trees::SceneBvhs,
    inspect::aovs::Aov,
    render::{
        memory_use::MemoryUse,
        oidn::Oidn,
        output::Look,
        part::Samples,
        region::Region,
        renderer::{BackendChoice, Renderer},
    },
};
use raysieve_scene::{Background, LoadOptions, Scene, SceneLoader};
#[cfg(any(feature = "window", feature = "serve"))]
use raysieve_viewer::session::ViewOptions;

pub(crate) use self::{
    bench::{Bench, Method},
    compared::is_image,
    farm::{Engine, Farm},
    generate::{Completions, Man},
    inspect::Inspect,
    merge::Merge,
    model::{Frame, FrameView},
    output::Outputs,
    verify::Verify,
};
use self::{
    machine::Machine,
    model::{FrameArguments, ModelArguments},
    output::{Denoiser, LookArguments},
    page::PageArguments,
    scene::{SampleRange, SceneArguments, check_hash, sample_range},
    usage::usage_message,
    values::{
        MIN_INTERVAL, compared_path, debug_view, duration_from, host_and_port, new_scene_path,
        noise, part_path, picture_path, region, scene_hash, scene_or_image_path, stats_path,
    },
    words::{given_options, with_denoiser, with_negative_numbers},
};

/// Renders a scene by wavefront path tracing, live in a window or into an image file.
///
/// Each bounce traces a batch of rays and compacts it: rays that missed and paths that ended leave the batch. The image
/// is refined while you watch, and an overlay shows the counts and times of each bounce.
///
/// Raysieve renders on an NVIDIA GPU if one can be used and on the CPU otherwise, with identical results. It opens a
/// window if there is a display. Otherwise it writes a PNG named after the scene to the current folder and prints the
/// statistics.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "raysieve",
    version,
    override_usage = "raysieve SCENE [OPTIONS]\n       raysieve merge PART... -o FILE\n       \
                      raysieve verify PICTURE [SCENE]\n       raysieve inspect SCENE X,Y\n       \
                      raysieve farm SCENE -o FILE\n       raysieve bench [SCENE...]\n       raysieve completions SHELL\n       \
                      raysieve man [COMMAND]\n       raysieve --list-devices",
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Scene to render: a .ron, Mitsuba .xml or .pbrt file, or a model (.glb, .gltf, .obj or .ply)
    #[arg(value_name = "SCENE", value_parser = scene_or_image_path(), required_unless_present = "list_devices")]
    pub(crate) scene: Option<PathBuf>,

    /// Samples per pixel [default: the scene's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    spp: Option<u32>,

    /// Sample adaptively: stop at each pixel once its estimated relative error is at most this, from 0.0001 to 1
    /// (such as 0.01 for 1 %), and after --spp samples at the latest [default: every pixel gets --spp samples]
    #[arg(long, value_name = "ERROR", value_parser = noise, conflicts_with = "samples",
        help_heading = "Rendering")]
    noise: Option<f32>,

    #[command(flatten)]
    settings: SceneArguments,

    #[command(flatten)]
    model: ModelArguments,

    #[command(flatten)]
    pub(crate) frames: FrameArguments,

    /// Render only samples A to B-1 of each pixel, counted from 0, to be merged with other parts; implies --headless
    /// [default: 0..SPP]
    #[arg(long, value_name = "A..B", value_parser = sample_range, allow_hyphen_values = true,
        requires = "output", help_heading = "Rendering")]
    samples: Option<SampleRange>,

    /// Refuse to render unless the scene has this hash, which an .exr of the scene contains as scene_hash [default:
    /// render any scene]
    #[arg(long, value_name = "HASH", value_parser = scene_hash, help_heading = "Rendering")]
    scene_hash: Option<String>,

    #[command(flatten)]
    machine: Machine,

    /// Open no window, even if there is a display
    #[arg(long, help_heading = "Output")]
    headless: bool,

    #[command(flatten)]
    pub(crate) page: PageArguments,

    /// Image to show in the window, on the page and in the PNG: light (the rendered image), or a debug view in false
    /// colors
    #[arg(long = "view", value_name = "VIEW", value_parser = debug_view(), default_value = DebugView::default().name(),
        help_heading = "Output")]
    debug_view: DebugView,

    /// Image to write: .png (8-bit sRGB) or .exr (linear 32-bit float); opens no window; with --serve, the image is
    /// written when the page ends [default: none with a window or a page, otherwise ./SCENE.png]
    #[arg(short, long, value_name = "FILE", value_parser = picture_path(), help_heading = "Output")]
    output: Option<PathBuf>,

    /// Additional layers (AOVs) to write to the .exr, separated by commas: albedo, normal and depth of the first hits,
    /// samples (samples per pixel), and denoised (the denoised image) [default: no layers]
    #[arg(
        long,
        value_name = "LAYERS",
        value_delimiter = ',',
        requires = "output",
        help_heading = "Output"
    )]
    layers: Vec<Aov>,

    /// Write the statistics to this .json file [default: no file]
    #[arg(long, value_name = "FILE", value_parser = stats_path(), help_heading = "Output")]
    stats: Option<PathBuf>,

    #[command(flatten)]
    look: LookArguments,

    /// Show a denoised preview in the window, on the page and in the PNG, whose metadata say so. An .exr contains it as
    /// a layer with --layers denoised. `--denoise oidn` uses Intel's Open Image Denoise instead, if it is installed
    /// [default: no denoising]
    #[arg(long, value_name = "DENOISER", num_args = 0..=1, require_equals = true, default_missing_value = "own",
        help_heading = "Output")]
    denoise: Option<Denoiser>,

    /// Render only this region, given by the column and the row of its upper left pixel and its size in pixels, such as
    /// --crop 64,32,256x128. Its pixels equal those of the whole image. A .png contains only the region; an .exr has it
    /// as data window, and is not a part; implies --headless [default: the whole image]
    #[arg(long, value_name = "X,Y,WxH", value_parser = region, allow_hyphen_values = true,
        conflicts_with_all = ["samples", "serve", "denoise", "debug_view", "overlay", "compare"],
        help_heading = "Rendering")]
    crop: Option<Region>,

    /// Compare the image with this .exr or .png of the same size. In the window and on the page, x shows both side by
    /// side, and X the error FLIP, which estimates how visible the differences are. With an image file, the figures are
    /// printed, and a map of FLIP is written, box.flip.png for box.exr. SCENE may also be an .exr or .png, which is
    /// then compared without rendering; -o names the map [default: no comparison]
    #[arg(long, value_name = "FILE", value_parser = compared_path(), conflicts_with_all = ["frames", "turntable"],
        help_heading = "Output")]
    pub(crate) compare: Option<PathBuf>,

    /// Show the growing image and its --layers in the image viewer tev, which listens at this address; implies
    /// --headless. Without HOST:PORT, the address is that of a tev on this machine, 127.0.0.1:14158 [default: no tev]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = DEFAULT_ADDRESS,
        value_parser = host_and_port, conflicts_with_all = ["serve", "frames", "turntable"], help_heading = "Output")]
    pub(crate) tev: Option<String>,

    /// Save the film to this .exr at intervals, and continue from that file when started again; implies --headless
    #[arg(long, value_name = "FILE", value_parser = part_path(), help_heading = "Output")]
    checkpoint: Option<PathBuf>,

    /// Minimum time between checkpoints during the render, such as 30s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration_from(MIN_INTERVAL), allow_hyphen_values = true,
        default_value = "60s", requires = "checkpoint",
        help_heading = "Output")]
    every: Duration,

    /// Write the model to this .ron scene file, with the camera and the light in which it is shown, and exit. The scene
    /// renders the same image and is a start for changes; an existing file is kept
    #[arg(long, value_name = "FILE", value_parser = new_scene_path(),
        conflicts_with_all = ["output", "serve", "samples", "checkpoint", "stats", "frames", "turntable", "compare", "tev", "crop"], help_heading = "Output")]
    pub(crate) write_scene: Option<PathBuf>,

    /// List the devices that can render on this machine, and exit
    #[arg(long, help_heading = "Output")]
    pub(crate) list_devices: bool,
}

/// The subcommands. Without one, the program renders a scene, or lists the devices with `--list-devices`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    Merge(Merge),
    Verify(Verify),
    Inspect(Inspect),
    Farm(Box<Farm>),
    Bench(Bench),
    Completions(Completions),
    Man(Man),
}

/// Returns clap's definition of the program, of its options and of its commands.
pub(crate) fn command() -> clap::Command {
    Arguments::command()
        .mut_args(with_negative_numbers)
        .mut_subcommands(|command| command.mut_args(with_negative_numbers))
        .after_help(
            "See raysieve --help for details, examples, the keys of the window and the exit codes.",
        )
        .after_long_help(help_text::after_options())
}

/// Parses and checks the command line. If the command line asks for the help or the version, prints that text and
/// returns `None`.
///
/// # Errors
/// [`Error::Usage`] with a message on one line, or [`Error::Write`] if the help or the version cannot be printed.
pub(crate) fn read() -> Result<Option<Arguments>, Error> {
    let matches = command().try_get_matches_from(with_denoiser(env::args_os()));
    let arguments = matches.and_then(|matches| {
        let mut arguments = Arguments::from_arg_matches(&matches)?;
        if let (Some(Command::Farm(farm)), Some(("farm", given))) =
            (&mut arguments.command, matches.subcommand())
        {
            farm.machine_options = given_options::<Machine>(given);
            farm.scene_options = given_options::<SceneArguments>(given);
            farm.model_options = given_options::<ModelArguments>(given);
        }
        Ok((arguments, matches))
    });
    match arguments {
        Ok((arguments, matches)) => arguments
            .check()
            .and_then(|()| compared::check(&arguments, &matches))
            .map(|()| Some(arguments)),
        Err(error) if error.use_stderr() => Err(Error::Usage(usage_message(&error))),
        Err(help) => {
            let printed = help.print().and_then(|()| io::stdout().flush());
            check_output(printed).map(|()| None)
        }
    }
}

/// Parses words that [`given_options`] returned for [`ModelArguments`], and returns the choices that they make.
///
/// # Errors
/// [`Error::Usage`] if they are not such words, for example because another version of the program wrote them.
pub(crate) fn load_options(words: &[String]) -> Result<LoadOptions, Error> {
    let group = ModelArguments::augment_args(clap::Command::new("group").no_binary_name(true));
    group
        .mut_args(with_negative_numbers)
        .try_get_matches_from(words)
        .and_then(|matches| ModelArguments::from_arg_matches(&matches))
        .map(|arguments| arguments.options())
        .map_err(|error| Error::Usage(usage_message(&error)))
}

impl Arguments {
    /// Returns whether this build has windows and no option rules one out, as `--headless`, `--output` and `--frames`
    /// do. Ignores `--serve`, which the caller must check.
    pub(crate) fn wants_window(&self) -> bool {
        cfg!(feature = "window")
            && !self.headless
            && self.output.is_none()
            && self.checkpoint.is_none()
            && self.crop.is_none()
            && self.tev.is_none()
            && !self.frames.is_sequence()
    }

    /// Returns whether the run writes an image according to the options: if `--output` is given, or if there is neither
    /// a window nor a page.
    ///
    /// A run whose window cannot be opened also writes an image, although this returns `false`.
    pub(crate) fn writes_picture(&self) -> bool {
        self.output.is_some() || self.page.serve.is_none() && !self.wants_window()
    }

    /// Loads the scene at `path` and applies the options of the command line. Returns the scene and the samples to
    /// render.
    ///
    /// With `--samples`, the scene's number of samples per pixel becomes the maximum over the pixels of that range.
    ///
    /// # Errors
    /// If the scene cannot be read, is invalid, or does not have the hash of `--scene-hash`. Also if a setting is out
    /// of range, or if the range of samples is empty or out of range.
    pub(crate) fn load_scene(&self, path: &Path) -> Result<(Scene, Samples), Error> {
        let mut scene = self.settings.load(path, &self.model.options(), self.spp)?;
        if let Some(expected) = &self.scene_hash {
            check_hash(&scene, expected)?;
        }
        let pixel_count = scene.size.0 * scene.size.1;
        let samples = match &self.samples {
            None => Samples::first(scene.spp, pixel_count),
            Some(range) => {
                let samples = range.of(&scene, pixel_count)?;
                scene.spp = samples.max_samples();
                scene.check_settings()?;
                samples
            }
        };
        Ok((scene, samples))
    }

    /// Loads the model at `path`, applies the options of the command line, and returns the text of a scene file at
    /// `target` that renders like it.
    ///
    /// # Errors
    /// If the model cannot be read or is invalid, if it is a scene file, or if a setting is out of range.
    pub(crate) fn scene_text(&self, path: &Path, target: &Path) -> Result<String, Error> {
        let options = self.model.options();
        let mut loader = SceneLoader::new(path);
        let mut scene = self
            .settings
            .load_frame(&mut loader, path, &options, self.spp)?;
        let look = self.look(&scene);
        (scene.exposure_stops, scene.tone) = (look.exposure_stops, look.tone);
        Ok(loader.scene_text(&scene, &options, target)?)
    }

    /// Fixes camera and light of the loader of the model at `path` for all `frames` of an animation; see
    /// [`SceneLoader::stage`]. Does nothing for a turntable or a scene file.
    ///
    /// # Errors
    /// If the model cannot be read, is invalid, or has no animation.
    pub(crate) fn stage(
        &self,
        loader: &mut SceneLoader,
        path: &Path,
        frames: &[Frame],
    ) -> Result<(), Error> {
        let times = frames.iter().filter_map(|frame| match frame.view {
            FrameView::Time(time) => Some(time),
            FrameView::Turn(_) => None,
        });
        let times: Vec<f64> = times.collect();
        let options = self.model.options();
        Ok(with_reading_line(path, || loader.stage(&options, &times))?)
    }

    /// Loads a frame of the scene at `path` and applies the options of the command line. The camera of a turntable is
    /// not turned yet.
    ///
    /// # Errors
    /// If the scene cannot be read or is invalid, or if a setting is out of range. Also if `frame` has a time, and the
    /// scene has no animation.
    pub(crate) fn load_frame(
        &self,
        loader: &mut SceneLoader,
        path: &Path,
        frame: Frame,
    ) -> Result<Scene, Error> {
        let own = self.model.options();
        let options = match frame.view {
            FrameView::Time(time) => LoadOptions {
                time: Some(time),
                ..own
            },
            FrameView::Turn(_) => LoadOptions {
                turntable: true,
                ..own
            },
        };
        self.settings.load_frame(loader, path, &options, self.spp)
    }

    /// Returns the path of `--checkpoint`, and the minimum time between two checkpoints during the render from
    /// `--every`. `None` without `--checkpoint`.
    pub(crate) fn checkpoint(&self) -> Option<(&Path, Duration)> {
        self.checkpoint.as_deref().map(|path| (path, self.every))
    }

    /// Returns the backend chosen by `--backend`.
    pub(crate) fn backend(&self) -> &BackendChoice {
        self.machine.backend()
    }

    /// Creates a renderer for the scene with the backend and the options of the command line. `trees` are the
    /// acceleration structures of the scene; `None` builds them.
    ///
    /// # Errors
    /// If the scene's BVH is too deep, the backend cannot be used, or `--noise` or `--crop` is refused.
    pub(crate) fn renderer(
        &self,
        scene: &Scene,
        trees: Option<Arc<SceneBvhs>>,
    ) -> Result<Renderer, Error> {
        let mut renderer = self.machine.renderer_on(scene, trees)?;
        if self.noise.is_some() {
            renderer.set_noise(self.noise)?;
        }
        if self.crop.is_some() {
            renderer.set_region(self.crop)?;
        }
        Ok(renderer)
    }

    /// Checks that the available host memory suffices for a headless render of the scene with these options, including
    /// the files that it writes. A render on GPUs is assumed to need as much as one on the CPU.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the size, and the given options that may need memory.
    pub(crate) fn check_memory(&self, scene: &Scene) -> Result<(), Error> {
        let has_layer = |layers: &[Aov]| self.layers.iter().any(|layer| layers.contains(layer));
        let memory_use = MemoryUse {
            checkpoint: self.checkpoint.is_some(),
            resumed: self.checkpoint.as_deref().is_some_and(Path::exists),
            adaptive: self.noise.is_some() || self.crop.is_some(),
            denoised: self.denoise.is_some() || has_layer(&[Aov::Denoised]),
            surface_aovs: self.uses_oidn() || has_layer(&[Aov::Albedo, Aov::Normal, Aov::Depth]),
            alpha: scene.background == Background::Transparent,
            overlay: self.look.overlay,
        };
        let options = [
            (memory_use.checkpoint, "--checkpoint"),
            (self.noise.is_some(), "--noise"),
            (self.crop.is_some(), "--crop"),
            (self.denoise.is_some(), "--denoise"),
            (!self.layers.is_empty(), "--layers"),
            (memory_use.overlay, "--overlay"),
        ];
        let options = options.into_iter().filter(|&(given, _)| given);
        let options: Vec<&str> = options.map(|(_, option)| option).collect();
        let bytes = memory_use.bytes(scene);
        self.machine
            .check_memory(bytes)
            .map_err(|problem| Error::Setting {
                setting: format!("size {}x{}", scene.size.0, scene.size.1),
                problem: match &options[..] {
                    [] => format!("{problem}; choose a smaller size"),
                    options => format!(
                        "{problem}; choose a smaller size, or omit {}",
                        options.join(", ")
                    ),
                },
            })
    }

    /// Returns the options with which the window or the page starts, with the look, the compared image and the denoiser of
    /// `outputs`.
    #[cfg(any(feature = "window", feature = "serve"))]
    pub(crate) fn view_options(&self, outputs: &Outputs) -> ViewOptions {
        ViewOptions {
            look: Look {
                // Open Image Denoise replaces the picture, and not the light that it shows.
                denoise: outputs.look.denoise && outputs.oidn.is_none(),
                ..outputs.look
            },
            oidn: outputs.oidn.clone(),
            compared: outputs.compared.clone(),
            debug_view: self.debug_view,
            strategy: self.machine.compaction,
            changes: self.settings.changes(self.spp),
            load: self.model.options(),
            noise: self.noise,
            // A reload after an edit would show a scene with another hash.
            watches: self.scene_hash.is_none(),
        }
    }

    /// Returns the look for the scene. Exposure and tone curve come from the scene unless the command line gives them.
    /// Overlay and denoising come from the command line alone.
    pub(crate) fn look(&self, scene: &Scene) -> Look {
        self.look.look(Look {
            exposure_stops: scene.exposure_stops,
            tone: scene.tone,
            overlay: false,
            denoise: self.denoise.is_some(),
        })
    }

    /// Returns whether Open Image Denoise denoises the image.
    fn uses_oidn(&self) -> bool {
        self.denoise == Some(Denoiser::Oidn)
    }

    /// Finds Open Image Denoise if it denoises the image.
    ///
    /// # Errors
    /// See [`Oidn::find`].
    pub(crate) fn oidn(&self) -> Result<Option<Oidn>, Error> {
        let found = self.uses_oidn().then(Oidn::find);
        Ok(found.transpose()?)
    }

    /// Returns the additional EXR layers to write. Empty without `--layers`.
    pub(crate) fn layers(&self) -> &[Aov] {
        &self.layers
    }

    /// Returns the files to write for the scene at the path `scene`. Without `--output`, the image is a PNG in the
    /// current folder with the scene's name.
    ///
    /// The look lacks `--denoise` and the scene's exposure and tone curve, because the scene is not loaded yet. The
    /// caller must replace the look by that of [`Arguments::look`], read the reference of `--compare`, and set the
    /// denoiser of [`Arguments::oidn`].
    pub(crate) fn outputs(&self, scene: &Path) -> Outputs {
        let named_by_scene =
            || Path::new(scene.file_stem().unwrap_or_default()).with_added_extension("png");
        Outputs {
            picture: self.output.clone().unwrap_or_else(named_by_scene),
            stats: self.stats.clone(),
            figures: self.look.figures.clone(),
            look: self.look.look(Look::default()),
            debug_view: self.debug_view,
            region: self.crop,
            compared: None,
            oidn: None,
            prints_table: !self.frames.is_sequence(),
            has_said_denoised: false,
        }
    }
}
