//! Writes a changed camera and changed fields of materials, lights, sky and background into a scene file.
//!
//! Only the values that differ are replaced; comments, order and formatting of the file are kept. The edited text is
//! parsed again before it is written, and refused if it does not give the wanted values.

mod fields;

use std::{ops::Range, path::Path};

use glam::Vec3;

use crate::{
    Error, atomic_file,
    files::display_path,
    ron::{
        camera::camera,
        source::{Object, Raw, SceneSource, read_scene_file},
        text::{CameraText, LensText, SceneText},
    },
    scene::{Camera, Focus, Lens, Part, Projection, Scene},
};

/// Replaces the camera in the scene file at `path`. The pixel filter of the file is kept.
///
/// # Errors
/// [`Error::File`] if `path` is a model, cannot be read, or has a camera that cannot be edited into `camera`, such as
/// one with the other projection. [`Error::Scene`] if the file is not a valid scene; [`Error::Write`] if it cannot be
/// written. The file is unchanged after an error.
pub fn save_camera(path: &Path, camera: &Camera) -> Result<(), Error> {
    let text = editable_text(path)?;
    write(path, &with_camera(path, &text, camera)?)
}

/// Saves the camera, and the fields in which `edited` differs from the scene `loaded`, to the scene's file. The pixel
/// filter is kept.
///
/// Returns the edited parts that the file does not define, such as materials of a model. Their edits are not saved.
///
/// # Errors
/// Every error of [`save_camera`], and [`Error::File`] if the file now defines an edited part in another way. The file
/// is unchanged after an error.
pub fn save_edits(edited: &Scene, loaded: &Scene, camera: &Camera) -> Result<Vec<Part>, Error> {
    let (text, missing) = edits_text(edited, loaded, camera)?;
    write(&edited.path, &text)?;
    Ok(missing)
}

/// Returns the text of the scene's file with the camera and the edits that [`save_edits`] would write, and the edited
/// parts that the file does not define. The file is not written.
///
/// # Errors
/// Every error of [`save_edits`], except [`Error::Write`].
pub fn edits_text(
    edited: &Scene,
    loaded: &Scene,
    camera: &Camera,
) -> Result<(String, Vec<Part>), Error> {
    let path = &edited.path;
    let text = editable_text(path)?;
    let text = with_camera(path, &text, camera)?;
    let saved = fields::with_fields(path, &text, edited, loaded)?;
    Ok((saved.text, saved.missing))
}

/// Reads the scene file at `path`. Fails if it is a model or cannot be read.
fn editable_text(path: &Path) -> Result<String, Error> {
    if can_save_view(path) {
        return read_scene_file(path);
    }
    Err(Error::File {
        file: display_path(path),
        problem: "is a model, which cannot store a camera; write it as a scene with --write-scene and open that"
            .to_owned(),
    })
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    atomic_file::write_whole(path, |file| {
        std::io::Write::write_all(file, text.as_bytes())
    })
}

/// Returns whether the file at `path` can store a camera and materials: whether it is named as a scene and not as a
/// model. The file need not exist.
pub fn can_save_view(path: &Path) -> bool {
    Scene::is_named(path) && crate::files::file_type(path) == "ron"
}

/// Returns the definitions of the parts in which `edited` differs from the scene `loaded`, as text of a scene file, one
/// per line: `"gold": RoughConductor(..),`. The camera is left out.
///
/// Everything but the changed values is copied from the scene's file, which is not written. Parts that the file does
/// not define follow as comments, one per changed value: `// material "gold": roughness: 0.3`. They are all that there
/// is for a model and for a scene of another renderer. The text is empty if no part is edited.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, or now defines an edited part in another way; [`Error::Scene`] if it is
/// not a valid scene.
pub fn edits_to_ron(edited: &Scene, loaded: &Scene) -> Result<String, Error> {
    let path = &edited.path;
    let mut edits = edited.edits_since(loaded);
    let mut lines = Vec::new();
    if !edits.is_empty() && can_save_view(path) {
        let text = read_scene_file(path)?;
        let saved = fields::with_fields(path, &text, edited, loaded)?;
        edits.retain(|edit| saved.missing.contains(&edit.part));
        lines.extend(Some(saved.definitions).filter(|text| !text.is_empty()));
    }
    lines.extend(edits.iter().map(fields::comment));
    Ok(lines.join("\n"))
}

impl Camera {
    /// Returns the camera as scene text on one line: `camera: (origin: (0, 1, 5), target: (0, 1, 0), fov: 40),`.
    ///
    /// The pixel filter is left out.
    pub fn to_ron(&self) -> String {
        let Camera {
            origin,
            target,
            up,
            projection,
            shift: [right, upwards],
            pixel_aspect,
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
        if (*right, *upwards) != (0.0, 0.0) {
            text.push_str(&format!(", shift: ({right}, {upwards})"));
        }
        if *pixel_aspect != 1.0 {
            text.push_str(&format!(", pixel_aspect: {pixel_aspect}"));
        }
        if let Some(lens) = lens {
            text.push_str(&format!(
                ", lens: (radius: {}, {}",
                lens.radius,
                focus(lens)
            ));
            text.push_str(&aperture(lens));
            text.push(')');
        }
        text.push_str("),");
        text
    }
}

/// Returns the scene text `text` with those values of its camera replaced that differ from `wanted`. Where needed,
/// `up`, `lens` and fields of the lens are inserted, or `lens` is removed.
///
/// The pixel filter and all other text stay. `path` is for error messages.
///
/// # Errors
/// [`Error::Scene`] if the text is not a valid scene, or a comment hinders the removal of the lens. [`Error::File`] if
/// its camera cannot be edited into `wanted`, which may have another kind of projection or another shift.
fn with_camera(path: &Path, text: &str, wanted: &Camera) -> Result<String, Error> {
    let source = SceneSource::new(path, text);
    let written: SceneText = source.parse_all()?;
    let object = Object::new("camera", written.camera);
    let current = camera(&source, &object)?;
    let fields: CameraText = source.parse(&object)?;
    let mut edits = Edits {
        source: &source,
        edits: Vec::new(),
    };
    edits.replace(fields.origin, current.origin != wanted.origin, || {
        triple(wanted.origin)
    });
    edits.replace(fields.target, current.target != wanted.target, || {
        triple(wanted.target)
    });
    if current.up != wanted.up {
        match fields.up {
            Some(raw) => edits.replace(raw, true, || triple(wanted.up)),
            None => edits.insert_after(fields.target, format!(", up: {}", triple(wanted.up))),
        }
    }
    if current.projection != wanted.projection
        && let Some(raw) = fields.fov.or(fields.width)
    {
        edits.replace(raw, true, || match wanted.projection {
            Projection::Perspective { fov_degrees } => fov_degrees.to_string(),
            Projection::Orthographic { width } => width.to_string(),
        });
    }
    with_lens(&mut edits, &fields, &current, wanted)?;
    let text = edits.apply(text);
    // Fields of another kind (such as `width` for a `fov`) cannot express the wanted camera: refuse instead of writing
    // it.
    let source = SceneSource::new(path, &text);
    let written: SceneText = source.parse_all()?;
    let edited = camera(&source, &Object::new("camera", written.camera))?;
    let wanted = Camera {
        filter: edited.filter,
        ..*wanted
    };
    if edited != wanted {
        return Err(Error::File {
            file: display_path(path),
            problem: "has changed and now contains another kind of camera; load the scene again"
                .to_owned(),
        });
    }
    Ok(text)
}

/// Adds the edits that give the camera with these fields the lens of `wanted`, instead of that of `current`. Fails if
/// the text of the lens is invalid or, to remove a lens, if a comment separates it from its name.
fn with_lens<'a>(
    edits: &mut Edits<'_, 'a>,
    fields: &CameraText<'a>,
    current: &Camera,
    wanted: &Camera,
) -> Result<(), Error> {
    let (raw, lens) = match (fields.lens, &wanted.lens) {
        (None, None) => return Ok(()),
        (None, Some(lens)) => {
            let mut text = format!(", lens: (radius: {}", lens.radius);
            if lens.focus != Focus::Point(wanted.target) {
                text += &format!(", {}", focus(lens));
            }
            text += &aperture(lens);
            let last = fields.fov.or(fields.width).unwrap_or(fields.target);
            edits.insert_after(last, text + ")");
            return Ok(());
        }
        (Some(raw), None) => return edits.remove(raw, "lens"),
        (Some(raw), Some(lens)) => (raw, lens),
    };
    let lens_fields: LensText = edits.source.parse(&Object::new("lens", raw))?;
    let has_radius = current.lens.is_some_and(|now| now.radius == lens.radius);
    let has_focus = current.lens.is_some_and(|now| now.focus == lens.focus);
    match (
        lens_fields.radius,
        lens_fields.f_stop,
        wanted.focal_length(),
    ) {
        (Some(raw), ..) => edits.replace(raw, !has_radius, || lens.radius.to_string()),
        // The radius that a number of stops gives also depends on the angle of view.
        (None, Some(raw), Some(length)) => {
            let is_same = has_radius && current.projection == wanted.projection;
            edits.replace(raw, !is_same, || {
                shortest(length / (2.0 * f64::from(lens.radius)), |stop| {
                    (length / stop / 2.0) as f32 == lens.radius
                })
            });
        }
        _ => {}
    }
    match lens_fields.focus_distance.or(lens_fields.focus_point) {
        // The focus defaults to the target, so nothing needs to be written.
        None if lens.focus == Focus::Point(wanted.target) => {}
        None => {
            let last = lens_fields.radius.or(lens_fields.f_stop);
            last.into_iter()
                .for_each(|raw| edits.insert_after(raw, format!(", {}", focus(lens))));
        }
        Some(raw) => edits.replace(raw, !has_focus, || match lens.focus {
            Focus::Distance(metres) => metres.to_string(),
            Focus::Point(point) => triple(point),
        }),
    }
    let before = current
        .lens
        .as_ref()
        .map(|now| (now.blades, now.rotation_degrees));
    let (blades, rotation) = before.unwrap_or_default();
    let last = lens_fields.radius.or(lens_fields.f_stop);
    for (name, raw, value, differs) in [
        (
            "blades",
            lens_fields.blades,
            lens.blades.to_string(),
            blades != lens.blades,
        ),
        (
            "rotation",
            lens_fields.rotation,
            lens.rotation_degrees.to_string(),
            rotation != lens.rotation_degrees,
        ),
    ] {
        match (raw, last) {
            (Some(raw), _) => edits.replace(raw, differs, || value),
            (None, Some(last)) if differs => edits.insert_after(last, format!(", {name}: {value}")),
            _ => {}
        }
    }
    Ok(())
}

/// A list of replacements and insertions to be made in a scene's text, by byte range.
struct Edits<'s, 'a> {
    source: &'s SceneSource<'a>,
    edits: Vec<(Range<usize>, String)>,
}

impl Edits<'_, '_> {
    /// Adds the replacement of the value `raw` by the text that `by` returns. Does nothing if `differs` is `false`.
    fn replace(&mut self, raw: Raw, differs: bool, by: impl FnOnce() -> String) {
        if differs {
            self.edits.push((self.source.range_of(raw), by()));
        }
    }

    /// Adds an insertion of `text` after the opening parenthesis of `value`, before its first field.
    fn insert_first(&mut self, value: Raw, text: String) {
        let place = self.source.range_of(value);
        let opened = value.trim().get_ron().find('(').map_or(0, |open| open + 1);
        let start = place.start + opened;
        self.edits.push((start..start, text));
    }

    /// Adds an insertion of `text` directly after the value `preceding`.
    fn insert_after(&mut self, preceding: Raw, text: String) {
        let end = self.source.range_of(preceding).end;
        self.edits.push((end..end, text));
    }

    /// Adds the removal of the field `name` with this value, and of the comma behind it. Fails if something other than
    /// white space separates name and value.
    fn remove(&mut self, value: Raw, name: &str) -> Result<(), Error> {
        let place = self.source.range_of(value);
        let before = &self.source.text()[..self.start_of_name(value, name)?];
        let behind = &self.source.text()[place.end..];
        let comma = behind.trim_start().strip_prefix(',').map(str::trim_start);
        let place = match comma {
            Some(rest) => before.len()..self.source.text().len() - rest.len(),
            // The last field may follow a comma.
            None => before.trim_end().trim_end_matches(',').len()..place.end,
        };
        self.edits.push((place, String::new()));
        Ok(())
    }

    /// Adds the replacement of the field `name` with this value by the text `by`, unless it was added before. Fails if
    /// something other than white space separates name and value.
    fn replace_named(&mut self, value: Raw, name: &str, by: &str) -> Result<(), Error> {
        let start = self.start_of_name(value, name)?;
        let edit = (start..self.source.range_of(value).end, by.to_owned());
        if !self.edits.contains(&edit) {
            self.edits.push(edit);
        }
        Ok(())
    }

    /// Returns the byte offset of the name of a field with this value. Fails if something other than white space
    /// separates them.
    fn start_of_name(&self, value: Raw, name: &str) -> Result<usize, Error> {
        let before = self.source.text()[..self.source.range_of(value).start].trim_end();
        let before = before.strip_suffix(':').map(str::trim_end);
        match before.and_then(|before| before.strip_suffix(name)) {
            Some(before) => Ok(before.len()),
            None => {
                let object = Object::new(name, value);
                let problem = "cannot be changed because of a comment; change it in the file";
                Err(self.source.error(&object, value, problem))
            }
        }
    }

    /// Returns `text` with all edits made. `text` must be the text of the source that the edits refer to.
    fn apply(mut self, text: &str) -> String {
        self.edits
            .sort_by_key(|(place, _)| (place.start, place.end));
        let mut edited = text.to_owned();
        for (place, by) in self.edits.iter().rev() {
            edited.replace_range(place.clone(), by);
        }
        edited
    }
}

/// Formats a number with the fewest significant digits that still satisfy `is_equal`, which `number` should.
fn shortest(number: f64, is_equal: impl Fn(f64) -> bool) -> String {
    let rounded = |decimals: usize| format!("{number:.decimals$e}").parse().unwrap_or(number);
    let mut candidates = (0..MAX_DECIMALS).map(rounded);
    let found = candidates.find(|&candidate: &f64| is_equal(candidate));
    found.unwrap_or(number).to_string()
}

/// Number of decimals of a number in scientific notation at which every `f64` reads back as itself.
const MAX_DECIMALS: usize = 17;

/// Formats a vector as `(x, y, z)`, with the fewest digits that read back as the same `f32`.
pub(super) fn triple(vector: Vec3) -> String {
    format!("({}, {}, {})", vector.x, vector.y, vector.z)
}

/// Returns the focus of a lens, in metres, as a field of `lens` in a scene file without a comma: `focus_distance: 3` or
/// `focus_point: (0, 1, 0)`.
fn focus(lens: &Lens) -> String {
    match lens.focus {
        Focus::Distance(metres) => format!("focus_distance: {metres}"),
        Focus::Point(point) => format!("focus_point: {}", triple(point)),
    }
}

/// Returns blades and rotation of an aperture as further fields of `lens` in a scene file, as far as they differ from
/// the defaults: `, blades: 6, rotation: 15`.
fn aperture(lens: &Lens) -> String {
    let mut text = String::new();
    if lens.blades != 0 {
        text.push_str(&format!(", blades: {}", lens.blades));
    }
    if lens.rotation_degrees != 0.0 {
        text.push_str(&format!(", rotation: {}", lens.rotation_degrees));
    }
    text
}
