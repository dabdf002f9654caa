// shadow, where surfaces hide only a part of what is behind them. Room: src/stages/shadow.rs.
#include "shared/clock.cuh"
#include "shared/lanes.cuh"
#include "shared/opacity.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    shadow_veiled(const Node *nodes, const Primitive *primitives, const Instance *placed, const Corners *corners,
                  const MeshVertex *vertices, const Material *materials, const Maps *maps, const Texture *textures,
                  const u32 *texels, f32 extent, const Span *span, const u32 *list, u32 bounce, const u32 *lanes,
                  const u32 *queue, const u32 *instances, const u32 *light_instances, const ShadowRay *shadow_rays, Rgb *radiances,
                  u64 *began) {
    stamp(began);
    PlacedScene scene = {nodes, primitives, placed, extent};
    Veils veils = {scene, corners, vertices, materials, {maps, textures, texels}};
    u32 count = *lanes;
    for (u32 lane = first_lane_apart(count); lane < count; lane += lane_stride()) {
        ShadowRay ray = shadow_rays[lane];
        if (ray.distance == 0.0f) continue;
        u32 path = queue[lane];
        PixelSample at = pixel_and_sample(*span, list, path);
        u32 key = veil_key(sampler(span->seed, at.pixel, at.sample), bounce, LIGHT_RAY);
        if (!occluded_veiled(veils, ray, instances[path], light_instances[lane], key)) {
            // Read again rather than kept in registers on the way through two levels.
            radiances[path].rgb = radiances[path].rgb + shadow_rays[lane].light;
        }
    }
}
