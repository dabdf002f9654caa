// Energy compensation for rough surfaces: lookup in tables of directional albedos. Twin: src/shading/energy.rs.
#include "math.cuh"

struct Place {
    u32 lower;
    f32 weight;
};

inline Place table_place(f32 root, u32 count) {
    f32 place = min_f32(max_f32(root, 0.0f), 1.0f) * (f32)(count - 1);
    u32 lower = (u32)place;
    if (lower > count - 2) lower = count - 2;
    return {lower, place - (f32)lower};
}

inline f32 directional(const f32 *tables, u32 table, u32 function, f32 alpha, f32 cosine) {
    Place row = table_place(sqrtf(max_f32(alpha, 0.0f)), ROUGHNESSES);
    Place column = table_place(sqrtf(max_f32(cosine, 0.0f)), COSINES);
    const f32 *at = tables + (table + row.lower * ROW + function * COSINES + column.lower);
    const f32 *below = at + ROW;
    f32 upper = at[0] + (at[1] - at[0]) * column.weight;
    f32 lower = below[0] + (below[1] - below[0]) * column.weight;
    return upper + (lower - upper) * row.weight;
}

inline f32 hemispherical(const f32 *tables, u32 table, u32 mean, f32 alpha) {
    Place row = table_place(sqrtf(max_f32(alpha, 0.0f)), ROUGHNESSES);
    const f32 *at = tables + (table + row.lower * ROW + 2 * COSINES + mean);
    return at[0] + (at[ROW] - at[0]) * row.weight;
}
