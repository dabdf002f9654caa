// Complete paths, from the camera to the film, for megakernel. Their CPU twin is in src/stages/megakernel.rs.
#include "bvh.cuh"
#include "clock.cuh"
#include "device_film.cuh"
#include "first_ray.cuh"
#include "opacity.cuh"
#include "shading.cuh"

// Statistics of the first bounces are summed per block in shared memory, those of later bounces directly in global
// memory.
struct Tally {
    u32 *block, *all;
};

inline void count(const Tally &tally, u32 place) {
    atomicAdd(place < TALLY ? tally.block + place : tally.all + place, 1u);
}

inline Vec3 trace_path(const RenderScene &world, const Node *nodes, const Camera &camera, const Span &span, const u32 *list,
                       u32 max_bounces, u32 path, const Tally &tally) {
    const LightParams &surroundings = world.lights.surroundings;
    f32 most = surroundings.max_indirect;
    StochasticOpacity veils = {{nodes, world.primitives, world.placed, surroundings.extent}, world.corners, world.vertices,
                   world.materials, world.imagery};
    PixelSample at = pixel_and_sample(span, list, path);
    Sampler numbers = sampler(span.seed, at.pixel, at.sample);
    Ray ray = first_ray(camera, span, list, path);
    Throughput throughput = {{1.0f, 1.0f, 1.0f}, 1.0f};
    Vec3 radiance = {0.0f, 0.0f, 0.0f};
    bool scattered = false;
    u32 instance = NO_INSTANCE;
    for (u32 bounce = 0;; bounce++) {
        u32 place = COUNTS_PER_BOUNCE * bounce;
        count(tally, place);
        Hit hit;
        if (PLACED) {
            InstanceHit found = ALPHA_TESTED ? nearest_alpha_tested(veils, ray, instance, opacity_hash(numbers, bounce, PATH_RAY))
                                     : nearest_instanced(veils.scene, ray, instance);
            instance = found.instance;
            hit = found.hit;
        } else {
            hit = nearest(nodes, world.primitives, surroundings.extent, ray);
        }
        if (hit.primitive == NO_PRIMITIVE) {
            Vec3 light = throughput.rgb * sky_light(world.lights, ray.direction, ray.pdf, scattered);
            return radiance + (bounce >= 2 ? clamped(light, most) : light);
        }
        count(tally, place + HITS);
        Vertex vertex = {numbers, bounce, instance, ray, throughput, {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
        bool goes_on = shade_path(world, bounce < max_bounces, hit, vertex);
        radiance = radiance + (bounce >= 2 ? clamped(vertex.emitted, most) : vertex.emitted);
        if (vertex.shadow_ray.distance > 0.0f) {
            count(tally, place + SHADOW_RAYS);
            Vec3 light = vertex.shadow_ray.light;
            if (bounce >= 1) light = clamped(light, most);
            bool blocked;
            if (ALPHA_TESTED) {
                u32 key = opacity_hash(numbers, bounce, SHADOW_RAY);
                blocked = occluded_alpha_tested(veils, vertex.shadow_ray, instance, vertex.light_instance, key);
            } else if (PLACED) {
                blocked = occluded_instanced(veils.scene, vertex.shadow_ray, instance, vertex.light_instance);
            } else {
                blocked = occluded(nodes, world.primitives, surroundings.extent, vertex.shadow_ray);
            }
            if (!blocked) radiance = radiance + light;
        }
        if (!goes_on) return radiance;
        ray = vertex.ray;
        throughput = vertex.throughput;
        scattered = scattered || ray.pdf != 0.0f;
    }
}

inline void trace_paths(const RenderScene &world, const Node *nodes, const Camera &camera, const Span &span, const u32 *list,
                        u32 max_bounces, const DeviceFilm &film, u32 *counts, u32 count_slots) {
    __shared__ u32 block_counts[TALLY];
    for (u32 place = threadIdx.x; place < TALLY; place += blockDim.x) block_counts[place] = 0;
    __syncthreads();
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < span.path_count) {
        Vec3 sample = trace_path(world, nodes, camera, span, list, max_bounces, path, {block_counts, counts});
        expose(film, pixel_and_sample(span, list, path).pixel, sample, span.listed != 0);
    }
    __syncthreads();
    for (u32 place = threadIdx.x; place < TALLY && place < count_slots; place += blockDim.x) {
        if (block_counts[place] != 0) atomicAdd(counts + place, block_counts[place]);
    }
}
