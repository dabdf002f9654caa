// shade: what happens where a ray hit. Room: src/stages/shade.rs.
#include "shared/lanes.cuh"
#include "shared/light.cuh"
#include "shared/sampler.cuh"

struct World {
    const Primitive *primitives;
    const Material *materials;
    const Light *lights;
    Surroundings surroundings;
};

struct Vertex {
    Sampler numbers;
    u32 bounce;
    Ray ray;
    Vec3 throughput;
    Vec3 emitted;
    ShadowRay shadow_ray;
};

inline Vec3 emission(const Surroundings &surroundings, const Primitive &primitive, const Material &material,
                     const Vertex &vertex, f32 distance, f32 cosine) {
    Vec3 carried = vertex.throughput * material.emission;
    if (vertex.ray.pdf == 0.0f) return carried;
    f32 pdf = light_pdf(primitive, material, surroundings, vertex.ray.origin, distance, cosine);
    return carried * power_heuristic(vertex.ray.pdf, pdf);
}

inline void connect_light(const World &world, Pair point, f32 choice, Vec3 origin, Vec3 normal, Vertex &vertex) {
    Light light = world.lights[choose_light(world.lights, world.surroundings.light_count, choice)];
    Primitive primitive = world.primitives[light.primitive];
    Material material = world.materials[primitive.material];
    LightSample sample = sample_light(primitive, material, world.surroundings, origin, point.x, point.y);
    f32 cosine = dot(normal, sample.direction);
    bool lit = sample.distance > 0.0f && cosine > 0.0f;
    if (!lit) return;
    f32 pdf = cosine * INV_PI;
    f32 weight = power_heuristic(sample.pdf, pdf);
    vertex.shadow_ray.origin = origin;
    vertex.shadow_ray.distance = sample.distance;
    vertex.shadow_ray.direction = sample.direction;
    vertex.shadow_ray.light = vertex.throughput * sample.radiance * (pdf * weight / sample.pdf);
}

inline bool scatter_diffuse(const World &world, f32 choice, const Material &material, Vec3 point, Vec3 normal,
                            Vertex &vertex) {
    vertex.throughput = vertex.throughput * material.color;
    if (max_component(vertex.throughput) <= 0.0f) return false;
    Vec3 origin = offset_point(point, normal);
    if (world.surroundings.light_count > 0) {
        connect_light(world, pair(vertex.numbers, vertex.bounce, PAIR_LIGHT), choice, origin, normal, vertex);
    }
    Pair numbers_bsdf = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
    CosineSample next = sample_cosine(normal, numbers_bsdf.x, numbers_bsdf.y);
    vertex.ray = {origin, next.cosine * INV_PI, next.direction, 0};
    return next.cosine > 0.0f;
}

inline bool scatter_specular(f32 choice, const Material &material, const Surface &surface, f32 cosine, Vertex &vertex) {
    bool front = cosine > 0.0f;
    f32 side = front ? 1.0f : -1.0f;
    Vec3 normal = surface.normal * side;
    f32 cos_in = cosine * side;
    f32 eta = front ? 1.0f / material.ior : material.ior;
    vertex.throughput = vertex.throughput * material.color;
    Fresnel split = material.kind == MIRROR ? Fresnel{1.0f, 0.0f} : fresnel(cos_in, eta);
    Vec3 origin, direction;
    if (choice < split.reflected) {
        origin = offset_point(surface.point, normal);
        direction = reflect(vertex.ray.direction, normal);
    } else {
        origin = offset_point(surface.point, -normal);
        direction = refract(vertex.ray.direction, normal, eta, cos_in, split.cos_out);
    }
    vertex.ray = {origin, 0.0f, direction, 0};
    return max_component(vertex.throughput) > 0.0f;
}

inline bool survives_roulette(f32 choice, Vertex &vertex) {
    if (vertex.bounce + 1 < ROULETTE_AFTER) return true;
    f32 chance = lesser(max_component(vertex.throughput), MOST_LIKELY);
    vertex.throughput = vertex.throughput * (1.0f / chance);
    return choice < chance;
}

inline bool shade_path(const World &world, bool scatters, const Hit &hit, Vertex &vertex) {
    Primitive primitive = world.primitives[hit.primitive];
    Material material = world.materials[primitive.material];
    Surface surface = surface_at(primitive, vertex.ray.origin, vertex.ray.direction, hit);
    f32 cosine = -dot(vertex.ray.direction, surface.normal);
    bool front = cosine > 0.0f;
    if (front && max_component(material.emission) > 0.0f) {
        vertex.emitted = emission(world.surroundings, primitive, material, vertex, hit.distance, cosine);
    }
    if (!scatters || (!front && material.one_sided == 1)) return false;
    Pair choice = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    bool scattered;
    if (material.kind == DIFFUSE) {
        Vec3 normal = surface.normal * (front ? 1.0f : -1.0f);
        scattered = scatter_diffuse(world, choice.x, material, surface.point, normal, vertex);
    } else {
        scattered = scatter_specular(choice.x, material, surface, cosine, vertex);
    }
    return scattered && survives_roulette(choice.y, vertex);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    shade(const Primitive *primitives, const Material *materials, const Light *lights, Surroundings surroundings,
          Span span, u32 bounce, u32 scatters, const u32 *lanes, const u32 *queue, const Hit *hits, Ray *rays,
          Rgb *throughputs, Rgb *radiances, ShadowRay *shadow_rays, u8 *flags, u32 *shadow_ray_count) {
    World world = {primitives, materials, lights, surroundings};
    u32 count = *lanes, cast = 0;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        bool goes_on = false, casts = false;
        if (path != NO_PATH) {
            PixelSample at = pixel_and_sample(span, path);
            Sampler numbers = sampler(span.seed, at.pixel, at.sample);
            Vertex vertex = {numbers, bounce, rays[path], throughputs[path].rgb, {0.0f, 0.0f, 0.0f}, {}};
            vertex.shadow_ray.path = path;
            goes_on = shade_path(world, scatters != 0, hits[path], vertex);
            radiances[path].rgb = radiances[path].rgb + vertex.emitted;
            casts = vertex.shadow_ray.distance > 0.0f;
            if (casts) shadow_rays[lane] = vertex.shadow_ray;
            if (goes_on) {
                rays[path] = vertex.ray;
                throughputs[path].rgb = vertex.throughput;
            }
        }
        if (!casts) shadow_rays[lane].distance = 0.0f;
        flags[lane] = goes_on ? 1 : 0;
        cast += casts;
    }
    count_in_block(cast, shadow_ray_count);
}
