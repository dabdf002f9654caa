//! Light samples of a block of paths.

use super::{Block, F32Array, PATHS, U32Array, Vec3Array, select_by_mask};
use crate::{
    accel::{
        primitive::{Primitive, SPHERE, TRIANGLE},
        vectors::transpose,
    },
    lights::{
        area_light::{area_pdf_of_width, sample_sphere},
        light::{
            EMITTER, Light, LightSample, Lights, NO_SAMPLE, choose_light, sample_chosen,
            sample_light, sample_triangle,
        },
        light_tree::{HAS_CONE, LEAF, LightPair, NO_LIGHT, first_width, importance},
    },
    math::luminance,
    sampler::unit,
};

use std::mem::offset_of;

use glam::Vec3;

/// Maximum number of lights for which a loop over all lights selects that of each path. It needs no branches, unlike
/// the search in a longer table.
const FEW_LIGHTS: usize = 8;

/// Number of quadruples of floats in each half of a [`LightPair`]. The second half begins with the cones.
const HALF: usize = size_of::<LightPair>() / size_of::<[[f32; 4]; 2]>();

const _: () = assert!(offset_of!(LightPair, cones) == size_of::<[[f32; 4]; HALF]>());

/// A pair of nodes of the light tree for each path of a block.
struct PairArray {
    /// The fields of each [`LightPair`] that come before its cones.
    before_cones: [[F32Array; 4]; HALF],
    /// The other fields. Stale unless [`Self::read_cones`] was called.
    cones: [[F32Array; 4]; HALF],
}

impl PairArray {
    /// Nodes at the origin that emit nothing.
    const EMPTY: PairArray = PairArray {
        before_cones: [[[0.0; PATHS]; 4]; HALF],
        cones: [[[0.0; PATHS]; 4]; HALF],
    };

    /// Reads the pairs with these indices, without their cones.
    #[inline(always)]
    fn read(&mut self, pairs: &[LightPair], indices: &U32Array) {
        transpose(
            &mut self.before_cones,
            #[inline(always)]
            |at| &halves(pairs, indices[at])[0],
        );
    }

    /// Reads the cones of the pairs with these indices, which must be those of the pairs.
    #[inline(always)]
    fn read_cones(&mut self, pairs: &[LightPair], indices: &U32Array) {
        transpose(
            &mut self.cones,
            #[inline(always)]
            |at| &halves(pairs, indices[at])[1],
        );
    }

    /// Returns the pair of the path at this index.
    #[inline(always)]
    fn pair(&self, at: usize) -> LightPair {
        let mut halves = [[[0.0; 4]; HALF]; 2];
        for (half, columns) in halves.iter_mut().zip([&self.before_cones, &self.cones]) {
            for (quadruple, columns) in half.iter_mut().zip(columns) {
                for (number, column) in quadruple.iter_mut().zip(columns) {
                    *number = column[at];
                }
            }
        }
        bytemuck::cast(halves)
    }

    /// Returns the pair of the path at this index as if both nodes emitted in all directions.
    #[inline(always)]
    fn pair_without_cones(&self, at: usize) -> LightPair {
        let pair = self.pair(at);
        let [first, second] = pair.links;
        LightPair {
            links: [first & !HAS_CONE, second & !HAS_CONE],
            ..pair
        }
    }

    /// Returns whether any of the nodes does not emit in all directions.
    #[inline(always)]
    fn has_cones(&self) -> bool {
        let mut links = 0;
        for at in 0..PATHS {
            let [first, second] = self.pair(at).links;
            links |= first | second;
        }
        links & HAS_CONE != 0
    }
}

/// Returns the pair with this index as two halves.
#[inline(always)]
fn halves(pairs: &[LightPair], index: u32) -> &[[[f32; 4]; HALF]; 2] {
    bytemuck::cast_ref(&pairs[index as usize])
}

/// The light that each path of a block has chosen from the light tree.
struct ChosenLights {
    /// Index in the table of lights, or `NO_LIGHT` if the path does not choose from the tree, or if nothing in the tree
    /// lights the path's point.
    lights: U32Array,
    /// Probability in units of 1 / `PROBABILITY_UNITS`.
    widths: U32Array,
}

impl Block {
    /// Samples a point on a light for each path. With a light tree, the paths descend it together, points on spheres are
    /// sampled together, and others one by one. Without one, if all lights are triangles, everything is done together;
    /// otherwise one by one.
    #[inline(always)]
    pub(super) fn sample_lights(&mut self, lights: &Lights) {
        let light_params = &lights.light_params;
        let is_triangle = |light: &Light| {
            light.kind == EMITTER && lights.primitives[light.index as usize].is_triangle()
        };
        if light_params.tree_lights > 0 {
            let chosen = self.choose_from_tree(lights.light_pairs, light_params.tree_share);
            let is_sphere = self.sample_chosen_spheres(lights, &chosen);
            for at in (0..self.count).filter(|&at| !is_sphere[at]) {
                let origin = self.ray_origins.get(at);
                let (u, v) = (self.light_u[at], self.light_v[at]);
                let sample = if self.light_choices[at] >> 1 >= light_params.tree_share {
                    sample_light(lights, origin, self.light_choices[at], u, v)
                } else if chosen.lights[at] == NO_LIGHT {
                    NO_SAMPLE
                } else {
                    let chosen = (chosen.lights[at], chosen.widths[at], true);
                    sample_chosen(lights, chosen, origin, u, v)
                };
                self.set_light_sample(at, &sample);
                self.light_primitives[at] = sample.to_primitive;
            }
            return;
        }
        if !lights.table.iter().all(is_triangle) {
            for at in 0..self.count {
                let sample = sample_light(
                    lights,
                    self.ray_origins.get(at),
                    self.light_choices[at],
                    self.light_u[at],
                    self.light_v[at],
                );
                self.set_light_sample(at, &sample);
                self.light_primitives[at] = sample.to_primitive;
            }
            return;
        }
        if lights.table.len() <= FEW_LIGHTS {
            self.choose_among_few_lights(lights);
        } else {
            for at in 0..self.count {
                let choice = unit(self.light_choices[at]);
                let light = choose_light(lights.table, light_params.light_count, choice);
                let chosen = TriangleLight::new(lights, light);
                self.light_a.set(at, chosen.primitive.a);
                self.light_b.set(at, chosen.primitive.b);
                self.light_c.set(at, chosen.primitive.c);
                self.light_radiances.set(at, chosen.radiance);
                self.light_area_pdfs[at] = chosen.area_pdf;
                self.light_primitives[at] = chosen.primitive_index;
            }
        }
        for at in 0..PATHS {
            let light = Primitive {
                a: self.light_a.get(at),
                b: self.light_b.get(at),
                c: self.light_c.get(at),
                kind_bits: TRIANGLE,
                material: 0,
                number: 0,
            };
            let sample = sample_triangle(
                &light,
                self.light_radiances.get(at),
                self.light_area_pdfs[at],
                self.ray_origins.get(at),
                unit(self.light_u[at]),
                unit(self.light_v[at]),
            );
            self.set_light_sample(at, &sample);
        }
    }

    /// Chooses a light from the tree for each path, as the scalar
    /// [`choose_from_tree`](crate::lights::light_tree::choose_from_tree), one level of the tree at a time. `share` is
    /// the probability of choosing from the tree, in units of 1 / `PROBABILITY_UNITS`.
    #[inline(always)]
    fn choose_from_tree(&self, light_pairs: &[LightPair], share: u32) -> ChosenLights {
        let mut widths = [share; PATHS];
        // A loop, because `array::map` may become a call of a function without vector instructions.
        let mut places = [0; PATHS];
        for (place, &choice) in places.iter_mut().zip(&self.light_choices) {
            *place = choice >> 1;
        }
        // A path stops at a leaf, or at `NO_LIGHT`, which is larger than all leaves.
        let mut links = [NO_LIGHT; PATHS];
        for (link, &place) in links.iter_mut().zip(&places).take(self.count) {
            if place < share {
                *link = 0;
            }
        }
        let mut pairs = PairArray::EMPTY;
        let [mut firsts, mut seconds] = [[0.0; PATHS]; 2];
        let mut indices = [0; PATHS];
        let mut descends = true;
        while descends {
            for at in 0..PATHS {
                // Paths that have stopped read the first pair.
                indices[at] = if links[at] < LEAF { links[at] } else { 0 };
            }
            pairs.read(light_pairs, &indices);
            if pairs.has_cones() {
                pairs.read_cones(light_pairs, &indices);
                for at in 0..PATHS {
                    let point = self.ray_origins.get(at);
                    let pair = pairs.pair(at);
                    firsts[at] = importance(&pair.node(0), point);
                    seconds[at] = importance(&pair.node(1), point);
                }
            } else {
                // The same, but the compiler knows that the cones are not needed.
                for at in 0..PATHS {
                    let point = self.ray_origins.get(at);
                    let pair = pairs.pair_without_cones(at);
                    firsts[at] = importance(&pair.node(0), point);
                    seconds[at] = importance(&pair.node(1), point);
                }
            }
            let mut interior = 0;
            for at in 0..PATHS {
                let is_lit = firsts[at] + seconds[at] > 0.0;
                let before = first_width(firsts[at], seconds[at], widths[at]);
                let after = widths[at].wrapping_sub(before);
                let takes_first = places[at] < before;
                let (width, skipped) = if takes_first {
                    (before, 0)
                } else {
                    (after, before)
                };
                let [first, second] = pairs.pair_without_cones(at).links;
                // A selection by branches becomes slow reads of one array or the other.
                let child = second ^ ((first ^ second) & u32::from(takes_first).wrapping_neg());
                let link = if is_lit { child } else { NO_LIGHT };
                let goes_on = links[at] < LEAF;
                widths[at] = if goes_on { width } else { widths[at] };
                places[at] = places[at].wrapping_sub(skipped);
                links[at] = if goes_on { link } else { links[at] };
                interior |= u32::from(links[at] < LEAF);
            }
            descends = interior != 0;
        }
        for link in &mut links {
            *link = if *link == NO_LIGHT {
                NO_LIGHT
            } else {
                *link - LEAF
            };
        }
        ChosenLights {
            lights: links,
            widths,
        }
    }

    /// Samples a point on the sphere that each path has chosen from the light tree. Returns which paths have chosen a
    /// sphere; the samples of the others are stale.
    #[inline(always)]
    #[expect(
        clippy::needless_range_loop,
        reason = "all arrays are walked side by side, as the lanes of vectors"
    )]
    fn sample_chosen_spheres(&mut self, lights: &Lights, chosen: &ChosenLights) -> [bool; PATHS] {
        let mut is_sphere = [false; PATHS];
        let mut centers = Vec3Array::ZERO;
        let mut radii = [0.0; PATHS];
        for at in 0..self.count {
            if chosen.lights[at] == NO_LIGHT {
                continue;
            }
            let light = &lights.table[chosen.lights[at] as usize];
            if light.kind != EMITTER {
                continue;
            }
            let primitive = &lights.primitives[light.index as usize];
            if !primitive.is_sphere() {
                continue;
            }
            is_sphere[at] = true;
            centers.set(at, primitive.a);
            radii[at] = primitive.b.x;
            let material = &lights.materials[primitive.material as usize];
            self.light_radiances.set(at, material.emission);
            self.light_primitives[at] = light.index;
        }
        if is_sphere == [false; PATHS] {
            return is_sphere;
        }
        for at in 0..PATHS {
            let light = Primitive {
                a: centers.get(at),
                b: Vec3::new(radii[at], 0.0, 0.0),
                c: Vec3::ZERO,
                kind_bits: SPHERE,
                material: 0,
                number: 0,
            };
            let sample = sample_sphere(
                &light,
                self.light_radiances.get(at),
                area_pdf_of_width(&light, chosen.widths[at]),
                self.ray_origins.get(at),
                unit(self.light_u[at]),
                unit(self.light_v[at]),
            );
            self.set_light_sample(at, &sample);
        }
        is_sphere
    }

    /// Chooses the same lights as [`choose_light`], from a table of few triangle lights. It selects by bit masks,
    /// because branches on the chosen light would often be mispredicted.
    #[inline(always)]
    #[expect(
        clippy::needless_range_loop,
        reason = "all arrays are walked side by side, as the lanes of vectors"
    )]
    fn choose_among_few_lights(&mut self, lights: &Lights) {
        let mut chosen_lights = [0; PATHS];
        for light in &lights.table[..lights.light_params.light_count as usize - 1] {
            for at in 0..PATHS {
                chosen_lights[at] += u32::from(unit(self.light_choices[at]) >= light.cumulative);
            }
        }
        for light in 0..lights.light_params.light_count {
            let candidate = TriangleLight::new(lights, light);
            let mut masks = [0; PATHS];
            for at in 0..PATHS {
                masks[at] = u32::from(chosen_lights[at] == light).wrapping_neg();
            }
            let candidate_vectors = [
                (&mut self.light_a, candidate.primitive.a),
                (&mut self.light_b, candidate.primitive.b),
                (&mut self.light_c, candidate.primitive.c),
                (&mut self.light_radiances, candidate.radiance),
            ];
            for (Vec3Array { x, y, z }, vector) in candidate_vectors {
                for at in 0..PATHS {
                    x[at] = select_by_mask(masks[at], vector.x, x[at]);
                    y[at] = select_by_mask(masks[at], vector.y, y[at]);
                    z[at] = select_by_mask(masks[at], vector.z, z[at]);
                }
            }
            for at in 0..PATHS {
                self.light_area_pdfs[at] =
                    select_by_mask(masks[at], candidate.area_pdf, self.light_area_pdfs[at]);
                self.light_primitives[at] ^=
                    (self.light_primitives[at] ^ candidate.primitive_index) & masks[at];
            }
        }
    }

    /// Stores the light sample of the path at index `at`, except its primitive.
    #[inline(always)]
    fn set_light_sample(&mut self, at: usize, sample: &LightSample) {
        self.light_directions.set(at, sample.direction);
        self.light_distances[at] = sample.distance;
        self.light_pdfs[at] = sample.pdf;
        self.light_radiances.set(at, sample.radiance);
        self.is_delta_light[at] = sample.is_delta;
    }
}

/// An emissive triangle, as an entry of the table of lights.
struct TriangleLight<'a> {
    primitive: &'a Primitive,
    /// Index of the primitive.
    primitive_index: u32,
    /// Emitted radiance in linear sRGB.
    radiance: Vec3,
    /// Probability density, per area, with which points on the light are sampled.
    area_pdf: f32,
}

impl<'a> TriangleLight<'a> {
    /// Returns the light at index `light` of the table. It must be an emissive triangle.
    #[inline(always)]
    fn new(lights: &Lights<'a>, light: u32) -> TriangleLight<'a> {
        let primitive_index = lights.table[light as usize].index;
        let primitive = &lights.primitives[primitive_index as usize];
        let radiance = lights.materials[primitive.material as usize].emission;
        TriangleLight {
            primitive,
            primitive_index,
            radiance,
            area_pdf: luminance(radiance) * lights.light_params.inverse_power,
        }
    }
}
