// clock_stamp: stores the time at which the next work of a stream begins. Launched by src/stages/wave/clock.rs.
#include "shared/clock.cuh"

extern "C" __global__ void clock_stamp(u64 *began) { stamp(began); }
