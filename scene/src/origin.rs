//! The choice of an origin for objects that are far from 0.
//!
//! Scenes store coordinates in `f32`, which has 24 bits. Their readers compute in `f64`, and subtract an origin before
//! they round, so that the bits are left for the objects themselves. Objects near 0 have the origin 0.

use std::mem::take;

use glam::{DAffine3, DVec3, Vec3};

use crate::memory::{reserve_more, reserve_one, vec_with_capacity};

/// Distance from 0 in metres within which no part is far.
pub(crate) const NEAR: f64 = FAR * MIN_SIZE;
/// Ratio of a part's distance from an origin to its size up to which its coordinates are precise.
const FAR: f64 = 64.0;
/// Size in metres as which smaller parts count.
const MIN_SIZE: f64 = 1.0;
/// Number of parts at which every second one is dropped.
const MAX_PARTS: usize = 1 << 16;
/// Number of faces from which on a part may be a whole room.
pub(crate) const MANY_FACES: usize = 6;
/// Weight of a part with [`MANY_FACES`]; others have the weight 1.
const ROOM_WEIGHT: f64 = 3.0;
/// End of the numbers of decimals that are tried. With 16 in scientific notation, every `f64` reads back as itself.
const MAX_DECIMALS: usize = 17;
/// Largest number of points from which [`typical_box`] estimates a box.
const MAX_POINTS: usize = 256;

/// The parts of a scene or model, such as its objects, from which its origin is chosen.
#[derive(Default)]
pub(crate) struct Parts {
    /// Every n-th of the parts that were added.
    parts: Vec<Part>,
    /// Number of added parts for each of `parts`, minus 1.
    skipped: usize,
    /// Number of parts that were added.
    count: usize,
}

/// A part of a scene, such as an object.
struct Part {
    center: DVec3,
    /// Half of its largest side in metres.
    size: f64,
    weight: f64,
}

impl Parts {
    /// Adds a part whose bounding box has these opposite corners. One with [`MANY_FACES`] counts three times.
    pub(crate) fn push(&mut self, low: DVec3, high: DVec3, faces: usize) {
        self.count += 1;
        if !(self.count - 1).is_multiple_of(self.skipped + 1) || !(low + high).is_finite() {
            return;
        }
        self.parts.push(Part {
            center: (low + high) / 2.0,
            size: (high - low).max_element() / 2.0,
            weight: if faces < MANY_FACES { 1.0 } else { ROOM_WEIGHT },
        });
        if self.parts.len() >= MAX_PARTS {
            let mut number = 0;
            self.parts.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.skipped = 2 * self.skipped + 1;
        }
    }

    /// Adds a part with the bounding box `(low, high)` in its own coordinates, which `place` transforms.
    pub(crate) fn push_placed(
        &mut self,
        place: &DAffine3,
        (low, high): (DVec3, DVec3),
        faces: usize,
    ) {
        let center = place.transform_point3((low + high) / 2.0);
        let axes = place.matrix3;
        let [x, y, z] = [axes.x_axis, axes.y_axis, axes.z_axis].map(DVec3::abs);
        let half = (high - low) / 2.0;
        let half = x * half.x + y * half.y + z * half.z;
        self.push(center - half, center + half, faces);
    }

    /// Returns opposite corners of a box around the first part, a cube; a point at 0 without parts.
    pub(crate) fn extent(&self) -> (DVec3, DVec3) {
        self.parts.first().map_or_else(Default::default, |part| {
            (part.center - part.size, part.center + part.size)
        })
    }

    /// Returns the origin for these parts: 0, or a point of whole metres among the parts that are far from 0. It is used
    /// if it saves at least half of the bits of precision that all parts would lose at 0, and if most of them are closer
    /// to it than a quarter of its distance from 0.
    ///
    /// So a few stray parts have no effect, and neither have large ones around 0, such as a ground.
    pub(crate) fn origin(&self) -> DVec3 {
        let far = self.parts.iter();
        let far = far.filter(|part| part.lost_bits(DVec3::ZERO) > 0.0);
        let far: Vec<&Part> = far.collect();
        // Adding 0 turns -0 into 0.
        let along = |axis: usize| {
            let centers = far.iter().map(|part| (part.center[axis], part.weight));
            median(centers.collect()).round() + 0.0
        };
        let origin = DVec3::from_array([0, 1, 2].map(along));
        let distance = origin.abs().max_element();
        let small = self.parts.iter().filter(|part| 8.0 * part.size < distance);
        let spread = median(
            small
                .map(|part| (part.distance(origin), part.weight))
                .collect(),
        );
        if self.fits(origin) && 4.0 * spread <= distance {
            origin
        } else {
            DVec3::ZERO
        }
    }

    /// Returns whether `origin` loses at most half of the bits of precision that 0 loses, or is 0 and loses none.
    pub(crate) fn fits(&self, origin: DVec3) -> bool {
        let lost = |origin: DVec3| -> f64 {
            let each = self.parts.iter();
            each.map(|part| part.weight * part.lost_bits(origin)).sum()
        };
        2.0 * lost(origin) <= lost(DVec3::ZERO)
    }
}

impl Part {
    /// Returns the distance of the center from `origin`, along the axis where it is largest.
    fn distance(&self, origin: DVec3) -> f64 {
        (self.center - origin).abs().max_element()
    }

    /// Returns how many bits too few are left for the size of the part in coordinates relative to `origin`.
    fn lost_bits(&self, origin: DVec3) -> f64 {
        libm::log2((self.distance(origin) / (FAR * self.size.max(MIN_SIZE))).max(1.0))
    }
}

/// Returns the median of pairs of a number and its weight; 0 without any.
fn median(mut numbers: Vec<(f64, f64)>) -> f64 {
    numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = numbers.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    let middle = numbers.iter().find(|(_, weight)| {
        below += weight;
        2.0 * below >= total
    });
    middle.map_or(0.0, |&(number, _)| number)
}

/// Returns the bounding box of points, without the outermost twentieth on each side along each axis if there are many.
/// `point` returns the point with an index below `count`. Returns `None` without points.
pub(crate) fn typical_box(count: usize, point: impl Fn(usize) -> DVec3) -> Option<(DVec3, DVec3)> {
    let step = count.div_ceil(MAX_POINTS).max(1);
    let points: Vec<DVec3> = (0..count).step_by(step).map(point).collect();
    let last = points.len().checked_sub(1)?;
    let cut = points.len() / 20;
    let ends = [0, 1, 2].map(|axis| {
        let mut along: Vec<f64> = points.iter().map(|point| point[axis]).collect();
        along.sort_unstable_by(f64::total_cmp);
        (along[cut], along[last - cut])
    });
    Some((
        DVec3::from_array(ends.map(|(low, _)| low)),
        DVec3::from_array(ends.map(|(_, high)| high)),
    ))
}

/// Returns the origin for points, by the rule of [`Parts::origin`] for a single part. `point` returns the point with an
/// index below `count`.
pub(crate) fn origin_of_points(count: usize, point: impl Fn(usize) -> DVec3) -> DVec3 {
    let mut parts = Parts::default();
    if let Some((low, high)) = typical_box(count, point) {
        parts.push(low, high, 1);
    }
    parts.origin()
}

/// Positions of a file that are read one by one, and that become relative to an origin when it is known.
#[derive(Default)]
pub(crate) struct Positions {
    /// The origin; `None` until [`Positions::settle`] is called.
    origin: Option<DVec3>,
    /// Positions relative to the origin or, until it is known, to 0.
    relative: Vec<Vec3>,
    /// Positions since the first one far from 0, until the origin is known.
    waiting: Vec<DVec3>,
}

impl Positions {
    /// Creates an empty list with room for this number of positions. Fails if memory does not suffice.
    pub(crate) fn with_capacity(count: usize) -> Result<Positions, String> {
        Ok(Positions {
            relative: vec_with_capacity(count)?,
            ..Positions::default()
        })
    }

    /// Returns the number of positions.
    pub(crate) fn len(&self) -> usize {
        self.relative.len() + self.waiting.len()
    }

    /// Adds a position. Fails if memory does not suffice.
    pub(crate) fn push(&mut self, position: DVec3) -> Result<(), String> {
        let is_far = position.abs().max_element() > NEAR;
        if self.origin.is_none() && (is_far || !self.waiting.is_empty()) {
            reserve_one(&mut self.waiting)?;
            self.waiting.push(position);
            return Ok(());
        }
        reserve_one(&mut self.relative)?;
        let origin = self.origin.unwrap_or_default();
        self.relative.push((position - origin).as_vec3());
        Ok(())
    }

    /// Adds the position with this index in another list, whose origin must be known and becomes that of this one. Fails
    /// if memory does not suffice.
    pub(crate) fn copy(&mut self, from: &Positions, number: usize) -> Result<(), String> {
        self.origin = from.origin;
        reserve_one(&mut self.relative)?;
        self.relative.push(from.relative[number]);
        Ok(())
    }

    /// Chooses the origin for the positions so far, unless it is known, and returns it. Later positions become relative
    /// to it, too. Fails if memory does not suffice.
    pub(crate) fn settle(&mut self) -> Result<DVec3, String> {
        if let Some(origin) = self.origin {
            return Ok(origin);
        }
        let near = self.relative.len();
        let origin = origin_of_points(self.len(), |number| match number.checked_sub(near) {
            Some(number) => self.waiting[number],
            None => self.relative[number].as_dvec3(),
        });
        if origin != DVec3::ZERO {
            for position in &mut self.relative {
                *position = (position.as_dvec3() - origin).as_vec3();
            }
        }
        reserve_more(&mut self.relative, self.waiting.len())?;
        let waiting = take(&mut self.waiting).into_iter();
        self.relative
            .extend(waiting.map(|position| (position - origin).as_vec3()));
        self.origin = Some(origin);
        Ok(origin)
    }

    /// Returns the positions relative to the origin, which must be settled.
    pub(crate) fn relative(&self) -> &[Vec3] {
        &self.relative
    }

    /// Returns the positions and the origin to which they are relative. Fails if memory does not suffice.
    pub(crate) fn into_parts(mut self) -> Result<(Vec<Vec3>, DVec3), String> {
        let origin = self.settle()?;
        Ok((self.relative, origin))
    }
}

/// Returns a position in the coordinates of the file from one relative to `origin`, the
/// [`Scene::origin`](crate::Scene::origin). Of the numbers that a scene reads back as the same position, they are those
/// with the fewest digits.
pub fn position_in_file(position: Vec3, origin: DVec3) -> DVec3 {
    let of_axis = |axis: usize| {
        let (relative, origin) = (position[axis], origin[axis]);
        let reads_back = |number: f64| (number - origin) as f32 == relative;
        fewest_digits(f64::from(relative) + origin, reads_back)
    };
    DVec3::from_array([0, 1, 2].map(of_axis))
}

/// Rounds a number to the fewest significant digits that still satisfy `is_equal`, which `number` should.
pub(crate) fn fewest_digits(number: f64, is_equal: impl Fn(f64) -> bool) -> f64 {
    let rounded = |decimals: usize| format!("{number:.decimals$e}").parse().unwrap_or(number);
    let mut candidates = (0..MAX_DECIMALS).map(rounded);
    let found = candidates.find(|&candidate: &f64| is_equal(candidate));
    found.unwrap_or(number)
}
