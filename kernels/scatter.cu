// scatter: scatters paths in media before they reach a surface. Stage: src/stages/scatter.rs.
#include "shared/boundaries.cuh"
#include "shared/queue.cuh"
#include "shared/path_buffers.cuh"
#include "shared/scattering.cuh"

struct ScatterBuffers {
    u32 *live;       // by queue entry: the queue before hits were compacted
    u32 *scattered;  // the paths that scatter, compacted by the flags
    u8 *flags;       // by queue entry of `live`: 1 if the path scatters
    u8 *survives;    // by path: 1 if the path continues to the next bounce
};

inline Vertex vertex_of(const PathBuffers &paths, u32 path, u32 bounce) {
    return {path_sampler(paths, path), bounce, NO_INSTANCE, paths.rays[path], paths.throughputs[path],
            paths.radiances[path].history >> 1, {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
}

// Stores what a path has hit behind boundaries. If it has hit nothing, adds the light of the sky.
inline void reach(const DeviceScene &scene, const PathBuffers &paths, u32 entry, u32 path, const Vertex &vertex,
                  bool had_missed, const InstanceHit &found) {
    paths.hits[path] = found.hit;
    paths.instances[path] = found.instance;
    u32 history = paths.radiances[path].history;
    paths.radiances[path].history = vertex.bodies << 1 | (history & SCATTERED);
    if (found.hit.primitive != NO_PRIMITIVE || had_missed) return;
    paths.flags[entry] = 0;
    Vec3 light = escaped_light(lights_of(scene), vertex.ray, vertex.throughput.rgb, (history & SCATTERED) != 0,
                               vertex.bounce);
    paths.radiances[path].rgb = paths.radiances[path].rgb + light;
}

// Moves a path along its ray, past boundaries of media. Returns whether it scatters before it hits a surface.
inline bool cross(const DeviceScene &scene, const PathBuffers &paths, u32 entry, u32 path, u32 bounce, const Hit &hit,
                  u32 bodies) {
    InstanceHit found = {hit, paths.instances[path]};
    if (bodies == 0 && !is_boundary(scene, found, bodies)) return false;
    Vertex vertex = vertex_of(paths, path, bounce);
    bool scatters = cross_boundaries(scene, found, vertex);
    paths.throughputs[path] = vertex.throughput;
    if (scatters) {
        paths.rays[path] = vertex.ray;
        paths.radiances[path].history = vertex.bodies << 1 | (paths.radiances[path].history & SCATTERED);
        paths.flags[entry] = 0;
    } else {
        reach(scene, paths, entry, path, vertex, hit.primitive == NO_PRIMITIVE, found);
    }
    return scatters;
}

// Finds the paths that scatter before their hit, moves their rays there, and takes them out of the hits.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    KERNEL(DeviceScene scene, PathBuffers paths, ScatterBuffers buffers, u32 bounce, const u32 *queue_length) {
    u32 count = *queue_length;
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        bool scatters = false;
        buffers.live[entry] = path;
        if (path != NO_PATH) {
            buffers.survives[path] = 0;
            Hit hit = paths.hits[path];
            u32 bodies = paths.radiances[path].history >> 1;
            const Medium *medium = CROSSES_BOUNDARIES ? nullptr : medium_before(scene, hit, bodies);
            if (CROSSES_BOUNDARIES) {
                scatters = cross(scene, paths, entry, path, bounce, hit, bodies);
            } else if (medium != nullptr) {
                Vertex vertex = vertex_of(paths, path, bounce);
                scatters = fly(*medium, hit, vertex);
                paths.throughputs[path] = vertex.throughput;
                if (scatters) {
                    paths.rays[path] = vertex.ray;
                    paths.flags[entry] = 0;
                }
            }
        }
        buffers.flags[entry] = scatters ? 1 : 0;
    }
}

// Scatters the paths of the queue of scattered paths, and samples lights. Four blocks share a multiprocessor, with at most
// 128 registers per thread.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 4)
    scatter_found(DeviceScene device_scene, PathBuffers paths, u8 *survives, u32 bounce, const u32 *queue_length, u32 scatters,
            u32 *shadow_ray_count) {
    RenderScene scene = render_scene(device_scene);
    u32 count = *queue_length, cast = 0;
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        bool casts = false;
        if (path != NO_PATH) {
            Vertex vertex = vertex_of(paths, path, bounce);
            const Medium &medium = device_scene.media[(vertex.bodies & INNERMOST) - 1];
            bool goes_on = scatter_path(scene, scatters != 0, medium, vertex);
            casts = vertex.shadow_ray.distance > 0.0f;
            paths.instances[path] = NO_INSTANCE;
            if (casts) {
                store_shadow_ray(paths, entry, vertex.shadow_ray, goes_on, vertex.ray);
                paths.light_instances[entry] = vertex.light_instance;
                if (CROSSES_BOUNDARIES) paths.shadow_bodies[entry] = vertex.shadow_bodies;
            }
            if (goes_on) {
                paths.rays[path] = vertex.ray;
                paths.throughputs[path] = vertex.throughput;
                paths.radiances[path].history |= SCATTERED;
                survives[path] = 1;
            }
        }
        if (!casts) paths.shadow_rays[entry].distance_and_sign = 0.0f;
        cast += casts;
    }
    count_in_warp(cast, shadow_ray_count);
}

// Notes which hits continue. `paths` has the queue of the hits.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    scatter_note(PathBuffers paths, u8 *survives, const u32 *queue_length) {
    u32 count = *queue_length;
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        if (path != NO_PATH) survives[path] = paths.flags[entry];
    }
}

// Sets the flags of the queue before hits were compacted, which `paths` has, for all paths that continue.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    scatter_rejoin(PathBuffers paths, const u8 *survives, const u32 *queue_length) {
    u32 count = *queue_length;
    for (u32 entry = first_entry(); entry < count; entry += entry_stride()) {
        u32 path = paths.queue[entry];
        paths.flags[entry] = path == NO_PATH ? 0 : survives[path];
    }
}
