// shadow: tests the rays towards lights, and adds the light of those that nothing blocks. Stage: src/stages/shadow.rs.
#include "shared/clock.cuh"
#include "shared/queue.cuh"
#include "shared/path_buffers.cuh"
#include "shared/rays.cuh"

// With instances, eight blocks share a multiprocessor: more warps hide more latency than the spilled registers cost.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, INSTANCED ? 8 : 0)
    KERNEL(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *queue_length, u64 *began) {
    stamp(began);
    u32 count = *queue_length;
    for (u32 entry = first_entry_apart(count); entry < count; entry += entry_stride()) {
        ShadowRay ray = paths.shadow_rays[entry];
        if (ray.distance == 0.0f) continue;
        u32 path = paths.queue[entry];
        u32 from = INSTANCED ? paths.instances[path] : NO_INSTANCE;
        u32 to = INSTANCED ? paths.light_instances[entry] : NO_INSTANCE;
        if (is_blocked(scene, ray, from, to, path_sampler(paths, path), bounce)) continue;
        // Read again instead of kept in registers during the traversal.
        path = paths.queue[entry];
        Vec3 light = INSTANCED ? paths.shadow_rays[entry].light : ray.light;
        paths.radiances[path].rgb = paths.radiances[path].rgb + light;
    }
}
