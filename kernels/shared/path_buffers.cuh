// The paths of a wave as kernels receive them, by path or, as noted, by queue entry. Twin: src/device/path_buffers.rs.
#include "path.cuh"

// Marks a parameter that is never copied; other compilers than NVRTC do not know the word.
#ifndef __CUDACC_RTC__
#define __grid_constant__
#endif

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
    ShadowRay *shadow_rays;  // by queue entry
    u32 *light_instances;    // by queue entry
};

// Returns the random numbers of a path.
inline Sampler path_sampler(const PathBuffers &paths, u32 path) {
    PixelSample at = pixel_and_sample(*paths.span, paths.list, path);
    return sampler(paths.span->seed, at.pixel, at.sample);
}
