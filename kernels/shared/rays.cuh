// What a ray meets: its nearest hit, the light of the sky, or what blocks it. Twin: src/vertex/rays.rs.
// Kernels are compiled for the features of a scene, INSTANCED and ALPHA_TESTED.
#include "device_scene.cuh"

// Clamps light that has scattered this many times. Only light that scattered at least twice is clamped.
inline Vec3 clamp_indirect(const LightParams &light_params, Vec3 light, u32 scatterings) {
    return scatterings < 2 ? light : clamped(light, light_params.max_indirect);
}

inline InstanceHit nearest_hit(const DeviceScene &scene, const Ray &ray, u32 from, Sampler numbers, u32 bounce) {
    if (ALPHA_TESTED) {
        u32 key = opacity_hash(numbers, bounce, PATH_RAY);
        return nearest_alpha_tested(stochastic_opacity(scene, bounce == 0), ray, from, key);
    }
    if (INSTANCED) return nearest_instanced(instanced_scene(scene), ray, from);
    return {nearest(scene.nodes, scene.primitives, scene.light_params.extent, ray), NO_INSTANCE};
}

inline Vec3 escaped_light(const Lights &lights, const Ray &ray, Vec3 throughput, bool scattered, u32 bounce) {
    if (bounce == 0 && lights.light_params.has_background == 1) return throughput * lights.light_params.background;
    Vec3 light = throughput * sky_light(lights, ray.direction, ray.pdf, scattered);
    return clamp_indirect(lights.light_params, light, bounce);
}

inline bool is_blocked(const DeviceScene &scene, const ShadowRay &ray, u32 from, u32 to, Sampler numbers, u32 bounce) {
    if (ALPHA_TESTED) {
        u32 key = opacity_hash(numbers, bounce, SHADOW_RAY);
        return occluded_alpha_tested(stochastic_opacity(scene, false), ray, from, to, key);
    }
    if (INSTANCED) return occluded_instanced(instanced_scene(scene), ray, from, to);
    return occluded(scene.nodes, scene.primitives, scene.light_params.extent, ray);
}
