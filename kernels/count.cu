// count: stores how many samples each pixel of a round has. Stage: src/stages/count.rs.

extern "C" __global__ void count(u32 listed, const u32 *list, u32 samples, u32 *sample_counts, u32 more) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= listed) return;
    sample_counts[list[place]] = samples + (place < more ? 1u : 0u);
}
