// megakernel: traces paths from the camera to the film, one per thread. Stage: src/stages/megakernel.rs.
#include "shared/whole_path.cuh"

// Three blocks share a multiprocessor: with at most 168 registers per thread.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 3)
    KERNEL(DeviceScene scene, Camera camera, Span span, const u32 *list, u32 max_bounces, DeviceFilm film, u32 *counts,
           u32 count_slots, u64 *began) {
    stamp(began);
    trace_paths(render_scene(scene), scene.nodes, camera, span, list, max_bounces, film, counts, count_slots);
}
