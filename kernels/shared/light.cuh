// Light sampling: choosing a light and a point on it, and the pdf of doing so. Twin: src/lights/light.rs.
#include "environment.cuh"
#include "light_tree.cuh"
#include "material.cuh"
#include "primitive.cuh"
#include "sampler.cuh"

struct alignas(16) Light {
    u32 index;
    u32 kind;
    f32 cumulative;
    u32 trail;
};

struct alignas(16) Lamp {
    Vec3 position;
    u32 kind;
    Vec3 direction;
    f32 chance;
    Vec3 radiance;
    f32 cos_inner;
    f32 cos_outer;
    u32 _pad0;
    u32 _pad1;
    u32 _pad2;
};

struct LightParams {
    Vec3 sky;
    u32 light_count;
    f32 inverse_power;
    f32 extent;
    f32 max_indirect;
    u32 strategies;
    u32 far_lights;
    u32 sun_count;
    u32 tree_lights;
    u32 tree_share;
    u32 first_instanced;
    u32 instance_entries;
};

struct Lights {
    LightParams surroundings;
    const Primitive *primitives;
    const Material *materials;
    const Light *table;
    const LightNode *nodes;
    const u32 *places;
    const Lamp *lamps;
    Environment environment;
    const EnvironmentRow *rows;
    const EnvironmentTexel *texels;
};

struct LightSample {
    Vec3 direction;
    f32 distance;
    f32 pdf;
    Vec3 radiance;
    u32 to_primitive;
    u32 is_delta;
};

inline LightSample no_sample() { return {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f, {0.0f, 0.0f, 0.0f}, NO_PRIMITIVE, 0}; }

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

inline f32 one_minus_cos_max(f32 radius, f32 distance2) {
    f32 sin2 = radius * radius / distance2;
    return sin2 / (1.0f + sqrtf(1.0f - sin2));
}

inline f32 sphere_area(f32 radius) { return 4.0f * PI * radius * radius; }

inline f32 area_pdf_of_width(const Primitive &primitive, u32 width) {
    f32 area;
    if (primitive.kind == TRIANGLE) {
        Vec3 normal = cross(primitive.b - primitive.a, primitive.c - primitive.a);
        area = 0.5f * sqrtf(dot(normal, normal));
    } else {
        area = sphere_area(primitive.b.x);
    }
    return (f32)width * (1.0f / (f32)PROBABILITY_UNITS) / area;
}

inline f32 emitter_area_pdf(const Lights &lights, u32 position, Vec3 origin) {
    Primitive primitive = lights.primitives[position];
    if ((KINDS & OTHER_LIGHTS) == 0 || lights.surroundings.tree_lights == 0) {
        return luminance(lights.materials[primitive.material].emission) * lights.surroundings.inverse_power;
    }
    u32 place = lights.places[position];
    if (place == NO_LIGHT) return 0.0f;
    u32 width = light_probability(lights.nodes, origin, lights.table[place].trail, lights.surroundings.tree_share);
    return area_pdf_of_width(primitive, width);
}

inline f32 light_pdf(const Primitive &primitive, f32 share, Vec3 origin, f32 distance, f32 cosine) {
    if (primitive.kind == TRIANGLE) return share * distance * distance / cosine;
    f32 radius = primitive.b.x;
    Vec3 to_center = primitive.a - origin;
    f32 distance2 = dot(to_center, to_center);
    if (distance2 <= radius * radius) return 0.0f;
    return share * sphere_area(radius) / (2.0f * PI * one_minus_cos_max(radius, distance2));
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
    if (!lit) return no_sample();
    return {direction, distance, share * distance2 / cosine, radiance, NO_PRIMITIVE, 0};
}

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
    bool lit = distance > 0.0f;
    if (!lit) return no_sample();
    f32 pdf = share * sphere_area(radius) / (2.0f * PI * height);
    return {target * (1.0f / distance), distance, pdf, radiance, NO_PRIMITIVE, 0};
}

inline LightSample sample_emitter(const Primitive &primitive, Vec3 radiance, f32 share, Vec3 origin, f32 u, f32 v) {
    return primitive.kind == TRIANGLE ? sample_triangle(primitive, radiance, share, origin, u, v)
                                      : sample_sphere(primitive, radiance, share, origin, u, v);
}

inline f32 spot_falloff(const Lamp &lamp, f32 cosine) {
    if (cosine >= lamp.cos_inner) return 1.0f;
    if (cosine <= lamp.cos_outer) return 0.0f;
    f32 part = (cosine - lamp.cos_outer) / (lamp.cos_inner - lamp.cos_outer);
    return part * part;
}

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

inline LightSample sample_light(const Lights &lights, Vec3 origin, u32 choice, u32 point_u, u32 point_v) {
    const LightParams &surroundings = lights.surroundings;
    f32 u = unit(point_u), v = unit(point_v);
    u32 number = choice >> 1;
    bool others = (KINDS & OTHER_LIGHTS) != 0;
    bool by_tree = others && number < surroundings.tree_share;
    u32 width = 0, place;
    if (by_tree) {
        ChosenLight chosen = choose_from_tree(lights.nodes, origin, number, surroundings.tree_share);
        if (chosen.light == NO_LIGHT) return no_sample();
        width = chosen.width;
        place = chosen.light;
    } else if (others && surroundings.tree_lights > 0) {
        u32 first = surroundings.tree_lights;
        f32 part = (f32)(number - surroundings.tree_share) / (f32)(PROBABILITY_UNITS - surroundings.tree_share);
        place = first + choose_light(lights.table + first, surroundings.light_count - first, min_f32(part, 0.99999994f));
    } else {
        place = choose_light(lights.table, surroundings.light_count, unit(choice));
    }
    Light light = lights.table[place];
    if (!others || light.kind == EMITTER) {
        Primitive primitive = lights.primitives[light.index];
        Vec3 radiance = lights.materials[primitive.material].emission;
        f32 share = by_tree ? area_pdf_of_width(primitive, width) : luminance(radiance) * surroundings.inverse_power;
        LightSample sample = sample_emitter(primitive, radiance, share, origin, u, v);
        sample.to_primitive = light.index;
        return sample;
    }
    if (light.kind == LAMP) {
        Lamp lamp = lights.lamps[light.index];
        f32 chance = by_tree ? (f32)width * (1.0f / (f32)PROBABILITY_UNITS) : lamp.chance;
        return sample_lamp(lamp, chance, origin, u, v);
    }
    Vec3 direction = sample_environment(lights.environment, lights.rows, lights.texels, point_u, point_v);
    EnvironmentSample seen = environment_at(lights.environment, lights.rows, lights.texels, direction);
    if (seen.pdf == 0.0f) return no_sample();
    return {direction, MAX_F32, seen.pdf * lights.environment.chance, seen.radiance, NO_PRIMITIVE, 0};
}

inline Vec3 far_light_contribution(u32 strategies, Vec3 radiance, f32 light_pdf, f32 ray_pdf, bool scattered) {
    if (!scattered) {
        return {min_f32(radiance.x, MAX_VISIBLE_RADIANCE), min_f32(radiance.y, MAX_VISIBLE_RADIANCE),
                min_f32(radiance.z, MAX_VISIBLE_RADIANCE)};
    }
    if (ray_pdf == 0.0f) return radiance;
    return radiance * sample_weight(strategies, BSDF_SAMPLES, ray_pdf, light_pdf);
}

inline Vec3 sky_light(const Lights &lights, Vec3 direction, f32 ray_pdf, bool scattered) {
    u32 strategies = lights.surroundings.strategies;
    Vec3 light = lights.surroundings.sky;
    if (lights.environment.width > 0) {
        EnvironmentSample seen = environment_at(lights.environment, lights.rows, lights.texels, direction);
        f32 pdf = seen.pdf * lights.environment.chance;
        light = light + far_light_contribution(strategies, seen.radiance, pdf, ray_pdf, scattered);
    }
    for (u32 sun = 0; sun < lights.surroundings.sun_count; sun++) {
        Lamp lamp = lights.lamps[sun];
        Vec3 apart = cross(direction, lamp.direction);
        bool within = dot(apart, apart) <= lamp.cos_inner * (2.0f - lamp.cos_inner);
        if (within && dot(direction, lamp.direction) > 0.0f) {
            f32 pdf = lamp.chance / (2.0f * PI * lamp.cos_inner);
            light = light + far_light_contribution(strategies, lamp.radiance, pdf, ray_pdf, scattered);
        }
    }
    return light;
}
