// shadow: the rays towards the lights. Room: src/stages/shadow.rs.
#include "shared/bvh.cuh"
#include "shared/clock.cuh"
#include "shared/lanes.cuh"

// On the way through two levels six blocks share a multiprocessor: faster than five, though a few bytes are spilled.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, PLACED ? 6 : 0)
    KERNEL(const Node *nodes, const Primitive *primitives, const Instance *placed, f32 extent, const u32 *lanes,
           const u32 *queue, const u32 *instances, const u32 *light_instances, const ShadowRay *shadow_rays,
           Rgb *radiances, u64 *began) {
    stamp(began);
    u32 count = *lanes;
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        ShadowRay ray = shadow_rays[lane];
        if (ray.distance == 0.0f) continue;
        bool blocked;
        if (PLACED) {
            u32 from = instances[queue[lane]];
            blocked = occluded_placed({nodes, primitives, placed, extent}, ray, from, light_instances[lane]);
        } else {
            blocked = occluded(nodes, primitives, extent, ray);
        }
        if (!blocked) {
            u32 path = queue[lane];
            // Read again rather than kept in registers on the way through two levels.
            Vec3 light = PLACED ? shadow_rays[lane].light : ray.light;
            radiances[path].rgb = radiances[path].rgb + light;
        }
    }
}
