// The bounding volume hierarchy and its traversal. Twin: src/accel/bvh.rs.
#include "instance.cuh"

// Eight bytes, one per child of a node.
struct Bytes8 {
    u32 low, high;
};

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
    Vec3 origin;
    f32 slack;
    Vec3 inverse;
    u32 octant;
};

struct Group {
    u32 base;
    u32 bits;
};

inline Vec3 inverse(Vec3 direction) {
    f32 largest = max_f32(fabsf(direction.x), max_f32(fabsf(direction.y), fabsf(direction.z)));
    f32 min_magnitude = largest * (1.0f / 1099511627776.0f);
    Vec3 magnitude = {max_f32(fabsf(direction.x), min_magnitude), max_f32(fabsf(direction.y), min_magnitude),
                      max_f32(fabsf(direction.z), min_magnitude)};
    return {rough_reciprocal(direction.x < 0.0f ? -magnitude.x : magnitude.x),
            rough_reciprocal(direction.y < 0.0f ? -magnitude.y : magnitude.y),
            rough_reciprocal(direction.z < 0.0f ? -magnitude.z : magnitude.z)};
}

inline f32 slack(Vec3 origin, f32 extent) {
    f32 reach = max_f32(extent, max_f32(fabsf(origin.x), max_f32(fabsf(origin.y), fabsf(origin.z))));
    return reach * (1.0f / 524288.0f);
}

inline BoxRay box_ray(Vec3 origin, Vec3 direction, f32 slack) {
    Vec3 reciprocal = inverse(direction);
    u32 octant = (reciprocal.x < 0.0f ? 0 : 4) + (reciprocal.y < 0.0f ? 0 : 2) + (reciprocal.z < 0.0f ? 0 : 1);
    return {origin, slack, reciprocal, octant};
}

inline f32 spacing(u32 exponents, u32 axis) { return bits_to_float(((exponents >> (8 * axis)) & 255) << 23); }

inline f32 first_plane(f32 corner, f32 origin, f32 inverse, f32 scale) {
    return multiply_add(corner - origin, inverse, -scale);
}

inline f32 margin(f32 scale, f32 slack, f32 inverse) {
    return multiply_add(fabsf(scale), 1.0f / 4194304.0f, slack * fabsf(inverse));
}

inline f32 plane(const Bytes8 &numbers, u32 child, f32 scale, f32 first) {
    return multiply_add(one_and_byte(child < 4 ? numbers.low : numbers.high, child & 3), scale, first);
}

// Returns `shift` of four children at once, one byte each.
inline u32 shifts(u32 meta, u32 octant) {
    u32 is_node = meta & (meta << 1) & 0x10101010u;
    u32 flipped = (is_node >> 4) * octant;
    return (meta ^ flipped) & 0x1f1f1f1fu;
}

inline u32 hit_children(const Node &node, const BoxRay &ray, f32 distance) {
    f32 dx = spacing(node.exponents, 0) * 32768.0f * ray.inverse.x;
    f32 dy = spacing(node.exponents, 1) * 32768.0f * ray.inverse.y;
    f32 dz = spacing(node.exponents, 2) * 32768.0f * ray.inverse.z;
    f32 first_x = first_plane(node.corner.x, ray.origin.x, ray.inverse.x, dx);
    f32 first_y = first_plane(node.corner.y, ray.origin.y, ray.inverse.y, dy);
    f32 first_z = first_plane(node.corner.z, ray.origin.z, ray.inverse.z, dz);
    f32 margin_x = margin(dx, ray.slack, ray.inverse.x);
    f32 margin_y = margin(dy, ray.slack, ray.inverse.y);
    f32 margin_z = margin(dz, ray.slack, ray.inverse.z);
    f32 enter_x = first_x - margin_x, leave_x = first_x + margin_x;
    f32 enter_y = first_y - margin_y, leave_y = first_y + margin_y;
    f32 enter_z = first_z - margin_z, leave_z = first_z + margin_z;
    bool back_x = ray.inverse.x < 0.0f, back_y = ray.inverse.y < 0.0f, back_z = ray.inverse.z < 0.0f;
    Bytes8 near_x = back_x ? node.max_x : node.min_x, far_x = back_x ? node.min_x : node.max_x;
    Bytes8 near_y = back_y ? node.max_y : node.min_y, far_y = back_y ? node.min_y : node.max_y;
    Bytes8 near_z = back_z ? node.max_z : node.min_z, far_z = back_z ? node.min_z : node.max_z;
    Bytes8 shift = {shifts(node.meta.low, ray.octant), shifts(node.meta.high, ray.octant)};
    // An empty slot has no bits in `meta`.
    Bytes8 unary = {(node.meta.low >> 5) & 0x07070707u, (node.meta.high >> 5) & 0x07070707u};
    u32 bits = 0;
#pragma unroll
    for (u32 child = 0; child < 8; child++) {
        f32 entered = largest_or_zero(plane(near_x, child, dx, enter_x), plane(near_y, child, dy, enter_y),
                                      plane(near_z, child, dz, enter_z));
        f32 left = smallest(plane(far_x, child, dx, leave_x), plane(far_y, child, dy, leave_y),
                            plane(far_z, child, dz, leave_z));
        u32 met = shift_left(byte_of(child < 4 ? unary.low : unary.high, child & 3),
                             (child < 4 ? shift.low : shift.high) >> (8 * (child & 3)));
        add_if_in_order(bits, met, entered, left, distance);
    }
    return bits;
}

// Removes the lowest bit from `waiting`, and returns its number.
inline u32 take_lowest(u32 &waiting) {
    u32 lowest = trailing_zeros(waiting);
    waiting &= waiting - 1;
    return lowest;
}

// `test` takes at least one of the primitives in `waiting`.
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

        for (u32 waiting = bits & 0x00ffffff; waiting != 0;) {
            distance = test(node.primitive_base, waiting);
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

inline Hit nearest(const Node *nodes, const Primitive *primitives, f32 extent, const Ray &ray) {
    BoxRay boxes = box_ray(ray.origin, ray.direction, slack(ray.origin, extent));
    Shear sheared = shear(ray.direction);
    Hit best = {MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f};
    visit(nodes, boxes, best.distance, [&](u32 first, u32 &waiting) {
        u32 offset = take_lowest(waiting);
        bool next_waits = (waiting & (2u << offset)) != 0;
        if (nearer_hit_of_pair(primitives, first + offset, next_waits, ray, sheared, best)) take_lowest(waiting);
        return best.distance;
    });
    return best;
}

inline bool occluded(const Node *nodes, const Primitive *primitives, f32 extent, const ShadowRay &ray) {
    BoxRay boxes = box_ray(ray.origin, ray.direction, slack(ray.origin, extent));
    Shear sheared = shear(ray.direction);
    bool blocked = false;
    visit(nodes, boxes, ray.distance, [&](u32 first, u32 &waiting) {
        blocked = blocks(primitives, first + take_lowest(waiting), ray, sheared);
        return blocked ? -1.0f : ray.distance;
    });
    return blocked;
}

struct InstancedScene {
    const Node *nodes;
    const Primitive *primitives;
    const Instance *instances;
    f32 extent;
};

inline u32 change_octant(u32 bits, u32 change) {
    u32 nodes = bits >> 24;
    if ((change & 1) != 0) nodes = (nodes & 0x55) << 1 | ((nodes >> 1) & 0x55);
    if ((change & 2) != 0) nodes = (nodes & 0x33) << 2 | ((nodes >> 2) & 0x33);
    if ((change & 4) != 0) nodes = (nodes & 0x0f) << 4 | nodes >> 4;
    return nodes << 24 | (bits & 0x00ffffff);
}

template <class Test>
inline void visit_instanced(const InstancedScene &scene, Vec3 origin, Vec3 direction, f32 distance, Test test) {
    Group stack[STACK_SIZE];
    u32 height = 0;
    const BoxRay boxes_above = box_ray(origin, direction, slack(origin, scene.extent) * INSTANCED_SLACK);
    const Shear sheared_above = shear(direction);
    BoxRay boxes = boxes_above;
    Shear sheared = sheared_above;
    u32 instance = NO_INSTANCE;
    u32 floor = 0;
    Group group = {0, 1u << 31};
    for (;;) {
        u32 imask = group.bits & 255;
        u32 bit = 31 - leading_zeros(group.bits);
        group.bits &= ~(1u << bit);
        if (group.bits >> 24 != 0) stack[height++] = group;
        u32 slot = (bit - 24) ^ boxes.octant;
        Node node = scene.nodes[group.base + count_ones(imask & ~(0xffffffffu << slot))];
        u32 bits = hit_children(node, boxes, distance);
        u32 first = node.primitive_base;
        u32 waiting = bits & 0x00ffffff;
        group = {node.child_base & ~INSTANCE_NODE, (bits & 0xff000000u) | (node.exponents >> 24)};
        if ((node.child_base & INSTANCE_NODE) != 0 && bits != 0) {
            instance = node.primitive_base;
            floor = height;
            const Instance mesh_instance = scene.instances[instance];
            Vec3 local = to_object(mesh_instance, origin - mesh_instance.position);
            Vec3 inward = to_object(mesh_instance, direction);
            boxes = box_ray(local, inward, slack(local, mesh_instance.extent));
            sheared = shear(inward);
            group.bits = change_octant(group.bits, boxes_above.octant ^ boxes.octant);
            if (waiting != 0) first = scene.nodes[mesh_instance.root].primitive_base;
        }
        while (waiting != 0) {
            distance = test(first, waiting, instance, boxes.origin, sheared);
            if (distance < 0.0f) return;
        }
        if (group.bits >> 24 == 0) {
            if (instance != NO_INSTANCE && height == floor) {
                boxes = boxes_above;
                sheared = sheared_above;
                instance = NO_INSTANCE;
            }
            if (height == 0) return;
            group = stack[--height];
        }
    }
}

inline InstanceHit nearest_instanced(const InstancedScene &scene, const Ray &ray, u32 from) {
    InstanceHit best = {{MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    visit_instanced(scene, ray.origin, ray.direction, MAX_F32,
                 [&](u32 first, u32 &waiting, u32 instance, Vec3 origin, const Shear &sheared) {
                     u32 position = first + take_lowest(waiting);
                     nearer_instance_hit(scene.primitives, position, instance, origin, ray, from, sheared, best);
                     return best.hit.distance;
                 });
    return best;
}

inline bool occluded_instanced(const InstancedScene &scene, const ShadowRay &ray, u32 from, u32 to) {
    bool blocked = false;
    visit_instanced(scene, ray.origin, ray.direction, ray.distance,
                 [&](u32 first, u32 &waiting, u32 instance, Vec3 origin, const Shear &sheared) {
                     u32 position = first + take_lowest(waiting);
                     blocked = instance_blocks(scene.primitives, position, instance, origin, ray, from, to, sheared);
                     return blocked ? -1.0f : ray.distance;
                 });
    return blocked;
}
