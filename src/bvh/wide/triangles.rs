//! `hit_triangle`, of one ray and one triangle in each lane.

use crate::{
    primitive::difference_of_products,
    vectors::{Floats, Lanes, Mask},
};

/// Beyond it a product of `hit_triangle` keeps its sign, and is not 0, if it is computed anew in double precision.
const SURE: f32 = 1e-30;

/// Which are hit ahead; the distances, and the weights of the second and third corner. `None` if surely none is. `a`, `b`
/// and `c` are the corners, sheared; `scale` is the shear's `z`.
#[inline(always)]
pub(super) fn hit_triangles<S: Lanes>(
    [a, b, c]: [&[Floats<S>; 3]; 3],
    scale: Floats<S>,
) -> Option<(Mask<S>, [Floats<S>; 3])> {
    let ([ax, ay, az], [bx, by, bz], [cx, cy, cz]) = (*a, *b, *c);
    let simd = scale.0;
    let mut u = cx * by - cy * bx;
    let mut v = ax * cy - ay * cx;
    let mut w = bx * ay - by * ax;
    let (least, largest) = (u.lesser(v).lesser(w), u.greater(v).greater(w));
    let (minus, plus) = (Floats::all(simd, -SURE), Floats::all(simd, SURE));
    let outside = least.below(minus) & plus.below(largest);
    if outside.bits() == S::ALL {
        return None;
    }
    let mut inside = plus.below(least) | largest.below(minus);
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
    let inverse = Floats::all(simd, 1.0) / determinant;
    let along = height * inverse;
    Some((
        inside & Floats::all(simd, 0.0).below(along),
        [along, v * inverse, w * inverse],
    ))
}

/// Lanes where a product may be 0, or is no number: what is hit keeps or gets its products, the others are no numbers.
#[cold]
#[inline(never)]
fn look_closer<S: Lanes>(
    doubtful: u32,
    factors: [[&Floats<S>; 4]; 3],
    [u, v, w]: [&mut Floats<S>; 3],
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
