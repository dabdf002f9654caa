//! Curves, such as hair and grass, as tubes and ribbons of triangles.

use std::f64::consts::{FRAC_PI_2, TAU};

use glam::{DVec3, DVec4, Vec3};

use super::shapes::surface;
use crate::{
    memory::{self, vec_with_capacity},
    model::ModelMesh,
};

/// The precision with which triangles approximate a curve.
#[derive(Clone, Copy)]
pub(crate) struct Fineness {
    /// Number of sides of a tube.
    sides: u32,
    /// Largest number of straight pieces of a segment.
    max_pieces: f64,
    /// Largest distance between a segment and its straight pieces, relative to the width of the curve.
    tolerance: f64,
}

/// The fineness of curves in large numbers.
pub(crate) const COARSE: Fineness = Fineness {
    sides: 6,
    max_pieces: 16.0,
    tolerance: 0.05,
};
/// The fineness of up to [`MAX_MEDIUM`] segments.
const MEDIUM: Fineness = Fineness {
    sides: 24,
    max_pieces: 16.0,
    tolerance: 0.01,
};
/// The fineness of up to [`MAX_FINE`] segments.
const FINE: Fineness = Fineness {
    sides: 128,
    max_pieces: 64.0,
    tolerance: 0.0005,
};
/// Largest number of segments with [`MEDIUM`] fineness, which have up to 10 million triangles.
const MAX_MEDIUM: usize = 1 << 13;
/// Largest number of segments with [`FINE`] fineness, which have up to 2 million triangles.
const MAX_FINE: usize = 128;

impl Fineness {
    /// Returns the fineness of curves with this number of segments in total.
    pub(crate) fn of(segments: usize) -> Fineness {
        if segments <= MAX_FINE {
            FINE
        } else if segments <= MAX_MEDIUM {
            MEDIUM
        } else {
            COARSE
        }
    }
}

/// A cubic Bézier curve by its control points, with the radius around the curve as `w`.
type Cubic = [DVec4; 4];

/// Meaning of the control points of a curve.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Basis {
    /// Bézier curves, of which each starts at the end of the one before it.
    Bezier,
    /// A uniform B-spline.
    BSpline,
}

/// A curve with a radius that varies along it.
pub(crate) struct Curve {
    /// Consecutive cubic segments, at least one.
    segments: Vec<Cubic>,
}

/// A point of a curve.
#[derive(Clone, Copy)]
struct Sample {
    position: DVec3,
    /// Unit tangent.
    tangent: DVec3,
    /// Curvature vector of the curve, in 1/m.
    curvature: DVec3,
    /// Radius in metres, 0 or more.
    radius: f64,
    /// Growth of the radius per metre.
    slope: f64,
    /// Fraction of the segments before the point, from 0 to 1.
    fraction: f64,
}

impl Curve {
    /// Makes a curve of degree 2 or 3 with these control points, which have radii of 0 or more as `w`. Fails if their
    /// number does not fit to the basis.
    pub(crate) fn new(points: &[DVec4], basis: Basis, degree: usize) -> Result<Curve, String> {
        let step = match basis {
            Basis::Bezier => degree,
            Basis::BSpline => 1,
        };
        let count = points.len();
        if count <= degree || !(count - 1 - degree).is_multiple_of(step) {
            return Err(format!(
                "P: found {count} points, which are not those of curves of degree {degree}"
            ));
        }
        let segments = points.windows(degree + 1).step_by(step);
        Ok(Curve {
            segments: segments.map(|points| cubic(points, basis)).collect(),
        })
    }

    /// Makes a curve like [`Curve::new`], with a width that grows linearly from its start to its end. `widths` are both
    /// in metres, 0 or more.
    pub(crate) fn tapered(
        points: &[DVec3],
        basis: Basis,
        degree: usize,
        widths: [f64; 2],
    ) -> Result<Curve, String> {
        let points: Vec<DVec4> = points.iter().map(|point| point.extend(0.0)).collect();
        let mut curve = Curve::new(&points, basis, degree)?;
        let thirds = 3.0 * curve.segments.len() as f64;
        for (number, segment) in curve.segments.iter_mut().enumerate() {
            for (third, point) in segment.iter_mut().enumerate() {
                let fraction = (3 * number + third) as f64 / thirds;
                point.w = (widths[0] + (widths[1] - widths[0]) * fraction) / 2.0;
            }
        }
        Ok(curve)
    }

    /// Returns the number of segments, at least 1.
    pub(crate) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Returns a tube around the curve, open at both ends. u grows along the curve from 0 to 1, equally in each
    /// segment. v grows around it from 0 to 1, at the start from the direction of [`frame`], which turns with the
    /// curve.
    pub(crate) fn tube(&self, fineness: Fineness) -> ModelMesh {
        let samples = self.samples(fineness);
        let mut side = frame(samples[0].tangent).0;
        let frames: Vec<(DVec3, DVec3)> = samples
            .iter()
            .map(|sample| {
                // The frame turns no more than the curve bends.
                let turned = side - sample.tangent * side.dot(sample.tangent);
                side = turned.normalize_or(sample.tangent.any_orthonormal_vector());
                (side, sample.tangent.cross(side))
            })
            .collect();
        let sides = fineness.sides;
        surface(sides, samples.len() as u32 - 1, |column, row| {
            let (sample, frame) = (samples[row as usize], frames[row as usize]);
            let turn = f64::from(column) / f64::from(sides);
            let outwards = around(frame, column % sides, sides);
            let position = sample.position + outwards * sample.radius;
            // On the inside of a bend, the surface is shorter than the curve, which makes a slope steeper.
            let stretch = (1.0 - sample.radius * outwards.dot(sample.curvature)).max(0.0);
            let normal = outwards * stretch - sample.tangent * sample.slope;
            (
                position,
                normal.normalize_or(outwards),
                [sample.fraction, turn],
            )
        })
    }

    /// Returns the number of vertices of [`Curve::tube`] with the same fineness.
    pub(crate) fn tube_vertices(&self, fineness: Fineness) -> u64 {
        let width = self.width();
        let pieces = |segment: &Cubic| u64::from(pieces(segment, width, fineness));
        let rows = self.segments.iter().map(pieces).sum::<u64>() + 1;
        rows * u64::from(fineness.sides + 1)
    }

    /// Returns a flat ribbon along the curve that faces `normals`, one at each end of a segment. u grows along the
    /// curve and v across it, both from 0 to 1. Fails if there are too few normals.
    pub(crate) fn ribbon(&self, normals: &[DVec3]) -> Result<ModelMesh, String> {
        let count = self.segments.len();
        if normals.len() <= count {
            return Err(format!(
                "N: found {} normals, expected {} for a ribbon",
                normals.len(),
                count + 1
            ));
        }
        let samples = self.samples(COARSE);
        Ok(surface(1, samples.len() as u32 - 1, |column, row| {
            let sample = samples[row as usize];
            let at = sample.fraction * count as f64;
            let before = (at as usize).min(count - 1);
            let facing = normals[before].lerp(normals[before + 1], at - before as f64);
            let side = sample.tangent.cross(facing).normalize_or_zero();
            let normal = side.cross(sample.tangent).normalize_or(DVec3::Z);
            let across = f64::from(column) * 2.0 - 1.0;
            let position = sample.position + side * (across * sample.radius);
            (position, normal, [sample.fraction, f64::from(column)])
        }))
    }

    /// Returns the largest width at the control points.
    fn width(&self) -> f64 {
        let radii = self.segments.as_flattened().iter().map(|point| point.w);
        2.0 * radii.fold(0.0, f64::max)
    }

    /// Returns points of the curve, from its start to its end, between which it is nearly straight.
    fn samples(&self, fineness: Fineness) -> Vec<Sample> {
        let count = self.segments.len() as f64;
        let width = self.width();
        let mut samples = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let pieces = pieces(segment, width, fineness);
            let first = if number == 0 { 0 } else { 1 };
            samples.extend((first..=pieces).map(|piece| {
                let at = f64::from(piece) / f64::from(pieces);
                Sample {
                    fraction: (number as f64 + at) / count,
                    ..sample(segment, at)
                }
            }));
        }
        samples
    }
}

/// Returns the round cones and spheres that Embree shows for a polyline of at least two points, with radii of 0 or more
/// as `w`.
///
/// Each segment is a mesh: a cone, the sphere at its end and, for the first segment, the sphere at its start. u is 0 at
/// the start of a segment and 1 at its end. v grows around the segment from 0 to 1, from the direction of [`frame`].
pub(crate) fn round_line(points: &[DVec4], fineness: Fineness) -> impl Iterator<Item = ModelMesh> {
    points.windows(2).enumerate().map(move |(number, ends)| {
        let centers = [ends[0].truncate(), ends[1].truncate()];
        let radii = [ends[0].w, ends[1].w];
        let along = centers[1] - centers[0];
        let axis = along.normalize_or(DVec3::Z);
        let sides = frame(axis);
        // The cone touches both spheres at this latitude.
        let sine = ((radii[0] - radii[1]) / along.length()).clamp(-1.0, 1.0);
        let latitude = match sine.is_nan() {
            true => FRAC_PI_2,
            false => libm::asin(sine),
        };
        // The sphere at a joint belongs to the segment before it.
        let first = if number == 0 { -FRAC_PI_2 } else { latitude };
        let start_rows = cap_rows(latitude - first, fineness);
        let end_rows = cap_rows(FRAC_PI_2 - latitude, fineness);
        surface(fineness.sides, start_rows + 1 + end_rows, |column, row| {
            let (end, part) = match row <= start_rows {
                true => (0, f64::from(row) / f64::from(start_rows.max(1))),
                false => (
                    1,
                    f64::from(row - start_rows - 1) / f64::from(end_rows.max(1)),
                ),
            };
            let angle = match end {
                0 if start_rows == 0 => latitude,
                0 => first + (latitude - first) * part,
                _ => latitude + (FRAC_PI_2 - latitude) * part,
            };
            let (sin, cos) = match angle.abs() > FRAC_PI_2 - 1e-9 {
                true => (angle.signum(), 0.0),
                false => libm::sincos(angle),
            };
            let outwards = around(sides, column % fineness.sides, fineness.sides);
            let normal = axis * sin + outwards * cos;
            let turn = f64::from(column) / f64::from(fineness.sides);
            (
                centers[end] + normal * radii[end],
                normal,
                [end as f64, turn],
            )
        })
    })
}

/// Returns the largest number of vertices of a segment of a polyline.
pub(crate) fn round_line_vertices(fineness: Fineness) -> u64 {
    u64::from(cap_rows(2.0 * FRAC_PI_2, fineness) + 3) * u64::from(fineness.sides + 1)
}

/// Returns the number of rows that approximate an arc of this angle in radians.
fn cap_rows(angle: f64, fineness: Fineness) -> u32 {
    (angle / TAU * f64::from(fineness.sides)).ceil() as u32
}

/// Returns all meshes as one. All of them have normals and texture coordinates. `vertices` is an upper bound of their
/// number of vertices. Fails if there are too many or memory does not suffice.
pub(crate) fn joined(
    meshes: impl Iterator<Item = ModelMesh>,
    vertices: u64,
) -> Result<ModelMesh, String> {
    const BYTES: usize = 2 * size_of::<Vec3>() + size_of::<[f32; 2]>() + 2 * size_of::<[u32; 3]>();
    memory::check(vertices.saturating_mul(BYTES as u64))?;
    if u32::try_from(vertices.saturating_mul(2)).is_err() {
        return Err(format!(
            "becomes {vertices} vertices, which are too many; split the file"
        ));
    }
    let count = vertices as usize;
    let (mut positions, mut triangles) = (vec_with_capacity(count)?, vec_with_capacity(2 * count)?);
    let (mut normals, mut uvs) = (vec_with_capacity(count)?, vec_with_capacity(count)?);
    for mesh in meshes {
        let first = positions.len() as u32;
        let moved = |corners: [u32; 3]| corners.map(|corner| first + corner);
        triangles.extend(mesh.triangles.into_iter().map(moved));
        positions.extend(mesh.positions);
        normals.extend(mesh.normals.into_iter().flatten());
        uvs.extend(mesh.uvs.into_iter().flatten());
    }
    Ok(ModelMesh {
        positions,
        normals: Some(normals),
        uvs: Some(uvs),
        triangles,
        ..ModelMesh::default()
    })
}

/// Returns the direction around a curve where v is 0, and that where it is 1/4, for a unit tangent. They are those of
/// Mitsuba, where the second one is as close to +z as possible.
fn frame(tangent: DVec3) -> (DVec3, DVec3) {
    let up = DVec3::Z - tangent * tangent.z;
    let up = match up.length() > 1e-9 {
        true => up.normalize(),
        false => DVec3::Y,
    };
    (up.cross(tangent), up)
}

/// Returns the direction to corner `column` of a polygon with this number of sides. `side` is the direction to the
/// first corner, and `up` that by a quarter turn from it.
fn around((side, up): (DVec3, DVec3), column: u32, sides: u32) -> DVec3 {
    let (sin, cos) = libm::sincos(TAU * f64::from(column) / f64::from(sides));
    side * cos + up * sin
}

/// Converts the control points of a segment to those of the same cubic Bézier curve. There are three points for degree
/// 2 and four for degree 3. The radii `w` are converted like coordinates.
fn cubic(points: &[DVec4], basis: Basis) -> Cubic {
    let raised = |[a, b, c]: [DVec4; 3]| [a, a.lerp(b, 2.0 / 3.0), c.lerp(b, 2.0 / 3.0), c];
    match (points, basis) {
        (&[a, b, c, d], Basis::Bezier) => [a, b, c, d],
        (&[a, b, c, d], Basis::BSpline) => {
            let (first, second) = (b.lerp(c, 1.0 / 3.0), b.lerp(c, 2.0 / 3.0));
            let start = a.lerp(b, 2.0 / 3.0).lerp(first, 0.5);
            let end = d.lerp(c, 2.0 / 3.0).lerp(second, 0.5);
            [start, first, second, end]
        }
        (&[a, b, c], Basis::Bezier) => raised([a, b, c]),
        (&[a, b, c], Basis::BSpline) => raised([a.lerp(b, 0.5), b, b.lerp(c, 0.5)]),
        _ => [DVec4::ZERO; 4],
    }
}

/// Returns the number of straight pieces that approximate a segment of a curve of this width, 1 or more.
fn pieces(&[a, b, c, d]: &Cubic, width: f64, fineness: Fineness) -> u32 {
    let bend = (a - 2.0 * b + c).length().max((b - 2.0 * c + d).length());
    let needed = (0.75 * bend / (fineness.tolerance * width)).sqrt().ceil();
    // A width of 0 gives infinity or NaN.
    needed.clamp(1.0, fineness.max_pieces).max(1.0) as u32
}

/// Returns the point of a segment at `at`, from 0 to 1, with a fraction of 0.
fn sample(&[a, b, c, d]: &Cubic, at: f64) -> Sample {
    let (ab, bc, cd) = (a.lerp(b, at), b.lerp(c, at), c.lerp(d, at));
    let (abc, bcd) = (ab.lerp(bc, at), bc.lerp(cd, at));
    let point = abc.lerp(bcd, at);
    let whole = (d - a).truncate().normalize_or(DVec3::Z);
    let first = 3.0 * (bcd - abc);
    let second = 6.0 * (a - 2.0 * b + c).lerp(b - 2.0 * c + d, at).truncate();
    let speed = first.truncate().length();
    let tangent = first.truncate().normalize_or(whole);
    let per_length = |value: f64| if speed > 0.0 { value / speed } else { 0.0 };
    Sample {
        position: point.truncate(),
        tangent,
        curvature: (second - tangent * second.dot(tangent)) * per_length(per_length(1.0)),
        radius: point.w.max(0.0),
        slope: per_length(first.w),
        fraction: 0.0,
    }
}
