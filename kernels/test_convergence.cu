// test_convergence: tests which pixels have converged, and keeps the others on the list. Stage: src/stages/test_convergence.rs.
#include "shared/film.cuh"
#include "shared/path.cuh"
#include "shared/pixel_noise.cuh"

// Estimates the noise of the listed pixels, and stores the sums at their last test.
extern "C" __global__ void estimate_noise(ConvergenceTest round, u32 listed, const u32 *list, const u64 *sums,
                                          u64 *sums_at_test, PixelNoise *pixel_noise) {
    u32 lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= listed) return;
    u32 pixel = list[lane];
    f32 earlier[3], added[3], now[3];
    for (u32 channel = 0; channel < 3; channel++) {
        u64 sum = sums[3ull * pixel + channel], before = sums_at_test[3ull * pixel + channel];
        earlier[channel] = mean(before, round.before);
        added[channel] = mean(sum - before, round.after - round.before);
        now[channel] = mean(sum, round.after);
        sums_at_test[3ull * pixel + channel] = sum;
    }
    pixel_noise[pixel] = after_round(pixel_noise[pixel], round, {earlier[0], earlier[1], earlier[2]},
                                     {added[0], added[1], added[2]}, {now[0], now[1], now[2]});
}

// The root mean square of the errors of the pixels of a pixel's tile, summed row by row.
inline f32 tile_error(const ConvergenceTest &round, const PixelNoise *pixel_noise, u32 pixel) {
    u32 left = pixel % round.width / TILE * TILE, top = pixel / round.width / TILE * TILE, count = 0;
    f32 sum = 0.0f;
    for (u32 y = top; y < top + TILE && y < round.height; y++) {
        for (u32 x = left; x < left + TILE && x < round.width; x++) {
            f32 error = min_f32(pixel_noise[y * round.width + x].error, MAX_ERROR);
            sum += error * error;
            count++;
        }
    }
    return sqrtf(sum / (f32)count);
}

// Tests the listed pixels. All estimates are up to date.
extern "C" __global__ void test_convergence(ConvergenceTest round, u32 listed, const u32 *list, PixelNoise *pixel_noise,
                                            u8 *flags, u64 *tally) {
    // What the block adds to the tally.
    __shared__ u64 added_up[TALLY_LEN];
    if (threadIdx.x == 0) {
        for (u32 place = 0; place < TALLY_LEN; place++) added_up[place] = 0;
    }
    __syncthreads();
    u32 lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane < listed) {
        u32 pixel = list[lane];
        PixelNoise noise = pixel_noise[pixel];
        f32 around = tile_error(round, pixel_noise, pixel);
        noise.converged_rounds = converged_rounds(noise, round, around);
        // Other threads read the error.
        pixel_noise[pixel].converged_rounds = noise.converged_rounds;
        bool done = has_converged(noise);
        flags[lane] = done ? 0 : 1;
        atomicAdd(added_up + (done ? CONVERGED_ERROR : UNCONVERGED_ERROR), error_units(noise.error));
        if (!done) atomicAdd(added_up + SAMPLES_TO_GO, samples_to_go(noise, round, around));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 place = 0; place < TALLY_LEN; place++) {
            if (added_up[place] != 0) atomicAdd(tally + place, added_up[place]);
        }
    }
}
