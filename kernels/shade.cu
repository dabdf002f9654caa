// shade: scatters paths where their rays hit, and samples lights. Stage: src/stages/shade.rs.
#include "shared/clock.cuh"
#include "shared/queue.cuh"
#include "shared/path_buffers.cuh"
#include "shared/shading.cuh"

// Whether the warps of a block begin each path together, so that they find each other's instructions in the cache.
constexpr bool TOGETHER = SHADE_THREADS > BLOCK_THREADS;

inline void shade_queue(const RenderScene &scene, const PathBuffers &paths, u32 bounce, u32 count, bool scatters,
                        u32 *shadow_ray_count) {
    // Otherwise the history of a path need not be read.
    bool tracks_bodies = (KINDS & ABSORBING) != 0 && scene.lights.light_params.tracks_bodies == 1;
    bool has_boundaries = (KINDS & BOUNDARIES) != 0 && scene.lights.light_params.has_boundaries == 1;
    u32 cast = 0;
    for (u32 entry = first_entry(); TOGETHER ? entry - threadIdx.x < count : entry < count; entry += entry_stride()) {
        if (TOGETHER) {
            __syncthreads();
            if (entry >= count) continue;
        }
        u32 path = paths.queue[entry];
        bool goes_on = false, casts = false;
        if (path != NO_PATH) {
            u32 instance = INSTANCED ? paths.instances[path] : NO_INSTANCE;
            u32 history = tracks_bodies ? paths.radiances[path].history : 0;
            Vertex vertex = {path_sampler(paths, path), bounce, instance, paths.rays[path], paths.throughputs[path],
                             history >> 1, {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
            bool scattered_before = vertex.ray.pdf != 0.0f;
            goes_on = shade_path(scene, scatters, paths.hits[path], vertex);
            // Most surfaces emit nothing. Each read of the radiance would wait for memory.
            if (any_nonzero(vertex.emitted)) paths.radiances[path].rgb = paths.radiances[path].rgb + vertex.emitted;
            casts = vertex.shadow_ray.distance > 0.0f;
            if (casts) store_shadow_ray(paths, entry, vertex.shadow_ray, goes_on, vertex.ray);
            if (INSTANCED && casts) paths.light_instances[entry] = vertex.light_instance;
            if (has_boundaries && casts) paths.shadow_bodies[entry] = vertex.shadow_bodies;
            if (goes_on) {
                paths.rays[path] = vertex.ray;
                paths.throughputs[path] = vertex.throughput;
                u32 scattered = vertex.ray.pdf != 0.0f ? SCATTERED : 0;
                u32 next_history = vertex.bodies << 1 | (history & SCATTERED) | scattered;
                bool is_known = tracks_bodies ? next_history == history : scattered == 0 || scattered_before;
                if (!is_known) paths.radiances[path].history = next_history;
            }
        }
        if (!casts) paths.shadow_rays[entry].distance_and_sign = 0.0f;
        paths.flags[entry] = goes_on ? 1 : 0;
        cast += casts;
    }
    count_in_warp(cast, shadow_ray_count);
}

// With rare features, 768 threads share a multiprocessor, with at most 80 registers each: more warps hide more latency than
// the spilled registers cost. Other materials that are not plain have room for 512 threads, with 128 registers.
constexpr u32 RESIDENT_THREADS = HAS(EXTENDED) || (INSTANCED && (KINDS & INSTANCED_LIGHTS) == 0) ? 512 : 768;

extern "C" __global__ void __launch_bounds__(SHADE_THREADS, RESIDENT_THREADS / SHADE_THREADS)
    KERNEL(DeviceScene scene, PathBuffers paths, u32 bounce, const u32 *queue_length, u32 scatters,
           u32 *shadow_ray_count, u64 *began) {
    stamp(began);
    shade_queue(render_scene(scene), paths, bounce, *queue_length, scatters != 0, shadow_ray_count);
}
