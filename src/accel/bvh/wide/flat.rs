//! Small scenes: one ray per lane, tested against all triangles and spheres in turn. Without a tree, no lane waits for
//! another that takes a different branch.

use std::collections::HashMap;

use super::{
    block::{RayBlock, each},
    search::Search,
};
use crate::{
    accel::{
        primitive::{Primitive, SPHERE, TRIANGLE},
        vectors::{Lanes, Mask, SimdF32},
    },
    path::{Hit, NO_PRIMITIVE},
};

/// A small scene without a tree: triangles and spheres that every ray is tested against, by their number in the scene.
pub(super) struct Flat {
    /// Positions of the triangles' vertices, without duplicates.
    vertices: Vec<[f32; 3]>,
    /// The primitives.
    things: Vec<ListItem>,
}

/// A primitive with its index among the scene's primitives. `corners` are indices of vertices.
enum ListItem {
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

/// A vertex in the sheared ray space of each lane's ray.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Corner<S: Lanes>([SimdF32<S>; 3]);

impl Flat {
    /// Builds the list. `None` if there are primitives other than triangles and spheres.
    pub(super) fn new(primitives: &[Primitive]) -> Option<Flat> {
        let mut ordered: Vec<(u32, &Primitive)> = (0..).zip(primitives).collect();
        ordered.sort_by_key(|(_, primitive)| primitive.number);
        let mut vertices = Vec::new();
        let mut numbers = HashMap::new();
        let things = ordered.into_iter().map(|(position, primitive)| {
            let &Primitive { a, b, c, .. } = primitive;
            match primitive.kind {
                TRIANGLE => Some(ListItem::Triangle {
                    corners: [a, b, c].map(|vertex| {
                        let bits = vertex.to_array().map(f32::to_bits);
                        *numbers.entry(bits).or_insert_with(|| {
                            vertices.push(vertex.to_array());
                            vertices.len() - 1
                        })
                    }),
                    position,
                }),
                SPHERE => Some(ListItem::Sphere {
                    center: a.to_array(),
                    radius: b.x,
                    position,
                }),
                _ => None,
            }
        });
        let things = things.collect::<Option<Vec<ListItem>>>()?;
        Some(Flat { vertices, things })
    }

    /// Runs a query for the rays at these indices, in any order.
    #[inline(always)]
    pub(super) fn each<Q: Search, S: Lanes>(
        &self,
        simd: S,
        rays: &[Q::Ray],
        ray_indices: impl Iterator<Item = usize>,
        mut report: impl FnMut(usize, Q::Output),
    ) {
        let mut corners = vec![Corner([SimdF32::all(simd, 0.0); 3]); self.vertices.len()];
        each(
            simd,
            rays,
            ray_indices,
            #[inline(always)]
            |block| Q::in_list(self, block, &mut corners, &mut report),
        );
    }

    /// Reports the nearest hit of each ray of a block. `corners` is scratch memory, one entry per vertex.
    #[inline(always)]
    pub(super) fn nearest<S: Lanes>(
        &self,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        report: &mut impl FnMut(usize, Hit),
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
                // At equal distances the first one stays, which has the lowest number.
                let nearer = hit & along.below(best);
                best = along.where_or(nearer, best);
                u = hit_u.where_or(nearer, u);
                v = hit_v.where_or(nearer, v);
                let number = simd.splat_u32s(number as u32);
                numbers = simd.select_u32s(nearer.1, number, numbers);
                true
            },
        );
        // Infinity means no hit, which is reported as the largest finite number.
        let best = best.min(block.all(f32::MAX));
        let numbers: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&numbers));
        for (lane, &index) in block.ray_indices.iter().enumerate() {
            let thing = self.things.get(numbers[lane] as usize);
            report(
                index,
                Hit {
                    distance: best.lanes()[lane],
                    primitive: thing.map_or(NO_PRIMITIVE, ListItem::position),
                    u: u.lanes()[lane],
                    v: v.lanes()[lane],
                },
            );
        }
    }

    /// Reports which rays of a block are blocked. `corners` is scratch memory, one entry per vertex.
    #[inline(always)]
    pub(super) fn occluded<S: Lanes>(
        &self,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        report: &mut impl FnMut(usize, bool),
    ) {
        let rays = S::ALL >> (S::F32_LANES - block.ray_indices.len());
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
        for (lane, &index) in block.ray_indices.iter().enumerate() {
            report(index, blocked >> lane & 1 == 1);
        }
    }

    /// Calls `report` for each primitive that may be hit, until it returns `false`.
    ///
    /// The arguments are the primitive's index in the list, its index in the scene, a mask of the rays that hit it, and
    /// per lane the distance and the barycentric weights of the second and third vertex.
    #[inline(always)]
    fn each_hit<S: Lanes>(
        &self,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        mut report: impl FnMut(usize, u32, Mask<S>, [SimdF32<S>; 3]) -> bool,
    ) {
        for (corner, vertex) in corners.iter_mut().zip(&self.vertices) {
            corner.0 = block.corner(vertex);
        }
        for (number, thing) in self.things.iter().enumerate() {
            let (position, hit, found) = match *thing {
                ListItem::Triangle {
                    corners: [a, b, c],
                    position,
                } => {
                    let (a, b, c) = (&corners[a].0, &corners[b].0, &corners[c].0);
                    let Some((hit, found)) = block.hit_triangle([a, b, c]) else {
                        continue;
                    };
                    // A ray that starts on a triangle's plane does not hit it again.
                    (position, hit & !block.leaves(position), found)
                }
                ListItem::Sphere {
                    ref center,
                    radius,
                    position,
                } => {
                    let (hit, along) = block.hit_sphere(center, radius, block.leaves(position));
                    (position, hit, [along, block.all(0.0), block.all(0.0)])
                }
            };
            if !report(number, position, hit, found) {
                return;
            }
        }
    }
}

impl ListItem {
    /// Returns the primitive's index among the scene's primitives.
    fn position(&self) -> u32 {
        match *self {
            ListItem::Triangle { position, .. } | ListItem::Sphere { position, .. } => position,
        }
    }
}
