//! Whether it has become slower.

use std::path::Path;

use raysieve::Error;

use super::{
    results::{Results, SceneResults},
    tables::{Align, markdown},
};
use crate::cli::Method;

/// What may be lost beyond the noise.
const TOLERANCE: f64 = 0.05;

/// Strategy by strategy, of every scene that both results have.
pub(super) struct Comparison {
    rows: Vec<Row>,
    /// What one of both lacks, and what else is to be told.
    remarks: Vec<String>,
}

struct Row {
    scene: String,
    strategy: String,
    old_seconds: f64,
    new_seconds: f64,
    noise: f64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.new_seconds / self.old_seconds
    }

    fn is_slower(&self) -> bool {
        self.ratio() > 1.0 + TOLERANCE + self.noise
    }

    fn is_faster(&self) -> bool {
        self.ratio() < 1.0 / (1.0 + TOLERANCE + self.noise)
    }
}

/// The old results of a scene; `None` if there are none. `Err` if they were measured in another way, so that their times
/// say nothing.
pub(super) fn comparable<'a>(
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
            "it was measured on {}, {}, and this is {}, {}; measure both on one machine",
            before.backend, before.device, new.backend, new.device
        ));
    }
    if before.size != new.size || before.spp != new.spp {
        return refused(format!(
            "it was measured with {}, {} samples a pixel, and this is {}, {}; add --size {} --spp {}",
            size(before),
            before.spp,
            size(new),
            new.spp,
            size(before),
            before.spp
        ));
    }
    let shown = |scene: &SceneResults| (scene.scene_hash.clone(), scene.seed, scene.max_bounces);
    if shown(before) != shown(new) {
        return refused("the scene has changed since; measure it anew".to_owned());
    }
    Ok(Some(before))
}

/// Compares them.
///
/// # Errors
/// If they were measured in other ways, or have nothing in common.
pub(super) fn compare(new: &Results, old: &Results, path: &Path) -> Result<Comparison, Error> {
    let mut comparison = Comparison {
        rows: Vec::new(),
        remarks: Vec::new(),
    };
    for scene in &new.scenes {
        let Some(before) = comparable(scene, old, path)? else {
            comparison.lacks(&path.display().to_string(), &scene.scene);
            continue;
        };
        if before.film_hash != scene.film_hash {
            comparison.remarks.push(format!(
                "{} has another film now: {} instead of {}",
                scene.scene, scene.film_hash, before.film_hash
            ));
        }
        for timing in &scene.strategies {
            let Some(earlier) = before.timing(&timing.strategy) else {
                let lacking = format!("{} by {}", scene.scene, timing.strategy);
                comparison.lacks(&path.display().to_string(), &lacking);
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

/// Finds before anything is measured that by none of these methods anything was measured before.
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

fn nothing_in_common(path: &Path) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: "has no scene and strategy that is measured now; name those that it has"
            .to_owned(),
    }
}

impl Comparison {
    fn lacks(&mut self, file: &str, what: &str) {
        self.remarks
            .push(format!("{file} has no {what}: not compared"));
    }

    /// Old and new, row by row.
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
        let mut text = format!("\n## Beside {}\n\n", path.display());
        text += &markdown(&head, &rows.collect::<Vec<_>>());
        for remark in &self.remarks {
            text += &format!("\n{remark}\n");
        }
        text
    }

    /// `Err` if anything is slower.
    pub(super) fn check(&self, path: &Path) -> Result<(), Error> {
        let slower: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.is_slower())
            .map(|row| {
                format!(
                    "{} by {} takes {:.2} times as long",
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
