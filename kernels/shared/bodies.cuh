// The bodies that a path is inside, such as glass with juice in it. Twin: src/shading/bodies.rs.
//
// A list of bodies has three places of ten bits. The innermost body, which the path entered last, is in the lowest
// bits, and 0 is an empty place. Transmission through the front of a surface adds its body, and transmission through
// the back removes it, wherever it is in the list. With priorities, bodies of higher priority come first.
#include "material.cuh"

inline u32 body_of(u32 material) {
    return material < INNERMOST ? material + 1 : 0;
}

inline u32 bodies_beyond(u32 bodies, u32 body, const Material &material, bool front) {
    if (body == 0 || (material.flags & THIN) != 0) return bodies;
    if (front) {
        bool is_inside = (bodies & INNERMOST) == body;
        return is_inside ? bodies : (bodies << BODY_BITS | body) & BODY_LIST;
    }
#pragma unroll
    for (u32 place = 0; place < BODY_PLACES; place++) {
        u32 shift = place * BODY_BITS;
        if ((bodies >> shift & INNERMOST) == body) {
            u32 inner = bodies & ((1u << shift) - 1);
            return (bodies >> BODY_BITS & ~((1u << shift) - 1)) | inner;
        }
    }
    return bodies;
}

inline u32 priority_of(const Material &material) {
    return material.flags >> PRIORITY_SHIFT;
}

inline u32 outside_body(u32 bodies, u32 body) {
#pragma unroll
    for (u32 place = 0; place < BODY_PLACES; place++) {
        u32 other = bodies >> (place * BODY_BITS) & INNERMOST;
        if (other != body) return other;
    }
    return 0;
}

inline u32 nested_beyond(const Material *materials, u32 bodies, u32 body, const Material &material, bool front) {
    if (!front || body == 0 || (material.flags & THIN) != 0) return bodies_beyond(bodies, body, material, front);
    u32 priority = priority_of(material);
#pragma unroll
    for (u32 place = 0; place < BODY_PLACES; place++) {
        u32 shift = place * BODY_BITS;
        u32 other = bodies >> shift & INNERMOST;
        if (other == body) return bodies;
        if (other == 0 || priority_of(materials[other - 1]) <= priority) {
            u32 before = bodies & ((1u << shift) - 1);
            return ((bodies >> shift << BODY_BITS | body) << shift | before) & BODY_LIST;
        }
    }
    return bodies;
}

inline f32 relative_ior(const Material &material, f32 outside) {
    f32 ior = min_f32(max_f32(material.ior / outside, 0.1f), 10.0f);
    bool is_layered = material.kind == LAYERED || material.kind == EXTENDED;
    bool is_weak = ior > 1.0f - WEAKEST_REFRACTION && ior < 1.0f + WEAKEST_REFRACTION;
    return is_layered && is_weak ? 1.0f + WEAKEST_REFRACTION : ior;
}

inline bool is_matched(f32 ior) {
    return ior > 0.999f && ior < 1.001f;
}

inline bool is_displaced(const Material *materials, u32 bodies, u32 body, const Material &material) {
    if ((material.flags & BODY) == 0) return false;
    u32 outside = outside_body(bodies, body), priority = priority_of(material);
    f32 outside_ior = 1.0f;
    if (outside != 0) {
        if (priority_of(materials[outside - 1]) > priority) return true;
        outside_ior = materials[outside - 1].ior;
    }
    bool is_glass = material.kind == DIELECTRIC || material.kind == ROUGH_DIELECTRIC;
    bool is_clear = material.color.x == 1.0f && material.color.y == 1.0f && material.color.z == 1.0f;
    return priority > 0 && is_glass && is_clear && is_matched(relative_ior(material, outside_ior));
}

inline u32 nested_table(const f32 *tables, const Material &material, f32 ior) {
    u32 table = material.table;
    f32 min_apart = MAX_F32;
    for (u32 entry = 0; entry < material.second; entry++) {
        const f32 *at = tables + (material.first + 2 * entry);
        f32 difference = at[0] - ior;
        f32 apart = max_f32(difference, -difference);
        if (apart < min_apart) {
            table = float_to_bits(at[1]);
            min_apart = apart;
        }
    }
    return table;
}

inline Material material_in(const f32 *tables, const Material &material, f32 outside) {
    Material inside = material;
    inside.ior = relative_ior(material, outside);
    // Facets that do not refract are invisible.
    if (material.kind == ROUGH_DIELECTRIC && is_matched(inside.ior)) inside.kind = DIELECTRIC;
    inside.table = nested_table(tables, material, inside.ior);
    return inside;
}

inline Vec3 absorption_before(const Material *materials, u32 bodies, u32 body, const Material &material, bool front) {
    u32 innermost = bodies & INNERMOST;
    if (innermost != 0 && innermost != body) return materials[innermost - 1].absorption;
    bool is_outside = innermost == 0 && front;
    if (is_outside || (material.flags & THIN) != 0) return {0.0f, 0.0f, 0.0f};
    return material.absorption;
}

inline Vec3 absorption_beyond(const Material *materials, u32 bodies, Vec3 before, const Material &material,
                              bool front) {
    if ((material.flags & THIN) != 0) return before;
    if (front) return material.absorption;
    if ((bodies & INNERMOST) != 0) return materials[(bodies & INNERMOST) - 1].absorption;
    return {0.0f, 0.0f, 0.0f};
}
