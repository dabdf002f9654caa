//! Light samples of a block of paths.

use std::hint::black_box;

use super::MaterialBlock;
use crate::{
    accel::{
        arrays::{F32Array, PATHS, U32Array, Vec3Array},
        instance::{NO_INSTANCE, ray_origin},
    },
    device::render_scene::RenderScene,
    lights::{
        area_light::sample_sphere,
        environment::{IntervalPlace, choose_column, choose_row, column_target, direction_in},
        light::{
            EMITTER, ENVIRONMENT, LIGHT_SAMPLES, LightSample, Lights, NO_SAMPLE, choose_for,
            environment_sample, sample_chosen, sample_weight,
        },
        light_tree::NO_LIGHT,
    },
    math::{clamped, dot, luminance, max_component},
    path::NO_PRIMITIVE,
    sampler::unit,
    shading::{bsdf::diffuse_value, bsdf::layered::opaque_value, material::Material},
    stages::map_lookups::MapLookups,
    vertex::shading::light_target,
};

/// The light sample of each path of a block, as arrays of the fields of [`LightSample`].
#[derive(Default)]
pub(super) struct LightSamples {
    /// Directions to the sampled points, of length 1.
    pub(super) directions: Vec3Array,
    /// Distances to the sampled points in metres: `f32::MAX` at infinity, and 0 if the light does not illuminate the
    /// surface.
    pub(super) distances: F32Array,
    /// Probability densities per steradian; for a delta light, the probability of choosing it.
    pdfs: F32Array,
    /// Radiances of the lights towards the surfaces; for a delta light, the irradiance at normal incidence.
    radiances: Vec3Array,
    /// Indices of the lights' primitives, or `NO_PRIMITIVE` if the light is not a surface.
    pub(super) primitives: U32Array,
    /// Indices of the lights' instances, or `NO_INSTANCE`.
    pub(super) instances: U32Array,
    /// 1 for a delta light, otherwise 0.
    is_delta: U32Array,
    /// Samples of the environment map. They have indices of their own, because not all paths choose the map.
    environment: EnvironmentSamples,
}

impl LightSamples {
    /// Returns the sample at this index.
    #[inline(always)]
    fn get(&self, at: usize) -> LightSample {
        LightSample {
            direction: self.directions.get(at),
            distance: self.distances[at],
            pdf: self.pdfs[at],
            radiance: self.radiances.get(at),
            to_primitive: self.primitives[at],
            is_delta: self.is_delta[at],
        }
    }

    /// Replaces the sample at this index.
    #[inline(always)]
    fn set(&mut self, at: usize, sample: &LightSample) {
        self.directions.set(at, sample.direction);
        self.distances[at] = sample.distance;
        self.pdfs[at] = sample.pdf;
        self.radiances.set(at, sample.radiance);
        self.primitives[at] = sample.to_primitive;
        self.instances[at] = NO_INSTANCE;
        self.is_delta[at] = sample.is_delta;
    }
}

/// A position in an interval of a cumulative table for each sample, see [`IntervalPlace`].
#[derive(Default)]
struct IntervalPlaceArray {
    whole: U32Array,
    rest: U32Array,
    length: U32Array,
}

impl IntervalPlaceArray {
    #[inline(always)]
    fn get(&self, index: usize) -> IntervalPlace {
        IntervalPlace {
            whole: self.whole[index],
            rest: self.rest[index],
            length: self.length[index],
        }
    }

    #[inline(always)]
    fn set(&mut self, index: usize, place: IntervalPlace) {
        self.whole[index] = place.whole;
        self.rest[index] = place.rest;
        self.length[index] = place.length;
    }
}

/// Samples of the environment map, for some paths of a block.
#[derive(Default)]
struct EnvironmentSamples {
    /// Random bits that choose the column.
    u: U32Array,
    /// Random bits that choose the row.
    v: U32Array,
    /// Chosen rows.
    rows: U32Array,
    /// `EnvironmentRow::top` of the chosen rows.
    tops: F32Array,
    /// `EnvironmentRow::bottom` of the chosen rows.
    bottoms: F32Array,
    /// Chosen columns.
    columns: U32Array,
    /// Positions between the upper and the lower edges of the rows.
    down: IntervalPlaceArray,
    /// Positions between the left and the right edges of the texels.
    along: IntervalPlaceArray,
    /// Sampled directions, and the values of the map there.
    lookups: MapLookups,
}

impl EnvironmentSamples {
    /// Samples the first `count` directions by the random bits `u` and `v`, and computes pdf and radiance there.
    #[inline(always)]
    fn sample(&mut self, lights: &Lights, count: usize) {
        let environment = &lights.environment;
        let (rows, texels, guide) = (lights.rows, lights.texels, lights.guide);
        let mut targets = [(0, 0); PATHS];
        for at in 0..count {
            let (y, down) = choose_row(environment, rows, guide, self.v[at]);
            let row = &rows[y as usize];
            self.rows[at] = y;
            self.tops[at] = row.top;
            self.bottoms[at] = row.bottom;
            self.down.set(at, down);
        }
        for at in 0..count {
            targets[at] = column_target(environment, texels, self.rows[at], self.u[at]);
        }
        // Reads ahead: the search below branches, so that its reads would not overlap.
        let mut sum = 0;
        for at in 0..count {
            let first = guide[targets[at].1 as usize];
            sum ^= texels[(self.rows[at] * environment.width + first) as usize].cumulative;
        }
        black_box(sum);
        for at in 0..count {
            let (x, along) = choose_column(environment, texels, guide, self.rows[at], targets[at]);
            self.columns[at] = x;
            self.along.set(at, along);
        }
        for at in 0..PATHS {
            let edges = (self.tops[at], self.bottoms[at]);
            let (along, down) = (self.along.get(at), self.down.get(at));
            let direction = direction_in(environment, edges, self.columns[at], along, down);
            self.lookups.directions.set(at, direction);
        }
        self.lookups.look_up(lights, count);
    }
}

impl MaterialBlock {
    /// Samples a point on a light for each path. The samples of the environment map are computed together, as are those
    /// of a sphere that is the only light. Others are computed one by one.
    #[inline(always)]
    pub(super) fn sample_lights(&mut self, scene: &RenderScene) {
        let lights = &scene.lights();
        if self.sample_only_sphere(lights) {
            return;
        }
        let mut of_environment = [0; PATHS];
        let mut count = 0;
        for at in 0..self.count {
            let origin = self.ray_origins.get(at);
            let chosen = choose_for(lights, origin, self.light_choices[at]);
            let (u, v) = (self.light_u[at], self.light_v[at]);
            if chosen.0 == NO_LIGHT {
                self.lights.set(at, &NO_SAMPLE);
            } else if lights.table[chosen.0 as usize].kind == ENVIRONMENT {
                of_environment[count] = at;
                (
                    self.lights.environment.u[count],
                    self.lights.environment.v[count],
                ) = (u, v);
                count += 1;
            } else {
                let sample = sample_chosen(lights, chosen, origin, u, v);
                self.lights.set(at, &sample);
            }
        }
        if count == 0 {
            return;
        }
        self.lights.environment.sample(lights, count);
        for (index, &at) in of_environment[..count].iter().enumerate() {
            let samples = &self.lights.environment;
            let direction = samples.lookups.directions.get(index);
            let seen = samples.lookups.get(index);
            let sample = environment_sample(&lights.environment, direction, seen);
            self.lights.set(at, &sample);
        }
    }

    /// If the scene's only light is a sphere, samples a point on it for each path and returns `true`. Otherwise changes
    /// nothing and returns `false`.
    #[inline(always)]
    fn sample_only_sphere(&mut self, lights: &Lights) -> bool {
        let &[light] = lights.table else {
            return false;
        };
        let tree_lights = lights.light_params.tree_lights;
        if tree_lights > 0 || light.kind != EMITTER {
            return false;
        }
        let sphere = &lights.primitives[light.index as usize];
        if !sphere.is_sphere() {
            return false;
        }
        let radiance = lights.materials[sphere.material as usize].emission;
        let area_pdf = luminance(radiance) * lights.light_params.inverse_power;
        for at in 0..PATHS {
            let origin = self.ray_origins.get(at);
            let (u, v) = (unit(self.light_u[at]), unit(self.light_v[at]));
            let sample = sample_sphere(sphere, radiance, area_pdf, origin, u, v);
            self.lights.set(at, &sample);
            self.lights.primitives[at] = light.index;
        }
        true
    }

    /// Computes the shadow rays to the samples of `sample_lights`, and the radiance that they carry. It is weighted
    /// against BSDF sampling, and clamped by `clamp_indirect` from bounce 1 on.
    #[inline(always)]
    pub(super) fn weight_light_samples<const IS_LAYERED: bool>(
        &mut self,
        scene: &RenderScene,
        bounce: u32,
        material: &Material,
    ) {
        let mut cosines = [0.0; PATHS];
        let mut connects = [false; PATHS];
        for at in 0..PATHS {
            let surface = self.surfaces.get(at);
            let direction = self.lights.directions.get(at);
            let cosine = dot(surface.normal, direction);
            let shaded = dot(surface.shading, direction);
            let is_lifted = self.is_ray_origin_lifted[at];
            let above = (shaded > 0.0) & ((cosine > 0.0) | is_lifted);
            let below = (shaded < 0.0) & (cosine < 0.0);
            connects[at] =
                (self.lights.distances[at] > 0.0) & (above | below) & self.side_scatters[at];
            cosines[at] = shaded;
            // Transmitted light arrives on the far side.
            let (far_origin, _) = ray_origin(&surface, -1.0);
            let origin = self.ray_origins.get(at);
            self.shadow_origins
                .set(at, if below { far_origin } else { origin });
            self.is_shadow_lifted[at] = is_lifted & !below;
        }
        for at in 0..self.count {
            if connects[at] && self.lights.primitives[at] != NO_PRIMITIVE {
                let origin = self.shadow_origins.get(at);
                let sample = self.lights.get(at);
                let (to, instance, radiance) = light_target(scene, origin, &sample);
                self.lights.primitives[at] = to;
                self.lights.instances[at] = instance;
                self.lights.radiances.set(at, radiance);
            }
        }
        if IS_LAYERED {
            self.energies.look_up(
                &scene.energy,
                material.mirrors,
                &self.materials.alphas,
                &cosines,
                self.count,
            );
        }
        // The clamping of `clamp_indirect`, for light that scatters `bounce` + 1 times.
        let max_light = match bounce {
            0 => f32::INFINITY,
            _ => scene.light_params.max_indirect,
        };
        let strategies = scene.light_params.strategies;
        for at in 0..PATHS {
            let normal = self.surfaces.shading.get(at);
            let to_light = self.lights.directions.get(at);
            let value = if IS_LAYERED {
                let bsdf = self.layered_bsdf(at, material);
                let to_eye = -self.ray_directions.get(at);
                opaque_value(&bsdf, normal, to_eye, to_light, self.energies.get(at))
            } else {
                diffuse_value(self.materials.colors.get(at), normal, to_light)
            };
            let found = if self.lights.is_delta[at] == 1 {
                0.0
            } else {
                value.pdf
            };
            let pdf = self.lights.pdfs[at];
            let weight = sample_weight(strategies, LIGHT_SAMPLES, pdf, found);
            let light = self.throughputs.get(at)
                * value.color
                * self.lights.radiances.get(at)
                * (value.scale * weight / pdf);
            self.shadow_lights.set(at, clamped(light, max_light));
            let is_dark = max_component(light) <= 0.0;
            self.casts_shadow_ray[at] = connects[at] & !is_dark;
        }
    }
}
