//! Builds the tables of light sampling from a scene's lights: the light table, light tree and environment tables.

use std::ops::Range;

use glam::{DVec3, Vec3};

use crate::{
    accel::primitive::Primitive,
    lights::{
        environment::{Environment, EnvironmentTables, environment_tables},
        lamp::{DISTANT, Lamp, POINT, SPOT, SUN},
        light::{EMITTER, ENVIRONMENT, LAMP, Light},
        light_groups::{LightChances, LightGroups, LightWeights},
        light_power::{by_power, gather_lights},
        light_tree::{HAS_CONE, LightBounds, LightPair, NO_LIGHT, PROBABILITY_UNITS, light_tree},
    },
    math::{luminance, max_component},
    scene::{
        self,
        limits::MAX_INSTANCED_LIGHTS,
        memory::{self, MemoryError},
    },
    shading::material::Material,
};

/// Minimum number of lights at finite distance with which a light tree is always built. Fewer of them are chosen by power
/// if they are [one lamp](is_one_lamp) and the only lights, because a tree would cost more than it gains.
const MIN_TREE_LIGHTS: usize = 8;

/// All tables of light sampling, see [`Lights`](crate::lights::light::Lights) for their use.
pub(crate) struct LightTables {
    /// All lights, those of the light tree first.
    pub(crate) table: Vec<Light>,
    /// Reciprocal of the power of all lights; 0 without lights.
    pub(crate) inverse_power: f64,
    /// Nodes of the light tree in pairs, the children of the root first.
    pub(crate) light_pairs: Vec<LightPair>,
    /// Index in the table of each primitive, or `NO_LIGHT`; empty without a tree.
    pub(crate) places: Vec<u32>,
    /// Number of lights in the tree; 0 without one.
    pub(crate) tree_lights: u32,
    /// Probability of choosing from the tree, in units of 1 / `PROBABILITY_UNITS`.
    pub(crate) tree_share: u32,
    /// The groups whose probabilities depend on the camera.
    pub(crate) groups: LightGroups,
    /// All lamps of positive power, suns first.
    pub(crate) lamps: Vec<Lamp>,
    /// Number of suns.
    pub(crate) sun_count: u32,
    /// Size, orientation and probability of the environment map.
    pub(crate) environment: Environment,
    /// Sampling tables of the environment map.
    pub(crate) tables: EnvironmentTables,
}

/// Memory in bytes that a light of the light tree takes while the tables are built.
const BYTES_PER_LIGHT: u64 = 400;
/// Memory in bytes that a texel of an environment map takes while its tables are built.
const BYTES_PER_TEXEL: u64 = 40;

/// Returns an error if the tables and the copies of emissive instances could exceed the available memory. `primitives`
/// are those that are not part of instances, and `mesh_primitives` is the number of the others.
pub(crate) fn check_memory(
    scene: &scene::Scene,
    primitives: &[Primitive],
    mesh_primitives: usize,
    materials: &[Material],
    lights: &[scene::Light],
) -> Result<(), MemoryError> {
    let shines = |primitive: &&Primitive| {
        let emission = |material: u32| materials[material as usize].emission;
        !primitive.is_instance() && max_component(emission(primitive.material)) > 0.0
    };
    let mut emissive = primitives.iter().filter(shines).count() as u64;
    let copied = scene.emissive_triangle_count();
    let mut bytes = 0;
    if (1..=MAX_INSTANCED_LIGHTS).contains(&copied) {
        let all = (primitives.len() + mesh_primitives) as u64 + copied;
        bytes = all * size_of::<Primitive>() as u64;
        emissive += copied;
    }
    let texels = lights.iter().map(|light| match light {
        scene::Light::Environment(picture) => picture.radiances.len() as u64,
        _ => 0,
    });
    bytes += emissive * BYTES_PER_LIGHT + texels.max().unwrap_or(0) * BYTES_PER_TEXEL;
    memory::check(bytes)
}

impl LightTables {
    /// Builds the tables for a scene within a sphere of `radius` metres.
    ///
    /// Primitives at `of_meshes` are lights only through instances: `copy_offsets` holds each instance's offset to the
    /// world-space copies of its triangles, see [`gather_lights`].
    pub(crate) fn new(
        primitives: &[Primitive],
        of_meshes: Range<usize>,
        copy_offsets: &[u32],
        materials: &[Material],
        lights: &[scene::Light],
        radius: f64,
    ) -> LightTables {
        let mut lamps: Vec<(Lamp, f64)> = Vec::new();
        let mut environment = Environment::default();
        let mut tables = EnvironmentTables::default();
        for light in lights {
            if let scene::Light::Environment(picture) = light {
                tables = environment_tables(picture.width, &picture.scaled_radiances());
                if !tables.rows.is_empty() {
                    environment.width = picture.width;
                    environment.height = tables.rows.len() as u32;
                    environment.turns = picture.turns;
                }
            } else {
                lamps.extend(to_lamp(light, radius));
            }
        }
        lamps.retain(|&(_, power)| power > 0.0);
        lamps.sort_by_key(|(lamp, _)| lamp.kind != SUN);

        let mut near = gather_lights(primitives, of_meshes, copy_offsets, materials);
        let mut far = Vec::new();
        for (index, (lamp, power)) in (0..).zip(&lamps) {
            let light = Light {
                index,
                kind: LAMP,
                ..Light::default()
            };
            let list = if [SUN, DISTANT].contains(&lamp.kind) {
                &mut far
            } else {
                &mut near
            };
            list.push((light, *power));
        }
        if tables.brightness > 0.0 {
            let light = Light {
                kind: ENVIRONMENT,
                ..Light::default()
            };
            far.push((light, tables.brightness * radius * radius));
        }
        let total = |lights: &[(Light, f64)]| lights.iter().map(|&(_, power)| power).sum::<f64>();
        let near_power = total(&near);
        let power = near_power + total(&far);
        let inverse_power = if power > 0.0 { 1.0 / power } else { 0.0 };

        let mut light_tables = LightTables {
            table: Vec::new(),
            inverse_power,
            light_pairs: Vec::new(),
            places: Vec::new(),
            tree_lights: 0,
            tree_share: 0,
            groups: LightGroups::default(),
            sun_count: lamps.iter().filter(|(lamp, _)| lamp.kind == SUN).count() as u32,
            lamps: Vec::new(),
            environment,
            tables,
        };
        let by_tree = match near.len() {
            0 => false,
            // More lights than links can count are chosen by power.
            count if count >= HAS_CONE as usize => false,
            count => {
                let few = count < MIN_TREE_LIGHTS && far.is_empty();
                !few || !is_one_lamp(primitives, &near)
            }
        };
        if by_tree {
            light_tables.build_tree(primitives, materials, &lamps, &mut near);
        }
        let chance = |power: f64| (power * inverse_power) as f32;
        if light_tables.environment.width > 0 {
            light_tables.environment.chance =
                chance(light_tables.tables.brightness * radius * radius);
        }
        light_tables.lamps = lamps
            .iter()
            .map(|&(lamp, power)| Lamp {
                chance: chance(power),
                ..lamp
            })
            .collect();
        let mut lights = near;
        let near_count = lights.len();
        lights.append(&mut far);
        let by_power_from = if by_tree { near_count } else { 0 };
        by_power(&mut lights[by_power_from..]);
        let powers: Vec<f64> = lights[near_count..]
            .iter()
            .map(|&(_, power)| power)
            .collect();
        light_tables.table = lights.into_iter().map(|(light, _)| light).collect();
        if by_tree || near_count == 0 {
            light_tables.groups =
                LightGroups::new(near_count, near_power, &light_tables.light_pairs, &powers);
        }
        light_tables.groups.set(
            LightWeights::default(),
            LightChances {
                table: &mut light_tables.table,
                light_pairs: &mut light_tables.light_pairs,
                lamps: &mut light_tables.lamps,
                environment: &mut light_tables.environment,
                tree_share: &mut light_tables.tree_share,
            },
        );
        light_tables
    }

    /// Returns whether the scene has more than a few emissive surfaces: a light tree, lamps or an environment map.
    pub(crate) fn has_others(&self) -> bool {
        self.tree_lights > 0 || !self.lamps.is_empty() || self.environment.width > 0
    }

    /// Builds the light tree over these lights, from which all light samples are taken until a group gets a probability.
    fn build_tree(
        &mut self,
        primitives: &[Primitive],
        materials: &[Material],
        lamps: &[(Lamp, f64)],
        lights: &mut [(Light, f64)],
    ) {
        let bounded: Vec<LightBounds> = lights
            .iter()
            .map(|(light, _)| {
                if light.kind == EMITTER {
                    let primitive = &primitives[light.index as usize];
                    bound_emitter(primitive, &materials[primitive.material as usize])
                } else {
                    bound_lamp(&lamps[light.index as usize].0)
                }
            })
            .collect();
        let (light_pairs, trails) = light_tree(&bounded);
        self.light_pairs = light_pairs;
        self.tree_lights = lights.len() as u32;
        self.places = vec![NO_LIGHT; primitives.len()];
        for (place, ((light, _), trail)) in (0..).zip(lights.iter_mut().zip(trails)) {
            light.trail = trail;
            if light.kind == EMITTER {
                self.places[light.index as usize] = place;
            }
        }
        self.tree_share = PROBABILITY_UNITS;
    }
}

/// Returns whether the lights are one, or surfaces of one material and similar power, such as the two triangles of a
/// rectangle.
fn is_one_lamp(primitives: &[Primitive], lights: &[(Light, f64)]) -> bool {
    if lights.len() < 2 {
        return true;
    }
    let material =
        |light: &Light| (light.kind == EMITTER).then(|| primitives[light.index as usize].material);
    let first = material(&lights[0].0);
    let powers = lights.iter().map(|&(_, power)| power);
    let (low, high) = powers.fold((f64::INFINITY, 0.0_f64), |(low, high), power| {
        (low.min(power), high.max(power))
    });
    let same = lights.iter().all(|(light, _)| material(light) == first);
    first.is_some() && same && high <= 4.0 * low
}

/// Returns the bounds of an emissive primitive for the light tree.
fn bound_emitter(primitive: &Primitive, material: &Material) -> LightBounds {
    let emission = f64::from(luminance(material.emission));
    let [a, b, c] = [primitive.a, primitive.b, primitive.c].map(Vec3::as_dvec3);
    if primitive.is_sphere() {
        return LightBounds {
            low: a - b.x,
            high: a + b.x,
            axis: DVec3::Y,
            angle: std::f64::consts::PI,
            intensity: emission * std::f64::consts::PI * b.x * b.x,
        };
    }
    let normal = (b - a).cross(c - a);
    LightBounds {
        low: a.min(b).min(c),
        high: a.max(b).max(c),
        axis: normal.normalize_or(DVec3::Y),
        angle: 0.0,
        intensity: emission * 0.5 * normal.length(),
    }
}

/// Returns the bounds of a point or spot light for the light tree.
fn bound_lamp(lamp: &Lamp) -> LightBounds {
    let position = lamp.position.as_dvec3();
    let (axis, angle) = if lamp.kind == SPOT {
        (lamp.direction.as_dvec3(), 0.0)
    } else {
        (DVec3::Y, std::f64::consts::PI)
    };
    LightBounds {
        low: position,
        high: position,
        axis,
        angle,
        intensity: f64::from(luminance(lamp.radiance)),
    }
}

/// Converts a light of the scene to a lamp and its power (flux over π, luminance). `None` for an environment map.
fn to_lamp(light: &scene::Light, radius: f64) -> Option<(Lamp, f64)> {
    let cosine = |degrees: f32| libm::cos(f64::from(degrees).to_radians());
    let towards = |direction: Vec3| -direction.as_dvec3().normalize().as_vec3();
    Some(match *light {
        scene::Light::Point {
            position,
            intensity,
        } => {
            let lamp = Lamp {
                position,
                kind: POINT,
                radiance: intensity,
                ..Lamp::default()
            };
            (lamp, 4.0 * f64::from(luminance(intensity)))
        }
        scene::Light::Spot {
            position,
            direction,
            intensity,
            inner_degrees,
            outer_degrees,
            falloff,
        } => {
            let angles = [inner_degrees, outer_degrees].map(|angle| f64::from(angle).to_radians());
            let [first, second, third] = falloff.polynomial(angles[0], angles[1]);
            let (inner, outer) = (cosine(inner_degrees), cosine(outer_degrees));
            let lamp = Lamp {
                position,
                kind: SPOT,
                direction: -towards(direction),
                radiance: intensity,
                cos_inner: inner as f32,
                cos_outer: outer as f32,
                falloff_1: first as f32,
                falloff_2: second as f32,
                falloff_3: third as f32,
                ..Lamp::default()
            };
            let mean = first / 2.0 + second / 3.0 + third / 4.0;
            let sent = 2.0 * (1.0 - inner) + 2.0 * mean * (inner - outer);
            (lamp, sent * f64::from(luminance(intensity)))
        }
        scene::Light::Directional {
            direction,
            irradiance,
            angle_degrees,
        } => {
            let power = f64::from(luminance(irradiance)) * radius * radius;
            let half = f64::from(angle_degrees).to_radians() / 2.0;
            let sine = libm::sin(half);
            let lamp = Lamp {
                direction: towards(direction),
                ..Lamp::default()
            };
            let lamp = if angle_degrees == 0.0 {
                Lamp {
                    kind: DISTANT,
                    radiance: irradiance,
                    ..lamp
                }
            } else {
                let spread = std::f64::consts::PI * sine * sine;
                Lamp {
                    kind: SUN,
                    radiance: (irradiance.as_dvec3() / spread).as_vec3(),
                    cos_inner: (2.0 * libm::sin(half / 2.0).powi(2)) as f32,
                    ..lamp
                }
            };
            (lamp, power)
        }
        scene::Light::Environment(_) => return None,
    })
}

/// Returns half the diagonal of the scene's bounding box in metres; 0 without surfaces. Instances count with their
/// mesh's transformed bounding box.
pub(crate) fn bounding_radius(scene: &scene::Scene) -> f64 {
    let mut all = PointBounds::default();
    let corners = scene.triangles.iter().flat_map(|each| each.vertices);
    corners.for_each(|corner| all.add(corner.as_dvec3()));
    for sphere in scene.spheres.iter() {
        let radius = f64::from(sphere.radius);
        all.add(sphere.center.as_dvec3() - radius);
        all.add(sphere.center.as_dvec3() + radius);
    }
    let meshes: Vec<PointBounds> = scene
        .meshes
        .iter()
        .map(|mesh| {
            let mut bounds = PointBounds::default();
            mesh.positions
                .iter()
                .for_each(|position| bounds.add(position.as_dvec3()));
            bounds
        })
        .collect();
    for instance in scene.instances.iter() {
        let mesh = &meshes[instance.mesh as usize];
        let [x, y, z] = instance.axes.map(Vec3::as_dvec3);
        for corner in 0..8 {
            let at = |axis: usize| [mesh.low, mesh.high][corner >> axis & 1][axis];
            all.add(instance.position.as_dvec3() + x * at(0) + y * at(1) + z * at(2));
        }
    }
    let diagonal = (all.high - all.low).length();
    if diagonal.is_finite() {
        diagonal / 2.0
    } else {
        0.0
    }
}

/// An axis-aligned box around points, in metres; inverted while empty.
#[derive(Clone, Copy)]
struct PointBounds {
    low: DVec3,
    high: DVec3,
}

impl Default for PointBounds {
    fn default() -> PointBounds {
        PointBounds {
            low: DVec3::INFINITY,
            high: DVec3::NEG_INFINITY,
        }
    }
}

impl PointBounds {
    /// Extends the box to contain a point.
    fn add(&mut self, point: DVec3) {
        self.low = self.low.min(point);
        self.high = self.high.max(point);
    }
}
