// intersect: every live ray against the scene. Room: src/stages/intersect.rs.
#include "shared/bvh.cuh"
#include "shared/clock.cuh"
#include "shared/lanes.cuh"
#include "shared/light.cuh"

template <bool PLACED>
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

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    intersect(const Node *nodes, const Primitive *primitives, const Instance *placed, Surroundings surroundings,
              const u32 *lanes, const u32 *queue, const Ray *rays, const Throughput *throughputs, Rgb *radiances,
              Hit *hits, u32 *instances, u8 *flags, u64 *began) {
    stamp(began);
    intersect_lanes<false>(nodes, primitives, placed, surroundings, *lanes, queue, rays, throughputs, radiances, hits,
                           instances, flags);
}

// Six blocks share a multiprocessor: faster than five, though a few bytes are spilled.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 6)
    intersect_placed(const Node *nodes, const Primitive *primitives, const Instance *placed,
                     Surroundings surroundings, const u32 *lanes, const u32 *queue, const Ray *rays,
                     const Throughput *throughputs, Rgb *radiances, Hit *hits, u32 *instances, u8 *flags, u64 *began) {
    stamp(began);
    intersect_lanes<true>(nodes, primitives, placed, surroundings, *lanes, queue, rays, throughputs, radiances, hits,
                          instances, flags);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    intersect_sky(Surroundings surroundings, const Lamp *lamps, Environment environment, const EnvironmentRow *rows,
                  const EnvironmentTexel *texels, const u32 *lanes, const u32 *queue, const u8 *flags, const Ray *rays,
                  const Throughput *throughputs, Rgb *radiances) {
    Lights lights = {surroundings, nullptr, nullptr, nullptr, nullptr, nullptr, lamps, environment, rows, texels};
    u32 count = *lanes;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        if (path == NO_PATH || flags[lane] == 1) continue;
        Ray ray = rays[path];
        Rgb radiance = radiances[path];
        Vec3 sky = sky_light(lights, ray.direction, ray.pdf, radiance.scattered == 1);
        radiances[path].rgb = radiance.rgb + clamped(throughputs[path].rgb * sky, surroundings.most_indirect);
    }
}
