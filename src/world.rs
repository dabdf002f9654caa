//! A scene made ready to be traced.

use crate::{
    Error,
    bvh::{self, Node},
    energy,
    light::{BSDF_SAMPLES, LIGHT_SAMPLES, Light, Surroundings, gather_lights},
    material::Material,
    primitive::{Primitive, SPHERE, TRIANGLE},
    scene::{DirectLight, Scene, memory},
};
use glam::Vec3;

/// All that the stages read of a scene, but for the camera.
pub struct World {
    /// The tree over the primitives, its root first.
    pub nodes: Vec<Node>,
    /// In the tree's order.
    pub primitives: Vec<Primitive>,
    /// By index.
    pub materials: Vec<Material>,
    /// Kinds of the materials, a bit each.
    pub kinds: u32,
    /// Tables of what rough materials lose.
    pub energy: Vec<f32>,
    /// What shines.
    pub lights: Vec<Light>,
    /// The sky, and what all lights share.
    pub surroundings: Surroundings,
}

/// Memory of a primitive while the tree is built, at its peak: measured on `DisplacedSphere`s of 1 to 3 million triangles.
const BUILDING_BYTES: u64 = 288;

impl World {
    /// Builds the tree over the scene and gathers its lights. `Err` for primitives that no tree of bounded depth holds, or
    /// no memory.
    pub fn new(scene: &Scene) -> Result<World, Error> {
        let primitive_count = scene.triangles.len() + scene.spheres.len();
        memory::check(primitive_count as u64 * BUILDING_BYTES).map_err(|problem| Error::File {
            file: scene.path.display().to_string(),
            problem: format!(
                "the tree over its {primitive_count} triangles and spheres {problem}; use smaller meshes"
            ),
        })?;
        let triangles = scene.triangles.iter().map(|triangle| {
            let [a, b, c] = triangle.vertices;
            Primitive {
                a,
                b,
                c,
                kind: TRIANGLE,
                material: triangle.material,
                number: 0,
            }
        });
        let spheres = scene.spheres.iter().map(|sphere| {
            let b = Vec3::new(sphere.radius, 0.0, 0.0);
            Primitive {
                a: sphere.center,
                b,
                c: Vec3::ZERO,
                kind: SPHERE,
                material: sphere.material,
                number: 0,
            }
        });
        let mut primitives: Vec<Primitive> = triangles.chain(spheres).collect();
        for (number, primitive) in (0..).zip(&mut primitives) {
            primitive.number = number;
        }
        let tree = bvh::build(&primitives).ok_or_else(|| Error::TreeTooDeep {
            scene: scene.path.clone(),
        })?;
        let mut materials: Vec<Material> = scene.materials.iter().map(Material::from).collect();
        let kinds = materials
            .iter()
            .fold(0, |kinds, each| kinds | 1 << each.kind);
        let energy = energy::tables(&mut materials);
        let (lights, inverse_power) = gather_lights(&tree.primitives, &materials);
        let surroundings = Surroundings {
            sky: scene.sky,
            light_count: lights.len() as u32,
            inverse_power,
            extent: tree.extent,
            most_indirect: scene.clamp_indirect.unwrap_or(f32::INFINITY),
            strategies: match scene.direct_light {
                DirectLight::Both => LIGHT_SAMPLES + BSDF_SAMPLES,
                DirectLight::Lights => LIGHT_SAMPLES,
                DirectLight::Bsdf => BSDF_SAMPLES,
            },
        };
        Ok(World {
            nodes: tree.nodes,
            primitives: tree.primitives,
            materials,
            kinds,
            energy,
            lights,
            surroundings,
        })
    }
}
