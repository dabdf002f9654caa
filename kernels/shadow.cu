// shadow: the rays towards the lights. Room: src/stages/shadow.rs.
#include "shared/bvh.cuh"
#include "shared/lanes.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    shadow(const Node *nodes, const Primitive *primitives, f32 extent, const u32 *lanes, const ShadowRay *shadow_rays,
           Rgb *radiances) {
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        ShadowRay ray = shadow_rays[lane];
        if (ray.distance == 0.0f) continue;
        if (!occluded(nodes, primitives, extent, ray.origin, ray.direction, ray.distance)) {
            radiances[ray.path].rgb = radiances[ray.path].rgb + ray.light;
        }
    }
}
