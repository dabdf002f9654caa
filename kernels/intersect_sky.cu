// intersect, with more than a constant sky: adds the sky's light to paths whose ray missed. Stage: src/stages/intersect.rs.
#include "shared/queue.cuh"
#include "shared/path_buffers.cuh"
#include "shared/rays.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    KERNEL(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *queue_length) {
    Lights lights = lights_of(scene);
    u32 count = *queue_length;
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        if (path == NO_PATH || paths.flags[entry] == 1) continue;
        PathRadiance radiance = paths.radiances[path];
        bool scattered = radiance.scattered == 1;
        Vec3 light = escaped_light(lights, paths.rays[path], paths.throughputs[path].rgb, scattered, bounce);
        paths.radiances[path].rgb = radiance.rgb + light;
    }
}
