//! Small scenes: a ray in each lane, against all triangles and spheres one after the other. No tree, and no lane waits for
//! another that is elsewhere in it.

use std::collections::HashMap;

use super::{
    block::{Block, each},
    search::Search,
};
use crate::{
    path::{Hit, NO_PRIMITIVE},
    primitive::{Primitive, SPHERE, TRIANGLE},
    vectors::{Floats, Lanes, Mask},
};

/// Of triangles and spheres, by number in the scene.
pub(super) struct Flat {
    /// The triangles' corners, each once.
    vertices: Vec<[f32; 3]>,
    things: Vec<Thing>,
}

/// A primitive, and its position among them.
enum Thing {
    Triangle {
        corners: [usize; 3],
        position: u32,
    },
    Sphere {
        center: [f32; 3],
        radius: f32,
        position: u32,
    },
}

/// Corners of the triangles as a block's rays see them.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Corner<S: Lanes>([Floats<S>; 3]);

impl Flat {
    /// `None` for primitives of other kinds.
    pub(super) fn new(primitives: &[Primitive]) -> Option<Flat> {
        let mut ordered: Vec<(u32, &Primitive)> = (0..).zip(primitives).collect();
        ordered.sort_by_key(|(_, primitive)| primitive.number);
        let mut vertices = Vec::new();
        let mut numbers = HashMap::new();
        let things = ordered.into_iter().map(|(position, primitive)| {
            let &Primitive { a, b, c, .. } = primitive;
            match primitive.kind {
                TRIANGLE => Some(Thing::Triangle {
                    corners: [a, b, c].map(|vertex| {
                        let bits = vertex.to_array().map(f32::to_bits);
                        *numbers.entry(bits).or_insert_with(|| {
                            vertices.push(vertex.to_array());
                            vertices.len() - 1
                        })
                    }),
                    position,
                }),
                SPHERE => Some(Thing::Sphere {
                    center: a.to_array(),
                    radius: b.x,
                    position,
                }),
                _ => None,
            }
        });
        let things = things.collect::<Option<Vec<Thing>>>()?;
        Some(Flat { vertices, things })
    }

    /// Has rays traced, in any order.
    #[inline(always)]
    pub(super) fn each<Q: Search, S: Lanes>(
        &self,
        simd: S,
        rays: &[Q::Ray],
        places: impl Iterator<Item = usize>,
        mut tell: impl FnMut(usize, Q::Found),
    ) {
        let mut corners = vec![Corner([Floats::all(simd, 0.0); 3]); self.vertices.len()];
        each(
            simd,
            rays,
            places,
            #[inline(always)]
            |block| Q::in_list(self, block, &mut corners, &mut tell),
        );
    }

    /// Tells what each ray of a block hits.
    #[inline(always)]
    pub(super) fn nearest<S: Lanes>(
        &self,
        block: &Block<S>,
        corners: &mut [Corner<S>],
        tell: &mut impl FnMut(usize, Hit),
    ) {
        let simd = block.simd;
        let mut best = block.distance;
        let mut numbers = simd.splat_u32s(NO_PRIMITIVE);
        let [mut u, mut v] = [block.all(0.0); 2];
        self.each_hit(
            block,
            corners,
            #[inline(always)]
            |number, _, hit, [along, hit_u, hit_v]| {
                // Of equal ones the first, whose number is the lowest.
                let nearer = hit & along.below(best);
                best = along.where_or(nearer, best);
                u = hit_u.where_or(nearer, u);
                v = hit_v.where_or(nearer, v);
                let number = simd.splat_u32s(number as u32);
                numbers = simd.select_u32s(nearer.1, number, numbers);
                true
            },
        );
        // There are infinitely many numbers beyond the largest, but no hit.
        let best = best.lesser(block.all(f32::MAX));
        let numbers: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&numbers));
        for (lane, &place) in block.places.iter().enumerate() {
            let thing = self.things.get(numbers[lane] as usize);
            tell(
                place,
                Hit {
                    distance: best.lanes()[lane],
                    primitive: thing.map_or(NO_PRIMITIVE, Thing::position),
                    u: u.lanes()[lane],
                    v: v.lanes()[lane],
                },
            );
        }
    }

    /// Tells which rays of a block are blocked.
    #[inline(always)]
    pub(super) fn occluded<S: Lanes>(
        &self,
        block: &Block<S>,
        corners: &mut [Corner<S>],
        tell: &mut impl FnMut(usize, bool),
    ) {
        let rays = S::ALL >> (S::F32_LANES - block.places.len());
        let mut blocked = 0;
        self.each_hit(
            block,
            corners,
            #[inline(always)]
            |_, position, hit, [along, ..]| {
                let blocks = hit & along.below(block.distance) & !block.goes_to(position);
                blocked |= blocks.bits();
                blocked & rays != rays
            },
        );
        for (lane, &place) in block.places.iter().enumerate() {
            tell(place, blocked >> lane & 1 == 1);
        }
    }

    /// Tells of each thing that rays meet its number here, its position, which rays do, where, and at which weights; as long
    /// as that returns `true`.
    #[inline(always)]
    fn each_hit<S: Lanes>(
        &self,
        block: &Block<S>,
        corners: &mut [Corner<S>],
        mut tell: impl FnMut(usize, u32, Mask<S>, [Floats<S>; 3]) -> bool,
    ) {
        for (corner, vertex) in corners.iter_mut().zip(&self.vertices) {
            corner.0 = block.corner(vertex);
        }
        for (number, thing) in self.things.iter().enumerate() {
            let (position, hit, found) = match *thing {
                Thing::Triangle {
                    corners: [a, b, c],
                    position,
                } => {
                    let (a, b, c) = (&corners[a].0, &corners[b].0, &corners[c].0);
                    let Some((hit, found)) = block.hit_triangle([a, b, c]) else {
                        continue;
                    };
                    // A ray that leaves a plane does not come back to it.
                    (position, hit & !block.leaves(position), found)
                }
                Thing::Sphere {
                    ref center,
                    radius,
                    position,
                } => {
                    let (hit, along) = block.hit_sphere(center, radius, block.leaves(position));
                    (position, hit, [along, block.all(0.0), block.all(0.0)])
                }
            };
            if !tell(number, position, hit, found) {
                return;
            }
        }
    }
}

impl Thing {
    fn position(&self) -> u32 {
        match *self {
            Thing::Triangle { position, .. } | Thing::Sphere { position, .. } => position,
        }
    }
}
