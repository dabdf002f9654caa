// Environment maps: radiance by direction, and importance sampling of directions. Twin: src/lights/environment.rs.
#include "math.cuh"
#include "words.cuh"

struct Environment {
    u32 width;
    u32 height;
    f32 turns;
    f32 chance;
};

struct alignas(16) EnvironmentRow {
    u32 cumulative;
    f32 density;
    f32 top;
    f32 bottom;
};

struct alignas(16) EnvironmentTexel {
    Vec3 radiance;
    u32 cumulative;
};

struct EnvironmentSample {
    Vec3 radiance;
    f32 pdf;
};

inline u32 texel_of(f32 coordinate, u32 count) {
    f32 last = (f32)(count - 1);
    return (u32)min_f32(max_f32(coordinate, 0.0f), last);
}

// A guide divides the cumulative values of a row, or of all rows, into buckets of equal width, and stores the first
// index of each. A search then begins within one bucket.
inline u32 guide_shift(u32 count) {
    u32 shift = leading_zeros(count) + 1;
    return shift > 31 ? 31 : shift;
}

inline u32 guide_length(u32 count) { return (1u << (32 - guide_shift(count))) + 1; }

inline u32 row_at(const EnvironmentRow *rows, u32 first, u32 last, u32 target) {
    while (first < last) {
        u32 middle = (first + last) / 2;
        if (target < rows[middle].cumulative) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    return first;
}

inline u32 texel_at(const EnvironmentTexel *texels, u32 start, u32 first, u32 last, u32 target) {
    while (first < last) {
        u32 middle = (first + last) / 2;
        if (target < texels[start + middle].cumulative) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    return first;
}

// Returns where a place in 32.32 fixed point lies between two cumulative values, from 0 to below 1.
inline f32 fraction_between(u64 place, u32 before, u32 after) {
    u32 whole = (u32)(place >> 32) - before;
    u32 rest = (u32)place;
    f32 within = (f32)whole + (f32)rest * (1.0f / 4294967296.0f);
    return min_f32(within / (f32)(after - before), 0.99999994f);
}

// Inverts the cumulative sums of rows and then of the texels of one row. Within a texel, directions are uniform by
// solid angle: evenly in height and in turns around the y axis.
inline Vec3 sample_environment(const Environment &environment, const EnvironmentRow *rows,
                               const EnvironmentTexel *texels, const u32 *guide, u32 u, u32 v) {
    u32 width = environment.width, height = environment.height;
    u64 down = (u64)v * rows[height - 1].cumulative;
    u32 target = (u32)(down >> 32);
    u32 bucket = target >> guide_shift(height);
    u32 y = row_at(rows, guide[bucket], guide[bucket + 1], target);
    EnvironmentRow row = rows[y];
    u32 above = y > 0 ? rows[y - 1].cumulative : 0;
    u32 start = y * width;
    u64 along = (u64)u * texels[start + width - 1].cumulative;
    target = (u32)(along >> 32);
    bucket = guide_length(height) + y * guide_length(width) + (target >> guide_shift(width));
    u32 x = texel_at(texels, start, guide[bucket], guide[bucket + 1], target);
    u32 before = x > 0 ? texels[start + x - 1].cumulative : 0;
    u32 after = texels[start + x].cumulative;
    f32 upwards = row.top + (row.bottom - row.top) * fraction_between(down, above, row.cumulative);
    f32 sideways = sqrtf(max_f32(0.0f, (1.0f - upwards) * (1.0f + upwards)));
    f32 turns = ((f32)x + fraction_between(along, before, after)) / (f32)width - environment.turns;
    Pair wave = sin_cos_turns(turns < 0.0f ? turns + 1.0f : turns);
    return normalize({wave.x * sideways, upwards, -wave.y * sideways});
}

// The radiance is interpolated between four texels; the pdf is that of the texel that contains the direction.
inline EnvironmentSample environment_at(const Environment &environment, const EnvironmentRow *rows,
                                        const EnvironmentTexel *texels, Vec3 direction) {
    u32 width = environment.width, height = environment.height;
    f32 sideways = sqrtf(direction.x * direction.x + direction.z * direction.z);
    f32 angle = arctan2(sideways, direction.y);
    f32 around = arctan2(direction.x, -direction.z) * (0.5f * INV_PI) + environment.turns;
    f32 turns = around < 0.0f ? around + 1.0f : around >= 1.0f ? around - 1.0f : around;
    f32 x = turns * (f32)width, y = angle * INV_PI * (f32)height;
    u32 column = texel_of(x, width), line = texel_of(y, height);
    u32 start = line * width;
    u32 before = column > 0 ? texels[start + column - 1].cumulative : 0;
    u32 share = texels[start + column].cumulative - before;
    f32 left = x + ((f32)width - 0.5f), upper = y - 0.5f;
    u32 x0 = texel_of(left, 2 * width), y0 = texel_of(upper, height);
    u32 y1 = y0 + 1 < height ? y0 + 1 : y0;
    f32 fx = left - (f32)x0;
    f32 fy = min_f32(max_f32(upper - (f32)y0, 0.0f), 1.0f);
    u32 x1 = (x0 + 1) % width;
    x0 = x0 % width;
    Vec3 above = texels[y0 * width + x0].radiance * (1.0f - fx) + texels[y0 * width + x1].radiance * fx;
    Vec3 below = texels[y1 * width + x0].radiance * (1.0f - fx) + texels[y1 * width + x1].radiance * fx;
    return {above * (1.0f - fy) + below * fy, (f32)share * rows[line].density};
}
