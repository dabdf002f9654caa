// test_convergence: tests which pixels have converged, and keeps the others on the list. Stage: src/stages/test_convergence.rs.
#include "shared/film.cuh"
#include "shared/pixel_noise.cuh"

extern "C" __global__ void test_convergence(ConvergenceTest round, u32 listed, const u32 *list, const u64 *sums, u64 *marks,
                                 PixelNoise *pixel_noise, u8 *flags, u64 *tally) {
    // What the block adds to the tally.
    __shared__ u64 added_up[TALLY_LEN];
    if (threadIdx.x == 0) {
        for (u32 place = 0; place < TALLY_LEN; place++) added_up[place] = 0;
    }
    __syncthreads();
    u32 lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane < listed) {
        u32 pixel = list[lane];
        f32 earlier[3], added[3], now[3];
        for (u32 channel = 0; channel < 3; channel++) {
            u64 sum = sums[3ull * pixel + channel], mark = marks[3ull * pixel + channel];
            earlier[channel] = mean(mark, round.before);
            added[channel] = mean(sum - mark, round.after - round.before);
            now[channel] = mean(sum, round.after);
            marks[3ull * pixel + channel] = sum;
        }
        PixelNoise noise = after_round(pixel_noise[pixel], round, {earlier[0], earlier[1], earlier[2]},
                                 {added[0], added[1], added[2]}, {now[0], now[1], now[2]});
        pixel_noise[pixel] = noise;
        bool done = has_converged(noise);
        flags[lane] = done ? 0 : 1;
        atomicAdd(added_up + (done ? CONVERGED_ERROR : UNCONVERGED_ERROR), error_units(noise.error));
        if (!done) atomicAdd(added_up + SAMPLES_TO_GO, samples_to_go(noise, round));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 place = 0; place < TALLY_LEN; place++) {
            if (added_up[place] != 0) atomicAdd(tally + place, added_up[place]);
        }
    }
}
