// Materials that vary over their surface. Twin: src/maps.rs.
#include "material.cuh"
#include "primitive.cuh"
#include "texture.cuh"

struct alignas(16) Maps {
    Vec3 emission;
    f32 bend;
    u32 of[12];
    u32 used;
    f32 opacity;
    f32 cutoff;
    f32 coat_bend;
};

struct Imagery {
    const Maps *maps;
    const Texture *textures;
    const u32 *texels;
};

inline Vec3 scaled(Vec3 color, Vec3 by) {
    return {color.x * lesser(greater(by.x, 0.0f), 1.0f), color.y * lesser(greater(by.y, 0.0f), 1.0f),
            color.z * lesser(greater(by.z, 0.0f), 1.0f)};
}

inline Vec3 shining(Vec3 radiance, Vec3 by) {
    return {radiance.x * greater(by.x, 0.0f), radiance.y * greater(by.y, 0.0f), radiance.z * greater(by.z, 0.0f)};
}

inline Texel map_at(const Imagery &imagery, u32 map, const Surface &surface) {
    const Texture &texture = imagery.textures[map >> 2];
    bool second = (KINDS & TWO_COORDINATES) != 0 && texture.second == 1;
    return sample_texture(imagery.texels, texture, second ? surface.second_u : surface.u,
                          second ? surface.second_v : surface.v);
}

inline f32 part_of(Texel value, u32 channel) {
    f32 number = channel == 0 ? value.rgb.x : channel == 1 ? value.rgb.y : channel == 2 ? value.rgb.z : value.alpha;
    return lesser(greater(number, 0.0f), 1.0f);
}

inline f32 cut(const Maps &maps, f32 opacity) {
    if (maps.cutoff > 0.0f) return opacity >= maps.cutoff ? 1.0f : 0.0f;
    return opacity;
}

inline Vec3 bent_normal(const Surface &surface, Vec3 normal, Vec3 value, f32 bend) {
    f32 right = (2.0f * value.x - 1.0f) * bend;
    f32 up = (2.0f * value.y - 1.0f) * bend;
    if (right == 0.0f && up == 0.0f) return normal;
    f32 away = greater(2.0f * value.z - 1.0f, 1e-3f);
    Vec3 upwards = cross(normal, surface.tangent) * surface.handedness;
    return normalize(surface.tangent * right + upwards * up + normal * away);
}

// One lookup in the code, however many textures there are.
inline Material material_at(const Imagery &imagery, const Material &material, Surface &surface) {
    const Maps &maps = imagery.maps[material.maps];
    Material here = material;
#pragma unroll 1
    for (u32 left = maps.used & ~(1u << MAP_OPACITY); left != 0; left &= left - 1) {
        u32 place = trailing_zeros(left);
        u32 map = maps.of[place];
        Texel value = map_at(imagery, map, surface);
        f32 part = part_of(value, map & 3);
        switch (place) {
        case MAP_COLOR: here.color = scaled(here.color, value.rgb); break;
        case MAP_EMISSION: here.emission = shining(maps.emission, value.rgb); break;
        case MAP_NORMAL: surface.shading = bent_normal(surface, surface.shading, value.rgb, maps.bend); break;
        case MAP_COAT_NORMAL:
            if ((KINDS & COAT_NORMALS) != 0) {
                surface.coat = bent_normal(surface, surface.coat, value.rgb, maps.coat_bend);
            }
            break;
        case MAP_ROUGHNESS: here.alpha = greater(here.alpha * (part * part), MIN_ALPHA); break;
        case MAP_METALLIC: here.metallic = here.metallic * part; break;
        case MAP_TRANSMISSION: here.transmission = here.transmission * part; break;
        case MAP_CLEARCOAT: here.clearcoat = here.clearcoat * part; break;
        case MAP_CLEARCOAT_ROUGHNESS:
            here.clearcoat_alpha = greater(here.clearcoat_alpha * (part * part), MIN_ALPHA);
            break;
        case MAP_SPECULAR:
            here.specular = here.specular * part;
            here.eta = here.eta * part;
            break;
        default: here.eta = scaled(here.eta, value.rgb);
        }
    }
    if ((maps.used & (1u << MAP_COAT_NORMAL)) == 0) surface.coat = surface.shading;
    return here;
}

inline Vec3 emission_at(const Imagery &imagery, const Material &material, const Surface &surface) {
    const Maps &maps = imagery.maps[material.maps];
    if ((maps.used & (1u << MAP_EMISSION)) == 0) return material.emission;
    return shining(maps.emission, map_at(imagery, maps.of[MAP_EMISSION], surface).rgb);
}
