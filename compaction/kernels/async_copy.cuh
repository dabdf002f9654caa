// Asynchronous copies from global to shared memory, which bypass registers from compute capability 8.0 on. The data in
// flight of a block is then limited by its shared memory, and more blocks are resident.
#pragma once

#include "prelude.cuh"

// The number of resident blocks per multiprocessor to compile for; 1 where copies need registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr u32 staging_blocks(u32) { return 1; }
#else
constexpr u32 staging_blocks(u32 blocks) { return blocks; }
#endif

// Starts a copy of 16 bytes; both addresses are aligned to 16. The calling thread may read them after `await_stage`.
__device__ __forceinline__ void stage(void *shared, const void *global)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(shared)),
                 "l"(__cvta_generic_to_global(global))
                 : "memory");
#else
    *(uint4 *)shared = *(const uint4 *)global;
#endif
}

// Waits for all copies that this thread started.
__device__ __forceinline__ void await_stage()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
