// megakernel: paths from the camera to the film, a thread each. Room: src/stages/megakernel.rs.
#include "shared/whole_path.cuh"

// Three blocks share a multiprocessor: with at most 168 registers a thread.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 3)
    KERNEL(const Node *nodes, const Primitive *primitives, const Instance *placed, const Corners *corners,
           const MeshVertex *vertices, const Material *materials, const Maps *maps, const Texture *textures,
           const u32 *image_texels, const f32 *energy, const Light *table, const LightNode *light_nodes,
           const u32 *places, Surroundings surroundings, const Lamp *lamps, Environment environment,
           const EnvironmentRow *rows, const EnvironmentTexel *texels, Camera camera, Span span, const u32 *list,
           u32 max_bounces, u64 *sums, u64 *rejected, u32 *taken, u32 *counts, u32 count_slots, u64 *began) {
    stamp(began);
    Lights lights = {surroundings, primitives, materials, table, light_nodes, places, lamps, environment, rows, texels};
    World world = {primitives, placed, corners, vertices, materials, {maps, textures, image_texels}, energy, lights};
    trace_paths(world, nodes, camera, span, list, max_bounces, sums, rejected, taken, counts, count_slots);
}
