// megakernel: traces paths from the camera to the film, one per thread. Stage: src/stages/megakernel.rs.
#include "shared/boundaries.cuh"
#include "shared/clock.cuh"
#include "shared/device_film.cuh"
#include "shared/first_ray.cuh"
#include "shared/scattering.cuh"

// Statistics of the first bounces are summed per block in shared memory, those of later bounces directly in global
// memory.
struct Tally {
    u32 *block, *all;
};

inline void count(const Tally &tally, u32 place) {
    atomicAdd(place < TALLY ? tally.block + place : tally.all + place, 1u);
}

// Adds the light of a vertex's shadow ray that arrives. `from` is the instance that the ray leaves.
inline void add_arriving_light(const DeviceScene &scene, const Vertex &vertex, u32 from, Vec3 &radiance) {
    const ShadowRay &ray = vertex.shadow_ray;
    u32 to = vertex.light_instance;
    if (CROSSES_BOUNDARIES) {
        Vec3 part = arriving_part(scene, ray, from, to, vertex.shadow_bodies, vertex.numbers, vertex.bounce);
        if (any_nonzero(part)) radiance = radiance + ray.light * part;
    } else {
        if (!is_blocked(scene, ray, from, to, vertex.numbers, vertex.bounce)) radiance = radiance + ray.light;
    }
}

// Traces one path, adds its rays to the counts, and returns its radiance.
inline Vec3 trace_path(const DeviceScene &device_scene, const Camera &camera, const Span &span, const u32 *list,
                       u32 max_bounces, u32 path, const Tally &tally) {
    RenderScene scene = render_scene(device_scene);
    PixelSample at = pixel_and_sample(span, list, path);
    Sampler numbers = sampler(span.seed, at.pixel, at.sample);
    Ray ray = first_ray(camera, span, list, path);
    Throughput throughput = {{1.0f, 1.0f, 1.0f}, 1.0f};
    Vec3 radiance = {0.0f, 0.0f, 0.0f};
    bool scattered = false;
    u32 instance = NO_INSTANCE, bodies = MEDIA ? camera.bodies : 0;
    for (u32 bounce = 0;; bounce++) {
        u32 place = COUNTS_PER_BOUNCE * bounce;
        count(tally, place);
        InstanceHit found = nearest_hit(device_scene, ray, instance, numbers, bounce);
        if (MEDIA) {
            Vertex vertex = {numbers, bounce, NO_INSTANCE, ray, throughput, bodies, {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
            bool scatters = false;
            if (CROSSES_BOUNDARIES) {
                if (bodies != 0 || is_boundary(device_scene, found, bodies)) {
                    scatters = cross_boundaries(device_scene, found, vertex);
                }
            } else {
                const Medium *medium = medium_before(device_scene, found.hit, bodies);
                if (medium != nullptr) scatters = fly(*medium, found.hit, vertex);
            }
            bodies = vertex.bodies;
            if (scatters) {
                count(tally, place + SCATTERED_PATHS);
                instance = NO_INSTANCE;
                const Medium &medium = device_scene.media[(bodies & INNERMOST) - 1];
                bool goes_on = scatter_path(scene, bounce < max_bounces, medium, vertex);
                if (vertex.shadow_ray.distance > 0.0f) {
                    count(tally, place + SHADOW_RAYS);
                    add_arriving_light(device_scene, vertex, instance, radiance);
                }
                if (!goes_on) return radiance;
                ray = vertex.ray;
                throughput = vertex.throughput;
                scattered = true;
                continue;
            }
            throughput = vertex.throughput;
        }
        instance = found.instance;
        if (found.hit.primitive == NO_PRIMITIVE) {
            return radiance + escaped_light(scene.lights, ray, throughput.rgb, scattered, bounce);
        }
        count(tally, place + HITS);
        Vertex vertex = {numbers, bounce, instance, ray, throughput, bodies, {0.0f, 0.0f, 0.0f}, {}, NO_INSTANCE};
        bool goes_on = shade_path(scene, bounce < max_bounces, found.hit, vertex);
        radiance = radiance + vertex.emitted;
        if (vertex.shadow_ray.distance > 0.0f) {
            count(tally, place + SHADOW_RAYS);
            add_arriving_light(device_scene, vertex, instance, radiance);
        }
        if (!goes_on) return radiance;
        ray = vertex.ray;
        throughput = vertex.throughput;
        bodies = vertex.bodies;
        scattered = scattered || ray.pdf != 0.0f;
    }
}

// Three blocks share a multiprocessor: with at most 168 registers per thread.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 3)
    KERNEL(DeviceScene scene, Camera camera, Span span, const u32 *list, u32 max_bounces, DeviceFilm film, u32 *counts,
           u32 count_slots, u64 *began) {
    stamp(began);
    __shared__ u32 block_counts[TALLY];
    for (u32 place = threadIdx.x; place < TALLY; place += blockDim.x) block_counts[place] = 0;
    __syncthreads();
    u32 path = blockIdx.x * blockDim.x + threadIdx.x;
    // All lanes of a warp add together, so a thread without a path takes the pixel of the last one.
    bool exists = path < span.path_count;
    Vec3 sample = {0.0f, 0.0f, 0.0f};
    if (exists) sample = trace_path(scene, camera, span, list, max_bounces, path, {block_counts, counts});
    PixelSample place = pixel_and_sample(span, list, exists ? path : span.path_count - 1);
    add_sample_per_lane(film, lanes_per_pixel(span), exists, place, sample, span.listed != 0);
    __syncthreads();
    for (u32 place = threadIdx.x; place < TALLY && place < count_slots; place += blockDim.x) {
        if (block_counts[place] != 0) atomicAdd(counts + place, block_counts[place]);
    }
}
