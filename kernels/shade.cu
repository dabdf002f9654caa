// shade: what happens where a ray hit. Room: src/stages/shade.rs.
#include "shared/clock.cuh"
#include "shared/lanes.cuh"
#include "shared/shading.cuh"

inline void shade_lanes(const World &world, const Span &span, const u32 *list, u32 bounce, bool scatters, u32 count,
                        const u32 *queue, const Hit *hits, const u32 *instances, Ray *rays, Throughput *throughputs,
                        Rgb *radiances, ShadowRay *shadow_rays, u32 *light_instances, u8 *flags, u32 *shadow_ray_count) {
    u32 cast = 0;
    for (u32 lane = first_lane(); lane < count; lane += lane_stride()) {
        u32 path = queue[lane];
        bool goes_on = false, casts = false;
        if (path != NO_PATH) {
            PixelSample at = pixel_and_sample(span, list, path);
            Sampler numbers = sampler(span.seed, at.pixel, at.sample);
            u32 instance = PLACED ? instances[path] : NO_INSTANCE;
            Vertex vertex = {numbers, bounce, instance, rays[path], throughputs[path], {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
            goes_on = shade_path(world, scatters, hits[path], vertex);
            // Light that was scattered once or never is not clamped.
            f32 most = world.lights.surroundings.most_indirect;
            if (bounce >= 2) vertex.emitted = clamped(vertex.emitted, most);
            if (bounce >= 1) vertex.shadow_ray.light = clamped(vertex.shadow_ray.light, most);
            radiances[path].rgb = radiances[path].rgb + vertex.emitted;
            casts = vertex.shadow_ray.distance > 0.0f;
            if (casts) shadow_rays[lane] = vertex.shadow_ray;
            if (PLACED && casts) light_instances[lane] = vertex.light_instance;
            if (goes_on) {
                rays[path] = vertex.ray;
                throughputs[path] = vertex.throughput;
                if (vertex.ray.pdf != 0.0f) radiances[path].scattered = 1;
            }
        }
        if (!casts) shadow_rays[lane].distance = 0.0f;
        flags[lane] = goes_on ? 1 : 0;
        cast += casts;
    }
    count_in_block(cast, shadow_ray_count);
}

// Four blocks share a multiprocessor: with at most 128 registers a thread. Where instances shine three do, with at most 168.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, (KINDS & PLACED_LIGHTS) != 0 ? 3 : 4)
    KERNEL(const Primitive *primitives, const Instance *placed, const Corners *corners, const MeshVertex *vertices,
           const Material *materials, const Maps *maps, const Texture *textures, const u32 *image_texels,
           const f32 *energy, const Light *table, const LightNode *nodes, const u32 *places, Surroundings surroundings,
           const Lamp *lamps, Environment environment, const EnvironmentRow *rows, const EnvironmentTexel *texels,
           const Span *span, const u32 *list, u32 bounce, u32 scatters, const u32 *lanes, const u32 *queue, const Hit *hits,
           const u32 *instances, Ray *rays, Throughput *throughputs, Rgb *radiances, ShadowRay *shadow_rays,
           u32 *light_instances, u8 *flags, u32 *shadow_ray_count, u64 *began) {
    stamp(began);
    Lights lights = {surroundings, primitives, materials, table, nodes, places, lamps, environment, rows, texels};
    World world = {primitives, placed, corners, vertices, materials, {maps, textures, image_texels}, energy, lights};
    shade_lanes(world, *span, list, bounce, scatters != 0, *lanes, queue, hits, instances, rays, throughputs, radiances,
                shadow_rays, light_instances, flags, shadow_ray_count);
}
