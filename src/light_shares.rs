//! The probabilities of groups of lights, learned from what the camera sees.
//!
//! A room with a lamp is dark for the sun outside, however strong that is, and a light sample towards the sun is in vain
//! there. Before a render, a fixed set of camera paths measures how much of their light comes from each group of
//! [`light_groups`](crate::lights::light_groups), and from each upper node of the light tree. The counts are whole
//! numbers, so the result is a function of the scene and the camera, equal on all machines.
//!
//! A light sample chooses one group and divides by its probability. Its second moment is the sum over groups of (second
//! moment of the group's light) / (probability of the group). By the Cauchy–Schwarz inequality, that is least if the
//! probabilities are in proportion to the roots of the second moments. Light counts relative to the mean light of its
//! part of the picture, because noise is seen relative to brightness.

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
        boundaries::{arriving_light, pass_boundaries},
        rays::nearest_hit,
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
/// Number of steps of probability.
const STEPS: f64 = 32.0;
/// Weight of one step. A group with less light than half a step keeps a part of its share of light or of power, from a
/// weight of 1 to one step, because light that no path has found may still come from it.
const STEP: f64 = 32.0;
/// Part of its share that a group with less light than half a step keeps. Even 1 % of the light samples would occupy
/// some lane of every third warp with lights that hardly anybody sees. A quarter of them adds at most 4 % to the
/// variance of light samples.
const HARDLY_SEEN: f64 = 0.25;
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
        let paths = Paths::new(scene, camera, max_bounces, NODE_PATHS);
        let squares = paths.squares(nodes, |node| scene.with_light_node(node));
        weights.nodes = node_exponents(&squares[..nodes], &paths.widths()[..nodes]);
        if weights != LightWeights::default() {
            lit = Arc::new(scene.with_light_weights(weights));
        }
    }
    if groups > 0 {
        let paths = Paths::new(&lit, camera, max_bounces, GROUP_PATHS);
        let squares = paths.squares(groups, |group| {
            let mut only = weights;
            only.groups = [0; MAX_GROUPS];
            only.groups[group] = 1;
            lit.with_light_weights(only)
        });
        weights.groups = group_weights(&squares[..groups], scene.light_groups().powers());
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

/// Returns the weights of groups with these sums of squares and these shares of all power.
fn group_weights(squares: &[u64], powers: &[f64]) -> [u32; MAX_GROUPS] {
    let mut weights = [STEP as u32; MAX_GROUPS];
    weights[squares.len()..].fill(0);
    let Some(shares) = shares(squares) else {
        return weights;
    };
    for ((weight, share), &power) in weights.iter_mut().zip(shares).zip(powers) {
        let seen = (share * STEPS).round() * STEP;
        let least = (share.max(power) * HARDLY_SEEN * STEPS * STEP)
            .round()
            .clamp(1.0, STEP);
        *weight = seen.max(least) as u32;
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

/// The camera paths that measure light, at the centers of a grid over the picture.
struct Paths<'a> {
    scene: &'a RenderScene,
    camera: &'a Camera,
    /// Maximum number of scattering events.
    max_bounces: u32,
    /// Each of the 8 by 8 cells of the picture has `cell_side` by `cell_side` paths.
    cell_side: u32,
}

impl Paths<'_> {
    fn new<'a>(
        scene: &'a RenderScene,
        camera: &'a Camera,
        max_bounces: u32,
        cell_side: u32,
    ) -> Paths<'a> {
        Paths {
            scene,
            camera,
            max_bounces: max_bounces.min(MAX_BOUNCES),
            cell_side,
        }
    }

    /// Returns the number of paths. Those of a cell are adjacent.
    fn count(&self) -> u32 {
        CELLS * CELLS * self.cell_side * self.cell_side
    }

    /// Returns for each part of the lights the sum over all paths of the square of its light, relative to the mean light of
    /// all parts in the path's cell, in 1 / [`SQUARE_UNIT`]. The scene that `part` returns has light samples of one
    /// part only; one at a time is in memory.
    fn squares(&self, parts: usize, part: impl Fn(usize) -> RenderScene) -> [u64; MAX_PARTS] {
        let mut lights = vec![[0.0; MAX_PARTS]; self.count() as usize];
        for at in 0..parts {
            let only = part(at);
            let light_of = |path: u32| {
                let mut light = 0.0;
                self.walk(&only, path, |vertex, _| {
                    light += sampled_light(&only, vertex)
                });
                light
            };
            let found: Vec<f64> = (0..self.count()).into_par_iter().map(light_of).collect();
            for (light, found) in lights.iter_mut().zip(found) {
                light[at] = found;
            }
        }
        let mut squares = [0; MAX_PARTS];
        for cell in lights.chunks((self.cell_side * self.cell_side) as usize) {
            let all: f64 = cell.iter().flatten().sum();
            let mean = all / cell.len() as f64;
            if mean > 0.0 && mean.is_finite() {
                for light in cell {
                    for (square, part) in squares.iter_mut().zip(light) {
                        let relative = (part / mean).min(MAX_RELATIVE);
                        *square += (relative * relative * SQUARE_UNIT) as u64;
                    }
                }
            }
        }
        squares
    }

    /// Returns for each upper node of the light tree the sum of its probability over all vertices where paths go on.
    fn widths(&self) -> [u64; MAX_NODES] {
        let of_path = |path: u32| {
            let mut widths = [0; MAX_NODES];
            self.walk(self.scene, path, |vertex, goes_on| {
                if !goes_on {
                    return;
                }
                let groups = self.scene.light_groups();
                let here = groups.node_widths(&self.scene.light_pairs, vertex.ray.origin);
                add(&mut widths, here.map(u64::from));
            });
            widths
        };
        let paths = (0..self.count()).into_par_iter();
        paths.map(of_path).reduce(
            || [0; MAX_NODES],
            |mut sum, each| {
                add(&mut sum, each);
                sum
            },
        )
    }

    /// Traces a path through `scene`, and calls `visit` with each vertex after shading, and with whether the path goes
    /// on.
    fn walk(&self, scene: &RenderScene, path: u32, visit: impl FnMut(&Vertex, bool)) {
        if scene.is_plain() {
            self.walk_in::<false>(scene, path, visit);
        } else {
            self.walk_in::<true>(scene, path, visit);
        }
    }

    fn walk_in<const INSTANCED: bool>(
        &self,
        scene: &RenderScene,
        path: u32,
        mut visit: impl FnMut(&Vertex, bool),
    ) {
        let (width, height) = self.camera.size();
        let (cell, within) = (
            path / (self.cell_side * self.cell_side),
            path % (self.cell_side * self.cell_side),
        );
        let place = |cell: u32, within: u32, size: u32| {
            let place = u64::from(cell * self.cell_side + within);
            let grid = u64::from(CELLS * self.cell_side);
            ((2 * place + 1) * u64::from(size) / (2 * grid)) as u32
        };
        let column = place(cell % CELLS, within % self.cell_side, width);
        let row = place(cell / CELLS, within / self.cell_side, height);
        let pixel = row * width + column;
        // No render has this sample, so that the probabilities do not depend on the film's samples.
        let sample = u32::MAX;
        let numbers = sampler(0, pixel, sample);
        let span = Span {
            width,
            ..Span::default()
        };
        let mut ray = first_ray(self.camera, &span, pixel, sample);
        let mut throughput = Throughput {
            rgb: Vec3::ONE,
            eta_scale: 1.0,
        };
        let (mut instance, mut bodies) = (NO_INSTANCE, self.camera.bodies);
        for bounce in 0..self.max_bounces {
            let mut found = nearest_hit::<INSTANCED>(scene, &ray, instance, numbers, bounce);
            if scene.has_boundaries() {
                bodies = pass_boundaries(scene, &ray, numbers, bounce, &mut found, bodies);
            }
            instance = found.instance;
            if found.hit.primitive == NO_PRIMITIVE {
                break;
            }
            let mut vertex = Vertex::new(numbers, bounce, instance, ray, throughput);
            vertex.bodies = bodies;
            let goes_on = shade_path::<INSTANCED>(scene, true, &found.hit, &mut vertex).is_ok();
            visit(&vertex, goes_on);
            if !goes_on {
                break;
            }
            (ray, throughput, bodies) = (vertex.ray, vertex.throughput, vertex.bodies);
        }
    }
}

/// Returns the light that arrives by the light sample of a shaded vertex: luminance times throughput, 0 where something
/// blocks it.
fn sampled_light(scene: &RenderScene, vertex: &Vertex) -> f64 {
    let shadow_ray = &vertex.shadow_ray;
    if shadow_ray.distance <= 0.0 {
        return 0.0;
    }
    let arriving = if scene.is_plain() {
        arriving_light::<false>(scene, vertex, vertex.instance)
    } else {
        arriving_light::<true>(scene, vertex, vertex.instance)
    };
    arriving.map_or(0.0, |light| f64::from(luminance(light)))
}

/// Adds the second list to the first.
fn add(sums: &mut [u64; MAX_NODES], more: [u64; MAX_NODES]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}
