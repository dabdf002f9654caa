//! The object `DisplacedSphere`: a triangle mesh of any size from one line of a scene file.

use std::f64::consts::PI;

use glam::DVec3;

use super::{
    source::{Object, SceneSource},
    text::DisplacedSphereText,
};
use crate::{
    Error,
    builder::{geometry::Geometry, transform::sin_cos_degrees},
    memory,
    scene::Triangle,
};

/// A sphere of triangles whose radius is modulated by two waves. The scene format's table of objects gives the formula.
pub(crate) struct DisplacedSphere {
    /// Number of steps from pole to pole, 2 or more.
    pub(crate) rings: u32,
    /// Number of steps around the axis, 3 or more.
    pub(crate) segments: u32,
    /// Amplitudes of the coarse and the fine wave as fractions of the radius; their magnitudes sum to less than 1.
    pub(crate) amplitudes: (f64, f64),
    /// Centre of the sphere in metres.
    pub(crate) center: DVec3,
    /// Radius without the waves, in metres.
    pub(crate) radius: f64,
}

/// Values shared by all vertices of one segment: cosine and sine of its angle around the axis, and its factors of the
/// two waves.
struct Meridian {
    cos: f64,
    sin: f64,
    coarse: f64,
    fine: f64,
}

impl DisplacedSphere {
    /// Returns opposite corners of a box around the sphere.
    pub(crate) fn extent(&self) -> (DVec3, DVec3) {
        let (coarse, fine) = self.amplitudes;
        let reach = self.radius * (1.0 + coarse.abs() + fine.abs());
        (self.center - reach, self.center + reach)
    }

    /// Adds the triangles that have an area, with their fronts outwards. Returns the number of triangles that were left
    /// out because they have no area. Fails if there are too many primitives or too little memory.
    pub(crate) fn push(&self, geometry: &mut Geometry, material: u32) -> Result<u64, String> {
        let count = u64::from(self.rings) * u64::from(self.segments) * 2;
        geometry.check_room(usize::try_from(count).unwrap_or(usize::MAX))?;
        memory::check(count * size_of::<Triangle>() as u64)?;
        let meridians: Vec<Meridian> = (0..self.segments)
            .map(|segment| self.meridian(segment))
            .collect();
        let mut flat = 0;
        let mut upper = self.ring(0, &meridians);
        for ring in 1..=self.rings {
            let lower = self.ring(ring, &meridians);
            for segment in 0..upper.len() {
                // The last segment shares its vertices with the first, so that there is no gap.
                let next = (segment + 1) % upper.len();
                let [a, b, c, d] = [upper[segment], upper[next], lower[next], lower[segment]];
                flat += geometry.push_polygon(&[a, b, c, d], material)?;
            }
            upper = lower;
        }
        Ok(flat)
    }

    /// Computes the values that all vertices of a segment share; `segment` is its index, 0..`segments`.
    fn meridian(&self, segment: u32) -> Meridian {
        let turn = f64::from(segment) / f64::from(self.segments);
        let v = 2.0 * PI * turn;
        let (sin, cos) = sin_cos_degrees(360.0 * turn);
        Meridian {
            cos,
            sin,
            coarse: libm::cos(7.0 * v),
            fine: libm::sin(29.0 * v),
        }
    }

    /// Computes the vertices of a ring in metres, one per segment. `ring` is its index, 0 (the upper pole) to `rings`.
    fn ring(&self, ring: u32, meridians: &[Meridian]) -> Vec<DVec3> {
        let half_turn = f64::from(ring) / f64::from(self.rings);
        let u = PI * half_turn;
        let (sin, cos) = sin_cos_degrees(180.0 * half_turn);
        let coarse = self.amplitudes.0 * libm::sin(9.0 * u);
        let fine = self.amplitudes.1 * libm::sin(31.0 * u + 1.0);
        let point = |meridian: &Meridian| {
            let r = self.radius * (1.0 + coarse * meridian.coarse + fine * meridian.fine);
            self.center + r * DVec3::new(sin * meridian.cos, cos, sin * meridian.sin)
        };
        meridians.iter().map(point).collect()
    }
}

/// Parses the fields of a `DisplacedSphere` except for `material` and `smooth`. Invalid values are an [`Error::Scene`].
pub(crate) fn read_displaced_sphere(
    source: &SceneSource,
    object: &Object,
    written: &DisplacedSphereText,
) -> Result<DisplacedSphere, Error> {
    let steps = |field, raw, min: u32| {
        let expected = format!("a whole number of at least {min}");
        source.field(object, field, raw, &expected, |&steps: &u32| steps >= min)
    };
    let waves = |raw| {
        let expected = "two numbers (a, b) with |a| + |b| below 1";
        let valid = |&(a, b): &(f64, f64)| a.abs() + b.abs() < 1.0;
        source.field(object, "amplitudes", raw, expected, valid)
    };
    let center = |raw| source.position(object, "center", raw);
    let radius = |raw| source.length(object, "radius", raw);
    Ok(DisplacedSphere {
        rings: steps("rings", written.rings, 2)?,
        segments: steps("segments", written.segments, 3)?,
        amplitudes: written.amplitudes.map_or(Ok((0.08, 0.03)), waves)?,
        center: written.center.map_or(Ok(DVec3::ZERO), center)?,
        radius: written.radius.map_or(Ok(1.0), radius)?,
    })
}
