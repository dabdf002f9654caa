//! A scene made ready to be traced.

use std::{ops::Range, sync::Arc};

use glam::Vec3;

use crate::{
    Error,
    bvh::{Node, PlacedScene, wide::Wide},
    energy,
    environment::{Environment, EnvironmentRow, EnvironmentTexel},
    imagery::Imagery,
    instance::{Corners, Instance, MeshVertex, placed_surface, placed_triangle},
    light::{BSDF_SAMPLES, LIGHT_SAMPLES, Lamp, Light, Lights, Surroundings},
    light_tree::{LightNode, NO_LIGHT},
    lighting::{Lighting, bounding_radius},
    maps::{self, MAP_COAT_NORMAL, MAP_OPACITY, Maps, material_at},
    material::{
        ABSORBING, COAT_NORMALS, KIND_COUNT, Material, OTHER_LIGHTS, PLACED_LIGHTS, TWO_COORDINATES,
    },
    math::max_component,
    opacity::Veils,
    path::{Hit, NO_PRIMITIVE, Ray},
    primitive::{Primitive, Surface, surface_at},
    scene::{DirectLight, Scene},
    texture::Texture,
    trees::{self, Trees},
    vectors::Vectors,
};

/// All that the stages read of a scene, but for the camera.
pub struct World {
    /// The tree over all that stands in the scene, its root first; then those of the meshes.
    pub nodes: Arc<Vec<Node>>,
    /// In the trees' order.
    pub primitives: Arc<Vec<Primitive>>,
    /// Where meshes stand, by number.
    pub instances: Arc<Vec<Instance>>,
    /// Of the meshes' triangles, where a mesh has more than positions.
    pub corners: Arc<Vec<Corners>>,
    /// What the meshes have at their vertices besides positions.
    pub vertices: Arc<Vec<MeshVertex>>,
    /// By index.
    pub materials: Vec<Material>,
    /// Kinds of the materials, a bit each, and `OTHER_LIGHTS` and `ABSORBING`.
    pub kinds: u32,
    /// Tables of what rough materials lose.
    pub energy: Vec<f32>,
    /// Textures of the materials that have any, by `Material::maps`.
    pub maps: Vec<Maps>,
    /// How images lie on surfaces.
    pub textures: Vec<Texture>,
    /// sRGB's values, and the images.
    pub texels: Vec<u32>,
    /// What shines.
    pub lights: Vec<Light>,
    /// The sky, and what all lights share.
    pub surroundings: Surroundings,
    /// The tree over the first lights, where there are many.
    pub light_nodes: Vec<LightNode>,
    /// For each primitive that stands in the scene its place among the lights; empty without a tree.
    pub light_places: Vec<u32>,
    /// Lights that are no surfaces.
    pub lamps: Vec<Lamp>,
    /// The sky's picture.
    pub environment: Environment,
    /// The picture's rows.
    pub environment_rows: Vec<EnvironmentRow>,
    /// The picture's texels.
    pub environment_texels: Vec<EnvironmentTexel>,
    /// All that does not depend on what things are made of.
    trees: Arc<Trees>,
}

/// Adds the triangles of instances that shine to the trees' primitives, as they stand in the world. For each instance what
/// is added to a triangle's position for that place, or `NO_LIGHT`; nothing where no instance shines, or too many do.
fn place_lights(
    scene: &Scene,
    trees: &Trees,
    primitives: &mut Arc<Vec<Primitive>>,
    materials: &[Material],
) -> Vec<u32> {
    let placed = scene.shining_instances();
    let shines = |primitive: &Primitive| {
        max_component(materials[primitive.material as usize].emission) > 0.0
    };
    if placed.is_empty() || scene.shining_triangles() > MOST_PLACED_LIGHTS {
        return Vec::new();
    }
    let mut first = trees::standing(scene);
    let meshes: Vec<Range<usize>> = scene
        .meshes
        .iter()
        .map(|mesh| {
            let range = first..first + mesh.triangles.len();
            first = range.end;
            range
        })
        .collect();
    let mut entries = vec![NO_LIGHT; scene.instances.len()];
    for number in placed {
        let instance = trees.instances[number as usize];
        let of_mesh = meshes[scene.instances[number as usize].mesh as usize].clone();
        let here: Vec<Primitive> = trees.primitives[of_mesh.clone()]
            .iter()
            .map(|triangle| Primitive {
                number,
                ..placed_triangle(&instance, triangle)
            })
            .collect();
        if here.iter().any(shines) {
            let primitives = Arc::make_mut(primitives);
            entries[number as usize] = (primitives.len() - of_mesh.start) as u32;
            primitives.extend(here);
        }
    }
    if entries.iter().all(|&entry| entry == NO_LIGHT) {
        entries.clear();
    }
    entries
}

/// Triangles of instances that shine are looked for, each where it stands, if they are no more; else they are found by the
/// paths that meet them. Some 300 bytes each.
pub const MOST_PLACED_LIGHTS: u64 = 1 << 20;

impl World {
    /// Builds the tree over the scene and gathers its lights. `Err` for primitives that no tree of bounded depth holds, or
    /// no memory.
    pub fn new(scene: &Scene) -> Result<World, Error> {
        World::within(Arc::new(Trees::of(scene)?), scene)
    }

    /// The same, with the scene's trees.
    pub(crate) fn within(trees: Arc<Trees>, scene: &Scene) -> Result<World, Error> {
        let mut materials: Vec<Material> = scene.materials.iter().map(Material::from).collect();
        let kinds = materials
            .iter()
            .fold(0, |kinds, each| kinds | 1 << each.kind);
        let absorbs = |material: &Material| material.absorption != Vec3::ZERO;
        let kinds = if materials.iter().any(absorbs) {
            kinds | ABSORBING
        } else {
            kinds
        };
        let energy = energy::tables(&mut materials);
        let imagery = Imagery::new(scene, &mut materials).map_err(|problem| Error::File {
            file: scene.path.display().to_string(),
            problem,
        })?;
        let coated = |maps: &Maps| maps.used & (1 << MAP_COAT_NORMAL) != 0;
        let kinds = if imagery.maps.iter().any(coated) {
            kinds | COAT_NORMALS
        } else {
            kinds
        };
        let kinds = if imagery.textures.iter().any(|texture| texture.second == 1) {
            kinds | TWO_COORDINATES
        } else {
            kinds
        };
        let radius = bounding_radius(scene);
        let standing = trees::standing(scene);
        let of_meshes = standing..trees.primitives.len();
        let mut primitives = trees.primitives.clone();
        let placed = place_lights(scene, &trees, &mut primitives, &materials);
        let emitters = if placed.is_empty() {
            &primitives[..standing]
        } else {
            &primitives
        };
        let mut lighting = Lighting::new(
            emitters,
            of_meshes.clone(),
            &placed,
            &materials,
            &scene.lights,
            radius,
        );
        let placed_entries = lighting.places.len() as u32;
        let (kinds, first_placed) = if placed.is_empty() {
            (kinds, NO_PRIMITIVE)
        } else {
            lighting.places.extend(placed);
            (kinds | PLACED_LIGHTS, of_meshes.end as u32)
        };
        let kinds = if lighting.has_others() {
            kinds | OTHER_LIGHTS
        } else {
            kinds
        };
        let surroundings = Surroundings {
            sky: scene.sky,
            light_count: lighting.table.len() as u32,
            inverse_power: lighting.inverse_power as f32,
            extent: trees.extent,
            most_indirect: scene.clamp_indirect.unwrap_or(f32::INFINITY),
            strategies: match scene.direct_light {
                DirectLight::Both => LIGHT_SAMPLES + BSDF_SAMPLES,
                DirectLight::Lights => LIGHT_SAMPLES,
                DirectLight::Bsdf => BSDF_SAMPLES,
            },
            far_lights: lighting.sun_count + u32::from(lighting.environment.width > 0),
            sun_count: lighting.sun_count,
            tree_lights: lighting.tree_lights,
            tree_share: lighting.tree_share,
            first_placed,
            placed_entries,
        };
        Ok(World {
            nodes: trees.nodes.clone(),
            primitives,
            instances: trees.instances.clone(),
            corners: trees.corners.clone(),
            vertices: trees.vertices.clone(),
            materials,
            kinds,
            energy,
            maps: imagery.maps,
            textures: imagery.textures,
            texels: imagery.texels,
            lights: lighting.table,
            surroundings,
            light_nodes: lighting.nodes,
            light_places: lighting.places,
            lamps: lighting.lamps,
            environment: lighting.environment,
            environment_rows: lighting.tables.rows,
            environment_texels: lighting.tables.texels,
            trees,
        })
    }

    /// All that shines.
    #[inline]
    pub fn lights(&self) -> Lights<'_> {
        Lights {
            surroundings: self.surroundings,
            primitives: &self.primitives,
            materials: &self.materials,
            table: &self.lights,
            nodes: &self.light_nodes,
            places: &self.light_places,
            lamps: &self.lamps,
            environment: self.environment,
            rows: &self.environment_rows,
            texels: &self.environment_texels,
        }
    }

    /// The scene as this processor's vectors read it, made when it is first asked for. `None` where it has none, and where
    /// there are instances or veils.
    pub fn wide(&self) -> Option<&Wide> {
        if !self.instances.is_empty() || self.veils().is_some() {
            return None;
        }
        let make = || {
            let vectors = Vectors::best()?;
            Wide::new(
                vectors,
                &self.nodes,
                &self.primitives,
                self.surroundings.extent,
            )
        };
        self.trees.wide.get_or_init(make).as_ref()
    }

    /// What rays are traced through where there are instances.
    #[inline]
    pub fn placed_scene(&self) -> PlacedScene<'_> {
        PlacedScene {
            nodes: &self.nodes,
            primitives: &self.primitives,
            instances: &self.instances,
            extent: self.surroundings.extent,
        }
    }

    /// Whether kernels do that know only of triangles and spheres, each of one material all over.
    pub fn is_plain(&self) -> bool {
        self.instances.is_empty() && self.maps.is_empty()
    }

    /// How many kinds of materials there are.
    pub fn kind_count(&self) -> u32 {
        (self.kinds & ((1 << KIND_COUNT) - 1)).count_ones()
    }

    /// What says how much surfaces hide, if any hides only a part of what is behind it.
    pub fn veils(&self) -> Option<Veils<'_>> {
        let veiled = |maps: &Maps| maps.opacity < 1.0 || maps.used & (1 << MAP_OPACITY) != 0;
        self.maps.iter().skip(1).any(veiled).then(|| Veils {
            scene: self.placed_scene(),
            corners: &self.corners,
            vertices: &self.vertices,
            materials: &self.materials,
            imagery: self.imagery(),
        })
    }

    /// What lookups of textures read.
    pub fn imagery(&self) -> maps::Imagery<'_> {
        maps::Imagery {
            maps: &self.maps,
            textures: &self.textures,
            texels: &self.texels,
        }
    }

    /// The surface that a ray hit, and what it is made of there, textures and all.
    pub(crate) fn seen(&self, ray: &Ray, hit: &Hit, instance: u32) -> (Surface, Material) {
        let primitive = &self.primitives[hit.primitive as usize];
        let mut surface = match self.instances.get(instance as usize) {
            Some(placed) => {
                let (corners, vertices) = (&self.corners, &self.vertices);
                placed_surface(placed, corners, vertices, primitive, ray, hit)
            }
            None => surface_at(primitive, ray, hit),
        };
        let mut material = self.materials[surface.material as usize];
        if material.maps != 0 {
            material = material_at(&self.imagery(), &material, &mut surface);
        }
        (surface, material)
    }
}
