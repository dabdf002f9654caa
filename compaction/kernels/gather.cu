// gather and scatter. Contract: compaction/src/gather.rs.
//
// Consecutive threads copy the consecutive parts of an item. A thread loads several indices before it loads the first
// item, and several items before it writes the first one, so that their latencies overlap.

#include "item_count.cuh"
#include "value.cuh"

// Copies the parts of all items whose index is below `limit`. With GATHERS, the index says where an item is read, and
// otherwise, where it is written.
template <bool GATHERS>
__device__ __forceinline__ void copy_parts(
    const Part *__restrict__ from, Part *__restrict__ to, const Word *__restrict__ indices, u64 index_count, u64 limit)
{
    const u64 parts = index_count * ITEM_PARTS;
    for (u64 first = (u64)blockIdx.x * BLOCK_THREADS * BATCH + threadIdx.x; first < parts;
         first += (u64)gridDim.x * BLOCK_THREADS * BATCH) {
        u64 others[BATCH];  // the part at the index
        Part batch[BATCH];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++) {
            const u64 at = first + part * BLOCK_THREADS;
            const u64 index = at < parts ? (u64)indices[at / ITEM_PARTS] : limit;
            others[part] = index < limit ? index * ITEM_PARTS + at % ITEM_PARTS : ~0ull;
        }
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (others[part] != ~0ull) batch[part] = from[GATHERS ? others[part] : first + part * BLOCK_THREADS];
#pragma unroll
        for (u32 part = 0; part < BATCH; part++)
            if (others[part] != ~0ull) to[GATHERS ? first + part * BLOCK_THREADS : others[part]] = batch[part];
    }
}

// Copies items[indices[i]] to out[i].
KERNEL(gather)(
    const u8 *items, const Word *indices, Input input, u64 limit, u8 *out, u64 *workspace)
{
    const u64 items_out = input.number<Word>((Control *)workspace);
    copy_parts<true>((const Part *)items, (Part *)out, indices, items_out, limit);
}

// Copies items[i] to out[indices[i]].
KERNEL(scatter)(
    const u8 *items, const Word *indices, Input input, u64 limit, u8 *out, u64 *workspace)
{
    const u64 items_in = input.number<Word>((Control *)workspace);
    copy_parts<false>((const Part *)items, (Part *)out, indices, items_in, limit);
}
