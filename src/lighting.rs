//! What shines in a scene, made ready to be chosen from.

use std::ops::Range;

use glam::{DVec3, Vec3};

use crate::{
    environment::{Environment, EnvironmentTables, environment_tables},
    light::{
        DISTANT, EMITTER, ENVIRONMENT, LAMP, Lamp, Light, POINT, SPOT, SUN, by_power, gather_lights,
    },
    light_tree::{Bounded, LightNode, NO_LIGHT, WHOLE, light_tree},
    material::Material,
    math::luminance,
    primitive::{Primitive, SPHERE},
    scene,
};

/// So many lights that are somewhere are chosen by the tree: a few lamps need none, but over a floor under 9 of them a light
/// sample already has less than a quarter of the variance that it has by power (`cargo test --test subject near_lights --
/// --nocapture`).
const TREE_FROM: usize = 8;

/// All that shines.
pub(crate) struct Lighting {
    /// Those of the tree first.
    pub(crate) table: Vec<Light>,
    pub(crate) inverse_power: f64,
    pub(crate) nodes: Vec<LightNode>,
    /// For each primitive its place in the table, or `NO_LIGHT`; empty without a tree.
    pub(crate) places: Vec<u32>,
    pub(crate) tree_lights: u32,
    /// Of `WHOLE`.
    pub(crate) tree_share: u32,
    /// Suns first.
    pub(crate) lamps: Vec<Lamp>,
    pub(crate) sun_count: u32,
    pub(crate) environment: Environment,
    pub(crate) tables: EnvironmentTables,
}

impl Lighting {
    /// Of a scene whose surfaces lie within a sphere of `radius`, metres. The primitives at `of_meshes` are lights where
    /// instances place them alone: as their `twins`, see [`gather_lights`].
    pub(crate) fn new(
        primitives: &[Primitive],
        of_meshes: Range<usize>,
        twins: &[u32],
        materials: &[Material],
        lights: &[scene::Light],
        radius: f64,
    ) -> Lighting {
        let mut lamps: Vec<(Lamp, f64)> = Vec::new();
        let mut environment = Environment::default();
        let mut tables = EnvironmentTables::default();
        for light in lights {
            if let scene::Light::Environment(picture) = light {
                tables = environment_tables(picture.width, &picture.radiances);
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

        let mut somewhere = gather_lights(primitives, of_meshes, twins, materials);
        let mut far = Vec::new();
        for (of, (lamp, power)) in (0..).zip(&lamps) {
            let light = Light {
                of,
                kind: LAMP,
                ..Light::default()
            };
            let list = if [SUN, DISTANT].contains(&lamp.kind) {
                &mut far
            } else {
                &mut somewhere
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
        let (near_power, far_power) = (total(&somewhere), total(&far));
        let power = near_power + far_power;
        let inverse_power = if power > 0.0 { 1.0 / power } else { 0.0 };

        let mut lighting = Lighting {
            table: Vec::new(),
            inverse_power,
            nodes: Vec::new(),
            places: Vec::new(),
            tree_lights: 0,
            tree_share: 0,
            sun_count: lamps.iter().filter(|(lamp, _)| lamp.kind == SUN).count() as u32,
            lamps: Vec::new(),
            environment,
            tables,
        };
        let mut far_share = 1.0;
        if somewhere.len() >= TREE_FROM {
            let tree_share = share_of_tree(near_power * inverse_power, far.is_empty());
            far_share = lighting.plant(primitives, materials, &lamps, &mut somewhere, tree_share);
            by_power(&mut far);
        } else {
            somewhere.append(&mut far);
            by_power(&mut somewhere);
        }
        let tree_power = if lighting.tree_lights > 0 {
            near_power
        } else {
            0.0
        };
        let chance = |power: f64| {
            (far_share * power / (near_power - tree_power + far_power).max(f64::MIN_POSITIVE))
                as f32
        };
        lighting.environment.chance = if lighting.environment.width > 0 {
            chance(lighting.tables.brightness * radius * radius)
        } else {
            0.0
        };
        lighting.lamps = lamps
            .iter()
            .map(|&(lamp, power)| Lamp {
                chance: chance(power),
                ..lamp
            })
            .collect();
        let table = somewhere.into_iter().chain(far);
        lighting.table = table.map(|(light, _)| light).collect();
        lighting
    }

    /// Whether more than a few surfaces shine.
    pub(crate) fn has_others(&self) -> bool {
        self.tree_lights > 0 || !self.lamps.is_empty() || self.environment.width > 0
    }

    /// Builds the tree over these lights. The probability of what is not in it.
    fn plant(
        &mut self,
        primitives: &[Primitive],
        materials: &[Material],
        lamps: &[(Lamp, f64)],
        lights: &mut [(Light, f64)],
        tree_share: u32,
    ) -> f64 {
        let bounded: Vec<Bounded> = lights
            .iter()
            .map(|(light, _)| {
                if light.kind == EMITTER {
                    let primitive = &primitives[light.of as usize];
                    bound_emitter(primitive, &materials[primitive.material as usize])
                } else {
                    bound_lamp(&lamps[light.of as usize].0)
                }
            })
            .collect();
        let (nodes, trails) = light_tree(&bounded);
        self.nodes = nodes;
        self.tree_lights = lights.len() as u32;
        self.places = vec![NO_LIGHT; primitives.len()];
        for (place, ((light, _), trail)) in (0..).zip(lights.iter_mut().zip(trails)) {
            light.trail = trail;
            if light.kind == EMITTER {
                self.places[light.of as usize] = place;
            }
        }
        self.tree_share = tree_share;
        1.0 - f64::from(tree_share) / f64::from(WHOLE)
    }
}

/// Of `WHOLE` numbers, how many choose the tree, which has this part of all power: all of them if there is nothing else,
/// whatever the part was rounded to; else at least one is for each.
fn share_of_tree(part: f64, is_all: bool) -> u32 {
    if is_all {
        WHOLE
    } else {
        (f64::from(WHOLE) * part).clamp(1.0, f64::from(WHOLE - 1)) as u32
    }
}

fn bound_emitter(primitive: &Primitive, material: &Material) -> Bounded {
    let emission = f64::from(luminance(material.emission));
    let [a, b, c] = [primitive.a, primitive.b, primitive.c].map(Vec3::as_dvec3);
    if primitive.kind == SPHERE {
        return Bounded {
            low: a - b.x,
            high: a + b.x,
            axis: DVec3::Y,
            angle: std::f64::consts::PI,
            intensity: emission * std::f64::consts::PI * b.x * b.x,
        };
    }
    let normal = (b - a).cross(c - a);
    Bounded {
        low: a.min(b).min(c),
        high: a.max(b).max(c),
        axis: normal.normalize_or(DVec3::Y),
        angle: 0.0,
        intensity: emission * 0.5 * normal.length(),
    }
}

/// Of one that is somewhere.
fn bound_lamp(lamp: &Lamp) -> Bounded {
    let position = lamp.position.as_dvec3();
    let (axis, angle) = if lamp.kind == SPOT {
        (lamp.direction.as_dvec3(), 0.0)
    } else {
        (DVec3::Y, std::f64::consts::PI)
    };
    Bounded {
        low: position,
        high: position,
        axis,
        angle,
        intensity: f64::from(luminance(lamp.radiance)),
    }
}

/// A lamp with its power, flux over π.
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
        } => {
            let (inner, outer) = (cosine(inner_degrees), cosine(outer_degrees));
            let lamp = Lamp {
                position,
                kind: SPOT,
                direction: -towards(direction),
                radiance: intensity,
                inner: inner as f32,
                outer: outer as f32,
                ..Lamp::default()
            };
            // Of the falloff, a square, a third is left on average.
            let sent = 2.0 * (1.0 - inner) + 2.0 / 3.0 * (inner - outer);
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
                    inner: (2.0 * libm::sin(half / 2.0).powi(2)) as f32,
                    ..lamp
                }
            };
            (lamp, power)
        }
        scene::Light::Environment(_) => return None,
    })
}

/// Half the diagonal of the box around all surfaces, metres; of an instance, around the corners of its mesh's box.
pub(crate) fn bounding_radius(scene: &scene::Scene) -> f64 {
    let mut all = Bounds::default();
    let corners = scene.triangles.iter().flat_map(|each| each.vertices);
    corners.for_each(|corner| all.add(corner.as_dvec3()));
    for sphere in scene.spheres.iter() {
        let radius = f64::from(sphere.radius);
        all.add(sphere.center.as_dvec3() - radius);
        all.add(sphere.center.as_dvec3() + radius);
    }
    let meshes: Vec<Bounds> = scene
        .meshes
        .iter()
        .map(|mesh| {
            let mut bounds = Bounds::default();
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

/// A box around points.
#[derive(Clone, Copy)]
struct Bounds {
    low: DVec3,
    high: DVec3,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            low: DVec3::INFINITY,
            high: DVec3::NEG_INFINITY,
        }
    }
}

impl Bounds {
    fn add(&mut self, point: DVec3) {
        self.low = self.low.min(point);
        self.high = self.high.max(point);
    }
}
