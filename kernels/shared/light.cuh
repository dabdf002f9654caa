// Light sampling: choosing a light and a point on it, and the radiance of lights at infinity. Twin:
// src/lights/light.rs.
#include "area_light.cuh"
#include "environment.cuh"
#include "lamp.cuh"
#include "light_tree.cuh"
#include "sampler.cuh"

struct alignas(16) Light {
    u32 index;
    u32 kind;
    f32 cumulative;
    u32 trail;
};

struct LightParams {
    Vec3 sky;
    u32 light_count;
    f32 inverse_power;
    f32 extent;
    f32 max_indirect;
    u32 roulette_start;
    u32 strategies;
    u32 far_lights;
    u32 sun_count;
    u32 tree_lights;
    u32 tree_share;
    u32 first_instanced;
    u32 instance_entries;
    Vec3 background;
    u32 has_background;
    u32 tracks_bodies;
    u32 fog_body;
    u32 has_boundaries;
};

struct Lights {
    LightParams light_params;
    const Primitive *primitives;
    const Material *materials;
    const Light *table;
    const LightPair *light_pairs;
    const u32 *places;
    const Lamp *lamps;
    Environment environment;
    const EnvironmentRow *rows;
    const EnvironmentTexel *texels;
    const u32 *guide;
};

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

inline f32 emitter_area_pdf(const Lights &lights, u32 position, Vec3 origin) {
    Primitive primitive = lights.primitives[position];
    if ((KINDS & OTHER_LIGHTS) == 0 || lights.light_params.tree_lights == 0) {
        return luminance(lights.materials[primitive.material].emission) * lights.light_params.inverse_power;
    }
    u32 place = lights.places[position];
    if (place == NO_LIGHT) return 0.0f;
    u32 width = light_probability(lights.light_pairs, origin, lights.table[place].trail, lights.light_params.tree_share);
    return area_pdf_of_width(primitive, width);
}

inline LightSample sample_light(const Lights &lights, Vec3 origin, u32 choice, u32 point_u, u32 point_v) {
    const LightParams &params = lights.light_params;
    f32 u = unit(point_u), v = unit(point_v);
    u32 number = choice >> 1;
    bool others = (KINDS & OTHER_LIGHTS) != 0;
    bool by_tree = others && number < params.tree_share;
    u32 width = 0, place;
    if (by_tree) {
        ChosenLight chosen = choose_from_tree(lights.light_pairs, origin, number, params.tree_share);
        if (chosen.light == NO_LIGHT) return no_sample();
        width = chosen.width;
        place = chosen.light;
    } else if (others && params.tree_lights > 0) {
        u32 first = params.tree_lights;
        f32 part = (f32)(number - params.tree_share) / (f32)(PROBABILITY_UNITS - params.tree_share);
        place = first + choose_light(lights.table + first, params.light_count - first, min_f32(part, 0.99999994f));
    } else {
        place = choose_light(lights.table, params.light_count, unit(choice));
    }
    Light light = lights.table[place];
    if (!others || light.kind == EMITTER) {
        Primitive primitive = lights.primitives[light.index];
        Vec3 radiance = lights.materials[primitive.material].emission;
        f32 share = by_tree ? area_pdf_of_width(primitive, width) : luminance(radiance) * params.inverse_power;
        LightSample sample = sample_emitter(primitive, radiance, share, origin, u, v);
        sample.to_primitive = light.index;
        return sample;
    }
    if (light.kind == LAMP) {
        Lamp lamp = lights.lamps[light.index];
        f32 chance = by_tree ? (f32)width * (1.0f / (f32)PROBABILITY_UNITS) : lamp.chance;
        return sample_lamp(lamp, chance, origin, u, v);
    }
    Vec3 direction = sample_environment(lights.environment, lights.rows, lights.texels, lights.guide, point_u, point_v);
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
    u32 strategies = lights.light_params.strategies;
    Vec3 light = lights.light_params.sky;
    if (lights.environment.width > 0) {
        EnvironmentSample seen = environment_at(lights.environment, lights.rows, lights.texels, direction);
        f32 pdf = seen.pdf * lights.environment.chance;
        light = light + far_light_contribution(strategies, seen.radiance, pdf, ray_pdf, scattered);
    }
    for (u32 sun = 0; sun < lights.light_params.sun_count; sun++) {
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
