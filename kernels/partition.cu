// partition: the queue of hits, ordered by the kind of what they hit. Room: src/stages/partition.rs.
#include "shared/instance.cuh"
#include "shared/lanes.cuh"
#include "shared/material.cuh"
#include "shared/path.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    partition_kinds(const Primitive *primitives, const Instance *placed, const Material *materials, u32 has_instances,
                    const u32 *lanes, const u32 *queue, const Hit *hits, const u32 *instances, u8 *kinds) {
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        u32 kind = NO_KIND;
        if (path != NO_PATH) {
            const Primitive &primitive = primitives[hits[path].primitive];
            u32 instance = has_instances != 0 ? instances[path] : NO_INSTANCE;
            u32 material = instance == NO_INSTANCE ? primitive.material : placed_material(placed[instance], primitive);
            kind = materials[material].kind;
        }
        kinds[lane] = (u8)kind;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    partition_queue(const u32 *lanes, const u32 *order, const u32 *queue, u32 *partitioned) {
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) partitioned[lane] = queue[order[lane]];
}
