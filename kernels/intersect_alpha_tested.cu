// intersect, in scenes with alpha-tested surfaces. Stage: src/stages/intersect.rs.
#include "shared/clock.cuh"
#include "shared/device_scene.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    intersect_alpha_tested(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *lanes, u64 *began) {
    stamp(began);
    StochasticOpacity opacity = stochastic_opacity(scene);
    u32 count = *lanes;
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        u32 path = paths.queue[lane];
        if (path == NO_PATH) {
            paths.flags[lane] = 0;
            continue;
        }
        PixelSample at = pixel_and_sample(*paths.span, paths.list, path);
        u32 key = opacity_hash(sampler(paths.span->seed, at.pixel, at.sample), bounce, PATH_RAY);
        InstanceHit found = nearest_alpha_tested(opacity, paths.rays[path], paths.instances[path], key);
        bool missed = found.hit.primitive == NO_PRIMITIVE;
        // If there is more than a constant sky, intersect_sky adds its light.
        if (missed && scene.light_params.far_lights == 0) {
            Vec3 light = paths.throughputs[path].rgb * scene.light_params.sky;
            paths.radiances[path].rgb = paths.radiances[path].rgb + clamped(light, scene.light_params.max_indirect);
        }
        paths.instances[path] = found.instance;
        paths.hits[path] = found.hit;
        paths.flags[lane] = missed ? 0 : 1;
    }
}
