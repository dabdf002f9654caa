//! The tree as a processor with vectors of eight reads it: a ray against eight boxes at once, and against eight triangles.
//!
//! Made from the nodes of [`bvh`](crate::bvh), whose leaves are put together to packets of up to eight primitives and
//! whose nodes are filled up again from below. Boxes are the primitives' own, in `f32`. What is accepted is the twin's to
//! the last bit: triangles are tested by the same operations in the same order, eight side by side, and spheres by the
//! very function.

use bytemuck::{Zeroable, cast};
use glam::Vec3;
use obvhs::Boundable;
use pulp::{f32x8, m32x8, u32x8, x86::V3};

use crate::{
    bvh::{Node, box_ray, slack},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{
        Primitive, Shear, TRIANGLE, blocks, difference_of_products, nearer_hit, shear, turn,
    },
};

/// In a child's word: it is a packet, whose number the lower bits are.
const PACKET: u32 = 1 << 31;
/// Besides: its primitives are no triangles.
const OTHERS: u32 = 1 << 30;
/// By which part of their areas the common box of two packets may be larger than both.
const SPREAD: f32 = 0.5;
/// Lanes of a vector.
const LANES: usize = 8;
/// Rays that are made ready at once.
const PREPARED: usize = 32;

/// Eight boxes, each of a child. A ray that is no numbers meets all that there are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct WideNode {
    /// Least x, y, z, then largest x, y, z; two that are not used, so that any three bits are a plane's number.
    planes: [f32x8; 8],
    /// Number of a node, or see `PACKET`.
    children: [u32; LANES],
    /// A bit for each lane that has a child.
    held: u32,
}

/// Up to eight primitives; in lanes that lack the first stands once more.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Packet {
    /// Of triangles x, y, z of each vertex.
    corners: [[f32x8; 3]; 3],
    /// Among the primitives.
    positions: u32x8,
}

/// The tree.
pub struct Wide {
    simd: V3,
    nodes: Vec<WideNode>,
    packets: Vec<Packet>,
    extent: f32,
    /// Children that wait at most.
    waiting: usize,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        low: Vec3::INFINITY,
        high: Vec3::NEG_INFINITY,
    };

    fn of(primitive: &Primitive) -> Bounds {
        let bounds = primitive.aabb();
        Bounds {
            low: bounds.min.into(),
            high: bounds.max.into(),
        }
    }

    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    fn area(self) -> f32 {
        let size = self.high - self.low;
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

/// What becomes a child.
#[derive(Clone, Copy)]
enum Part {
    /// The parts of this node of the tree that it is made from.
    Node(u32),
    /// Primitives.
    Packet {
        positions: [u32; LANES],
        count: u8,
        triangles: bool,
    },
}

type Parts = Vec<(Bounds, Part)>;

impl Wide {
    /// The tree of these nodes, the root first, over triangles and spheres: those of [`bvh::build`](crate::bvh::build), with
    /// its `extent`. `None` if the processor has no vectors of eight.
    pub fn new(nodes: &[Node], primitives: &[Primitive], extent: f32) -> Option<Wide> {
        let simd = V3::try_new()?;
        let mut wide = Wide {
            simd,
            nodes: Vec::new(),
            packets: Vec::new(),
            extent,
            waiting: 0,
        };
        let parts = gathered(nodes, primitives)?;
        wide.lay_out(parts, primitives);
        Some(wide)
    }

    fn lay_out(&mut self, parts: Vec<Parts>, primitives: &[Primitive]) {
        self.nodes.push(WideNode::EMPTY);
        // Parts that become nodes, where, and how many children wait on the way there.
        let mut ways = vec![(0, 0, 0)];
        while let Some((from, to, waiting)) = ways.pop() {
            let waiting: usize = waiting + parts[from].len();
            self.waiting = self.waiting.max(waiting);
            let mut node = WideNode::EMPTY;
            for (slot, &(bounds, part)) in parts[from].iter().enumerate() {
                node.held |= 1 << slot;
                node.children[slot] = match part {
                    Part::Node(from) => {
                        let to = self.nodes.len();
                        self.nodes.push(WideNode::EMPTY);
                        ways.push((from as usize, to, waiting));
                        to as u32
                    }
                    Part::Packet {
                        positions,
                        triangles,
                        ..
                    } => {
                        let number = self.packets.len() as u32;
                        self.packets.push(Packet::new(positions, primitives));
                        PACKET | if triangles { 0 } else { OTHERS } | number
                    }
                };
                for axis in 0..3 {
                    let [low, high] = [axis, axis + 3];
                    set(&mut node.planes[low], slot, bounds.low[axis]);
                    set(&mut node.planes[high], slot, bounds.high[axis]);
                }
            }
            self.nodes[to] = node;
        }
    }

    /// Tells of the rays at each of these places what [`bvh::nearest`](crate::bvh::nearest) finds.
    pub fn each_nearest(
        &self,
        primitives: &[Primitive],
        rays: &[Ray],
        places: impl Iterator<Item = usize>,
        mut tell: impl FnMut(usize, Hit),
    ) {
        self.simd.vectorize(
            #[inline(always)]
            || {
                self.each_prepared(
                    places,
                    #[inline(always)]
                    |place| (rays[place].origin, rays[place].direction),
                    #[inline(always)]
                    |place, prepared, stack| {
                        tell(
                            place,
                            self.nearest(stack, primitives, &rays[place], prepared),
                        );
                    },
                );
            },
        );
    }

    /// Tells of the rays at each of these places what [`bvh::occluded`](crate::bvh::occluded) finds.
    pub fn each_occluded(
        &self,
        primitives: &[Primitive],
        rays: &[ShadowRay],
        places: impl Iterator<Item = usize>,
        mut tell: impl FnMut(usize, bool),
    ) {
        self.simd.vectorize(
            #[inline(always)]
            || {
                self.each_prepared(
                    places,
                    #[inline(always)]
                    |place| (rays[place].origin, rays[place].direction),
                    #[inline(always)]
                    |place, prepared, stack| {
                        tell(
                            place,
                            self.occluded(stack, primitives, &rays[place], prepared),
                        );
                    },
                );
            },
        );
    }

    /// Makes rays ready, some at once, and has each traced.
    #[inline(always)]
    fn each_prepared(
        &self,
        mut places: impl Iterator<Item = usize>,
        ray: impl Fn(usize) -> (Vec3, Vec3),
        mut trace: impl FnMut(usize, &Prepared, &mut [u64]),
    ) {
        let mut stack = vec![0; self.waiting + 1];
        let mut taken = [0; PREPARED];
        let (mut origins, mut directions) = ([[0.0; PREPARED]; 3], [[0.0; PREPARED]; 3]);
        let mut prepared = [Prepared::default(); PREPARED];
        loop {
            let mut count = 0;
            for (at, place) in taken.iter_mut().zip(&mut places) {
                let (origin, direction) = ray(place);
                *at = place;
                for axis in 0..3 {
                    origins[axis][count] = origin[axis];
                    directions[axis][count] = direction[axis];
                }
                count += 1;
            }
            if count == 0 {
                return;
            }
            // All of them, that the compiler makes vector instructions of it.
            for (at, prepared) in prepared.iter_mut().enumerate() {
                let [x, y, z] = [0, 1, 2].map(|axis| origins[axis][at]);
                let origin = Vec3::new(x, y, z);
                let [x, y, z] = [0, 1, 2].map(|axis| directions[axis][at]);
                *prepared = Prepared::new(origin, Vec3::new(x, y, z), self.extent);
            }
            for (&place, prepared) in taken[..count].iter().zip(&prepared) {
                trace(place, prepared, &mut stack);
            }
        }
    }

    #[inline(always)]
    fn nearest(
        &self,
        stack: &mut [u64],
        primitives: &[Primitive],
        ray: &Ray,
        prepared: &Prepared,
    ) -> Hit {
        let wide = WideRay::new(self.simd, prepared, ray.from);
        let mut best = Hit {
            distance: f32::MAX,
            primitive: NO_PRIMITIVE,
            u: 0.0,
            v: 0.0,
        };
        self.visit(
            stack,
            &wide,
            f32::MAX,
            #[inline(always)]
            |child| {
                let packet = &self.packets[(child & !(PACKET | OTHERS)) as usize];
                if child & OTHERS == 0 {
                    wide.nearer_hits(packet, primitives, &mut best);
                } else {
                    for &position in lanes(&packet.positions) {
                        nearer_hit(primitives, position, ray, &prepared.shear, &mut best);
                    }
                }
                best.distance
            },
        );
        best
    }

    #[inline(always)]
    fn occluded(
        &self,
        stack: &mut [u64],
        primitives: &[Primitive],
        ray: &ShadowRay,
        prepared: &Prepared,
    ) -> bool {
        let wide = WideRay::new(self.simd, prepared, ray.from);
        let mut blocked = false;
        self.visit(
            stack,
            &wide,
            ray.distance,
            #[inline(always)]
            |child| {
                let packet = &self.packets[(child & !(PACKET | OTHERS)) as usize];
                blocked = if child & OTHERS == 0 {
                    wide.any_blocks(packet, ray)
                } else {
                    lanes(&packet.positions)
                        .iter()
                        .any(|&position| blocks(primitives, position, ray, &prepared.shear))
                };
                if blocked { -1.0 } else { ray.distance }
            },
        );
        blocked
    }

    /// Offers the packets of every box that the ray meets before `distance`, the nearest first; `test` returns the distance
    /// from then on, a negative one to end the visit.
    #[inline(always)]
    fn visit(
        &self,
        stack: &mut [u64],
        ray: &WideRay,
        mut distance: f32,
        mut test: impl FnMut(u32) -> f32,
    ) {
        let mut height = 0;
        let mut child = 0;
        loop {
            if child & PACKET != 0 {
                distance = test(child);
                if distance < 0.0 {
                    return;
                }
            } else {
                let node = &self.nodes[child as usize];
                let (mut met, entered) = ray.met(node, distance);
                if met != 0 {
                    let slot = met.trailing_zeros() as usize & 7;
                    met &= met - 1;
                    child = node.children[slot];
                    if met == 0 {
                        continue;
                    }
                    let key = |slot: usize| {
                        u64::from(entered[slot].to_bits()) << 32 | u64::from(node.children[slot])
                    };
                    let mut nearest = key(slot);
                    let floor = height;
                    while met != 0 {
                        let slot = met.trailing_zeros() as usize & 7;
                        met &= met - 1;
                        let mut further = key(slot);
                        if further < nearest {
                            std::mem::swap(&mut further, &mut nearest);
                        }
                        let mut at = height;
                        while at > floor && stack[at - 1] < further {
                            stack[at] = stack[at - 1];
                            at -= 1;
                        }
                        stack[at] = further;
                        height += 1;
                    }
                    child = nearest as u32;
                    continue;
                }
            }
            loop {
                if height == 0 {
                    return;
                }
                height -= 1;
                let entered = f32::from_bits((stack[height] >> 32) as u32);
                if entered <= distance {
                    child = stack[height] as u32;
                    break;
                }
            }
        }
    }
}

impl WideNode {
    /// No ray meets any of these.
    const EMPTY: WideNode = WideNode {
        planes: {
            const HIGH: f32x8 = splat(f32::INFINITY);
            const LOW: f32x8 = splat(f32::NEG_INFINITY);
            [HIGH, HIGH, HIGH, LOW, LOW, LOW, HIGH, HIGH]
        },
        children: [0; LANES],
        held: 0,
    };
}

const fn splat(x: f32) -> f32x8 {
    f32x8(x, x, x, x, x, x, x, x)
}

fn set(vector: &mut f32x8, lane: usize, value: f32) {
    let mut lanes: [f32; LANES] = cast(*vector);
    lanes[lane] = value;
    *vector = cast(lanes);
}

#[inline(always)]
fn lanes(vector: &u32x8) -> &[u32; LANES] {
    bytemuck::cast_ref(vector)
}

impl Packet {
    fn new(positions: [u32; LANES], primitives: &[Primitive]) -> Packet {
        let mut packet = Packet {
            corners: [[f32x8::zeroed(); 3]; 3],
            positions: cast(positions),
        };
        for (lane, position) in positions.into_iter().enumerate() {
            let Primitive { a, b, c, .. } = primitives[position as usize];
            for (corner, vertex) in packet.corners.iter_mut().zip([a, b, c]) {
                for (axis, along) in corner.iter_mut().enumerate() {
                    set(along, lane, vertex[axis]);
                }
            }
        }
        packet
    }
}

/// Eight numbers, each with the operations of an `f32`.
#[derive(Clone, Copy)]
struct Eight(V3, f32x8);

macro_rules! operation {
    ($($trait:ident $name:ident $by:ident),*) => {$(
        impl std::ops::$trait for Eight {
            type Output = Eight;

            #[inline(always)]
            fn $name(self, other: Eight) -> Eight {
                Eight(self.0, self.0.$by(self.1, other.1))
            }
        }
    )*};
}

operation!(Add add add_f32x8, Sub sub sub_f32x8, Mul mul mul_f32x8, Div div div_f32x8);

macro_rules! comparison {
    ($($name:ident $by:ident),*) => {$(
        #[inline(always)]
        fn $name(self, other: Eight) -> u32 {
            mask(self.0, self.0.$by(self.1, other.1))
        }
    )*};
}

impl Eight {
    comparison!(equals cmp_eq_f32x8, below cmp_lt_f32x8, up_to cmp_le_f32x8);

    /// The smaller of two; the second if they do not compare.
    #[inline(always)]
    fn lesser(self, other: Eight) -> Eight {
        Eight(self.0, self.0.min_f32x8(self.1, other.1))
    }

    /// The larger of two; the second if they do not compare.
    #[inline(always)]
    fn greater(self, other: Eight) -> Eight {
        Eight(self.0, self.0.max_f32x8(self.1, other.1))
    }

    #[inline(always)]
    fn times_plus(self, factor: Eight, summand: Eight) -> Eight {
        Eight(self.0, self.0.mul_add_f32x8(self.1, factor.1, summand.1))
    }

    #[inline(always)]
    fn array(self) -> [f32; LANES] {
        cast(self.1)
    }
}

/// A bit for each lane.
#[inline(always)]
fn mask(simd: V3, lanes: m32x8) -> u32 {
    simd.avx._mm256_movemask_ps(cast(lanes)) as u32
}

/// A ray made ready.
#[derive(Clone, Copy)]
struct Prepared {
    inverse: Vec3,
    /// − where planes are entered from, times `inverse`.
    enters: Vec3,
    /// The same of where they are left from.
    leaves: Vec3,
    shear: Shear,
    /// Its origin, turned as the shear says.
    origin: Vec3,
}

impl Default for Prepared {
    fn default() -> Prepared {
        Prepared::new(Vec3::ZERO, Vec3::Z, 0.0)
    }
}

impl Prepared {
    #[inline(always)]
    fn new(origin: Vec3, direction: Vec3, extent: f32) -> Prepared {
        let boxes = box_ray(origin, direction, slack(origin, extent));
        let shear = shear(direction);
        Prepared {
            inverse: boxes.inverse,
            enters: -(boxes.entering * boxes.inverse),
            leaves: -(boxes.leaving * boxes.inverse),
            shear,
            origin: turn(origin, shear.axis),
        }
    }
}

/// A ray in all lanes.
struct WideRay {
    simd: V3,
    /// Which of a node's planes it enters by, per axis.
    near: [usize; 3],
    inverse: [Eight; 3],
    enters: [Eight; 3],
    leaves: [Eight; 3],
    /// Axes of the shear.
    axes: [usize; 3],
    origin: [Eight; 3],
    shears: [Eight; 3],
    from: u32x8,
}

impl WideRay {
    #[inline(always)]
    fn new(simd: V3, prepared: &Prepared, from: u32) -> WideRay {
        let Prepared { inverse, shear, .. } = prepared;
        let sign = |x: f32| (x < 0.0) as usize;
        WideRay {
            simd,
            near: [
                3 * sign(inverse.x),
                1 + 3 * sign(inverse.y),
                2 + 3 * sign(inverse.z),
            ],
            inverse: all(simd, *inverse),
            enters: all(simd, prepared.enters),
            leaves: all(simd, prepared.leaves),
            axes: AXES[shear.axis as usize & 3],
            origin: all(simd, prepared.origin),
            shears: all(simd, Vec3::new(shear.x, shear.y, shear.z)),
            from: simd.splat_u32x8(from),
        }
    }

    /// Which children it meets before `distance`, and where it enters them.
    #[inline(always)]
    fn met(&self, node: &WideNode, distance: f32) -> (u32, [f32; LANES]) {
        let [near_x, near_y, near_z] = self.near;
        let entered_x = self.plane(node, near_x, self.inverse[0], self.enters[0]);
        let entered_y = self.plane(node, near_y, self.inverse[1], self.enters[1]);
        let entered_z = self.plane(node, near_z, self.inverse[2], self.enters[2]);
        let left_x = self.plane(node, 3 - near_x, self.inverse[0], self.leaves[0]);
        let left_y = self.plane(node, 5 - near_y, self.inverse[1], self.leaves[1]);
        let left_z = self.plane(node, 7 - near_z, self.inverse[2], self.leaves[2]);
        // What is no number comes first, where it counts for nothing.
        let entered = entered_x
            .greater(entered_y)
            .greater(entered_z.greater(self.splat(0.0)));
        let left = left_x
            .lesser(left_y)
            .lesser(left_z.lesser(self.splat(distance)));
        (entered.up_to(left) & node.held, entered.array())
    }

    #[inline(always)]
    fn plane(&self, node: &WideNode, plane: usize, inverse: Eight, first: Eight) -> Eight {
        Eight(self.simd, node.planes[plane & 7]).times_plus(inverse, first)
    }

    #[inline(always)]
    fn splat(&self, x: f32) -> Eight {
        Eight(self.simd, self.simd.splat_f32x8(x))
    }

    /// A triangle's corner as of `hit_triangle`.
    #[inline(always)]
    fn corner(&self, corner: &[f32x8; 3]) -> (Eight, Eight, Eight) {
        let [shear_x, shear_y, _] = self.shears;
        let x = Eight(self.simd, corner[self.axes[0]]) - self.origin[0];
        let y = Eight(self.simd, corner[self.axes[1]]) - self.origin[1];
        let z = Eight(self.simd, corner[self.axes[2]]) - self.origin[2];
        (x - shear_x * z, y - shear_y * z, z)
    }

    /// What `hit_triangle` finds of each: which are hit in front of the ray, no further than `distance`; the distances, and
    /// the weights of the second and third corner.
    #[inline(always)]
    fn hit_triangles(&self, packet: &Packet, distance: f32) -> (u32, [Eight; 3]) {
        let zero = self.splat(0.0);
        let (ax, ay, az) = self.corner(&packet.corners[0]);
        let (bx, by, bz) = self.corner(&packet.corners[1]);
        let (cx, cy, cz) = self.corner(&packet.corners[2]);
        let mut u = cx * by - cy * bx;
        let mut v = ax * cy - ay * cx;
        let mut w = bx * ay - by * ax;
        let on_edge = u.equals(zero) | v.equals(zero) | w.equals(zero);
        if on_edge != 0 {
            (u, v, w) = on_edges(on_edge, [(ax, ay), (bx, by), (cx, cy)], (u, v, w));
        }
        // Where any of them is no number, neither is the distance.
        let least = u.lesser(v).lesser(w);
        let most = u.greater(v).greater(w);
        let inside = !(least.below(zero) & zero.below(most)) & 255;
        if inside == 0 {
            return (0, [zero; 3]);
        }
        let determinant = u + v + w;
        let inverse = self.splat(1.0) / determinant;
        let along = (u * az + v * bz + w * cz) * self.shears[2] * inverse;
        let ahead = zero.below(along) & along.up_to(self.splat(distance));
        let left = mask(
            self.simd,
            self.simd.cmp_eq_u32x8(packet.positions, self.from),
        );
        (
            inside & ahead & !determinant.equals(zero) & !left,
            [along, v * inverse, w * inverse],
        )
    }

    /// What `nearer_hit` does with each.
    #[inline(always)]
    fn nearer_hits(&self, packet: &Packet, primitives: &[Primitive], best: &mut Hit) {
        let (mut hit, [distances, us, vs]) = self.hit_triangles(packet, best.distance);
        if hit == 0 {
            return;
        }
        let (distances, us, vs) = (distances.array(), us.array(), vs.array());
        while hit != 0 {
            let lane = hit.trailing_zeros() as usize & 7;
            hit &= hit - 1;
            let (distance, position) = (distances[lane], lanes(&packet.positions)[lane]);
            if distance > best.distance {
                continue;
            }
            let tie = distance == best.distance && best.primitive != NO_PRIMITIVE;
            let number = |position: u32| primitives[position as usize].number;
            if tie && number(position) > number(best.primitive) {
                continue;
            }
            *best = Hit {
                distance,
                primitive: position,
                u: us[lane],
                v: vs[lane],
            };
        }
    }

    /// Whether `blocks` is true of any.
    #[inline(always)]
    fn any_blocks(&self, packet: &Packet, ray: &ShadowRay) -> bool {
        let (hit, [along, ..]) = self.hit_triangles(packet, ray.distance);
        if hit == 0 {
            return false;
        }
        let to = self.simd.splat_u32x8(ray.to);
        let to = mask(self.simd, self.simd.cmp_eq_u32x8(packet.positions, to));
        hit & along.below(self.splat(ray.distance)) & !to != 0
    }
}

/// As `turn` turns them.
const AXES: [[usize; 3]; 4] = [[1, 2, 0], [2, 0, 1], [0, 1, 2], [0, 1, 2]];

#[inline(always)]
fn all(simd: V3, v: Vec3) -> [Eight; 3] {
    [
        Eight(simd, simd.splat_f32x8(v.x)),
        Eight(simd, simd.splat_f32x8(v.y)),
        Eight(simd, simd.splat_f32x8(v.z)),
    ]
}

/// Of lanes where a product of `hit_triangle` is 0: all of them anew, of double precision.
#[cold]
#[inline(never)]
fn on_edges(
    on_edge: u32,
    corners: [(Eight, Eight); 3],
    (u, v, w): (Eight, Eight, Eight),
) -> (Eight, Eight, Eight) {
    let [(ax, ay), (bx, by), (cx, cy)] = corners.map(|(x, y)| (x.array(), y.array()));
    let simd = u.0;
    let (mut u, mut v, mut w) = (u.array(), v.array(), w.array());
    for lane in (0..LANES).filter(|lane| on_edge >> lane & 1 == 1) {
        u[lane] = difference_of_products(cx[lane], by[lane], cy[lane], bx[lane]);
        v[lane] = difference_of_products(ax[lane], cy[lane], ay[lane], cx[lane]);
        w[lane] = difference_of_products(bx[lane], ay[lane], by[lane], ax[lane]);
    }
    (
        Eight(simd, cast(u)),
        Eight(simd, cast(v)),
        Eight(simd, cast(w)),
    )
}

/// For each node the parts that it becomes a node of: its leaves put together where that costs less, and children opened,
/// the largest first, while there is room.
fn gathered(nodes: &[Node], primitives: &[Primitive]) -> Option<Vec<Parts>> {
    let mut all: Vec<Parts> = vec![Parts::new(); nodes.len()];
    let mut bounds = vec![Bounds::NONE; nodes.len()];
    for index in (0..nodes.len()).rev() {
        let node = &nodes[index];
        let imask = node.exponents >> 24;
        let mut parts = Parts::new();
        for (slot, meta) in node.meta.into_iter().enumerate() {
            let meta = u32::from(meta);
            if imask >> slot & 1 == 1 {
                let rank = (imask & ((1 << slot) - 1)).count_ones();
                let child = (node.child_base + rank) as usize;
                // Children stand behind their parents.
                if child <= index || child >= nodes.len() {
                    return None;
                }
                match all[child][..] {
                    [only] => parts.push(only),
                    _ => parts.push((bounds[child], Part::Node(child as u32))),
                }
            } else {
                let first = node.primitive_base + (meta & 31);
                let count = (meta >> 5).count_ones();
                if count == 0 {
                    continue;
                }
                let mut leaf = (
                    Bounds::NONE,
                    Part::Packet {
                        positions: [first; LANES],
                        count: count as u8,
                        triangles: true,
                    },
                );
                for offset in 0..count {
                    let primitive = &primitives[(first + offset) as usize];
                    leaf.0 = leaf.0.union(Bounds::of(primitive));
                    if let Part::Packet {
                        positions,
                        triangles,
                        ..
                    } = &mut leaf.1
                    {
                        positions[offset as usize] = first + offset;
                        *triangles &= primitive.kind == TRIANGLE;
                    }
                }
                parts.push(leaf);
            }
        }
        put_together(&mut parts);
        open(&mut parts, &all);
        bounds[index] = parts
            .iter()
            .fold(Bounds::NONE, |bounds, &(part, _)| bounds.union(part));
        all[index] = parts;
    }
    Some(all)
}

/// Puts packets together, those first whose common box is least larger than both: a packet costs the same whether it is
/// full or not, and a ray meets a box by its area.
fn put_together(parts: &mut Parts) {
    loop {
        let mut best: Option<(f32, usize, usize)> = None;
        for second in 1..parts.len() {
            for first in 0..second {
                let Some(_) = joined(&parts[first].1, &parts[second].1) else {
                    continue;
                };
                let (a, b) = (parts[first].0, parts[second].0);
                let growth = a.union(b).area() - a.area() - b.area();
                if best.is_none_or(|(least, ..)| growth < least) {
                    best = Some((growth, first, second));
                }
            }
        }
        let Some((growth, first, second)) = best else {
            return;
        };
        if growth > SPREAD * (parts[first].0.area() + parts[second].0.area()) {
            return;
        }
        let (bounds, part) = parts.swap_remove(second);
        if let Some(joined) = joined(&parts[first].1, &part) {
            parts[first] = (parts[first].0.union(bounds), joined);
        }
    }
}

fn joined(a: &Part, b: &Part) -> Option<Part> {
    let (
        &Part::Packet {
            mut positions,
            count,
            triangles,
        },
        &Part::Packet {
            positions: added,
            count: more,
            triangles: too,
        },
    ) = (a, b)
    else {
        return None;
    };
    if triangles != too || usize::from(count + more) > LANES {
        return None;
    }
    let (first, end) = (usize::from(count), usize::from(count + more));
    positions[first..end].copy_from_slice(&added[..end - first]);
    Some(Part::Packet {
        positions,
        count: count + more,
        triangles,
    })
}

/// Puts the parts of a child in its place, of the largest that fits, as long as one does.
fn open(parts: &mut Parts, all: &[Parts]) {
    loop {
        let room = LANES + 1 - parts.len();
        let fitting = parts
            .iter()
            .enumerate()
            .filter_map(|(slot, (bounds, part))| match part {
                Part::Node(child) if all[*child as usize].len() <= room => {
                    Some((slot, *child, bounds.area()))
                }
                _ => None,
            });
        let Some((slot, child, _)) = fitting.max_by(|a, b| a.2.total_cmp(&b.2)) else {
            return;
        };
        parts.swap_remove(slot);
        parts.extend_from_slice(&all[child as usize]);
        put_together(parts);
    }
}
