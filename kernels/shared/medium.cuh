// Media: distances at which light scatters, and the phase function. Twin: src/shading/medium.rs.
#include "material.cuh"

struct alignas(16) Medium {
    Vec3 extinction;
    f32 anisotropy;
    Vec3 scattering;
    u32 scatters;
};

struct Flight {
    f32 distance;
    Vec3 weight;
};

inline Flight sample_flight(const Medium &medium, Vec3 throughput, f32 end, f32 u, f32 v) {
    f32 total = throughput.x + throughput.y + throughput.z;
    f32 choice = u * total;
    f32 chosen = medium.extinction.z;
    if (choice < throughput.x) {
        chosen = medium.extinction.x;
    } else if (choice < throughput.x + throughput.y) {
        chosen = medium.extinction.y;
    }
    f32 distance = MAX_F32;
    if (chosen > 0.0f) distance = min_f32(-log_base_2(1.0f - v) / chosen, MAX_F32);
    if (distance < end) {
        Vec3 passed = transmitted(medium.extinction, distance);
        f32 pdf = dot(throughput, medium.extinction * passed);
        return {distance, medium.scattering * passed * (total / pdf)};
    }
    f32 weight = total / dot(throughput, transmitted(medium.extinction, end));
    return {MAX_F32, {weight, weight, weight}};
}

inline f32 phase(f32 anisotropy, f32 cosine) {
    f32 squared = anisotropy * anisotropy;
    f32 base = max_f32(1.0f + squared - 2.0f * anisotropy * cosine, 1e-7f);
    return INV_FOUR_PI * (1.0f - squared) / (base * sqrtf(base));
}

inline Vec3 sample_phase(f32 anisotropy, Vec3 direction, f32 u, f32 v) {
    Pair disk = square_to_disk(u, v);
    // Uniform in 0..=1 and independent of the direction of the point.
    f32 uniform = min_f32(disk.x * disk.x + disk.y * disk.y, 1.0f);
    f32 cosine = 1.0f - 2.0f * uniform;
    if (anisotropy * anisotropy > 1e-6f) {
        f32 ratio = (1.0f - anisotropy * anisotropy) / (1.0f + anisotropy * cosine);
        cosine = (1.0f + anisotropy * anisotropy - ratio * ratio) / (2.0f * anisotropy);
    }
    cosine = max_f32(min_f32(cosine, 1.0f), -1.0f);
    f32 scale = 0.0f;
    if (uniform > 0.0f) scale = sqrtf(max_f32(1.0f - cosine * cosine, 0.0f) / uniform);
    return normalize(local_to_world(direction, {disk.x * scale, disk.y * scale, cosine}));
}
