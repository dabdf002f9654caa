// reduce: combines all items. Contract and source: compaction/src/reduce.rs.

#include "reduce.cuh"

struct Monoid : OPERATOR<Item> {
    static __device__ __forceinline__ Value lift(Item item, u64) { return OPERATOR<Item>::lift(item); }
};

REDUCE(reduce)(
    const Item *items, const u32 *count, u64 capacity, u32 is_given, Item initial, Item *out, u64 *workspace)
{
    reduce_all<Monoid>(items, count, capacity, is_given, workspace, [&](Monoid::Value total) {
        *out = Monoid::lower(Monoid::combine(Monoid::lift(initial, 0), total));
    });
}
