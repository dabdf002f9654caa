// shade: scatters paths where their rays hit, and samples lights. Stage: src/stages/shade.rs.
#include "shared/clock.cuh"
#include "shared/lanes.cuh"
#include "shared/path_buffers.cuh"
#include "shared/shading.cuh"

inline void shade_lanes(const RenderScene &world, const PathBuffers &paths, u32 bounce, u32 count, bool scatters,
                        u32 *shadow_ray_count) {
    u32 cast = 0;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = paths.queue[lane];
        bool goes_on = false, casts = false;
        if (path != NO_PATH) {
            PixelSample at = pixel_and_sample(*paths.span, paths.list, path);
            Sampler numbers = sampler(paths.span->seed, at.pixel, at.sample);
            u32 instance = PLACED ? paths.instances[path] : NO_INSTANCE;
            Vertex vertex = {numbers, bounce, instance, paths.rays[path], paths.throughputs[path],
                             {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
            goes_on = shade_path(world, scatters, paths.hits[path], vertex);
            // Only light that scattered at least twice is clamped.
            f32 most = world.lights.surroundings.max_indirect;
            if (bounce >= 2) vertex.emitted = clamped(vertex.emitted, most);
            if (bounce >= 1) vertex.shadow_ray.light = clamped(vertex.shadow_ray.light, most);
            paths.radiances[path].rgb = paths.radiances[path].rgb + vertex.emitted;
            casts = vertex.shadow_ray.distance > 0.0f;
            if (casts) paths.shadow_rays[lane] = vertex.shadow_ray;
            if (PLACED && casts) paths.light_instances[lane] = vertex.light_instance;
            if (goes_on) {
                paths.rays[path] = vertex.ray;
                paths.throughputs[path] = vertex.throughput;
                if (vertex.ray.pdf != 0.0f) paths.radiances[path].scattered = 1;
            }
        }
        if (!casts) paths.shadow_rays[lane].distance = 0.0f;
        paths.flags[lane] = goes_on ? 1 : 0;
        cast += casts;
    }
    count_in_block(cast, shadow_ray_count);
}

// Four blocks share a multiprocessor: with at most 128 registers per thread. With emissive instances three do, with at
// most 168.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, (KINDS & INSTANCED_LIGHTS) != 0 ? 3 : 4)
    KERNEL(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *lanes, u32 scatters, u32 *shadow_ray_count,
           u64 *began) {
    stamp(began);
    shade_lanes(render_scene(scene), paths, bounce, *lanes, scatters != 0, shadow_ray_count);
}
