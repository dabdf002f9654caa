//! A scene's text, and errors that point into it.
//!
//! Every value is read first as a slice of the text (`ron::value::RawValue`) and parsed when its object is built, so
//! that an error about its meaning knows the value's place as well as an error about its form does.

use std::{
    fmt::Display,
    fs,
    io::{self, Read},
    ops::Range,
    path::{Component, Path, PathBuf},
};

use glam::DVec3;
use ron::{Options, extensions::Extensions, value::RawValue};
use serde::{Deserialize, de::DeserializeOwned};

use super::{files, wording};
use crate::{Error, error::escaped};

/// A value as it stands in the text.
pub(super) type Raw<'a> = &'a RawValue;

/// A scene is lines that people write; millions of triangles belong into a mesh file.
const MAX_SCENE_BYTES: u64 = 16 << 20;

/// Coordinates and lengths, metres: the square of a product of two of them still fits into an `f32`.
pub(super) const MAX_LENGTH: f64 = 1e8;
/// A sphere's radius, metres: its square is still a normal `f32`.
const MIN_LENGTH: f64 = 1e-15;

/// The text of a scene file.
pub(super) struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

/// A part of the scene that errors are about: its name, and where it begins.
pub(super) struct Object<'a> {
    pub(super) name: String,
    pub(super) raw: Raw<'a>,
}

/// Which numbers a field takes.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    /// All that are finite.
    Finite,
    /// Within [`MAX_LENGTH`] of 0.
    Coordinate,
    /// Above 0.
    Length,
    /// Neither 0 nor beyond a [`Extent::Coordinate`].
    Factor,
    /// 0 to 1.
    Part,
    /// 0 to 100: a metal's refractive index.
    Index,
    /// 0 or more, as an `f32` is finite.
    FromZero,
}

impl Extent {
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Extent::Finite => value.is_finite(),
            Extent::Coordinate => value.abs() <= MAX_LENGTH,
            Extent::Length => (MIN_LENGTH..=MAX_LENGTH).contains(&value),
            Extent::Factor => (MIN_LENGTH..=MAX_LENGTH).contains(&value.abs()),
            Extent::Part => (0.0..=1.0).contains(&value),
            Extent::Index => (0.0..=100.0).contains(&value),
            Extent::FromZero => value >= 0.0 && (value as f32).is_finite(),
        }
    }
}

impl<'a> Object<'a> {
    pub(super) fn new(name: impl Into<String>, raw: Raw<'a>) -> Self {
        Object {
            name: name.into(),
            raw,
        }
    }
}

/// Reads a scene's file as text, without a byte order mark.
pub(super) fn read_scene_file(path: &Path) -> Result<String, Error> {
    let file_error = |problem| Error::File {
        file: shown(path),
        problem,
    };
    let mut file = open_plain(path, &["ron"]).map_err(file_error)?;
    let mut bytes = Vec::new();
    file.by_ref()
        .take(MAX_SCENE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| file_error(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_SCENE_BYTES {
        let limit = MAX_SCENE_BYTES >> 20;
        return Err(file_error(format!(
            "is larger than {limit} MiB; put large geometry into a PLY or OBJ mesh"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..valid]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        file_error(format!(
            "is not text: line {line} is not UTF-8; a scene is a RON file in UTF-8"
        ))
    })?;
    let text = text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text);
    if text.trim().is_empty() {
        return Err(file_error(
            "is empty; a scene is a RON file with a camera and at least one object".to_owned(),
        ));
    }
    Ok(text)
}

/// Opens a file only if it is a plain one of a known type: a pipe would hang, a device might never end.
pub(super) fn open_plain(path: &Path, types: &[&str]) -> Result<fs::File, String> {
    files::note(path);
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "does not exist; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => "may not be read; check its permissions".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let kind = fs::metadata(path).map_err(cannot)?;
    let wanted = types
        .iter()
        .map(|name| format!(".{name}"))
        .collect::<Vec<_>>()
        .join(" or ");
    if kind.is_dir() {
        return Err(format!("is a folder; expected a {wanted} file"));
    }
    if !kind.is_file() {
        return Err(format!("is no plain file; expected a {wanted} file"));
    }
    if !types.contains(&file_type(path).as_str()) {
        return Err(format!("is of no known type; expected a {wanted} file"));
    }
    fs::File::open(path).map_err(cannot)
}

/// A file in the model's folder or below it. What would lead elsewhere is refused: a model may come from anywhere.
pub(super) fn relative_path(name: &str) -> Result<PathBuf, String> {
    const MAX_PATH_BYTES: usize = 4096;
    let refused = |why: &str| Err(format!("names the file `{}`, {why}", excerpt(name)));
    if name.is_empty() || name.len() > MAX_PATH_BYTES || name.contains(char::is_control) {
        return refused("which is no name");
    }
    // Some programs on Windows write a backslash.
    let path = PathBuf::from(name.replace('\\', "/"));
    if name.contains(':') {
        return refused("expected one in the model's folder; download it");
    }
    if path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    {
        Ok(path)
    } else {
        refused("expected one in the model's folder or below it, without `..`")
    }
}

/// A file's extension in lower case, empty if there is none.
pub(super) fn file_type(path: &Path) -> String {
    path.extension()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

/// A path on one line, whatever characters it holds.
pub(super) fn shown(path: &Path) -> String {
    escaped(&path.display().to_string())
}

/// The beginning of a piece of text, on one line.
pub(super) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 48;
    // The whole text may be as long as its file.
    let start: String = text.trim_start().chars().take(4 * MAX_CHARS).collect();
    let one_line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut start: String = escaped(&one_line).chars().take(MAX_CHARS + 1).collect();
    if start.chars().count() > MAX_CHARS {
        start = start.chars().take(MAX_CHARS).chain("...".chars()).collect();
    }
    start
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        Source { path, text }
    }

    /// The folder that the scene's paths are relative to.
    pub(super) fn folder(&self) -> &'a Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The whole text as `T`.
    pub(super) fn parse_all<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        ron::from_str(self.text).map_err(|error| self.structure_error("scene", self.text, &error))
    }

    /// An object's text as `T`, a struct or an enum.
    pub(super) fn parse<T: Deserialize<'a>>(&self, object: &Object<'a>) -> Result<T, Error> {
        let text = object.raw.trim().get_ron();
        // `Mesh(file: ..)` for a variant that holds a struct.
        let options =
            Options::default().with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES);
        options
            .from_str(text)
            .map_err(|error| self.structure_error(&object.name, text, &error))
    }

    /// One field, as text that is a `T` for which `valid` holds.
    pub(super) fn field<T: DeserializeOwned>(
        &self,
        object: &Object,
        field: &str,
        raw: Raw,
        expected: &str,
        valid: impl Fn(&T) -> bool,
    ) -> Result<T, Error> {
        let value = ron::from_str(raw.get_ron()).ok().filter(valid);
        value.ok_or_else(|| self.unexpected(object, field, raw, expected))
    }

    /// A field that is a finite number for which `valid` holds.
    pub(super) fn number(
        &self,
        object: &Object,
        field: &str,
        raw: Raw,
        expected: &str,
        valid: impl Fn(f64) -> bool,
    ) -> Result<f64, Error> {
        self.field(object, field, raw, expected, |&value: &f64| {
            value.is_finite() && valid(value)
        })
    }

    /// A field that is a length, metres.
    pub(super) fn length(&self, object: &Object, field: &str, raw: Raw) -> Result<f64, Error> {
        self.number(object, field, raw, "metres from 1e-15 to 1e8", |value| {
            Extent::Length.holds(value)
        })
    }

    /// A field that is three numbers, each in a range.
    pub(super) fn triple(
        &self,
        object: &Object,
        field: &str,
        raw: Raw,
        expected: &str,
        extent: Extent,
    ) -> Result<DVec3, Error> {
        let all_hold = |values: &[f64; 3]| values.iter().all(|&value| extent.holds(value));
        self.field(object, field, raw, expected, all_hold)
            .map(DVec3::from_array)
    }

    /// A field that is a point or a direction.
    pub(super) fn position(&self, object: &Object, field: &str, raw: Raw) -> Result<DVec3, Error> {
        self.triple(
            object,
            field,
            raw,
            "(x, y, z) in metres, each within 1e8 of 0",
            Extent::Coordinate,
        )
    }

    /// A field that is one factor, or one for each axis.
    pub(super) fn scale(&self, object: &Object, field: &str, raw: Raw) -> Result<DVec3, Error> {
        let expected = "a factor of either sign from 1e-15 to 1e8, or three of them";
        match ron::from_str(raw.get_ron()) {
            Ok(factor) if Extent::Factor.holds(factor) => Ok(DVec3::splat(factor)),
            _ => self.triple(object, field, raw, expected, Extent::Factor),
        }
    }

    fn unexpected(&self, object: &Object, field: &str, raw: Raw, expected: &str) -> Error {
        let found = excerpt(raw.trim().get_ron());
        self.error(
            object,
            raw,
            format!("{field}: found `{found}`, expected {expected}"),
        )
    }

    /// An error about an object, at one of its values.
    pub(super) fn error(&self, object: &Object, at: Raw, problem: impl Display) -> Error {
        self.error_at(self.offset(at.trim().get_ron()), &object.name, problem)
    }

    /// Where a slice of the text begins.
    fn offset(&self, slice: &str) -> usize {
        (slice.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// Where a value stands in the text, without what is around it.
    pub(super) fn place(&self, raw: Raw) -> Range<usize> {
        let value = raw.trim().get_ron();
        let start = self.offset(value);
        start..start + value.len()
    }

    fn error_at(&self, offset: usize, object: &str, problem: impl Display) -> Error {
        let before = self.text.get(..offset).unwrap_or(self.text);
        Error::Scene {
            file: shown(self.path),
            line: 1 + before.matches('\n').count(),
            column: 1 + before.chars().rev().take_while(|&c| c != '\n').count(),
            object: excerpt(object),
            problem: escaped(&problem.to_string()),
        }
    }

    /// An error of the RON parser in `text`, a slice of the scene.
    fn structure_error(&self, object: &str, text: &str, error: &ron::error::SpannedError) -> Error {
        let place = wording::place(text, error);
        let (named, problem) = wording::describe(&error.code, &text[place..]);
        self.error_at(
            self.offset(text) + place,
            named.as_deref().unwrap_or(object),
            problem,
        )
    }
}
