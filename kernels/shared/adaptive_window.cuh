// Denoising by averaging over windows that adapt to noise. Twin: src/adaptive/adaptive_window.rs.
#include "film.cuh"

struct WindowMean {
    Vec3 light;
    f32 noise;
    f32 deviation;
};

struct Window {
    u32 left, top, right, bottom;
};

struct SummedTables {
    u32 width, height;
    const f32 *lights;
    const u64 *sums;
};

inline u64 tabled_light(f32 light) { return fixed_point(min_f32(light, MAX_TABLED)); }

inline u64 tabled_noise(f32 noise) { return (u64)(min_f32(noise, MAX_NOISE) * NOISE_SCALE); }

// Variance of the mean of all samples, by the difference of two groups of them.
inline f32 noise_of(Vec3 first, Vec3 rest, u32 first_samples, u32 samples) {
    if (first_samples == 0 || first_samples >= samples) return 0.0f;
    Vec3 apart = first - rest;
    f32 all = (f32)samples;
    f32 weight = (f32)first_samples / all * ((f32)(samples - first_samples) / all);
    return dot(apart, apart) * weight;
}

inline f32 noise_known(f32 variance, u32 samples) {
    if (samples == 0) return 0.0f;
    return variance / (f32)samples;
}

inline f32 mean_light(u64 sum, u32 pixels) { return (f32)sum / (SCALE * (f32)pixels); }

inline f32 mean_noise(u64 sum, u32 pixels) { return (f32)sum / (NOISE_SCALE * (f32)pixels); }

inline WindowMean estimate(Vec3 light, f32 noise) { return {light, noise, sqrtf(noise)}; }

inline bool agree(const WindowMean &one, const WindowMean &other, f32 tolerance) {
    Vec3 apart = one.light - other.light;
    f32 max_distance = tolerance * (one.deviation + other.deviation);
    return dot(apart, apart) <= max_distance * max_distance;
}

inline Window window_towards(u32 x, u32 y, u32 width, u32 height, u32 quadrant, u32 side) {
    bool right = (quadrant & 1) != 0, down = (quadrant & 2) != 0;
    u32 wide = right ? width - x : x + 1, high = down ? height - y : y + 1;
    wide = wide < side ? wide : side;
    high = high < side ? high : side;
    u32 left = right ? x : x + 1 - wide, top = down ? y : y + 1 - high;
    return {left, top, left + wide, top + high};
}

inline Window window_around(u32 x, u32 y, u32 width, u32 height, u32 radius) {
    u32 left = x > radius ? x - radius : 0, top = y > radius ? y - radius : 0;
    u32 right = width - x > radius ? x + radius + 1 : width;
    u32 bottom = height - y > radius ? y + radius + 1 : height;
    return {left, top, right, bottom};
}

inline u32 pixels_in(const Window &window) { return (window.right - window.left) * (window.bottom - window.top); }

inline Vec3 light_at(const SummedTables &tables, u32 x, u32 y) {
    const f32 *light = tables.lights + 3 * ((u64)y * tables.width + x);
    return {light[0], light[1], light[2]};
}

// Returns the table entry that sums all rows above `row` of the stacked tables, left of `column`.
inline u64 corner(const SummedTables &tables, u64 row, u32 column) {
    return row == 0 || column == 0 ? 0 : tables.sums[(row - 1) * tables.width + column - 1];
}

// The difference of four corners of a summed-area table.
inline u64 sum_in(const SummedTables &tables, u32 table, const Window &window) {
    u64 first = (u64)table * tables.height;
    u64 below = corner(tables, first + window.bottom, window.right) - corner(tables, first + window.bottom, window.left);
    u64 above = corner(tables, first + window.top, window.right) - corner(tables, first + window.top, window.left);
    return below - above;
}

inline WindowMean estimate_in(const SummedTables &tables, const Window &window, f32 noise_around) {
    u32 pixels = pixels_in(window);
    Vec3 light = {mean_light(sum_in(tables, RED_TABLE, window), pixels),
                  mean_light(sum_in(tables, GREEN_TABLE, window), pixels),
                  mean_light(sum_in(tables, BLUE_TABLE, window), pixels)};
    f32 min_noise = pixels > FEW_PIXELS ? noise_around * MIN_NOISE : noise_around;
    f32 noise = max_f32(mean_noise(sum_in(tables, NOISE_TABLE, window), pixels), min_noise);
    return estimate(light, noise / (f32)pixels);
}

// Whether a pixel is brighter or darker than all its neighbors.
inline bool stands_out(const SummedTables &tables, u32 x, u32 y, Vec3 light) {
    Window near = window_around(x, y, tables.width, tables.height, 1);
    f32 own = light.x + light.y + light.z, brightest = -1.0f, darkest = MAX_F32;
    for (u32 row = near.top; row < near.bottom; row++) {
        for (u32 column = near.left; column < near.right; column++) {
            if (row == y && column == x) continue;
            Vec3 other = light_at(tables, column, row);
            f32 sum = other.x + other.y + other.z;
            brightest = max_f32(brightest, sum);
            darkest = min_f32(darkest, sum);
        }
    }
    return own > brightest || own < darkest;
}

// Lepski's method: a window grows away from the pixel as long as its mean agrees with those of all smaller ones.
inline WindowMean widest(const SummedTables &tables, u32 x, u32 y, u32 quadrant, const WindowMean &own, f32 noise_around,
                       f32 tolerance) {
    WindowMean known[WINDOWS];
    known[0] = own;
    WindowMean best = own;
#pragma unroll
    for (u32 step = 1; step < WINDOWS; step++) {
        Window window = window_towards(x, y, tables.width, tables.height, quadrant, 1u << step);
        WindowMean next = estimate_in(tables, window, noise_around);
        bool agrees = agree(next, own, tolerance);
#pragma unroll
        for (u32 before = 1; before < step; before++) agrees = agrees && agree(next, known[before], TOLERANCE);
        if (!agrees) break;
        known[step] = next;
        best = next;
    }
    return best;
}

// Averages four windows, one for each quadrant, weighted by the reciprocals of their noise. A window on the other side
// of an edge ends early and so has little weight.
inline Vec3 denoise_pixel(const SummedTables &tables, u32 x, u32 y) {
    Vec3 light = light_at(tables, x, y);
    Window near = window_around(x, y, tables.width, tables.height, NOISE_RADIUS);
    f32 noise_around = mean_noise(sum_in(tables, NOISE_TABLE, near), pixels_in(near));
    if (!(noise_around > 0.0f)) return light;
    Window alone = window_around(x, y, tables.width, tables.height, 0);
    WindowMean own = estimate(light, max_f32(mean_noise(sum_in(tables, NOISE_TABLE, alone), 1), noise_around));
    f32 tolerance = stands_out(tables, x, y, light) ? SPECK_TOLERANCE : TOLERANCE;
    Vec3 sum = {0.0f, 0.0f, 0.0f};
    f32 weights = 0.0f;
    for (u32 quadrant = 0; quadrant < 4; quadrant++) {
        WindowMean found = widest(tables, x, y, quadrant, own, noise_around, tolerance);
        f32 weight = 1.0f / found.noise;
        sum = sum + found.light * weight;
        weights = weights + weight;
    }
    return sum * (1.0f / weights);
}
