//! Comparison of benchmark results with a baseline, which is an earlier file of results.

use std::path::Path;

use crate::error::Error;

use super::{
    results::{Results, SceneResults},
    tables::{Align, markdown},
};
use crate::{arguments::Method, table::samples_per_pixel};

/// Increase of the frame time, as a fraction of it, that never counts as slower. The noise of the comparison is added
/// to this fraction.
const TOLERANCE: f64 = 0.05;

/// The comparison of new results with a baseline: one row for each scene and strategy that both contain. Scenes and
/// strategies that only the baseline contains are left out.
pub(super) struct Comparison {
    rows: Vec<Row>,
    /// Sentences about scenes and strategies that the baseline does not contain, and about scenes whose film hash
    /// differs from the baseline's. Scenes with another film are compared all the same.
    remarks: Vec<String>,
}

/// The comparison of the frame times of one strategy in one scene.
struct Row {
    /// Path of the scene as the user gave it.
    scene: String,
    /// Name of the strategy.
    strategy: String,
    /// Median frame time of the baseline in seconds.
    old_seconds: f64,
    /// Median frame time of the new results in seconds.
    new_seconds: f64,
    /// Noise of [`ratio`](Self::ratio) as a fraction: the root of the sum of the squares of the noises of both runs.
    /// See [`Timing::noise`](super::results::Timing::noise).
    noise: f64,
}

impl Row {
    /// Returns the median frame time of the new results divided by that of the baseline. Values above 1 are slower.
    fn ratio(&self) -> f64 {
        self.new_seconds / self.old_seconds
    }

    /// Returns whether the new frame time exceeds the old one by more than [`TOLERANCE`] plus [`noise`](Self::noise),
    /// both as fractions of the old frame time.
    fn is_slower(&self) -> bool {
        self.ratio() > 1.0 + TOLERANCE + self.noise
    }

    /// Returns whether the old frame time exceeds the new one by more than [`TOLERANCE`] plus [`noise`](Self::noise),
    /// both as fractions of the new frame time.
    fn is_faster(&self) -> bool {
        self.ratio() < 1.0 / (1.0 + TOLERANCE + self.noise)
    }
}

/// Returns the results of the scene `new` in the baseline `old`, or `None` if the baseline does not contain a scene
/// with the same path. `path` is the file of the baseline.
///
/// # Errors
/// [`Error::File`] if the baseline was measured on another device, or with another size, number of samples, seed,
/// maximum number of bounces or version of the scene.
pub(super) fn baseline_scene<'a>(
    new: &SceneResults,
    old: &'a Results,
    path: &Path,
) -> Result<Option<&'a SceneResults>, Error> {
    let Some(before) = old.scenes.iter().find(|before| before.scene == new.scene) else {
        return Ok(None);
    };
    let refused = |problem: String| {
        Err(Error::File {
            file: path.display().to_string(),
            problem: format!("{} cannot be compared: {problem}", new.scene),
        })
    };
    let size = |scene: &SceneResults| {
        let [width, height] = scene.size;
        format!("{width}x{height}")
    };
    if (&before.backend, &before.device) != (&new.backend, &new.device) {
        return refused(format!(
            "it was measured on {}, {}, and this is {}, {}; measure both on the same machine",
            before.backend, before.device, new.backend, new.device
        ));
    }
    if before.size != new.size || before.spp != new.spp {
        return refused(format!(
            "it was measured with {}, {} {}, and this is {}, {}; add --size {} --spp {}",
            size(before),
            before.spp,
            samples_per_pixel(before.spp),
            size(new),
            new.spp,
            size(before),
            before.spp
        ));
    }
    let content = |scene: &SceneResults| (scene.scene_hash.clone(), scene.seed, scene.max_bounces);
    if content(before) != content(new) {
        return refused("the scene has changed; measure the baseline again".to_owned());
    }
    Ok(Some(before))
}

/// Compares new results with the baseline `old`, which was read from the file `path`.
///
/// # Errors
/// [`Error::File`] if [`baseline_scene`] refuses a scene, or if both have no scene and strategy in common.
pub(super) fn compare(new: &Results, old: &Results, path: &Path) -> Result<Comparison, Error> {
    let mut comparison = Comparison {
        rows: Vec::new(),
        remarks: Vec::new(),
    };
    for scene in &new.scenes {
        let Some(before) = baseline_scene(scene, old, path)? else {
            comparison.remark_missing(&path.display().to_string(), &scene.scene);
            continue;
        };
        if before.film_hash != scene.film_hash {
            comparison.remarks.push(format!(
                "{} has another film than the baseline: {} instead of {}",
                scene.scene, scene.film_hash, before.film_hash
            ));
        }
        for timing in &scene.strategies {
            let Some(earlier) = before.timing(&timing.strategy) else {
                let lacking = format!("{} with {}", scene.scene, timing.strategy);
                comparison.remark_missing(&path.display().to_string(), &lacking);
                continue;
            };
            comparison.rows.push(Row {
                scene: scene.scene.clone(),
                strategy: timing.strategy.clone(),
                old_seconds: earlier.median(),
                new_seconds: timing.median(),
                noise: earlier.noise().hypot(timing.noise()),
            });
        }
    }
    if comparison.rows.is_empty() {
        return Err(nothing_in_common(path));
    }
    Ok(comparison)
}

/// Returns [`Error::File`] if the baseline `old`, read from `path`, contains none of these methods. Should be called
/// before the measurement, which can take hours.
pub(super) fn check_methods(methods: &[Method], old: &Results, path: &Path) -> Result<(), Error> {
    let was_measured = |method: &Method| {
        let mut scenes = old.scenes.iter();
        scenes.any(|scene| scene.timing(method.name()).is_some())
    };
    match methods.iter().any(was_measured) {
        true => Ok(()),
        false => Err(nothing_in_common(path)),
    }
}

/// Returns the error for a baseline, read from `path`, that contains none of the measured scenes and strategies.
fn nothing_in_common(path: &Path) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: "contains none of the measured scenes and strategies; name those that it contains"
            .to_owned(),
    }
}

impl Comparison {
    /// Adds the remark that the baseline `file` does not contain `what`, a scene or a strategy of a scene.
    fn remark_missing(&mut self, file: &str, what: &str) {
        self.remarks
            .push(format!("{file} does not contain {what}: not compared"));
    }

    /// Returns the comparison as Markdown: a heading that names the baseline's file `path`, a table with times in
    /// milliseconds, and the remarks.
    pub(super) fn table(&self, path: &Path) -> String {
        let head = [
            ("scene", Align::Left),
            ("strategy", Align::Left),
            ("old, ms", Align::Right),
            ("new, ms", Align::Right),
            ("new / old", Align::Right),
            ("noise", Align::Right),
            ("", Align::Left),
        ];
        let rows = self.rows.iter().map(|row| {
            let verdict = match row {
                row if row.is_slower() => "slower",
                row if row.is_faster() => "faster",
                _ => "",
            };
            vec![
                row.scene.clone(),
                row.strategy.clone(),
                format!("{:.2}", row.old_seconds * 1e3),
                format!("{:.2}", row.new_seconds * 1e3),
                format!("{:.3}", row.ratio()),
                format!("± {:.1} %", 100.0 * row.noise),
                verdict.to_owned(),
            ]
        });
        let mut text = format!("\n## Comparison with {}\n\n", path.display());
        text += &markdown(&head, &rows.collect::<Vec<_>>());
        for remark in &self.remarks {
            text += &format!("\n{remark}\n");
        }
        text
    }

    /// Returns [`Error::Slower`] if any strategy is slower on any scene. `path` is the file of the baseline.
    pub(super) fn check(&self, path: &Path) -> Result<(), Error> {
        let slower: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.is_slower())
            .map(|row| {
                format!(
                    "{} with {} takes {:.2} times as long",
                    row.scene,
                    row.strategy,
                    row.ratio()
                )
            })
            .collect();
        if slower.is_empty() {
            return Ok(());
        }
        Err(Error::Slower {
            file: path.display().to_string(),
            problem: slower.join(", "),
        })
    }
}
