//! The plan of a farm: the render, its parts and the options of its jobs. It is stored in the folder as `farm.json`.

use std::{
    env,
    path::{Path, PathBuf, absolute},
};

use crate::error::Error;
use raysieve::render::{
    output,
    part::{Identity, PartHeader, SOFTWARE, SamplePosition, Samples},
};
use raysieve_scene::SceneLoader;
use serde::{Deserialize, Serialize};

use crate::{
    arguments::{Engine, Farm, load_options},
    progress::with_reading_line,
};

/// The plan of a farm. The fields up to and including `parts`, except `scene` and `model`, define the render and must
/// not change while the farm continues. Later fields may change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// Name and version of the program that submitted the render.
    pub(super) software: String,
    /// Absolute path of the scene file.
    pub(super) scene: String,
    /// Words that are added to the command line of each part and change what is rendered, such as `--camera-from` and
    /// `35,20`. Their paths are absolute.
    #[serde(default)]
    pub(super) model: Vec<String>,
    /// Hash of the scene with these options, 32 hexadecimal digits.
    pub(super) scene_hash: String,
    /// Width and height of the image in pixels.
    pub(super) size: (u32, u32),
    /// Seed of the random numbers.
    pub(super) seed: u32,
    /// Maximum number of bounces of a path.
    pub(super) max_bounces: u32,
    /// First scattering event at which roulette may end a path; 0 if never.
    pub(super) roulette: u32,
    /// Maximum radiance of each contribution of indirect light to a sample. `None` is no limit.
    pub(super) clamp_indirect: Option<f32>,
    /// Samples per pixel of all parts together.
    pub(super) spp: u32,
    /// Number of parts, at most `spp`.
    pub(super) parts: u32,

    /// Minimum time between checkpoints of a part in seconds.
    pub(super) every_seconds: f64,
    /// Maximum number of files that one job merges, at least 2.
    pub(super) fan_in: u32,
    /// Path or name of raysieve on the machines of the jobs.
    pub(super) program: String,
    /// Words that are added to the command line of each part and do not change the image, such as `--backend` and
    /// `cpu`.
    pub(super) machine: Vec<String>,
    /// The system that runs the jobs: Slurm or Kubernetes.
    pub(super) engine: Engine,
    /// Number of GPUs to request for each part. `None` requests none.
    pub(super) gpus_per_task: Option<u32>,
    /// Number of CPU cores to request for each part. With `None`, nothing is requested, and Slurm or Kubernetes
    /// decides.
    pub(super) cpus_per_task: Option<u32>,
    /// Time limit of the Slurm job of a part, in seconds, at least 1. `None` is the default of the cluster, which
    /// merges always have. `None` also for Kubernetes.
    pub(super) time_seconds: Option<u64>,
    /// Options of sbatch that the scripts of all jobs contain, such as `--partition=NAME`. Empty for Kubernetes.
    pub(super) sbatch: Vec<String>,
    /// Container of the jobs. `None` for Slurm.
    pub(super) container: Option<Container>,
}

/// The container in which Kubernetes runs the jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Container {
    /// Name of the container image that contains the program.
    pub(super) image: String,
    /// Name of the PersistentVolumeClaim of the volume that contains the scene and the farm's folder.
    pub(super) claim: String,
    /// Absolute path at which the volume is mounted, on this machine and in the container.
    pub(super) mount: String,
}

/// The state of a part according to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartState {
    /// The file contains all samples of the part.
    Complete,
    /// The file contains this number of the part's (pixel, sample) pairs. The number is 0 if the file is missing, or
    /// has a damaged header.
    Incomplete(u64),
    /// The file does not belong to this part of this render, or cannot be read. The text is the error message, which
    /// names the file.
    Invalid(String),
}

impl Plan {
    /// Creates the plan that the command line describes, for the scene at `path`. Reads the scene, but writes no files.
    ///
    /// # Errors
    /// If the scene cannot be loaded, the image would overwrite one of its files, or there are more parts than samples
    /// per pixel. Also if a path or option cannot be used in scripts or containers, or if Kubernetes lacks `--image` or
    /// `--claim`.
    pub(super) fn new(arguments: &Farm, path: &Path) -> Result<Plan, Error> {
        let scene = arguments.load_scene(path)?;
        output::check_apart(&arguments.output, &scene)?;
        let parts = arguments
            .parts
            .unwrap_or_else(|| DEFAULT_PARTS.min(scene.spp));
        if parts > scene.spp {
            return Err(Error::Setting {
                setting: format!("--parts {parts}"),
                problem: format!(
                    "must be at most the samples per pixel, {}; use fewer parts or a larger --spp",
                    scene.spp
                ),
            });
        }
        let program = match (&arguments.program, arguments.engine) {
            (Some(program), _) => program.clone(),
            (None, Engine::Kubernetes) => "raysieve".to_owned(),
            (None, Engine::Slurm) => {
                let own = env::current_exe().map_err(|error| Error::Setting {
                    setting: "--program".to_owned(),
                    problem: format!(
                        "the path of this program is unknown: {error}; specify --program"
                    ),
                })?;
                script_text(&own)?
            }
        };
        let plan = Plan {
            software: SOFTWARE.to_owned(),
            scene: script_text(&absolute_path(path)?)?,
            model: script_words(&arguments.model_options)?,
            scene_hash: scene.hash(),
            size: scene.size,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            roulette: scene.roulette,
            clamp_indirect: scene.clamp_indirect,
            spp: scene.spp,
            parts,
            every_seconds: arguments.every.as_secs_f64(),
            fan_in: arguments.fan_in,
            program,
            machine: arguments.machine_options.clone(),
            engine: arguments.engine,
            gpus_per_task: arguments.gpus_per_task,
            cpus_per_task: arguments.cpus_per_task,
            time_seconds: arguments.time_limit.map(|time| time.as_secs()),
            sbatch: arguments.sbatch_options(),
            container: container(arguments)?,
        };
        plan.check_container(&arguments.files())?;
        Ok(plan)
    }

    /// Returns an [`Error::Setting`] if the scene or one of `files` is outside the mounted volume, or if the path of
    /// scene, volume or program or an option contains a dollar sign. Does nothing for Slurm.
    fn check_container(&self, files: &[PathBuf]) -> Result<(), Error> {
        let Some(Container { mount, .. }) = &self.container else {
            return Ok(());
        };
        let refused = |problem: String| Error::Setting {
            setting: format!("--mount {mount}"),
            problem,
        };
        if !Path::new(&self.scene).starts_with(mount) {
            return Err(refused(format!(
                "does not contain the scene {}, which containers need; name a folder that contains the scene and the image",
                self.scene
            )));
        }
        for file in files {
            let file = absolute_path(file)?;
            if !file.starts_with(mount) {
                return Err(refused(format!(
                    "does not contain {}, which containers need; move it to a folder in the volume",
                    file.display()
                )));
            }
        }
        let texts = [&self.scene, mount, &self.program];
        match texts
            .into_iter()
            .chain(&self.model)
            .find(|text| text.contains('$'))
        {
            Some(text) => Err(refused(format!(
                "{text} contains a dollar sign, which Kubernetes would expand as a variable; rename it"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the identity of the render, which the files of all parts must have.
    pub(super) fn identity(&self) -> Identity {
        Identity {
            scene_hash: self.scene_hash.clone(),
            size: self.size,
            seed: self.seed,
            max_bounces: self.max_bounces,
            roulette: self.roulette,
            clamp_indirect: self.clamp_indirect,
            goal: None,
            crop: None,
            software: self.software.clone(),
        }
    }

    /// Returns the first reason why parts of the plan `other` cannot be used for this plan, such as "has spp 2, not 3".
    /// Returns `None` if they can be used.
    pub(super) fn difference(&self, other: &Plan) -> Option<String> {
        let counts = [
            ("spp", self.spp, other.spp),
            ("parts", self.parts, other.parts),
        ];
        let other_count = counts.into_iter().find(|(_, own, other)| own != other);
        self.identity().difference(&other.identity()).or_else(|| {
            other_count.map(|(name, own, other)| format!("has {name} {own}, not {other}"))
        })
    }

    /// Returns an error if the scene cannot be read or has changed since the submission, or if this program has another
    /// version than the one that submitted.
    pub(super) fn check_scene(&self) -> Result<(), Error> {
        let path = Path::new(&self.scene);
        let options = load_options(&self.model)?;
        let mut scene = with_reading_line(path, || SceneLoader::new(path).load(&options))?;
        scene.set_size(self.size);
        let now = Identity {
            scene_hash: scene.hash(),
            software: SOFTWARE.to_owned(),
            ..self.identity()
        };
        match now.difference(&self.identity()) {
            None => Ok(()),
            Some(difference) => Err(Error::File {
                file: self.scene.clone(),
                problem: format!(
                    "the render {difference} as when it was submitted; restore the original, or render the changed scene \
                     under another name"
                ),
            }),
        }
    }

    /// Returns the number of the first sample of part `part`, both counted from 0. If `part` is the number of parts,
    /// returns the number of samples per pixel, the end of the last part.
    fn first_sample(&self, part: u32) -> u64 {
        u64::from(self.spp) * u64::from(part) / u64::from(self.parts)
    }

    /// Returns the samples that the parts with the numbers `parts`, counted from 0, contain together in all pixels.
    pub(super) fn samples(&self, parts: std::ops::Range<u32>) -> Samples {
        let place = |part| SamplePosition {
            sample: self.first_sample(part),
            pixel: 0,
        };
        let pixel_count = self.size.0 * self.size.1;
        Samples::new(place(parts.start)..place(parts.end), pixel_count)
            .unwrap_or_else(|| Samples::first(self.spp, pixel_count))
    }

    /// Returns the state of part `part`, counted from 0, whose file is at `file`. Compares the render and the samples
    /// that the file's header lists with those of the part. A file that is missing or has a damaged header counts as
    /// one without samples. Damage after the header is not found.
    pub(super) fn part_state(&self, part: u32, file: &Path) -> PartState {
        let invalid =
            |problem: String| PartState::Invalid(format!("{}: {problem}", file.display()));
        match PartHeader::read(file) {
            Ok(header) => {
                let samples = self.samples(part..part + 1);
                if let Some(difference) = header.identity.difference(&self.identity()) {
                    invalid(format!("{difference} as the other parts; move it away"))
                } else if header.samples == samples {
                    PartState::Complete
                } else if header.samples.overlap(&samples) == header.samples {
                    PartState::Incomplete(header.samples.len())
                } else {
                    invalid(format!(
                        "contains samples {}, which do not begin {samples}; move it away",
                        header.samples
                    ))
                }
            }
            // The part's job sets a damaged file aside and starts again.
            Err(raysieve::Error::Damaged { .. }) => PartState::Incomplete(0),
            Err(_) if !file.exists() => PartState::Incomplete(0),
            Err(error) => PartState::Invalid(error.to_string()),
        }
    }

    /// Returns the header of the image at `picture` if the image contains all samples of this render. Returns `None` if
    /// the image is incomplete, is of another render, or cannot be read.
    pub(super) fn complete_image(&self, picture: &Path) -> Option<PartHeader> {
        PartHeader::read(picture).ok().filter(|header| {
            header.identity == self.identity() && header.samples == self.samples(0..self.parts)
        })
    }
}

/// Returns the container for Kubernetes, or `None` for Slurm.
///
/// # Errors
/// If `--image` or `--claim` is missing, if the output image is outside the mounted folder, or if the path of that
/// folder cannot be used in scripts.
fn container(arguments: &Farm) -> Result<Option<Container>, Error> {
    let Some((image, claim)) = arguments.container()? else {
        return Ok(None);
    };
    let picture = absolute_path(&arguments.output)?;
    let mount = match &arguments.mount {
        Some(mount) => absolute_path(mount)?,
        None => picture.parent().unwrap_or(&picture).to_owned(),
    };
    if !picture.starts_with(&mount) {
        return Err(Error::Setting {
            setting: format!("--mount {}", mount.display()),
            problem: format!(
                "does not contain the image {}; name a folder that contains it",
                picture.display()
            ),
        });
    }
    Ok(Some(Container {
        image: image.to_owned(),
        claim: claim.to_owned(),
        mount: script_text(&mount)?,
    }))
}

/// Default number of parts. If there are fewer samples per pixel, the default is one part per sample.
const DEFAULT_PARTS: u32 = 64;

/// Returns the absolute form of a path, without resolving links. The path need not exist.
///
/// # Errors
/// [`Error::File`] if the path is empty, or the current folder is unknown.
pub(super) fn absolute_path(path: &Path) -> Result<PathBuf, Error> {
    absolute(path).map_err(|error| Error::File {
        file: path.display().to_string(),
        problem: format!("{error}; check the path"),
    })
}

/// Returns options of the command line as words that can be written into a script, without quotes.
///
/// # Errors
/// [`Error::Setting`] if one contains control characters.
fn script_words(words: &[String]) -> Result<Vec<String>, Error> {
    match words.iter().find(|word| word.contains(char::is_control)) {
        None => Ok(words.to_vec()),
        Some(word) => Err(Error::Setting {
            setting: word.clone(),
            problem: "contains characters that cannot be written into a script; rename it"
                .to_owned(),
        }),
    }
}

/// Returns a path as text that can be written into a script, without quotes.
///
/// # Errors
/// [`Error::File`] if the path is not UTF-8 or contains control characters.
pub(super) fn script_text(path: &Path) -> Result<String, Error> {
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or_else(|| Error::File {
        file: path.display().to_string(),
        problem: "contains characters that cannot be written into a script; rename it".to_owned(),
    })
}
