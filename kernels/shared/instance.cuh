// Instances: transforming rays into a mesh's object space and hits back to world space. Twin: src/accel/instance.rs.
#include "primitive.cuh"

struct alignas(16) Instance {
    Vec3 inverse_x;
    u32 root;
    Vec3 inverse_y;
    f32 extent;
    Vec3 inverse_z;
    u32 material;
    Vec3 position;
    u32 flags;
    Vec3 axis_x;
    u32 corners;
    Vec3 axis_y;
    f32 error;
    Vec3 axis_z;
    f32 error_per_unit;
};

struct alignas(16) Corners {
    u32 a;
    u32 b;
    u32 c;
    f32 handedness;
};

struct alignas(16) MeshVertex {
    Vec3 normal;
    f32 u;
    Vec3 tangent;
    f32 v;
};

struct InstanceHit {
    Hit hit;
    u32 instance;
};

inline Vec3 to_object(const Instance &instance, Vec3 v) {
    return {dot(instance.inverse_x, v), dot(instance.inverse_y, v), dot(instance.inverse_z, v)};
}

inline Vec3 to_world(const Instance &instance, Vec3 v) {
    return instance.axis_x * v.x + instance.axis_y * v.y + instance.axis_z * v.z;
}

inline Vec3 normal_to_world(const Instance &instance, Vec3 normal) {
    return instance.inverse_x * normal.x + instance.inverse_y * normal.y + instance.inverse_z * normal.z;
}

// Of hits at equal distances, that with the smallest instance and then the smallest number counts, whatever the order
// of traversal.
inline void nearer_instance_hit(const Primitive *primitives, u32 position, u32 instance, Vec3 origin, const Ray &ray,
                              u32 from, const Shear &shear, InstanceHit &best) {
    Primitive primitive = primitives[position];
    bool leaves = position == ray.from_primitive && instance == from;
    TriangleHit hit = hit_primitive(primitive, origin, ray.direction, shear, leaves);
    bool ahead = hit.distance > 0.0f && hit.distance <= best.hit.distance;
    if (!ahead) return;
    bool tie = hit.distance == best.hit.distance && best.hit.primitive != NO_PRIMITIVE;
    if (tie) {
        u32 ours = instance + 1, others = best.instance + 1;
        if (ours > others || (ours == others && primitive.number > primitives[best.hit.primitive].number)) return;
    }
    best = {{hit.distance, position, hit.u, hit.v}, instance};
}

inline bool instance_blocks(const Primitive *primitives, u32 position, u32 instance, Vec3 origin, const ShadowRay &ray,
                          u32 from, u32 to, const Shear &shear) {
    if (position == ray.to_primitive && instance == to) return false;
    bool leaves = position == ray.from_primitive && instance == from;
    Primitive primitive = primitives[position];
    f32 distance = hit_primitive(primitive, origin, ray.direction, shear, leaves).distance;
    return distance > 0.0f && distance < ray.distance;
}

// Bound of the rounding error of a point that is transformed to world space.
inline f32 instance_error(const Instance &instance, const Primitive &triangle) {
    f32 reach = max_f32(largest_coordinate(triangle.a),
                        max_f32(largest_coordinate(triangle.b), largest_coordinate(triangle.c)));
    return instance.error + reach * instance.error_per_unit;
}

inline u32 instance_material(const Instance &instance, const Primitive &triangle) {
    return instance.material == NO_MATERIAL ? triangle.material : instance.material;
}

inline Primitive instanced_triangle(const Instance &instance, const Primitive &triangle) {
    Vec3 a = to_world(instance, triangle.a) + instance.position;
    Vec3 b = to_world(instance, triangle.b) + instance.position;
    Vec3 c = to_world(instance, triangle.c) + instance.position;
    bool mirrored = (instance.flags & LEFT_HANDED) != 0;
    return {a, instance_material(instance, triangle), mirrored ? c : b, triangle.kind_bits, mirrored ? b : c, triangle.number};
}

// Normalizes a shading normal, and turns it to the side of the geometric one.
inline Vec3 on_side(Vec3 smooth, Vec3 normal) {
    f32 towards = dot(smooth, normal);
    f32 length2 = dot(smooth, smooth);
    bool has_one = towards != 0.0f && length2 > 0.0f && length2 <= MAX_F32;
    if (!has_one) return normal;
    return smooth * ((towards < 0.0f ? -1.0f : 1.0f) / sqrtf(length2));
}

// Bends a shading normal just so far that the reflection of the direction to the eye leaves the surface at one
// hundredth of its own height at least.
inline Vec3 consistent_normal(Vec3 shading, Vec3 normal, Vec3 to_eye) {
    Vec3 reflected = shading * (2.0f * dot(shading, to_eye)) - to_eye;
    f32 height = dot(reflected, normal);
    f32 min_height = 0.01f * dot(normal, to_eye);
    if (height >= min_height) return shading;
    return normalize(normalize(reflected + normal * (min_height - height)) + to_eye);
}

// Hanika's terminator (Ray Tracing Gems II, chapter 4): rays start from a smooth surface through the vertices, on the
// planes of their normals, so that flat triangles cast no shadow on their neighbors.
inline Vec3 lift(Vec3 from_vertex, Vec3 normal) {
    f32 height = dot(from_vertex, normal);
    return normal * (height < 0.0f ? -height : 0.0f);
}

struct RayOrigin {
    Vec3 origin;
    bool lifted;
};

inline RayOrigin ray_origin(const Surface &surface, f32 side) {
    Vec3 lift = surface.lift;
    bool lifted = side > 0.0f && (lift.x != 0.0f || lift.y != 0.0f || lift.z != 0.0f);
    Vec3 point = lifted ? surface.point + lift : surface.point;
    return {offset_point(point, surface.normal * side, surface.error), lifted};
}

inline Vec3 tangent_at(Vec3 tangent, Vec3 normal) {
    Vec3 across = tangent - normal * dot(normal, tangent);
    f32 length2 = dot(across, across);
    if (length2 > 1e-30f && length2 <= MAX_F32) return across * (1.0f / sqrtf(length2));
    Vec3 axis = fabsf(normal.x) > 0.5f ? Vec3{0.0f, 1.0f, 0.0f} : Vec3{1.0f, 0.0f, 0.0f};
    return normalize(cross(normal, axis));
}

inline Surface instance_surface(const Instance &instance, const Corners *corners, const MeshVertex *vertices,
                              const Primitive &triangle, const Ray &ray, const Hit &hit) {
    Vec3 ab = triangle.b - triangle.a;
    Vec3 ac = triangle.c - triangle.a;
    Vec3 inside = triangle.a + ab * hit.u + ac * hit.v;
    Vec3 outside = normalize(cross(ab, ac));
    Vec3 normal = normalize(normal_to_world(instance, outside));
    Surface surface = {to_world(instance, inside) + instance.position,
                       normal,
                       instance_error(instance, triangle),
                       {0.0f, 0.0f, 0.0f},
                       normal,
                       normal,
                       ab,
                       1.0f,
                       hit.u,
                       1.0f - hit.v,
                       hit.u,
                       1.0f - hit.v,
                       instance_material(instance, triangle)};
    if ((instance.flags & (NORMALS | COORDINATES)) != 0) {
        Corners at = corners[hit.primitive + instance.corners];
        MeshVertex a = vertices[at.a], b = vertices[at.b], c = vertices[at.c];
        f32 first = 1.0f - hit.u - hit.v;
        if ((instance.flags & NORMALS) != 0) {
            Vec3 smooth = a.normal * first + b.normal * hit.u + c.normal * hit.v;
            surface.shading = on_side(normal_to_world(instance, smooth), normal);
            bool faces = dot(smooth, outside) * dot(normal, ray.direction) < 0.0f;
            f32 side = faces ? 1.0f : -1.0f;
            Vec3 raised = lift(inside - triangle.a, a.normal * side) * first +
                          lift(inside - triangle.b, b.normal * side) * hit.u +
                          lift(inside - triangle.c, c.normal * side) * hit.v;
            surface.lift = to_world(instance, raised);
        }
        if ((instance.flags & COORDINATES) != 0) {
            surface.u = a.u * first + b.u * hit.u + c.u * hit.v;
            surface.v = a.v * first + b.v * hit.u + c.v * hit.v;
            surface.second_u = surface.u;
            surface.second_v = surface.v;
            if ((KINDS & SECOND_UV) != 0 && (instance.flags & SECOND_COORDINATES) != 0) {
                const MeshVertex &a = vertices[at.a + 1], &b = vertices[at.b + 1], &c = vertices[at.c + 1];
                surface.second_u = a.u * first + b.u * hit.u + c.u * hit.v;
                surface.second_v = a.v * first + b.v * hit.u + c.v * hit.v;
            }
            if ((instance.flags & TANGENTS) != 0) {
                surface.tangent = a.tangent * first + b.tangent * hit.u + c.tangent * hit.v;
                surface.handedness = at.handedness;
            } else {
                f32 u_ab = b.u - a.u, v_ab = b.v - a.v;
                f32 u_ac = c.u - a.u, v_ac = c.v - a.v;
                bool turned = u_ab * v_ac - u_ac * v_ab > 0.0f;
                Vec3 along = ab * v_ac - ac * v_ab;
                surface.tangent = turned ? along : -along;
                surface.handedness = turned ? -1.0f : 1.0f;
            }
        }
    }
    surface.coat = surface.shading;
    surface.tangent = tangent_at(to_world(instance, surface.tangent), surface.shading);
    if ((instance.flags & LEFT_HANDED) != 0) surface.handedness = -surface.handedness;
    return surface;
}
