// What travels. Twin: src/path.rs.
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
    u32 pick;
};

struct alignas(16) Ray {
    Vec3 origin;
    f32 pdf;
    Vec3 direction;
    u32 from;
};

struct alignas(16) Hit {
    f32 distance;
    u32 primitive;
    f32 u;
    f32 v;
};

struct alignas(16) Rgb {
    Vec3 rgb;
    u32 scattered;
};

struct alignas(16) Throughput {
    Vec3 rgb;
    f32 squeeze;
};

struct alignas(16) ShadowRay {
    Vec3 origin;
    f32 distance;
    Vec3 direction;
    u32 from;
    Vec3 light;
    u32 to;
};

struct PixelSample {
    u32 pixel, sample;
};

inline u32 rendered_pixel(const Span &span, u32 number) {
    if (span.skipped_pixels == 0) return number;
    u64 all = (u64)span.pixel_count + span.skipped_pixels;
    u32 first = (u32)(number * all / span.pixel_count);
    u32 next = (u32)((number + 1ull) * all / span.pixel_count);
    return first + hash(number ^ hash(span.pick)) % (next - first);
}

inline PixelSample pixel_and_sample(const Span &span, u32 path) {
    u32 number = span.first_pixel + path;
    return {rendered_pixel(span, number % span.pixel_count), span.first_sample + number / span.pixel_count};
}
