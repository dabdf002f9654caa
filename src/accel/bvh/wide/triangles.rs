//! The watertight test of `hit_triangle` for one ray per lane, and one or two triangles per lane.

use crate::accel::{
    primitive::difference_of_products,
    vectors::{Lanes, Mask, SimdF32},
};

/// Magnitude above which an edge function keeps its sign if recomputed in double precision.
const SURE: f32 = 1e-30;

/// The edge functions of a triangle in each lane.
struct Edges<S: Lanes> {
    /// The edge functions opposite to the first, the second and the third vertex.
    functions: [SimdF32<S>; 3],
    /// Lanes whose ray surely misses the triangle.
    outside: Mask<S>,
    /// Lanes whose line surely passes through the triangle. The other lanes are doubtful.
    inside: Mask<S>,
}

impl<S: Lanes> Edges<S> {
    /// Computes the edge functions of triangles with these vertices in sheared ray space.
    #[inline(always)]
    fn new([a, b, c]: [&[SimdF32<S>; 3]; 3]) -> Edges<S> {
        let ([ax, ay, _], [bx, by, _], [cx, cy, _]) = (*a, *b, *c);
        let simd = ax.0;
        let u = cx * by - cy * bx;
        let v = ax * cy - ay * cx;
        let w = bx * ay - by * ax;
        let (smallest, largest) = (u.min(v).min(w), u.max(v).max(w));
        let (minus, plus) = (SimdF32::all(simd, -SURE), SimdF32::all(simd, SURE));
        Edges {
            functions: [u, v, w],
            outside: smallest.below(minus) & plus.below(largest),
            inside: plus.below(smallest) | largest.below(minus),
        }
    }

    /// Returns the lanes that are neither surely outside nor surely inside.
    #[inline(always)]
    fn doubtful(&self) -> u32 {
        S::ALL & !(self.inside | self.outside).bits()
    }
}

/// Intersects a ray with a triangle in each lane.
///
/// `a`, `b` and `c` are the vertices in sheared ray space, `scale` is the shear's `z`. Returns a mask of hits in front
/// of the origin, and the distances and the weights of `b` and `c`. `None` if no lane has a hit.
#[inline(always)]
pub(super) fn hit_triangles<S: Lanes>(
    [a, b, c]: [&[SimdF32<S>; 3]; 3],
    scale: SimdF32<S>,
) -> Option<(Mask<S>, [SimdF32<S>; 3])> {
    let mut edges = Edges::new([a, b, c]);
    if edges.outside.bits() == S::ALL {
        return None;
    }
    let doubtful = edges.doubtful();
    if doubtful != 0 {
        // Copies, so that the originals can stay in registers.
        let ([ax, ay, _], [bx, by, _], [cx, cy, _]) = (*a, *b, *c);
        let factors = [
            [&cx, &by, &cy, &bx],
            [&ax, &cy, &ay, &cx],
            [&bx, &ay, &by, &ax],
        ];
        let [mut u, mut v, mut w] = edges.functions;
        look_closer(doubtful, factors, [&mut u, &mut v, &mut w]);
        edges.functions = [u, v, w];
        edges.inside = !edges.outside;
    }
    Some(hits(
        edges.functions,
        [a[2], b[2], c[2]],
        edges.inside,
        scale,
    ))
}

/// The result of [`hit_pair`].
pub(super) enum PairHit<S: Lanes> {
    /// No lane has a hit.
    Miss,
    /// No lane hits both triangles: a mask of the lanes that use the second one, a mask of hits in front of the origin,
    /// and the distances and the weights of the second and the third vertex.
    AtMostOne(Mask<S>, Mask<S>, [SimdF32<S>; 3]),
    /// Unknown: a lane may hit both triangles, or is doubtful. They must be tested one by one.
    Unknown,
}

/// Intersects a ray in each lane with two triangles at once, given by their vertices in sheared ray space.
///
/// The division and all that follows the edge functions is made once, because a line rarely passes through both
/// triangles of a quadrilateral. Each lane has the bits of [`hit_triangles`] for its triangle.
#[inline(always)]
pub(super) fn hit_pair<S: Lanes>(
    [first, second]: [[&[SimdF32<S>; 3]; 3]; 2],
    scale: SimdF32<S>,
) -> PairHit<S> {
    let edges = [Edges::new(first), Edges::new(second)];
    if (edges[0].outside & edges[1].outside).bits() == S::ALL {
        return PairHit::Miss;
    }
    let both = (edges[0].inside & edges[1].inside).bits();
    if edges[0].doubtful() | edges[1].doubtful() | both != 0 {
        return PairHit::Unknown;
    }
    let uses_second = edges[1].inside;
    let mut functions = edges[0].functions;
    // Not by `array::map`, which may become a call of a function without vector instructions.
    let [a, b, c] = first;
    let mut heights = [a[2], b[2], c[2]];
    for at in 0..3 {
        functions[at] = edges[1].functions[at].where_or(uses_second, functions[at]);
        heights[at] = second[at][2].where_or(uses_second, heights[at]);
    }
    let (hit, found) = hits(functions, heights, edges[0].inside | uses_second, scale);
    PairHit::AtMostOne(uses_second, hit, found)
}

/// Returns a mask of the lanes with a hit in front of the origin, among those `inside` the triangle, and the distances
/// and the weights of the second and the third vertex. `az`, `bz` and `cz` are the z coordinates of the vertices in
/// sheared ray space.
#[inline(always)]
fn hits<S: Lanes>(
    [u, v, w]: [SimdF32<S>; 3],
    [az, bz, cz]: [SimdF32<S>; 3],
    inside: Mask<S>,
    scale: SimdF32<S>,
) -> (Mask<S>, [SimdF32<S>; 3]) {
    let simd = scale.0;
    let determinant = u + v + w;
    let height = (u * az + v * bz + w * cz) * scale;
    let inverse = SimdF32::all(simd, 1.0) / determinant;
    let along = height * inverse;
    (
        inside & SimdF32::all(simd, 0.0).below(along),
        [along, v * inverse, w * inverse],
    )
}

/// Recomputes the edge functions of doubtful lanes in double precision if one of them is 0. Lanes without a hit become
/// NaN.
#[cold]
#[inline(never)]
fn look_closer<S: Lanes>(
    doubtful: u32,
    factors: [[&SimdF32<S>; 4]; 3],
    [u, v, w]: [&mut SimdF32<S>; 3],
) {
    let (u, v, w) = (u.lanes_mut(), v.lanes_mut(), w.lanes_mut());
    for lane in (0..S::F32_LANES).filter(|lane| doubtful >> lane & 1 == 1) {
        let mut products = [u[lane], v[lane], w[lane]];
        if products.contains(&0.0) {
            for (product, factors) in products.iter_mut().zip(factors) {
                let [a, b, c, d] = factors.map(|factor| factor.lanes()[lane]);
                *product = difference_of_products(a, b, c, d);
            }
        }
        let outside = products.iter().any(|&x| x < 0.0) && products.iter().any(|&x| x > 0.0);
        let determinant = products[0] + products[1] + products[2];
        if outside || determinant == 0.0 {
            products = [f32::NAN; 3];
        }
        [u[lane], v[lane], w[lane]] = products;
    }
}
