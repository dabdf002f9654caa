// intersect: every live ray against the scene. Room: src/stages/intersect.rs.
#include "shared/bvh.cuh"
#include "shared/clock.cuh"
#include "shared/lanes.cuh"
#include "shared/light.cuh"

inline void intersect_lanes(const Node *nodes, const Primitive *primitives, const Instance *placed,
                            const Surroundings &surroundings, u32 count, const u32 *queue, const Ray *rays,
                            const Throughput *throughputs, Rgb *radiances, Hit *hits, u32 *instances, u8 *flags) {
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        if (path == NO_PATH) {
            flags[lane] = 0;
            continue;
        }
        Ray ray = rays[path];
        Hit hit;
        if (PLACED) {
            PlacedHit found = nearest_placed({nodes, primitives, placed, surroundings.extent}, ray, instances[path]);
            instances[path] = found.instance;
            hit = found.hit;
        } else {
            hit = nearest(nodes, primitives, surroundings.extent, ray);
        }
        bool missed = hit.primitive == NO_PRIMITIVE;
        // Where more than an even sky is there, intersect_sky adds it.
        if (missed && surroundings.far_lights == 0) {
            Vec3 light = throughputs[path].rgb * surroundings.sky;
            radiances[path].rgb = radiances[path].rgb + clamped(light, surroundings.most_indirect);
        }
        hits[path] = hit;
        flags[lane] = missed ? 0 : 1;
    }
}

// On the way through two levels six blocks share a multiprocessor: faster than five, though a few bytes are spilled.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, PLACED ? 6 : 0)
    KERNEL(const Node *nodes, const Primitive *primitives, const Instance *placed, Surroundings surroundings,
           const u32 *lanes, const u32 *queue, const Ray *rays, const Throughput *throughputs, Rgb *radiances, Hit *hits,
           u32 *instances, u8 *flags, u64 *began) {
    stamp(began);
    intersect_lanes(nodes, primitives, placed, surroundings, *lanes, queue, rays, throughputs, radiances, hits, instances,
                    flags);
}
