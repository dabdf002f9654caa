// Choosing points on what shines. Twin: src/light.rs.
#include "material.cuh"
#include "primitive.cuh"

struct Light {
    u32 primitive;
    f32 cumulative;
};

struct Surroundings {
    Vec3 sky;
    u32 light_count;
    f32 inverse_power;
    f32 extent;
    f32 most_indirect;
    u32 strategies;
};

struct LightSample {
    Vec3 direction;
    f32 distance;
    f32 pdf;
    Vec3 radiance;
};

inline LightSample dark() { return {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f, {0.0f, 0.0f, 0.0f}}; }

inline f32 sample_weight(u32 strategies, u32 own, f32 drawn, f32 other) {
    if (other > 0.0f && (strategies & own) == 0) return 0.0f;
    if (strategies != LIGHT_SAMPLES + BSDF_SAMPLES) return 1.0f;
    return power_heuristic(drawn, other);
}

inline u32 choose_light(const Light *lights, u32 light_count, f32 u) {
    u32 first = 0;
    u32 last = light_count - 1;
    while (first < last) {
        u32 middle = (first + last) / 2;
        if (u < lights[middle].cumulative) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    return first;
}

inline f32 cone_height(f32 radius, f32 distance2) {
    f32 sin2 = radius * radius / distance2;
    return sin2 / (1.0f + sqrtf(1.0f - sin2));
}

inline f32 sphere_area(f32 radius) { return 4.0f * PI * radius * radius; }

inline f32 light_pdf(const Primitive &primitive, const Material &material, const Surroundings &surroundings,
                     Vec3 origin, f32 distance, f32 cosine) {
    f32 share = luminance(material.emission) * surroundings.inverse_power;
    if (primitive.kind == TRIANGLE) return share * distance * distance / cosine;
    f32 radius = primitive.b.x;
    Vec3 to_center = primitive.a - origin;
    f32 distance2 = dot(to_center, to_center);
    if (distance2 <= radius * radius) return 0.0f;
    return share * sphere_area(radius) / (2.0f * PI * cone_height(radius, distance2));
}

inline LightSample sample_triangle(const Primitive &light, Vec3 radiance, f32 share, Vec3 origin, f32 u, f32 v) {
    f32 b = v > u ? 0.5f * u : u - 0.5f * v;
    f32 c = v > u ? v - 0.5f * u : 0.5f * v;
    Vec3 ab = light.b - light.a;
    Vec3 ac = light.c - light.a;
    Vec3 normal = normalize(cross(ab, ac));
    Vec3 point = offset_point(light.a + ab * b + ac * c, normal, point_error(light));
    Vec3 to_light = point - origin;
    f32 distance2 = dot(to_light, to_light);
    f32 distance = sqrtf(distance2);
    Vec3 direction = to_light * (1.0f / distance);
    f32 cosine = -dot(direction, normal);
    bool lit = cosine > 0.0f && distance > 0.0f;
    if (!lit) return dark();
    return {direction, distance, share * distance2 / cosine, radiance};
}

inline LightSample sample_sphere(const Primitive &light, Vec3 radiance, f32 share, Vec3 origin, f32 u, f32 v) {
    f32 radius = light.b.x;
    Vec3 to_center = light.a - origin;
    f32 distance2 = dot(to_center, to_center);
    if (distance2 <= radius * radius) return dark();
    f32 height = cone_height(radius, distance2);
    Pair disk = square_to_disk(u, v);
    f32 drop = (disk.x * disk.x + disk.y * disk.y) * height;
    f32 stretch = sqrtf(greater(0.0f, height * (2.0f - drop)));
    f32 cosine = 1.0f - drop;
    f32 sin2 = drop * (2.0f - drop);
    f32 away = sqrtf(distance2);
    f32 depth = sqrtf(greater(0.0f, radius * radius - distance2 * sin2));
    f32 reach = away * cosine - depth;
    Vec3 local = {disk.x * stretch * reach, disk.y * stretch * reach, -(away * sin2 + depth * cosine)};
    Vec3 normal = normalize(to_world(to_center * (1.0f / away), local));
    Vec3 target = offset_point(light.a + normal * radius, normal, point_error(light)) - origin;
    f32 distance = sqrtf(dot(target, target));
    bool lit = distance > 0.0f;
    if (!lit) return dark();
    f32 pdf = share * sphere_area(radius) / (2.0f * PI * height);
    return {target * (1.0f / distance), distance, pdf, radiance};
}

inline LightSample sample_light(const Primitive &primitive, const Material &material,
                                const Surroundings &surroundings, Vec3 origin, f32 u, f32 v) {
    f32 share = luminance(material.emission) * surroundings.inverse_power;
    return primitive.kind == TRIANGLE ? sample_triangle(primitive, material.emission, share, origin, u, v)
                                      : sample_sphere(primitive, material.emission, share, origin, u, v);
}
