// The way of a ray through the tree. Twin: src/bvh.rs.
#include "primitive.cuh"

typedef u8 Bytes8[8];

struct alignas(16) Node {
    Vec3 corner;
    u32 exponents;
    u32 child_base;
    u32 primitive_base;
    Bytes8 meta;
    Bytes8 min_x;
    Bytes8 max_x;
    Bytes8 min_y;
    Bytes8 max_y;
    Bytes8 min_z;
    Bytes8 max_z;
};

struct BoxRay {
    Vec3 entering;
    Vec3 leaving;
    Vec3 inverse;
    u32 octant;
};

struct Group {
    u32 base;
    u32 bits;
};

inline f32 step(f32 direction, f32 slack) { return direction < 0.0f ? -slack : slack; }

inline f32 inverse(f32 direction) {
    constexpr f32 SMALLEST = 1.0f / 1.2089258e24f;
    f32 magnitude = greater(fabsf(direction), SMALLEST);
    return 1.0f / (direction < 0.0f ? -magnitude : magnitude);
}

inline BoxRay box_ray(Vec3 origin, Vec3 direction, f32 extent) {
    f32 reach = greater(extent, greater(fabsf(origin.x), greater(fabsf(origin.y), fabsf(origin.z))));
    f32 slack = reach * (1.0f / 524288.0f);
    Vec3 toward = {step(direction.x, slack), step(direction.y, slack), step(direction.z, slack)};
    u32 octant = (direction.x >= 0.0f ? 4 : 0) + (direction.y >= 0.0f ? 2 : 0) + (direction.z >= 0.0f ? 1 : 0);
    return {origin + toward, origin - toward, {inverse(direction.x), inverse(direction.y), inverse(direction.z)}, octant};
}

inline f32 spacing(u32 exponents, u32 axis) { return bits_to_float(((exponents >> (8 * axis)) & 255) << 23); }

inline u32 hit_children(const Node &node, const BoxRay &ray, f32 distance) {
    f32 dx = spacing(node.exponents, 0) * ray.inverse.x;
    f32 dy = spacing(node.exponents, 1) * ray.inverse.y;
    f32 dz = spacing(node.exponents, 2) * ray.inverse.z;
    Vec3 enter = (node.corner - ray.entering) * ray.inverse;
    Vec3 leave = (node.corner - ray.leaving) * ray.inverse;
    bool back_x = ray.inverse.x < 0.0f, back_y = ray.inverse.y < 0.0f, back_z = ray.inverse.z < 0.0f;
    u32 bits = 0;
#pragma unroll
    for (u32 child = 0; child < 8; child++) {
        u32 near_x = back_x ? node.max_x[child] : node.min_x[child], far_x = back_x ? node.min_x[child] : node.max_x[child];
        u32 near_y = back_y ? node.max_y[child] : node.min_y[child], far_y = back_y ? node.min_y[child] : node.max_y[child];
        u32 near_z = back_z ? node.max_z[child] : node.min_z[child], far_z = back_z ? node.min_z[child] : node.max_z[child];
        f32 entered = greater(greater((f32)near_x * dx + enter.x, (f32)near_y * dy + enter.y),
                          greater((f32)near_z * dz + enter.z, 0.0f));
        f32 left_x = (f32)far_x * dx + leave.x;
        f32 left_y = (f32)far_y * dy + leave.y;
        f32 left_z = (f32)far_z * dz + leave.z;
        u32 meta = node.meta[child];
        if (entered <= left_x && entered <= left_y && entered <= left_z && entered <= distance && meta != 0) {
            u32 slot = meta & 31;
            bits |= slot >= 24 ? 1u << (slot ^ ray.octant) : (meta >> 5) << slot;
        }
    }
    return bits;
}

template <class Test>
inline void visit(const Node *nodes, const BoxRay &ray, f32 distance, Test test) {
    Group stack[STACK_SIZE];
    u32 height = 0;
    Group group = {0, 1u << 31};
    u32 imask = 0;
    for (;;) {
        u32 bit = 31 - leading_zeros(group.bits);
        group.bits &= ~(1u << bit);
        if (group.bits >> 24 != 0) stack[height++] = group;
        u32 slot = (bit - 24) ^ ray.octant;
        Node node = nodes[group.base + count_ones(imask & ~(0xffffffffu << slot))];
        u32 bits = hit_children(node, ray, distance);

        for (u32 waiting = bits & 0x00ffffff; waiting != 0; waiting &= waiting - 1) {
            distance = test(node.primitive_base + trailing_zeros(waiting));
            if (distance < 0.0f) return;
        }

        group = {node.child_base, (bits & 0xff000000u) | (node.exponents >> 24)};
        if (bits >> 24 == 0) {
            if (height == 0) return;
            group = stack[--height];
        }
        imask = group.bits & 255;
    }
}

inline Hit nearest(const Node *nodes, const Primitive *primitives, f32 extent, Vec3 origin, Vec3 direction) {
    BoxRay ray = box_ray(origin, direction, extent);
    Shear sheared = shear(direction);
    Hit best = {MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f};
    visit(nodes, ray, best.distance, [&](u32 position) {
        nearer_hit(primitives, position, origin, direction, sheared, best);
        return best.distance;
    });
    return best;
}

inline bool occluded(const Node *nodes, const Primitive *primitives, f32 extent, Vec3 origin, Vec3 direction,
                     f32 distance) {
    BoxRay ray = box_ray(origin, direction, extent);
    Shear sheared = shear(direction);
    bool blocked = false;
    visit(nodes, ray, distance, [&](u32 position) {
        blocked = blocks(primitives[position], origin, direction, sheared, distance);
        return blocked ? -1.0f : distance;
    });
    return blocked;
}
