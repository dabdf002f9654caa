//! Groups of lights whose probabilities depend on what the camera sees: all lights at finite distance, and the lights at
//! infinity. Within the first group, upper nodes of the light tree have factors that depend on it, too.
//!
//! Power says nothing about which lights reach a room: sunlight outside has more of it than any lamp inside. So these
//! probabilities are set apart from the power of the lights, by [`LightWeights`].

use crate::lights::{
    environment::Environment,
    lamp::Lamp,
    light::{LAMP, Light},
    light_tree::{
        HAS_CONE, LEAF, LightNode, LightPair, PROBABILITY_UNITS, first_width, importance,
    },
};

/// Maximum number of groups. The lights at infinity beyond it share the last one.
pub const MAX_GROUPS: usize = 8;
/// Maximum number of upper nodes of the light tree that have a factor.
pub const MAX_NODES: usize = 16;

/// The groups of a scene's lights.
#[derive(Clone, Debug, Default)]
pub struct LightGroups {
    /// Number of lights in the light tree, which are group 0; 0 without a tree.
    tree_lights: usize,
    /// Group of each light outside the tree, in the order of the table, and its part of the group's probability.
    members: Vec<(usize, f64)>,
    /// Share of each group in the power of all lights.
    powers: [f64; MAX_GROUPS],
    /// Number of groups: 0 if there is nothing to choose between.
    count: usize,
    /// Upper nodes of the light tree that together contain all its lights; empty if they are fewer than two.
    nodes: Vec<UpperNode>,
    /// What the probabilities are made from.
    weights: LightWeights,
}

/// What the probabilities of groups and of upper nodes of the light tree are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightWeights {
    /// Weights of the groups, to which their probabilities are proportional. At least one is above 0.
    pub groups: [u32; MAX_GROUPS],
    /// Exponents of the factors of the upper nodes, which are powers of two.
    pub nodes: [i32; MAX_NODES],
}

impl Default for LightWeights {
    fn default() -> LightWeights {
        LightWeights {
            groups: [1; MAX_GROUPS],
            nodes: [0; MAX_NODES],
        }
    }
}

/// A node of the light tree, by its place.
#[derive(Clone, Copy, Debug)]
struct UpperNode {
    /// Index of its pair.
    pair: usize,
    /// 0 for the first node of the pair, 1 for the second.
    side: usize,
    /// The branches from the root, as those of a light's trail.
    trail: u32,
    /// Number of these branches, at least 1.
    level: u32,
    /// Intensity without a factor.
    intensity: f32,
}

/// The tables of light sampling that contain probabilities of groups or nodes.
pub struct LightChances<'a> {
    /// All lights, those of the light tree first.
    pub table: &'a mut [Light],
    /// Nodes of the light tree in pairs.
    pub light_pairs: &'a mut [LightPair],
    /// All lamps.
    pub lamps: &'a mut [Lamp],
    /// The environment map.
    pub environment: &'a mut Environment,
    /// Probability of choosing from the light tree, in units of 1 / [`PROBABILITY_UNITS`].
    pub tree_share: &'a mut u32,
}

impl LightGroups {
    /// Makes groups of the lights in the tree, which have the power `tree_power` in all, and of the lights at infinity
    /// with these powers, which follow them in the table. The strongest ones get a group each.
    pub fn new(
        tree_lights: usize,
        tree_power: f64,
        light_pairs: &[LightPair],
        far_powers: &[f64],
    ) -> LightGroups {
        let first = usize::from(tree_lights > 0);
        let mut order: Vec<usize> = (0..far_powers.len()).collect();
        order.sort_by(|&a, &b| far_powers[b].total_cmp(&far_powers[a]));
        let last = MAX_GROUPS - 1;
        let mut members = vec![(0, 1.0); far_powers.len()];
        let sharing = order.iter().skip(last - first);
        let shared: f64 = sharing.map(|&at| far_powers[at]).sum();
        for (rank, &at) in order.iter().enumerate() {
            let group = first + rank;
            members[at] = if group < last {
                (group, 1.0)
            } else {
                (last, far_powers[at] / shared)
            };
        }
        let count = (first + far_powers.len()).min(MAX_GROUPS);
        let mut powers = [0.0; MAX_GROUPS];
        if tree_lights > 0 {
            powers[0] = tree_power;
        }
        for (&(group, _), power) in members.iter().zip(far_powers) {
            powers[group] += power;
        }
        let all = powers.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        LightGroups {
            tree_lights,
            members,
            powers: powers.map(|power| power / all),
            count: if count < 2 { 0 } else { count },
            nodes: upper_nodes(light_pairs),
            weights: LightWeights::default(),
        }
    }

    /// Returns the number of groups: 0, or 2..=[`MAX_GROUPS`].
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the share of each group in the power of all lights, and 0 behind the last group.
    pub fn powers(&self) -> &[f64] {
        &self.powers
    }

    /// Returns the number of upper nodes of the light tree that have factors: 0, or 2..=[`MAX_NODES`].
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns what the probabilities are made from.
    pub fn weights(&self) -> LightWeights {
        self.weights
    }

    /// Returns the probability, for each upper node, that a light is chosen from it for a reference point if the tree is
    /// chosen; in units of 1 / [`PROBABILITY_UNITS`].
    pub fn node_widths(&self, pairs: &[LightPair], point: glam::Vec3) -> [u32; MAX_NODES] {
        let mut widths = [0; MAX_NODES];
        for (width, node) in widths.iter_mut().zip(&self.nodes) {
            *width = node.width(pairs, point);
        }
        widths
    }

    /// Returns a tree that contains the lights of one upper node only.
    pub fn node_alone(&self, pairs: &[LightPair], node: usize) -> Vec<LightPair> {
        let UpperNode { pair, side, .. } = self.nodes[node];
        let mut alone = pairs.to_vec();
        alone[0] = LightPair::single(&pairs[pair].node(side));
        alone
    }

    /// Sets the weights, and updates the probabilities of groups and upper nodes in the tables of `lights`.
    /// `lights.light_pairs` may be empty if `weights.nodes` are those set before.
    pub fn set(&mut self, weights: LightWeights, lights: LightChances) {
        if weights.nodes != self.weights.nodes {
            for (node, exponent) in self.nodes.iter().zip(weights.nodes) {
                node.scale(lights.light_pairs, exponent);
            }
        }
        self.weights = weights;
        if self.count == 0 {
            return;
        }
        let total: f64 = weights.groups[..self.count]
            .iter()
            .copied()
            .map(f64::from)
            .sum();
        let units = f64::from(PROBABILITY_UNITS);
        *lights.tree_share = match self.tree_lights {
            0 => 0,
            _ => (f64::from(weights.groups[0]) / total * units) as u32,
        };
        let rest = 1.0 - f64::from(*lights.tree_share) / units;
        let weight = |&(group, part): &(usize, f64)| f64::from(weights.groups[group]) * part;
        let of_far: f64 = self.members.iter().map(weight).sum();
        let mut sum = 0.0;
        for (light, member) in lights.table[self.tree_lights..]
            .iter_mut()
            .zip(&self.members)
        {
            let weight = weight(member);
            sum += weight;
            let (upto, chance) = match of_far {
                0.0 => (1.0, 0.0),
                _ => (sum / of_far, rest * weight / of_far),
            };
            light.cumulative = upto as f32;
            let place = match light.kind {
                LAMP => &mut lights.lamps[light.index as usize].chance,
                _ => &mut lights.environment.chance,
            };
            *place = chance as f32;
        }
    }
}

impl UpperNode {
    /// Returns the probability that a light is chosen from the node, see [`LightGroups::node_widths`].
    fn width(&self, pairs: &[LightPair], point: glam::Vec3) -> u32 {
        let (mut pair, mut width) = (0, PROBABILITY_UNITS);
        for level in 0..self.level {
            let nodes: [LightNode; 2] = [0, 1].map(|side| pairs[pair].node(side));
            let [first, second] = nodes.map(|node| importance(&node, point));
            if first + second <= 0.0 {
                return 0;
            }
            let before = first_width(first, second, width);
            let side = (self.trail >> level & 1) as usize;
            width = if side == 0 { before } else { width - before };
            pair = nodes[side].link as usize;
        }
        width
    }

    /// Multiplies the node's intensity without a factor by 2^`exponent`, and adds the intensities of the nodes above it
    /// again.
    fn scale(&self, pairs: &mut [LightPair], exponent: i32) {
        // A positive intensity stays positive: a light that is never chosen would be lost.
        let scaled = f64::from(self.intensity) * libm::exp2(f64::from(exponent));
        let scaled = (scaled as f32).max(f32::MIN_POSITIVE);
        if pairs[self.pair].intensities[self.side] == scaled {
            return;
        }
        pairs[self.pair].intensities[self.side] = scaled;
        let mut above = Vec::new();
        let mut pair = 0;
        for level in 0..self.level - 1 {
            let side = (self.trail >> level & 1) as usize;
            above.push((pair, side));
            pair = (pairs[pair].links[side] & !HAS_CONE) as usize;
        }
        let mut below = self.pair;
        for (pair, side) in above.into_iter().rev() {
            pairs[pair].intensities[side] = pairs[below].intensities.iter().sum();
            below = pair;
        }
    }
}

/// Returns upper nodes of the tree that together contain all its lights: the root's children, of which the one of the
/// largest intensity is replaced by its children until there are [`MAX_NODES`].
fn upper_nodes(pairs: &[LightPair]) -> Vec<UpperNode> {
    let children = |pair: usize, trail: u32, level: u32| {
        [0, 1].map(|side| UpperNode {
            pair,
            side,
            trail: trail | (side as u32) << level,
            level: level + 1,
            intensity: pairs[pair].intensities[side],
        })
    };
    if pairs.is_empty() || pairs[0].intensities[1] == 0.0 {
        return Vec::new();
    }
    let mut nodes = children(0, 0, 0).to_vec();
    while nodes.len() < MAX_NODES {
        let inner =
            (0..nodes.len()).filter(|&at| pairs[nodes[at].pair].links[nodes[at].side] < LEAF);
        let strongest = inner.max_by(|&a, &b| {
            let (first, second) = (nodes[a].intensity, nodes[b].intensity);
            first.total_cmp(&second).then(b.cmp(&a))
        });
        let Some(at) = strongest else {
            break;
        };
        let UpperNode {
            pair,
            side,
            trail,
            level,
            ..
        } = nodes[at];
        let link = pairs[pair].links[side] & !HAS_CONE;
        let [first, second] = children(link as usize, trail, level);
        nodes[at] = first;
        nodes.push(second);
    }
    nodes
}
