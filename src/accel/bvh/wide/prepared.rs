//! Preparation of rays for the tests of boxes and triangles, for many rays at once.

use glam::Vec3;

use crate::accel::{
    bvh::{inverse, slack},
    primitive::{Shear, shear, turn},
};

/// Number of rays that are prepared at once.
pub(super) const PREPARED: usize = 32;

/// A ray prepared for boxes and triangles, not yet copied to all lanes.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    /// Reciprocal of the direction per axis, without infinities.
    pub(super) inverse: Vec3,
    /// Negated origin for entered planes times `inverse`, so that a plane's distance is one multiply-add.
    pub(super) enters: Vec3,
    /// Negated origin for left planes times `inverse`.
    pub(super) leaves: Vec3,
    /// Shear of the watertight triangle test.
    pub(super) shear: Shear,
    /// Origin, with its axes permuted as the shear says.
    pub(super) origin: Vec3,
}

impl Prepared {
    /// Prepares a ray for a scene with this largest absolute coordinate.
    #[inline(always)]
    pub(super) fn new(origin: Vec3, direction: Vec3, extent: f32) -> Prepared {
        Prepared::with_slack(origin, direction, slack(origin, extent))
    }

    /// Prepares a ray for boxes that are enlarged by this distance.
    #[inline(always)]
    pub(super) fn with_slack(origin: Vec3, direction: Vec3, slack: f32) -> Prepared {
        let inverse = inverse(direction);
        let toward = Vec3::splat(slack).copysign(inverse);
        let shear = shear(direction);
        Prepared {
            inverse,
            enters: -((origin + toward) * inverse),
            leaves: -((origin - toward) * inverse),
            shear,
            origin: turn(origin, shear.axis),
        }
    }
}

/// A vector of each ray, as arrays of its coordinates.
type Vectors = [[f32; PREPARED]; 3];

/// Up to [`PREPARED`] rays, as arrays, which vectorised loops fill and from which a coordinate is copied to all lanes.
pub(super) struct PreparedRays {
    /// The rays before they are prepared.
    origins: Vectors,
    directions: Vectors,
    /// The fields of [`Prepared`].
    inverses: Vectors,
    enters: Vectors,
    leaves: Vectors,
    shears: Vectors,
    shear_axes: [u32; PREPARED],
    turned_origins: Vectors,
}

impl PreparedRays {
    /// Returns rays at the origin in direction +z.
    pub(super) fn new() -> PreparedRays {
        const NONE: Vectors = [[0.0; PREPARED]; 3];
        PreparedRays {
            origins: NONE,
            directions: [[0.0; PREPARED], [0.0; PREPARED], [1.0; PREPARED]],
            inverses: NONE,
            enters: NONE,
            leaves: NONE,
            shears: NONE,
            shear_axes: [0; PREPARED],
            turned_origins: NONE,
        }
    }

    /// Replaces the ray at this index, which [`prepare`](Self::prepare) must prepare before it is read.
    #[inline(always)]
    pub(super) fn set(&mut self, at: usize, origin: Vec3, direction: Vec3) {
        set(&mut self.origins, at, origin);
        set(&mut self.directions, at, direction);
    }

    /// Prepares all rays, also unused ones, for a scene with this largest absolute coordinate. `slack_factor` multiplies
    /// the distance by which boxes are enlarged.
    #[inline(always)]
    pub(super) fn prepare(&mut self, extent: f32, slack_factor: f32) {
        for at in 0..PREPARED {
            let (origin, direction) = (get(&self.origins, at), get(&self.directions, at));
            let slack = slack(origin, extent) * slack_factor;
            let prepared = Prepared::with_slack(origin, direction, slack);
            let Shear { axis, x, y, z } = prepared.shear;
            set(&mut self.inverses, at, prepared.inverse);
            set(&mut self.enters, at, prepared.enters);
            set(&mut self.leaves, at, prepared.leaves);
            set(&mut self.shears, at, Vec3::new(x, y, z));
            self.shear_axes[at] = axis;
            set(&mut self.turned_origins, at, prepared.origin);
        }
    }

    /// Returns the prepared ray at this index.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Prepared {
        let Vec3 { x, y, z } = get(&self.shears, at);
        let axis = self.shear_axes[at];
        Prepared {
            inverse: get(&self.inverses, at),
            enters: get(&self.enters, at),
            leaves: get(&self.leaves, at),
            shear: Shear { axis, x, y, z },
            origin: get(&self.turned_origins, at),
        }
    }
}

/// Returns the vector of one ray.
#[inline(always)]
fn get([xs, ys, zs]: &Vectors, at: usize) -> Vec3 {
    Vec3::new(xs[at], ys[at], zs[at])
}

/// Replaces the vector of one ray.
#[inline(always)]
fn set([xs, ys, zs]: &mut Vectors, at: usize, vector: Vec3) {
    (xs[at], ys[at], zs[at]) = vector.into();
}
