//! What a farm renders and how: written down beside its parts, and compared with what is asked for later.

use std::{
    env,
    path::{Path, PathBuf, absolute},
};

use raysieve::{
    Error, output,
    part::{Claim, Identity, Place, SOFTWARE, Samples},
    scene::Scene,
};
use serde::{Deserialize, Serialize};

use crate::{
    cli::{Engine, Farm},
    headless::reading,
};

/// The whole of it; the part that all parts have in common comes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// The program that submitted, and its version.
    pub(super) software: String,
    /// Absolute.
    pub(super) scene: String,
    pub(super) scene_hash: String,
    /// Width and height, pixels.
    pub(super) size: (u32, u32),
    pub(super) seed: u32,
    pub(super) max_bounces: u32,
    pub(super) clamp_indirect: Option<f32>,
    /// Samples a pixel of all parts together.
    pub(super) spp: u32,
    pub(super) parts: u32,

    /// Between two checkpoints.
    pub(super) every_seconds: f64,
    /// Files that a job merges at most.
    pub(super) fan_in: u32,
    pub(super) program: String,
    /// Options of the render that do not change the picture.
    pub(super) machine: Vec<String>,
    pub(super) engine: Engine,
    pub(super) gpus_per_task: Option<u32>,
    pub(super) cpus_per_task: Option<u32>,
    pub(super) time_seconds: Option<u64>,
    /// Options of sbatch.
    pub(super) sbatch: Vec<String>,
    /// Where Kubernetes finds program and files.
    pub(super) container: Option<Container>,
}

/// What a job of Kubernetes runs in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Container {
    pub(super) image: String,
    pub(super) claim: String,
    /// Absolute.
    pub(super) mount: String,
}

/// How far a part has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Whole,
    /// So many of its (pixel, sample) pairs.
    Begun(u64),
    /// There is a file that is no such part; what is wrong with it.
    Wrong(String),
}

impl Plan {
    /// What the command line asks for.
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
                    "a part has at least one sample, and the render has {}; use fewer parts or more --spp",
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
                    problem: format!("this program does not find itself: {error}; name it"),
                })?;
                script_text(&own)?
            }
        };
        let plan = Plan {
            software: SOFTWARE.to_owned(),
            scene: script_text(&absolute_path(path)?)?,
            scene_hash: scene.hash(),
            size: scene.size,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            clamp_indirect: scene.clamp_indirect,
            spp: scene.spp,
            parts,
            every_seconds: arguments.every.as_secs_f64(),
            fan_in: arguments.fan_in,
            program,
            machine: arguments.machine.clone(),
            engine: arguments.engine,
            gpus_per_task: arguments.gpus_per_task,
            cpus_per_task: arguments.cpus_per_task,
            time_seconds: arguments.time.map(|time| time.as_secs().max(1)),
            sbatch: arguments.sbatch_options(),
            container: container(arguments)?,
        };
        plan.check_container()?;
        Ok(plan)
    }

    /// Where Kubernetes is to find its files.
    fn check_container(&self) -> Result<(), Error> {
        let Some(Container { mount, .. }) = &self.container else {
            return Ok(());
        };
        let refused = |problem: String| Error::Setting {
            setting: format!("--mount {mount}"),
            problem,
        };
        if !Path::new(&self.scene).starts_with(mount) {
            return Err(refused(format!(
                "the scene {} is not in it, so that no container would see it; name the folder that has scene and picture",
                self.scene
            )));
        }
        let texts = [&self.scene, mount, &self.program];
        match texts.into_iter().find(|text| text.contains('$')) {
            Some(text) => Err(refused(format!(
                "{text} has a dollar sign, which Kubernetes would take for a variable; rename it"
            ))),
            None => Ok(()),
        }
    }

    /// What all its parts are of.
    pub(super) fn identity(&self) -> Identity {
        Identity {
            scene_hash: self.scene_hash.clone(),
            size: self.size,
            seed: self.seed,
            max_bounces: self.max_bounces,
            clamp_indirect: self.clamp_indirect,
            goal: None,
            software: self.software.clone(),
        }
    }

    /// What keeps the parts of the other plan from being this one's, in words: "has spp 2, not 3".
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

    /// Whether its scene is still what it was, and this the program that began.
    pub(super) fn check_scene(&self) -> Result<(), Error> {
        let path = Path::new(&self.scene);
        let mut scene = reading(path, || Scene::load(path))?;
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
                    "the render {difference} as when it was submitted; put back what was there, or render what is there \
                     now under another name"
                ),
            }),
        }
    }

    /// The first sample of a part; of the number of parts, the end of the last.
    fn first_sample(&self, part: u32) -> u64 {
        u64::from(self.spp) * u64::from(part) / u64::from(self.parts)
    }

    /// The samples of some parts.
    pub(super) fn samples(&self, parts: std::ops::Range<u32>) -> Samples {
        let place = |part| Place {
            sample: self.first_sample(part),
            pixel: 0,
        };
        let pixel_count = self.size.0 * self.size.1;
        Samples::new(place(parts.start)..place(parts.end), pixel_count)
            .unwrap_or_else(|| Samples::first(self.spp, pixel_count))
    }

    /// How far the part in this file has come.
    pub(super) fn progress(&self, part: u32, file: &Path) -> Progress {
        let wrong = |problem: String| Progress::Wrong(format!("{}: {problem}", file.display()));
        match Claim::read(file) {
            Ok(claim) => {
                let samples = self.samples(part..part + 1);
                if let Some(difference) = claim.identity.difference(&self.identity()) {
                    wrong(format!("{difference} as the other parts; move it away"))
                } else if claim.samples == samples {
                    Progress::Whole
                } else if claim.samples.overlap(&samples) == claim.samples {
                    Progress::Begun(claim.samples.len())
                } else {
                    wrong(format!(
                        "holds samples {}, not the first of {samples}; move it away",
                        claim.samples
                    ))
                }
            }
            // The render keeps it aside and begins anew.
            Err(Error::Damaged { .. }) => Progress::Begun(0),
            Err(_) if !file.exists() => Progress::Begun(0),
            Err(error) => Progress::Wrong(error.to_string()),
        }
    }

    /// What the picture says of itself if it is there, of this render, and whole.
    pub(super) fn finished(&self, picture: &Path) -> Option<Claim> {
        Claim::read(picture).ok().filter(|claim| {
            claim.identity == self.identity() && claim.samples == self.samples(0..self.parts)
        })
    }
}

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
                "the picture {} is not in it; name a folder that has it",
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

const DEFAULT_PARTS: u32 = 64;

pub(super) fn absolute_path(path: &Path) -> Result<PathBuf, Error> {
    absolute(path).map_err(|error| Error::File {
        file: path.display().to_string(),
        problem: format!("{error}; check the path"),
    })
}

/// A path as a script can say it.
pub(super) fn script_text(path: &Path) -> Result<String, Error> {
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or_else(|| Error::File {
        file: path.display().to_string(),
        problem: "has letters that a script cannot say; rename it".to_owned(),
    })
}
