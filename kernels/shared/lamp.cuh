// Lamps: point, spot and directional lights, and suns. Twin: src/lights/lamp.rs.
#include "light_sample.cuh"

struct alignas(16) Lamp {
    Vec3 position;
    u32 kind;
    Vec3 direction;
    f32 chance;
    Vec3 radiance;
    f32 cos_inner;
    f32 cos_outer;
    f32 falloff_1;
    f32 falloff_2;
    f32 falloff_3;
};

inline f32 spot_falloff(const Lamp &lamp, f32 cosine) {
    if (cosine >= lamp.cos_inner) return 1.0f;
    if (cosine <= lamp.cos_outer) return 0.0f;
    f32 part = (cosine - lamp.cos_outer) / (lamp.cos_inner - lamp.cos_outer);
    return part * (lamp.falloff_1 + part * (lamp.falloff_2 + part * lamp.falloff_3));
}

// For suns, `cos_inner` is 1 minus the cosine of half the angular diameter: the height of the cap of directions.
inline LightSample sample_lamp(const Lamp &lamp, f32 chance, Vec3 origin, f32 u, f32 v) {
    if (lamp.kind == DISTANT) return {lamp.direction, MAX_F32, chance, lamp.radiance, NO_PRIMITIVE, 1};
    if (lamp.kind == SUN) {
        Pair disk = square_to_disk(u, v);
        f32 drop = (disk.x * disk.x + disk.y * disk.y) * lamp.cos_inner;
        f32 stretch = sqrtf(max_f32(0.0f, lamp.cos_inner * (2.0f - drop)));
        Vec3 local = {disk.x * stretch, disk.y * stretch, 1.0f - drop};
        f32 pdf = chance / (2.0f * PI * lamp.cos_inner);
        return {normalize(local_to_world(lamp.direction, local)), MAX_F32, pdf, lamp.radiance, NO_PRIMITIVE, 0};
    }
    Vec3 to_lamp = lamp.position - origin;
    f32 distance2 = dot(to_lamp, to_lamp);
    f32 distance = sqrtf(distance2);
    Vec3 direction = to_lamp * (1.0f / distance);
    f32 part = lamp.kind == SPOT ? spot_falloff(lamp, -dot(direction, lamp.direction)) : 1.0f;
    bool lit = distance > 0.0f && part > 0.0f;
    if (!lit) return no_sample();
    return {direction, distance, chance, lamp.radiance * (part / distance2), NO_PRIMITIVE, 1};
}
