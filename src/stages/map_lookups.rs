//! Values of the environment map in many directions at once, for the stages on the CPU.

use crate::accel::arrays::{F32Array, PATHS, U32Array, Vec3Array};
use crate::lights::{
    environment::{
        EnvironmentSample, MapPlace, MapTexels, interpolated_radiance, map_place, read_texels,
    },
    light::Lights,
};

/// Directions, and the values of the environment map there.
#[derive(Default)]
pub(super) struct MapLookups {
    /// Directions of length 1.
    pub(super) directions: Vec3Array,

    // The places of the directions in the map: see `MapPlace`.
    place_column: U32Array,
    place_line: U32Array,
    place_left: U32Array,
    place_right: U32Array,
    place_upper: U32Array,
    place_lower: U32Array,
    right_share: F32Array,
    lower_share: F32Array,

    // The values that were read there: see `MapTexels`.
    shares: U32Array,
    densities: F32Array,
    corners: [Vec3Array; 4],

    // The values of the map: see `EnvironmentSample`.
    pdfs: F32Array,
    radiances: Vec3Array,
}

impl MapLookups {
    /// Looks up the first `count` directions, with the bits of
    /// [`environment_at`](crate::lights::environment::environment_at). The values of the others become unspecified.
    #[inline(always)]
    pub(super) fn look_up(&mut self, lights: &Lights, count: usize) {
        let environment = &lights.environment;
        for at in 0..PATHS {
            let place = map_place(environment, self.directions.get(at));
            self.place_column[at] = place.column;
            self.place_line[at] = place.line;
            self.place_left[at] = place.left;
            self.place_right[at] = place.right;
            self.place_upper[at] = place.upper;
            self.place_lower[at] = place.lower;
            self.right_share[at] = place.right_share;
            self.lower_share[at] = place.lower_share;
        }
        for at in 0..count {
            let read = read_texels(environment, lights.rows, lights.texels, &self.place(at));
            self.shares[at] = read.share;
            self.densities[at] = read.density;
            for (array, radiance) in self.corners.iter_mut().zip(read.corners) {
                array.set(at, radiance);
            }
        }
        for at in 0..PATHS {
            let read = MapTexels {
                share: self.shares[at],
                density: self.densities[at],
                corners: [
                    self.corners[0].get(at),
                    self.corners[1].get(at),
                    self.corners[2].get(at),
                    self.corners[3].get(at),
                ],
            };
            let value = interpolated_radiance(&self.place(at), &read);
            self.pdfs[at] = value.pdf;
            self.radiances.set(at, value.radiance);
        }
    }

    /// Returns the values in the direction at this index.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> EnvironmentSample {
        EnvironmentSample {
            radiance: self.radiances.get(at),
            pdf: self.pdfs[at],
        }
    }

    /// Returns the place of the direction at this index.
    #[inline(always)]
    fn place(&self, at: usize) -> MapPlace {
        MapPlace {
            column: self.place_column[at],
            line: self.place_line[at],
            left: self.place_left[at],
            right: self.place_right[at],
            upper: self.place_upper[at],
            lower: self.place_lower[at],
            right_share: self.right_share[at],
            lower_share: self.lower_share[at],
        }
    }
}
