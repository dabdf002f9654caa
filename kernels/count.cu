// count: how many samples the pixels of a round have. Room: src/stages/count.rs.

extern "C" __global__ void count(u32 listed, u32 samples, u32 more, const u32 *list, u32 *taken) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= listed) return;
    taken[list[place]] = samples + (place < more ? 1u : 0u);
}
