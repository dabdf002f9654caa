// CUDA's keywords and intrinsics for a host compiler. A grid is a loop over blocks, and a block has one thread.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __noinline__

struct Extent {
    unsigned x;
};
static Extent gridDim = {1}, blockDim = {1}, blockIdx = {0}, threadIdx = {0};

inline void __syncthreads() {}
inline unsigned __ballot_sync(unsigned, bool predicate) { return predicate; }

template <class T>
T atomicAdd(T *sum, T value) {
    T before = *sum;
    *sum += value;
    return before;
}

#line 1 "the program"
