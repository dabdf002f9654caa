// Bulk copies from global to shared memory, and the barriers in shared memory that say when they have come: from compute
// capability 9.0 on. One thread asks for a whole tile, and nobody's registers wait for it.
#pragma once

#include "prelude.cuh"

// A barrier in shared memory. It goes from phase to phase, each of which completes once as many threads as it was set
// up with have arrived and all bytes that were promised are there.
struct Barrier {
    u64 word;

    // One thread calls it, and `fence_barriers` behind all that it sets up.
    __device__ __forceinline__ void set_up(u32 arrivals)
    {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
    }

    __device__ __forceinline__ void arrive()
    {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
    }

    // Arrives, and promises so many bytes of bulk copies.
    __device__ __forceinline__ void arrive_and_promise(u32 bytes)
    {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
    }

    // Waits until a phase is complete: the first, third, … with `parity` 0, the others with 1. A fresh barrier counts as
    // if a phase of parity 1 had just been completed.
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

// Shows barriers that were set up to bulk copies too.
__device__ __forceinline__ void fence_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Begins to copy bytes, a multiple of 16, both on 16 bytes. `barrier` has been promised them.
__device__ __forceinline__ void bulk_copy(void *shared, const void *global, u32 bytes, const Barrier &barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     (u32)__cvta_generic_to_shared(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(barrier.address())
                 : "memory");
}

// Begins to bring bytes into the L2 cache, a multiple of 16 on 16 bytes.
__device__ __forceinline__ void bulk_prefetch(const void *global, u32 bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)), "r"(bytes) : "memory");
}
