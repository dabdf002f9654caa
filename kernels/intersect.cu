// intersect: finds the nearest hit of every live ray. Stage: src/stages/intersect.rs.
#include "shared/clock.cuh"
#include "shared/warp_traversal.cuh"

// Parameters that stay in constant memory save the few bytes that were spilled otherwise.
// Seven blocks share a multiprocessor, or eight without instances: more warps hide more latency than the spilled
// registers cost.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, INSTANCED ? 7 : 8)
    KERNEL(const __grid_constant__ DeviceScene scene, const __grid_constant__ PathBuffers paths, u32 bounce,
           const u32 *queue_length, u64 *began) {
    stamp(began);
    u32 count = *queue_length;
    if (bounce > 0) {
        trace_queue<false>(scene, paths, bounce, count);
        return;
    }
    // Camera rays that are neighbours in the queue visit the same nodes.
    for (u32 entry = first_entry_apart(count); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        if (path == NO_PATH) {
            paths.flags[entry] = 0;
            continue;
        }
        u32 from = INSTANCED ? paths.instances[path] : NO_INSTANCE;
        // Without a copy, the traversal would read the ray again and again.
        Ray ray = paths.rays[path];
        InstanceHit found = nearest_hit(scene, ray, from, path_sampler(paths, path), bounce);
        bool missed = found.hit.primitive == NO_PRIMITIVE;
        // If there is more than a constant sky, intersect_sky adds its light. Camera rays see the background.
        if (missed && scene.light_params.far_lights == 0) {
            Vec3 light = paths.throughputs[path].rgb * scene.light_params.background;
            paths.radiances[path].rgb = paths.radiances[path].rgb + clamp_indirect(scene.light_params, light, bounce);
        }
        if (INSTANCED) paths.instances[path] = found.instance;
        paths.hits[path] = found.hit;
        paths.flags[entry] = missed ? 0 : 1;
    }
}
