//! Arguments for the functions under test: random values, edge cases, and values from real paths.

mod draw;
mod harvest;

use std::collections::BTreeSet;

use glam::Vec3;
use raysieve::{
    accel::{
        instance::{Instance, NO_INSTANCE, instanced_triangle},
        primitive::Primitive,
    },
    math::{cross, normalize},
    path::{NO_PRIMITIVE, Ray},
    shading::material::KIND_COUNT,
};

pub(crate) use self::{draw::Draw, harvest::Harvest};
use crate::common::Random;

/// The scene of the inputs has a material of each kind, so that BSDFs of all kinds are compared.
pub(crate) fn materials_of_every_kind_are_drawn() {
    let materials = &Harvest::get().scene.materials;
    let kinds: BTreeSet<u32> = materials.iter().map(|material| material.kind).collect();
    assert!(kinds.into_iter().eq(0..KIND_COUNT));
}

/// A source of random arguments.
pub(crate) struct Inputs {
    pub(crate) random: Random,
    pub(crate) harvest: &'static Harvest,
    last_number: f32,
    last_vector: Vec3,
}

impl Inputs {
    /// Creates a source with this seed.
    pub(crate) fn new(seed: u64) -> Inputs {
        Inputs {
            random: Random::new(seed),
            harvest: Harvest::get(),
            last_number: 0.5,
            last_vector: Vec3::Z,
        }
    }

    /// Returns a random value of a type.
    pub(crate) fn draw<T: Draw>(&mut self) -> T {
        T::draw(self)
    }

    /// Returns a random index below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (((self.random.word() >> 32) * end as u64) >> 32) as usize
    }

    /// Returns a random item.
    pub(crate) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns a number in [0, 1), a multiple of 2⁻²⁴ as those of the sampler.
    pub(crate) fn unit(&mut self) -> f32 {
        self.random.unit()
    }

    /// Returns a finite number whose magnitude is between 2⁻³⁰ and 2³⁰ or smaller.
    fn sized(&mut self) -> f32 {
        let exponent = self.below(61) as i32 - 30;
        self.random.signed() * 2f32.powi(exponent)
    }

    /// Returns a direction of length 1.
    pub(crate) fn direction(&mut self) -> Vec3 {
        let random = &mut self.random;
        let v = Vec3::new(random.signed(), random.signed(), random.signed());
        normalize(v + Vec3::splat(1e-9))
    }

    /// Returns origin and direction of a ray aimed at a primitive: at its middle, an edge or a corner, or grazing.
    pub(crate) fn aimed(&mut self, primitive: &Primitive) -> (Vec3, Vec3) {
        let away = 2f32.powi(self.below(13) as i32 - 6);
        if primitive.is_sphere() {
            let (normal, other) = (self.direction(), self.direction());
            let point = primitive.a + normal * primitive.b.x;
            let tangent = normalize(cross(normal, other));
            let tilt = self.one_of(&[0.0, 1e-7, -1e-7, 1e-4, -1e-4, 0.1, -0.5, 3.0]);
            let direction = normalize(tangent + normal * tilt);
            let back = self.one_of(&[0.0, 1.0, 1.0, -1.0]);
            return (point - direction * (away * back), direction);
        }
        let [u, v] = [0, 1].map(|_| match self.below(4) {
            0 => 0.0,
            1 => 1.0,
            2 => 0.5,
            _ => self.random.unit(),
        });
        let (ab, ac) = (primitive.b - primitive.a, primitive.c - primitive.a);
        let target = primitive.a + ab * u + ac * if u + v > 1.0 { 1.0 - u } else { v };
        let direction = match self.below(4) {
            // Along an axis, or along the plane.
            0 => {
                let axis = self.one_of(&[Vec3::X, Vec3::Y, Vec3::Z]);
                axis * self.one_of(&[1.0, -1.0])
            }
            1 => {
                let normal = normalize(cross(ab, ac));
                let tilt = self.one_of(&[0.0, 1e-7, -1e-7, 1e-3]);
                normalize(normalize(ab) + normal * tilt)
            }
            _ => self.direction(),
        };
        (target - direction * away, direction)
    }

    /// Returns a primitive, real or random, and origin and direction of a ray that probably hits it.
    pub(crate) fn met(&mut self) -> (Primitive, Vec3, Vec3) {
        let primitive: Primitive = self.draw();
        let (origin, direction) = if self.below(8) == 0 {
            (self.draw(), self.draw())
        } else {
            self.aimed(&primitive)
        };
        (primitive, origin, direction)
    }

    /// Returns three primitives, of which two may differ in their number only, and a ray that probably hits the first.
    pub(crate) fn several(&mut self) -> ([Primitive; 3], Vec3, Vec3) {
        let (first, origin, direction) = self.met();
        let mut several = [first, self.draw(), self.draw()];
        if self.below(2) == 0 {
            several[1] = Primitive {
                number: several[1].number,
                ..first
            };
        }
        (several, origin, direction)
    }

    /// Returns an instance, real or with random numbers, with a triangle of its mesh and that triangle's index.
    pub(crate) fn instanced(&mut self) -> (Instance, Primitive, u32) {
        let scene = &self.harvest.instanced;
        let meshes = &scene.primitives[self.first_of_meshes()..];
        let place = self.below(meshes.len());
        let position = (self.first_of_meshes() + place) as u32;
        // Draws until the instance uses the mesh of the triangle.
        let real = loop {
            let instance = self.one_of(&scene.instances);
            let next_root = scene
                .instances
                .iter()
                .map(|other| other.root)
                .filter(|&root| root > instance.root)
                .min();
            let mesh = scene.nodes[instance.root as usize].primitive_base;
            let end = next_root.map_or(scene.primitives.len() as u32, |root| {
                scene.nodes[root as usize].primitive_base
            });
            if (mesh..end).contains(&position) {
                break instance;
            }
        };
        let primitive = meshes[place];
        if self.below(3) > 0 {
            return (real, primitive, position);
        }
        let drawn = Instance {
            inverse_x: self.draw(),
            inverse_y: self.draw(),
            inverse_z: self.draw(),
            position: self.draw(),
            axis_x: self.draw(),
            axis_y: self.draw(),
            axis_z: self.draw(),
            error: self.draw(),
            error_per_unit: self.draw(),
            ..real
        };
        (drawn, primitive, position)
    }

    /// Returns the index of the first primitive that belongs to a mesh.
    fn first_of_meshes(&self) -> usize {
        let scene = &self.harvest.instanced;
        let first = scene
            .instances
            .iter()
            .map(|instance| scene.nodes[instance.root as usize].primitive_base);
        first.min().unwrap() as usize
    }

    /// Returns a ray in the scene with instances that probably hits something, and the instance that it leaves.
    pub(crate) fn instanced_ray(&mut self) -> (Ray, u32) {
        let (instanced, triangle, position) = self.instanced();
        let scene = &self.harvest.instanced;
        let from = self.below(scene.instances.len()) as u32;
        let ray = match self.below(3) {
            0 => self.draw(),
            _ => {
                let (origin, direction) = self.aimed(&instanced_triangle(&instanced, &triangle));
                Ray {
                    origin,
                    direction,
                    from_primitive: self.one_of(&[NO_PRIMITIVE, position]),
                    ..Ray::default()
                }
            }
        };
        (ray, self.one_of(&[NO_INSTANCE, from]))
    }

    /// Returns an index into three primitives, or `NO_PRIMITIVE`.
    pub(crate) fn position_or_none(&mut self) -> u32 {
        self.one_of(&[0, 1, 2, NO_PRIMITIVE])
    }
}
