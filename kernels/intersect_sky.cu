// intersect, with more than a constant sky: adds the sky's light to paths whose ray missed. Stage: src/stages/intersect.rs.
#include "shared/device_scene.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    intersect_sky(DeviceScene scene, PathBuffers paths, const u32 *lanes) {
    Lights lights = lights_of(scene);
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = paths.queue[lane];
        if (path == NO_PATH || paths.flags[lane] == 1) continue;
        Ray ray = paths.rays[path];
        PathRadiance radiance = paths.radiances[path];
        Vec3 sky = sky_light(lights, ray.direction, ray.pdf, radiance.scattered == 1);
        Vec3 light = clamped(paths.throughputs[path].rgb * sky, scene.light_params.max_indirect);
        paths.radiances[path].rgb = radiance.rgb + light;
    }
}
