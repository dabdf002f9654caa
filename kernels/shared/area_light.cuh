// Area lights: sampling a point on an emissive triangle or sphere, and the pdf of doing so. Twin:
// src/lights/area_light.rs.
#include "light_sample.cuh"
#include "primitive.cuh"

// 1 - cos of the angle at which a sphere appears, without cancellation for distant spheres.
inline f32 one_minus_cos_max(f32 radius, f32 distance2) {
    f32 sin2 = radius * radius / distance2;
    return sin2 / (1.0f + sqrtf(1.0f - sin2));
}

inline f32 sphere_area(f32 radius) { return 4.0f * PI * radius * radius; }

// `width` is the probability of the light in the light tree.
inline f32 area_pdf_of_width(const Primitive &primitive, u32 width) {
    f32 area;
    if (is_triangle(primitive)) {
        Vec3 normal = cross(primitive.b - primitive.a, primitive.c - primitive.a);
        area = 0.5f * sqrtf(dot(normal, normal));
    } else {
        area = sphere_area(primitive.b.x);
    }
    return (f32)width * (1.0f / (f32)PROBABILITY_UNITS) / area;
}

inline f32 light_pdf(const Primitive &primitive, f32 share, Vec3 origin, f32 distance, f32 cosine) {
    if (is_triangle(primitive)) return share * distance * distance / cosine;
    f32 radius = primitive.b.x;
    Vec3 to_center = primitive.a - origin;
    f32 distance2 = dot(to_center, to_center);
    if (distance2 <= radius * radius) return 0.0f;
    return share * sphere_area(radius) / (2.0f * PI * one_minus_cos_max(radius, distance2));
}

// Barycentric weights by the map of Heitz, "A Low-Distortion Map Between Triangle and Square" (2019).
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
    if (!lit) return no_sample();
    return {direction, distance, share * distance2 / cosine, radiance, NO_PRIMITIVE, 0};
}

// Samples the cone of directions that the sphere covers, uniformly by solid angle, and then finds the point where the
// direction first meets the sphere.
inline LightSample sample_sphere(const Primitive &light, Vec3 radiance, f32 share, Vec3 origin, f32 u, f32 v) {
    f32 radius = light.b.x;
    Vec3 to_center = light.a - origin;
    f32 distance2 = dot(to_center, to_center);
    if (distance2 <= radius * radius) return no_sample();
    f32 height = one_minus_cos_max(radius, distance2);
    Pair disk = square_to_disk(u, v);
    f32 drop = (disk.x * disk.x + disk.y * disk.y) * height;
    f32 stretch = sqrtf(max_f32(0.0f, height * (2.0f - drop)));
    f32 cosine = 1.0f - drop;
    f32 sin2 = drop * (2.0f - drop);
    f32 away = sqrtf(distance2);
    f32 depth = sqrtf(max_f32(0.0f, radius * radius - distance2 * sin2));
    f32 reach = away * cosine - depth;
    Vec3 local = {disk.x * stretch * reach, disk.y * stretch * reach, -(away * sin2 + depth * cosine)};
    Vec3 normal = normalize(local_to_world(to_center * (1.0f / away), local));
    Vec3 target = offset_point(light.a + normal * radius, normal, point_error(light)) - origin;
    f32 distance = sqrtf(dot(target, target));
    bool lit = dot(target, normal) < 0.0f;
    if (!lit) return no_sample();
    f32 pdf = share * sphere_area(radius) / (2.0f * PI * height);
    return {target * (1.0f / distance), distance, pdf, radiance, NO_PRIMITIVE, 0};
}

inline LightSample sample_emitter(const Primitive &primitive, Vec3 radiance, f32 share, Vec3 origin, f32 u, f32 v) {
    return is_triangle(primitive) ? sample_triangle(primitive, radiance, share, origin, u, v)
                                      : sample_sphere(primitive, radiance, share, origin, u, v);
}
