//! The bounding volume hierarchy and its traversal. Twin: `kernels/shared/bvh.cuh`.
//!
//! It is a compressed wide BVH (CWBVH: Ylitie, Karras & Laine 2017): nodes of 80 bytes with eight children, whose boxes
//! are quantised to eight bits per plane on a grid of the node. It is collapsed from a binary BVH, see `builder`.
//!
//! The result is the nearest hit by the primitives' own intersection tests; boxes only save work. Every box is enlarged
//! by a `slack` relative to the ray, so that rounding never hides the box that contains the hit.

pub(crate) mod builder;
#[cfg(target_arch = "x86_64")]
pub mod wide;
#[cfg(not(target_arch = "x86_64"))]
#[path = "bvh/narrow.rs"]
pub mod wide;

pub use self::builder::{Tree, build};

use compaction::shared;
use glam::Vec3;

use crate::{
    accel::{
        instance::{
            Instance, InstanceHit, NO_INSTANCE, instance_blocks, nearer_instance_hit, to_object,
        },
        primitive::{Primitive, Shear, blocks, nearer_hit, shear},
    },
    math::{max_f32, min_f32},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// Number of entries of the traversal stack. Building fails for a tree that needs more.
pub const STACK_SIZE: u32 = 32;
/// Bit of [`Node::child_base`]: the node stands for an instance.
pub const INSTANCE_NODE: u32 = 1 << 31;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![STACK_SIZE, INSTANCE_NODE];

/// Eight bytes, one per child of a node.
pub type Bytes8 = [u8; 8];

shared! {
    /// A node of the CWBVH with the quantised boxes of its eight children.
    ///
    /// A node may stand for an instance. Its children are then those of the root of the instance's mesh, in the same
    /// slots, but with boxes in the space of the scene. A ray that misses them all need not enter the instance, and one
    /// that enters it need not visit the root.
    #[repr(align(16))]
    pub struct Node {
        /// Origin of the node's quantisation grid, in the space of the tree.
        pub corner: Vec3,
        /// Bytes from the lowest: biased exponents, as in an `f32`, of the grid spacing in x, y and z; then the bit
        /// mask of children that are nodes (`imask`).
        pub exponents: u32,
        /// Index of the first child node. Child nodes are adjacent, in the order of their slots. The bit
        /// [`INSTANCE_NODE`] is set if the node stands for an instance.
        pub child_base: u32,
        /// Index of the first primitive of the node's leaves. For a node that stands for an instance, the index of the
        /// instance.
        pub primitive_base: u32,
        /// Per child: 0 if the slot is empty. For a node, the bits `001` and 24 + slot. For a leaf, its number of
        /// primitives in unary in the upper three bits, and the offset of the first one from `primitive_base` in the
        /// lower five.
        pub meta: Bytes8,
        /// Grid plane of each child's minimum x.
        pub min_x: Bytes8,
        /// Grid plane of each child's maximum x.
        pub max_x: Bytes8,
        /// Grid plane of each child's minimum y.
        pub min_y: Bytes8,
        /// Grid plane of each child's maximum y.
        pub max_y: Bytes8,
        /// Grid plane of each child's minimum z.
        pub min_z: Bytes8,
        /// Grid plane of each child's maximum z.
        pub max_z: Bytes8,
    }
}

/// A ray prepared for intersection with boxes.
#[derive(Clone, Copy, Debug)]
pub struct BoxRay {
    /// Origin of the ray.
    pub origin: Vec3,
    /// Distance by which boxes are enlarged, in the units of the tree's space, see [`slack`].
    pub slack: f32,
    /// Reciprocal of the direction per axis; finite also where the direction is 0.
    pub inverse: Vec3,
    /// Bits 2, 1 and 0 are set where `inverse` is not negative in x, y and z. Exclusive-or with a slot gives its
    /// priority: children nearer to the origin come first.
    pub octant: u32,
}

/// Children of one node that a ray still has to visit, from the highest bit down.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Index of the first child node.
    base: u32,
    /// Bits 24..32: child nodes to visit, by priority. Bits 0..8: the `imask` of their parent.
    bits: u32,
}

/// Returns the reciprocal of a direction per axis. Components below 2⁻⁴⁰ of the largest are replaced, which avoids
/// infinities. GPUs round it less exactly.
#[inline(always)]
pub fn inverse(direction: Vec3) -> Vec3 {
    let magnitude = direction.abs();
    let largest = max_f32(magnitude.x, max_f32(magnitude.y, magnitude.z));
    let min_magnitude = largest * (1.0 / 1_099_511_627_776.0);
    let along = |direction: f32, magnitude: f32| {
        let magnitude = max_f32(magnitude, min_magnitude);
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

/// Returns the distance by which boxes are enlarged for a ray, in the units of the tree's space: metres, or those of a
/// mesh's object space. `extent` is the largest absolute coordinate of the tree.
#[inline(always)]
pub fn slack(origin: Vec3, extent: f32) -> f32 {
    let reach = max_f32(
        extent,
        max_f32(origin.x.abs(), max_f32(origin.y.abs(), origin.z.abs())),
    );
    // Rounding shifts a plane or a hit by about 2⁻²² of the largest coordinate.
    reach * (1.0 / 524_288.0)
}

/// Prepares a ray for [`hit_children`].
#[inline(always)]
pub fn box_ray(origin: Vec3, direction: Vec3, slack: f32) -> BoxRay {
    let inverse = inverse(direction);
    let bit = |inverse: f32, bit: u32| if inverse < 0.0 { 0 } else { bit };
    BoxRay {
        origin,
        slack,
        inverse,
        octant: bit(inverse.x, 4) + bit(inverse.y, 2) + bit(inverse.z, 1),
    }
}

/// Returns the distance between adjacent planes of a node's grid along `axis`, which is 0, 1 or 2 for x, y or z. The
/// unit is that of the tree's space. `exponents` is [`Node::exponents`].
#[inline]
pub fn spacing(exponents: u32, axis: u32) -> f32 {
    f32::from_bits(((exponents >> (8 * axis)) & 255) << 23)
}

/// Returns the distance along the ray to the grid's corner minus `scale`, which is the addend of [`plane`] without its
/// margin.
///
/// `scale` is the distance along the ray of 2¹⁵ grid spacings; it is subtracted because every encoded plane number
/// contains a 1.
#[inline]
pub fn first_plane(corner: f32, origin: f32, inverse: f32, scale: f32) -> f32 {
    (corner - origin) * inverse - scale
}

/// Returns by how much planes are moved along the ray to enlarge boxes: by the slack, and by 2⁻⁷ of a spacing, because
/// [`first_plane`] is rounded.
#[inline]
pub fn margin(scale: f32, slack: f32, inverse: f32) -> f32 {
    scale.abs() * (1.0 / 4_194_304.0) + slack * inverse.abs()
}

/// Returns the distance along the ray to a grid plane, 0..=255.
///
/// The number is put into the mantissa of a float that is at least 1, which is faster than a conversion. Builds for FMA
/// use one operation, because boxes may be tested with any rounding; without FMA `mul_add` would be a function call.
#[inline]
pub fn plane(number: u8, scale: f32, first: f32) -> f32 {
    let number = f32::from_bits(0x3f80_0000 | u32::from(number) << 8);
    if cfg!(target_feature = "fma") {
        number.mul_add(scale, first)
    } else {
        number * scale + first
    }
}

/// Returns the bit position of a child in the result of [`hit_children`]. For a node it depends on the priority of its
/// slot.
#[inline]
pub fn shift(meta: u32, octant: u32) -> u32 {
    let slot = meta & 31;
    if slot >= 24 { slot ^ octant } else { slot }
}

/// Returns the children whose boxes the ray enters before `distance`, as bits.
///
/// Bits 24..32 are child nodes by priority, bits 0..24 primitives relative to `primitive_base`.
#[inline]
pub fn hit_children(node: &Node, ray: &BoxRay, distance: f32) -> u32 {
    let (dx, dy, dz) = (
        spacing(node.exponents, 0) * 32_768.0 * ray.inverse.x,
        spacing(node.exponents, 1) * 32_768.0 * ray.inverse.y,
        spacing(node.exponents, 2) * 32_768.0 * ray.inverse.z,
    );
    let (corner, origin, inverse) = (node.corner, ray.origin, ray.inverse);
    let first_x = first_plane(corner.x, origin.x, inverse.x, dx);
    let first_y = first_plane(corner.y, origin.y, inverse.y, dy);
    let first_z = first_plane(corner.z, origin.z, inverse.z, dz);
    let margin_x = margin(dx, ray.slack, inverse.x);
    let margin_y = margin(dy, ray.slack, inverse.y);
    let margin_z = margin(dz, ray.slack, inverse.z);
    let (enter_x, leave_x) = (first_x - margin_x, first_x + margin_x);
    let (enter_y, leave_y) = (first_y - margin_y, first_y + margin_y);
    let (enter_z, leave_z) = (first_z - margin_z, first_z + margin_z);
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

    // Without branches, so that the compiler vectorises it.
    let met: [bool; 8] = std::array::from_fn(|child| {
        let entered_x = plane(near_x[child], dx, enter_x);
        let entered_y = plane(near_y[child], dy, enter_y);
        let entered_z = plane(near_z[child], dz, enter_z);
        let left_x = plane(far_x[child], dx, leave_x);
        let left_y = plane(far_y[child], dy, leave_y);
        let left_z = plane(far_z[child], dz, leave_z);
        let entered = max_f32(max_f32(max_f32(entered_x, entered_y), entered_z), 0.0);
        let left = min_f32(min_f32(left_x, left_y), left_z);
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

/// Traverses the tree and calls `test` with the index of each primitive whose leaf box the ray enters before
/// `distance`.
///
/// `test` returns the maximum distance from then on; a negative one ends the traversal.
#[inline]
fn visit(nodes: &[Node], ray: &BoxRay, mut distance: f32, mut test: impl FnMut(u32) -> f32) {
    let mut stack = [Group::default(); STACK_SIZE as usize];
    let mut height = 0;
    // The root is treated as the only child of a virtual node.
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

/// Returns the ray's nearest hit; its `primitive` is `NO_PRIMITIVE` if there is none.
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

/// Returns whether any primitive blocks a shadow ray.
#[inline]
pub fn occluded(nodes: &[Node], primitives: &[Primitive], extent: f32, ray: &ShadowRay) -> bool {
    let boxes = box_ray(ray.origin, ray.direction, slack(ray.origin, extent));
    let shear = shear(ray.direction);
    let mut blocked = false;
    visit(nodes, &boxes, ray.distance, |position| {
        blocked = blocks(primitives, position, ray, &shear);
        // A negative distance ends the traversal.
        if blocked { -1.0 } else { ray.distance }
    });
    blocked
}

/// Factor of the slack in a tree above instances, which covers the rounding of an instance's inverse transform. Very
/// anisotropic transforms enlarge their own boxes instead.
pub const INSTANCED_SLACK: f32 = 4.0;
/// Real numbers that kernels use under the same names.
pub(crate) const NUMBERS: &[(&str, f32)] = named![INSTANCED_SLACK];

/// Returns the bits of a group of nodes after the octant of the ray has changed, by exclusive-or with `change`. Each
/// child node moves to the bit of its new priority.
#[inline]
pub fn change_octant(bits: u32, change: u32) -> u32 {
    let mut nodes = bits >> 24;
    if change & 1 != 0 {
        nodes = (nodes & 0x55) << 1 | (nodes >> 1) & 0x55;
    }
    if change & 2 != 0 {
        nodes = (nodes & 0x33) << 2 | (nodes >> 2) & 0x33;
    }
    if change & 4 != 0 {
        nodes = (nodes & 0x0f) << 4 | nodes >> 4;
    }
    nodes << 24 | bits & 0x00ff_ffff
}

/// Traverses the tree of a scene and the trees of the instances in it, and calls `test` for each primitive whose leaf
/// box the ray enters before `distance`.
///
/// `test` receives the primitive's index, its instance or `NO_INSTANCE`, and the ray's origin and shear transform in
/// the object space of that instance. It returns the maximum distance from then on; a negative one ends the traversal.
#[inline]
pub(crate) fn visit_instanced(
    scene: &InstancedScene,
    (origin, direction): (Vec3, Vec3),
    mut distance: f32,
    mut test: impl FnMut(u32, u32, Vec3, &Shear) -> f32,
) {
    let mut stack = [Group::default(); STACK_SIZE as usize];
    let mut height = 0;
    let slack_above = slack(origin, scene.extent) * INSTANCED_SLACK;
    let (boxes_above, sheared_above) = (box_ray(origin, direction, slack_above), shear(direction));
    let (mut boxes, mut sheared) = (boxes_above, sheared_above);
    let mut instance = NO_INSTANCE;
    // Height of the stack when the current instance was entered.
    let mut floor = 0;
    let mut group = Group {
        base: 0,
        bits: 1 << 31,
    };
    loop {
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
        let mut first = node.primitive_base;
        let mut waiting = bits & 0x00ff_ffff;
        group = Group {
            base: node.child_base & !INSTANCE_NODE,
            bits: (bits & 0xff00_0000) | (node.exponents >> 24),
        };
        if node.child_base & INSTANCE_NODE != 0 && bits != 0 {
            instance = node.primitive_base;
            floor = height;
            let mesh_instance = &scene.instances[instance as usize];
            let local = to_object(mesh_instance, origin - mesh_instance.position);
            let inward = to_object(mesh_instance, direction);
            boxes = box_ray(local, inward, slack(local, mesh_instance.extent));
            sheared = shear(inward);
            group.bits = change_octant(group.bits, boxes_above.octant ^ boxes.octant);
            first = scene.nodes[mesh_instance.root as usize].primitive_base;
        }
        while waiting != 0 {
            let position = first + waiting.trailing_zeros();
            waiting &= waiting - 1;
            distance = test(position, instance, boxes.origin, &sheared);
            if distance < 0.0 {
                return;
            }
        }
        if group.bits >> 24 == 0 {
            if instance != NO_INSTANCE && height == floor {
                (boxes, sheared) = (boxes_above, sheared_above);
                instance = NO_INSTANCE;
            }
            if height == 0 {
                return;
            }
            height -= 1;
            group = stack[height];
        }
    }
}

/// Returns the ray's nearest hit in a scene with instances; its primitive is `NO_PRIMITIVE` if there is none. `from` is
/// the index of the instance that the ray leaves, or `NO_INSTANCE`.
#[inline(never)]
pub fn nearest_instanced(scene: &InstancedScene, ray: &Ray, from: u32) -> InstanceHit {
    let mut best = InstanceHit::none_within(f32::MAX);
    visit_instanced(
        scene,
        (ray.origin, ray.direction),
        f32::MAX,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            nearer_instance_hit(scene.primitives, at, ray, from, shear, &mut best);
            best.hit.distance
        },
    );
    best
}

/// Returns whether anything blocks a shadow ray in a scene with instances. `from` and `to` are the indices of the
/// instances that the ray leaves and goes to, or `NO_INSTANCE`.
#[inline(never)]
pub fn occluded_instanced(scene: &InstancedScene, ray: &ShadowRay, from: u32, to: u32) -> bool {
    let mut blocked = false;
    visit_instanced(
        scene,
        (ray.origin, ray.direction),
        ray.distance,
        |position, instance, origin, shear| {
            let at = (position, instance, origin);
            blocked = instance_blocks(scene.primitives, at, ray, (from, to), shear);
            if blocked { -1.0 } else { ray.distance }
        },
    );
    blocked
}

/// A scene with instances as traversal reads it: a tree over triangles, spheres and instances, and the trees of meshes.
#[derive(Clone, Copy)]
pub struct InstancedScene<'a> {
    /// Nodes of all trees, that of the scene first. Its root is node 0.
    pub nodes: &'a [Node],
    /// Primitives in the order of the leaves.
    pub primitives: &'a [Primitive],
    /// Instances, by index.
    pub instances: &'a [Instance],
    /// Largest absolute coordinate of the scene in metres, which determines the slack.
    pub extent: f32,
}
