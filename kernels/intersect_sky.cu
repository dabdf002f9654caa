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
        // Camera rays have a throughput of 1, and their paths have gathered nothing yet.
        Vec3 throughput = bounce == 0 ? Vec3{1.0f, 1.0f, 1.0f} : paths.throughputs[path].rgb;
        PathRadiance radiance = bounce == 0 ? PathRadiance{{0.0f, 0.0f, 0.0f}, 0} : paths.radiances[path];
        bool scattered = (radiance.history & SCATTERED) != 0;
        radiance.rgb = radiance.rgb + escaped_light(lights, paths.rays[path], throughput, scattered, bounce);
        paths.radiances[path] = radiance;
    }
}
