// denoise: resolves the film to a picture and smooths its noise. Stage: src/stages/denoise.rs.
#include "shared/adaptive_window.cuh"
#include "shared/pixel_noise.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    denoise_items(u32 pixel_count, u64 done, const u64 *sums, u64 first_done, const u64 *first_sums, f32 *lights,
                  u64 *items) {
    u32 pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixel_count) return;
    u32 samples = samples_of(pixel, pixel_count, done), first_samples = samples_of(pixel, pixel_count, first_done);
    f32 light[3], first[3], rest[3];
    for (u32 channel = 0; channel < 3; channel++) {
        u64 sum = sums[3 * (u64)pixel + channel], first_sum = first_sums[3 * (u64)pixel + channel];
        light[channel] = mean(sum, samples);
        first[channel] = mean(first_sum, first_samples);
        rest[channel] = mean(sum - first_sum, samples - first_samples);
        lights[3 * (u64)pixel + channel] = light[channel];
        items[channel * (u64)pixel_count + pixel] = tabled_light(light[channel]);
    }
    f32 noise = noise_of({first[0], first[1], first[2]}, {rest[0], rest[1], rest[2]}, first_samples, samples);
    items[NOISE_TABLE * (u64)pixel_count + pixel] = tabled_noise(noise);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    denoise_adaptive_items(u32 pixel_count, const u32 *sample_counts, const PixelNoise *pixel_noise, const u64 *sums,
                           f32 *lights, u64 *items) {
    u32 pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixel_count) return;
    u32 samples = sample_counts[pixel];
    for (u32 channel = 0; channel < 3; channel++) {
        f32 light = mean(sums[3 * (u64)pixel + channel], samples);
        lights[3 * (u64)pixel + channel] = light;
        items[channel * (u64)pixel_count + pixel] = tabled_light(light);
    }
    f32 noise = noise_known(pixel_noise[pixel].variance, samples);
    items[NOISE_TABLE * (u64)pixel_count + pixel] = tabled_noise(noise);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    denoise(u32 width, const f32 *lights, u32 height, const u64 *tables, f32 *picture) {
    u32 pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= width * height) return;
    Vec3 light = denoise_pixel({width, height, lights, tables}, pixel % width, pixel / width);
    f32 *to = picture + 3 * (u64)pixel;
    to[0] = light.x;
    to[1] = light.y;
    to[2] = light.z;
}
