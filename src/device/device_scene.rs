//! The scene in a GPU's memory, and the struct by which kernels receive it.

use std::sync::Arc;

use compaction::{
    cuda::{In, overwrite, upload},
    cudarc::driver::{CudaSlice, CudaStream},
};

use super::render_scene::RenderScene;
use crate::{
    accel::{
        bvh::Node,
        instance::{Corners, Instance, MeshVertex},
        primitive::Primitive,
    },
    lights::{
        environment::{Environment, EnvironmentRow, EnvironmentTexel},
        light::{Lamp, Light, LightParams},
        light_groups::LightWeights,
        light_tree::LightPair,
    },
    shading::{
        material::Material, material_textures::MaterialTextures, medium::Medium, texture::Texture,
    },
};

compaction::shared! {
    /// The scene as kernels receive it, see [`RenderScene`] for the fields. Twin: `kernels/shared/device_scene.cuh`.
    pub struct DeviceScene<'a> {
        /// BVH nodes of the scene, then of the meshes.
        pub nodes: In<Node>,
        /// Primitives in the order of the BVH leaves.
        pub primitives: In<Primitive>,
        /// Instances of meshes.
        pub instances: In<Instance>,
        /// Vertex indices of mesh triangles.
        pub corners: In<Corners>,
        /// Vertex attributes of meshes besides positions.
        pub vertices: In<MeshVertex>,
        /// Materials, indexed by `Primitive::material`.
        pub materials: In<Material>,
        /// Textures of each textured material, indexed by `Material::maps`; entry 0 is unused.
        pub maps: In<MaterialTextures>,
        /// Textures: images with sampler state and transform.
        pub textures: In<Texture>,
        /// The table of sRGB values, then the texels of all images.
        pub texels: In<u32>,
        /// Energy tables of the rough materials.
        pub energy: In<f32>,
        /// Table of lights to sample.
        pub lights: In<Light>,
        /// Nodes of the light tree in pairs; empty without one.
        pub light_pairs: In<LightPair>,
        /// Index in `lights` of each primitive, or `NO_LIGHT`; then one entry per instance, see
        /// [`LightParams::instance_entries`]. May be empty, see [`Lights`](crate::lights::light::Lights).
        pub light_places: In<u32>,
        /// Lights that are not surfaces.
        pub lamps: In<Lamp>,
        /// Rows of the environment map, with their sampling tables.
        pub environment_rows: In<EnvironmentRow>,
        /// Texels of the environment map, with their sampling tables.
        pub environment_texels: In<EnvironmentTexel>,
        /// Search guide of these tables.
        pub environment_guide: In<u32>,
        /// Parameters of direct lighting that all lights share, the constant sky, and the scene's extent.
        pub light_params: LightParams,
        /// Size, orientation and selection probability of the environment map.
        pub environment: Environment,
        /// Opacity maps of the primitives, see [`RenderScene::opacity_maps`]. As the last field, it leaves the code of
        /// kernels without opacity tests as it is.
        pub opacity_maps: In<u32>,
        /// The medium inside the body of each material; empty if the scene has none. It is among the last fields for the
        /// same reason.
        pub media: In<Medium>,
    }
}

/// The buffers of a scene in a GPU's memory.
pub struct CudaScene {
    nodes: CudaSlice<Node>,
    primitives: CudaSlice<Primitive>,
    instances: CudaSlice<Instance>,
    corners: CudaSlice<Corners>,
    vertices: CudaSlice<MeshVertex>,
    materials: CudaSlice<Material>,
    maps: CudaSlice<MaterialTextures>,
    textures: CudaSlice<Texture>,
    texels: CudaSlice<u32>,
    opacity_maps: CudaSlice<u32>,
    media: CudaSlice<Medium>,
    energy: CudaSlice<f32>,
    lights: CudaSlice<Light>,
    light_pairs: CudaSlice<LightPair>,
    light_places: CudaSlice<u32>,
    lamps: CudaSlice<Lamp>,
    environment_rows: CudaSlice<EnvironmentRow>,
    environment_texels: CudaSlice<EnvironmentTexel>,
    environment_guide: CudaSlice<u32>,
    light_params: LightParams,
    environment: Environment,
    /// What the probabilities of groups of lights are made from.
    light_weights: LightWeights,
}

impl CudaScene {
    /// Uploads a scene on `stream`.
    ///
    /// # Errors
    ///
    /// Returns the driver's error, for example if the scene does not fit into the GPU's memory.
    pub fn new(stream: &Arc<CudaStream>, scene: &RenderScene) -> compaction::Result<CudaScene> {
        Ok(CudaScene {
            nodes: upload(stream, &scene.nodes)?,
            primitives: upload(stream, &scene.primitives)?,
            instances: upload(stream, &scene.instances)?,
            corners: upload(stream, &scene.corners)?,
            vertices: upload(stream, &scene.vertices)?,
            materials: upload(stream, &scene.materials)?,
            maps: upload(stream, &scene.maps)?,
            textures: upload(stream, &scene.textures)?,
            texels: upload(stream, &scene.texels)?,
            opacity_maps: upload(stream, &scene.opacity_maps)?,
            media: upload(stream, &scene.media)?,
            energy: upload(stream, &scene.energy)?,
            lights: upload(stream, &scene.lights)?,
            light_pairs: upload(stream, &scene.light_pairs)?,
            light_places: upload(stream, &scene.light_places)?,
            lamps: upload(stream, &scene.lamps)?,
            environment_rows: upload(stream, &scene.environment_rows)?,
            environment_texels: upload(stream, &scene.environment_texels)?,
            environment_guide: upload(stream, &scene.environment_guide)?,
            light_params: scene.light_params,
            environment: scene.environment,
            light_weights: scene.light_groups().weights(),
        })
    }

    /// Sets the probabilities of lights to those of `scene`, which must otherwise be the uploaded scene. Returns whether
    /// any has changed.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    pub(crate) fn set_lights(
        &mut self,
        stream: &Arc<CudaStream>,
        scene: &RenderScene,
    ) -> compaction::Result<bool> {
        if self.light_weights == scene.light_groups().weights() {
            return Ok(false);
        }
        overwrite(stream, &scene.lights, &mut self.lights)?;
        overwrite(stream, &scene.lamps, &mut self.lamps)?;
        overwrite(stream, &scene.light_pairs, &mut self.light_pairs)?;
        self.light_params = scene.light_params;
        self.environment = scene.environment;
        self.light_weights = scene.light_groups().weights();
        Ok(true)
    }

    /// Returns the device memory in bytes: that of materials, textures and lights, and that of primitives and BVHs.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let scene = self.materials.num_bytes()
            + self.maps.num_bytes()
            + self.textures.num_bytes()
            + self.texels.num_bytes()
            + self.opacity_maps.num_bytes()
            + self.media.num_bytes()
            + self.energy.num_bytes()
            + self.lights.num_bytes()
            + self.light_pairs.num_bytes()
            + self.light_places.num_bytes()
            + self.lamps.num_bytes()
            + self.environment_rows.num_bytes()
            + self.environment_texels.num_bytes()
            + self.environment_guide.num_bytes();
        let trees = self.nodes.num_bytes()
            + self.primitives.num_bytes()
            + self.instances.num_bytes()
            + self.corners.num_bytes()
            + self.vertices.num_bytes();
        (scene as u64, trees as u64)
    }

    /// Returns the argument of a kernel that reads the scene.
    pub fn argument(&self) -> DeviceScene<'_> {
        DeviceScene {
            nodes: self.nodes.as_view(),
            primitives: self.primitives.as_view(),
            instances: self.instances.as_view(),
            corners: self.corners.as_view(),
            vertices: self.vertices.as_view(),
            materials: self.materials.as_view(),
            maps: self.maps.as_view(),
            textures: self.textures.as_view(),
            texels: self.texels.as_view(),
            opacity_maps: self.opacity_maps.as_view(),
            media: self.media.as_view(),
            energy: self.energy.as_view(),
            lights: self.lights.as_view(),
            light_pairs: self.light_pairs.as_view(),
            light_places: self.light_places.as_view(),
            lamps: self.lamps.as_view(),
            environment_rows: self.environment_rows.as_view(),
            environment_texels: self.environment_texels.as_view(),
            environment_guide: self.environment_guide.as_view(),
            light_params: self.light_params,
            environment: self.environment,
        }
    }
}
