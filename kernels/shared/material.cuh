// Materials as the stages read them, and the reflection, refraction and MIS functions they share. Twin:
// src/shading/material.rs.
#include "math.cuh"

struct alignas(16) Material {
    Vec3 color;
    u32 kind;
    Vec3 emission;
    f32 ior;
    Vec3 eta;
    f32 alpha;
    Vec3 k;
    u32 flags;
    u32 one_sided;
    u32 table;
    u32 mirrors;
    f32 specular;
    f32 metallic;
    f32 transmission;
    f32 clearcoat;
    f32 clearcoat_alpha;
    u32 maps;
    Vec3 absorption;
    Vec3 sheen;
    f32 sheen_alpha;
    f32 anisotropy;
    f32 anisotropy_cosine;
    f32 anisotropy_sine;
    f32 dispersion;
    f32 film;
    f32 film_ior;
    f32 film_thickness;
    f32 film_thickness_min;
    Vec3 diffuse_transmission_color;
    f32 diffuse_transmission;
    u32 sheen_table;
    u32 anisotropic_table;
    f32 alpha_across;
    f32 weight;
    u32 first;
    u32 second;
    u32 red_table;
    u32 blue_table;
};

inline Vec3 reflect(Vec3 direction, Vec3 normal) {
    return normalize(direction - normal * (2.0f * dot(direction, normal)));
}

inline Vec3 refract(Vec3 direction, Vec3 normal, f32 eta, f32 cos_in, f32 cos_out) {
    return normalize(direction * eta + normal * (eta * cos_in - cos_out));
}

struct Fresnel {
    f32 reflected, cos_out;
};

inline Fresnel fresnel(f32 cos_in, f32 eta) {
    f32 sin2_out = eta * eta * max_f32(0.0f, 1.0f - cos_in * cos_in);
    if (sin2_out >= 1.0f) return {1.0f, 0.0f};
    f32 cos_out = sqrtf(1.0f - sin2_out);
    f32 parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    f32 perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    return {0.5f * (parallel * parallel + perpendicular * perpendicular), cos_out};
}

struct CosineSample {
    Vec3 direction;
    f32 cosine;
};

inline CosineSample sample_cosine(Vec3 normal, f32 u, f32 v) {
    Pair disk = square_to_disk(u, v);
    f32 cosine = sqrtf(max_f32(0.0f, 1.0f - disk.x * disk.x - disk.y * disk.y));
    return {normalize(local_to_world(normal, {disk.x, disk.y, cosine})), cosine};
}

inline bool is_black(const Material &material) {
    return material.kind == DIFFUSE && material.color.x == 0.0f && material.color.y == 0.0f && material.color.z == 0.0f;
}

inline Vec3 transmitted(Vec3 absorption, f32 distance) {
    return {half_power(absorption.x * distance), half_power(absorption.y * distance),
            half_power(absorption.z * distance)};
}

inline f32 dispersed_ior(const Material &material, u32 channel) {
    f32 half_spread = (material.ior - 1.0f) * (0.025f * material.dispersion);
    f32 ior = channel == 0   ? material.ior - half_spread
              : channel == 1 ? material.ior
                             : material.ior + half_spread;
    if (material.ior > 1.0f) return max_f32(ior, 1.0f + WEAKEST_REFRACTION);
    return min_f32(max_f32(ior, 0.1f), 1.0f - WEAKEST_REFRACTION);
}

inline u32 dispersed_table(const Material &material, u32 channel) {
    return channel == 0 ? material.red_table : channel == 1 ? material.table : material.blue_table;
}

struct ChosenChannel {
    Vec3 throughput;
    u32 channel;
    f32 choice;
};

inline ChosenChannel choose_channel(Vec3 throughput, f32 choice) {
    u32 red = throughput.x > 0.0f ? 1 : 0, green = throughput.y > 0.0f ? 1 : 0, blue = throughput.z > 0.0f ? 1 : 0;
    u32 count = red + green + blue;
    f32 place = choice * (f32)count;
    u32 chosen = (u32)place;
    f32 rest = count > 1 ? place - (f32)chosen : choice;
    f32 scale = (f32)count;
    if (red == 1 && chosen == 0) return {{throughput.x * scale, 0.0f, 0.0f}, 0, rest};
    if (green == 1 && chosen == red) return {{0.0f, throughput.y * scale, 0.0f}, 1, rest};
    return {{0.0f, 0.0f, throughput.z * scale}, 2, rest};
}

struct ChosenMaterial {
    u32 index;
    f32 choice;
};

inline ChosenMaterial choose_material(const Material &blend, f32 choice) {
    if (choice < blend.weight) return {blend.second, choice / blend.weight};
    return {blend.first, (choice - blend.weight) / (1.0f - blend.weight)};
}

inline f32 power_heuristic(f32 drawn, f32 other) {
    f32 ratio = other / drawn;
    return 1.0f / (1.0f + ratio * ratio);
}
