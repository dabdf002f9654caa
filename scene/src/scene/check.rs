//! The check of a whole scene in memory: every number is within its range, and every index exists.
//!
//! Files are checked while they are read, with their positions in the file. This check is for scenes that a program has
//! built or changed. It reads the geometry once, in parallel, which takes a fraction of the time to build trees over
//! it.

mod looks;
mod shapes;

use std::{fmt::Display, ops::RangeInclusive};

use glam::Vec3;

pub use shapes::MaterialUse;

use super::{
    Camera, Focus, MIN_FOG_EXTINCTION, NoView, PixelFilter, Projection, Scene, blends::Blends,
};
use crate::{
    Error,
    limits::{
        CLAMP_RANGE, MAX_LENGTH, MAX_PIXEL_ASPECT, MAX_SHIFT, MIN_LENGTH, MIN_PIXEL_ASPECT,
        SAMPLE_LIMIT,
    },
};

/// The outcome of the check of an object: the problem, to be put after the name of the object.
type Checked = Result<(), String>;

impl Scene {
    /// Checks that every number of the scene is within its range, that every index exists, and that lists belong
    /// together. Loaded scenes pass. `raysieve::Renderer` refuses a scene that does not.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field and the object that is wrong, such as ``materials[3] `glass`: ior is 0,
    /// expected 0.1 to 10``. [`Error::Setting`] if a setting is wrong, see [`Scene::check_settings`].
    pub fn check(&self) -> Result<(), Error> {
        self.check_looks()?;
        let used = self.check_shapes()?;
        self.check_materials_exist(used)
    }

    /// Checks everything besides triangles, spheres, meshes and instances, like [`Scene::check`].
    ///
    /// # Errors
    /// Those of [`Scene::check`].
    pub fn check_looks(&self) -> Result<(), Error> {
        named("scene", self.own_numbers())?;
        named("camera", self.camera.numbers())?;
        self.check_materials()?;
        self.check_images()?;
        self.check_lights()?;
        let blends = Blends {
            surfaces: &self.materials,
            maps: &self.maps,
            names: &self.material_names,
        };
        let blended = blends.check();
        blended.map_err(|(index, problem)| invalid(self.material_label(index), problem))?;
        self.check_settings()
    }

    /// Checks the numbers that belong to no object.
    fn own_numbers(&self) -> Checked {
        let [x, y, z] = self.origin.to_array();
        if ![x, y, z].iter().all(|value| value.abs() <= MAX_LENGTH) {
            return Err(format!(
                "origin is [{x}, {y}, {z}], expected coordinates from -1e8 to 1e8"
            ));
        }
        number("exposure_stops", self.exposure_stops, -32.0..=32.0)?;
        light("sky", self.sky)?;
        if let Some(background) = self.background.radiance() {
            light("background", background)?;
        }
        if let Some(height) = self.shadow_catcher {
            coordinate("shadow_catcher", height)?;
        }
        if let Some(limit) = self.clamp_indirect {
            number("clamp_indirect", limit, CLAMP_RANGE)?;
        }
        if let Some(fog) = &self.fog {
            fog.numbers().map_err(|problem| format!("fog.{problem}"))?;
            let extinction = fog.extinction();
            if f64::from(extinction.min_element()) < MIN_FOG_EXTINCTION {
                return Err(format!(
                    "fog: scattering + absorption is {extinction}, expected at least {MIN_FOG_EXTINCTION} per channel"
                ));
            }
        }
        Ok(())
    }

    /// Returns the name of a material in messages, such as ``materials[3] `glass` ``.
    fn material_label(&self, index: usize) -> String {
        match self.material_names.get(index).map(String::as_str) {
            None | Some("") => format!("materials[{index}]"),
            Some(name) => format!("materials[{index}] `{name}`"),
        }
    }
}

impl Camera {
    /// Checks that the camera has a view and that its numbers are within their ranges.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field that is wrong.
    pub fn check(&self) -> Result<(), Error> {
        named("camera", self.numbers())
    }

    /// Checks all numbers. The error names the field.
    fn numbers(&self) -> Checked {
        let length = MIN_LENGTH as f32..=MAX_LENGTH as f32;
        position("origin", self.origin)?;
        position("target", self.target)?;
        position("up", self.up)?;
        match self.no_view() {
            Some(NoView::NoDirection) => {
                let origin = self.origin;
                return Err(format!(
                    "target is {origin}, as is origin; expected another point"
                ));
            }
            Some(NoView::NoUp) => return Err(format!("up is {}, expected a direction", self.up)),
            Some(NoView::ParallelUp) => {
                let up = self.up;
                return Err(format!(
                    "up is {up}, parallel to the view; expected another direction"
                ));
            }
            None => {}
        }
        match self.projection {
            Projection::Perspective { fov_degrees } => {
                number("fov_degrees", fov_degrees, 0.001..=179.999)?;
            }
            Projection::Orthographic { width } => number("width", width, length.clone())?,
        }
        for shift in self.shift {
            number("shift", shift, -MAX_SHIFT as f32..=MAX_SHIFT as f32)?;
        }
        let aspects = MIN_PIXEL_ASPECT as f32..=MAX_PIXEL_ASPECT as f32;
        number("pixel_aspect", self.pixel_aspect, aspects)?;
        if let Some(lens) = &self.lens {
            number("lens.radius", lens.radius, length.clone())?;
            match lens.focus {
                Focus::Distance(metres) => number("lens.focus", metres, length)?,
                Focus::Point(point) => position("lens.focus", point)?,
            }
            if lens.blades != 0 && !(3..=16).contains(&lens.blades) {
                let blades = lens.blades;
                return Err(format!(
                    "lens.blades is {blades}, expected 3 to 16, or 0 for a round aperture"
                ));
            }
            number(
                "lens.rotation_degrees",
                lens.rotation_degrees,
                -360.0..=360.0,
            )?;
        }
        let radius = self.filter.radius();
        number("filter.radius", radius, 0.01..=16.0)?;
        if let PixelFilter::Gaussian { sigma, .. } = self.filter {
            number("filter.sigma", sigma, radius / 8.0..=radius * 8.0)?;
        }
        Ok(())
    }
}

/// Returns the error about an object.
fn invalid(object: impl Into<String>, problem: String) -> Error {
    Error::Invalid {
        object: object.into(),
        problem,
    }
}

/// Returns the outcome of a check as an error about an object.
fn named(object: impl Into<String>, checked: Checked) -> Result<(), Error> {
    checked.map_err(|problem| invalid(object, problem))
}

/// Returns the problem of a field whose value is not as expected.
fn unexpected(field: &str, value: impl Display, expected: impl Display) -> String {
    format!("{field} is {value}, expected {expected}")
}

/// Checks that a number is within a range.
fn number(field: &str, value: f32, range: RangeInclusive<f32>) -> Checked {
    if range.contains(&value) {
        return Ok(());
    }
    let (start, end) = range.into_inner();
    Err(unexpected(
        field,
        value,
        format_args!("{} to {}", plain(start), plain(end)),
    ))
}

/// Checks that each channel of a color is within a range.
fn channels(field: &str, value: Vec3, range: RangeInclusive<f32>) -> Checked {
    if value.to_array().iter().all(|part| range.contains(part)) {
        return Ok(());
    }
    let (start, end) = range.into_inner();
    let (start, end) = (plain(start), plain(end));
    Err(unexpected(
        field,
        value,
        format_args!("{start} to {end} per channel"),
    ))
}

/// Formats the end of a range, with few digits if it is very large or small.
fn plain(value: f32) -> String {
    match value == 0.0 || (1e-4..1e8).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// Checks a radiance or another measure of light, which is 0 to below 2²⁴ per channel.
fn light(field: &str, value: Vec3) -> Checked {
    let is_valid = |part: &f32| (0.0..SAMPLE_LIMIT).contains(part);
    if value.to_array().iter().all(is_valid) {
        return Ok(());
    }
    Err(unexpected(
        field,
        value,
        format_args!("0 to below {SAMPLE_LIMIT} per channel"),
    ))
}

/// Largest coordinate of a scene. Coordinates of files, which are at most 1e8, are relative to [`Scene::origin`].
const MAX_COORDINATE: f32 = 2.0 * MAX_LENGTH as f32;

/// Returns whether a point is within the limits of coordinates.
fn is_position(point: Vec3) -> bool {
    // Not by the largest element, which ignores NaN.
    point
        .to_array()
        .iter()
        .all(|part| part.abs() <= MAX_COORDINATE)
}

/// Checks a coordinate in metres.
fn coordinate(field: &str, value: f32) -> Checked {
    match value.abs() <= MAX_COORDINATE {
        true => Ok(()),
        false => Err(unexpected(field, value, "-1e8 to 1e8")),
    }
}

/// Checks the coordinates of a point in metres.
fn position(field: &str, point: Vec3) -> Checked {
    match is_position(point) {
        true => Ok(()),
        false => Err(unexpected(field, point, "coordinates from -1e8 to 1e8")),
    }
}

/// Checks a direction of any length above 0.
fn direction(field: &str, value: Vec3) -> Checked {
    match value.is_finite() && value.length_squared().is_normal() {
        true => Ok(()),
        false => Err(unexpected(field, value, "a finite vector other than 0")),
    }
}
