// intersect: finds the nearest hit of every live ray. Stage: src/stages/intersect.rs.
#include "shared/clock.cuh"
#include "shared/device_scene.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"

inline void intersect_lanes(const DeviceScene &scene, const PathBuffers &paths, u32 count) {
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        u32 path = paths.queue[lane];
        if (path == NO_PATH) {
            paths.flags[lane] = 0;
            continue;
        }
        Ray ray = paths.rays[path];
        Hit hit;
        if (PLACED) {
            InstanceHit found = nearest_instanced(instanced_scene(scene), ray, paths.instances[path]);
            paths.instances[path] = found.instance;
            hit = found.hit;
        } else {
            hit = nearest(scene.nodes, scene.primitives, scene.light_params.extent, ray);
        }
        bool missed = hit.primitive == NO_PRIMITIVE;
        // If there is more than a constant sky, intersect_sky adds its light.
        if (missed && scene.light_params.far_lights == 0) {
            Vec3 light = paths.throughputs[path].rgb * scene.light_params.sky;
            paths.radiances[path].rgb = paths.radiances[path].rgb + clamped(light, scene.light_params.max_indirect);
        }
        paths.hits[path] = hit;
        paths.flags[lane] = missed ? 0 : 1;
    }
}

// Parameters that stay in constant memory save the few bytes that were spilled otherwise.
// With instances, six blocks share a multiprocessor: faster than five, although a few bytes are spilled.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, PLACED ? 6 : 0)
    KERNEL(const __grid_constant__ DeviceScene scene, const __grid_constant__ PathBuffers paths, u32 bounce,
           const u32 *lanes, u64 *began) {
    stamp(began);
    intersect_lanes(scene, paths, *lanes);
}
