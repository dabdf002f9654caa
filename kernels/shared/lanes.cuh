// The lanes of a queue, dealt to the threads of a grid in turn: a grid that is smaller than its queue takes it all the
// same, and one whose queue is empty is soon done.

inline u32 first_lane() { return blockIdx.x * blockDim.x + threadIdx.x; }

inline u32 lane_stride() { return gridDim.x * blockDim.x; }

// The first, where a thread goes a long way alone, through a tree: so few lanes that they leave most of the device idle are
// dealt to one thread of many warps each, since what goes different ways in one warp goes one after the other.
inline u32 first_lane_apart(u32 count) {
    u32 apart = 1;
    while (apart < 32 && count <= lane_stride() / (64 * apart)) apart *= 2;
    return first_lane() % apart == 0 ? first_lane() / apart : count;
}

// Adds what the threads of the block counted, by one addition to `total`. All threads of the block call it.
inline void count_in_block(u32 counted, u32 *total) {
    __shared__ u32 sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (counted != 0) atomicAdd(&sum, counted);
    __syncthreads();
    if (threadIdx.x == 0 && sum != 0) atomicAdd(total, sum);
}
