// sort_hits: writes the kind of the material that each hit of the queue is on, by which the queue is sorted. Stage: src/stages/sort_hits.rs.
#include "shared/device_scene.cuh"
#include "shared/queue.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    sort_hits(DeviceScene scene, PathBuffers paths, const u32 *queue_length, u32 is_instanced) {
    u32 count = *queue_length;
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        u32 kind = NO_KIND;
        if (path != NO_PATH) {
            const Primitive &primitive = scene.primitives[paths.hits[path].primitive];
            u32 instance = is_instanced != 0 ? paths.instances[path] : NO_INSTANCE;
            u32 material =
                instance == NO_INSTANCE ? primitive.material : instance_material(scene.instances[instance], primitive);
            kind = scene.materials[material].kind;
        }
        paths.flags[entry] = (u8)kind;
    }
}
