//! Writes a changed camera and changed fields of materials, lights, sky and background into a scene file.
//!
//! Only the values that differ are replaced; comments, order and formatting of the file are kept. The edited text is
//! parsed again before it is written, and refused if it does not give the wanted values.

mod fields;

use std::{ops::Range, path::Path};

use glam::{DVec3, Vec3};

use crate::{
    Error, atomic_file,
    files::display_path,
    origin::{fewest_digits, position_in_file},
    ron::{
        camera::{STOPS, camera},
        source::{Object, Raw, SceneSource, read_scene_file},
        text::{CameraText, LensText, SceneText},
    },
    scene::{Camera, Focus, Lens, Part, Projection, Scene},
};

/// Replaces the camera in the scene file at `path`. The pixel filter of the file is kept. `origin` is the
/// [`Scene::origin`] of the camera's scene.
///
/// # Errors
/// [`Error::File`] if `path` is a model or cannot be read. [`Error::Scene`] if the file is not a valid scene, if a scene
/// cannot express the camera (see [`Camera::is_expressible`]), or if a comment hinders the edit. [`Error::Write`] if the
/// file cannot be written. The file is unchanged after an error.
pub fn save_camera(path: &Path, camera: &Camera, origin: DVec3) -> Result<(), Error> {
    let text = editable_text(path)?;
    write(path, &with_camera(path, &text, camera, origin)?)
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
    let (text, missing) = edits_text(edited, loaded, Some(camera))?;
    write(&edited.path, &text)?;
    Ok(missing)
}

/// Returns the text of the scene's file with the camera and the edits that [`save_edits`] would write, and the edited
/// parts that the file does not define. Without a camera, that of the file stays. The file is not written.
///
/// # Errors
/// Every error of [`save_edits`], except [`Error::Write`].
pub fn edits_text(
    edited: &Scene,
    loaded: &Scene,
    camera: Option<&Camera>,
) -> Result<(String, Vec<Part>), Error> {
    let path = &edited.path;
    let mut text = editable_text(path)?;
    if let Some(camera) = camera {
        text = with_camera(path, &text, camera, edited.origin)?;
    }
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
/// All edits are comments, too, if the file cannot be read, is no valid scene any more, or now defines an edited part in
/// another way. The second value is then the reason.
pub fn edits_to_ron(edited: &Scene, loaded: &Scene) -> (String, Option<Error>) {
    let path = &edited.path;
    let mut edits = edited.edits_since(loaded);
    let (mut lines, mut problem) = (Vec::new(), None);
    if !edits.is_empty() && can_save_view(path) {
        let saved =
            read_scene_file(path).and_then(|text| fields::with_fields(path, &text, edited, loaded));
        match saved {
            Ok(saved) => {
                edits.retain(|edit| saved.missing.contains(&edit.part));
                lines.extend(Some(saved.definitions).filter(|text| !text.is_empty()));
            }
            Err(error) => problem = Some(error),
        }
    }
    lines.extend(edits.iter().map(fields::comment));
    (lines.join("\n"), problem)
}

impl Camera {
    /// Returns the camera as scene text on one line: `camera: (origin: (0, 1, 5), target: (0, 1, 0), fov: 40),`.
    ///
    /// The pixel filter is left out. `scene_origin` is the [`Scene::origin`] of its scene.
    pub fn to_ron(&self, scene_origin: DVec3) -> String {
        let Camera {
            origin,
            target,
            up,
            shift: [right, upwards],
            pixel_aspect,
            lens,
            ..
        } = self;
        let mut text = format!(
            "camera: (origin: {}, target: {}",
            point(*origin, scene_origin),
            point(*target, scene_origin)
        );
        if *up != Vec3::Y {
            text.push_str(&format!(", up: {}", triple(*up)));
        }
        text.push_str(&format!(", {}", projection(self)));
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
                focus(lens, scene_origin)
            ));
            text.push_str(&aperture(lens));
            text.push(')');
        }
        text.push_str("),");
        text
    }
}

/// Returns the scene text `text` with those values of its camera replaced that differ from `wanted`. Where needed,
/// optional fields are inserted, and `lens` is removed.
///
/// The pixel filter and all other text stay. `path` is for error messages, and `origin` is the [`Scene::origin`] of the
/// camera's scene.
///
/// # Errors
/// [`Error::Scene`] if the text is not a valid scene, if a scene cannot express `wanted`, or if a comment hinders the
/// removal or renaming of a field.
fn with_camera(path: &Path, text: &str, wanted: &Camera, origin: DVec3) -> Result<String, Error> {
    let wanted = &wanted.as_written(origin);
    let source = SceneSource::new(path, text, origin);
    let written: SceneText = source.parse_all()?;
    let object = Object::new("camera", written.camera);
    let current = camera(&source, &object)?;
    let fields: CameraText = source.parse(&object)?;
    let mut edits = Edits {
        source: &source,
        edits: Vec::new(),
    };
    edits.replace(fields.origin, current.origin != wanted.origin, || {
        point(wanted.origin, origin)
    });
    edits.replace(fields.target, current.target != wanted.target, || {
        point(wanted.target, origin)
    });
    let fov_or_width = one_of([("fov", fields.fov), ("width", fields.width)]);
    let last = fov_or_width.map_or(fields.target, |(_, raw)| raw);
    let [right, upwards] = wanted.shift;
    for (differs, present, before, text) in [
        (
            current.up != wanted.up,
            one_of([("up", fields.up)]),
            fields.target,
            format!("up: {}", triple(wanted.up)),
        ),
        (
            current.projection != wanted.projection,
            fov_or_width,
            last,
            projection(wanted),
        ),
        (
            current.shift != wanted.shift,
            one_of([("shift", fields.shift)]),
            last,
            format!("shift: ({right}, {upwards})"),
        ),
        (
            current.pixel_aspect != wanted.pixel_aspect,
            one_of([("pixel_aspect", fields.pixel_aspect)]),
            last,
            format!("pixel_aspect: {}", wanted.pixel_aspect),
        ),
    ] {
        if differs {
            edits.set(present, before, &text)?;
        }
    }
    with_lens(&mut edits, &fields, &current, wanted)?;
    let text = edits.apply(text);
    // A value that does not read back as itself is refused instead of written.
    let source = SceneSource::new(path, &text, origin);
    let written: SceneText = source.parse_all()?;
    let edited = camera(&source, &Object::new("camera", written.camera))?;
    let wanted = Camera {
        filter: edited.filter,
        ..*wanted
    };
    if edited != wanted {
        return Err(Error::File {
            file: display_path(path),
            problem: "its camera cannot be changed to the present one; press 0 to go back to it"
                .to_owned(),
        });
    }
    Ok(text)
}

/// Adds the edits that give the camera with these fields the lens of `wanted`, instead of that of `current`. Fails if
/// the text of the lens is invalid, or if a comment separates a value to be removed or renamed from its name.
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
                text += &format!(", {}", focus(lens, edits.source.origin));
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
    let radius = one_of([
        ("radius", lens_fields.radius),
        ("f_stop", lens_fields.f_stop),
    ]);
    // The radius that a number of stops gives also depends on the angle of view.
    let is_stop = lens_fields.f_stop.is_some();
    let is_same = has_radius && !(is_stop && current.projection != wanted.projection);
    let stop = wanted
        .focal_length()
        .filter(|_| is_stop)
        .and_then(|length| stop_text(length, lens.radius));
    let radius_text = stop.unwrap_or_else(|| format!("radius: {}", lens.radius));
    // The focus defaults to the target.
    let given_focus = one_of([
        ("focus_distance", lens_fields.focus_distance),
        ("focus_point", lens_fields.focus_point),
    ]);
    let has_focus = match given_focus {
        Some(_) => has_focus,
        None => lens.focus == Focus::Point(wanted.target),
    };
    let before = current.lens.map(|now| (now.blades, now.rotation_degrees));
    let (blades, rotation) = before.unwrap_or_default();
    for (differs, present, text) in [
        (!is_same, radius, radius_text),
        (!has_focus, given_focus, focus(lens, edits.source.origin)),
        (
            blades != lens.blades,
            one_of([("blades", lens_fields.blades)]),
            format!("blades: {}", lens.blades),
        ),
        (
            rotation != lens.rotation_degrees,
            one_of([("rotation", lens_fields.rotation)]),
            format!("rotation: {}", lens.rotation_degrees),
        ),
    ] {
        if differs && let Some((_, last)) = radius {
            edits.set(present, last, &text)?;
        }
    }
    Ok(())
}

/// Returns the name and the value of the first of these fields that the text contains; `None` if it has none.
fn one_of<'a, const N: usize>(
    fields: [(&'static str, Option<Raw<'a>>); N],
) -> Option<(&'static str, Raw<'a>)> {
    let mut fields = fields.into_iter();
    fields.find_map(|(name, raw)| Some((name, raw?)))
}

/// Returns the field `f_stop` that gives a lens of this focal length, in metres, exactly this radius; `None` if no valid
/// one does.
fn stop_text(focal_length: f64, radius: f32) -> Option<String> {
    let stop = focal_length / (2.0 * f64::from(radius));
    let gives_radius = |stop: f64| (focal_length / stop / 2.0) as f32 == radius;
    (STOPS.contains(&stop) && gives_radius(stop))
        .then(|| format!("f_stop: {}", fewest_digits(stop, gives_radius)))
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

    /// Adds the replacement of a present field, given by name and value, by the field `text`, such as `fov: 40`, which may
    /// have another name. Without a present field, adds an insertion of `text` after the value `last`. Fails if the name
    /// changes, and something other than white space separates the present one from its value.
    fn set(&mut self, present: Option<(&str, Raw)>, last: Raw, text: &str) -> Result<(), Error> {
        let (name, value) = text.split_once(": ").unwrap_or((text, ""));
        match present {
            None => self.insert_after(last, format!(", {text}")),
            Some((present, raw)) if present == name => {
                self.replace(raw, true, || value.to_owned());
            }
            Some((present, raw)) => self.replace_named(raw, present, text)?,
        }
        Ok(())
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

/// Formats a vector as `(x, y, z)`, with the fewest digits that read back as the same `f32`.
pub(super) fn triple(vector: Vec3) -> String {
    format!("({}, {}, {})", vector.x, vector.y, vector.z)
}

/// Formats a position as `(x, y, z)` in the coordinates of a scene file, with the fewest digits that read back as the
/// same position. `origin` is [`Scene::origin`].
pub(super) fn point(position: Vec3, origin: DVec3) -> String {
    if origin == DVec3::ZERO {
        return triple(position);
    }
    let [x, y, z] = position_in_file(position, origin).to_array();
    format!("({x}, {y}, {z})")
}

/// Returns the projection of a camera as its field in a scene file without a comma: `fov: 40` or `width: 2`.
fn projection(camera: &Camera) -> String {
    match camera.projection {
        Projection::Perspective { fov_degrees } => format!("fov: {fov_degrees}"),
        Projection::Orthographic { width } => format!("width: {width}"),
    }
}

/// Returns the focus of a lens, in metres, as a field of `lens` in a scene file without a comma: `focus_distance: 3` or
/// `focus_point: (0, 1, 0)`. `origin` is [`Scene::origin`].
fn focus(lens: &Lens, origin: DVec3) -> String {
    match lens.focus {
        Focus::Distance(metres) => format!("focus_distance: {metres}"),
        Focus::Point(point) => format!("focus_point: {}", self::point(point, origin)),
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
