// A light tree: importance sampling of many lights. Twin: src/lights/light_tree.rs.
#include "math.cuh"

struct alignas(16) LightNode {
    Vec3 center;
    f32 radius2;
    f32 intensity;
    u32 link;
    f32 spread;
    f32 sin_spread;
    Vec3 axis;
    u32 _pad0;
};

struct ChosenLight {
    u32 light;
    u32 width;
};

inline f32 importance(const LightNode &node, Vec3 point) {
    Vec3 to_point = point - node.center;
    f32 distance2 = dot(to_point, to_point);
    f32 strength = min_f32(node.intensity / max_f32(distance2, node.radius2), 1e30f);
    bool everywhere = node.spread <= -1.0f || distance2 <= node.radius2;
    if (everywhere) return strength;
    f32 cosine = dot(node.axis, to_point) / sqrtf(distance2);
    f32 cos_left = 1.0f;
    f32 sin_left = 0.0f;
    if (cosine < node.spread) {
        f32 sine = sqrtf(max_f32(0.0f, 1.0f - cosine * cosine));
        cos_left = cosine * node.spread + sine * node.sin_spread;
        sin_left = sine * node.spread - cosine * node.sin_spread;
    }
    f32 sin2_width = node.radius2 / distance2;
    f32 cos_width = sqrtf(1.0f - sin2_width);
    if (cos_left < cos_width) {
        cos_left = cos_left * cos_width + sin_left * sqrtf(sin2_width);
    } else {
        cos_left = 1.0f;
    }
    return strength * max_f32(0.0f, cos_left + 1.0f / 1024.0f);
}

inline u32 first_width(f32 first, f32 second, u32 width) {
    u32 chance = (u32)(first / (first + second) * 16777216.0f);
    if (first > 0.0f && chance == 0) chance = 1;
    if (second > 0.0f && chance == 1u << 24) chance = (1u << 24) - 1u;
    return (u32)(((u64)width * chance) >> 24);
}

inline ChosenLight choose_from_tree(const LightNode *nodes, Vec3 point, u32 place, u32 width) {
    u32 link = nodes[0].link;
    while (true) {
        if (link >= LEAF) return {link - LEAF, width};
        // The link of each child is read with the child, not in another access that waits for the choice.
        LightNode left = nodes[link], right = nodes[link + 1];
        f32 first = importance(left, point);
        f32 second = importance(right, point);
        bool lit = first + second > 0.0f;
        if (!lit) return {NO_LIGHT, 0};
        u32 before = first_width(first, second, width);
        if (place < before) {
            link = left.link;
            width = before;
        } else {
            link = right.link;
            place -= before;
            width -= before;
        }
    }
}

inline u32 light_probability(const LightNode *nodes, Vec3 point, u32 trail, u32 width) {
    u32 link = nodes[0].link;
    while (true) {
        if (link >= LEAF) return width;
        LightNode left = nodes[link], right = nodes[link + 1];
        f32 first = importance(left, point);
        f32 second = importance(right, point);
        bool lit = first + second > 0.0f;
        if (!lit) return 0;
        u32 before = first_width(first, second, width);
        if ((trail & 1u) == 0) {
            link = left.link;
            width = before;
        } else {
            link = right.link;
            width -= before;
        }
        trail >>= 1;
    }
}
