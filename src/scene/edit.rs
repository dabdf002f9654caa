//! Another camera and other materials in a scene's text: numbers are exchanged, and all else stays as it was written,
//! comments too.

mod materials;

use std::{collections::BTreeMap, ops::Range, path::Path};

use glam::Vec3;

use super::{
    Camera, Focus, Lens, Projection, Surface,
    camera::camera,
    source::{Object, Raw, Source, read_scene_file, shown},
    text::{CameraText, LensText, SceneText},
};
use crate::{Error, output};

/// Writes the camera into the scene's file. What a `filter` is stays as it is.
///
/// # Errors
/// [`Error::File`] if the file holds no camera or cannot be read, [`Error::Scene`] if it is no scene any more,
/// [`Error::Write`] if it cannot be written: then it is as it was.
pub fn save_camera(path: &Path, camera: &Camera) -> Result<(), Error> {
    save_view(path, camera, &BTreeMap::new())
}

/// The same, with other numbers of these materials.
///
/// # Errors
/// The same, and [`Error::File`] where a material is not written there, or is another one.
pub fn save_view(
    path: &Path,
    camera: &Camera,
    materials: &BTreeMap<String, Surface>,
) -> Result<(), Error> {
    if !super::Scene::is_named(path) || super::source::file_type(path) != "ron" {
        return Err(Error::File {
            file: shown(path),
            problem: "is a model, which keeps no camera; make a scene of it: a .ron file with `Model(file: ..)`"
                .to_owned(),
        });
    }
    let text = read_scene_file(path)?;
    let text = with_camera(path, &text, camera)?;
    let text = materials::with_materials(path, &text, materials)?;
    output::write_whole(path, |file| {
        std::io::Write::write_all(file, text.as_bytes())
    })
}

/// These materials as they stand in the scene's file but for these numbers, a line each: `"gold": RoughConductor(..),`.
///
/// # Errors
/// As of [`save_view`], but that nothing is written.
pub fn materials_to_ron(
    path: &Path,
    materials: &BTreeMap<String, Surface>,
) -> Result<String, Error> {
    if materials.is_empty() {
        return Ok(String::new());
    }
    let text = materials::with_materials(path, &read_scene_file(path)?, materials)?;
    materials::written(path, &text, materials)
}

impl Camera {
    /// As it stands in a scene: `camera: (origin: (0, 1, 5), target: (0, 1, 0), fov: 40),`. It sees what this one sees, but
    /// for `filter`.
    pub fn to_ron(&self) -> String {
        let Camera {
            origin,
            target,
            up,
            projection,
            lens,
            ..
        } = self;
        let mut text = format!(
            "camera: (origin: {}, target: {}",
            triple(*origin),
            triple(*target)
        );
        if *up != Vec3::Y {
            text.push_str(&format!(", up: {}", triple(*up)));
        }
        text.push_str(&match projection {
            Projection::Perspective { fov_degrees } => format!(", fov: {fov_degrees}"),
            Projection::Orthographic { width } => format!(", width: {width}"),
        });
        if let Some(lens) = lens {
            text.push_str(&format!(
                ", lens: (radius: {}, {}",
                lens.radius,
                focus(lens)
            ));
            if lens.blades != 0 {
                text.push_str(&format!(", blades: {}", lens.blades));
            }
            if lens.rotation_degrees != 0.0 {
                text.push_str(&format!(", rotation: {}", lens.rotation_degrees));
            }
            text.push(')');
        }
        text.push_str("),");
        text
    }
}

/// The scene's text with another camera.
fn with_camera(path: &Path, text: &str, wanted: &Camera) -> Result<String, Error> {
    let source = Source::new(path, text);
    let written: SceneText = source.parse_all()?;
    let object = Object::new("camera", written.camera);
    let held = camera(&source, &object)?;
    let fields: CameraText = source.parse(&object)?;
    let mut edits = Edits {
        source: &source,
        edits: Vec::new(),
    };
    edits.exchange(fields.origin, held.origin != wanted.origin, || {
        triple(wanted.origin)
    });
    edits.exchange(fields.target, held.target != wanted.target, || {
        triple(wanted.target)
    });
    if held.up != wanted.up {
        match fields.up {
            Some(raw) => edits.exchange(raw, true, || triple(wanted.up)),
            None => edits.insert(fields.target, format!(", up: {}", triple(wanted.up))),
        }
    }
    if held.projection != wanted.projection
        && let Some(raw) = fields.fov.or(fields.width)
    {
        edits.exchange(raw, true, || match wanted.projection {
            Projection::Perspective { fov_degrees } => fov_degrees.to_string(),
            Projection::Orthographic { width } => width.to_string(),
        });
    }
    if let (Some(raw), Some(lens)) = (fields.lens, &wanted.lens) {
        let lens_fields: LensText = source.parse(&Object::new("lens", raw))?;
        let is_new = held.lens.is_some_and(|held| held.focus != lens.focus);
        match lens_fields.focus_distance.or(lens_fields.focus_point) {
            // It is where the target is.
            None if lens.focus == Focus::Point(wanted.target) => {}
            None => {
                let last = lens_fields.radius.or(lens_fields.f_stop);
                last.into_iter()
                    .for_each(|raw| edits.insert(raw, format!(", {}", focus(lens))));
            }
            Some(raw) => edits.exchange(raw, is_new, || match lens.focus {
                Focus::Distance(metres) => metres.to_string(),
                Focus::Point(point) => triple(point),
            }),
        }
    }
    let text = edits.done(text);
    // What cannot be said by these fields is not written.
    let source = Source::new(path, &text);
    let written: SceneText = source.parse_all()?;
    let kept = camera(&source, &Object::new("camera", written.camera))?;
    let said = Camera {
        filter: kept.filter,
        ..*wanted
    };
    if kept != said {
        return Err(Error::File {
            file: shown(path),
            problem: "has a camera of another kind now; load the scene again".to_owned(),
        });
    }
    Ok(text)
}

/// What is to be written instead of parts of a text.
struct Edits<'s, 'a> {
    source: &'s Source<'a>,
    edits: Vec<(Range<usize>, String)>,
}

impl Edits<'_, '_> {
    fn exchange(&mut self, raw: Raw, differs: bool, by: impl FnOnce() -> String) {
        if differs {
            self.edits.push((self.source.place(raw), by()));
        }
    }

    /// As the first of a value's fields.
    fn begin(&mut self, value: Raw, text: String) {
        let place = self.source.place(value);
        let opened = value.trim().get_ron().find('(').map_or(0, |open| open + 1);
        let start = place.start + opened;
        self.edits.push((start..start, text));
    }

    fn insert(&mut self, behind: Raw, text: String) {
        let end = self.source.place(behind).end;
        self.edits.push((end..end, text));
    }

    /// The text with them.
    fn done(mut self, text: &str) -> String {
        self.edits
            .sort_by_key(|(place, _)| (place.start, place.end));
        let mut edited = text.to_owned();
        for (place, by) in self.edits.iter().rev() {
            edited.replace_range(place.clone(), by);
        }
        edited
    }
}

/// The shortest digits that are read back as the same numbers.
fn triple(vector: Vec3) -> String {
    format!("({}, {}, {})", vector.x, vector.y, vector.z)
}

fn focus(lens: &Lens) -> String {
    match lens.focus {
        Focus::Distance(metres) => format!("focus_distance: {metres}"),
        Focus::Point(point) => format!("focus_point: {}", triple(point)),
    }
}
