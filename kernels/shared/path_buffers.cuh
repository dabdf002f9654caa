// The paths of a wave as kernels receive them, by path or, as noted, by queue entry. Twin: src/device/path_buffers.rs.
#include "path.cuh"

// Marks a parameter that is never copied; other compilers than NVRTC do not know the word.
#ifndef __CUDACC_RTC__
#define __grid_constant__
#endif

struct alignas(16) PackedShadowRay {
    Vec3 direction;
    f32 distance_and_sign;
    Vec3 light;
    u32 to_primitive;
};

struct alignas(16) ShadowOrigin {
    Vec3 origin;
    u32 from_primitive;
};

struct PathBuffers {
    const Span *span;
    const u32 *list;
    u32 *queue;      // live paths, and NO_PATH for gaps
    u32 *compacted;  // the queue that compact and sort_hits write
    u8 *flags;       // by queue entry
    Ray *rays;
    Throughput *throughputs;
    PathRadiance *radiances;
    Hit *hits;
    u32 *instances;
    PackedShadowRay *shadow_rays;  // by queue entry
    ShadowOrigin *shadow_origins;  // by queue entry, if the sign of `distance_and_sign` is negative
    u32 *light_instances;          // by queue entry
    u32 *shadow_bodies;            // by queue entry, in scenes with boundaries of media
};

// Returns the random numbers of a path.
inline Sampler path_sampler(const PathBuffers &paths, u32 path) {
    PixelSample at = pixel_and_sample(*paths.span, paths.list, path);
    return sampler(paths.span->seed, at.pixel, at.sample);
}

// Returns whether two vectors have the same bits.
inline bool has_same_bits(Vec3 a, Vec3 b) {
    return float_to_bits(a.x) == float_to_bits(b.x) && float_to_bits(a.y) == float_to_bits(b.y) &&
           float_to_bits(a.z) == float_to_bits(b.z);
}

// Stores the shadow ray of a queue entry, whose distance is above 0. Most have the origin of the ray with which the path
// goes on, `next` if `goes_on`, and then shadow reads it there.
inline void store_shadow_ray(const PathBuffers &paths, u32 entry, const ShadowRay &ray, bool goes_on, const Ray &next) {
    bool shares = goes_on && ray.from_primitive == next.from_primitive && has_same_bits(ray.origin, next.origin);
    paths.shadow_rays[entry] = {ray.direction, shares ? ray.distance : -ray.distance, ray.light, ray.to_primitive};
    if (!shares) paths.shadow_origins[entry] = {ray.origin, ray.from_primitive};
}

// Returns the origin of the shadow ray of a queue entry. `ray` is what shadow_rays contains for it.
inline ShadowOrigin shadow_origin(const PathBuffers &paths, u32 entry, const PackedShadowRay &ray) {
    if (float_to_bits(ray.distance_and_sign) >> 31 != 0) return paths.shadow_origins[entry];
    const Ray &next = paths.rays[paths.queue[entry]];
    return {next.origin, next.from_primitive};
}
