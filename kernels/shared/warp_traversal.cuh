// Traversal by whole warps: a lane whose ray ends takes the next ray of the queue while the other lanes go on. The hits
// are those of nearest_hit and is_blocked in rays.cuh.
//
// Rays that take different ways through the scene leave most lanes of a warp idle: until the longest ray ends, and
// while other lanes test primitives or enter an instance. In each iteration a lane visits at most one node; if the node
// stands for an instance, the ray enters that. It tests a primitive or both triangles of a quadrilateral, and more while enough
// lanes have some. Opacity tests wait until several lanes need one. Camera rays, which take similar ways, are faster
// without this: docs/experiments/045-refilled-warps.md.
#include "path_buffers.cuh"
#include "queue.cuh"
#include "rays.cuh"

// Minimum number of idle lanes for which a warp fetches new rays. Rays through instances take longer, so that idle lanes
// cost more than an early fetch.
constexpr u32 MIN_IDLE_LANES = INSTANCED ? 8 : 12;
// Whether a warp tests more primitives before the next node if enough lanes have some.
constexpr bool TESTS_SEVERAL = !INSTANCED || ALPHA_TESTED;
// Minimum number of lanes with primitives to test for which it does so.
constexpr u32 MIN_TESTING_LANES = 8;
// Minimum number of lanes that wait for an opacity test, if other lanes have something else to do.
constexpr u32 MIN_OPACITY_LANES = 3;

// Maximum number of adjacent queue entries that a warp takes. With instances, some parts of an image take far longer
// than others, so that each warp takes some entries of many parts.
constexpr u32 MAX_PORTION = INSTANCED ? 64 : 512;
// Number of entries that a warp gets of a long queue, enough to replace the ray of a lane many times.
constexpr u32 ENTRIES_PER_WARP = 512;

// The opacity test that a lane waits for: of a hit, of the far side of a sphere, or of the light that a shadow ray goes
// to.
constexpr u32 NO_TEST = 0, TEST_HIT = 1, TEST_FAR_SIDE = 2, TEST_LIGHT = 3;

constexpr u32 EVERY_LANE = 0xffffffffu >> (32 - WARP_LANES);

// The queue entries of a warp: portions of adjacent entries, at equal distances over the whole queue.
struct WarpEntries {
    u32 next, end;  // in the current portion
    u32 portion;    // maximum number of entries of a portion
    u32 skipped;    // number of entries between portions
    u32 count;      // number of entries of the queue
};

// Returns the entries of this thread's warp. A long queue is divided among so many warps that each gets ENTRIES_PER_WARP
// entries, but among at least a quarter and at most all warps of the grid. A shorter queue gives each warp an entry
// per lane. A very short one is divided among a 32nd of all warps, with fewer entries each.
inline WarpEntries warp_entries(u32 count) {
    u32 all_warps = entry_stride() / WARP_LANES, warp = first_entry() / WARP_LANES;
    u32 warps = count / ENTRIES_PER_WARP;
    u32 filled = count / WARP_LANES;
    if (warps < all_warps / 4) warps = filled < all_warps / 4 ? filled : all_warps / 4;
    if (warps < all_warps / 32) warps = all_warps / 32;
    if (warps > all_warps) warps = all_warps;
    if (warps == 0) warps = 1;
    u32 portion = (count + warps - 1) / warps;
    if (portion > MAX_PORTION) portion = MAX_PORTION;
    u32 first = warp * portion;
    if (warp >= warps || first >= count) return {count, count, portion, 0, count};
    return {first, count - first < portion ? count : first + portion, portion, (warps - 1) * portion, count};
}

// Returns whether a warp has entries left.
inline bool has_more(const WarpEntries &entries) {
    return entries.next < entries.end || entries.count - entries.end > entries.skipped;
}

// Returns the next entry for each lane in the mask `idle`, or NO_PATH. All lanes of the warp call it.
inline u32 take_entry(WarpEntries &entries, u32 idle) {
    if (entries.next >= entries.end) {
        entries.next = entries.end + entries.skipped;
        bool last = entries.count - entries.next < entries.portion;
        entries.end = last ? entries.count : entries.next + entries.portion;
    }
    u32 lane = threadIdx.x % WARP_LANES;
    u32 entry = entries.next + count_ones(idle & ((1u << lane) - 1));
    entries.next += count_ones(idle);
    return entry < entries.end ? entry : NO_PATH;
}

// A ray in the space of the scene or of an instance.
struct LocalRay {
    BoxRay boxes;
    Shear sheared;
};

// The rays of a block in the space of the scene, for lanes whose ray is inside an instance. In registers they would leave
// room for fewer warps. Threads of a warp use different banks.
struct RaysInScene {
    u32 words[sizeof(LocalRay) / 4][BLOCK_THREADS];
};

// Stores this thread's ray.
inline void save_ray(RaysInScene &rays, const LocalRay &ray) {
    u32 words[sizeof(LocalRay) / 4];
    memcpy(words, &ray, sizeof(LocalRay));
#pragma unroll
    for (u32 i = 0; i < sizeof(LocalRay) / 4; i++) rays.words[i][threadIdx.x] = words[i];
}

// Returns the ray that this thread stored.
inline LocalRay saved_ray(const RaysInScene &rays) {
    u32 words[sizeof(LocalRay) / 4];
#pragma unroll
    for (u32 i = 0; i < sizeof(LocalRay) / 4; i++) words[i] = rays.words[i][threadIdx.x];
    LocalRay ray;
    memcpy(&ray, words, sizeof(LocalRay));
    return ray;
}

// What one lane knows of its ray.
struct LaneRay {
    u32 entry;  // NO_PATH if there is none
    bool busy;
    Vec3 origin, direction;
    u32 from_primitive, from, to_primitive, to;
    LocalRay local;
    u32 instance;  // of `local`
    InstanceHit best;
    Group group;         // nodes to visit
    u32 first, waiting;  // primitives to test: the bits of `waiting`, relative to `first`
    u32 height, floor;   // of the stack, and when the instance was entered
    u32 test;            // the opacity test of `candidate`
    InstanceHit candidate;
};

// Ends the traversal of a shadow ray that is blocked.
inline void end(LaneRay &ray) {
    ray.busy = false;
    ray.waiting = 0;
    ray.group.bits = 0;
}

// Stores the result of a ray that has ended.
template <bool SHADOW>
inline void store_result(const DeviceScene &scene, const PathBuffers &paths, u32 bounce, const LaneRay &ray) {
    u32 path = paths.queue[ray.entry];
    bool missed = ray.best.hit.primitive == NO_PRIMITIVE;
    if (SHADOW) {
        if (missed) paths.radiances[path].rgb = paths.radiances[path].rgb + paths.shadow_rays[ray.entry].light;
        return;
    }
    // If there is more than a constant sky, intersect_sky adds its light.
    if (missed && scene.light_params.far_lights == 0) {
        Vec3 light = paths.throughputs[path].rgb * scene.light_params.sky;
        paths.radiances[path].rgb = paths.radiances[path].rgb + clamp_indirect(scene.light_params, light, bounce);
    }
    if (INSTANCED) paths.instances[path] = ray.best.instance;
    paths.hits[path] = ray.best.hit;
    paths.flags[ray.entry] = missed ? 0 : 1;
}

// Starts with the ray of a queue entry, if it has one, and requests what later shadow rays of the warp will wait for.
// `in_scene` receives the ray in the space of the scene. The queue has `count` entries.
template <bool SHADOW>
inline void fetch_ray(const InstancedScene &tree, const PathBuffers &paths, u32 entry, u32 count, LaneRay &ray,
                      RaysInScene &in_scene) {
    u32 path = paths.queue[entry];
    f32 distance = MAX_F32;
    if (SHADOW) {
        const PackedShadowRay fetched = paths.shadow_rays[entry];
        distance = fabsf(fetched.distance_and_sign);
        if (count - entry > WARP_LANES) prefetch(&paths.shadow_rays[entry + WARP_LANES]);
        if (distance == 0.0f) return;
        // Needed if nothing blocks the ray.
        prefetch(&paths.radiances[path]);
        ShadowOrigin start = shadow_origin(paths, entry, fetched);
        ray.origin = start.origin;
        ray.direction = fetched.direction;
        ray.from_primitive = start.from_primitive;
        ray.to_primitive = fetched.to_primitive;
        if (INSTANCED) ray.to = paths.light_instances[entry];
    } else {
        if (path == NO_PATH) {
            paths.flags[entry] = 0;
            return;
        }
        const Ray &fetched = paths.rays[path];
        ray.origin = fetched.origin;
        ray.direction = fetched.direction;
        ray.from_primitive = fetched.from_primitive;
    }
    ray.busy = true;
    ray.entry = entry;
    if (INSTANCED) ray.from = paths.instances[path];
    f32 padding = slack(ray.origin, tree.extent) * (INSTANCED ? INSTANCED_SLACK : 1.0f);
    ray.local = {box_ray(ray.origin, ray.direction, padding), shear(ray.direction)};
    if (INSTANCED) save_ray(in_scene, ray.local);
    ray.instance = NO_INSTANCE;
    ray.best = {{distance, NO_PRIMITIVE, 0.0f, 0.0f}, NO_INSTANCE};
    ray.group = {0, 1u << 31};
    ray.waiting = 0;
    ray.height = 0;
    ray.floor = 0;
    if (ALPHA_TESTED && SHADOW && ray.to_primitive != NO_PRIMITIVE) {
        Vec3 origin = ray.origin, inward = ray.direction;
        if (ray.to != NO_INSTANCE) {
            const Instance &mesh_instance = tree.instances[ray.to];
            origin = to_object(mesh_instance, ray.origin - mesh_instance.position);
            inward = to_object(mesh_instance, ray.direction);
        }
        const Primitive &light = tree.primitives[ray.to_primitive];
        TriangleHit met = hit_primitive(light, origin, ray.direction, shear(inward), false);
        ray.candidate = {{distance, ray.to_primitive, met.u, met.v}, ray.to};
        ray.test = TEST_LIGHT;
    }
}

// Visits the next node. Returns the instance that the ray enters, or NO_INSTANCE.
inline u32 visit_node(const InstancedScene &tree, Group *stack, LaneRay &ray) {
    u32 imask = ray.group.bits & 255;
    u32 bit = 31 - leading_zeros(ray.group.bits);
    ray.group.bits &= ~(1u << bit);
    if (ray.group.bits >> 24 != 0) stack[ray.height++] = ray.group;
    u32 slot = (bit - 24) ^ ray.local.boxes.octant;
    Node node = tree.nodes[ray.group.base + count_ones(imask & ~(0xffffffffu << slot))];
    u32 bits = hit_children(node, ray.local.boxes, ray.best.hit.distance);
    ray.first = node.primitive_base;
    ray.waiting = bits & 0x00ffffff;
    ray.group = {node.child_base, (bits & 0xff000000u) | (node.exponents >> 24)};
    if (!INSTANCED || (node.child_base & INSTANCE_NODE) == 0) return NO_INSTANCE;
    ray.group.base = node.child_base & ~INSTANCE_NODE;
    return bits == 0 ? NO_INSTANCE : node.primitive_base;
}

// Returns what is known of the opacity at a hit of the primitive with this index. Without opacity tests all are opaque.
inline u32 opacity_without_test(const DeviceScene &scene, u32 position, TriangleHit hit) {
    if (!ALPHA_TESTED) return OPAQUE;
    return known_opacity(scene.opacity_maps, position, hit.u, hit.v);
}

// Tests the next primitive, and the one after it if both form a quadrilateral.
template <bool SHADOW>
inline void test_primitive(const DeviceScene &scene, LaneRay &ray) {
    u32 offset = take_lowest(ray.waiting);
    bool next_waits = (ray.waiting & (2u << offset)) != 0;
    u32 from_primitive = ray.instance == ray.from ? ray.from_primitive : NO_PRIMITIVE;
    PrimitiveHit met = intersect_at(scene.primitives, ray.first + offset, next_waits, ray.local.boxes.origin,
                                    ray.direction, ray.local.sheared, from_primitive);
    if (met.tested_next) take_lowest(ray.waiting);
    const TriangleHit &hit = met.hit;
    u32 position = met.position;
    if (SHADOW && position == ray.to_primitive && ray.instance == ray.to) return;
    bool ahead = hit.distance > 0.0f &&
                 (SHADOW ? hit.distance < ray.best.hit.distance : hit.distance <= ray.best.hit.distance);
    if (!SHADOW && ahead && hit.distance == ray.best.hit.distance && ray.best.hit.primitive != NO_PRIMITIVE) {
        u32 ours = INSTANCED ? ray.instance + 1 : 0, others = INSTANCED ? ray.best.instance + 1 : 0;
        u32 other = scene.primitives[ray.best.hit.primitive].number;
        if (ours > others || (ours == others && met.number > other)) ahead = false;
    }
    if (!ahead) return;
    InstanceHit found = {{hit.distance, position, hit.u, hit.v}, ray.instance};
    u32 known = opacity_without_test(scene, position, hit);
    if (known == TRANSPARENT) return;
    if (known == UNKNOWN) {
        ray.candidate = found;
        ray.test = TEST_HIT;
        return;
    }
    ray.best = found;
    if (SHADOW) end(ray);
}

// Performs the opacity test that the lane waits for.
template <bool SHADOW>
inline void test_opacity(const DeviceScene &scene, const PathBuffers &paths, u32 bounce, LaneRay &ray) {
    StochasticOpacity opacity = stochastic_opacity(scene, !SHADOW && bounce == 0);
    const InstanceHit &candidate = ray.candidate;
    const Primitive &primitive = scene.primitives[candidate.hit.primitive];
    Ray along = {ray.origin, 0.0f, ray.direction, ray.from_primitive};
    f32 part = opacity_at(opacity, along, candidate);
    bool passes = part >= 1.0f;
    // An opacity of 0 never passes and one of 1 always does, so that most tests need no random number.
    if (part > 0.0f && !passes) {
        Sampler numbers = path_sampler(paths, paths.queue[ray.entry]);
        u32 key = opacity_hash(numbers, bounce, SHADOW ? SHADOW_RAY : PATH_RAY);
        if (ray.test == TEST_FAR_SIDE) key = hash(key);
        passes = opacity_random(key, primitive.number, candidate.instance) < part;
    }
    u32 test = ray.test;
    ray.test = NO_TEST;
    if (SHADOW && passes == (test != TEST_LIGHT)) {
        ray.best = candidate;
        end(ray);
    } else if (!SHADOW && passes) {
        ray.best = candidate;
    } else if (test == TEST_HIT && is_sphere(primitive)) {
        along.from_primitive = candidate.hit.primitive;
        InstanceHit far = ray.best;
        nearer_instance_hit(scene.primitives, along.from_primitive, ray.instance, ray.local.boxes.origin, along,
                            ray.instance, ray.local.sheared, far);
        bool behind = far.hit.primitive == along.from_primitive && far.hit.distance > candidate.hit.distance;
        if (behind && (!SHADOW || far.hit.distance < ray.best.hit.distance)) {
            ray.candidate = far;
            ray.test = TEST_FAR_SIDE;
        }
    }
}

// Enters an instance, whose node has just been visited.
inline void enter_instance(const InstancedScene &tree, u32 instance, LaneRay &ray) {
    ray.instance = instance;
    ray.floor = ray.height;
    const Instance mesh_instance = tree.instances[ray.instance];
    Vec3 origin = to_object(mesh_instance, ray.origin - mesh_instance.position);
    Vec3 inward = to_object(mesh_instance, ray.direction);
    u32 octant_above = ray.local.boxes.octant;
    ray.local = {box_ray(origin, inward, slack(origin, mesh_instance.extent)), shear(inward)};
    ray.group.bits = change_octant(ray.group.bits, octant_above ^ ray.local.boxes.octant);
    if (ray.waiting != 0) ray.first = tree.nodes[mesh_instance.root].primitive_base;
}

// Takes the next group from the stack, and leaves the instance that has no more. Ends the ray if the stack is empty.
inline void pop(const Group *stack, const RaysInScene &in_scene, LaneRay &ray) {
    if (INSTANCED && ray.instance != NO_INSTANCE && ray.height == ray.floor) {
        ray.local = saved_ray(in_scene);
        ray.instance = NO_INSTANCE;
    }
    if (ray.height == 0) {
        ray.busy = false;
        return;
    }
    ray.group = stack[--ray.height];
}

// Traces the rays of a queue, or its shadow rays. All lanes of a warp call it together.
template <bool SHADOW>
inline void trace_queue(const DeviceScene &scene, const PathBuffers &paths, u32 bounce, u32 count) {
    WarpEntries entries = warp_entries(count);
    const InstancedScene tree = instanced_scene(scene);
    Group stack[STACK_SIZE];
    __shared__ RaysInScene in_scene;
    LaneRay ray = {};
    ray.entry = NO_PATH;
    ray.from_primitive = ray.to_primitive = NO_PRIMITIVE;
    ray.instance = ray.from = ray.to = NO_INSTANCE;
    for (;;) {
        u32 idle = __ballot_sync(EVERY_LANE, !ray.busy);
        if (idle == EVERY_LANE || (count_ones(idle) >= MIN_IDLE_LANES && has_more(entries))) {
            if (!ray.busy && ray.entry != NO_PATH) {
                store_result<SHADOW>(scene, paths, bounce, ray);
                ray.entry = NO_PATH;
            }
            if (!has_more(entries)) return;
            u32 entry = take_entry(entries, idle);
            if (!ray.busy && entry != NO_PATH) fetch_ray<SHADOW>(tree, paths, entry, count, ray, in_scene);
        }

        u32 entered = NO_INSTANCE;
        if (ray.group.bits >> 24 != 0 && ray.waiting == 0 && ray.test == NO_TEST) entered = visit_node(tree, stack, ray);
        if (INSTANCED && entered != NO_INSTANCE) enter_instance(tree, entered, ray);

        u32 testing = 0;
        do {
            if (ray.waiting != 0 && ray.test == NO_TEST) test_primitive<SHADOW>(scene, ray);
            if (TESTS_SEVERAL) testing = __ballot_sync(EVERY_LANE, ray.waiting != 0 && ray.test == NO_TEST);
        } while (count_ones(testing) >= MIN_TESTING_LANES);

        u32 tests = ALPHA_TESTED ? __ballot_sync(EVERY_LANE, ray.test != NO_TEST) : 0;
        if (tests != 0) {
            u32 others = __ballot_sync(EVERY_LANE, ray.busy && ray.test == NO_TEST);
            if (count_ones(tests) >= MIN_OPACITY_LANES || count_ones(others) <= count_ones(tests)) {
                if (ray.test != NO_TEST) test_opacity<SHADOW>(scene, paths, bounce, ray);
            }
        }

        bool finished = ray.group.bits >> 24 == 0 && ray.waiting == 0 && ray.test == NO_TEST;
        if (ray.busy && finished) pop(stack, in_scene, ray);
    }
}
