//! Triangulation of polygons.

use earcut::Earcut;
use glam::{DVec2, DVec3};

/// Largest number of corners of a polygon that [`clip_ears`] triangulates, in quadratic time. It keeps corners on
/// straight edges, which larger polygons lose; a neighbor that has them could show a crack there.
const MAX_CORNERS: usize = 1024;

/// Largest number of corners of any polygon that does not stay a fan. The library takes quadratic time for some shapes.
const MAX_LARGE: usize = 1 << 16;

/// Largest number of pairs of edges that [`is_simple`] tests.
const MAX_TESTS: usize = 1 << 26;

/// Triangulates a polygon. Replaces the content of `into` by triangles, as indices of corners with the polygon's
/// winding: two fewer than there are corners, except for large polygons with corners on straight edges.
///
/// If the fan from the first corner covers the polygon exactly, as for convex polygons, that is the result. Otherwise
/// ears are clipped (G. H. Meisters 1975, "Polygons have ears"). Polygons of over
/// 65,536 corners, and of over 1,024 whose edges cross or lie thousands side by side, stay fans.
pub(crate) fn triangles(corners: impl ExactSizeIterator<Item = DVec3>, into: &mut Vec<[usize; 3]>) {
    let count = corners.len();
    into.clear();
    into.extend((1..count.saturating_sub(1)).map(|second| [0, second, second + 1]));
    if count < 4 {
        return;
    }
    let corners: Vec<DVec3> = corners.collect();
    let flat = flattened(&corners);
    let dented = |&[a, b, c]: &[usize; 3]| turn(flat[a], flat[b], flat[c]) < 0.0;
    if !into.iter().any(dented) {
        return;
    }
    if count > MAX_CORNERS && (count > MAX_LARGE || !is_simple(&flat)) {
        return;
    }
    into.clear();
    if count <= MAX_CORNERS {
        return clip_ears(&flat, into);
    }
    let mut found: Vec<usize> = Vec::new();
    let points = flat.iter().map(|point| point.to_array());
    Earcut::new().earcut(points, &[], &mut found);
    // The triangles of the library may have the other winding.
    into.extend(found.as_chunks::<3>().0.iter().map(|&[a, b, c]| {
        match turn(flat[a], flat[b], flat[c]) < 0.0 {
            true => [a, c, b],
            false => [a, b, c],
        }
    }));
}

/// Returns whether no two edges of a polygon cross. Returns `false` also if it would take more than [`MAX_TESTS`] to find
/// out.
fn is_simple(flat: &[DVec2]) -> bool {
    let ends = |edge: usize| [flat[edge], flat[(edge + 1) % flat.len()]];
    let size = flat.iter().copied().reduce(DVec2::max).unwrap_or_default()
        - flat.iter().copied().reduce(DVec2::min).unwrap_or_default();
    // The sweep goes along the longer side, where fewer edges are beside each other.
    let axis = usize::from(size.y > size.x);
    let first = |edge: usize| ends(edge)[0][axis].min(ends(edge)[1][axis]);
    let last = |edge: usize| ends(edge)[0][axis].max(ends(edge)[1][axis]);
    let mut order: Vec<usize> = (0..flat.len()).collect();
    order.sort_by(|&one, &other| first(one).total_cmp(&first(other)));
    let mut beside: Vec<usize> = Vec::new();
    let mut tests = 0;
    for edge in order {
        let from = first(edge);
        beside.retain(|&other| last(other) >= from);
        tests += beside.len();
        if tests > MAX_TESTS || beside.iter().any(|&other| cross(ends(edge), ends(other))) {
            return false;
        }
        beside.push(edge);
    }
    true
}

/// Returns whether two edges cross in a point inside both.
fn cross([a, b]: [DVec2; 2], [c, d]: [DVec2; 2]) -> bool {
    turn(a, b, c) * turn(a, b, d) < 0.0 && turn(c, d, a) * turn(c, d, b) < 0.0
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
