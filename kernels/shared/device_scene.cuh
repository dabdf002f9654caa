// The scene as kernels receive it, and the parts of it that device functions take. Twin: src/device/device_scene.rs.
#include "bvh.cuh"
#include "light.cuh"
#include "medium.cuh"
#include "opacity.cuh"

struct DeviceScene {
    const Node *nodes;
    const Primitive *primitives;
    const Instance *instances;
    const Corners *corners;
    const MeshVertex *vertices;
    const Material *materials;
    const MaterialTextures *maps;
    const Texture *textures;
    const u32 *texels;
    const f32 *energy;
    const Light *lights;
    const LightPair *light_pairs;
    const u32 *light_places;
    const Lamp *lamps;
    const EnvironmentRow *environment_rows;
    const EnvironmentTexel *environment_texels;
    const u32 *environment_guide;
    LightParams light_params;
    Environment environment;
    const u32 *opacity_maps;
    const Medium *media;
};

// Returns the BVHs of the scene and its meshes.
inline InstancedScene instanced_scene(const DeviceScene &scene) {
    return {scene.nodes, scene.primitives, scene.instances, scene.light_params.extent};
}

// Returns the BVHs with all that alpha tests read. Camera rays do not see hidden materials.
inline StochasticOpacity stochastic_opacity(const DeviceScene &scene, bool from_camera) {
    return {instanced_scene(scene), scene.corners, scene.vertices, scene.materials,
            {scene.maps, scene.textures, scene.texels}, scene.opacity_maps, from_camera};
}

// Returns all data that light sampling reads.
inline Lights lights_of(const DeviceScene &scene) {
    return {scene.light_params, scene.primitives, scene.materials, scene.lights, scene.light_pairs, scene.light_places,
            scene.lamps, scene.environment, scene.environment_rows, scene.environment_texels,
            scene.environment_guide};
}
