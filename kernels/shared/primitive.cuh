// Primitives: triangles and spheres, their intersection with rays, and the surface at a hit. Twin: src/accel/primitive.rs.
#include "path.cuh"

struct alignas(16) Primitive {
    Vec3 a;
    u32 material;
    Vec3 b;
    u32 kind_bits;
    Vec3 c;
    u32 number;
};

inline bool is_sphere(const Primitive &primitive) { return primitive.kind_bits == SPHERE; }

inline bool is_triangle(const Primitive &primitive) { return (primitive.kind_bits & ~PAIRED) == TRIANGLE; }

// The third vertex of a triangle and its number: the last 16 bytes of a primitive, read at once.
struct alignas(16) ThirdVertex {
    Vec3 c;
    u32 number;
};
static_assert(sizeof(Primitive) == 3 * sizeof(ThirdVertex), "third_vertex returns the last third of a primitive");

inline const ThirdVertex &third_vertex(const Primitive &triangle) {
    return reinterpret_cast<const ThirdVertex *>(&triangle)[2];
}

struct Shear {
    u32 axis;
    f32 x, y, z;
};

struct Surface {
    Vec3 point;
    Vec3 normal;
    f32 error;
    Vec3 lift;
    Vec3 shading;
    Vec3 coat;
    Vec3 tangent;
    f32 handedness;
    f32 u, v, second_u, second_v;
    u32 material;
};

struct TriangleHit {
    f32 distance, u, v;
};

inline Vec3 turn(Vec3 v, u32 axis) {
    return axis == 0 ? Vec3{v.y, v.z, v.x} : axis == 1 ? Vec3{v.z, v.x, v.y} : v;
}

inline Shear shear(Vec3 direction) {
    f32 x = fabsf(direction.x), y = fabsf(direction.y), z = fabsf(direction.z);
    u32 axis = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    Vec3 d = turn(direction, axis);
    return {axis, d.x / d.z, d.y / d.z, 1.0f / d.z};
}

inline f32 difference_of_products(f32 a, f32 b, f32 c, f32 d) {
    return (f32)((f64)a * (f64)b - (f64)c * (f64)d);
}

// The hit of one of two triangles, and which of them have been tested.
struct PairHit {
    TriangleHit hit;
    u32 tested;
};

constexpr u32 FIRST_ALONE = 0, BOTH_FOR_FIRST = 1, BOTH_FOR_SECOND = 2;

// Tests the triangle a, b, c, and if `paired` also the triangle a, c, d, whose vertex d is `fourth`. Tests only the first
// if the ray meets an edge or passes both, and then returns FIRST_ALONE. Otherwise returns BOTH_FOR_SECOND if it passes
// the second, and BOTH_FOR_FIRST if not.
inline PairHit hit_pair(const Primitive &first, bool paired, Vec3 fourth, Vec3 origin, const Shear &shear) {
    Vec3 a = turn(first.a - origin, shear.axis);
    Vec3 b = turn(first.b - origin, shear.axis);
    Vec3 c = turn(first.c - origin, shear.axis);
    f32 ax = a.x - shear.x * a.z, ay = a.y - shear.y * a.z;
    f32 bx = b.x - shear.x * b.z, by = b.y - shear.y * b.z;
    f32 cx = c.x - shear.x * c.z, cy = c.y - shear.y * c.z;
    f32 u = cx * by - cy * bx;
    f32 v = ax * cy - ay * cx;
    f32 w = bx * ay - by * ax;
    u32 tested = FIRST_ALONE;
    if (u == 0.0f || v == 0.0f || w == 0.0f) {
        u = difference_of_products(cx, by, cy, bx);
        v = difference_of_products(ax, cy, ay, cx);
        w = difference_of_products(bx, ay, by, ax);
    } else if (paired) {
        Vec3 d = turn(fourth - origin, shear.axis);
        f32 dx = d.x - shear.x * d.z, dy = d.y - shear.y * d.z;
        // Both triangles have the edge a c, in opposite directions.
        f32 second_u = dx * cy - dy * cx;
        f32 second_v = ax * dy - ay * dx;
        bool in_first = v > 0.0f ? u > 0.0f && w > 0.0f : u < 0.0f && w < 0.0f;
        bool in_second = v < 0.0f ? second_u > 0.0f && second_v > 0.0f : second_u < 0.0f && second_v < 0.0f;
        if (second_u != 0.0f && second_v != 0.0f && !(in_first && in_second)) {
            tested = in_second ? BOTH_FOR_SECOND : BOTH_FOR_FIRST;
            if (in_second) {
                u = second_u;
                w = -v;
                v = second_v;
                b.z = c.z;
                c.z = d.z;
            }
        }
    }
    bool outside = (u < 0.0f || v < 0.0f || w < 0.0f) && (u > 0.0f || v > 0.0f || w > 0.0f);
    f32 determinant = u + v + w;
    if (outside || determinant == 0.0f) return {{-1.0f, 0.0f, 0.0f}, tested};
    f32 inverse = 1.0f / determinant;
    f32 distance = (u * a.z + v * b.z + w * c.z) * shear.z * inverse;
    return {{distance, v * inverse, w * inverse}, tested};
}

inline TriangleHit hit_triangle(const Primitive &triangle, Vec3 origin, const Shear &shear) {
    return hit_pair(triangle, false, triangle.c, origin, shear).hit;
}

inline f32 hit_sphere(const Primitive &sphere, Vec3 origin, Vec3 direction, bool leaves) {
    f32 radius = sphere.b.x;
    Vec3 to_origin = origin - sphere.a;
    f32 along = -dot(to_origin, direction);
    Vec3 across = to_origin + direction * along;
    f32 discriminant = radius * radius - dot(across, across);
    if (discriminant < 0.0f) return -1.0f;
    f32 root = sqrtf(discriminant);
    f32 far = along < 0.0f ? along - root : along + root;
    if (leaves) return far;
    f32 near = (dot(to_origin, to_origin) - radius * radius) / far;
    f32 first = near < far ? near : far;
    f32 second = near < far ? far : near;
    return first > 0.0f ? first : second;
}

inline TriangleHit hit_primitive(const Primitive &primitive, Vec3 origin, Vec3 direction, const Shear &shear,
                                 bool leaves) {
    if (is_sphere(primitive)) return {hit_sphere(primitive, origin, direction, leaves), 0.0f, 0.0f};
    if (leaves) return {-1.0f, 0.0f, 0.0f};
    return hit_triangle(primitive, origin, shear);
}

// The hit of a primitive, or of the triangle after it.
struct PrimitiveHit {
    TriangleHit hit;
    u32 position, number;
    bool tested_next;
};

// Intersects a ray with the primitive at `position`, and if `next_waits` also with the next one, if both are triangles of
// a quadrilateral. `from` is the primitive that the ray leaves, or NO_PRIMITIVE.
inline PrimitiveHit intersect_at(const Primitive *primitives, u32 position, bool next_waits, Vec3 origin, Vec3 direction,
                                 const Shear &shear, u32 from) {
    const Primitive primitive = read_at_once(primitives[position]);
    if (is_sphere(primitive)) {
        f32 distance = hit_sphere(primitive, origin, direction, position == from);
        return {{distance, 0.0f, 0.0f}, position, primitive.number, false};
    }
    bool paired = next_waits && (primitive.kind_bits & PAIRED) != 0;
    ThirdVertex fourth = {primitive.c, primitive.number};
    if (paired) fourth = read_at_once(third_vertex(primitives[position + 1]));
    PairHit pair = hit_pair(primitive, paired, fourth.c, origin, shear);
    bool in_second = pair.tested == BOTH_FOR_SECOND;
    PrimitiveHit found = {pair.hit, in_second ? position + 1 : position, in_second ? fourth.number : primitive.number,
                          pair.tested != FIRST_ALONE};
    if (found.position == from) found.hit.distance = -1.0f;
    return found;
}

// Does what nearer_hit does, and if `next_waits` also tests the next primitive if both form a quadrilateral. Returns
// whether it has.
inline bool nearer_hit_of_pair(const Primitive *primitives, u32 position, bool next_waits, const Ray &ray,
                               const Shear &shear, Hit &best) {
    PrimitiveHit found = intersect_at(primitives, position, next_waits, ray.origin, ray.direction, shear,
                                      ray.from_primitive);
    bool ahead = found.hit.distance > 0.0f && found.hit.distance <= best.distance;
    bool tie = found.hit.distance == best.distance && best.primitive != NO_PRIMITIVE;
    if (ahead && !(tie && found.number > primitives[best.primitive].number)) {
        best = {found.hit.distance, found.position, found.hit.u, found.hit.v};
    }
    return found.tested_next;
}

inline void nearer_hit(const Primitive *primitives, u32 position, const Ray &ray, const Shear &shear, Hit &best) {
    nearer_hit_of_pair(primitives, position, false, ray, shear, best);
}

inline bool blocks(const Primitive *primitives, u32 position, const ShadowRay &ray, const Shear &shear) {
    if (position == ray.to_primitive) return false;
    bool leaves = position == ray.from_primitive;
    Primitive primitive = primitives[position];
    f32 distance = hit_primitive(primitive, ray.origin, ray.direction, shear, leaves).distance;
    return distance > 0.0f && distance < ray.distance;
}

inline f32 largest_coordinate(Vec3 v) { return max_f32(fabsf(v.x), max_f32(fabsf(v.y), fabsf(v.z))); }

inline f32 point_error(const Primitive &primitive) {
    f32 reach = is_sphere(primitive)
                    ? largest_coordinate(primitive.a) + primitive.b.x
                    : max_f32(largest_coordinate(primitive.a),
                              max_f32(largest_coordinate(primitive.b), largest_coordinate(primitive.c)));
    return reach * (1.0f / 2097152.0f);
}

inline Pair sphere_coordinates(Vec3 normal) {
    f32 across = sqrtf(normal.x * normal.x + normal.z * normal.z);
    return {0.5f + arctan2(normal.x, normal.z) * (0.5f * INV_PI), arctan2(across, normal.y) * INV_PI};
}

inline Vec3 sphere_tangent(Vec3 normal) {
    if (normal.x == 0.0f && normal.z == 0.0f) return {1.0f, 0.0f, 0.0f};
    return normalize({normal.z, 0.0f, -normal.x});
}

inline Surface surface_at(const Primitive &primitive, const Ray &ray, const Hit &hit) {
    f32 error = point_error(primitive);
    if (is_sphere(primitive)) {
        Vec3 normal = normalize(ray.origin + ray.direction * hit.distance - primitive.a);
        Pair at = sphere_coordinates(normal);
        return {primitive.a + normal * primitive.b.x, normal, error, {0.0f, 0.0f, 0.0f}, normal, normal, sphere_tangent(normal),
                1.0f, at.x, at.y, at.x, at.y, primitive.material};
    }
    Vec3 ab = primitive.b - primitive.a;
    Vec3 ac = primitive.c - primitive.a;
    Vec3 normal = normalize(cross(ab, ac));
    f32 v = 1.0f - hit.v;
    return {primitive.a + ab * hit.u + ac * hit.v, normal, error, {0.0f, 0.0f, 0.0f}, normal, normal, normalize(ab), 1.0f,
            hit.u, v, hit.u, v, primitive.material};
}
