// Opacity maps: which parts of each triangle are surely opaque or surely transparent. Twin: src/shading/opacity_map.rs.

inline u32 cell_along(f32 weight, u32 level) {
    u32 count = 1u << level;
    u32 cell = (u32)(weight * (f32)count);
    return cell < count ? cell : count - 1;
}

// A triangle has one state, or a grid of 4^level cells of two bits in barycentric coordinates. The upper half of the
// grid is unused.
inline u32 known_opacity(const u32 *opacity_maps, u32 primitive, f32 u, f32 v) {
    u32 entry = opacity_maps[primitive];
    u32 state = entry & MAPPED;
    if (state != MAPPED) return state;
    u32 level = (entry >> STATE_BITS) & ((1u << LEVEL_BITS) - 1);
    u32 cell = (cell_along(v, level) << level) + cell_along(u, level);
    u32 first = entry >> (STATE_BITS + LEVEL_BITS);
    u32 word = opacity_maps[first + (cell >> WORD_LEVEL)];
    return (word >> (STATE_BITS * (cell & ((1u << WORD_LEVEL) - 1)))) & MAPPED;
}
