//! Curves, such as hair and grass, as tubes and ribbons of triangles. Imports `shapes`.

use std::f64::consts::TAU;

use glam::DVec3;

use super::shapes::surface;
use crate::model::ModelMesh;

/// Number of sides of a tube.
const SIDES: u32 = 6;
/// Largest number of straight pieces of a segment.
const MAX_PIECES: f64 = 16.0;
/// Largest distance between a segment and its straight pieces, relative to the width of the curve.
const TOLERANCE: f64 = 0.05;

/// A cubic Bézier curve by its control points.
type Cubic = [DVec3; 4];

/// Meaning of the control points of a curve.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Basis {
    /// Bézier curves, of which each starts at the end of the one before it.
    Bezier,
    /// A uniform B-spline.
    BSpline,
}

/// A curve with a width that grows linearly from its start to its end.
pub(crate) struct Curve {
    /// Consecutive cubic segments, at least one.
    segments: Vec<Cubic>,
    /// Widths at the start and at the end, 0 or more.
    widths: [f64; 2],
}

/// A point of a curve: position, unit tangent, and the fraction of the segments before it, from 0 to 1.
#[derive(Clone, Copy)]
struct Sample {
    position: DVec3,
    tangent: DVec3,
    fraction: f64,
}

impl Curve {
    /// Makes a curve of degree 2 or 3 with these control points. Fails if their number does not fit to the basis.
    pub(crate) fn new(
        points: &[DVec3],
        basis: Basis,
        degree: usize,
        widths: [f64; 2],
    ) -> Result<Curve, String> {
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
            widths,
        })
    }

    /// Returns a tube around the curve, without ends. u grows along the curve and v around it.
    pub(crate) fn tube(&self) -> ModelMesh {
        let samples = self.samples();
        let mut side = samples[0].tangent.any_orthonormal_vector();
        let frames: Vec<(DVec3, DVec3)> = samples
            .iter()
            .map(|sample| {
                // The frame turns no more than the curve bends.
                let turned = side - sample.tangent * side.dot(sample.tangent);
                side = turned.normalize_or(sample.tangent.any_orthonormal_vector());
                (side, sample.tangent.cross(side))
            })
            .collect();
        surface(SIDES, samples.len() as u32 - 1, |column, row| {
            let (sample, (side, up)) = (samples[row as usize], frames[row as usize]);
            let turn = f64::from(column) / f64::from(SIDES);
            let (sin, cos) = libm::sincos(TAU * f64::from(column % SIDES) / f64::from(SIDES));
            let normal = side * cos + up * sin;
            let position = sample.position + normal * (self.width(sample) / 2.0);
            (position, normal, [sample.fraction, turn])
        })
    }

    /// Returns a flat ribbon along the curve that faces `normals`, one at each end of a segment. u grows along the
    /// curve and v across it. Fails if there are too few normals.
    pub(crate) fn ribbon(&self, normals: &[DVec3]) -> Result<ModelMesh, String> {
        let count = self.segments.len();
        if normals.len() <= count {
            return Err(format!(
                "N: found {} normals, expected {} for a ribbon",
                normals.len(),
                count + 1
            ));
        }
        let samples = self.samples();
        Ok(surface(1, samples.len() as u32 - 1, |column, row| {
            let sample = samples[row as usize];
            let at = sample.fraction * count as f64;
            let before = (at as usize).min(count - 1);
            let facing = normals[before].lerp(normals[before + 1], at - before as f64);
            let side = sample.tangent.cross(facing).normalize_or_zero();
            let normal = side.cross(sample.tangent).normalize_or(DVec3::Z);
            let across = f64::from(column) - 0.5;
            let position = sample.position + side * (across * self.width(sample));
            (position, normal, [sample.fraction, f64::from(column)])
        }))
    }

    /// Returns the width at a point of the curve.
    fn width(&self, sample: Sample) -> f64 {
        self.widths[0] + (self.widths[1] - self.widths[0]) * sample.fraction
    }

    /// Returns points of the curve, from its start to its end, between which it is nearly straight.
    fn samples(&self) -> Vec<Sample> {
        let count = self.segments.len() as f64;
        let width = self.widths[0].max(self.widths[1]);
        let mut samples = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let pieces = pieces(segment, width);
            let first = if number == 0 { 0 } else { 1 };
            samples.extend((first..=pieces).map(|piece| {
                let at = f64::from(piece) / f64::from(pieces);
                let (position, tangent) = point(segment, at);
                let fraction = (number as f64 + at) / count;
                Sample {
                    position,
                    tangent,
                    fraction,
                }
            }));
        }
        samples
    }
}

/// Converts the control points of a segment, three or four, to those of a cubic Bézier curve.
fn cubic(points: &[DVec3], basis: Basis) -> Cubic {
    let raised = |[a, b, c]: [DVec3; 3]| [a, a.lerp(b, 2.0 / 3.0), c.lerp(b, 2.0 / 3.0), c];
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
        _ => [DVec3::ZERO; 4],
    }
}

/// Returns the number of straight pieces that approximate a segment of a curve of this width, from 1 to 16.
fn pieces(&[a, b, c, d]: &Cubic, width: f64) -> u32 {
    let bend = (a - 2.0 * b + c).length().max((b - 2.0 * c + d).length());
    let needed = (0.75 * bend / (TOLERANCE * width)).sqrt().ceil();
    // A width of 0 gives infinity or NaN.
    needed.clamp(1.0, MAX_PIECES).max(1.0) as u32
}

/// Returns the position and the unit tangent of a segment at `at`, from 0 to 1.
fn point(&[a, b, c, d]: &Cubic, at: f64) -> (DVec3, DVec3) {
    let (ab, bc, cd) = (a.lerp(b, at), b.lerp(c, at), c.lerp(d, at));
    let (abc, bcd) = (ab.lerp(bc, at), bc.lerp(cd, at));
    let whole = (d - a).normalize_or(DVec3::Z);
    (abc.lerp(bcd, at), (bcd - abc).normalize_or(whole))
}
