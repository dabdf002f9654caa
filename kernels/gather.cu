// gather: adds another GPU's film to the sum of all films. Stage: src/stages/gather.rs.

extern "C" __global__ void gather(u32 count, const u64 *more, u64 *film) {
    u32 place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= count) return;
    film[place] += more[place];
}
