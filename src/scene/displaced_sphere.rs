//! A sphere of triangles with two waves on it, made from one line of a scene.

use std::f64::consts::PI;

use glam::DVec3;

use super::{geometry::Geometry, memory, transform::sin_cos_degrees};
use crate::scene::Triangle;

/// See the table of objects in [`crate::scene`].
pub(super) struct DisplacedSphere {
    pub(super) rings: u32,
    pub(super) segments: u32,
    pub(super) amplitudes: (f64, f64),
    pub(super) center: DVec3,
    pub(super) radius: f64,
}

/// Of a segment: the direction around the axis, and the waves' factors.
struct Meridian {
    cos: f64,
    sin: f64,
    coarse: f64,
    fine: f64,
}

impl DisplacedSphere {
    /// Adds its triangles, fronts outwards; how many of them have no area.
    pub(super) fn push(&self, geometry: &mut Geometry, material: u32) -> Result<u64, String> {
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
                // The last segment meets the first at the very same points.
                let next = (segment + 1) % upper.len();
                let [a, b, c, d] = [upper[segment], upper[next], lower[next], lower[segment]];
                flat += geometry.push_polygon(&[a, b, c, d], material)?;
            }
            upper = lower;
        }
        Ok(flat)
    }

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
