// sort_hits: sorts the queue of hits by the kind of the material that they hit. Stage: src/stages/sort_hits.rs.
#include "shared/device_scene.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    partition_kinds(DeviceScene scene, PathBuffers paths, const u32 *lanes, u32 has_instances) {
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = paths.queue[lane];
        u32 kind = NO_KIND;
        if (path != NO_PATH) {
            const Primitive &primitive = scene.primitives[paths.hits[path].primitive];
            u32 instance = has_instances != 0 ? paths.instances[path] : NO_INSTANCE;
            u32 material =
                instance == NO_INSTANCE ? primitive.material : instance_material(scene.instances[instance], primitive);
            kind = scene.materials[material].kind;
        }
        paths.flags[lane] = (u8)kind;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    partition_queue(const u32 *order, PathBuffers paths, const u32 *lanes) {
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        paths.compacted[lane] = paths.queue[order[lane]];
    }
}
