// shadow, in scenes with alpha-tested surfaces. Stage: src/stages/shadow.rs.
#include "shared/clock.cuh"
#include "shared/device_scene.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    shadow_alpha_tested(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *lanes, u64 *began) {
    stamp(began);
    StochasticOpacity opacity = stochastic_opacity(scene);
    u32 count = *lanes;
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        ShadowRay ray = paths.shadow_rays[lane];
        if (ray.distance == 0.0f) continue;
        u32 path = paths.queue[lane];
        PixelSample at = pixel_and_sample(*paths.span, paths.list, path);
        u32 key = opacity_hash(sampler(paths.span->seed, at.pixel, at.sample), bounce, SHADOW_RAY);
        if (!occluded_alpha_tested(opacity, ray, paths.instances[path], paths.light_instances[lane], key)) {
            // Read again instead of kept in registers during the traversal of instances.
            paths.radiances[path].rgb = paths.radiances[path].rgb + paths.shadow_rays[lane].light;
        }
    }
}
