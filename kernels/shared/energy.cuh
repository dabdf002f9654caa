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

// Rows are even in the root of alpha, and entries in the root of the cosine: what single scattering loses changes
// fastest on smooth surfaces and at grazing angles.
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

// Interpolates the quantiles of the squared cosine, whose density is that of the function.
inline f32 sample_directional(const f32 *tables, u32 table, u32 function, f32 alpha, f32 u) {
    Place row = table_place(sqrtf(max_f32(alpha, 0.0f)), ROUGHNESSES);
    Place column = table_place(u, QUANTILES);
    u32 first = table + row.lower * ROW + 2 * COSINES + MEANS;
    const f32 *at = tables + (first + function * QUANTILES + column.lower);
    const f32 *below = at + ROW;
    f32 upper = at[0] + (at[1] - at[0]) * column.weight;
    f32 lower = below[0] + (below[1] - below[0]) * column.weight;
    return upper + (lower - upper) * row.weight;
}

inline f32 anisotropic_directional(const f32 *tables, u32 table, u32 function, f32 alpha_x, f32 alpha_y, f32 along2,
                                   f32 cosine) {
    Place x = table_place(sqrtf(max_f32(alpha_x, 0.0f)), ANISOTROPIC_ROUGHNESSES);
    Place y = table_place(sqrtf(max_f32(alpha_y, 0.0f)), ANISOTROPIC_ROUGHNESSES);
    Place turn = table_place(along2, TURNS);
    Place column = table_place(sqrtf(max_f32(cosine, 0.0f)), ANISOTROPIC_COSINES);
    f32 sum = 0.0f;
    for (u32 corner = 0; corner < 8; corner++) {
        u32 upper_x = corner >> 2, upper_y = (corner >> 1) & 1, upper_turn = corner & 1;
        u32 pair = (function * ANISOTROPIC_ROUGHNESSES + x.lower + upper_x) * ANISOTROPIC_ROUGHNESSES;
        u32 row = (pair + y.lower + upper_y) * TURNS + turn.lower + upper_turn;
        const f32 *at = tables + (table + row * ANISOTROPIC_COSINES + column.lower);
        f32 value = at[0] + (at[1] - at[0]) * column.weight;
        f32 share_x = upper_x == 1 ? x.weight : 1.0f - x.weight;
        f32 share_y = upper_y == 1 ? y.weight : 1.0f - y.weight;
        f32 share_turn = upper_turn == 1 ? turn.weight : 1.0f - turn.weight;
        sum += value * (share_x * share_y * share_turn);
    }
    return sum;
}

inline f32 anisotropic_mean(const f32 *tables, u32 table, u32 function, f32 alpha_x, f32 alpha_y) {
    Place x = table_place(sqrtf(max_f32(alpha_x, 0.0f)), ANISOTROPIC_ROUGHNESSES);
    Place y = table_place(sqrtf(max_f32(alpha_y, 0.0f)), ANISOTROPIC_ROUGHNESSES);
    u32 pairs = ANISOTROPIC_ROUGHNESSES * ANISOTROPIC_ROUGHNESSES;
    u32 means = table + (2 * TURNS * ANISOTROPIC_COSINES + function) * pairs;
    const f32 *at = tables + (means + x.lower * ANISOTROPIC_ROUGHNESSES + y.lower);
    const f32 *below = at + ANISOTROPIC_ROUGHNESSES;
    f32 upper = at[0] + (at[1] - at[0]) * y.weight;
    f32 lower = below[0] + (below[1] - below[0]) * y.weight;
    return upper + (lower - upper) * x.weight;
}

// The part for coats follows the rows of a table: one row per pair of roughnesses, of the facets and of the coat.
inline f32 below_coat(const f32 *tables, u32 table, f32 alpha, f32 coat_alpha, f32 cosine) {
    Place row = table_place(sqrtf(max_f32(alpha, 0.0f)), COATED_ROUGHNESSES);
    Place coat = table_place(sqrtf(max_f32(coat_alpha, 0.0f)), COAT_ROUGHNESSES);
    Place column = table_place(sqrtf(max_f32(cosine, 0.0f)), COAT_COSINES);
    u32 first = ROUGHNESSES * ROW + (row.lower * COAT_ROUGHNESSES + coat.lower) * COAT_ROW + column.lower;
    f32 ends[2];
    for (u32 number = 0; number < 2; number++) {
        const f32 *at = tables + (table + first + number * COAT_ROUGHNESSES * COAT_ROW);
        const f32 *rougher = at + COAT_ROW;
        f32 near = at[0] + (at[1] - at[0]) * column.weight;
        f32 far = rougher[0] + (rougher[1] - rougher[0]) * column.weight;
        ends[number] = near + (far - near) * coat.weight;
    }
    return ends[0] + (ends[1] - ends[0]) * row.weight;
}

inline f32 mean_below_coat(const f32 *tables, u32 table, u32 mean, f32 alpha, f32 coat_alpha) {
    Place row = table_place(sqrtf(max_f32(alpha, 0.0f)), COATED_ROUGHNESSES);
    Place coat = table_place(sqrtf(max_f32(coat_alpha, 0.0f)), COAT_ROUGHNESSES);
    u32 first = ROUGHNESSES * ROW + (row.lower * COAT_ROUGHNESSES + coat.lower) * COAT_ROW;
    const f32 *at = tables + (table + first + COAT_COSINES + mean);
    const f32 *below = at + COAT_ROUGHNESSES * COAT_ROW;
    f32 upper = at[0] + (at[COAT_ROW] - at[0]) * coat.weight;
    f32 lower = below[0] + (below[COAT_ROW] - below[0]) * coat.weight;
    return upper + (lower - upper) * row.weight;
}
