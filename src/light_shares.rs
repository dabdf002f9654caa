//! The probabilities of groups of lights, learned from what the camera sees.
//!
//! A room with a lamp is dark for the sun outside, however strong that is, and a light sample towards the sun is in vain
//! there. Before a render, a fixed set of camera paths measures how much of their light comes from each group of
//! [`light_groups`](crate::lights::light_groups), and from each upper node of the light tree. The counts are whole
//! numbers, so the result is a function of the scene and the camera, equal on all machines.
//!
//! The variance that light samples add to a pixel is the sum over groups of (second moment of the group's light) /
//! (probability of the group). Its minimum is at probabilities in proportion to the roots of the second moments (R. Y.
//! Rubinstein & D. P. Kroese, Simulation and the Monte Carlo Method, section 5.6). Light counts relative to the mean
//! light of its part of the picture, because noise is seen relative to brightness.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use crate::{
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::render_scene::RenderScene,
    lights::light_groups::{LightWeights, MAX_GROUPS, MAX_NODES},
    math::luminance,
    path::{NO_PRIMITIVE, Span, Throughput},
    sampler::sampler,
    stages::first_ray,
    vertex::{
        rays::{is_blocked, nearest_hit},
        shading::{Vertex, shade_path},
    },
};

/// Number of rows and columns of the cells into which the picture is divided.
const CELLS: u32 = 8;
/// Number of rows and columns of the paths of a cell that measure groups of lights.
const GROUP_PATHS: u32 = 8;
/// Number of rows and columns of the paths of a cell that measure upper nodes of the light tree.
const NODE_PATHS: u32 = 4;
/// Maximum number of scattering events of a path.
const MAX_BOUNCES: u32 = 4;
/// Maximum light of a path relative to the mean of its cell. A path that happens to end close to a lamp decides nothing.
const MAX_RELATIVE: f64 = 32.0;
/// Unit of the sums of squares of relative light.
const SQUARE_UNIT: f64 = 65_536.0;
/// Number of steps of probability. Each group keeps at least one, because light that no path has found may still come
/// from it.
const STEPS: f64 = 32.0;
/// Ratio of an upper node's mean probability to its share of light from which on its lights count as hidden.
const HIDDEN: f64 = 16.0;
/// Minimum mean probability of an upper node whose lights count as hidden.
const MIN_HIDDEN: f64 = 1.0 / 256.0;
/// Maximum number of parts that are compared.
const MAX_PARTS: usize = if MAX_GROUPS > MAX_NODES {
    MAX_GROUPS
} else {
    MAX_NODES
};

/// What camera paths find about the light of several parts of a scene's lights.
#[derive(Default)]
struct Measurement {
    /// For each part the sum over all paths of the square of its light, relative to the mean light of all parts in the
    /// path's cell; in 1 / [`SQUARE_UNIT`].
    squares: [u64; MAX_PARTS],
    /// For each upper node of the light tree the sum over all vertices of its probability.
    widths: [u64; MAX_NODES],
}

/// Returns the scene with the probabilities of lights for this camera; the same scene if they do not depend on it.
/// `max_bounces` is that of the render.
pub fn for_camera(scene: &Arc<RenderScene>, camera: &Camera, max_bounces: u32) -> Arc<RenderScene> {
    let (groups, nodes) = (
        scene.light_groups().count(),
        scene.light_groups().node_count(),
    );
    let mut weights = LightWeights::default();
    let mut lit = scene.clone();
    if nodes > 0 {
        let parts: Vec<RenderScene> = (0..nodes).map(|node| scene.with_light_node(node)).collect();
        let measured = measure(scene, &parts, camera, max_bounces, NODE_PATHS);
        weights.nodes = node_exponents(&measured.squares[..nodes], &measured.widths[..nodes]);
        if weights != LightWeights::default() {
            lit = Arc::new(scene.with_light_weights(weights));
        }
    }
    if groups > 0 {
        let mut parts = Vec::new();
        for group in 0..groups {
            let mut only = weights;
            only.groups = [0; MAX_GROUPS];
            only.groups[group] = 1;
            parts.push(lit.with_light_weights(only));
        }
        let measured = measure(&lit, &parts, camera, max_bounces, GROUP_PATHS);
        weights.groups = group_weights(&measured.squares[..groups]);
        lit = Arc::new(lit.with_light_weights(weights));
    }
    lit
}

/// Returns whether the probabilities of the scene's lights depend on the camera.
pub(crate) fn depend_on_camera(scene: &RenderScene) -> bool {
    scene.light_groups().count() + scene.light_groups().node_count() > 0
}

/// Returns the shares of parts, in proportion to the roots of their sums of squares; `None` if none has light.
fn shares(squares: &[u64]) -> Option<Vec<f64>> {
    let roots: Vec<f64> = squares
        .iter()
        .map(|&square| (square as f64).sqrt())
        .collect();
    let total: f64 = roots.iter().sum();
    (total > 0.0).then(|| roots.into_iter().map(|root| root / total).collect())
}

/// Returns the weights of groups with these sums of squares.
fn group_weights(squares: &[u64]) -> [u32; MAX_GROUPS] {
    let mut weights = [0; MAX_GROUPS];
    let equal = || vec![0.0; squares.len()];
    let shares = shares(squares).unwrap_or_else(equal);
    for (weight, share) in weights.iter_mut().zip(shares) {
        *weight = ((share * STEPS).round() as u32).max(1);
    }
    weights
}

/// Returns the exponents of the factors of upper nodes of the light tree with these sums of squares and of
/// probabilities.
///
/// The tree knows distance and direction at each point, so that its probabilities are better than any factor, except
/// where it does not know that something hides a light. Only nodes that get [`HIDDEN`] times as many samples as their
/// share of light get a factor, which corrects their mean probability to that share.
fn node_exponents(squares: &[u64], widths: &[u64]) -> [i32; MAX_NODES] {
    let mut exponents = [0; MAX_NODES];
    let total: f64 = widths.iter().map(|&width| width as f64).sum();
    let Some(shares) = shares(squares).filter(|_| total > 0.0) else {
        return exponents;
    };
    let chances: Vec<f64> = widths.iter().map(|&width| width as f64 / total).collect();
    let wanted: Vec<Option<f64>> = shares
        .iter()
        .zip(&chances)
        .map(|(&share, &chance)| {
            let wanted = share.max(MIN_HIDDEN);
            (share * HIDDEN < chance && wanted < chance).then_some(wanted)
        })
        .collect();
    let seen = chances
        .iter()
        .zip(&wanted)
        .filter(|(_, wanted)| wanted.is_none());
    let seen: f64 = seen.map(|(chance, _)| chance).sum();
    let rest = 1.0 - wanted.iter().flatten().sum::<f64>();
    for ((exponent, chance), wanted) in exponents.iter_mut().zip(chances).zip(wanted) {
        if let Some(wanted) = wanted {
            // Lights that are seen may never have been chosen.
            let factor = wanted / chance * (seen / rest).max(f64::from(f32::EPSILON));
            *exponent = libm::log2(factor).round() as i32;
        }
    }
    exponents
}

/// Traces the camera paths, a square of `side` by `side` in each cell. Each of `parts` is `scene` with light samples of
/// one part of its lights.
fn measure(
    scene: &RenderScene,
    parts: &[RenderScene],
    camera: &Camera,
    max_bounces: u32,
    side: u32,
) -> Measurement {
    let of_cell = |cell: u32| {
        let mut measurement = Measurement::default();
        let mut lights = Vec::new();
        for path in 0..side * side {
            let place = (
                cell % CELLS * side + path % side,
                cell / CELLS * side + path / side,
            );
            let widths = &mut measurement.widths;
            lights.push(if scene.is_plain() {
                light_of_parts::<false>(
                    scene,
                    parts,
                    camera,
                    max_bounces,
                    (place, CELLS * side),
                    widths,
                )
            } else {
                light_of_parts::<true>(
                    scene,
                    parts,
                    camera,
                    max_bounces,
                    (place, CELLS * side),
                    widths,
                )
            });
        }
        measurement.squares = relative_squares(&lights);
        measurement
    };
    let cells = (0..CELLS * CELLS).into_par_iter();
    cells
        .map(of_cell)
        .reduce(Measurement::default, Measurement::plus)
}

impl Measurement {
    /// Returns the sum of both.
    fn plus(mut self, other: Measurement) -> Measurement {
        let of_self = self.squares.iter_mut().chain(&mut self.widths);
        for (sum, each) in of_self.zip(other.squares.iter().chain(&other.widths)) {
            *sum += each;
        }
        self
    }
}

/// Returns for each part the sum over the paths of a cell of the square of its light, see [`Measurement::squares`].
fn relative_squares(lights: &[[f64; MAX_PARTS]]) -> [u64; MAX_PARTS] {
    let all: f64 = lights.iter().flatten().sum();
    let mean = all / lights.len() as f64;
    let mut squares = [0; MAX_PARTS];
    if mean > 0.0 && mean.is_finite() {
        for light in lights {
            for (square, part) in squares.iter_mut().zip(light) {
                let relative = (part / mean).min(MAX_RELATIVE);
                *square += (relative * relative * SQUARE_UNIT) as u64;
            }
        }
    }
    squares
}

/// Traces a path, given by its column and row in a grid and the size of the grid, and returns the light samples of each part: luminance times
/// throughput, 0 where something blocks them. Adds the probabilities of the upper nodes at each vertex to `widths`.
fn light_of_parts<const INSTANCED: bool>(
    scene: &RenderScene,
    parts: &[RenderScene],
    camera: &Camera,
    max_bounces: u32,
    ((column, row), grid): ((u32, u32), u32),
    widths: &mut [u64; MAX_NODES],
) -> [f64; MAX_PARTS] {
    let (width, height) = camera.size();
    // Paths are at the centres of a grid over the whole picture.
    let within = |place: u32, size: u32| {
        ((2 * u64::from(place) + 1) * u64::from(size) / (2 * u64::from(grid))) as u32
    };
    let pixel = within(row, height) * width + within(column, width);
    // No render has this sample, so that the probabilities do not depend on the film's samples.
    let sample = u32::MAX;
    let numbers = sampler(0, pixel, sample);
    let span = Span {
        width,
        ..Span::default()
    };
    let mut ray = first_ray(camera, &span, pixel, sample);
    let mut throughput = Throughput {
        rgb: Vec3::ONE,
        eta_scale: 1.0,
    };
    let mut instance = NO_INSTANCE;
    let mut light = [0.0; MAX_PARTS];
    for bounce in 0..max_bounces.min(MAX_BOUNCES) {
        let found = nearest_hit::<INSTANCED>(scene, &ray, instance, numbers, bounce);
        instance = found.instance;
        if found.hit.primitive == NO_PRIMITIVE {
            break;
        }
        let shaded = Vertex::new(numbers, bounce, instance, ray, throughput);
        let (mut goes_on, mut next) = (false, (ray, throughput));
        for (part, sum) in parts.iter().zip(&mut light) {
            let mut vertex = shaded.clone();
            // The choice of a light does not change the next ray.
            goes_on = shade_path::<INSTANCED>(part, true, &found.hit, &mut vertex);
            next = (vertex.ray, vertex.throughput);
            let (shadow_ray, to) = (&vertex.shadow_ray, vertex.light_instance);
            let arrives = shadow_ray.distance > 0.0
                && !is_blocked::<INSTANCED>(part, shadow_ray, instance, to, numbers, bounce);
            if arrives {
                *sum += f64::from(luminance(shadow_ray.light));
            }
        }
        if !goes_on {
            break;
        }
        (ray, throughput) = next;
        let at_vertex = scene
            .light_groups()
            .node_widths(&scene.light_pairs, ray.origin);
        for (sum, width) in widths.iter_mut().zip(at_vertex) {
            *sum += u64::from(width);
        }
    }
    light
}
