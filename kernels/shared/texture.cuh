// Textures: filtered lookup in images. Twin: src/shading/texture.rs.
#include "math.cuh"

struct alignas(16) Texture {
    u32 start;
    u32 width;
    u32 height;
    u32 format;
    f32 u_by_u;
    f32 u_by_v;
    f32 u_at_zero;
    u32 wrap_u;
    f32 v_by_u;
    f32 v_by_v;
    f32 v_at_zero;
    u32 wrap_v;
    u32 filter;
    u32 second;
    u32 _pad0;
    u32 _pad1;
};

struct Texel {
    Vec3 rgb;
    f32 alpha;
};

struct Neighbours {
    u32 first;
    u32 second;
    f32 share;
};

inline u32 channel_8(u32 word, u32 channel) { return (word >> (8 * channel)) & 255; }

inline f32 linear_8(u32 byte) { return (f32)byte * (1.0f / 255.0f); }

inline f32 linear_16(u32 half) { return (f32)half * (1.0f / 65535.0f); }

inline f32 wrapped(f32 coordinate, u32 wrap) {
    f32 inside = coordinate;
    if (wrap == REPEAT) {
        inside = coordinate - round_down(coordinate);
    } else if (wrap == MIRRORED_REPEAT) {
        f32 there = coordinate - 2.0f * round_down(0.5f * coordinate);
        inside = there > 1.0f ? 2.0f - there : there;
    }
    return min_f32(max_f32(inside, 0.0f), 1.0f);
}

inline u32 nearest_texel(f32 inside, u32 size) {
    u32 last = size - 1;
    u32 at = (u32)(inside * (f32)size);
    return at > last ? last : at;
}

// Texels have their values at their centers. At the border, the second neighbor is that on the other side, or the same.
inline Neighbours neighbours(f32 inside, u32 size, u32 wrap) {
    u32 last = size - 1;
    u32 before = wrap == REPEAT ? last : 0, after = wrap == REPEAT ? 0 : last;
    f32 place = inside * (f32)size - 0.5f;
    if (place < 0.0f) return {before, 0, place + 1.0f};
    u32 at = (u32)place;
    u32 first = at > last ? last : at;
    return {first, first == last ? after : first + 1, place - (f32)first};
}

// The first 256 words of `texels` are the linear values of sRGB bytes.
inline Texel texel(const u32 *texels, const Texture &texture, u32 x, u32 y) {
    u32 number = y * texture.width + x;
    if (texture.format == FLOAT) {
        u32 at = texture.start + 4 * number;
        return {{bits_to_float(texels[at]), bits_to_float(texels[at + 1]), bits_to_float(texels[at + 2])},
                bits_to_float(texels[at + 3])};
    }
    if (texture.format == LINEAR_16) {
        u32 at = texture.start + 2 * number;
        u32 low = texels[at], high = texels[at + 1];
        return {{linear_16(low & 65535), linear_16(low >> 16), linear_16(high & 65535)}, linear_16(high >> 16)};
    }
    u32 word = texels[texture.start + number];
    u32 red = channel_8(word, 0), green = channel_8(word, 1), blue = channel_8(word, 2);
    f32 alpha = linear_8(channel_8(word, 3));
    Vec3 rgb = texture.format == SRGB_8
                   ? Vec3{bits_to_float(texels[red]), bits_to_float(texels[green]), bits_to_float(texels[blue])}
                   : Vec3{linear_8(red), linear_8(green), linear_8(blue)};
    return {rgb, alpha};
}

inline Texel between(Texel a, Texel b, f32 share) {
    return {a.rgb + (b.rgb - a.rgb) * share, a.alpha + (b.alpha - a.alpha) * share};
}

inline Texel sample_texture(const u32 *texels, const Texture &texture, f32 u, f32 v) {
    f32 across = u * texture.u_by_u + v * texture.u_by_v + texture.u_at_zero;
    f32 down = u * texture.v_by_u + v * texture.v_by_v + texture.v_at_zero;
    f32 x = wrapped(across, texture.wrap_u);
    f32 y = wrapped(down, texture.wrap_v);
    if (texture.filter == NEAREST) {
        return texel(texels, texture, nearest_texel(x, texture.width), nearest_texel(y, texture.height));
    }
    Neighbours columns = neighbours(x, texture.width, texture.wrap_u);
    Neighbours rows = neighbours(y, texture.height, texture.wrap_v);
    Texel above = between(texel(texels, texture, columns.first, rows.first),
                          texel(texels, texture, columns.second, rows.first), columns.share);
    Texel below = between(texel(texels, texture, columns.first, rows.second),
                          texel(texels, texture, columns.second, rows.second), columns.share);
    return between(above, below, rows.share);
}
