//! The command line of `raysieve farm`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use raysieve::{Error, scene::Scene};

use super::{
    machine::Machine,
    scene::SceneArguments,
    values::{duration, part_path, scene_path},
};

/// Renders a scene in parts on many machines, by Slurm or by Kubernetes, to the bits of one go
///
/// Each part is a render of some --samples with a checkpoint, and goes on from there when its job is killed, moved, or out
/// of time; a last job merges them. The scripts of the jobs, their parts and their logs lie in a folder beside the picture,
/// box.farm for box.exr, that all machines must see, as they must see the scene. Starting it again submits what is missing
/// and nothing else.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve farm SCENE -o FILE [OPTIONS]\n       raysieve farm -o FILE [--status]",
    after_long_help = "\
Examples:
  raysieve farm scenes/cornell.ron --spp 65536 --parts 64 -o box.exr --gpus-per-task 1 --time 2h
          64 jobs of 1024 samples a pixel and one that merges them, by Slurm
  raysieve farm -o box.exr --status
          follows them with one progress bar, until box.exr is there or a part has failed
  raysieve farm -o box.exr
          goes on after a failure: submits what is missing
  raysieve farm scenes/cornell.ron --spp 65536 --parts 64 -o box.exr --dry-run
          prints the scripts and does nothing; by hand, in box.farm:
          sbatch part.sh, then sbatch --dependency=afterok:JOB merge.sh
  raysieve farm /data/box.ron --spp 65536 --parts 64 -o /data/box.exr --engine kubernetes --image IMAGE --claim CLAIM \\
      --gpus-per-task 1 | kubectl apply -f -
          the same jobs by Kubernetes; /data is the volume of CLAIM, here as in the pods"
)]
pub(crate) struct Farm {
    /// Scene to render, a .ron file or a model [default: that of the folder beside the picture, as it was]
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: Option<PathBuf>,

    /// Picture to write, an .exr; box.exr has its jobs in the folder box.farm
    #[arg(short, long, value_name = "FILE", value_parser = part_path())]
    pub(crate) output: PathBuf,

    /// Parts to render, each a job of its own; minutes to hours are a good time for one [default: 64, or one for each
    /// sample if those are fewer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_PARTS), requires = "scene")]
    pub(crate) parts: Option<u32>,

    /// Time between two checkpoints of a part, such as 30s, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", requires = "scene")]
    pub(crate) every: Duration,

    /// Files that one job merges at most; more parts are merged in groups, side by side, and then these
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), default_value_t = 128,
        requires = "scene")]
    pub(crate) fan_in: u32,

    /// Print the scripts of the jobs; write and submit nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Follow what was submitted until the picture is there, or no job is left that could make it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) status: bool,

    /// Samples a pixel, of all parts together [default: the scene's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "scene",
        help_heading = "Rendering")]
    spp: Option<u32>,

    #[command(flatten)]
    settings: SceneArguments,

    #[command(flatten)]
    on: Machine,

    /// What was given of those, and of the ones before.
    #[arg(skip)]
    pub(crate) machine: Vec<String>,
    #[arg(skip)]
    pub(super) changed: Vec<String>,

    /// Program that the jobs run, where it is on their machines [default: this one; raysieve in a container]
    #[arg(long, value_name = "PATH", value_parser = text, requires = "scene", help_heading = "Jobs")]
    pub(crate) program: Option<String>,

    /// What runs the jobs
    #[arg(
        long,
        value_name = "ENGINE",
        value_enum,
        default_value_t,
        requires = "scene",
        help_heading = "Jobs"
    )]
    pub(crate) engine: Engine,

    /// GPUs that each part gets [default: none are asked for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), requires = "scene",
        help_heading = "Jobs")]
    pub(crate) gpus_per_task: Option<u32>,

    /// Cores that each part gets [default: what the engine gives]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), requires = "scene",
        help_heading = "Jobs")]
    pub(crate) cpus_per_task: Option<u32>,

    /// Time that a job gets at a stretch, such as 30m or 2h: Slurm starts a part again that needs longer [default: what
    /// the engine gives]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "scene", help_heading = "Jobs")]
    pub(crate) time: Option<Duration>,

    /// Slurm's partition to run on [default: the cluster's]
    #[arg(long, value_name = "NAME", value_parser = text, requires = "scene", help_heading = "Jobs")]
    pub(crate) partition: Option<String>,

    /// Slurm's account to run for [default: the user's]
    #[arg(long, value_name = "NAME", value_parser = text, requires = "scene", help_heading = "Jobs")]
    pub(crate) account: Option<String>,

    /// Any other option of sbatch, for all jobs, such as --sbatch=--mem=8G; may be given again for the next
    #[arg(long, value_name = "OPTION", value_parser = sbatch_option, allow_hyphen_values = true, requires = "scene",
        help_heading = "Jobs")]
    pub(crate) sbatch: Vec<String>,

    /// Image of the containers, which has the program
    #[arg(long, value_name = "IMAGE", value_parser = text, requires = "scene", help_heading = "Jobs")]
    pub(crate) image: Option<String>,

    /// PersistentVolumeClaim that holds scene and picture
    #[arg(long, value_name = "CLAIM", value_parser = text, requires = "scene", help_heading = "Jobs")]
    pub(crate) claim: Option<String>,

    /// Folder where that volume is, here as in the containers [default: that of the picture]
    #[arg(long, value_name = "FOLDER", requires = "scene", help_heading = "Jobs")]
    pub(crate) mount: Option<PathBuf>,
}

const MOST_PARTS: i64 = 1_000_000;

/// What runs jobs on machines.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// sbatch, squeue and scancel of this machine
    #[default]
    Slurm,
    /// prints one manifest, for kubectl apply -f -
    Kubernetes,
}

impl Farm {
    /// The scene, with what the command line says otherwise.
    pub(crate) fn load_scene(&self, path: &Path) -> Result<Scene, Error> {
        self.settings.load(path, self.spp)
    }

    /// What goes on is as it was.
    pub(super) fn check(&self) -> Result<(), Error> {
        let given = self.changed.iter().chain(&self.machine).next();
        match (&self.scene, given) {
            (None, Some(option)) => Err(Error::Usage(format!(
                "{option} is for a render that begins; name its SCENE, or leave it out"
            ))),
            _ => self.check_engine(),
        }
    }

    /// Finds options that the engine has no use for.
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
                    ("--time", self.time.is_some()),
                    ("--partition", self.partition.is_some()),
                    ("--account", self.account.is_some()),
                    ("--sbatch", !self.sbatch.is_empty()),
                ]
                .to_vec(),
            ),
        };
        match foreign.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Error::Usage(format!(
                "{option} is for --engine {}; leave it out",
                engine.name()
            ))),
            None => Ok(()),
        }
    }

    /// The options of sbatch, for all jobs.
    pub(crate) fn sbatch_options(&self) -> Vec<String> {
        let named = [("partition", &self.partition), ("account", &self.account)];
        let named = named.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("--{name}={value}"))
        });
        named.chain(self.sbatch.iter().cloned()).collect()
    }

    /// Image and claim; `None` unless Kubernetes is to run them.
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
    /// As it is named on the command line.
    fn name(self) -> &'static str {
        match self {
            Engine::Slurm => "slurm",
            Engine::Kubernetes => "kubernetes",
        }
    }
}

/// A word that stands in a script as it is.
fn text(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(|letter: char| letter.is_control() || letter == ' ') {
        Err("a name without spaces is expected".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

fn sbatch_option(text: &str) -> Result<String, String> {
    if text.starts_with('-') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("an option of sbatch is expected, such as --sbatch=--mem=8G".to_owned())
    }
}
