// The sample of a light, and its MIS weight. Twin: src/lights/light_sample.rs.
#include "material.cuh"

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
