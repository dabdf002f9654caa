//! Choosing among many lights by how much they may shine on a point. Twin: `kernels/shared/light_tree.cuh`.
//!
//! A binary tree over the lights that are somewhere: every node knows a box around its lights, their intensities' sum, and
//! a cone that holds the directions that they face. What a node may send to a point is estimated from these, and the way
//! down is chosen in proportion (A. Conty Estevez & C. Kulla, Importance Sampling of Many Lights with Adaptive Tree
//! Splitting, 2018). Chances are whole numbers out of 2³¹: a random number of 31 bits falls into a node's stretch of them,
//! so that a light's stretch is its probability, exactly.

use compaction::shared;
use glam::{DVec3, Vec3};

use crate::math::{dot, greater, lesser};

/// Of the numbers that are dealt to the lights.
pub const WHOLE: u32 = 1 << 31;
/// `LightNode::link`: added to the light that a node is.
pub const LEAF: u32 = 1 << 31;
/// "No light": none may shine on the point.
pub const NO_LIGHT: u32 = u32::MAX;
/// Ways down that a trail has room for.
const MOST_LEVELS: u32 = 32;
/// Places where a node may be parted, along each axis.
const BINS: usize = 12;

shared! {
    /// Some lights.
    #[repr(align(16))]
    pub struct LightNode {
        /// The least corner of the box around them, metres.
        pub low: Vec3,
        /// Their intensities' sum: of a surface, luminance times area seen from its front.
        pub intensity: f32,
        /// The box's other corner.
        pub high: Vec3,
        /// Cosine of the angle between `axis` and the direction, of all that they face, that is farthest from it.
        pub spread: f32,
        /// Of length 1.
        pub axis: Vec3,
        /// Position of the first of its two children, which stand side by side; or `LEAF` and the light's place.
        pub link: u32,
    }
}

/// A light, and its stretch of the numbers.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// Its place in the table, or `NO_LIGHT`.
    pub light: u32,
    /// How many of `WHOLE` numbers choose it.
    pub width: u32,
}

/// At most what the node's lights send to the point, to a factor: intensity over the squared distance, times the cosine
/// between what they may face and the direction to the point. No less than 0 where any of them shines.
#[inline]
pub fn importance(node: &LightNode, point: Vec3) -> f32 {
    let diagonal = node.high - node.low;
    let radius2 = dot(diagonal, diagonal) * 0.25;
    let to_point = point - (node.low + node.high) * 0.5;
    let distance2 = dot(to_point, to_point);
    let strength = lesser(node.intensity / greater(distance2, radius2), 1e30);
    let everywhere = node.spread <= -1.0 || distance2 <= radius2;
    if everywhere {
        return strength;
    }
    // Of the angle between the axis and the point, what the spread leaves, and of that, what the box's width leaves.
    let cosine = dot(node.axis, to_point) / distance2.sqrt();
    let mut cos_left = 1.0;
    let mut sin_left = 0.0;
    if cosine < node.spread {
        let sine = greater(0.0, 1.0 - cosine * cosine).sqrt();
        let spread = greater(0.0, 1.0 - node.spread * node.spread).sqrt();
        cos_left = cosine * node.spread + sine * spread;
        sin_left = sine * node.spread - cosine * spread;
    }
    let sin2_width = radius2 / distance2;
    let cos_width = (1.0 - sin2_width).sqrt();
    if cos_left < cos_width {
        cos_left = cos_left * cos_width + sin_left * sin2_width.sqrt();
    } else {
        cos_left = 1.0;
    }
    // Roundings must not put a light out.
    strength * greater(0.0, cos_left + 1.0 / 1024.0)
}

/// Of a stretch of numbers, how many the first of two nodes gets. None that has a share gets nothing of 2²⁴.
#[inline]
pub fn first_width(first: f32, second: f32, width: u32) -> u32 {
    let mut chance = (first / (first + second) * 16_777_216.0) as u32;
    if first > 0.0 && chance == 0 {
        chance = 1;
    }
    if second > 0.0 && chance == 1 << 24 {
        chance = (1 << 24) - 1;
    }
    ((u64::from(width) * u64::from(chance)) >> 24) as u32
}

/// The light whose stretch of `width` numbers `place` falls into.
#[inline]
pub fn light_of_number(nodes: &[LightNode], point: Vec3, place: u32, width: u32) -> Chosen {
    let mut node = 0;
    let mut place = place;
    let mut width = width;
    loop {
        let link = nodes[node as usize].link;
        if link >= LEAF {
            return Chosen {
                light: link - LEAF,
                width,
            };
        }
        let first = importance(&nodes[link as usize], point);
        let second = importance(&nodes[(link + 1) as usize], point);
        let lit = first + second > 0.0;
        if !lit {
            return Chosen {
                light: NO_LIGHT,
                width: 0,
            };
        }
        let before = first_width(first, second, width);
        if place < before {
            node = link;
            width = before;
        } else {
            node = link + 1;
            place -= before;
            width -= before;
        }
    }
}

/// How many of `width` numbers choose the light to which this trail leads: its lowest bit is the way down from the root, 1
/// for the second child.
#[inline]
pub fn width_of_light(nodes: &[LightNode], point: Vec3, trail: u32, width: u32) -> u32 {
    let mut node = 0;
    let mut trail = trail;
    let mut width = width;
    loop {
        let link = nodes[node as usize].link;
        if link >= LEAF {
            return width;
        }
        let first = importance(&nodes[link as usize], point);
        let second = importance(&nodes[(link + 1) as usize], point);
        let lit = first + second > 0.0;
        if !lit {
            return 0;
        }
        let before = first_width(first, second, width);
        if (trail & 1) == 0 {
            node = link;
            width = before;
        } else {
            node = link + 1;
            width -= before;
        }
        trail >>= 1;
    }
}

/// What the tree has to know of a light.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    /// The least corner of the box around it, metres.
    pub low: DVec3,
    /// The box's other corner.
    pub high: DVec3,
    /// The direction that it faces, of length 1.
    pub axis: DVec3,
    /// Angle between the axis and what it faces farthest from it, 0..=π: π if it faces all sides.
    pub angle: f64,
    /// See [`LightNode`].
    pub intensity: f64,
}

impl Bounded {
    /// Both.
    fn with(&self, other: &Bounded) -> Bounded {
        let (axis, angle) = both_cones((self.axis, self.angle), (other.axis, other.angle));
        Bounded {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            axis,
            angle,
            intensity: self.intensity + other.intensity,
        }
    }

    fn center(&self) -> DVec3 {
        (self.low + self.high) * 0.5
    }

    /// How many rays it may bother: the measure of Conty Estevez & Kulla, of surfaces that shine to their front.
    fn cost(&self) -> f64 {
        let size = self.high - self.low;
        let area = size.x * size.y + size.y * size.z + size.z * size.x;
        let (pi, angle) = (std::f64::consts::PI, self.angle);
        let reach = (angle + pi / 2.0).min(pi);
        let (sin, cos) = libm::sincos(angle);
        let directions = 2.0 * pi * (1.0 - cos)
            + pi / 2.0
                * (2.0 * reach * sin - libm::cos(angle - 2.0 * reach) - 2.0 * angle * sin + cos);
        self.intensity * area * directions
    }

    fn node(&self, link: u32) -> LightNode {
        // Rounded so that nothing is left out.
        let spread = (libm::cos(self.angle) as f32).next_down().max(-1.0);
        LightNode {
            low: self.low.as_vec3(),
            intensity: self.intensity as f32,
            high: self.high.as_vec3(),
            spread: if self.angle >= std::f64::consts::PI {
                -1.0
            } else {
                spread
            },
            axis: self.axis.as_vec3(),
            link,
        }
    }
}

/// The least cone about two, each an axis and an angle.
fn both_cones(one: (DVec3, f64), other: (DVec3, f64)) -> (DVec3, f64) {
    let pi = std::f64::consts::PI;
    let (wide, narrow) = if one.1 >= other.1 {
        (one, other)
    } else {
        (other, one)
    };
    let apart = libm::acos(wide.0.dot(narrow.0).clamp(-1.0, 1.0));
    if (apart + narrow.1).min(pi) <= wide.1 {
        return wide;
    }
    let angle = (wide.1 + apart + narrow.1) / 2.0;
    let turned = angle - wide.1;
    let sine = libm::sin(apart);
    if angle >= pi || sine < 1e-9 {
        return (wide.0, pi);
    }
    let axis = (wide.0 * libm::sin(apart - turned) + narrow.0 * libm::sin(turned)) / sine;
    (axis.normalize(), angle)
}

/// A tree over these lights, its root first, and every light's trail, see [`width_of_light`].
pub fn light_tree(lights: &[Bounded]) -> (Vec<LightNode>, Vec<u32>) {
    let mut order: Vec<u32> = (0..lights.len() as u32).collect();
    let mut nodes = vec![LightNode::default()];
    let mut trails = vec![0; lights.len()];
    if !lights.is_empty() {
        let mut todo = vec![(0, &mut order[..], 0_u32, 0_u32)];
        while let Some((at, members, trail, level)) = todo.pop() {
            let all = members[1..]
                .iter()
                .fold(lights[members[0] as usize], |sum, &light| {
                    sum.with(&lights[light as usize])
                });
            if let &mut [light] = members {
                nodes[at] = all.node(LEAF + light);
                trails[light as usize] = trail;
                continue;
            }
            let link = nodes.len();
            nodes[at] = all.node(link as u32);
            nodes.extend([LightNode::default(); 2]);
            let (first, second) = part(lights, members, &all, MOST_LEVELS - level);
            todo.push((link + 1, second, trail | 1 << level, level + 1));
            todo.push((link, first, trail, level + 1));
        }
    }
    (nodes, trails)
}

/// Two parts of a node's lights, neither empty, so that `levels` suffice below.
fn part<'a>(
    lights: &[Bounded],
    members: &'a mut [u32],
    all: &Bounded,
    levels: u32,
) -> (&'a mut [u32], &'a mut [u32]) {
    let center = |light: u32| lights[light as usize].center();
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for &light in &*members {
        low = low.min(center(light));
        high = high.max(center(light));
    }
    let extent = high - low;
    let roomy = (members.len() as u64) << 2 < 1 << (levels - 1);
    if let Some((axis, bin)) = best_place(lights, members, all, low, extent).filter(|_| roomy) {
        let before = |light: &u32| bin_of(center(*light)[axis], low[axis], extent[axis]) <= bin;
        // In order on both sides, so that the tree does not depend on a sort's whims.
        members.sort_by_key(|light| !before(light));
        let count = members.partition_point(before);
        if 0 < count && count < members.len() {
            return members.split_at_mut(count);
        }
    }
    let axis = if extent.x >= extent.y && extent.x >= extent.z {
        0
    } else if extent.y >= extent.z {
        1
    } else {
        2
    };
    members.sort_by(|&a, &b| center(a)[axis].total_cmp(&center(b)[axis]));
    members.split_at_mut(members.len() / 2)
}

fn bin_of(center: f64, low: f64, extent: f64) -> usize {
    (((center - low) / extent * BINS as f64) as usize).min(BINS - 1)
}

/// The axis and the last bin of the first part for which the parts' costs are least.
fn best_place(
    lights: &[Bounded],
    members: &[u32],
    all: &Bounded,
    low: DVec3,
    extent: DVec3,
) -> Option<(usize, usize)> {
    let size = all.high - all.low;
    let mut best = None;
    let mut least = f64::INFINITY;
    for axis in 0..3 {
        let thin = extent[axis] <= 0.0 || extent[axis] < 1e-6 * extent.max_element();
        if thin {
            continue;
        }
        let mut bins: [Option<Bounded>; BINS] = [None; BINS];
        for &light in members {
            let light = &lights[light as usize];
            let bin = &mut bins[bin_of(light.center()[axis], low[axis], extent[axis])];
            *bin = Some(bin.map_or(*light, |sum| sum.with(light)));
        }
        let together = |sum: Option<Bounded>, bin: Option<Bounded>| match (sum, bin) {
            (Some(sum), Some(bin)) => Some(sum.with(&bin)),
            (sum, bin) => sum.or(bin),
        };
        let mut behind = [None; BINS];
        for bin in (0..BINS - 1).rev() {
            behind[bin] = together(behind[bin + 1], bins[bin + 1]);
        }
        // Long boxes are cut across.
        let slimness = size.max_element() / size[axis].max(f64::MIN_POSITIVE);
        let mut before = None;
        let places = bins.iter().zip(behind).take(BINS - 1);
        for (bin, (&here, after)) in places.enumerate() {
            before = together(before, here);
            if let (Some(first), Some(second)) = (before, after) {
                let cost = slimness * (first.cost() + second.cost());
                if cost < least {
                    (best, least) = (Some((axis, bin)), cost);
                }
            }
        }
    }
    best
}
