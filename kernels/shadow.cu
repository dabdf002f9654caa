// shadow: tests the rays towards lights, and adds the light of those that nothing blocks. Stage: src/stages/shadow.rs.
#include "shared/clock.cuh"
#include "shared/device_scene.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"

// With instances, six blocks share a multiprocessor: faster than five, although a few bytes are spilled.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, PLACED ? 6 : 0)
    KERNEL(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *lanes, u64 *began) {
    stamp(began);
    u32 count = *lanes;
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        ShadowRay ray = paths.shadow_rays[lane];
        if (ray.distance == 0.0f) continue;
        bool blocked;
        if (PLACED) {
            u32 from = paths.instances[paths.queue[lane]];
            blocked = occluded_instanced(instanced_scene(scene), ray, from, paths.light_instances[lane]);
        } else {
            blocked = occluded(scene.nodes, scene.primitives, scene.light_params.extent, ray);
        }
        if (!blocked) {
            u32 path = paths.queue[lane];
            // Read again instead of kept in registers during the traversal of instances.
            Vec3 light = PLACED ? paths.shadow_rays[lane].light : ray.light;
            paths.radiances[path].rgb = paths.radiances[path].rgb + light;
        }
    }
}
