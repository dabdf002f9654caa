//! Curves of Mitsuba, whose control points are in text files.

use std::{io::BufReader, path::Path, rc::Rc};

use glam::{DAffine3, DVec4};

use super::{Converter, document::Object};
use crate::{
    error::excerpt,
    files::{display_path, lines::Lines, open_regular_file, progress::WatchedFile},
    import::{
        bump::uv_extent,
        curves::{self, Basis, Curve, Fineness},
    },
    memory::reserve_one,
    model::{ModelInstance, ModelMesh},
};

/// Control points of the curves of a file.
#[derive(Default)]
struct Points {
    /// Control points of all curves, their positions transformed by `to_world`. Each has its radius in metres as `w`, 0
    /// or more.
    points: Vec<DVec4>,
    /// Index of the first point of each curve in `points`, and at the end the number of points.
    starts: Vec<usize>,
}

impl Points {
    /// Returns the points of each curve that has at least `min` of them.
    fn curves(&self, min: usize) -> impl Iterator<Item = &[DVec4]> {
        let bounds = self.starts.windows(2);
        let curves = bounds.map(|bounds| &self.points[bounds[0]..bounds[1]]);
        curves.filter(move |points| points.len() >= min)
    }
}

impl Converter<'_> {
    /// Converts the curves of a shape to a mesh. `to_world` applies to their control points, but not to their radii.
    pub(super) fn curves(
        &mut self,
        object: &Rc<Object>,
        to_world: DAffine3,
        group: Option<&mut Vec<ModelInstance>>,
    ) -> Result<(), String> {
        let file = object.text("filename", "");
        let path = self.files.find_by_last_component(file)?;
        if self.scene.is_missing(file, &path) {
            return Ok(());
        }
        let name = |problem: String| format!("{}: {problem}", display_path(&path));
        let points = read(&path, &to_world).map_err(name)?;
        let is_spline = object.plugin == "bsplinecurve";
        let min = if is_spline { 4 } else { 2 };
        let short = points.starts.len() - 1 - points.curves(min).count();
        let text = format!("not shown: {{}} with fewer than {min} control points");
        let model = &mut self.scene.model;
        model.note_count(&text, ["curve", "curves"], short as u64);
        if points.curves(min).next().is_none() {
            return Ok(());
        }
        self.scene
            .note("approximated: curves by meshes, whose insides are visible");
        let mut mesh = match is_spline {
            true => splines(&points).map_err(name)?,
            false => lines(&points).map_err(name)?,
        };
        let right_handed = self.has_normal_map(object)?.then_some(false);
        let size = uv_extent(&mesh, &DAffine3::IDENTITY, right_handed);
        let Some(material) = self.material(object, size)? else {
            return Ok(());
        };
        self.orient_normal_map(object, &mut mesh, false)?;
        let instance = ModelInstance {
            mesh: self.scene.push_mesh(mesh, material)?,
            material,
            transform: DAffine3::IDENTITY,
        };
        self.scene.push_instance(instance, group)
    }
}

/// Returns the tubes of cubic B-splines. u grows around a curve, and v along all segments, as in Mitsuba. Fails if
/// memory does not suffice.
fn splines(points: &Points) -> Result<ModelMesh, String> {
    let total: usize = points.curves(4).map(|points| points.len() - 3).sum();
    let fineness = Fineness::of(total);
    let curves = || {
        let curves = points.curves(4);
        curves.filter_map(|points| Curve::new(points, Basis::BSpline, 3).ok())
    };
    let vertices = curves().map(|curve| curve.tube_vertices(fineness)).sum();
    let mut before = 0;
    let tubes = curves().map(|curve| {
        let (from, count) = (before, curve.segments());
        before += count;
        coordinates(curve.tube(fineness), [from, count, total])
    });
    curves::joined(tubes, vertices)
}

/// Returns the cones and spheres of polylines. u grows around a curve, and v along all segments, as in Mitsuba. Fails
/// if memory does not suffice.
fn lines(points: &Points) -> Result<ModelMesh, String> {
    let total: usize = points.curves(2).map(|points| points.len() - 1).sum();
    let fineness = Fineness::of(total);
    let segments = points
        .curves(2)
        .flat_map(|points| curves::round_line(points, fineness));
    let placed = segments.enumerate();
    let placed = placed.map(|(number, mesh)| coordinates(mesh, [number, 1, total]));
    let vertices = curves::round_line_vertices(fineness).saturating_mul(total as u64);
    curves::joined(placed, vertices)
}

/// Returns a mesh with the texture coordinates of Mitsuba: u grows around a curve, and v from 0 to 1 along all `total`
/// segments of the file.
///
/// `mesh` consists of `count` of these segments, with `from` before them. Its own u grows from 0 to 1 along all its
/// segments together, and its own v grows around them.
fn coordinates(mut mesh: ModelMesh, [from, count, total]: [usize; 3]) -> ModelMesh {
    for uv in mesh.uvs.iter_mut().flatten() {
        let along = (from as f32 + uv[0] * count as f32) / total as f32;
        *uv = [uv[1], along];
    }
    mesh
}

/// Reads a file with a control point per line: x, y, z and radius. Empty lines begin another curve. `to_world`
/// transforms the positions, but not the radii. Negative radii become 0. Fails with a one-line message that does not
/// name the file.
fn read(path: &Path, to_world: &DAffine3) -> Result<Points, String> {
    let file = WatchedFile::new(path, open_regular_file(path, &["txt"])?);
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let mut lines = Lines::new(&mut reader).map_err(cannot)?;
    let (mut line, mut number) = (String::new(), 0);
    let mut read = Points::default();
    let mut is_inside = false;
    while lines.read(&mut line).map_err(cannot)? {
        number += 1;
        if line.trim().is_empty() {
            is_inside = false;
            continue;
        }
        let wrong = || {
            let line = excerpt(line.trim());
            format!(
                "line {number}: found `{line}`, expected four finite numbers: x, y, z and radius"
            )
        };
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<f64>);
        let mut next = || numbers.next().and_then(Result::ok).ok_or_else(wrong);
        let point = DVec4::new(next()?, next()?, next()?, next()?);
        let position = to_world.transform_point3(point.truncate());
        if !position.as_vec3().is_finite() || !(point.w as f32).is_finite() {
            return Err(wrong());
        }
        if !is_inside {
            reserve_one(&mut read.starts)?;
            read.starts.push(read.points.len());
            is_inside = true;
        }
        reserve_one(&mut read.points)?;
        read.points.push(position.extend(point.w.max(0.0)));
    }
    if read.points.is_empty() {
        return Err("has no control points; export the curves again".to_owned());
    }
    read.starts.push(read.points.len());
    Ok(read)
}
