// The way of light past boundaries of media without refraction: it passes them straight, and changes its medium. Twin:
// src/vertex/boundaries.rs.
#include "bodies.cuh"
#include "rays.cuh"
#include "shading.cuh"

inline bool meets_front(const DeviceScene &scene, const Ray &ray, const InstanceHit &found) {
    const Primitive primitive = scene.primitives[found.hit.primitive];
    Vec3 normal = is_sphere(primitive) ? ray.origin + ray.direction * found.hit.distance - primitive.a
                                       : cross(primitive.b - primitive.a, primitive.c - primitive.a);
    if (found.instance != NO_INSTANCE) normal = normal_to_world(scene.instances[found.instance], normal);
    return dot(ray.direction, normal) < 0.0f;
}

inline u32 material_met(const DeviceScene &scene, const InstanceHit &found) {
    const Primitive &primitive = scene.primitives[found.hit.primitive];
    return found.instance == NO_INSTANCE ? primitive.material
                                         : instance_material(scene.instances[found.instance], primitive);
}

inline bool is_boundary(const DeviceScene &scene, const InstanceHit &found, u32 bodies) {
    if (found.hit.primitive == NO_PRIMITIVE) return false;
    u32 index = material_met(scene, found);
    const Material &material = scene.materials[index];
    if ((material.flags & BOUNDARY) != 0) return true;
    return (KINDS & NESTED) != 0 && is_displaced(scene.materials, bodies, body_of(index), material);
}

inline u32 bodies_behind(const DeviceScene &scene, const Ray &ray, const InstanceHit &found, u32 bodies) {
    u32 index = material_met(scene, found);
    const Material &material = scene.materials[index];
    bool front = meets_front(scene, ray, found);
    if ((KINDS & NESTED) != 0) return nested_beyond(scene.materials, bodies, body_of(index), material, front);
    return bodies_beyond(bodies, body_of(index), material, front);
}

inline Pair flight_numbers(Sampler numbers, u32 bounce, u32 flight) {
    return flight == 0 ? pair(numbers, bounce, PAIR_MEDIUM) : pair(numbers, bounce * MAX_BOUNDARIES + flight, PAIR_FLIGHT);
}

inline bool cross_boundaries(const DeviceScene &scene, InstanceHit &found, Vertex &vertex) {
    u32 key = opacity_hash(vertex.numbers, vertex.bounce, PATH_RAY);
    StochasticOpacity opacity = stochastic_opacity(scene, vertex.bounce == 0);
    // The primitive that the ray leaves lies before its first hit.
    Ray ray = vertex.ray;
    ray.from_primitive = NO_PRIMITIVE;
    f32 begin = 0.0f;
    u32 flights = 0;
    for (u32 step = 0; step < MAX_BOUNDARIES; step++) {
        bool missed = found.hit.primitive == NO_PRIMITIVE;
        f32 end = found.hit.distance;
        u32 innermost = vertex.bodies & INNERMOST;
        if (innermost != 0 && !(missed && innermost != scene.light_params.fog_body)) {
            const Medium medium = scene.media[innermost - 1];
            if (medium.scatters == 1) {
                Pair numbers = flight_numbers(vertex.numbers, vertex.bounce, flights);
                Flight flight = sample_flight(medium, vertex.throughput.rgb, end - begin, numbers.x, numbers.y);
                vertex.throughput.rgb = vertex.throughput.rgb * flight.weight;
                if (flight.distance < end - begin) {
                    f32 distance = begin + flight.distance;
                    vertex.ray.origin = vertex.ray.origin + vertex.ray.direction * distance;
                    vertex.ray.from_primitive = NO_PRIMITIVE;
                    return true;
                }
                flights++;
            }
            vertex.throughput.rgb = vertex.throughput.rgb * transmitted(medium.extinction, end - begin);
            if (max_component(vertex.throughput.rgb) <= 0.0f) break;
        }
        if (!is_boundary(scene, found, vertex.bodies)) return false;
        vertex.bodies = bodies_behind(scene, ray, found, vertex.bodies);
        begin = end;
        found = nearest_beyond(opacity, ray, NO_INSTANCE, key, found, MAX_F32, NO_PRIMITIVE, NO_INSTANCE);
    }
    vertex.throughput.rgb = {0.0f, 0.0f, 0.0f};
    found = {{MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    return false;
}

inline Vec3 arriving_part(const DeviceScene &scene, const ShadowRay &ray, u32 from, u32 to, u32 bodies, Sampler numbers,
                          u32 bounce) {
    const Vec3 nothing = {0.0f, 0.0f, 0.0f};
    u32 key = opacity_hash(numbers, bounce, SHADOW_RAY);
    StochasticOpacity opacity = stochastic_opacity(scene, false);
    if (!light_passes_opacity(opacity, ray, to, key)) return nothing;
    Ray along = {ray.origin, 0.0f, ray.direction, ray.from_primitive};
    InstanceHit found = {{0.0f, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    Vec3 part = {1.0f, 1.0f, 1.0f};
    f32 begin = 0.0f;
    u32 inside = bodies;
    for (u32 step = 0; step < MAX_BOUNDARIES; step++) {
        found = nearest_beyond(opacity, along, from, key, found, ray.distance, ray.to_primitive, to);
        bool arrives = found.hit.primitive == NO_PRIMITIVE || found.hit.distance >= ray.distance;
        if (!arrives && !is_boundary(scene, found, inside)) return nothing;
        f32 end = arrives ? ray.distance : found.hit.distance;
        u32 innermost = inside & INNERMOST;
        // No medium extends to infinity, except fog, through which no light comes from there.
        if (innermost != 0 && end < MAX_F32) {
            part = part * transmitted(scene.media[innermost - 1].extinction, end - begin);
        }
        if (arrives) return part;
        if (max_component(part) <= 0.0f) return nothing;
        inside = bodies_behind(scene, along, found, inside);
        begin = end;
    }
    return nothing;
}
