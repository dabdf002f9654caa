//! shade on the CPU, where most paths are: at diffuse triangles that do not shine, in scenes without textures.
//!
//! Some paths at once, by the subject's functions in loops over arrays, which the compiler makes vector instructions of.
//! What each path gets is what [`shade_path`](crate::vertex::shading::shade_path) gives it, operation by operation.

use glam::Vec3;

use crate::{
    accel::primitive::{Primitive, TRIANGLE, surface_at},
    device::render_scene::RenderScene,
    lights::light::{
        EMITTER, LIGHT_SAMPLES, Light, LightSample, Lights, choose_light, sample_light,
        sample_triangle, sample_weight,
    },
    math::{INV_PI, clamped, dot, luminance, max_component, offset_point},
    path::{Hit, Ray, ShadowRay, Throughput},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits, sampler, unit},
    shading::{
        bsdf::{BsdfValue, NO_VALUE},
        material::{DIFFUSE, sample_cosine},
    },
    stages::wave::{CpuWave, counts},
    vertex::shading::survives_roulette,
};

/// Paths of a block.
const PATHS: usize = 32;

/// Lights that are gone through one by one, for all paths at once, at most.
const FEW_LIGHTS: usize = 8;

type SimdF32 = [f32; PATHS];
type Words = [u32; PATHS];

/// Vectors of a block's paths.
#[derive(Default)]
struct SimdLevel {
    x: SimdF32,
    y: SimdF32,
    z: SimdF32,
}

impl SimdLevel {
    #[inline(always)]
    fn of(&self, path: usize) -> Vec3 {
        Vec3::new(self.x[path], self.y[path], self.z[path])
    }

    #[inline(always)]
    fn set(&mut self, path: usize, v: Vec3) {
        self.x[path] = v.x;
        self.y[path] = v.y;
        self.z[path] = v.z;
    }
}

/// Paths that are shaded together.
#[derive(Default)]
pub(super) struct Block {
    count: usize,
    lanes: [usize; PATHS],
    slots: [usize; PATHS],
    one_sided: [bool; PATHS],
    // What they bring.
    pixels: Words,
    keys: Words,
    samples: Words,
    directions: SimdLevel,
    throughputs: SimdLevel,
    u: SimdF32,
    v: SimdF32,
    a: SimdLevel,
    b: SimdLevel,
    c: SimdLevel,
    colors: SimdLevel,
    // Where they are.
    /// Whether that side is not black.
    shows: [bool; PATHS],
    normals: SimdLevel,
    errors: SimdF32,
    points: SimdLevel,
    origins: SimdLevel,
    // Of the light.
    choices: Words,
    light_u: Words,
    light_v: Words,
    light_a: SimdLevel,
    light_b: SimdLevel,
    light_c: SimdLevel,
    radiances: SimdLevel,
    shares: SimdF32,
    towards: SimdLevel,
    distances: SimdF32,
    densities: SimdF32,
    to: Words,
    is_delta: Words,
    /// Where shadow rays start.
    starts: SimdLevel,
    connected: SimdLevel,
    connects: [bool; PATHS],
    // Of the next ray.
    squeezes: SimdF32,
    roulettes: SimdF32,
    next: SimdLevel,
    next_densities: SimdF32,
    left: SimdLevel,
    goes_on: [bool; PATHS],
}

impl Block {
    /// Whether there is room for no more.
    pub(super) fn is_full(&self) -> bool {
        self.count == PATHS
    }

    /// Takes a path in, if it is such a one.
    #[inline(always)]
    pub(super) fn takes(
        &mut self,
        wave: &CpuWave,
        world: &RenderScene,
        lane: usize,
        slot: usize,
    ) -> bool {
        let hit = &wave.hits[slot];
        let primitive = &world.primitives[hit.primitive as usize];
        let material = &world.materials[primitive.material as usize];
        let takes = primitive.kind == TRIANGLE
            && material.kind == DIFFUSE
            && material.emission == Vec3::ZERO
            && material.absorption == Vec3::ZERO;
        if !takes {
            return false;
        }
        let at = self.count;
        self.count += 1;
        let (pixel, sample) = wave.pairs[slot];
        self.lanes[at] = lane;
        self.slots[at] = slot;
        self.one_sided[at] = material.one_sided == 1;
        self.pixels[at] = pixel;
        self.samples[at] = sample;
        self.directions.set(at, wave.rays[slot].direction);
        let throughput = wave.throughputs[slot];
        self.throughputs.set(at, throughput.rgb);
        self.squeezes[at] = throughput.eta_scale;
        self.u[at] = hit.u;
        self.v[at] = hit.v;
        self.a.set(at, primitive.a);
        self.b.set(at, primitive.b);
        self.c.set(at, primitive.c);
        self.colors.set(at, material.color);
        true
    }

    /// Shades them, and is empty.
    #[inline(always)]
    pub(super) fn shade(&mut self, wave: &mut CpuWave, world: &RenderScene, bounce: u32) {
        self.find_surfaces(wave.span.seed);
        self.draw(bounce);
        if world.light_params.light_count > 0 {
            // As `clamp_indirect` does.
            let max_light = match bounce {
                0 => f32::INFINITY,
                _ => world.light_params.max_indirect,
            };
            self.choose(&world.lights());
            self.connect(world.light_params.strategies, max_light);
            self.send_shadow_rays(wave, bounce);
        }
        self.scatter();
        self.play_roulette(bounce);
        self.add_emission(wave);
        self.send_rays(wave);
        self.count = 0;
    }

    #[inline(always)]
    fn find_surfaces(&mut self, seed: u32) {
        for at in 0..PATHS {
            self.keys[at] = sampler(seed, self.pixels[at], self.samples[at]).key;
        }
        for at in 0..PATHS {
            let primitive = Primitive {
                a: self.a.of(at),
                b: self.b.of(at),
                c: self.c.of(at),
                kind: TRIANGLE,
                material: 0,
                number: 0,
            };
            let direction = self.directions.of(at);
            let ray = Ray {
                origin: Vec3::ZERO,
                pdf: 0.0,
                direction,
                from_primitive: 0,
            };
            let hit = Hit {
                distance: 0.0,
                primitive: 0,
                u: self.u[at],
                v: self.v[at],
            };
            let surface = surface_at(&primitive, &ray, &hit);
            let front = -dot(direction, surface.normal) > 0.0;
            let normal = surface.normal * if front { 1.0 } else { -1.0 };
            self.shows[at] = front | !self.one_sided[at];
            self.normals.set(at, normal);
            self.errors[at] = surface.error;
            self.points.set(at, surface.point);
            self.origins
                .set(at, offset_point(surface.point, normal, surface.error));
        }
    }

    /// Their random numbers.
    #[inline(always)]
    fn draw(&mut self, bounce: u32) {
        for at in 0..PATHS {
            let numbers = Sampler {
                sample: self.samples[at],
                key: self.keys[at],
            };
            (self.light_u[at], self.light_v[at]) = pair_bits(numbers, bounce, PAIR_LIGHT);
        }
        for at in 0..PATHS {
            let numbers = Sampler {
                sample: self.samples[at],
                key: self.keys[at],
            };
            let (choice, roulette) = pair_bits(numbers, bounce, PAIR_CHOICE);
            self.choices[at] = choice;
            self.roulettes[at] = unit(roulette);
        }
        for at in 0..PATHS {
            let numbers = Sampler {
                sample: self.samples[at],
                key: self.keys[at],
            };
            (self.u[at], self.v[at]) = pair(numbers, bounce, PAIR_BSDF);
        }
    }

    /// Points on lights.
    #[inline(always)]
    fn choose(&mut self, lights: &Lights) {
        let light_params = &lights.light_params;
        let of_triangle = |light: &Light| {
            light.kind == EMITTER && lights.primitives[light.index as usize].kind == TRIANGLE
        };
        if light_params.tree_lights > 0 || !lights.table.iter().all(of_triangle) {
            for at in 0..self.count {
                let sample = sample_light(
                    lights,
                    self.origins.of(at),
                    self.choices[at],
                    self.light_u[at],
                    self.light_v[at],
                );
                self.set_sample(at, &sample);
                self.to[at] = sample.to_primitive;
            }
            return;
        }
        if lights.table.len() <= FEW_LIGHTS {
            self.choose_of_few(lights);
        } else {
            for at in 0..self.count {
                let choice = unit(self.choices[at]);
                let number = choose_light(lights.table, light_params.light_count, choice);
                let chosen = ChosenLight::new(lights, number);
                self.light_a.set(at, chosen.primitive.a);
                self.light_b.set(at, chosen.primitive.b);
                self.light_c.set(at, chosen.primitive.c);
                self.radiances.set(at, chosen.radiance);
                self.shares[at] = chosen.share;
                self.to[at] = chosen.position;
            }
        }
        for at in 0..PATHS {
            let light = Primitive {
                a: self.light_a.of(at),
                b: self.light_b.of(at),
                c: self.light_c.of(at),
                kind: TRIANGLE,
                material: 0,
                number: 0,
            };
            let sample = sample_triangle(
                &light,
                self.radiances.of(at),
                self.shares[at],
                self.origins.of(at),
                unit(self.light_u[at]),
                unit(self.light_v[at]),
            );
            self.set_sample(at, &sample);
        }
    }

    /// What [`choose_light`] chooses: which of the lights is no branch that has to be guessed.
    #[inline(always)]
    #[expect(
        clippy::needless_range_loop,
        reason = "all arrays are walked side by side, as the lanes of vectors"
    )]
    fn choose_of_few(&mut self, lights: &Lights) {
        let mut numbers = [0; PATHS];
        for before in &lights.table[..lights.light_params.light_count as usize - 1] {
            for at in 0..PATHS {
                numbers[at] += u32::from(unit(self.choices[at]) >= before.cumulative);
            }
        }
        for number in 0..lights.light_params.light_count {
            let chosen = ChosenLight::new(lights, number);
            let mut masks = [0; PATHS];
            for at in 0..PATHS {
                masks[at] = u32::from(numbers[at] == number).wrapping_neg();
            }
            let chosen_vectors = [
                (&mut self.light_a, chosen.primitive.a),
                (&mut self.light_b, chosen.primitive.b),
                (&mut self.light_c, chosen.primitive.c),
                (&mut self.radiances, chosen.radiance),
            ];
            for (SimdLevel { x, y, z }, vector) in chosen_vectors {
                for at in 0..PATHS {
                    x[at] = blended(masks[at], vector.x, x[at]);
                    y[at] = blended(masks[at], vector.y, y[at]);
                    z[at] = blended(masks[at], vector.z, z[at]);
                }
            }
            for at in 0..PATHS {
                self.shares[at] = blended(masks[at], chosen.share, self.shares[at]);
                self.to[at] ^= (self.to[at] ^ chosen.position) & masks[at];
            }
        }
    }

    #[inline(always)]
    fn set_sample(&mut self, at: usize, sample: &LightSample) {
        self.towards.set(at, sample.direction);
        self.distances[at] = sample.distance;
        self.densities[at] = sample.pdf;
        self.radiances.set(at, sample.radiance);
        self.is_delta[at] = sample.is_delta;
    }

    /// What the light samples would bring, `most` at most.
    #[inline(always)]
    fn connect(&mut self, strategies: u32, max_light: f32) {
        for at in 0..PATHS {
            let (normal, direction) = (self.normals.of(at), self.towards.of(at));
            let cosine = dot(normal, direction);
            let (above, below) = (cosine > 0.0, cosine < 0.0);
            let side = if below { -1.0 } else { 1.0 };
            let origin = offset_point(self.points.of(at), normal * side, self.errors[at]);
            self.starts.set(at, origin);
            let value = if cosine <= 0.0 {
                NO_VALUE
            } else {
                let pdf = cosine * INV_PI;
                BsdfValue {
                    color: self.colors.of(at),
                    scale: pdf,
                    pdf,
                }
            };
            let found = if self.is_delta[at] == 1 {
                0.0
            } else {
                value.pdf
            };
            let weight = sample_weight(strategies, LIGHT_SAMPLES, self.densities[at], found);
            let light = self.throughputs.of(at)
                * value.color
                * self.radiances.of(at)
                * (value.scale * weight / self.densities[at]);
            self.connected.set(at, clamped(light, max_light));
            let dark = max_component(light) <= 0.0;
            let connects = (above | below) & !dark & (self.distances[at] > 0.0);
            self.connects[at] = connects & self.shows[at];
        }
    }

    /// The next rays.
    #[inline(always)]
    fn scatter(&mut self) {
        for at in 0..PATHS {
            let normal = self.normals.of(at);
            let (direction, cosine) = sample_cosine(normal, self.u[at], self.v[at]);
            let weight = if cosine > 0.0 {
                self.colors.of(at)
            } else {
                Vec3::ZERO
            };
            let left = self.throughputs.of(at) * weight;
            let behind = dot(normal, direction) < 0.0;
            self.next.set(at, direction);
            self.next_densities[at] = cosine * INV_PI;
            self.left.set(at, if behind { Vec3::ZERO } else { left });
        }
    }

    /// Which of them go on, and with how much.
    #[inline(always)]
    fn play_roulette(&mut self, bounce: u32) {
        for at in 0..PATHS {
            let mut throughput = Throughput {
                rgb: self.left.of(at),
                eta_scale: self.squeezes[at],
            };
            let lit = max_component(throughput.rgb) > 0.0;
            let survives = survives_roulette(bounce, self.roulettes[at], &mut throughput);
            self.left.set(at, throughput.rgb);
            self.goes_on[at] = lit & survives & self.shows[at];
        }
    }

    #[inline(always)]
    fn send_shadow_rays(&self, wave: &mut CpuWave, bounce: u32) {
        let (paths, count) = self.numbers_of(&self.connects);
        for &at in &paths[..count] {
            wave.shadow_rays[self.lanes[at]] = ShadowRay {
                origin: self.starts.of(at),
                distance: self.distances[at],
                direction: self.towards.of(at),
                from_primitive: wave.hits[self.slots[at]].primitive,
                light: self.connected.of(at),
                to_primitive: self.to[at],
            };
        }
        wave.counts[counts::shadow_rays(bounce)] += count as u32;
    }

    /// None, as these surfaces are black: what is left of it is that -0 becomes 0.
    #[inline(always)]
    fn add_emission(&self, wave: &mut CpuWave) {
        for &slot in &self.slots[..self.count] {
            wave.radiances[slot].rgb += Vec3::ZERO;
        }
    }

    #[inline(always)]
    fn send_rays(&self, wave: &mut CpuWave) {
        let (paths, count) = self.numbers_of(&self.goes_on);
        for &at in &paths[..count] {
            let (slot, pdf) = (self.slots[at], self.next_densities[at]);
            wave.rays[slot] = Ray {
                origin: self.origins.of(at),
                pdf,
                direction: self.next.of(at),
                from_primitive: wave.hits[slot].primitive,
            };
            wave.throughputs[slot] = Throughput {
                rgb: self.left.of(at),
                eta_scale: self.squeezes[at],
            };
            wave.radiances[slot].scattered |= u32::from(pdf != 0.0);
            wave.flags[self.lanes[at]] = 1;
        }
    }

    /// The paths of which this is true, and how many: without a branch, which would be guessed wrongly for many.
    #[inline(always)]
    fn numbers_of(&self, chosen: &[bool; PATHS]) -> ([usize; PATHS], usize) {
        let (mut numbers, mut count) = ([0; PATHS], 0);
        for (number, &is) in chosen[..self.count].iter().enumerate() {
            numbers[count % PATHS] = number;
            count += usize::from(is);
        }
        (numbers, count)
    }
}

/// The one where the mask's bits are, else the other. By bits: a choice between them would store some lanes only, which is
/// slow.
#[inline(always)]
fn blended(mask: u32, one: f32, other: f32) -> f32 {
    let (one, other) = (one.to_bits(), other.to_bits());
    f32::from_bits(other ^ ((one ^ other) & mask))
}

/// A triangle that shines.
struct ChosenLight<'a> {
    primitive: &'a Primitive,
    position: u32,
    radiance: Vec3,
    /// Probability that it is chosen, over its area.
    share: f32,
}

impl<'a> ChosenLight<'a> {
    #[inline(always)]
    fn new(lights: &Lights<'a>, number: u32) -> ChosenLight<'a> {
        let position = lights.table[number as usize].index;
        let primitive = &lights.primitives[position as usize];
        let radiance = lights.materials[primitive.material as usize].emission;
        ChosenLight {
            primitive,
            position,
            radiance,
            share: luminance(radiance) * lights.light_params.inverse_power,
        }
    }
}
