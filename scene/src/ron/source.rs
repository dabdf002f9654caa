//! The text of a scene file, and errors with a line and column in it.
//!
//! Each value is first read as a slice of the text (`ron::value::RawValue`) and parsed when its object is built. So an
//! error about a value's meaning knows its place in the file, as a syntax error does.

use std::{
    collections::HashMap,
    fmt::Display,
    io::Read,
    ops::Range,
    path::{Path, PathBuf},
};

use glam::{DVec3, Vec3};
use ron::{Options, extensions::Extensions, value::RawValue};
use serde::{Deserialize, de::DeserializeOwned};

use super::error_text;
use crate::{
    Error,
    error::{escaped, excerpt},
    files::{display_path, open_regular_file},
    limits::{MAX_LENGTH, MIN_LENGTH},
};

/// An unparsed value: a slice of the scene's text.
pub(crate) type Raw<'a> = &'a RawValue;

/// Largest size of a scene file in bytes: 16 MiB. Large geometry belongs in mesh files.
const MAX_SCENE_BYTES: u64 = 16 << 20;

/// Longest path in a scene file, in bytes; above the limits of common file systems.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// The text of a scene file, with the file's path for error messages.
pub(crate) struct SceneSource<'a> {
    path: &'a Path,
    text: &'a str,
    /// The point that [`SceneSource::point`] subtracts, see [`Scene::origin`](crate::Scene::origin).
    pub(crate) origin: DVec3,
}

/// A part of a scene file that an error message can name, such as an object, a light, a material or the camera.
pub(crate) struct Object<'a> {
    /// Name shown in errors, such as `material "glass"` or `object 3 (Sphere)`.
    pub(crate) name: String,
    /// Unparsed text of this part, a slice of the scene's text.
    pub(crate) raw: Raw<'a>,
}

/// The range of the numbers that a field accepts. Infinities and NaN are never in it.
#[derive(Clone, Copy)]
pub(crate) enum NumberRange {
    /// Every finite number.
    Finite,
    /// A coordinate in metres: magnitude of at most 1e8.
    Coordinate,
    /// A length in metres: from 1e-15 to 1e8.
    Length,
    /// A scale factor of either sign: magnitude from 1e-15 to 1e8.
    Factor,
    /// A fraction, from 0 to 1.
    Fraction,
    /// A number from 0 to 100, such as a metal's index of refraction or a specular color.
    MetalIndex,
    /// A number of 0 or more that stays finite as an `f32`.
    FromZero,
}

impl NumberRange {
    /// Returns `true` if `value` is within the range.
    pub(crate) fn holds(self, value: f64) -> bool {
        match self {
            NumberRange::Finite => value.is_finite(),
            NumberRange::Coordinate => value.abs() <= MAX_LENGTH,
            NumberRange::Length => (MIN_LENGTH..=MAX_LENGTH).contains(&value),
            NumberRange::Factor => (MIN_LENGTH..=MAX_LENGTH).contains(&value.abs()),
            NumberRange::Fraction => (0.0..=1.0).contains(&value),
            NumberRange::MetalIndex => (0.0..=100.0).contains(&value),
            NumberRange::FromZero => value >= 0.0 && (value as f32).is_finite(),
        }
    }
}

impl<'a> Object<'a> {
    /// Creates an object from the name that errors show and its unparsed text.
    pub(crate) fn new(name: impl Into<String>, raw: Raw<'a>) -> Self {
        Object {
            name: name.into(),
            raw,
        }
    }

    /// Creates the object for an entry of a list, with a name such as `light 3 (Spot)`: `kind`, the entry's number, and
    /// its type. `index` counts from 0, the name from 1.
    pub(crate) fn listed(kind: &str, index: usize, raw: Raw<'a>) -> Self {
        let text = raw.trim().get_ron();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = match &text[..end.unwrap_or(text.len())] {
            "" => format!("{kind} {}", index + 1),
            variant => format!("{kind} {} ({})", index + 1, excerpt(variant)),
        };
        Object { name, raw }
    }
}

/// Reads a `.ron` file as text and removes a byte order mark.
///
/// # Errors
/// [`Error::File`] if the file cannot be opened or read, has another extension, is not UTF-8, is empty, or is larger
/// than 16 MiB.
pub(crate) fn read_scene_file(path: &Path) -> Result<String, Error> {
    let file_error = |problem| Error::File {
        file: display_path(path),
        problem,
    };
    let mut file = open_regular_file(path, &["ron"]).map_err(file_error)?;
    let mut bytes = Vec::new();
    file.by_ref()
        .take(MAX_SCENE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| file_error(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_SCENE_BYTES {
        let limit = MAX_SCENE_BYTES >> 20;
        return Err(file_error(format!(
            "is larger than {limit} MiB; move large geometry into a PLY or OBJ file"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..valid]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        file_error(format!(
            "line {line} is not UTF-8 text; save the scene as a RON file in UTF-8"
        ))
    })?;
    let text = text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text);
    if text.trim().is_empty() {
        return Err(file_error(
            "is empty; expected a RON scene with a camera and at least one object".to_owned(),
        ));
    }
    Ok(text)
}

impl<'a> SceneSource<'a> {
    /// Parses the value `raw` of `field`, the name of a material in quotes, and returns its index in `names`. An
    /// unknown name is an [`Error::Scene`].
    pub(crate) fn material(
        &self,
        object: &Object,
        field: &str,
        raw: Raw,
        names: &HashMap<String, u32>,
    ) -> Result<u32, Error> {
        let expected = "the name of a material in quotes";
        let wanted: String = self.field(object, field, raw, expected, |_| true)?;
        names.get(&wanted).copied().ok_or_else(|| {
            let mut names: Vec<&str> = names.keys().map(String::as_str).collect();
            names.sort_unstable();
            let alternatives = error_text::alternatives(&wanted, &names);
            let wanted = excerpt(&wanted);
            let problem = format!("{field}: no material is named `{wanted}`{alternatives}");
            self.error(object, raw, problem)
        })
    }

    /// Creates a source from the path and the whole text of a scene file. The positions in it will be relative to
    /// `origin`.
    pub(crate) fn new(path: &'a Path, text: &'a str, origin: DVec3) -> Self {
        SceneSource { path, text, origin }
    }

    /// Returns the path of the scene file.
    pub(crate) fn scene_path(&self) -> &'a Path {
        self.path
    }

    /// Returns the whole text of the scene file.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the scene file's folder, to which paths in the scene are relative.
    pub(crate) fn folder(&self) -> &'a Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Parses the whole text as `T`, the fields of a scene.
    ///
    /// # Errors
    /// [`Error::Scene`] at the place of the first syntax error or unknown, missing or repeated field.
    pub(crate) fn parse_all<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        ron::from_str(self.text).map_err(|error| self.structure_error("scene", self.text, &error))
    }

    /// Parses an object's text as `T`, a struct or an enum.
    ///
    /// # Errors
    /// [`Error::Scene`] at the place of the first syntax error or unknown, missing or repeated field.
    pub(crate) fn parse<T: Deserialize<'a>>(&self, object: &Object<'a>) -> Result<T, Error> {
        let text = object.raw.trim().get_ron();
        // A variant that holds a struct is written `Mesh(file: ..)`, without a second pair of parentheses.
        let options =
            Options::default().with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES);
        options
            .from_str(text)
            .map_err(|error| self.structure_error(&object.name, text, &error))
    }

    /// Parses the value `raw` of the field `field` as a `T` for which `valid` returns `true`.
    ///
    /// # Errors
    /// [`Error::Scene`] at the value, about `object`: "`field`: found …, expected `expected`".
    pub(crate) fn field<T: DeserializeOwned>(
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

    /// Parses an optional field that is `true` or `false`; returns `default` if it is missing. Any other value is an
    /// [`Error::Scene`].
    pub(crate) fn flag(
        &self,
        object: &Object,
        field: &str,
        raw: Option<Raw>,
        default: bool,
    ) -> Result<bool, Error> {
        raw.map_or(Ok(default), |raw| {
            self.field(object, field, raw, "true or false", |_| true)
        })
    }

    /// Parses the field `file`, a path relative to the scene's folder. Returns that folder joined with the path. A path
    /// that is empty or longer than 4096 bytes is an [`Error::Scene`].
    pub(crate) fn path(&self, object: &Object, raw: Raw) -> Result<PathBuf, Error> {
        let named = |path: &String| (1..=MAX_PATH_BYTES).contains(&path.len());
        let expected = "a path in quotes, up to 4096 bytes";
        let file = self.field(object, "file", raw, expected, named)?;
        Ok(self.folder().join(file))
    }

    /// Parses a field as a finite number for which `valid` returns `true`. Any other value is an [`Error::Scene`],
    /// whose message says what was `expected`.
    pub(crate) fn number(
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

    /// Parses a field as a length in metres from 1e-15 to 1e8. Any other value is an [`Error::Scene`].
    pub(crate) fn length(&self, object: &Object, field: &str, raw: Raw) -> Result<f64, Error> {
        self.number(
            object,
            field,
            raw,
            "a length from 1e-15 to 1e8 metres",
            |value| NumberRange::Length.holds(value),
        )
    }

    /// Parses a field as three numbers, each in the range `extent`. Any other value is an [`Error::Scene`], whose
    /// message says what was `expected`.
    pub(crate) fn triple(
        &self,
        object: &Object,
        field: &str,
        raw: Raw,
        expected: &str,
        extent: NumberRange,
    ) -> Result<DVec3, Error> {
        let all_hold = |values: &[f64; 3]| values.iter().all(|&value| extent.holds(value));
        self.field(object, field, raw, expected, all_hold)
            .map(DVec3::from_array)
    }

    /// Parses a field as a point in metres or a direction, each coordinate from -1e8 to 1e8. Any other value is an
    /// [`Error::Scene`].
    pub(crate) fn position(&self, object: &Object, field: &str, raw: Raw) -> Result<DVec3, Error> {
        self.triple(
            object,
            field,
            raw,
            "(x, y, z), each from -1e8 to 1e8",
            NumberRange::Coordinate,
        )
    }

    /// Parses a field as a point in metres like [`SceneSource::position`], and returns it relative to the origin.
    pub(crate) fn point(&self, object: &Object, field: &str, raw: Raw) -> Result<Vec3, Error> {
        let position = self.position(object, field, raw)?;
        Ok((position - self.origin).as_vec3())
    }

    /// Parses a field as one scale factor for all axes or as one per axis, of either sign and magnitude 1e-15 to 1e8.
    /// Any other value is an [`Error::Scene`].
    pub(crate) fn scale(&self, object: &Object, field: &str, raw: Raw) -> Result<DVec3, Error> {
        let expected = "a factor or (x, y, z), of magnitude 1e-15 to 1e8 and either sign";
        match ron::from_str(raw.get_ron()) {
            Ok(factor) if NumberRange::Factor.holds(factor) => Ok(DVec3::splat(factor)),
            _ => self.triple(object, field, raw, expected, NumberRange::Factor),
        }
    }

    /// Returns an [`Error::Scene`] about the value `raw` of a field of `object`: "`field`: found …, expected
    /// `expected`".
    fn unexpected(&self, object: &Object, field: &str, raw: Raw, expected: &str) -> Error {
        let found = excerpt(raw.trim().get_ron());
        self.error(
            object,
            raw,
            format!("{field}: found `{found}`, expected {expected}"),
        )
    }

    /// Returns an [`Error::Scene`] with the message `problem` about `object`, at the line and column of the value `at`.
    pub(crate) fn error(&self, object: &Object, at: Raw, problem: impl Display) -> Error {
        self.error_at(self.offset(at.trim().get_ron()), &object.name, problem)
    }

    /// Returns the byte offset in the scene's text of `slice`, which must be a slice of that text.
    fn offset(&self, slice: &str) -> usize {
        (slice.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// Returns the byte range of a value in the scene's text, without surrounding white space and comments.
    pub(crate) fn range_of(&self, raw: Raw) -> Range<usize> {
        let value = raw.trim().get_ron();
        let start = self.offset(value);
        start..start + value.len()
    }

    /// Returns an [`Error::Scene`] about `object` at a byte offset in the scene's text.
    fn error_at(&self, offset: usize, object: &str, problem: impl Display) -> Error {
        let before = self.text.get(..offset).unwrap_or(self.text);
        Error::Scene {
            file: display_path(self.path),
            line: 1 + before.matches('\n').count(),
            column: 1 + before.chars().rev().take_while(|&c| c != '\n').count(),
            object: excerpt(object),
            problem: escaped(&problem.to_string()),
        }
    }

    /// Converts an error of the RON parser to an [`Error::Scene`]. `text` is the slice of the scene that was parsed.
    ///
    /// The result is about the part named `object`. If the error arose in an entry of a list, it is about that entry,
    /// whose name [`error_text::in_entry`] has stored in the error.
    fn structure_error(&self, object: &str, text: &str, error: &ron::error::SpannedError) -> Error {
        let place = error_text::error_offset(text, error);
        let (named, problem) = error_text::describe(&error.code, &text[place..]);
        self.error_at(
            self.offset(text) + place,
            named.as_deref().unwrap_or(object),
            problem,
        )
    }
}
