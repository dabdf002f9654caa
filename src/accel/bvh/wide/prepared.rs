//! Preparation of rays for the tests of boxes and triangles, for [`PATHS`] rays at once.

use glam::Vec3;

use crate::accel::{
    arrays::{PATHS, U32Array, Vec3Array},
    bvh::{inverse, slack},
    primitive::{Shear, shear, turn},
};

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

/// Rays that are prepared together. Vectorised loops fill the arrays, and tests copy a single coordinate to all lanes.
pub(super) struct PreparedRays {
    /// The rays before they are prepared.
    origins: Vec3Array,
    directions: Vec3Array,
    /// The fields of [`Prepared`].
    inverses: Vec3Array,
    enters: Vec3Array,
    leaves: Vec3Array,
    shear_axes: U32Array,
    shears: Vec3Array,
    turned_origins: Vec3Array,
}

impl PreparedRays {
    /// Rays at the origin without a direction. A constant, because after a call of `Default::default` the compiler did not
    /// vectorise [`prepare`](Self::prepare).
    pub(super) const EMPTY: PreparedRays = PreparedRays {
        origins: Vec3Array::ZERO,
        directions: Vec3Array::ZERO,
        inverses: Vec3Array::ZERO,
        enters: Vec3Array::ZERO,
        leaves: Vec3Array::ZERO,
        shear_axes: [0; PATHS],
        shears: Vec3Array::ZERO,
        turned_origins: Vec3Array::ZERO,
    };

    /// Replaces the ray at this index, which [`prepare`](Self::prepare) must prepare before it is read.
    #[inline(always)]
    pub(super) fn set(&mut self, at: usize, origin: Vec3, direction: Vec3) {
        self.origins.set(at, origin);
        self.directions.set(at, direction);
    }

    /// Prepares all rays, also unused ones, for a scene with this largest absolute coordinate. `slack_factor` multiplies
    /// the distance by which boxes are enlarged.
    #[inline(always)]
    pub(super) fn prepare(&mut self, extent: f32, slack_factor: f32) {
        for at in 0..PATHS {
            let (origin, direction) = (self.origins.get(at), self.directions.get(at));
            let slack = slack(origin, extent) * slack_factor;
            let prepared = Prepared::with_slack(origin, direction, slack);
            let Shear { axis, x, y, z } = prepared.shear;
            self.inverses.set(at, prepared.inverse);
            self.enters.set(at, prepared.enters);
            self.leaves.set(at, prepared.leaves);
            self.shear_axes[at] = axis;
            self.shears.set(at, Vec3::new(x, y, z));
            self.turned_origins.set(at, prepared.origin);
        }
    }

    /// Returns the prepared ray at this index.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Prepared {
        let Vec3 { x, y, z } = self.shears.get(at);
        let axis = self.shear_axes[at];
        Prepared {
            inverse: self.inverses.get(at),
            enters: self.enters.get(at),
            leaves: self.leaves.get(at),
            shear: Shear { axis, x, y, z },
            origin: self.turned_origins.get(at),
        }
    }
}
