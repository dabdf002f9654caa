//! Cases of the light tree.

use std::sync::OnceLock;

use glam::Vec3;
use raysieve::lights::light_tree::{
    LightBounds, LightNode, LightPair, PROBABILITY_UNITS, choose_from_tree, first_width,
    importance, light_probability, light_tree,
};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Returns the bounds of a light, with or without extent, near or distant.
fn bounded(inputs: &mut Inputs) -> LightBounds {
    let middle = inputs.one_of(&inputs.harvest.hits).0.origin.as_dvec3();
    let low =
        middle + inputs.direction().as_dvec3() * f64::from(2f32.powi(inputs.below(8) as i32 - 4));
    let reach = inputs.one_of(&[0.0, 1e-3, 0.1, 1.0]) * f64::from(inputs.unit());
    let side = inputs.one_of(&[
        glam::DVec3::ONE,
        glam::DVec3::X,
        glam::DVec3::new(1.0, 0.0, 1.0),
    ]);
    LightBounds {
        low,
        high: low + side * reach,
        axis: inputs.direction().as_dvec3().normalize(),
        angle: inputs.one_of(&[0.0, 0.3, 2.0, std::f64::consts::PI]),
        intensity: f64::from(inputs.unit()) + 1e-6,
    }
}

/// A tree over three lights, their trails, and the middle of the first light.
type Tree = ([LightPair; 2], [u32; 3], Vec3);

/// Returns the trees to draw from. Building one takes as long as many calls of the functions under test.
fn trees() -> &'static [Tree] {
    static TREES: OnceLock<Vec<Tree>> = OnceLock::new();
    TREES.get_or_init(|| {
        let mut inputs = Inputs::new(1);
        let trees = (0..1 << 14).map(|_| {
            let lights: [LightBounds; 3] = std::array::from_fn(|_| bounded(&mut inputs));
            let (pairs, trails) = light_tree(&lights);
            let middle = ((lights[0].low + lights[0].high) / 2.0).as_vec3();
            (
                pairs.try_into().unwrap(),
                trails.try_into().unwrap(),
                middle,
            )
        });
        trees.collect()
    })
}

/// Returns a tree over three lights, their trails, and a reference point.
pub(super) fn tree_and_point(inputs: &mut Inputs) -> Tree {
    let (mut pairs, trails, middle) = inputs.one_of(trees());
    let drawn = inputs.draw();
    let near = inputs.one_of(&inputs.harvest.hits).0.origin;
    let point = inputs.one_of(&[drawn, middle, near, near, near, near]);
    if inputs.below(8) == 0 {
        let (pair, side) = (&mut pairs[inputs.below(2)], inputs.below(2));
        pair.intensities[side] = inputs.draw::<f32>().abs();
        pair.cones[side][3] = inputs.draw();
    }
    (pairs, trails, point)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            (
                "light_tree",
                "node_of",
                "+[](LightPair pair, u32 side) { return node_of(pair, pair, side); }"
            ),
            |inputs| {
                let (pairs, ..) = tree_and_point(inputs);
                (inputs.one_of(&pairs), inputs.below(2) as u32)
            },
            |pair: LightPair, side: u32| pair.node(side as usize)
        ),
        twin!(
            ("light_tree", "importance", "importance"),
            |inputs| {
                let (pairs, _, point) = tree_and_point(inputs);
                (inputs.one_of(&pairs).node(inputs.below(2)), point)
            },
            |node: LightNode, point: Vec3| importance(&node, point)
        ),
        // The importances must not both be 0.
        twin!(
            ("light_tree", "first_width", "first_width"),
            |inputs| {
                let mut number = || inputs.draw::<f32>().abs().min(1e30);
                let (first, second) = (number(), number().max(1e-30));
                let (first, second) = inputs.one_of(&[(first, second), (second, first)]);
                (
                    first,
                    second,
                    inputs.draw::<u32>() % (PROBABILITY_UNITS + 1),
                )
            },
            |first: f32, second: f32, width: u32| first_width(first, second, width)
        ),
        twin!(
            (
                "light_tree",
                "choose_from_tree",
                "+[](calls::Several<LightPair, 2> pairs, Vec3 point, u32 place, u32 width) {
                    return choose_from_tree(pairs.items, point, place, width);
                }"
            ),
            |inputs| {
                let (pairs, _, point) = tree_and_point(inputs);
                let width = 1 + inputs.draw::<u32>() % PROBABILITY_UNITS;
                (pairs, point, inputs.draw::<u32>() % width, width)
            },
            |pairs: [LightPair; 2], point: Vec3, place: u32, width: u32| choose_from_tree(
                &pairs, point, place, width
            )
        ),
        twin!(
            (
                "light_tree",
                "light_probability",
                "+[](calls::Several<LightPair, 2> pairs, Vec3 point, u32 trail, u32 width) {
                    return light_probability(pairs.items, point, trail, width);
                }"
            ),
            |inputs| {
                let (pairs, trails, point) = tree_and_point(inputs);
                let width = 1 + inputs.draw::<u32>() % PROBABILITY_UNITS;
                (pairs, point, inputs.one_of(&trails), width)
            },
            |pairs: [LightPair; 2], point: Vec3, trail: u32, width: u32| light_probability(
                &pairs, point, trail, width
            )
        ),
    ]
}
