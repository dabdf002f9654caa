// Path state, and the mapping from paths to pixels and samples. Twin: src/path.rs.
#include "math.cuh"
#include "sampler.cuh"

struct Span {
    u32 width;
    u32 pixel_count;
    u32 first_pixel;
    u32 first_sample;
    u32 path_count;
    u32 seed;
    u32 skipped_pixels;
    u32 pick_seed;
    u32 tiled;
    u32 log2_samples_together;
    u32 listed;
};

struct alignas(16) Ray {
    Vec3 origin;
    f32 pdf;
    Vec3 direction;
    u32 from_primitive;
};

struct alignas(16) Hit {
    f32 distance;
    u32 primitive;
    f32 u;
    f32 v;
};

struct alignas(16) PathRadiance {
    Vec3 rgb;
    u32 history;
};

struct alignas(16) Throughput {
    Vec3 rgb;
    f32 eta_scale;
};

struct alignas(16) ShadowRay {
    Vec3 origin;
    f32 distance;
    Vec3 direction;
    u32 from_primitive;
    Vec3 light;
    u32 to_primitive;
};

struct PixelSample {
    u32 pixel, sample;
};

// Of a random subset, each stretch of pixels has one.
inline u32 rendered_pixel(const Span &span, const u32 *list, u32 number) {
    if (span.listed != 0) return list[number];
    if (span.skipped_pixels == 0) return number;
    u64 all = (u64)span.pixel_count + span.skipped_pixels;
    u32 first = (u32)(number * all / span.pixel_count);
    u32 next = (u32)((number + 1ull) * all / span.pixel_count);
    return first + hash(number ^ hash(span.pick_seed)) % (next - first);
}

// Adjacent paths get several samples of one pixel, then the pixels of a tile, then the tiles of a band. Paths that do
// not fill a group of samples are grouped by half the number, and so on.
inline u32 scheduled_pair(const Span &span, u32 path) {
    if (span.tiled == 0) return path;
    u32 log2_samples_together = span.log2_samples_together;
    u32 first = 0;
    for (;;) {
        u32 group = span.pixel_count << log2_samples_together;
        first += (path - first) / group * group;
        if (log2_samples_together == 0 || span.path_count - first >= group) break;
        log2_samples_together--;
    }
    u32 pixels = span.path_count - first < span.pixel_count ? span.path_count - first : span.pixel_count;
    u32 pixel = (path - first) >> log2_samples_together;
    u32 sample = (path - first) - (pixel << log2_samples_together);
    u32 band = TILE * span.width;
    u32 start = pixel / band * band;
    if (span.listed == 0 && span.width % TILE == 0 && start + band <= pixels) {
        u32 tile = (pixel - start) / (TILE * TILE);
        u32 within = (pixel - start) % (TILE * TILE);
        pixel = start + within / TILE * span.width + tile * TILE + within % TILE;
    }
    return first + sample * span.pixel_count + pixel;
}

inline PixelSample pixel_and_sample(const Span &span, const u32 *list, u32 path) {
    u32 number = span.first_pixel + scheduled_pair(span, path);
    u32 pixel = rendered_pixel(span, list, number % span.pixel_count);
    return {pixel, span.first_sample + number / span.pixel_count};
}
