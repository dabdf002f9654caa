//! Polygons become triangles.

use glam::{DVec2, DVec3};

/// Corners of a polygon with dents that is cut up with care; the time grows with their square.
const MAX_CORNERS: usize = 1024;

/// The triangles of a polygon, by the numbers of its corners, turning as it does: two fewer than corners. They are a fan
/// from the first corner where that covers it, as it does where the polygon is convex; else corners are cut off, one
/// after the other, where no other corner is in the way (G. H. Meisters 1975, "Polygons have ears").
pub(in crate::scene) fn triangles(
    corners: impl ExactSizeIterator<Item = DVec3>,
    into: &mut Vec<[usize; 3]>,
) {
    let count = corners.len();
    into.clear();
    into.extend((1..count.saturating_sub(1)).map(|second| [0, second, second + 1]));
    if !(4..=MAX_CORNERS).contains(&count) {
        return;
    }
    let corners: Vec<DVec3> = corners.collect();
    let flat = flattened(&corners);
    let dented = |&[a, b, c]: &[usize; 3]| turn(flat[a], flat[b], flat[c]) < 0.0;
    if into.iter().any(dented) {
        into.clear();
        cut_ears(&flat, into);
    }
}

/// The polygon as it is seen along the axis to which it faces most, counter-clockwise.
fn flattened(corners: &[DVec3]) -> Vec<DVec2> {
    let first = corners[0];
    let normal: DVec3 = corners[1..]
        .windows(2)
        .map(|edge| (edge[0] - first).cross(edge[1] - first))
        .sum();
    let size = normal.abs();
    let (right, up, side) = if size.x >= size.y.max(size.z) {
        (1, 2, normal.x)
    } else if size.y >= size.z {
        (2, 0, normal.y)
    } else {
        (0, 1, normal.z)
    };
    let side = if side < 0.0 { -1.0 } else { 1.0 };
    let seen = |corner: &DVec3| DVec2::new((corner - first)[right], side * (corner - first)[up]);
    corners.iter().map(seen).collect()
}

/// Above 0 where the way from `a` over `b` to `c` turns left: twice the triangle's area.
fn turn(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    (b - a).perp_dot(c - b)
}

fn cut_ears(flat: &[DVec2], into: &mut Vec<[usize; 3]>) {
    let mut left: Vec<usize> = (0..flat.len()).collect();
    let around = |left: &[usize], place: usize| {
        let count = left.len();
        [place + count - 1, place, place + 1].map(|place| left[place % count])
    };
    let mut ears: Vec<bool> = (0..left.len())
        .map(|place| is_ear(flat, &left, around(&left, place)))
        .collect();
    let mut at = 0;
    while left.len() > 3 {
        let count = left.len();
        let mut places = (at..at + count).map(|place| place % count);
        // Where edges cross there may be no ear: then any corner will do.
        let place = places.find(|&place| ears[place]).unwrap_or(at % count);
        into.push(around(&left, place));
        left.remove(place);
        ears.remove(place);
        // No other corner becomes an ear by it, or ceases to be one.
        let count = count - 1;
        for beside in [(place + count - 1) % count, place % count] {
            ears[beside] = is_ear(flat, &left, around(&left, beside));
        }
        at = place;
    }
    into.push([left[0], left[1], left[2]]);
}

/// Whether a corner sticks out, and nothing of the polygon is where it is cut off.
fn is_ear(flat: &[DVec2], left: &[usize], ear: [usize; 3]) -> bool {
    let [a, b, c] = ear.map(|corner| flat[corner]);
    if turn(a, b, c) <= 0.0 {
        return false;
    }
    let in_the_way = |&corner: &usize| {
        let point = flat[corner];
        // A polygon that leads around a hole comes to the same point twice.
        ![a, b, c].contains(&point)
            && turn(a, b, point) >= 0.0
            && turn(b, c, point) >= 0.0
            && turn(c, a, point) >= 0.0
    };
    !left.iter().any(in_the_way)
}
