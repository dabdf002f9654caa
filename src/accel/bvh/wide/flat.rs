//! Small scenes: one ray per lane, tested against all triangles and spheres in turn. Without a tree, no lane waits for
//! another that takes a different branch.

use std::collections::HashMap;

use super::{block::RayBlock, triangles::PairHit};
use crate::{
    accel::{
        primitive::{PAIRED, Primitive, SPHERE, TRIANGLE},
        vectors::{Lanes, Mask, SimdF32},
    },
    path::{Hit, NO_PRIMITIVE},
};

/// A small scene without a tree: triangles and spheres that every ray is tested against, by their number in the scene.
pub(super) struct Flat {
    /// Positions of the triangles' vertices, without duplicates.
    vertices: Vec<[f32; 3]>,
    /// The primitives in the order of the scene; pairs of triangles are one item.
    items: Vec<ListItem>,
}

/// An entry of the list, which holds one or two primitives.
enum ListItem {
    Triangle(Triangle),
    /// Two consecutive triangles with a common edge.
    Pair([Triangle; 2]),
    Sphere {
        center: [f32; 3],
        radius: f32,
        /// Index among the scene's primitives.
        position: u32,
    },
}

/// A triangle of the list.
#[derive(Clone, Copy)]
struct Triangle {
    /// Indices of its vertices.
    corners: [usize; 3],
    /// Index among the scene's primitives.
    position: u32,
}

impl Triangle {
    /// Returns whether the triangles have an edge in common.
    fn has_edge_with(&self, other: &Triangle) -> bool {
        let common = self
            .corners
            .iter()
            .filter(|corner| other.corners.contains(corner));
        common.count() == 2
    }

    /// Returns its vertices among those of all triangles.
    ///
    /// Not by `array::map`, which may become a call of a function without vector instructions.
    #[inline(always)]
    fn vertices<'a, S: Lanes>(&self, corners: &'a [Corner<S>]) -> [&'a [SimdF32<S>; 3]; 3] {
        let [a, b, c] = self.corners;
        [&corners[a].0, &corners[b].0, &corners[c].0]
    }
}

/// A vertex in the sheared ray space of each lane's ray.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Corner<S: Lanes>([SimdF32<S>; 3]);

impl Flat {
    /// Returns the memory of the list in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.vertices[..]) + size_of_val(&self.items[..])
    }

    /// Builds the list. `None` if there are primitives other than triangles and spheres.
    pub(super) fn new(primitives: &[Primitive]) -> Option<Flat> {
        let mut ordered: Vec<(u32, &Primitive)> = (0..).zip(primitives).collect();
        ordered.sort_by_key(|(_, primitive)| primitive.number);
        let mut vertices = Vec::new();
        let mut numbers = HashMap::new();
        let mut items = Vec::with_capacity(ordered.len());
        for (position, primitive) in ordered {
            let &Primitive { a, b, c, .. } = primitive;
            match primitive.kind_bits & !PAIRED {
                TRIANGLE => {
                    let corners = [a, b, c].map(|vertex| {
                        let bits = vertex.to_array().map(f32::to_bits);
                        *numbers.entry(bits).or_insert_with(|| {
                            vertices.push(vertex.to_array());
                            vertices.len() - 1
                        })
                    });
                    let triangle = Triangle { corners, position };
                    match items.last_mut() {
                        Some(ListItem::Triangle(last)) if last.has_edge_with(&triangle) => {
                            let pair = ListItem::Pair([*last, triangle]);
                            items.pop();
                            items.push(pair);
                        }
                        _ => items.push(ListItem::Triangle(triangle)),
                    }
                }
                SPHERE => items.push(ListItem::Sphere {
                    center: a.to_array(),
                    radius: b.x,
                    position,
                }),
                _ => return None,
            }
        }
        Some(Flat { vertices, items })
    }

    /// Returns scratch memory for queries, one entry per vertex.
    #[inline(always)]
    pub(super) fn corners<S: Lanes>(&self, simd: S) -> Vec<Corner<S>> {
        vec![Corner([SimdF32::all(simd, 0.0); 3]); self.vertices.len()]
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
        let mut nearest = simd.splat_u32s(NO_PRIMITIVE);
        let [mut u, mut v] = [block.all(0.0); 2];
        self.each_hit(
            block,
            corners,
            #[inline(always)]
            |positions, hit, [along, hit_u, hit_v]| {
                // At equal distances the first one stays, which has the lowest number.
                let nearer = hit & along.below(best);
                best = along.where_or(nearer, best);
                u = hit_u.where_or(nearer, u);
                v = hit_v.where_or(nearer, v);
                nearest = simd.select_u32s(nearer.1, positions, nearest);
                true
            },
        );
        // Infinity means no hit, which is reported as the largest finite number.
        let best = best.min(block.all(f32::MAX));
        let nearest: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&nearest));
        for (lane, &index) in block.ray_indices.iter().enumerate() {
            report(
                index,
                Hit {
                    distance: best.lanes()[lane],
                    primitive: nearest[lane],
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
            |positions, hit, [along, ..]| {
                let blocks = hit & along.below(block.distance) & !block.goes_to(positions);
                blocked |= blocks.bits();
                blocked & rays != rays
            },
        );
        for (lane, &index) in block.ray_indices.iter().enumerate() {
            report(index, blocked >> lane & 1 == 1);
        }
    }

    /// Calls `report` for primitives that may be hit, until it returns `false`.
    ///
    /// The arguments are, per lane: the index of a primitive in the scene, whether the ray hits it, the distance, and the
    /// barycentric weights of the second and third vertex. Two triangles may share one call.
    #[inline(always)]
    fn each_hit<S: Lanes>(
        &self,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        mut report: impl FnMut(S::u32s, Mask<S>, [SimdF32<S>; 3]) -> bool,
    ) {
        let simd = block.simd;
        for (corner, vertex) in corners.iter_mut().zip(&self.vertices) {
            corner.0 = block.corner(vertex);
        }
        for item in &self.items {
            let triangles = match item {
                ListItem::Triangle(triangle) => std::slice::from_ref(triangle),
                ListItem::Pair(pair) => {
                    let vertices = [pair[0].vertices(corners), pair[1].vertices(corners)];
                    match block.hit_pair(vertices) {
                        PairHit::Miss => continue,
                        PairHit::AtMostOne(uses_second, hit, found) => {
                            let first = simd.splat_u32s(pair[0].position);
                            let second = simd.splat_u32s(pair[1].position);
                            let positions = simd.select_u32s(uses_second.1, second, first);
                            if report(positions, hit & !block.leaves(positions), found) {
                                continue;
                            }
                            return;
                        }
                        PairHit::Unknown => pair.as_slice(),
                    }
                }
                &ListItem::Sphere {
                    ref center,
                    radius,
                    position,
                } => {
                    let position = simd.splat_u32s(position);
                    let found = block.hit_sphere(center, radius, block.leaves(position));
                    let goes_on = found.is_none_or(|(hit, along)| {
                        report(position, hit, [along, block.all(0.0), block.all(0.0)])
                    });
                    if goes_on {
                        continue;
                    }
                    return;
                }
            };
            for triangle in triangles {
                let vertices = triangle.vertices(corners);
                if let Some((hit, found)) = block.hit_triangle(vertices) {
                    // A ray that starts on a triangle's plane does not hit it again.
                    let position = simd.splat_u32s(triangle.position);
                    if !report(position, hit & !block.leaves(position), found) {
                        return;
                    }
                }
            }
        }
    }
}
