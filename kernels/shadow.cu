// shadow: tests the rays towards lights, and adds the light of those that nothing blocks. Stage: src/stages/shadow.rs.
#include "shared/clock.cuh"
#include "shared/warp_traversal.cuh"

// Seven blocks share a multiprocessor, or eight without instances: more warps hide more latency than the spilled
// registers cost.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, INSTANCED ? 7 : 8)
    KERNEL(const __grid_constant__ DeviceScene scene, const __grid_constant__ PathBuffers paths, u32 bounce,
           const u32 *queue_length, u64 *began) {
    stamp(began);
    trace_queue<true>(scene, paths, bounce, *queue_length);
}
