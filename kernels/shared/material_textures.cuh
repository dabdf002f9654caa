// Textured materials: textures that scale a material's parameters or bend its normals. Twin: src/shading/material_textures.rs.
#include "material.cuh"
#include "primitive.cuh"
#include "texture.cuh"

struct alignas(16) MaterialTextures {
    Vec3 emission;
    f32 normal_scale;
    u32 textures[24];
    u32 used;
    f32 opacity;
    f32 cutoff;
    f32 coat_normal_scale;
};

struct TextureAtlas {
    const MaterialTextures *maps;
    const Texture *textures;
    const u32 *texels;
};

inline Vec3 scale_color(Vec3 color, Vec3 by) {
    return {color.x * min_f32(max_f32(by.x, 0.0f), 1.0f), color.y * min_f32(max_f32(by.y, 0.0f), 1.0f),
            color.z * min_f32(max_f32(by.z, 0.0f), 1.0f)};
}

inline Vec3 scale_radiance(Vec3 radiance, Vec3 by) {
    return {radiance.x * max_f32(by.x, 0.0f), radiance.y * max_f32(by.y, 0.0f), radiance.z * max_f32(by.z, 0.0f)};
}

inline Texel map_at(const TextureAtlas &atlas, u32 map, const Surface &surface) {
    const Texture &texture = atlas.textures[map >> 2];
    bool second = (KINDS & SECOND_UV) != 0 && texture.second == 1;
    return sample_texture(atlas.texels, texture, second ? surface.second_u : surface.u,
                          second ? surface.second_v : surface.v);
}

inline f32 channel_value(Texel value, u32 channel) {
    f32 number = channel == 0 ? value.rgb.x : channel == 1 ? value.rgb.y : channel == 2 ? value.rgb.z : value.alpha;
    return min_f32(max_f32(number, 0.0f), 1.0f);
}

inline f32 apply_cutoff(const MaterialTextures &maps, f32 opacity) {
    if (maps.cutoff > 0.0f) return opacity >= maps.cutoff ? 1.0f : 0.0f;
    return opacity;
}

inline Vec3 bent_normal(const Surface &surface, Vec3 normal, Vec3 value, f32 normal_scale) {
    f32 right = (2.0f * value.x - 1.0f) * normal_scale;
    f32 up = (2.0f * value.y - 1.0f) * normal_scale;
    if (right == 0.0f && up == 0.0f) return normal;
    f32 away = max_f32(2.0f * value.z - 1.0f, 1e-3f);
    Vec3 upwards = cross(normal, surface.tangent) * surface.handedness;
    return normalize(surface.tangent * right + upwards * up + normal * away);
}

inline f32 roughness_factor(const Material &material, f32 part) {
    return (material.flags & LINEAR_ROUGHNESS) != 0 ? part : part * part;
}

inline void apply_extended_map(Material &material, u32 place, const Texel &value, f32 part) {
    switch (place) {
    case MAP_SHEEN_COLOR: material.sheen = scale_color(material.sheen, value.rgb); break;
    case MAP_SHEEN_ROUGHNESS:
        material.sheen_alpha = max_f32(material.sheen_alpha * (part * part), MIN_SHEEN_ALPHA);
        break;
    case MAP_ANISOTROPY: {
        f32 right = 2.0f * value.rgb.x - 1.0f, up = 2.0f * value.rgb.y - 1.0f;
        f32 cosine = material.anisotropy_cosine, sine = material.anisotropy_sine;
        material.anisotropy_cosine = cosine * right - sine * up;
        material.anisotropy_sine = sine * right + cosine * up;
        material.anisotropy = material.anisotropy * channel_value(value, 2);
        break;
    }
    case MAP_FILM: material.film = material.film * part; break;
    case MAP_FILM_THICKNESS: {
        f32 thinnest = material.film_thickness_min;
        material.film_thickness = thinnest + (material.film_thickness - thinnest) * part;
        break;
    }
    case MAP_DIFFUSE_TRANSMISSION: material.diffuse_transmission = material.diffuse_transmission * part; break;
    case MAP_ROUGHNESS_ACROSS: material.alpha_across = max_f32(material.alpha_across * part, MIN_ALPHA); break;
    case MAP_WEIGHT: material.weight = material.weight * part; break;
    default: material.diffuse_transmission_color = scale_color(material.diffuse_transmission_color, value.rgb);
    }
}

// A loop keeps a single inlined lookup, however many textures there are.
inline Material material_at(const TextureAtlas &atlas, const Material &material, Surface &surface) {
    const MaterialTextures &maps = atlas.maps[material.maps];
    Material here = material;
#pragma unroll 1
    for (u32 left = maps.used & ~(1u << MAP_OPACITY); left != 0; left &= left - 1) {
        u32 place = trailing_zeros(left);
        u32 map = maps.textures[place];
        Texel value = map_at(atlas, map, surface);
        f32 part = channel_value(value, map & 3);
        switch (place) {
        case MAP_COLOR: here.color = scale_color(here.color, value.rgb); break;
        case MAP_EMISSION: here.emission = scale_radiance(maps.emission, value.rgb); break;
        case MAP_NORMAL: surface.shading = bent_normal(surface, surface.shading, value.rgb, maps.normal_scale); break;
        case MAP_COAT_NORMAL:
            if ((KINDS & COAT_NORMALS) != 0) {
                surface.coat = bent_normal(surface, surface.coat, value.rgb, maps.coat_normal_scale);
            }
            break;
        case MAP_ROUGHNESS: here.alpha = max_f32(here.alpha * roughness_factor(here, part), MIN_ALPHA); break;
        case MAP_METALLIC: here.metallic = here.metallic * part; break;
        case MAP_TRANSMISSION: here.transmission = here.transmission * part; break;
        case MAP_CLEARCOAT: here.clearcoat = here.clearcoat * part; break;
        case MAP_CLEARCOAT_ROUGHNESS:
            here.clearcoat_alpha = max_f32(here.clearcoat_alpha * (part * part), MIN_ALPHA);
            break;
        case MAP_SPECULAR:
            here.specular = here.specular * part;
            here.eta = here.eta * part;
            break;
        case MAP_SPECULAR_COLOR: here.eta = scale_color(here.eta, value.rgb); break;
        default:
            if ((KINDS >> EXTENDED & 1u) != 0) apply_extended_map(here, place, value, part);
        }
    }
    if ((maps.used & (1u << MAP_COAT_NORMAL)) == 0) surface.coat = surface.shading;
    return here;
}

inline Vec3 emission_at(const TextureAtlas &atlas, const Material &material, const Surface &surface) {
    const MaterialTextures &maps = atlas.maps[material.maps];
    if ((maps.used & (1u << MAP_EMISSION)) == 0) return material.emission;
    return scale_radiance(maps.emission, map_at(atlas, maps.textures[MAP_EMISSION], surface).rgb);
}
