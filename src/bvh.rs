//! The tree over the primitives, and the way of a ray through it. Twin: `kernels/shared/bvh.cuh`.
//!
//! Compressed wide bounding volume hierarchy (Ylitie, Karras & Laine 2017): eight children a node, their boxes in eight
//! bits a plane on the node's own grid, 80 bytes in all. They are collapsed from a binary tree (`trees`).
//!
//! The accepted hit is the nearest, by the primitives' own tests. Boxes only spare work: a ray sees every box larger by
//! `slack`, so that rounding never hides the box that holds the hit.

#[cfg(target_arch = "x86_64")]
pub mod wide;
#[cfg(not(target_arch = "x86_64"))]
#[path = "bvh/narrow.rs"]
pub mod wide;

use compaction::shared;
use glam::Vec3;
use obvhs::{Boundable, aabb::Aabb};
use rayon::prelude::*;

use crate::{
    instance::{Instance, NO_INSTANCE, PlacedHit, enter, nearer_placed_hit, placed_blocks},
    math::{greater, lesser},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{INSTANCE, Primitive, SPHERE, Shear, blocks, nearer_hit, shear},
    trees::parts::{self, Reinserted},
};

/// Groups of nodes that wait while a ray is in another branch; a tree that needs more is refused when it is built.
pub const STACK_SIZE: u32 = 32;

/// Eight bytes, one per child.
pub type Bytes8 = [u8; 8];

shared! {
    /// A node and the boxes of its eight children.
    #[repr(align(16))]
    pub struct Node {
        /// Corner of the node's grid, world space.
        pub corner: Vec3,
        /// From the low byte up: the exponents of the grid's spacing in x, y, z as in an `f32`; which children are nodes.
        pub exponents: u32,
        /// Where its child nodes start among the nodes.
        pub child_base: u32,
        /// Where its primitives start among the primitives.
        pub primitive_base: u32,
        /// Per child: 0 if there is none; `001` and 24 + slot for a node; for primitives their number in unary, and the
        /// first's offset from `primitive_base`.
        pub meta: Bytes8,
        /// Grid planes of the children.
        pub min_x: Bytes8,
        /// See `min_x`.
        pub max_x: Bytes8,
        /// See `min_x`.
        pub min_y: Bytes8,
        /// See `min_x`.
        pub max_y: Bytes8,
        /// See `min_x`.
        pub min_z: Bytes8,
        /// See `min_x`.
        pub max_z: Bytes8,
    }
}

/// A ray made ready for boxes.
#[derive(Clone, Copy, Debug)]
pub struct BoxRay {
    /// The origin, moved along the direction by the slack: where planes are entered from.
    pub entering: Vec3,
    /// The origin, moved against the direction by the slack: where planes are left from.
    pub leaving: Vec3,
    /// Per axis 1 / direction, without infinities.
    pub inverse: Vec3,
    /// Per axis 7 − slot bits: children are visited by slot, those towards the ray's origin first.
    pub octant: u32,
}

/// Children, or primitives, of one node that a ray still has to visit: the highest bit first.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    base: u32,
    /// Bits 24..32: child nodes, by the order of the visit. Bits 0..24: primitives; in a group of nodes `imask`.
    bits: u32,
}

/// `slack` towards where the ray goes along an axis.
#[inline(always)]
pub fn step(direction: f32, slack: f32) -> f32 {
    if direction < 0.0 { -slack } else { slack }
}

/// Per axis 1 / direction, without infinities: at most 2⁴⁰ / the largest.
#[inline(always)]
pub fn inverse(direction: Vec3) -> Vec3 {
    let magnitude = direction.abs();
    let largest = greater(magnitude.x, greater(magnitude.y, magnitude.z));
    let least = largest * (1.0 / 1_099_511_627_776.0);
    let along = |direction: f32, magnitude: f32| {
        let magnitude = greater(magnitude, least);
        1.0 / if direction < 0.0 {
            -magnitude
        } else {
            magnitude
        }
    };
    Vec3::new(
        along(direction.x, magnitude.x),
        along(direction.y, magnitude.y),
        along(direction.z, magnitude.z),
    )
}

/// By how much a ray sees boxes larger. `extent` is the largest coordinate of what is in them.
#[inline(always)]
pub fn slack(origin: Vec3, extent: f32) -> f32 {
    let reach = greater(
        extent,
        greater(origin.x.abs(), greater(origin.y.abs(), origin.z.abs())),
    );
    // Rounding shifts a plane or a hit by some 2⁻²² of the largest coordinate.
    reach * (1.0 / 524_288.0)
}

/// Prepares a ray for `hit_children`.
#[inline(always)]
pub fn box_ray(origin: Vec3, direction: Vec3, slack: f32) -> BoxRay {
    let toward = Vec3::new(
        step(direction.x, slack),
        step(direction.y, slack),
        step(direction.z, slack),
    );
    let octant = u32::from(direction.x >= 0.0) * 4
        + u32::from(direction.y >= 0.0) * 2
        + u32::from(direction.z >= 0.0);
    BoxRay {
        entering: origin + toward,
        leaving: origin - toward,
        inverse: inverse(direction),
        octant,
    }
}

/// Distance from plane to plane of the grid.
#[inline]
pub fn spacing(exponents: u32, axis: u32) -> f32 {
    f32::from_bits(((exponents >> (8 * axis)) & 255) << 23)
}

/// What `plane` adds to: the distance to the grid's corner, less the 1 that every plane's number has, and what this
/// rounds, 2⁻⁷ of a spacing, on the side where the box gets larger. `scale` is 2¹⁵ spacings in distance; `error` is as
/// large, with the sign of that side.
#[inline]
pub fn first_plane(corner: f32, origin: f32, inverse: f32, scale: f32, error: f32) -> f32 {
    error * (1.0 / 4_194_304.0) + ((corner - origin) * inverse - scale)
}

/// Distance to the plane of this number on the grid. The number is put into a float's bits below a 1, which takes no
/// conversion. By one operation in a build for machines that have it: boxes may be seen with any rounding. (Without it
/// `mul_add` is a call.)
#[inline]
pub fn plane(number: u8, scale: f32, first: f32) -> f32 {
    let number = f32::from_bits(0x3f80_0000 | u32::from(number) << 8);
    if cfg!(target_feature = "fma") {
        number.mul_add(scale, first)
    } else {
        number * scale + first
    }
}

/// How far a child's bits are shifted among those of `hit_children`: nodes by the order of the visit.
#[inline]
pub fn shift(meta: u32, octant: u32) -> u32 {
    let slot = meta & 31;
    if slot >= 24 { slot ^ octant } else { slot }
}

/// Which children the ray meets before `distance`. Bits 24..32: child nodes, by the order of the visit; bits 0..24:
/// primitives.
#[inline]
pub fn hit_children(node: &Node, ray: &BoxRay, distance: f32) -> u32 {
    let (dx, dy, dz) = (
        spacing(node.exponents, 0) * 32_768.0 * ray.inverse.x,
        spacing(node.exponents, 1) * 32_768.0 * ray.inverse.y,
        spacing(node.exponents, 2) * 32_768.0 * ray.inverse.z,
    );
    let (corner, entering, leaving) = (node.corner, ray.entering, ray.leaving);
    let enter_x = first_plane(corner.x, entering.x, ray.inverse.x, dx, -dx.abs());
    let enter_y = first_plane(corner.y, entering.y, ray.inverse.y, dy, -dy.abs());
    let enter_z = first_plane(corner.z, entering.z, ray.inverse.z, dz, -dz.abs());
    let leave_x = first_plane(corner.x, leaving.x, ray.inverse.x, dx, dx.abs());
    let leave_y = first_plane(corner.y, leaving.y, ray.inverse.y, dy, dy.abs());
    let leave_z = first_plane(corner.z, leaving.z, ray.inverse.z, dz, dz.abs());
    let (near_x, far_x) = if ray.inverse.x < 0.0 {
        (&node.max_x, &node.min_x)
    } else {
        (&node.min_x, &node.max_x)
    };
    let (near_y, far_y) = if ray.inverse.y < 0.0 {
        (&node.max_y, &node.min_y)
    } else {
        (&node.min_y, &node.max_y)
    };
    let (near_z, far_z) = if ray.inverse.z < 0.0 {
        (&node.max_z, &node.min_z)
    } else {
        (&node.min_z, &node.max_z)
    };

    // Without a branch, so that it becomes vector instructions.
    let met: [bool; 8] = std::array::from_fn(|child| {
        let entered_x = plane(near_x[child], dx, enter_x);
        let entered_y = plane(near_y[child], dy, enter_y);
        let entered_z = plane(near_z[child], dz, enter_z);
        let left_x = plane(far_x[child], dx, leave_x);
        let left_y = plane(far_y[child], dy, leave_y);
        let left_z = plane(far_z[child], dz, leave_z);
        let entered = greater(greater(greater(entered_x, entered_y), entered_z), 0.0);
        let left = lesser(lesser(left_x, left_y), left_z);
        (entered <= left) & (entered <= distance)
    });
    let mut bits = 0;
    for (met, meta) in met.into_iter().zip(node.meta) {
        if met {
            bits |= u32::from(meta >> 5) << shift(u32::from(meta), ray.octant);
        }
    }
    bits
}

/// Offers the primitives of every box that the ray meets before `distance`; `test` returns the distance from then on, a
/// negative one to end the visit.
#[inline]
fn visit(nodes: &[Node], ray: &BoxRay, mut distance: f32, mut test: impl FnMut(u32) -> f32) {
    let mut stack = [Group::default(); STACK_SIZE as usize];
    let mut height = 0;
    // The root is the only child of a node that is not there.
    let mut group = Group {
        base: 0,
        bits: 1 << 31,
    };
    let mut imask = 0;
    loop {
        let bit = 31 - group.bits.leading_zeros();
        group.bits &= !(1 << bit);
        if group.bits >> 24 != 0 {
            stack[height] = group;
            height += 1;
        }
        let slot = (bit - 24) ^ ray.octant;
        let node = &nodes[(group.base + (imask & !(u32::MAX << slot)).count_ones()) as usize];
        let bits = hit_children(node, ray, distance);

        let mut waiting = bits & 0x00ff_ffff;
        while waiting != 0 {
            let offset = waiting.trailing_zeros();
            waiting &= waiting - 1;
            distance = test(node.primitive_base + offset);
            if distance < 0.0 {
                return;
            }
        }

        group = Group {
            base: node.child_base,
            bits: (bits & 0xff00_0000) | (node.exponents >> 24),
        };
        if bits >> 24 == 0 {
            if height == 0 {
                return;
            }
            height -= 1;
            group = stack[height];
        }
        imask = group.bits & 255;
    }
}

/// The ray's nearest hit; its `primitive` is `NO_PRIMITIVE` if there is none.
#[inline]
pub fn nearest(nodes: &[Node], primitives: &[Primitive], extent: f32, ray: &Ray) -> Hit {
    let boxes = box_ray(ray.origin, ray.direction, slack(ray.origin, extent));
    let shear = shear(ray.direction);
    let mut best = Hit {
        distance: f32::MAX,
        primitive: NO_PRIMITIVE,
        u: 0.0,
        v: 0.0,
    };
    visit(nodes, &boxes, best.distance, |position| {
        nearer_hit(primitives, position, ray, &shear, &mut best);
        best.distance
    });
    best
}

/// Whether anything is in the shadow ray's way.
#[inline]
pub fn occluded(nodes: &[Node], primitives: &[Primitive], extent: f32, ray: &ShadowRay) -> bool {
    let boxes = box_ray(ray.origin, ray.direction, slack(ray.origin, extent));
    let shear = shear(ray.direction);
    let mut blocked = false;
    visit(nodes, &boxes, ray.distance, |position| {
        blocked = blocks(primitives, position, ray, &shear);
        // Nothing is nearer than this: the visit ends.
        if blocked { -1.0 } else { ray.distance }
    });
    blocked
}

/// By how much more a ray sees boxes larger above instances: between its own way and those that it takes in their meshes lie
/// the roundings of an inverse. (Maps that stretch much more one way than another make their own boxes larger.)
pub const PLACED_SLACK: f32 = 4.0;

/// What `visit` does, in a tree that leads into the trees of meshes. `test` takes a primitive's position, the instance that
/// it is of, and the ray's origin and shear there.
#[inline]
pub(crate) fn visit_placed(
    scene: &PlacedScene,
    (origin, direction): (Vec3, Vec3),
    mut distance: f32,
    mut test: impl FnMut(u32, u32, Vec3, &Shear) -> f32,
) {
    let slack_above = slack(origin, scene.extent) * PLACED_SLACK;
    let mut stack = [Group::default(); STACK_SIZE as usize];
    let mut height = 0;
    let mut boxes = box_ray(origin, direction, slack_above);
    let mut sheared = shear(direction);
    let mut local = origin;
    let mut instance = NO_INSTANCE;
    // Where the stack stood when the instance was entered.
    let mut floor = 0;
    let mut group = Group {
        base: 0,
        bits: 1 << 31,
    };
    // Primitives that wait, of those from `first` on.
    let mut first = 0;
    let mut waiting = 0;
    loop {
        if group.bits >> 24 != 0 {
            let imask = group.bits & 255;
            let bit = 31 - group.bits.leading_zeros();
            group.bits &= !(1 << bit);
            if group.bits >> 24 != 0 {
                stack[height] = group;
                height += 1;
            }
            let slot = (bit - 24) ^ boxes.octant;
            let below = (imask & !(u32::MAX << slot)).count_ones();
            let node = &scene.nodes[(group.base + below) as usize];
            let bits = hit_children(node, &boxes, distance);
            first = node.primitive_base;
            waiting = bits & 0x00ff_ffff;
            group = Group {
                base: node.child_base,
                bits: (bits & 0xff00_0000) | (node.exponents >> 24),
            };
        }
        while waiting != 0 {
            let position = first + waiting.trailing_zeros();
            waiting &= waiting - 1;
            let primitive = &scene.primitives[position as usize];
            if primitive.kind == INSTANCE {
                if waiting != 0 {
                    stack[height] = Group {
                        base: first,
                        bits: waiting,
                    };
                    height += 1;
                }
                if group.bits >> 24 != 0 {
                    stack[height] = group;
                    height += 1;
                }
                instance = primitive.material;
                floor = height;
                let placed = &scene.instances[instance as usize];
                local = enter(placed, origin - placed.position);
                let inward = enter(placed, direction);
                boxes = box_ray(local, inward, slack(local, placed.extent));
                sheared = shear(inward);
                group = Group {
                    base: placed.root,
                    bits: 1 << 31,
                };
                waiting = 0;
            } else {
                distance = test(position, instance, local, &sheared);
                if distance < 0.0 {
                    return;
                }
            }
        }
        if group.bits >> 24 == 0 {
            if instance != NO_INSTANCE && height == floor {
                boxes = box_ray(origin, direction, slack_above);
                sheared = shear(direction);
                local = origin;
                instance = NO_INSTANCE;
            }
            if height == 0 {
                return;
            }
            height -= 1;
            group = stack[height];
            if group.bits >> 24 == 0 {
                first = group.base;
                waiting = group.bits;
                group.bits = 0;
            }
        }
    }
}

/// What `nearest` does, where there are instances; `from` is the one that the ray leaves.
#[inline(never)]
pub fn nearest_placed(scene: &PlacedScene, ray: &Ray, from: u32) -> PlacedHit {
    let mut best = PlacedHit {
        hit: Hit {
            distance: f32::MAX,
            primitive: NO_PRIMITIVE,
            u: 0.0,
            v: 0.0,
        },
        instance: NO_INSTANCE,
    };
    visit_placed(
        scene,
        (ray.origin, ray.direction),
        f32::MAX,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            nearer_placed_hit(scene.primitives, at, ray, from, shear, &mut best);
            best.hit.distance
        },
    );
    best
}

/// What `occluded` does, where there are instances; `from` and `to` are those that the ray leaves and goes to.
#[inline(never)]
pub fn occluded_placed(scene: &PlacedScene, ray: &ShadowRay, from: u32, to: u32) -> bool {
    let mut blocked = false;
    visit_placed(
        scene,
        (ray.origin, ray.direction),
        ray.distance,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            blocked = placed_blocks(scene.primitives, at, ray, (from, to), shear);
            if blocked { -1.0 } else { ray.distance }
        },
    );
    blocked
}

/// A tree over triangles, spheres and instances, and the trees that those lead into.
#[derive(Clone, Copy)]
pub struct PlacedScene<'a> {
    /// The upper tree first, its root first of all.
    pub nodes: &'a [Node],
    /// In the trees' order.
    pub primitives: &'a [Primitive],
    /// By number.
    pub instances: &'a [Instance],
    /// The largest coordinate of the scene.
    pub extent: f32,
}

/// The tree, and the primitives in its order.
pub struct Tree {
    /// The root first.
    pub nodes: Vec<Node>,
    /// In the order of the leaves.
    pub primitives: Vec<Primitive>,
    /// The largest coordinate of any primitive.
    pub extent: f32,
    /// The most groups that a ray's stack has to hold.
    pub waiting: u32,
}

impl Boundable for Primitive {
    fn aabb(&self) -> Aabb {
        match self.kind {
            SPHERE => {
                let radius = Vec3::splat(self.b.x);
                Aabb::new((self.a - radius).into(), (self.a + radius).into())
            }
            INSTANCE => Aabb::new(self.a.into(), self.b.into()),
            _ => Aabb::from_points(&[self.a.into(), self.b.into(), self.c.into()]),
        }
    }
}

/// The largest coordinate of a primitive.
pub(crate) fn reach(primitive: &Primitive) -> f32 {
    let bounds = primitive.aabb();
    bounds.min.abs().max(bounds.max.abs()).max_element()
}

/// Builds the tree, by all cores; how many there are does not matter to it. `None` if the primitives lie so that more groups
/// than `stack_size` would wait.
pub fn build(primitives: &[Primitive], stack_size: u32) -> Option<Tree> {
    // What lies around one another costs least in a tree that is too deep; without reinsertion it is as deep as passes made it.
    let (Grown { nodes, order }, waiting) = [Reinserted::SOME, Reinserted::NONE]
        .into_iter()
        .map(|reinserted| {
            let grown = parts::build(primitives, reinserted);
            let waiting = most_waiting(&grown.nodes);
            (grown, waiting)
        })
        .find(|&(_, waiting)| waiting <= stack_size)?;
    let extent = primitives.par_iter().map(reach).reduce(|| 0.0, greater);
    let ordered = order
        .par_iter()
        .map(|&index| primitives[index as usize])
        .collect();
    Some(Tree {
        nodes,
        primitives: ordered,
        extent,
        waiting,
    })
}

/// A tree without its primitives.
#[derive(Default)]
pub(crate) struct Grown {
    /// The root first.
    pub(crate) nodes: Vec<Node>,
    /// Numbers of the primitives, in the order of the leaves.
    pub(crate) order: Vec<u32>,
}

impl Grown {
    /// Puts a tree's root at a place that is kept for it, and all else behind what is there.
    pub(crate) fn append(&mut self, other: Grown, place: usize) {
        let (rest, first) = (self.nodes.len() as u32, self.order.len() as u32);
        let mut moved = other.nodes.into_iter().map(|node| Node {
            // The root is not among the others.
            child_base: node.child_base + rest - 1,
            primitive_base: node.primitive_base + first,
            ..node
        });
        self.nodes[place] = moved.next().unwrap_or_default();
        self.nodes.extend(moved);
        self.order.extend(other.order);
    }
}

/// The most groups that wait at once: on a way down, one for each node with child nodes besides the one that is taken.
fn most_waiting(nodes: &[Node]) -> u32 {
    let mut most = 0;
    let mut ways = vec![(0, 0)];
    while let Some((index, waiting)) = ways.pop() {
        most = most.max(waiting);
        let node: &Node = &nodes[index];
        let children = (node.exponents >> 24).count_ones();
        let waiting = waiting + u32::from(children > 1);
        ways.extend((0..children).map(|child| ((node.child_base + child) as usize, waiting)));
    }
    most
}
