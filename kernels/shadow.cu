// shadow: tests the rays towards lights, and adds the light of those that nothing blocks. Stage: src/stages/shadow.rs.
#include "shared/boundaries.cuh"
#include "shared/clock.cuh"
#include "shared/warp_traversal.cuh"

// Adds the light of shadow rays, which pass boundaries of media.
inline void cross_queue(const DeviceScene &scene, const PathBuffers &paths, u32 bounce, u32 count) {
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        const PackedShadowRay packed = paths.shadow_rays[entry];
        if (packed.distance_and_sign == 0.0f) continue;
        u32 path = paths.queue[entry];
        ShadowOrigin start = shadow_origin(paths, entry, packed);
        ShadowRay ray = {start.origin, fabsf(packed.distance_and_sign), packed.direction, start.from_primitive,
                         packed.light, packed.to_primitive};
        Vec3 part = arriving_part(scene, ray, paths.instances[path], paths.light_instances[entry],
                                  paths.shadow_bodies[entry], path_sampler(paths, path), bounce);
        if (any_nonzero(part)) paths.radiances[path].rgb = paths.radiances[path].rgb + ray.light * part;
    }
}

// Seven blocks share a multiprocessor, or eight without instances: more warps hide more latency than the spilled
// registers cost. Crossing boundaries needs more registers.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, CROSSES_BOUNDARIES ? 4 : INSTANCED ? 7 : 8)
    KERNEL(const __grid_constant__ DeviceScene scene, const __grid_constant__ PathBuffers paths, u32 bounce,
           const u32 *queue_length, u64 *began) {
    stamp(began);
    if (CROSSES_BOUNDARIES) {
        cross_queue(scene, paths, bounce, *queue_length);
    } else {
        trace_queue<true>(scene, paths, bounce, *queue_length);
    }
}
