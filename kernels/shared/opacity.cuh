// Surfaces that hide only a part of what is behind them. Twin: src/opacity.rs.
#include "bvh.cuh"
#include "instance.cuh"
#include "maps.cuh"
#include "sampler.cuh"

struct Veils {
    PlacedScene scene;
    const Corners *corners;
    const MeshVertex *vertices;
    const Material *materials;
    Imagery imagery;
};

inline u32 veil_key(Sampler sampler, u32 bounce, u32 ray) {
    return hash(sampler.key ^ hash(sampler.sample ^ hash((bounce * 2 + ray) ^ 0x510e527fu)));
}

inline f32 veil_number(u32 key, u32 number, u32 instance) { return unit(hash(key ^ hash(number ^ hash(instance)))); }

inline Pair coordinates_at(const Veils &veils, const Ray &ray, const PlacedHit &found, u32 second) {
    const Hit &hit = found.hit;
    const Primitive &primitive = veils.scene.primitives[hit.primitive];
    if (primitive.kind == SPHERE) {
        return sphere_coordinates(normalize(ray.origin + ray.direction * hit.distance - primitive.a));
    }
    if (found.instance != NO_INSTANCE) {
        const Instance &placed = veils.scene.instances[found.instance];
        if ((placed.holds & COORDINATES) != 0) {
            Corners at = veils.corners[hit.primitive + placed.corners];
            u32 next = second & ((placed.holds & SECOND_COORDINATES) != 0 ? 1u : 0u);
            const MeshVertex &a = veils.vertices[at.a + next], &b = veils.vertices[at.b + next];
            const MeshVertex &c = veils.vertices[at.c + next];
            f32 first = 1.0f - hit.u - hit.v;
            return {a.u * first + b.u * hit.u + c.u * hit.v, a.v * first + b.v * hit.u + c.v * hit.v};
        }
    }
    return {hit.u, 1.0f - hit.v};
}

inline f32 opacity_at(const Veils &veils, const Ray &ray, const PlacedHit &found) {
    const Primitive &primitive = veils.scene.primitives[found.hit.primitive];
    u32 material = found.instance == NO_INSTANCE ? primitive.material
                                                 : placed_material(veils.scene.instances[found.instance], primitive);
    u32 number = veils.materials[material].maps;
    if (number == 0) return 1.0f;
    const Maps &maps = veils.imagery.maps[number];
    if ((maps.used & (1u << MAP_OPACITY)) == 0) return cut(maps, maps.opacity);
    u32 map = maps.of[MAP_OPACITY];
    const Texture &texture = veils.imagery.textures[map >> 2];
    Pair at = coordinates_at(veils, ray, found, texture.second);
    Texel value = sample_texture(veils.imagery.texels, texture, at.x, at.y);
    return cut(maps, maps.opacity * part_of(value, map & 3));
}

inline bool meets(const Veils &veils, const Ray &ray, const PlacedHit &found, u32 key) {
    u32 number = veils.scene.primitives[found.hit.primitive].number;
    return veil_number(key, number, found.instance) < opacity_at(veils, ray, found);
}

inline void nearer_met_hit(const Veils &veils, u32 position, u32 instance, Vec3 origin, const Ray &ray, u32 from,
                           const Shear &shear, u32 key, PlacedHit &best) {
    const Primitive *primitives = veils.scene.primitives;
    PlacedHit near = best;
    nearer_placed_hit(primitives, position, instance, origin, ray, from, shear, near);
    if (near.hit.primitive != position || near.instance != instance) return;
    if (meets(veils, ray, near, key)) {
        best = near;
        return;
    }
    if (primitives[position].kind != SPHERE) return;
    Ray leaving = ray;
    leaving.from = position;
    PlacedHit far = best;
    nearer_placed_hit(primitives, position, instance, origin, leaving, instance, shear, far);
    bool behind = far.hit.primitive == position && far.hit.distance > near.hit.distance;
    if (behind && meets(veils, ray, far, hash(key))) best = far;
}

inline bool met_blocks(const Veils &veils, u32 position, u32 instance, Vec3 origin, const ShadowRay &ray, u32 from,
                       u32 to, const Shear &shear, u32 key) {
    if (position == ray.to && instance == to) return false;
    Ray along = {ray.origin, 0.0f, ray.direction, ray.from};
    PlacedHit best = {{ray.distance, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    nearer_met_hit(veils, position, instance, origin, along, from, shear, key, best);
    return best.hit.distance < ray.distance;
}

inline PlacedHit nearest_veiled(const Veils &veils, const Ray &ray, u32 from, u32 key) {
    PlacedHit best = {{MAX_F32, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    visit_placed(veils.scene, ray.origin, ray.direction, MAX_F32,
                 [&](u32 position, u32 instance, Vec3 origin, const Shear &sheared) {
                     nearer_met_hit(veils, position, instance, origin, ray, from, sheared, key, best);
                     return best.hit.distance;
                 });
    return best;
}

inline bool meets_light(const Veils &veils, const ShadowRay &ray, u32 to, u32 key) {
    if (ray.to == NO_PRIMITIVE) return true;
    Ray along = {ray.origin, 0.0f, ray.direction, ray.from};
    Vec3 origin = ray.origin, inward = ray.direction;
    if (to != NO_INSTANCE) {
        const Instance &placed = veils.scene.instances[to];
        origin = enter(placed, ray.origin - placed.position);
        inward = enter(placed, ray.direction);
    }
    TriangleHit met = hit_primitive(veils.scene.primitives[ray.to], origin, ray.direction, shear(inward), false);
    return meets(veils, along, {{ray.distance, ray.to, met.u, met.v}, to}, key);
}

inline bool occluded_veiled(const Veils &veils, const ShadowRay &ray, u32 from, u32 to, u32 key) {
    bool blocked = !meets_light(veils, ray, to, key);
    if (blocked) return true;
    visit_placed(veils.scene, ray.origin, ray.direction, ray.distance,
                 [&](u32 position, u32 instance, Vec3 origin, const Shear &sheared) {
                     blocked = met_blocks(veils, position, instance, origin, ray, from, to, sheared, key);
                     return blocked ? -1.0f : ray.distance;
                 });
    return blocked;
}
