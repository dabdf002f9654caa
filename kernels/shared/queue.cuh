// Distribution of a queue's entries over the threads of a grid: each thread takes every n-th entry, for n threads in
// all. So a grid smaller than its queue covers it, and a grid with an empty queue ends at once. Traversal by warps divides
// the queue differently, see warp_traversal.cuh.
#include "words.cuh"

// Returns the first queue entry of this thread.
inline u32 first_entry() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Returns the distance between the queue entries of a thread: the number of threads of the grid.
inline u32 entry_stride() { return gridDim.x * blockDim.x; }

// Returns the first queue entry of this thread for a traversal kernel, or `count` if it gets none. If the queue is
// short for the grid, only one of up to 32 adjacent threads gets entries, because diverging threads of a warp run one
// after another.
inline u32 first_entry_apart(u32 count) {
    u32 apart = 1;
    while (apart < 32 && count <= entry_stride() / (64 * apart)) apart *= 2;
    return first_entry() % apart == 0 ? first_entry() / apart : count;
}

// Adds up `counted` over the warp and adds the sum to `total` with one atomic operation. All threads of the warp call
// it.
inline void count_in_warp(u32 counted, u32 *total) {
    u32 sum = sum_over_warp(counted);
    if (threadIdx.x % WARP_LANES == 0 && sum != 0) atomicAdd(total, sum);
}
