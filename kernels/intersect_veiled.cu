// intersect, where surfaces hide only a part of what is behind them. Room: src/stages/intersect.rs.
#include "shared/clock.cuh"
#include "shared/lanes.cuh"
#include "shared/light.cuh"
#include "shared/opacity.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    intersect_veiled(const Node *nodes, const Primitive *primitives, const Instance *placed, const Corners *corners,
                     const MeshVertex *vertices, const Material *materials, const Maps *maps, const Texture *textures,
                     const u32 *texels, Surroundings surroundings, const Span *span, const u32 *list, u32 bounce,
                     const u32 *lanes, const u32 *queue, const Ray *rays, const Throughput *throughputs, Rgb *radiances, Hit *hits,
                     u32 *instances, u8 *flags, u64 *began) {
    stamp(began);
    PlacedScene scene = {nodes, primitives, placed, surroundings.extent};
    Veils veils = {scene, corners, vertices, materials, {maps, textures, texels}};
    u32 count = *lanes;
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        if (path == NO_PATH) {
            flags[lane] = 0;
            continue;
        }
        PixelSample at = pixel_and_sample(*span, list, path);
        u32 key = veil_key(sampler(span->seed, at.pixel, at.sample), bounce, PATH_RAY);
        PlacedHit found = nearest_veiled(veils, rays[path], instances[path], key);
        bool missed = found.hit.primitive == NO_PRIMITIVE;
        // Where more than an even sky is there, intersect_sky adds it.
        if (missed && surroundings.far_lights == 0) {
            Vec3 light = throughputs[path].rgb * surroundings.sky;
            radiances[path].rgb = radiances[path].rgb + clamped(light, surroundings.most_indirect);
        }
        instances[path] = found.instance;
        hits[path] = found.hit;
        flags[lane] = missed ? 0 : 1;
    }
}
