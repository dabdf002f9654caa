// Stochastic opacity: alpha-tested and partly transparent surfaces. Twin: src/shading/opacity.rs.
#include "bvh.cuh"
#include "instance.cuh"
#include "material_textures.cuh"
#include "opacity_map.cuh"
#include "sampler.cuh"

struct StochasticOpacity {
    InstancedScene scene;
    const Corners *corners;
    const MeshVertex *vertices;
    const Material *materials;
    TextureAtlas atlas;
    const u32 *opacity_maps;
    bool from_camera;
};

inline u32 opacity_hash(Sampler sampler, u32 bounce, u32 ray) {
    return hash(sampler.key ^ hash(sampler.sample ^ hash((bounce * 2 + ray) ^ 0x510e527fu)));
}

inline f32 opacity_random(u32 key, u32 number, u32 instance) { return unit(hash(key ^ hash(number ^ hash(instance)))); }

inline Pair coordinates_at(const StochasticOpacity &opacity, const Ray &ray, const InstanceHit &found, u32 second) {
    const Hit &hit = found.hit;
    const Primitive &primitive = opacity.scene.primitives[hit.primitive];
    if (is_sphere(primitive)) {
        return sphere_coordinates(normalize(ray.origin + ray.direction * hit.distance - primitive.a));
    }
    if (found.instance != NO_INSTANCE) {
        const Instance &mesh_instance = opacity.scene.instances[found.instance];
        if ((mesh_instance.flags & COORDINATES) != 0) {
            Corners at = opacity.corners[hit.primitive + mesh_instance.corners];
            u32 next = second & ((mesh_instance.flags & SECOND_COORDINATES) != 0 ? 1u : 0u);
            const MeshVertex &a = opacity.vertices[at.a + next], &b = opacity.vertices[at.b + next];
            const MeshVertex &c = opacity.vertices[at.c + next];
            f32 first = 1.0f - hit.u - hit.v;
            return {a.u * first + b.u * hit.u + c.u * hit.v, a.v * first + b.v * hit.u + c.v * hit.v};
        }
    }
    return {hit.u, 1.0f - hit.v};
}

inline f32 opacity_at(const StochasticOpacity &opacity, const Ray &ray, const InstanceHit &found) {
    const Primitive &primitive = opacity.scene.primitives[found.hit.primitive];
    u32 material = found.instance == NO_INSTANCE ? primitive.material
                                                 : instance_material(opacity.scene.instances[found.instance], primitive);
    u32 number = opacity.materials[material].maps;
    if (number == 0) return 1.0f;
    if (opacity.from_camera && (opacity.materials[material].flags & HIDDEN) != 0) return 0.0f;
    const MaterialTextures &maps = opacity.atlas.maps[number];
    if ((maps.used & (1u << MAP_OPACITY)) == 0) return apply_cutoff(maps, maps.opacity);
    u32 map = maps.textures[MAP_OPACITY];
    const Texture &texture = opacity.atlas.textures[map >> 2];
    Pair at = coordinates_at(opacity, ray, found, texture.second);
    Texel value = sample_texture(opacity.atlas.texels, texture, at.x, at.y);
    return apply_cutoff(maps, maps.opacity * channel_value(value, map & 3));
}

inline bool passes_opacity(const StochasticOpacity &opacity, const Ray &ray, const InstanceHit &found, u32 key) {
    const Hit &hit = found.hit;
    u32 known = known_opacity(opacity.opacity_maps, hit.primitive, hit.u, hit.v);
    if (known == OPAQUE) return true;
    if (known == TRANSPARENT) return false;
    u32 number = opacity.scene.primitives[hit.primitive].number;
    return opacity_random(key, number, found.instance) < opacity_at(opacity, ray, found);
}

inline void nearer_alpha_tested_hit(const StochasticOpacity &opacity, u32 position, u32 instance, Vec3 origin, const Ray &ray, u32 from,
                           const Shear &shear, u32 key, InstanceHit &best) {
    const Primitive *primitives = opacity.scene.primitives;
    InstanceHit near = best;
    nearer_instance_hit(primitives, position, instance, origin, ray, from, shear, near);
    if (near.hit.primitive != position || near.instance != instance) return;
    if (passes_opacity(opacity, ray, near, key)) {
        best = near;
        return;
    }
    if (!is_sphere(primitives[position])) return;
    Ray leaving = ray;
    leaving.from_primitive = position;
    InstanceHit far = best;
    nearer_instance_hit(primitives, position, instance, origin, leaving, instance, shear, far);
    bool behind = far.hit.primitive == position && far.hit.distance > near.hit.distance;
    if (behind && passes_opacity(opacity, ray, far, hash(key))) best = far;
}

inline bool alpha_tested_blocks(const StochasticOpacity &opacity, u32 position, u32 instance, Vec3 origin, const ShadowRay &ray, u32 from,
                       u32 to, const Shear &shear, u32 key) {
    if (position == ray.to_primitive && instance == to) return false;
    Ray along = {ray.origin, 0.0f, ray.direction, ray.from_primitive};
    InstanceHit best = {{ray.distance, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    nearer_alpha_tested_hit(opacity, position, instance, origin, along, from, shear, key, best);
    return best.hit.distance < ray.distance;
}

inline InstanceHit nearest_alpha_tested(const StochasticOpacity &opacity, const Ray &ray, u32 from, u32 key) {
    InstanceHit best = {{MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    visit_instanced(opacity.scene, ray.origin, ray.direction, MAX_F32,
                 [&](u32 first, u32 &waiting, u32 instance, Vec3 origin, const Shear &sheared) {
                     u32 position = first + take_lowest(waiting);
                     nearer_alpha_tested_hit(opacity, position, instance, origin, ray, from, sheared, key, best);
                     return best.hit.distance;
                 });
    return best;
}

inline bool is_beyond(const Primitive *primitives, const InstanceHit &found, const InstanceHit &after) {
    if (after.hit.primitive == NO_PRIMITIVE) return true;
    if (found.hit.distance != after.hit.distance) return found.hit.distance > after.hit.distance;
    u32 ours = found.instance + 1, others = after.instance + 1;
    if (ours != others) return ours > others;
    return primitives[found.hit.primitive].number > primitives[after.hit.primitive].number;
}

inline void nearer_hit_beyond(const StochasticOpacity &opacity, u32 position, u32 instance, Vec3 origin, const Ray &ray,
                              u32 from, const Shear &shear, u32 key, const InstanceHit &after, InstanceHit &best) {
    const Primitive *primitives = opacity.scene.primitives;
    InstanceHit near = best;
    nearer_instance_hit(primitives, position, instance, origin, ray, from, shear, near);
    if (near.hit.primitive != position || near.instance != instance) return;
    if (is_beyond(primitives, near, after) && passes_opacity(opacity, ray, near, key)) {
        best = near;
        return;
    }
    if (!is_sphere(primitives[position])) return;
    Ray leaving = ray;
    leaving.from_primitive = position;
    InstanceHit far = best;
    nearer_instance_hit(primitives, position, instance, origin, leaving, instance, shear, far);
    bool behind = far.hit.primitive == position && far.hit.distance > near.hit.distance;
    if (behind && is_beyond(primitives, far, after) && passes_opacity(opacity, ray, far, hash(key))) best = far;
}

inline InstanceHit nearest_beyond(const StochasticOpacity &opacity, const Ray &ray, u32 from, u32 key,
                                  const InstanceHit &after, f32 distance, u32 to_primitive, u32 to) {
    InstanceHit best = {{distance, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    visit_instanced(opacity.scene, ray.origin, ray.direction, distance,
                 [&](u32 first, u32 &waiting, u32 instance, Vec3 origin, const Shear &sheared) {
                     u32 position = first + take_lowest(waiting);
                     if (position != to_primitive || instance != to) {
                         nearer_hit_beyond(opacity, position, instance, origin, ray, from, sheared, key, after, best);
                     }
                     return best.hit.distance;
                 });
    return best;
}

inline bool light_passes_opacity(const StochasticOpacity &opacity, const ShadowRay &ray, u32 to, u32 key) {
    if (ray.to_primitive == NO_PRIMITIVE) return true;
    Ray along = {ray.origin, 0.0f, ray.direction, ray.from_primitive};
    Vec3 origin = ray.origin, inward = ray.direction;
    if (to != NO_INSTANCE) {
        const Instance &mesh_instance = opacity.scene.instances[to];
        origin = to_object(mesh_instance, ray.origin - mesh_instance.position);
        inward = to_object(mesh_instance, ray.direction);
    }
    TriangleHit met = hit_primitive(opacity.scene.primitives[ray.to_primitive], origin, ray.direction, shear(inward), false);
    return passes_opacity(opacity, along, {{ray.distance, ray.to_primitive, met.u, met.v}, to}, key);
}

inline bool occluded_alpha_tested(const StochasticOpacity &opacity, const ShadowRay &ray, u32 from, u32 to, u32 key) {
    bool blocked = !light_passes_opacity(opacity, ray, to, key);
    if (blocked) return true;
    visit_instanced(opacity.scene, ray.origin, ray.direction, ray.distance,
                 [&](u32 first, u32 &waiting, u32 instance, Vec3 origin, const Shear &sheared) {
                     u32 position = first + take_lowest(waiting);
                     blocked = alpha_tested_blocks(opacity, position, instance, origin, ray, from, to, sheared, key);
                     return blocked ? -1.0f : ray.distance;
                 });
    return blocked;
}
