// When stages begin, by the device's clock: see src/wave/clock.rs.
#include "words.cuh"

// Every thread calls it before its work; the first one of all keeps the time. A call: within the kernel it would cost
// traversal registers to the end.
inline __noinline__ void stamp(u64 *began) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *began = device_time();
}
