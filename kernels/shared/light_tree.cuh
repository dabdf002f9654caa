// A light tree: importance sampling of many lights. Twin: src/lights/light_tree.rs.
#include "math.cuh"

// The part of a pair that every visit reads. A copy of it takes a few loads, and the link to the next pair is there when
// a node has been chosen.
struct alignas(16) LightPairStart {
    Vec3 centers[2];
    f32 radii2[2];
    f32 intensities[2];
    u32 links[2];
};

struct LightPair : LightPairStart {
    f32 cones[2][4];
    f32 sin_spreads[2];
    u32 _pad0[2];
};

struct LightNode {
    Vec3 center;
    f32 radius2;
    f32 intensity;
    u32 link;
    Vec3 axis;
    f32 spread;
    f32 sin_spread;
};

struct ChosenLight {
    u32 light;
    u32 width;
};

// Bounds the light that a node sends to a point: its intensity over the squared distance, times the cosine of the least
// angle between the direction to the point and the directions that its lights face (Conty Estevez and Kulla, 2018). The
// angle is reduced by the spread of the lights' axes and by the angle that the node's sphere covers.
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

// Divides an interval of whole numbers in proportion to two importances. A node whose importance is not 0 keeps at
// least 1 in 2^24.
inline u32 first_width(f32 first, f32 second, u32 width) {
    u32 chance = (u32)(first / (first + second) * 16777216.0f);
    if (first > 0.0f && chance == 0) chance = 1;
    if (second > 0.0f && chance == 1u << 24) chance = (1u << 24) - 1u;
    return (u32)(((u64)width * chance) >> 24);
}

inline LightNode node_of(const LightPair &pair, const LightPairStart &start, u32 side) {
    LightNode node = {start.centers[side], start.radii2[side], start.intensities[side], start.links[side] & ~HAS_CONE};
    if ((start.links[side] & HAS_CONE) == 0) {
        node.spread = -1.0f;
    } else {
        const f32 *cone = pair.cones[side];
        node.axis = {cone[0], cone[1], cone[2]};
        node.spread = cone[3];
        node.sin_spread = pair.sin_spreads[side];
    }
    return node;
}

// Follows a place in an interval of `width` numbers down the tree. Each node gets its part of the interval, so that the
// probability of a light is the width of its part.
inline ChosenLight choose_from_tree(const LightPair *pairs, Vec3 point, u32 place, u32 width) {
    u32 link = 0;
    while (true) {
        const LightPairStart start = read_at_once<LightPairStart>(pairs[link]);
        f32 first = importance(node_of(pairs[link], start, 0), point);
        f32 second = importance(node_of(pairs[link], start, 1), point);
        bool lit = first + second > 0.0f;
        if (!lit) return {NO_LIGHT, 0};
        u32 before = first_width(first, second, width);
        if (place < before) {
            link = start.links[0] & ~HAS_CONE;
            width = before;
        } else {
            link = start.links[1] & ~HAS_CONE;
            place -= before;
            width -= before;
        }
        if (link >= LEAF) return {link - LEAF, width};
    }
}

// The same walk along a known trail, whose bits are the branches from the root.
inline u32 light_probability(const LightPair *pairs, Vec3 point, u32 trail, u32 width) {
    u32 link = 0;
    while (true) {
        const LightPairStart start = read_at_once<LightPairStart>(pairs[link]);
        f32 first = importance(node_of(pairs[link], start, 0), point);
        f32 second = importance(node_of(pairs[link], start, 1), point);
        bool lit = first + second > 0.0f;
        if (!lit) return 0;
        u32 before = first_width(first, second, width);
        if ((trail & 1u) == 0) {
            link = start.links[0] & ~HAS_CONE;
            width = before;
        } else {
            link = start.links[1] & ~HAS_CONE;
            width -= before;
        }
        if (link >= LEAF) return width;
        trail >>= 1;
    }
}
