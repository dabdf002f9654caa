// Items on their way from global to shared memory, without going through registers where a GPU can do so (from compute
// capability 8.0 on): what a block waits with is bounded by its shared memory then, and blocks are many.
#pragma once

#include "prelude.cuh"

// How many blocks a multiprocessor should have registers for, where staging lets it hold so many.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr u32 staging_blocks(u32) { return 1; }
#else
constexpr u32 staging_blocks(u32 blocks) { return blocks; }
#endif

// Begins to copy 16 bytes, both on 16 bytes. The thread that asked may read them after `await_stage`.
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

// Waits for all that this thread has staged.
__device__ __forceinline__ void await_stage()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
