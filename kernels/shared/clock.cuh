// Start times of stages by the device's clock: see src/stages/wave/clock.rs.
#include "words.cuh"

// Stores the time at which the kernel begins; every thread calls it before its work, and the first one of the grid
// stores. It is not inlined, because it would cost registers during traversal.
inline __noinline__ void stamp(u64 *began) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *began = device_time();
}
