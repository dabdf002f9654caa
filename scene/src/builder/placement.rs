//! Instancing: the transforms of the instances of a mesh.

use glam::{DAffine3, DMat3, DVec3};

use super::transform::Transform;
use crate::{error::point_text, limits::MAX_LENGTH, scene::Instance};

/// A regular grid of instances around a center, from the field `grid` of `Instances`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Number of places along x, y and z, each 1 or more.
    pub(crate) count: [u32; 3],
    /// Distance between neighbours along x, y and z in metres, -1e8..=1e8 each.
    pub(crate) spacing: DVec3,
    /// Centre of the grid in metres.
    pub(crate) center: DVec3,
}

/// A random distribution of instances: uniform over a box, each with a random uniform scale and a random rotation about
/// +y. From the field `scatter` of `Instances`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scatter {
    /// Number of instances to place.
    pub(crate) count: u32,
    /// A corner of the box, in metres.
    pub(crate) from: DVec3,
    /// Corner of the box opposite to `from`, in metres.
    pub(crate) to: DVec3,
    /// Seed of the random numbers.
    pub(crate) seed: u32,
    /// Minimum and maximum of the random uniform scale.
    pub(crate) scale: (f64, f64),
    /// Upper bound of the random rotation about +y in degrees; the lower bound is 0.
    pub(crate) turn: f64,
}

impl Grid {
    /// Returns the total number of instances.
    pub(crate) fn len(&self) -> u32 {
        self.count.iter().product()
    }

    /// Returns the transform of instance `number`, 0..`len()`, with x varying fastest.
    pub(crate) fn place(&self, number: u32) -> Transform {
        let [x, y, _] = self.count;
        let step = [number % x, number / x % y, number / x / y];
        let middle = self.count.map(|count| f64::from(count - 1) / 2.0);
        let offset = DVec3::from_array(step.map(f64::from)) - DVec3::from_array(middle);
        Transform {
            scale: DVec3::ONE,
            rotate_degrees: DVec3::ZERO,
            translate: self.center + offset * self.spacing,
        }
    }
}

impl Scatter {
    /// Returns the transform of instance `number`, 0..`count`. It depends only on that number and the fields of the
    /// scatter.
    pub(crate) fn place(&self, number: u32) -> Transform {
        let unit = |dimension: u64| {
            let key = (u64::from(self.seed) << 32 | u64::from(number)) * 8 + dimension;
            (hash(key) >> 11) as f64 / (1u64 << 53) as f64
        };
        let share = DVec3::new(unit(0), unit(1), unit(2));
        let (min, max) = self.scale;
        Transform {
            scale: DVec3::splat(min + (max - min) * unit(3)),
            rotate_degrees: DVec3::new(0.0, self.turn * unit(4), 0.0),
            translate: self.from + (self.to - self.from) * share,
        }
    }
}

/// Hashes a key to 64 random bits with the output function of SplitMix64.
fn hash(key: u64) -> u64 {
    let word = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Fails if an instance with the transform `place` could extend beyond 1e8 m. `reach` is the largest magnitude of the
/// mesh's coordinates in metres.
pub(crate) fn check_reach(reach: f64, place: &DAffine3) -> Result<(), String> {
    let axes = place.matrix3;
    let far = (axes.x_axis.abs() + axes.y_axis.abs() + axes.z_axis.abs()) * reach
        + place.translation.abs();
    if far.max_element() > MAX_LENGTH {
        return Err(format!(
            "reaches to {}, expected coordinates within 1e8 m of 0",
            point_text(far)
        ));
    }
    Ok(())
}

/// Makes an instance of the mesh with index `mesh` and the transform `place`. `material` replaces the mesh's own;
/// `None` keeps it.
///
/// Returns `None` if the transform is not invertible, or its inverse has an entry of 1e15 or more.
pub(crate) fn try_instance(mesh: u32, place: &DAffine3, material: Option<u32>) -> Option<Instance> {
    let DMat3 {
        x_axis,
        y_axis,
        z_axis,
    } = place.matrix3;
    let axes = [x_axis, y_axis, z_axis].map(DVec3::as_vec3);
    let inverse = DMat3::from_cols_array_2d(&axes.map(|axis| axis.as_dvec3().to_array())).inverse();
    let fits = |axis: DVec3| axis.is_finite() && axis.abs().max_element() < 1e15;
    [inverse.x_axis, inverse.y_axis, inverse.z_axis]
        .into_iter()
        .all(fits)
        .then_some(Instance {
            mesh,
            axes,
            position: place.translation.as_vec3(),
            material,
        })
}
