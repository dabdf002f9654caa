//! The scene in the form that the stages read and that is uploaded to GPUs.

use std::{ops::Range, sync::Arc};

use glam::Vec3;

use crate::{
    Error,
    accel::{
        bvh::{
            InstancedScene, Node,
            wide::{SimdInstancedScene, SimdScene},
        },
        instance::{Corners, Instance, MeshVertex, instance_surface, instanced_triangle},
        primitive::{Primitive, Surface, surface_at},
        trees::{self, SceneBvhs},
        vectors::SimdLevel,
    },
    device::{
        media::{add_media, crossing_features, distant_light, set_priorities},
        opacity_maps,
        texture_atlas::TextureBuffers,
    },
    lights::{
        environment::{Environment, EnvironmentRow, EnvironmentTexel},
        light::{BSDF_SAMPLES, LIGHT_SAMPLES, Lamp, Light, LightParams, Lights},
        light_groups::{LightChances, LightGroups, LightWeights},
        light_params::{self, LightTables, bounding_radius},
        light_tree::{LightPair, NO_LIGHT, PROBABILITY_UNITS},
    },
    math::{dot, max_component},
    path::{Hit, NO_PRIMITIVE, Ray},
    scene::{DirectLight, Scene},
    shading::{
        energy,
        material::{
            ABSORBING, ANISOTROPIC, ANISOTROPIC_FACETS, BECKMANN_FACETS, BLEND, BOUNDARIES,
            BY_SIDE, COAT_NORMALS, COATED_GLASS, CONDUCTOR, EXTENDED_KINDS, INSTANCED_LIGHTS,
            KIND_COUNT, MAX_BLENDS, MIRRORED_RELIEF, Material, NESTED, OTHER_LIGHTS, RARE_KINDS,
            ROUGH_CONDUCTOR, SCHLICK, SECOND_UV, THIN,
        },
        material_textures::{self, MAP_COAT_NORMAL, MaterialTextures, material_at},
        medium::Medium,
        opacity::StochasticOpacity,
        opacity_map::OPAQUE,
        texture::Texture,
    },
};

/// All data of a scene that the stages read, except the camera. A clone shares all but the lights.
#[derive(Clone)]
pub struct RenderScene {
    /// BVH nodes: the tree over the scene, its root first, then the trees of the meshes.
    pub nodes: Arc<Vec<Node>>,
    /// Primitives in the order of the BVH leaves: those of the scene, then the triangles of its meshes in object space.
    /// From `light_params.first_instanced` on, they are followed by world-space copies of the triangles of emissive
    /// instances, which belong to no BVH.
    pub primitives: Arc<Vec<Primitive>>,
    /// Instances of meshes, by index.
    pub instances: Arc<Vec<Instance>>,
    /// Vertex indices of the triangles of meshes that have more than positions.
    pub corners: Arc<Vec<Corners>>,
    /// Vertex attributes of meshes besides positions.
    pub vertices: Arc<Vec<MeshVertex>>,
    /// Materials, indexed by `Primitive::material`.
    pub materials: Arc<Vec<Material>>,
    /// Bit `1 << Material::kind` of each kind of material, and feature bits such as `OTHER_LIGHTS`. They select the
    /// kernel variant.
    pub kinds: u32,
    /// Energy tables of the rough materials, see [`energy`].
    pub energy: Arc<Vec<f32>>,
    /// Textures and opacity of each material that is not opaque or has textures, indexed by `Material::maps`; entry 0
    /// is unused. Empty if there are no such materials.
    pub maps: Arc<Vec<MaterialTextures>>,
    /// Textures (an image with sampler state and transform), indexed by `MaterialTextures::textures` / 4.
    pub textures: Arc<Vec<Texture>>,
    /// The texel buffer, in 32-bit words: the table of sRGB values, then the images.
    pub texels: Arc<Vec<u32>>,
    /// Opacity maps of the primitives, see [`opacity_map`](crate::shading::opacity_map). Empty if all surfaces are
    /// opaque, unless there are media, or a material has [`RARE_KINDS`] or [`EXTENDED_KINDS`].
    pub opacity_maps: Arc<Vec<u32>>,
    /// The medium inside the body of each material, by index; empty if light scatters in none of them. The last one is
    /// the fog, if there is any.
    pub media: Arc<Vec<Medium>>,
    /// Table of lights to sample, those of the light tree first.
    pub lights: Vec<Light>,
    /// Parameters of direct lighting that all lights share, the constant sky, and the scene's extent.
    pub light_params: LightParams,
    /// Nodes of the light tree in pairs; empty without one.
    pub light_pairs: Arc<Vec<LightPair>>,
    /// Index in `lights` of each primitive, and entries of instances, see [`Lights::places`].
    pub light_places: Arc<Vec<u32>>,
    /// Lights that are not surfaces, suns first.
    pub lamps: Vec<Lamp>,
    /// Size, orientation and selection probability of the environment map.
    pub environment: Environment,
    /// Rows of the environment map from the top, with their sampling tables; empty without a map.
    pub environment_rows: Arc<Vec<EnvironmentRow>>,
    /// Texels of the environment map in row-major order, with their sampling tables; empty without a map.
    pub environment_texels: Arc<Vec<EnvironmentTexel>>,
    /// Search guide of the environment map's sampling tables; empty without a map.
    pub environment_guide: Arc<Vec<u32>>,
    /// Groups of lights whose probabilities depend on the camera.
    light_groups: LightGroups,
    /// Whether a surface is not opaque everywhere.
    alpha_tested: bool,
    /// The geometry, which does not depend on materials and is reused when they change.
    trees: Arc<SceneBvhs>,
}

/// Appends world-space copies of the triangles of emissive instances to `primitives`.
///
/// Returns for each instance the offset from a mesh triangle's index to its copy, or `NO_LIGHT` if it has no copies.
/// The list is empty if nothing was copied: no instance is emissive, or they have more than [`MAX_INSTANCED_LIGHTS`]
/// triangles.
fn copy_emissive_instances(
    scene: &Scene,
    trees: &SceneBvhs,
    primitives: &mut Arc<Vec<Primitive>>,
    materials: &[Material],
) -> Vec<u32> {
    let emissive = scene.emissive_instances();
    let shines = |primitive: &Primitive| {
        max_component(materials[primitive.material as usize].emission) > 0.0
    };
    if emissive.is_empty() || scene.emissive_triangle_count() > MAX_INSTANCED_LIGHTS {
        return Vec::new();
    }
    let mut first = trees::top_level_count(scene);
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
    for number in emissive {
        let instance = trees.instances[number as usize];
        let of_mesh = meshes[scene.instances[number as usize].mesh as usize].clone();
        let here: Vec<Primitive> = trees.primitives[of_mesh.clone()]
            .iter()
            .map(|triangle| Primitive {
                number,
                ..instanced_triangle(&instance, triangle)
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

pub use crate::scene::limits::MAX_INSTANCED_LIGHTS;

impl RenderScene {
    /// Builds the BVHs and light tables of a scene.
    ///
    /// # Errors
    /// The scene is invalid, see [`Scene::check`], a BVH is too deep for the traversal stack, or memory does not
    /// suffice.
    pub fn new(scene: &Scene) -> Result<RenderScene, Error> {
        RenderScene::with_trees(Arc::new(SceneBvhs::of(scene)?), scene)
    }

    /// Builds the material and light tables of a scene whose BVHs exist already.
    ///
    /// # Errors
    /// The scene is invalid, see [`Scene::check`], or the textures exceed the address range or the memory.
    pub fn with_trees(trees: Arc<SceneBvhs>, scene: &Scene) -> Result<RenderScene, Error> {
        let invalid = |problem: String| Error::File {
            file: scene.path.display().to_string(),
            problem,
        };
        scene.check_looks()?;
        trees.check_scene(scene)?;
        let mut materials: Vec<Material> = scene.materials.iter().map(Material::from).collect();
        set_priorities(scene, &mut materials);
        let kinds = materials
            .iter()
            .fold(0, |kinds, each| kinds | 1 << each.kind);
        let is_coated_glass = |material: &Material| {
            let refracts = material.transmission > 0.0 && material.flags & THIN == 0;
            refracts && material.clearcoat > 0.0
        };
        let kinds = if materials.iter().any(is_coated_glass) {
            kinds | COATED_GLASS
        } else {
            kinds
        };
        let rare_facets = ANISOTROPIC_FACETS | BECKMANN_FACETS;
        let is_anisotropic = |material: &Material| material.flags & rare_facets != 0;
        let kinds = if materials.iter().any(is_anisotropic) {
            kinds | ANISOTROPIC
        } else {
            kinds
        };
        let energy = energy::tables(&mut materials);
        let texture_buffers = TextureBuffers::new(scene, &mut materials).map_err(invalid)?;
        let coated = |maps: &MaterialTextures| maps.used & (1 << MAP_COAT_NORMAL) != 0;
        let kinds = if texture_buffers.maps.iter().any(coated) {
            kinds | COAT_NORMALS
        } else {
            kinds
        };
        let kinds = if texture_buffers
            .textures
            .iter()
            .any(|texture| texture.second == 1)
        {
            kinds | SECOND_UV
        } else {
            kinds
        };
        let (media, fog_body) = add_media(scene, &mut materials).map_err(invalid)?;
        let absorbs = |material: &Material| material.absorption != Vec3::ZERO;
        let kinds = if materials.iter().any(absorbs) {
            kinds | ABSORBING
        } else {
            kinds
        };
        let kinds = kinds | crossing_features(&materials);
        let (sky, background, lights) = distant_light(scene);
        let radius = bounding_radius(scene);
        let top_level_count = trees::top_level_count(scene);
        let of_meshes = top_level_count..trees.primitives.len();
        let mut primitives = trees.primitives.clone();
        let top_level = &primitives[..top_level_count];
        light_params::check_memory(scene, top_level, of_meshes.len(), &materials, &lights)
            .map_err(|problem| invalid(format!("its lights: {problem}; use fewer")))?;
        let copies = copy_emissive_instances(scene, &trees, &mut primitives, &materials);
        let emitters = if copies.is_empty() {
            &primitives[..top_level_count]
        } else {
            &primitives
        };
        let mut light_tables = LightTables::new(
            emitters,
            of_meshes.clone(),
            &copies,
            &materials,
            &lights,
            radius,
        );
        let instance_entries = light_tables.places.len() as u32;
        let (kinds, first_instanced) = if copies.is_empty() {
            (kinds, NO_PRIMITIVE)
        } else {
            light_tables.places.extend(copies);
            (kinds | INSTANCED_LIGHTS, of_meshes.end as u32)
        };
        let kinds = if light_tables.has_others() {
            kinds | OTHER_LIGHTS
        } else {
            kinds
        };
        let light_params = LightParams {
            sky,
            light_count: light_tables.table.len() as u32,
            inverse_power: light_tables.inverse_power as f32,
            extent: trees.extent,
            roulette_start: match scene.roulette {
                0 => u32::MAX,
                start => start,
            },
            max_indirect: scene.clamp_indirect.unwrap_or(f32::INFINITY),
            strategies: match scene.direct_light {
                DirectLight::Both => LIGHT_SAMPLES + BSDF_SAMPLES,
                DirectLight::Lights => LIGHT_SAMPLES,
                DirectLight::Bsdf => BSDF_SAMPLES,
            },
            far_lights: light_tables.sun_count + u32::from(light_tables.environment.width > 0),
            sun_count: light_tables.sun_count,
            tree_lights: light_tables.tree_lights,
            tree_share: light_tables.tree_share,
            first_instanced,
            instance_entries,
            background: background.unwrap_or(sky),
            has_background: background.is_some().into(),
            tracks_bodies: u32::from(kinds & ABSORBING != 0),
            fog_body,
            has_boundaries: u32::from(kinds & BOUNDARIES != 0),
        };
        let mut opacity_maps =
            opacity_maps::build(scene, &trees, &primitives, &materials, &texture_buffers);
        let alpha_tested = !opacity_maps.is_empty();
        // The megakernel for media and such materials tests opacity in every scene.
        let has_rare = !media.is_empty() || kinds & (RARE_KINDS | EXTENDED_KINDS) != 0;
        if !alpha_tested && has_rare {
            opacity_maps = vec![OPAQUE; primitives.len()];
        }
        Ok(RenderScene {
            alpha_tested,
            nodes: trees.nodes.clone(),
            primitives,
            instances: trees.instances.clone(),
            corners: trees.corners.clone(),
            vertices: trees.vertices.clone(),
            materials: Arc::new(materials),
            kinds,
            energy: Arc::new(energy),
            maps: Arc::new(texture_buffers.maps),
            textures: Arc::new(texture_buffers.textures),
            texels: Arc::new(texture_buffers.texels),
            opacity_maps: Arc::new(opacity_maps),
            media: Arc::new(media),
            lights: light_tables.table,
            light_params,
            light_pairs: Arc::new(light_tables.light_pairs),
            light_places: Arc::new(light_tables.places),
            lamps: light_tables.lamps,
            environment: light_tables.environment,
            environment_rows: Arc::new(light_tables.tables.rows),
            environment_texels: Arc::new(light_tables.tables.texels),
            environment_guide: Arc::new(light_tables.tables.guide),
            light_groups: light_tables.groups,
            trees,
        })
    }

    /// Returns the groups of lights whose probabilities depend on the camera.
    pub(crate) fn light_groups(&self) -> &LightGroups {
        &self.light_groups
    }

    /// Returns the scene with other probabilities of groups of lights, see [`LightGroups::set`].
    pub(crate) fn with_light_weights(&self, weights: LightWeights) -> RenderScene {
        let mut scene = self.clone();
        // A copy of the tree is only needed for other factors.
        let pairs: &mut [LightPair] = if weights.nodes == self.light_groups.weights().nodes {
            &mut []
        } else {
            Arc::make_mut(&mut scene.light_pairs).as_mut_slice()
        };
        scene.light_groups.set(
            weights,
            LightChances {
                table: &mut scene.lights,
                light_pairs: pairs,
                lamps: &mut scene.lamps,
                environment: &mut scene.environment,
                tree_share: &mut scene.light_params.tree_share,
            },
        );
        scene
    }

    /// Returns the scene with light samples from one upper node of the light tree only, see
    /// [`LightGroups::node_alone`]. The probabilities of choosing lights outside it are wrong.
    pub(crate) fn with_light_node(&self, node: usize) -> RenderScene {
        let mut scene = self.clone();
        scene.light_pairs = Arc::new(self.light_groups.node_alone(&self.light_pairs, node));
        scene.light_params.tree_share = PROBABILITY_UNITS;
        scene
    }

    /// Returns all data that light sampling reads.
    #[inline]
    pub fn lights(&self) -> Lights<'_> {
        Lights {
            light_params: self.light_params,
            primitives: &self.primitives,
            materials: &self.materials,
            table: &self.lights,
            light_pairs: &self.light_pairs,
            places: &self.light_places,
            lamps: &self.lamps,
            environment: self.environment,
            rows: &self.environment_rows,
            texels: &self.environment_texels,
            guide: &self.environment_guide,
        }
    }

    /// Returns the scene in the form for SIMD traversal, built at the first call.
    ///
    /// `None` if the processor has no supported vector instructions, or the scene has instances or partly opaque
    /// surfaces.
    pub fn simd_scene(&self) -> Option<&SimdScene> {
        if !self.instances.is_empty() || self.stochastic_opacity().is_some() {
            return None;
        }
        let make = || {
            let vectors = SimdLevel::best()?;
            SimdScene::new(
                vectors,
                &self.nodes,
                &self.primitives,
                self.light_params.extent,
            )
        };
        self.trees.simd_scene.get_or_init(make).as_ref()
    }

    /// Returns a scene with instances or partly opaque surfaces in the form for SIMD traversal, built at the first
    /// call.
    ///
    /// `None` if the processor has no supported vector instructions, or for scenes with neither.
    pub fn simd_instanced_scene(&self) -> Option<&SimdInstancedScene> {
        if self.instances.is_empty() && self.stochastic_opacity().is_none() {
            return None;
        }
        let make = || SimdInstancedScene::new(SimdLevel::best()?, &self.instanced_scene());
        self.trees.simd_instanced_scene.get_or_init(make).as_ref()
    }

    /// Builds the form for SIMD traversal if the scene has one, so that building does not count as render time.
    pub fn prepare_simd(&self) {
        self.simd_scene();
        self.simd_instanced_scene();
    }

    /// Returns the host memory in bytes: that of materials, textures and lights, and that of primitives and BVHs, with
    /// their form for SIMD traversal if it has been built.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let scene = size_of_val(&self.materials[..])
            + size_of_val(&self.energy[..])
            + size_of_val(&self.maps[..])
            + size_of_val(&self.textures[..])
            + size_of_val(&self.texels[..])
            + size_of_val(&self.opacity_maps[..])
            + size_of_val(&self.media[..])
            + size_of_val(&self.lights[..])
            + size_of_val(&self.light_pairs[..])
            + size_of_val(&self.light_places[..])
            + size_of_val(&self.lamps[..])
            + size_of_val(&self.environment_rows[..])
            + size_of_val(&self.environment_texels[..])
            + size_of_val(&self.environment_guide[..]);
        let simd = self.trees.simd_scene.get().and_then(Option::as_ref);
        let instanced = self.trees.simd_instanced_scene.get();
        let instanced = instanced.and_then(Option::as_ref);
        let trees = size_of_val(&self.nodes[..])
            + size_of_val(&self.primitives[..])
            + size_of_val(&self.instances[..])
            + size_of_val(&self.corners[..])
            + size_of_val(&self.vertices[..])
            + simd.map_or(0, SimdScene::bytes)
            + instanced.map_or(0, SimdInstancedScene::bytes);
        (scene as u64, trees as u64)
    }

    /// Returns the data that traversal reads in scenes with instances.
    #[inline]
    pub fn instanced_scene(&self) -> InstancedScene<'_> {
        InstancedScene {
            nodes: &self.nodes,
            primitives: &self.primitives,
            instances: &self.instances,
            extent: self.light_params.extent,
        }
    }

    /// Returns whether the kernel variants without instances, textures, media and [`EXTENDED_KINDS`] suffice.
    pub fn is_plain(&self) -> bool {
        self.instances.is_empty()
            && self.maps.is_empty()
            && self.media.is_empty()
            && self.kinds & EXTENDED_KINDS == 0
    }

    /// Returns the number of different material kinds in the scene.
    pub(crate) fn kind_count(&self) -> u32 {
        (self.kinds & ((1 << KIND_COUNT) - 1)).count_ones()
    }

    /// Returns the data for opacity tests, or `None` if all surfaces are opaque.
    #[inline]
    pub fn stochastic_opacity(&self) -> Option<StochasticOpacity<'_>> {
        self.alpha_tested.then(|| self.opacity())
    }

    /// Returns the data for opacity tests, also if all surfaces are opaque. Scenes with media have it.
    #[inline]
    pub fn opacity(&self) -> StochasticOpacity<'_> {
        StochasticOpacity {
            scene: self.instanced_scene(),
            corners: &self.corners,
            vertices: &self.vertices,
            materials: &self.materials,
            atlas: self.texture_atlas(),
            opacity_maps: &self.opacity_maps,
            from_camera: false,
        }
    }

    /// Returns whether light passes some surfaces straight: boundaries of media, or those in bodies of higher priority.
    #[inline(always)]
    pub fn has_boundaries(&self) -> bool {
        self.light_params.has_boundaries == 1
    }

    /// Returns whether some bodies have priorities, so that they may overlap.
    #[inline(always)]
    pub fn has_priorities(&self) -> bool {
        self.kinds & NESTED != 0
    }

    /// Returns the data that texture lookups read.
    pub(crate) fn texture_atlas(&self) -> material_textures::TextureAtlas<'_> {
        material_textures::TextureAtlas {
            maps: &self.maps,
            textures: &self.textures,
            texels: &self.texels,
        }
    }

    /// Returns the surface at a hit and its material there, textures applied. The color of a blend is the mean of those
    /// of its materials, by their weights, or that of the side that was hit. `instance` is an index or `NO_INSTANCE`.
    pub(crate) fn surface_and_material(
        &self,
        ray: &Ray,
        hit: &Hit,
        instance: u32,
    ) -> (Surface, Material) {
        let primitive = &self.primitives[hit.primitive as usize];
        let mut surface = match self.instances.get(instance as usize) {
            Some(mesh_instance) => {
                let (corners, vertices) = (&self.corners, &self.vertices);
                instance_surface(mesh_instance, corners, vertices, primitive, ray, hit)
            }
            None => surface_at(primitive, ray, hit),
        };
        // Before a normal map bends the shading normal.
        let front = -dot(ray.direction, surface.shading) > 0.0;
        let mut material = self.material_of(surface.material, front, &mut surface);
        if material.flags & BLEND != 0 {
            material.color = self.blended_color(&material, surface, front, MAX_BLENDS);
        } else {
            material.color = albedo(&material);
        }
        (surface, material)
    }

    /// Returns the material with this index at a point of a surface that is seen from its front or its back, textures
    /// applied. Its normal map bends the shading normals of the surface.
    fn material_of(&self, index: u32, front: bool, surface: &mut Surface) -> Material {
        let material = self.materials[index as usize];
        if material.maps == 0 {
            return material;
        }
        // As in `material_here`.
        let turned = if !front && material.flags & MIRRORED_RELIEF != 0 {
            -1.0
        } else {
            1.0
        };
        surface.tangent *= turned;
        let here = material_at(&self.texture_atlas(), &material, surface);
        surface.tangent *= turned;
        here
    }

    /// Returns the mean color of the materials of a blend at a point of a surface, seen from its front or its back.
    /// Blends are followed to a depth of `levels`, 1 or more.
    fn blended_color(&self, blend: &Material, surface: Surface, front: bool, levels: u32) -> Vec3 {
        let color = |index: u32| {
            let mut surface = surface;
            let material = self.material_of(index, front, &mut surface);
            match material.flags & BLEND {
                0 => albedo(&material),
                _ if levels <= 1 => Vec3::ZERO,
                _ => self.blended_color(&material, surface, front, levels - 1),
            }
        };
        match blend.flags & BY_SIDE {
            0 => color(blend.first).lerp(color(blend.second), blend.weight),
            _ if front => color(blend.first),
            _ => color(blend.second),
        }
    }
}

/// Returns the color that a material has in the albedo image: that of a conductor with a refractive index is its mean
/// reflectance.
fn albedo(material: &Material) -> Vec3 {
    match material.kind {
        CONDUCTOR | ROUGH_CONDUCTOR if material.flags & SCHLICK == 0 => {
            material.sheen * material.color
        }
        _ => material.color,
    }
}
