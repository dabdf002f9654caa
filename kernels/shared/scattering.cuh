// The scattering of one path in a medium, before it reaches a surface. Twin: src/vertex/scattering.rs.
#include "medium.cuh"
#include "shading.cuh"

// Returns the medium that scatters light on the way to a hit, or a null pointer.
inline const Medium *medium_before(const DeviceScene &scene, const Hit &hit, u32 bodies) {
    u32 innermost = bodies & INNERMOST;
    bool missed = hit.primitive == NO_PRIMITIVE;
    if (innermost == 0 || (missed && innermost != scene.light_params.fog_body)) return nullptr;
    const Medium *medium = scene.media + (innermost - 1);
    return medium->scatters == 1 ? medium : nullptr;
}

inline bool fly(const Medium &medium, const Hit &hit, Vertex &vertex) {
    bool missed = hit.primitive == NO_PRIMITIVE;
    f32 end = missed ? MAX_F32 : hit.distance;
    Pair numbers = pair(vertex.numbers, vertex.bounce, PAIR_MEDIUM);
    Flight flight = sample_flight(medium, vertex.throughput.rgb, end, numbers.x, numbers.y);
    vertex.throughput.rgb = vertex.throughput.rgb * flight.weight;
    if (flight.distance >= end) return false;
    vertex.ray.origin = vertex.ray.origin + vertex.ray.direction * flight.distance;
    vertex.ray.from_primitive = NO_PRIMITIVE;
    return true;
}

inline void connect_scattered(const RenderScene &scene, const Medium &medium, Vertex &vertex) {
    u32 choice = pair_bits(vertex.numbers, vertex.bounce, PAIR_CHOICE).x;
    PairBits point = pair_bits(vertex.numbers, vertex.bounce, PAIR_LIGHT);
    Vec3 origin = vertex.ray.origin;
    LightSample sample = sample_light(scene.lights, origin, choice, point.x, point.y);
    if (sample.distance <= 0.0f) return;
    u32 to = sample.to_primitive, light_instance = NO_INSTANCE;
    if (to != NO_PRIMITIVE && to >= scene.lights.light_params.first_instanced) {
        light_instance = scene.primitives[to].number;
        to -= instance_entry(scene, light_instance);
    }
    Vec3 radiance = sample.radiance;
    if (to != NO_PRIMITIVE) radiance = sent(scene, origin, sample, to, light_instance);
    f32 value = phase(medium.anisotropy, dot(vertex.ray.direction, sample.direction));
    f32 found = sample.is_delta == 1 ? 0.0f : value;
    f32 weight = sample_weight(scene.lights.light_params.strategies, LIGHT_SAMPLES, sample.pdf, found);
    // With boundaries, shadow attenuates the light.
    Vec3 passed = {1.0f, 1.0f, 1.0f};
    if (scene.lights.light_params.has_boundaries == 0) passed = transmitted(medium.extinction, sample.distance);
    Vec3 light_here = vertex.throughput.rgb * radiance * passed * (value * weight / sample.pdf);
    if (max_component(light_here) <= 0.0f) return;
    vertex.shadow_ray.origin = origin;
    vertex.shadow_ray.distance = sample.distance;
    vertex.shadow_ray.direction = sample.direction;
    vertex.shadow_ray.from_primitive = NO_PRIMITIVE;
    vertex.shadow_ray.to_primitive = to;
    vertex.light_instance = light_instance;
    vertex.shadow_bodies = vertex.bodies;
    vertex.shadow_ray.light = clamp_indirect(scene.lights.light_params, light_here, vertex.bounce + 1);
}

inline bool scatter_path(const RenderScene &scene, bool scatters, const Medium &medium, Vertex &vertex) {
    if (!scatters) return false;
    if (max_component(vertex.throughput.rgb) <= 0.0f) {
        vertex.throughput.rgb = {0.0f, 0.0f, 0.0f};
        return false;
    }
    if (scene.lights.light_params.light_count > 0) connect_scattered(scene, medium, vertex);
    Pair numbers = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
    Vec3 direction = sample_phase(medium.anisotropy, vertex.ray.direction, numbers.x, numbers.y);
    vertex.ray = {vertex.ray.origin, phase(medium.anisotropy, dot(vertex.ray.direction, direction)), direction,
                  NO_PRIMITIVE};
    f32 choice = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE).y;
    return survives_roulette(scene.lights.light_params.roulette_start, vertex.bounce, choice, vertex.throughput);
}
