//! The command line of `raysieve farm`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::error::Error;
use clap::{Args, ValueEnum};
use raysieve_scene::Scene;

use super::{
    machine::Machine,
    model::ModelArguments,
    scene::SceneArguments,
    values::{MIN_INTERVAL, MIN_TIME_LIMIT, duration_from, part_path, scene_path},
};

/// Renders a scene in parts on many machines, with Slurm or Kubernetes
///
/// Each part is a render of some --samples with a checkpoint, from which it continues when its job is queued again:
/// after its time limit, a preemption, or a few failures. A last job merges the parts; the image is identical to that
/// of a single render. The scripts, parts and logs are in a folder next to the image, box.farm for box.exr. All
/// machines must have access to this folder and to the scene. With Slurm, running the command again submits only the
/// missing parts.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve farm SCENE -o FILE [OPTIONS]\n       raysieve farm -o FILE [--status]",
    after_long_help = "\
Examples:
  raysieve farm scenes/cornell.ron --spp 65536 --parts 64 -o box.exr --gpus-per-task 1 --time-limit 2h
          submits 64 Slurm jobs of 1024 samples per pixel, and one that merges them
  raysieve farm -o box.exr --status
          shows their progress until box.exr is complete or a part has failed
  raysieve farm -o box.exr
          continues after a failure: submits the missing parts
  raysieve farm scenes/cornell.ron --spp 65536 --parts 64 -o box.exr --dry-run
          prints the scripts and submits nothing; to submit them by hand, in box.farm:
          sbatch part.sh, then sbatch --dependency=afterok:JOB merge.sh
  raysieve farm /data/box.ron --spp 65536 --parts 64 -o /data/box.exr --engine kubernetes --image IMAGE --claim CLAIM \\
      --gpus-per-task 1 | kubectl apply -f -
          creates the same jobs in Kubernetes; the volume of CLAIM is mounted at /data, here and in the pods"
)]
pub(crate) struct Farm {
    /// Scene to render: a .ron file or a model [default: continue the render that was submitted for this image]
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: Option<PathBuf>,

    /// Image to write, an .exr; the jobs of box.exr are in the folder box.farm
    #[arg(short, long, value_name = "FILE", value_parser = part_path())]
    pub(crate) output: PathBuf,

    /// Number of parts, each rendered by a job; a part should take minutes to hours [default: 64, or the number of
    /// samples per pixel if that is smaller]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_PARTS), requires = "scene")]
    pub(crate) parts: Option<u32>,

    /// Minimum time between checkpoints of a part during its render, such as 30s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration_from(MIN_INTERVAL), allow_hyphen_values = true,
        default_value = "60s", requires = "scene")]
    pub(crate) every: Duration,

    /// Maximum number of files that one job merges; if there are more parts, jobs merge groups of parts first, in
    /// parallel
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), default_value_t = 128,
        requires = "scene")]
    pub(crate) fan_in: u32,

    /// Print the job scripts; write and submit nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show the progress of the submitted jobs, until the image is complete, or until a job has failed and no other job
    /// is queued or running. With Kubernetes, failures of pods are not detected; see kubectl get pods
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) status: bool,

    /// Samples per pixel of all parts together [default: the scene's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "scene",
        help_heading = "Rendering")]
    spp: Option<u32>,

    #[command(flatten)]
    settings: SceneArguments,

    #[command(flatten)]
    model: ModelArguments,

    #[command(flatten)]
    on: Machine,

    /// The options of [`Machine`] that the command line sets explicitly, as words. The command of each part repeats
    /// them.
    #[arg(skip)]
    pub(crate) machine_options: Vec<String>,
    /// The options of [`SceneArguments`] that the command line sets explicitly, as words. Any such option is an error
    /// without a scene.
    #[arg(skip)]
    pub(super) scene_options: Vec<String>,
    /// The options of [`ModelArguments`] that the command line sets explicitly, as words with absolute paths. The
    /// command of each part repeats them.
    #[arg(skip)]
    pub(crate) model_options: Vec<String>,

    /// Path of raysieve on the machines of the jobs [default: the path of this program; with Kubernetes, raysieve]
    #[arg(long, value_name = "PATH", value_parser = script_word, requires = "scene", help_heading = "Jobs")]
    pub(crate) program: Option<String>,

    /// System that runs the jobs
    #[arg(
        long,
        value_name = "ENGINE",
        value_enum,
        default_value_t,
        requires = "scene",
        help_heading = "Jobs"
    )]
    pub(crate) engine: Engine,

    /// Number of GPUs to request for each part [default: request no GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), requires = "scene",
        help_heading = "Jobs")]
    pub(crate) gpus_per_task: Option<u32>,

    /// Number of CPU cores to request for each part [default: what Slurm or Kubernetes gives without a request]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), requires = "scene",
        help_heading = "Jobs")]
    pub(crate) cpus_per_task: Option<u32>,

    /// Slurm time limit of the job of a part, such as 30m or 2h; a part that needs longer is queued again and continues
    /// [default: the cluster's]
    #[arg(long, value_name = "TIME", value_parser = duration_from(MIN_TIME_LIMIT), allow_hyphen_values = true,
        requires = "scene", help_heading = "Jobs")]
    pub(crate) time_limit: Option<Duration>,

    /// Slurm partition [default: the cluster's]
    #[arg(long, value_name = "NAME", value_parser = script_word, requires = "scene", help_heading = "Jobs")]
    pub(crate) partition: Option<String>,

    /// Slurm account [default: the user's]
    #[arg(long, value_name = "NAME", value_parser = script_word, requires = "scene", help_heading = "Jobs")]
    pub(crate) account: Option<String>,

    /// Any other option of Slurm's sbatch, for all jobs, such as --sbatch=--mem=8G; may be repeated [default: no other
    /// option]
    #[arg(long, value_name = "OPTION", value_parser = sbatch_option, allow_hyphen_values = true, requires = "scene",
        help_heading = "Jobs")]
    pub(crate) sbatch: Vec<String>,

    /// Container image that contains raysieve; required with Kubernetes
    #[arg(long, value_name = "IMAGE", value_parser = script_word, requires = "scene", help_heading = "Jobs")]
    pub(crate) image: Option<String>,

    /// PersistentVolumeClaim of the volume that contains the scene and the folder of the --output image; required with
    /// Kubernetes
    #[arg(long, value_name = "CLAIM", value_parser = script_word, requires = "scene", help_heading = "Jobs")]
    pub(crate) claim: Option<String>,

    /// Folder at which the volume of --claim is mounted, on this machine and in the containers [default: the folder of
    /// the --output image]
    #[arg(long, value_name = "FOLDER", requires = "scene", help_heading = "Jobs")]
    pub(crate) mount: Option<PathBuf>,
}

/// The largest value of `--parts`.
const MAX_PARTS: i64 = 1_000_000;

/// The system that runs the jobs of a farm. The comments of the variants are help texts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// Submits with sbatch on this machine
    #[default]
    Slurm,
    /// Prints a manifest for kubectl apply -f -
    Kubernetes,
}

impl Farm {
    /// Loads the scene at `path` with the options of the command line.
    ///
    /// # Errors
    /// If the scene cannot be read or is invalid, or if a setting is out of range.
    pub(crate) fn load_scene(&self, path: &Path) -> Result<Scene, Error> {
        self.settings.load(path, &self.model.options(), self.spp)
    }

    /// Returns the paths of the files that the options add to the scene: the environment map of `--env`, if any.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.model
            .options()
            .environment
            .map_or_else(Vec::new, |environment| vec![environment.path])
    }

    /// Returns [`Error::Usage`] for options that do not apply.
    ///
    /// Without a scene, the command continues a submitted render, so the options of [`SceneArguments`],
    /// [`ModelArguments`] and [`Machine`] are errors. Options for Slurm are errors with `--engine kubernetes`, and
    /// options for Kubernetes are errors without it.
    ///
    /// A `--time` with a unit is an error too, because it looks like a time limit of the jobs.
    pub(super) fn check(&self) -> Result<(), Error> {
        let time = self
            .model_options
            .iter()
            .skip_while(|word| *word != "--time")
            .nth(1);
        if let Some(time) = time.filter(|time| time.parse::<f64>().is_err()) {
            return Err(Error::Usage(format!(
                "--time {time}: --time is the time of the animations in seconds, without a unit; \
                 --time-limit {time} limits the jobs"
            )));
        }
        let given = self
            .scene_options
            .iter()
            .chain(&self.model_options)
            .chain(&self.machine_options)
            .next();
        match (&self.scene, given) {
            (None, Some(option)) => Err(Error::Usage(format!(
                "{option} applies only to a new render; name its SCENE, or omit the option"
            ))),
            _ => self.check_engine(),
        }
    }

    /// Returns [`Error::Usage`] if the command line has an option that only the other engine uses.
    fn check_engine(&self) -> Result<(), Error> {
        let (engine, foreign) = match self.engine {
            Engine::Slurm => (
                Engine::Kubernetes,
                [
                    ("--image", self.image.is_some()),
                    ("--claim", self.claim.is_some()),
                    ("--mount", self.mount.is_some()),
                ]
                .to_vec(),
            ),
            Engine::Kubernetes => (
                Engine::Slurm,
                [
                    ("--time-limit", self.time_limit.is_some()),
                    ("--partition", self.partition.is_some()),
                    ("--account", self.account.is_some()),
                    ("--sbatch", !self.sbatch.is_empty()),
                ]
                .to_vec(),
            ),
        };
        match foreign.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Error::Usage(format!(
                "{option} needs --engine {}; omit it",
                engine.name()
            ))),
            None => Ok(()),
        }
    }

    /// Returns the options of sbatch that every job script contains, each on a line that begins with `#SBATCH`. These
    /// are `--partition=NAME` and `--account=NAME`, if given, and then those of `--sbatch`.
    pub(crate) fn sbatch_options(&self) -> Vec<String> {
        let named = [("partition", &self.partition), ("account", &self.account)];
        let named = named.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("--{name}={value}"))
        });
        named.chain(self.sbatch.iter().cloned()).collect()
    }

    /// Returns (container image, name of the PersistentVolumeClaim) for Kubernetes, or `None` for Slurm, with which
    /// [`Farm::check`] rejects both options.
    ///
    /// # Errors
    /// [`Error::Usage`] if the engine is Kubernetes and `--image` or `--claim` is missing.
    pub(crate) fn container(&self) -> Result<Option<(&str, &str)>, Error> {
        let needed = |option: &str| {
            Error::Usage(format!(
                "--engine kubernetes needs {option}; see raysieve farm --help"
            ))
        };
        match (self.engine, &self.image, &self.claim) {
            (Engine::Slurm, ..) => Ok(None),
            (_, None, _) => Err(needed("--image")),
            (_, _, None) => Err(needed("--claim")),
            (_, Some(image), Some(claim)) => Ok(Some((image, claim))),
        }
    }
}

impl Engine {
    /// Returns the value of `--engine` that selects this engine.
    fn name(self) -> &'static str {
        match self {
            Engine::Slurm => "slurm",
            Engine::Kubernetes => "kubernetes",
        }
    }
}

/// Parses a word that is written into job scripts. Rejects an empty word, spaces and control characters.
fn script_word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(|letter: char| letter.is_control() || letter == ' ') {
        Err("expected a name without spaces".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Parses an option of sbatch, such as `--mem=8G`. It must begin with a dash and contain no control characters.
fn sbatch_option(text: &str) -> Result<String, String> {
    if text.starts_with('-') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("expected an option of sbatch, such as --sbatch=--mem=8G".to_owned())
    }
}
