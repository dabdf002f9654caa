// Structs of BSDFs: a BSDF at a hit, its value for two directions, and a sampled direction. Twin:
// src/shading/bsdf_types.rs.
#include "math.cuh"

// Code for material kinds that a scene does not have is not compiled.
#define HAS(kind) ((KINDS >> (kind) & 1u) != 0)

struct Bsdf {
    Vec3 color;
    u32 kind;
    Vec3 index;
    Vec3 k;
    f32 eta, alpha;
    u32 flags, table, back;
    f32 lost, lost_ratio, lost_ratio_behind, transmitted_share;
    u32 mirrors;
    Vec3 f0;
    f32 f90;
    Vec3 multiple_scattering, diffuse;
    f32 boundary_f0, boundary_f90;
    f32 glass;
    f32 coat, coat_alpha;
    Vec3 coat_normal;
    f32 coat_transmittance, coat_factor;
    f32 coat_probability, facets_cumulative, diffuse_cumulative;
    Vec3 tangent;
    f32 alpha_along;
    u32 anisotropic_table;
    f32 metallic;
    f32 film, film_ior, film_thickness;
    Vec3 film_added, film_again, film_again_behind;
    Vec3 behind, sheen;
    f32 sheen_strength, sheen_alpha;
    u32 sheen_table;
    f32 sheen_transmittance, sheen_factor;
    f32 behind_cumulative, sheen_cumulative;
};

struct BsdfValue {
    Vec3 color;
    f32 scale, pdf;
};

struct BsdfSample {
    Vec3 direction;
    Vec3 weight;
    f32 pdf, eta_scale, side;
};

struct SampledDirection {
    Vec3 direction;
    f32 side;
};

inline BsdfValue no_value() { return {{0.0f, 0.0f, 0.0f}, 0.0f, 0.0f}; }

inline f32 share(f32 part, f32 whole) { return whole > 0.0f ? part / whole : 0.0f; }
