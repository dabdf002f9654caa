//! The watertight test of `hit_triangle` for one ray and one triangle per lane.

use crate::accel::{
    primitive::difference_of_products,
    vectors::{Lanes, Mask, SimdF32},
};

/// Magnitude above which an edge function keeps its sign if recomputed in double precision.
const SURE: f32 = 1e-30;

/// Intersects a ray with a triangle in each lane.
///
/// `a`, `b` and `c` are the vertices in sheared ray space, `scale` is the shear's `z`. Returns a mask of hits in front
/// of the origin, and the distances and the weights of `b` and `c`. `None` if no lane has a hit.
#[inline(always)]
pub(super) fn hit_triangles<S: Lanes>(
    [a, b, c]: [&[SimdF32<S>; 3]; 3],
    scale: SimdF32<S>,
) -> Option<(Mask<S>, [SimdF32<S>; 3])> {
    let ([ax, ay, az], [bx, by, bz], [cx, cy, cz]) = (*a, *b, *c);
    let simd = scale.0;
    let mut u = cx * by - cy * bx;
    let mut v = ax * cy - ay * cx;
    let mut w = bx * ay - by * ax;
    let (smallest, largest) = (u.min(v).min(w), u.max(v).max(w));
    let (minus, plus) = (SimdF32::all(simd, -SURE), SimdF32::all(simd, SURE));
    let outside = smallest.below(minus) & plus.below(largest);
    if outside.bits() == S::ALL {
        return None;
    }
    let mut inside = plus.below(smallest) | largest.below(minus);
    let doubtful = S::ALL & !(inside | outside).bits();
    if doubtful != 0 {
        let factors = [
            [&cx, &by, &cy, &bx],
            [&ax, &cy, &ay, &cx],
            [&bx, &ay, &by, &ax],
        ];
        look_closer(doubtful, factors, [&mut u, &mut v, &mut w]);
        inside = !outside;
    }
    let determinant = u + v + w;
    let height = (u * az + v * bz + w * cz) * scale;
    let inverse = SimdF32::all(simd, 1.0) / determinant;
    let along = height * inverse;
    Some((
        inside & SimdF32::all(simd, 0.0).below(along),
        [along, v * inverse, w * inverse],
    ))
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
