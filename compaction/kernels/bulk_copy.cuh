// Bulk copies from global to shared memory and the shared memory barriers (mbarrier) that signal their completion, from
// compute capability 9.0 on. One thread copies a whole tile, and no registers are used.
#pragma once

#include "prelude.cuh"

// A barrier in shared memory with successive phases. A phase completes once the number of threads given to `set_up`
// have arrived and all promised bytes have been copied.
struct Barrier {
    u64 word;

    // One thread calls it, and then `fence_barriers` once after all barriers are set up.
    __device__ __forceinline__ void set_up(u32 arrivals)
    {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
    }

    __device__ __forceinline__ void arrive()
    {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
    }

    // Arrives, and announces that bulk copies will bring this many bytes.
    __device__ __forceinline__ void arrive_and_promise(u32 bytes)
    {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
    }

    // Waits until a phase is complete: the first, third, … phase has `parity` 0, the others 1. A new barrier behaves as
    // if a phase of parity 1 had just completed.
    __device__ __forceinline__ void wait(u32 parity)
    {
        u32 complete;
        do {
            asm volatile("{\n\t"
                         ".reg .pred complete;\n\t"
                         "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
                         "selp.u32 %0, 1, 0, complete;\n\t"
                         "}"
                         : "=r"(complete)
                         : "r"(address()), "r"(parity)
                         : "memory");
        } while (complete == 0);
    }

    __device__ __forceinline__ u32 address() const { return (u32)__cvta_generic_to_shared(this); }
};

// Makes initialised barriers visible to bulk copies.
__device__ __forceinline__ void fence_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Starts a copy of `bytes` bytes, a multiple of 16; both addresses are aligned to 16. `barrier` must expect these
// bytes.
__device__ __forceinline__ void bulk_copy(void *shared, const void *global, u32 bytes, const Barrier &barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     (u32)__cvta_generic_to_shared(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(barrier.address())
                 : "memory");
}

// Prefetches `bytes` bytes, a multiple of 16 aligned to 16, into the L2 cache.
__device__ __forceinline__ void bulk_prefetch(const void *global, u32 bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)), "r"(bytes) : "memory");
}
