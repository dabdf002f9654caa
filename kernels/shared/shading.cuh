// The shading of one path at a hit: emission, a shadow ray, and the next ray. Twin: src/vertex/shading.rs.
// Kernels are compiled for the features of a scene, KINDS and INSTANCED.
#include "bodies.cuh"
#include "bsdf.cuh"
#include "instance.cuh"
#include "light.cuh"
#include "material_textures.cuh"
#include "rays.cuh"
#include "sampler.cuh"
#include "texture.cuh"

struct RenderScene {
    const Primitive *primitives;
    const Instance *instances;
    const Corners *corners;
    const MeshVertex *vertices;
    const Material *materials;
    TextureAtlas texture_atlas;
    const f32 *energy;
    Lights lights;
};

// Returns the scene in the form that shading takes.
inline RenderScene render_scene(const DeviceScene &scene) {
    return {scene.primitives, scene.instances, scene.corners, scene.vertices, scene.materials,
            {scene.maps, scene.textures, scene.texels}, scene.energy, lights_of(scene)};
}

struct Vertex {
    Sampler numbers;
    u32 bounce;
    u32 instance;
    Ray ray;
    Throughput throughput;
    u32 bodies;
    Vec3 emitted;
    ShadowRay shadow_ray;
    u32 light_instance;
    u32 shadow_bodies;
};

inline u32 instance_entry(const RenderScene &scene, u32 instance) {
    const LightParams &light_params = scene.lights.light_params;
    if ((KINDS & INSTANCED_LIGHTS) == 0 || light_params.first_instanced == NO_PRIMITIVE) return NO_LIGHT;
    return scene.lights.places[light_params.instance_entries + instance];
}

inline Vec3 emission(const RenderScene &scene, const Hit &hit, Vec3 emitted, const Vertex &vertex, f32 cosine) {
    Vec3 carried = vertex.throughput.rgb * emitted;
    if (vertex.ray.pdf == 0.0f) return carried;
    u32 position = hit.primitive;
    if (vertex.instance != NO_INSTANCE) {
        u32 entry = instance_entry(scene, vertex.instance);
        if (entry == NO_LIGHT) return carried;
        position += entry;
    }
    Vec3 origin = vertex.ray.origin;
    f32 share = emitter_area_pdf(scene.lights, position, origin);
    f32 pdf = light_pdf(scene.primitives[position], share, origin, hit.distance, cosine);
    return carried * sample_weight(scene.lights.light_params.strategies, BSDF_SAMPLES, vertex.ray.pdf, pdf);
}

inline Vec3 sent(const RenderScene &scene, Vec3 origin, const LightSample &sample, u32 to, u32 instance) {
    const Material &material = scene.materials[scene.primitives[sample.to_primitive].material];
    if (material.maps == 0) return sample.radiance;
    Ray ray = {origin, 0.0f, sample.direction, NO_PRIMITIVE};
    bool is_instanced = (KINDS & INSTANCED_LIGHTS) != 0 && instance != NO_INSTANCE;
    Vec3 local = origin, inward = ray.direction;
    if (is_instanced) {
        const Instance &mesh_instance = scene.instances[instance];
        local = to_object(mesh_instance, origin - mesh_instance.position);
        inward = to_object(mesh_instance, ray.direction);
    }
    const Primitive &primitive = scene.primitives[to];
    TriangleHit met = hit_primitive(primitive, local, ray.direction, shear(inward), false);
    Hit hit = {sample.distance, to, met.u, met.v};
    Surface surface;
    if (is_instanced) {
        surface = instance_surface(scene.instances[instance], scene.corners, scene.vertices, primitive, ray, hit);
    } else {
        surface = surface_at(primitive, ray, hit);
    }
    return emission_at(scene.texture_atlas, material, surface);
}

inline void connect_light(const RenderScene &scene, const Bsdf &bsdf, u32 primitive_left, const Surface &surface,
                          Vertex &vertex) {
    u32 choice = pair_bits(vertex.numbers, vertex.bounce, PAIR_CHOICE).x;
    PairBits point = pair_bits(vertex.numbers, vertex.bounce, PAIR_LIGHT);
    RayOrigin from = ray_origin(surface, 1.0f);
    LightSample sample = sample_light(scene.lights, from.origin, choice, point.x, point.y);
    f32 cosine = dot(surface.normal, sample.direction), shaded = dot(surface.shading, sample.direction);
    bool above = shaded > 0.0f && (cosine > 0.0f || from.lifted), below = shaded < 0.0f && cosine < 0.0f;
    if (sample.distance <= 0.0f || !(above || below)) return;
    if (below) from = ray_origin(surface, -1.0f);
    u32 to = sample.to_primitive, light_instance = NO_INSTANCE;
    bool in_scene = (KINDS & INSTANCED_LIGHTS) == 0 || to < scene.lights.light_params.first_instanced || to == NO_PRIMITIVE;
    if (INSTANCED && !in_scene) {
        light_instance = scene.primitives[to].number;
        to -= instance_entry(scene, light_instance);
    }
    Vec3 radiance = sample.radiance;
    if (INSTANCED && to != NO_PRIMITIVE) radiance = sent(scene, from.origin, sample, to, light_instance);
    BsdfValue value = bsdf_value(scene.energy, bsdf, surface.shading, -vertex.ray.direction, sample.direction);
    f32 found = sample.is_delta == 1 ? 0.0f : value.pdf;
    f32 weight = sample_weight(scene.lights.light_params.strategies, LIGHT_SAMPLES, sample.pdf, found);
    Vec3 light_here = vertex.throughput.rgb * value.color * radiance * (value.scale * weight / sample.pdf);
    if (max_component(light_here) <= 0.0f) return;
    vertex.shadow_ray.origin = from.origin;
    vertex.shadow_ray.distance = sample.distance;
    vertex.shadow_ray.direction = sample.direction;
    vertex.shadow_ray.from_primitive = from.lifted ? NO_PRIMITIVE : primitive_left;
    vertex.shadow_ray.to_primitive = to;
    vertex.light_instance = light_instance;
    vertex.shadow_ray.light = clamp_indirect(scene.lights.light_params, light_here, vertex.bounce + 1);
}

inline bool scatter(const RenderScene &scene, f32 choice, const Bsdf &bsdf, u32 primitive, const Surface &surface,
                    Vertex &vertex) {
    Vec3 to_eye = -vertex.ray.direction;
    BsdfSample next;
    if (is_specular(bsdf)) {
        next = sample_specular(bsdf, surface.shading, to_eye, choice);
    } else {
        bool lit = scene.lights.light_params.light_count > 0;
        if (lit) connect_light(scene, bsdf, primitive, surface, vertex);
        Pair numbers = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
        next = bsdf_sample(scene.energy, bsdf, surface.shading, to_eye, choice, numbers.x, numbers.y);
    }
    vertex.throughput.rgb = vertex.throughput.rgb * next.weight;
    vertex.throughput.eta_scale = vertex.throughput.eta_scale * next.eta_scale;
    RayOrigin from = ray_origin(surface, next.side);
    bool through = dot(surface.normal, next.direction) * next.side < 0.0f && !from.lifted;
    if (through) vertex.throughput.rgb = {0.0f, 0.0f, 0.0f};
    vertex.ray.origin = from.origin;
    vertex.ray.from_primitive = from.lifted ? NO_PRIMITIVE : primitive;
    vertex.ray.direction = next.direction;
    vertex.ray.pdf = next.pdf;
    return next.side < 0.0f;
}

inline bool survives_roulette(u32 start, u32 bounce, f32 choice, Throughput &throughput) {
    if (bounce + 1 < start) return true;
    f32 chance = min_f32(max_component(throughput.rgb) * throughput.eta_scale, 1.0f);
    throughput.rgb = throughput.rgb * (1.0f / chance);
    return choice < chance;
}

// A loop keeps a single inlined lookup of textures.
inline Material material_here(const RenderScene &scene, const Vertex &vertex, Surface &surface) {
    u32 index = surface.material, sides = 0;
    Vec3 emission = {0.0f, 0.0f, 0.0f};
    f32 choice = 0.0f;
    // Before a normal map bends the shading normal.
    bool front = -dot(vertex.ray.direction, surface.shading) > 0.0f, is_turned = false;
#pragma unroll 1
    for (u32 level = 0;; level++) {
        const Material &table = scene.materials[index];
        Material material = table;
        if (INSTANCED && table.maps != 0) {
            // The opposite tangent reverses the slopes of the relief.
            bool turns = !front && (table.flags & MIRRORED_RELIEF) != 0;
            if (turns != is_turned) surface.tangent = -surface.tangent;
            is_turned = turns;
            material = material_at(scene.texture_atlas, table, surface);
        }
        bool is_blend = HAS(EXTENDED) && (material.flags & BLEND) != 0;
        if (HAS(EXTENDED) && level > 0) {
            material.emission = emission;
            material.flags = (material.flags & ~TWO_SIDED_EMISSION) | sides;
        } else if (is_blend) {
            emission = material.emission;
            sides = material.flags & TWO_SIDED_EMISSION;
            choice = pair(vertex.numbers, vertex.bounce, PAIR_BLEND).x;
        }
        if (!is_blend || level == MAX_BLENDS) return material;
        if (!front && (material.flags & BY_SIDE) != 0) material.weight = 1.0f;
        ChosenMaterial chosen = choose_material(material, choice);
        index = chosen.index;
        choice = chosen.choice;
    }
}

inline bool shade_path(const RenderScene &scene, bool scatters, const Hit &hit, Vertex &vertex) {
    Primitive primitive = scene.primitives[hit.primitive];
    Surface surface;
    if (INSTANCED && vertex.instance != NO_INSTANCE) {
        const Instance &mesh_instance = scene.instances[vertex.instance];
        surface = instance_surface(mesh_instance, scene.corners, scene.vertices, primitive, vertex.ray, hit);
    } else {
        surface = surface_at(primitive, vertex.ray, hit);
    }
    Material material = material_here(scene, vertex, surface);
    f32 cosine = -dot(vertex.ray.direction, surface.normal);
    bool front = cosine > 0.0f;
    bool tracks_bodies = (KINDS & ABSORBING) != 0 && scene.lights.light_params.tracks_bodies == 1;
    u32 body = body_of(surface.material);
    Vec3 absorption = {0.0f, 0.0f, 0.0f};
    bool has_boundaries = (KINDS & BOUNDARIES) != 0 && scene.lights.light_params.has_boundaries == 1;
    if (tracks_bodies && !has_boundaries) absorption = absorption_before(scene.materials, vertex.bodies, body, material, front);
    if ((KINDS & ABSORBING) != 0 && max_component(absorption) > 0.0f) {
        vertex.throughput.rgb = vertex.throughput.rgb * transmitted(absorption, hit.distance);
    }
    if (max_component(material.emission) > 0.0f) {
        if (front) {
            vertex.emitted = emission(scene, hit, material.emission, vertex, cosine);
        } else if ((material.flags & TWO_SIDED_EMISSION) != 0) {
            vertex.emitted = vertex.throughput.rgb * material.emission;
        }
        vertex.emitted = clamp_indirect(scene.lights.light_params, vertex.emitted, vertex.bounce);
    }
    if (!scatters || (!front && material.one_sided == 1)) return false;
    if (is_black(material)) {
        vertex.throughput.rgb = {0.0f, 0.0f, 0.0f};
        return false;
    }
    f32 side = front ? 1.0f : -1.0f;
    Vec3 front_shading = surface.shading;
    surface.normal = surface.normal * side;
    surface.shading = INSTANCED ? consistent_normal(surface.shading * side, surface.normal, -vertex.ray.direction)
                             : surface.normal;
    f32 cos_eye = -dot(vertex.ray.direction, surface.shading), cos_coat = cos_eye;
    if ((KINDS & COAT_NORMALS) != 0) {
        surface.coat = INSTANCED ? consistent_normal(surface.coat * side, surface.normal, -vertex.ray.direction)
                              : surface.normal;
        cos_coat = -dot(vertex.ray.direction, surface.coat);
    }
    Pair choice = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    Vec3 tangent = {0.0f, 0.0f, 0.0f};
    f32 along2 = 0.0f;
    bool anisotropic = (KINDS & ANISOTROPIC) != 0 && (material.flags & ANISOTROPIC_FACETS) != 0;
    if ((HAS(EXTENDED) && material.kind == EXTENDED) || anisotropic) {
        Vec3 direction = anisotropy_direction(material, front_shading, surface.tangent, surface.handedness);
        tangent = tangent_at(direction, surface.shading);
        along2 = along_tangent(in_frame(surface.shading, tangent, -vertex.ray.direction));
        if (material.dispersion > 0.0f && material.transmission > 0.0f) {
            ChosenChannel chosen = choose_channel(vertex.throughput.rgb, choice.y);
            vertex.throughput.rgb = chosen.throughput;
            material.table = dispersed_table(material, chosen.channel);
            material.ior = dispersed_ior(material, chosen.channel);
            choice.y = chosen.choice;
        }
    }
    if ((KINDS & NESTED) != 0 && priority_of(material) > 0) {
        u32 outside = outside_body(vertex.bodies, body);
        if (outside != 0) {
            const Material &around = scene.materials[outside - 1];
            f32 outside_ior = around.ior;
            if (around.dispersion > 0.0f) {
                ChosenChannel chosen = choose_channel(vertex.throughput.rgb, choice.y);
                vertex.throughput.rgb = chosen.throughput;
                outside_ior = dispersed_ior(around, chosen.channel);
                choice.y = chosen.choice;
            }
            material = material_in(scene.energy, material, outside_ior);
        }
    }
    Bsdf bsdf = bsdf_of(scene.energy, material, cos_eye, cos_coat, along2, front);
    bsdf.coat_normal = surface.coat;
    bsdf.tangent = tangent;
    bool is_transmitted = scatter(scene, choice.x, bsdf, hit.primitive, surface, vertex);
    if (tracks_bodies) {
        u32 beyond = (KINDS & NESTED) != 0 ? nested_beyond(scene.materials, vertex.bodies, body, material, front)
                                           : bodies_beyond(vertex.bodies, body, material, front);
        ShadowRay &shadow_ray = vertex.shadow_ray;
        bool is_below = dot(surface.shading, shadow_ray.direction) < 0.0f;
        vertex.shadow_bodies = is_below ? beyond : vertex.bodies;
        // No light at infinity is inside a body.
        if (shadow_ray.distance > 0.0f && shadow_ray.distance < MAX_F32 && !has_boundaries) {
            if (is_below) {
                absorption = absorption_beyond(scene.materials, beyond, absorption, material, front);
            }
            if (max_component(absorption) > 0.0f) {
                shadow_ray.light = shadow_ray.light * transmitted(absorption, shadow_ray.distance);
            }
        }
        if (is_transmitted) vertex.bodies = beyond;
    }
    return max_component(vertex.throughput.rgb) > 0.0f &&
           survives_roulette(scene.lights.light_params.roulette_start, vertex.bounce, choice.y, vertex.throughput);
}
