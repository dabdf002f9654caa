// The bodies that a path is inside, such as glass with juice in it. Twin: src/shading/bodies.rs.
//
// A list of bodies has three places of ten bits. The innermost body, which the path entered last, is in the lowest
// bits, and 0 is an empty place. Transmission through the front of a surface adds its body, and transmission through
// the back removes it, wherever it is in the list.
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
