//! Triangulation of polygons.

use glam::{DVec2, DVec3};

/// Largest number of corners of a polygon that is triangulated by ear clipping, which takes quadratic time. Larger ones
/// become fans.
const MAX_CORNERS: usize = 1024;

/// Triangulates a polygon. Replaces the content of `into` by two fewer triangles than there are corners, as indices of
/// corners with the polygon's winding.
///
/// If the fan from the first corner covers the polygon exactly, as for convex polygons, that is the result. Otherwise
/// ears are clipped (G. H. Meisters 1975, "Polygons have ears").
pub(crate) fn triangles(corners: impl ExactSizeIterator<Item = DVec3>, into: &mut Vec<[usize; 3]>) {
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
        clip_ears(&flat, into);
    }
}

/// Projects a polygon along the coordinate axis closest to its normal, and mirrors it if needed so that it is
/// counter-clockwise in the plane.
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

/// Returns twice the signed area of the triangle (a, b, c), positive if it is counter-clockwise.
fn turn(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    (b - a).perp_dot(c - b)
}

/// Triangulates a counter-clockwise polygon by removing one ear after the other. Appends the triangles to `into`, as
/// indices into `flat`.
fn clip_ears(flat: &[DVec2], into: &mut Vec<[usize; 3]>) {
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
        // A polygon whose edges cross may have no ear. Then any corner is removed.
        let place = places.find(|&place| ears[place]).unwrap_or(at % count);
        into.push(around(&left, place));
        left.remove(place);
        ears.remove(place);
        // The removal changes only its two neighbours.
        let count = count - 1;
        for neighbour in [(place + count - 1) % count, place % count] {
            ears[neighbour] = is_ear(flat, &left, around(&left, neighbour));
        }
        at = place;
    }
    into.push([left[0], left[1], left[2]]);
}

/// Returns whether the middle corner of `ear` is convex and no other corner lies in the triangle `ear`. `left` lists
/// the corners of the polygon that remain, as indices into `flat`.
fn is_ear(flat: &[DVec2], left: &[usize], ear: [usize; 3]) -> bool {
    let [a, b, c] = ear.map(|corner| flat[corner]);
    if turn(a, b, c) <= 0.0 {
        return false;
    }
    let in_the_way = |&corner: &usize| {
        let point = flat[corner];
        // A polygon with a hole, cut open, passes through some points twice.
        ![a, b, c].contains(&point)
            && turn(a, b, point) >= 0.0
            && turn(b, c, point) >= 0.0
            && turn(c, a, point) >= 0.0
    };
    !left.iter().any(in_the_way)
}
