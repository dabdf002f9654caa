//! A light tree: importance sampling of many lights. Twin: `kernels/shared/light_tree.cuh`.
//!
//! The binary tree holds the lights at finite distance. Each node stores a bounding box, the sum of intensities and a
//! cone of emission directions, from which its importance for a reference point is estimated; sampling descends in
//! proportion to importance (A. Conty Estevez & C. Kulla, Importance Sampling of Many Lights with Adaptive Tree
//! Splitting, 2018). Probabilities are whole numbers of 2⁻³¹: a random number of 31 bits falls into a node's interval
//! of them, so that the width of a light's interval is its exact probability.

use compaction::shared;
use glam::{DVec3, Vec3};

use crate::math::{dot, max_f32, min_f32, truncated};

/// Number of random numbers that are distributed among the lights; the unit of probability is its reciprocal.
pub const PROBABILITY_UNITS: u32 = 1 << 31;
/// Bit of a link: the node is a leaf, and the lower bits are its light.
pub const LEAF: u32 = 1 << 31;
/// Bit of a link in a [`LightPair`]: the node has a cone, because its lights do not face all directions. A tree holds
/// fewer lights than this number.
pub const HAS_CONE: u32 = 1 << 30;
/// "No light": no light of the tree illuminates the reference point, or a primitive is not a light.
pub const NO_LIGHT: u32 = u32::MAX;
/// Maximum number of levels below the root: the number of bits of a trail.
const MAX_LEVELS: u32 = 32;
/// Number of bins per axis when a node is split.
const BINS: usize = 12;

shared! {
    /// Two sibling nodes of the light tree: of each array, the first entry is that of the first node. Every visit reads
    /// the fields up to `links`, and the others only if a link has [`HAS_CONE`].
    #[repr(align(16))]
    pub struct LightPair {
        /// Centres of the nodes' bounding boxes, world space, metres.
        pub centers: [Vec3; 2],
        /// Squares of half the diagonals of the bounding boxes, in square metres.
        pub radii2: [f32; 2],
        /// Sums of the lights' intensities (luminance); luminance times area for a surface.
        pub intensities: [f32; 2],
        /// Index of the pair of the node's children; for a leaf, [`LEAF`] plus the light's index in the table. The bit
        /// [`HAS_CONE`] tells whether the node has a cone.
        pub links: [u32; 2],
        /// `axis` and `spread` of each [`LightNode`].
        pub cones: [[f32; 4]; 2],
        /// `sin_spread` of each [`LightNode`].
        pub sin_spreads: [f32; 2],
        /// Padding, 0.
        pub _pad0: [u32; 2],
    }
}

/// A node of the light tree: one light, or a pair of child nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LightNode {
    /// Centre of the bounding box, world space, metres.
    pub center: Vec3,
    /// Square of half the diagonal of the bounding box, in square metres.
    pub radius2: f32,
    /// Sum of the lights' intensities (luminance); luminance times area for a surface.
    pub intensity: f32,
    /// Index of the pair of its children, or [`LEAF`] plus the light's index in the table.
    pub link: u32,
    /// Axis of the cone of emission directions, of length 1.
    pub axis: Vec3,
    /// Cosine of the half-angle of the cone around `axis` that contains all directions that the lights face; −1 if they
    /// face all directions. Then `axis` and `sin_spread` do not matter.
    pub spread: f32,
    /// Sine of that half-angle, in 0..=1.
    pub sin_spread: f32,
}

impl LightPair {
    /// Makes a pair of two nodes.
    fn new(nodes: &[LightNode; 2]) -> LightPair {
        let link = |node: &LightNode| {
            if node.spread > -1.0 {
                node.link | HAS_CONE
            } else {
                node.link
            }
        };
        let cone = |node: &LightNode| [node.axis.x, node.axis.y, node.axis.z, node.spread];
        LightPair {
            centers: nodes.map(|node| node.center),
            radii2: nodes.map(|node| node.radius2),
            intensities: nodes.map(|node| node.intensity),
            links: nodes.each_ref().map(link),
            cones: nodes.each_ref().map(cone),
            sin_spreads: nodes.map(|node| node.sin_spread),
            _pad0: [0; 2],
        }
    }

    /// Makes a pair of a node and a leaf without intensity, which is never chosen.
    pub(crate) fn single(node: &LightNode) -> LightPair {
        let dark = LightNode {
            // Importance divides by it.
            radius2: 1.0,
            link: LEAF,
            spread: -1.0,
            ..LightNode::default()
        };
        LightPair::new(&[*node, dark])
    }

    /// Returns the first (`side` is 0) or second (1) node.
    #[inline(always)]
    pub fn node(&self, side: usize) -> LightNode {
        let ([x, y, z, spread], sin_spread) = if self.links[side] & HAS_CONE == 0 {
            ([0.0, 0.0, 0.0, -1.0], 0.0)
        } else {
            (self.cones[side], self.sin_spreads[side])
        };
        LightNode {
            center: self.centers[side],
            radius2: self.radii2[side],
            intensity: self.intensities[side],
            link: self.links[side] & !HAS_CONE,
            axis: Vec3::new(x, y, z),
            spread,
            sin_spread,
        }
    }
}

/// A light chosen from the tree, with its probability.
#[derive(Clone, Copy, Debug)]
pub struct ChosenLight {
    /// Index of the light in the table, or [`NO_LIGHT`].
    pub light: u32,
    /// Probability of the light in units of 1 / [`PROBABILITY_UNITS`].
    pub width: u32,
}

/// Returns an upper estimate, up to a constant factor, of what a node's lights send to `point`; 0 only if all face
/// away.
///
/// It is intensity over squared distance, times the largest cosine between an emission direction and the direction to
/// the point.
#[inline]
pub fn importance(node: &LightNode, point: Vec3) -> f32 {
    let to_point = point - node.center;
    let distance2 = dot(to_point, to_point);
    let strength = min_f32(node.intensity / max_f32(distance2, node.radius2), 1e30);
    let everywhere = node.spread <= -1.0 || distance2 <= node.radius2;
    if everywhere {
        return strength;
    }
    // The cone's half-angle and the angle that the box subtends reduce the angle between the axis and the point.
    let cosine = dot(node.axis, to_point) / distance2.sqrt();
    let mut cos_left = 1.0;
    let mut sin_left = 0.0;
    if cosine < node.spread {
        let sine = max_f32(0.0, 1.0 - cosine * cosine).sqrt();
        cos_left = cosine * node.spread + sine * node.sin_spread;
        sin_left = sine * node.spread - cosine * node.sin_spread;
    }
    let sin2_width = node.radius2 / distance2;
    let cos_width = (1.0 - sin2_width).sqrt();
    if cos_left < cos_width {
        cos_left = cos_left * cos_width + sin_left * sin2_width.sqrt();
    } else {
        cos_left = 1.0;
    }
    // The margin keeps rounding errors from excluding a light.
    strength * max_f32(0.0, cos_left + 1.0 / 1024.0)
}

/// Returns how many of `width` numbers go to the first of two nodes with these importances.
///
/// The split is in steps of 2⁻²⁴ of `width`; a node of positive importance gets at least one step.
#[inline]
pub fn first_width(first: f32, second: f32, width: u32) -> u32 {
    let mut chance = truncated(first / (first + second) * 16_777_216.0);
    if first > 0.0 && chance == 0 {
        chance = 1;
    }
    if second > 0.0 && chance == 1 << 24 {
        chance = (1 << 24) - 1;
    }
    ((u64::from(width) * u64::from(chance)) >> 24) as u32
}

/// Chooses a light for a reference point: the one whose interval of 0..`width` contains `place`. `pairs` are those of
/// [`light_tree`], at least one.
#[inline]
pub fn choose_from_tree(pairs: &[LightPair], point: Vec3, place: u32, width: u32) -> ChosenLight {
    let mut link = 0;
    let mut place = place;
    let mut width = width;
    loop {
        let pair = &pairs[link as usize];
        let (left, right) = (pair.node(0), pair.node(1));
        let first = importance(&left, point);
        let second = importance(&right, point);
        let lit = first + second > 0.0;
        if !lit {
            return ChosenLight {
                light: NO_LIGHT,
                width: 0,
            };
        }
        let before = first_width(first, second, width);
        if place < before {
            link = left.link;
            width = before;
        } else {
            link = right.link;
            place -= before;
            width -= before;
        }
        if link >= LEAF {
            return ChosenLight {
                light: link - LEAF,
                width,
            };
        }
    }
}

/// Returns how many of `width` numbers choose the light with this trail, for a reference point. `pairs` are those of
/// [`light_tree`], at least one.
///
/// The trail gives the branches from the root, lowest bit first: 0 for the first child, 1 for the second.
#[inline]
pub fn light_probability(pairs: &[LightPair], point: Vec3, trail: u32, width: u32) -> u32 {
    let mut link = 0;
    let mut trail = trail;
    let mut width = width;
    loop {
        let pair = &pairs[link as usize];
        let (left, right) = (pair.node(0), pair.node(1));
        let first = importance(&left, point);
        let second = importance(&right, point);
        let lit = first + second > 0.0;
        if !lit {
            return 0;
        }
        let before = first_width(first, second, width);
        if (trail & 1) == 0 {
            link = left.link;
            width = before;
        } else {
            link = right.link;
            width -= before;
        }
        if link >= LEAF {
            return width;
        }
        trail >>= 1;
    }
}

/// Bounds of a light or of a group of lights, from which the tree is built.
#[derive(Clone, Copy, Debug)]
pub struct LightBounds {
    /// Minimum corner of the bounding box, world space, metres.
    pub low: DVec3,
    /// Maximum corner of the bounding box, world space, metres.
    pub high: DVec3,
    /// Axis of the cone of emission directions, of length 1.
    pub axis: DVec3,
    /// Half-angle of the cone of emission directions in radians, 0..=π; π if they face all directions.
    pub angle: f64,
    /// Sum of the lights' intensities (luminance); luminance times area for a surface.
    pub intensity: f64,
}

impl LightBounds {
    /// Returns the bounds of both groups together.
    fn with(&self, other: &LightBounds) -> LightBounds {
        let (axis, angle) = both_cones((self.axis, self.angle), (other.axis, other.angle));
        LightBounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            axis,
            angle,
            intensity: self.intensity + other.intensity,
        }
    }

    /// Returns the center of the bounding box.
    fn center(&self) -> DVec3 {
        (self.low + self.high) * 0.5
    }

    /// Returns the surface area orientation heuristic of Conty Estevez & Kulla: intensity × area × solid angle of
    /// emission.
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

    /// Rounds the bounds to a node of the tree.
    fn node(&self, link: u32) -> LightNode {
        let (low, high) = (self.low.as_vec3(), self.high.as_vec3());
        let diagonal = high - low;
        let spread = if self.angle >= std::f64::consts::PI {
            -1.0
        } else {
            // Rounded so that the cone contains all directions.
            (libm::cos(self.angle) as f32).next_down().max(-1.0)
        };
        LightNode {
            center: (low + high) * 0.5,
            radius2: dot(diagonal, diagonal) * 0.25,
            intensity: self.intensity as f32,
            link,
            axis: self.axis.as_vec3(),
            spread,
            sin_spread: max_f32(0.0, 1.0 - spread * spread).sqrt(),
        }
    }
}

/// Returns the smallest cone, as axis and half-angle, that contains two cones.
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

/// Builds the tree over lights. Returns its pairs of nodes, the children of the root first, and each light's trail, see
/// [`light_probability`]. Without lights there are no pairs; with one light there is one pair, whose second
/// node is never chosen.
pub fn light_tree(lights: &[LightBounds]) -> (Vec<LightPair>, Vec<u32>) {
    let mut order: Vec<u32> = (0..lights.len() as u32).collect();
    let mut trails = vec![0; lights.len()];
    match lights {
        [] => return (Vec::new(), trails),
        [only] => return (vec![LightPair::single(&only.node(LEAF))], trails),
        _ => {}
    }
    let mut pairs = vec![LightPair::default()];
    let mut todo = vec![(0, &mut order[..], 0_u32, 0_u32)];
    while let Some((at, members, trail, level)) = todo.pop() {
        let all = bounds_of(lights, members);
        let (first, second) = part(lights, members, &all, MAX_LEVELS - level);
        let children = [(first, trail), (second, trail | 1 << level)].map(|(members, trail)| {
            let bounds = bounds_of(lights, members);
            if let &mut [light] = members {
                trails[light as usize] = trail;
                return bounds.node(LEAF + light);
            }
            let pair = pairs.len();
            pairs.push(LightPair::default());
            todo.push((pair, members, trail, level + 1));
            bounds.node(pair as u32)
        });
        pairs[at] = LightPair::new(&children);
    }
    (pairs, trails)
}

/// Returns the bounds of these lights together. There must be at least one.
fn bounds_of(lights: &[LightBounds], members: &[u32]) -> LightBounds {
    members[1..]
        .iter()
        .fold(lights[members[0] as usize], |sum, &light| {
            sum.with(&lights[light as usize])
        })
}

/// Splits the lights of a node into two groups that are not empty. Below them, `levels` levels are left.
fn part<'a>(
    lights: &[LightBounds],
    members: &'a mut [u32],
    all: &LightBounds,
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
        // A stable sort, so that the tree does not depend on the sorting algorithm.
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

/// Returns the bin of a box center along one axis.
fn bin_of(center: f64, low: f64, extent: f64) -> usize {
    (((center - low) / extent * BINS as f64) as usize).min(BINS - 1)
}

/// Returns the axis, and the last bin of the first group, for which the sum of the groups' costs is least. Axes along
/// which the box is short cost more. Returns `None` if all centers coincide.
fn best_place(
    lights: &[LightBounds],
    members: &[u32],
    all: &LightBounds,
    low: DVec3,
    extent: DVec3,
) -> Option<(usize, usize)> {
    let size = all.high - all.low;
    let mut best = None;
    let mut min_cost = f64::INFINITY;
    for axis in 0..3 {
        let thin = extent[axis] <= 0.0 || extent[axis] < 1e-6 * extent.max_element();
        if thin {
            continue;
        }
        let mut bins: [Option<LightBounds>; BINS] = [None; BINS];
        for &light in members {
            let light = &lights[light as usize];
            let bin = &mut bins[bin_of(light.center()[axis], low[axis], extent[axis])];
            *bin = Some(bin.map_or(*light, |sum| sum.with(light)));
        }
        let together = |sum: Option<LightBounds>, bin: Option<LightBounds>| match (sum, bin) {
            (Some(sum), Some(bin)) => Some(sum.with(&bin)),
            (sum, bin) => sum.or(bin),
        };
        let mut behind = [None; BINS];
        for bin in (0..BINS - 1).rev() {
            behind[bin] = together(behind[bin + 1], bins[bin + 1]);
        }
        // Prefers splits across a box's longest axis.
        let slimness = size.max_element() / size[axis].max(f64::MIN_POSITIVE);
        let mut before = None;
        let places = bins.iter().zip(behind).take(BINS - 1);
        for (bin, (&here, after)) in places.enumerate() {
            before = together(before, here);
            if let (Some(first), Some(second)) = (before, after) {
                let cost = slimness * (first.cost() + second.cost());
                if cost < min_cost {
                    (best, min_cost) = (Some((axis, bin)), cost);
                }
            }
        }
    }
    best
}
