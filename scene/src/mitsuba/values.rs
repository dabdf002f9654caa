//! Values of a Mitsuba scene: numbers, texts, colors, spectra and transforms.

use glam::{DAffine3, DMat3, DMat4, DVec3, DVec4, Vec3};
use roxmltree::Node;

use crate::{
    builder::transform::rotation, color::srgb_value, error::excerpt,
    files::relative_paths::RelativePaths, import::spectrum,
};

/// A value of an object.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Flag(bool),
    Number(f64),
    Text(String),
    Vector(DVec3),
    /// A color in linear sRGB.
    Color(Vec3),
    /// A spectrum with the same value at all wavelengths.
    Uniform(f64),
    /// Wavelengths in nanometres with values, in increasing order of wavelength.
    Spectrum(Vec<(f64, f64)>),
    /// A transform of points, whose last row may be that of a projection.
    Transform(DMat4),
}

impl Value {
    /// Returns a number, or the mean of a color or spectrum. Returns `None` for other types of values.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            &Value::Number(number) | &Value::Uniform(number) => Some(number),
            Value::Color(color) => Some(f64::from(color.element_sum() / 3.0)),
            Value::Spectrum(samples) => Some(spectrum::mean(samples).into()),
            _ => None,
        }
    }

    /// Returns the linear sRGB color of a reflectance; `None` if the value is not a color.
    pub(super) fn reflectance(&self) -> Option<Vec3> {
        Some(match self {
            Value::Color(color) => *color,
            &Value::Number(number) | &Value::Uniform(number) => Vec3::splat(number as f32),
            Value::Spectrum(samples) => spectrum::reflectance(samples),
            _ => return None,
        })
    }

    /// Returns the linear sRGB color of an emission; `None` if the value is not a color.
    pub(super) fn emission(&self) -> Option<Vec3> {
        Some(match self {
            Value::Color(color) => *color,
            &Value::Number(number) => Vec3::splat(number as f32),
            &Value::Uniform(number) => spectrum::equal_energy() * number as f32,
            Value::Spectrum(samples) => spectrum::emission(samples),
            _ => return None,
        })
    }
}

/// Returns whether an element with the name `tag` and without a type is a value rather than an object.
pub(super) fn is_value(tag: &str) -> bool {
    matches!(
        tag,
        "boolean"
            | "float"
            | "integer"
            | "string"
            | "point"
            | "vector"
            | "rgb"
            | "srgb"
            | "color"
            | "spectrum"
            | "blackbody"
            | "transform"
    )
}

/// Reads the value of an element. `read` returns the attribute of an element, with defaults replaced; `files` looks up
/// spectra. Fails with a message that says what was expected.
pub(super) fn value(
    node: Node,
    read: &dyn Fn(Node, &str) -> Option<String>,
    files: &mut RelativePaths,
) -> Result<Value, String> {
    let tag = node.tag_name().name();
    let attribute = |name: &str| read(node, name);
    let text = attribute("value");
    let required = || {
        let name = attribute("name").unwrap_or_default();
        text.clone().ok_or_else(|| {
            format!(
                "`{}` has no value; add the attribute `value`",
                excerpt(&name)
            )
        })
    };
    let expected = |what: &str, found: &str| {
        let name = attribute("name").unwrap_or_default();
        format!(
            "`{}`: found `{}`, expected {what}",
            excerpt(&name),
            excerpt(found)
        )
    };
    Ok(match tag {
        "boolean" => {
            let text = required()?;
            match text.trim().to_lowercase().as_str() {
                "true" => Value::Flag(true),
                "false" => Value::Flag(false),
                _ => return Err(expected("true or false", &text)),
            }
        }
        "float" | "integer" => {
            let text = required()?;
            let number = numbers(&text).filter(|numbers| numbers.len() == 1);
            Value::Number(number.ok_or_else(|| expected("a number", &text))?[0])
        }
        "string" => Value::Text(required()?),
        "point" | "vector" => Value::Vector(vector(&attribute, DVec3::ZERO)?),
        "rgb" | "srgb" | "color" => {
            let text = required()?;
            let color = color(&text).ok_or_else(|| expected("one or three numbers", &text))?;
            match tag {
                // Digits in hexadecimal are decoded already.
                "srgb" if !text.trim().starts_with('#') => {
                    Value::Color(color.map(|part| srgb_value(part.into())))
                }
                _ => Value::Color(color),
            }
        }
        "blackbody" => {
            let text = attribute("temperature").unwrap_or_default();
            let kelvin = text.trim().trim_end_matches(['k', 'K']).parse().ok();
            let kelvin: f64 = kelvin.ok_or_else(|| expected("a temperature in kelvin", &text))?;
            let scale = attribute("scale").and_then(|scale| scale.trim().parse().ok());
            Value::Color(spectrum::black_body(kelvin) * scale.unwrap_or(1.0))
        }
        "spectrum" => match (text, attribute("filename")) {
            (Some(text), _) => match numbers(&text).as_deref() {
                Some(&[number]) => Value::Uniform(number),
                Some(&[r, g, b]) => Value::Color(DVec3::new(r, g, b).as_vec3()),
                _ => {
                    let samples = spectrum::parse(&text);
                    let what = "a number, or pairs `wavelength:value` in increasing order";
                    Value::Spectrum(samples.ok_or_else(|| expected(what, &text))?)
                }
            },
            (None, Some(name)) => Value::Spectrum(spectrum::read(&name, files)?),
            (None, None) => return Err(expected("a value or a file", "")),
        },
        _ => Value::Transform(transform(node, read)?),
    })
}

/// Parses numbers that are separated by white space, commas or semicolons. Returns `None` if one is not a finite
/// number.
pub(super) fn numbers(text: &str) -> Option<Vec<f64>> {
    let words = text.split([' ', ',', '\t', '\n', '\r', ';']);
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
        .collect()
}

/// Parses a color, and returns it in linear sRGB: one number (grey) or three, which are linear, or `#rrggbb`, which is
/// encoded in sRGB. Returns `None` for any other text.
fn color(text: &str) -> Option<Vec3> {
    if let Some(digits) = text.trim().strip_prefix('#') {
        let number = u32::from_str_radix(digits, 16).ok()?;
        let part = |shift: u32| srgb_value(f64::from(number >> shift & 255) / 255.0);
        return (digits.len() == 6).then(|| Vec3::new(part(16), part(8), part(0)));
    }
    match numbers(text)?[..] {
        [grey] => Some(Vec3::splat(grey as f32)),
        [r, g, b] => Some(DVec3::new(r, g, b).as_vec3()),
        _ => None,
    }
}

/// Reads a vector from the attributes `value`, or `x`, `y` and `z`. A missing component is that of `default`.
fn vector(attribute: &dyn Fn(&str) -> Option<String>, default: DVec3) -> Result<DVec3, String> {
    if let Some(text) = attribute("value") {
        return match numbers(&text).as_deref() {
            Some(&[all]) => Ok(DVec3::splat(all)),
            Some(&[x, y, z]) => Ok(DVec3::new(x, y, z)),
            _ => Err(format!(
                "found `{}`, expected three numbers",
                excerpt(&text)
            )),
        };
    }
    let mut vector = default;
    for (axis, name) in ["x", "y", "z"].iter().enumerate() {
        if let Some(text) = attribute(name) {
            let number = numbers(&text).filter(|numbers| numbers.len() == 1);
            let wrong = || format!("`{name}`: found `{}`, expected a number", excerpt(&text));
            vector[axis] = number.ok_or_else(wrong)?[0];
        }
    }
    Ok(vector)
}

/// Reads a transform, whose steps apply to points in the order in which they are written. `read` is that of [`value`].
/// Fails if a step is unknown or lacks a valid attribute.
fn transform(node: Node, read: &dyn Fn(Node, &str) -> Option<String>) -> Result<DMat4, String> {
    let mut whole = DMat4::IDENTITY;
    for step in node.children().filter(Node::is_element) {
        let own = |name: &str| read(step, name);
        let tag = step.tag_name().name();
        let wrong = |what: &str| {
            let tag = excerpt(tag);
            format!("<{tag}> of a transform: expected {what}")
        };
        let matrix = match tag.to_lowercase().as_str() {
            "translate" => DMat4::from_translation(vector(&own, DVec3::ZERO)?),
            "scale" => DMat4::from_scale(vector(&own, DVec3::ONE)?),
            "rotate" => {
                let angle = own("angle").and_then(|text| numbers(&text));
                let angle = angle.filter(|angle| angle.len() == 1);
                let angle = angle.ok_or_else(|| wrong("an attribute `angle` in degrees"))?[0];
                rotation(vector(&own, DVec3::ZERO)?, angle)
                    .map(DMat4::from_mat3)
                    .ok_or_else(|| wrong("an axis such as y=\"1\""))?
            }
            "lookat" | "look_at" => {
                let point = |name: &str, default: Option<DVec3>| {
                    let numbers = own(name).and_then(|text| numbers(&text));
                    match numbers.as_deref() {
                        Some(&[x, y, z]) => Ok(DVec3::new(x, y, z)),
                        None if default.is_some() => Ok(default.unwrap_or_default()),
                        _ => Err(wrong("`origin`, `target` and `up` of three numbers each")),
                    }
                };
                let (origin, target) = (point("origin", None)?, point("target", None)?);
                let up = point("up", Some(DVec3::Y))?;
                look_at(origin, target, up)
                    .ok_or_else(|| wrong("an origin and a target that differ"))?
            }
            "matrix" => {
                let text = own("value").unwrap_or_default();
                matrix(&numbers(&text).unwrap_or_default())
                    .ok_or_else(|| wrong("`value` of 9 or 16 numbers, row by row"))?
            }
            _ => {
                return Err(format!(
                    "unknown step <{}> of a transform; remove it",
                    excerpt(tag)
                ));
            }
        };
        whole = matrix * whole;
    }
    Ok(whole)
}

/// Returns the transform of a camera at `origin` that looks along +z at `target`, with +x to the left and +y up.
/// Returns `None` if both are the same point. An `up` along the view is replaced.
fn look_at(origin: DVec3, target: DVec3, up: DVec3) -> Option<DMat4> {
    let forward = (target - origin).try_normalize()?;
    let left = up.cross(forward).try_normalize();
    let left = left.unwrap_or_else(|| forward.any_orthonormal_vector());
    let matrix = DMat3::from_cols(left, forward.cross(left), forward);
    Some(DMat4::from(DAffine3 {
        matrix3: matrix,
        translation: origin,
    }))
}

/// Returns the matrix of 16 or 9 numbers, row by row; `None` for other lengths.
fn matrix(numbers: &[f64]) -> Option<DMat4> {
    match numbers.len() {
        16 => {
            let row = |row: usize| DVec4::from_slice(&numbers[4 * row..4 * row + 4]);
            Some(DMat4::from_cols(row(0), row(1), row(2), row(3)).transpose())
        }
        9 => {
            let row = |row: usize| DVec3::from_slice(&numbers[3 * row..3 * row + 3]);
            let matrix = DMat3::from_cols(row(0), row(1), row(2)).transpose();
            Some(DMat4::from_mat3(matrix))
        }
        _ => None,
    }
}
