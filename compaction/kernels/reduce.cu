// reduce: combines all items. Contract and source: compaction/src/reduce.rs.

#include "monoid.cuh"
#include "operator"
#include "reduce.cuh"

struct Indexed : Monoid {
    static __device__ __forceinline__ Value lift(const ITEM &item, u64) { return Monoid::lift(item); }
    static __device__ __forceinline__ Value append(const Value &left, const Value &right)
    {
        return Monoid::combine(left, right);
    }
};

REDUCE(reduce)(
    const ITEM *items, const u32 *count, u64 capacity, u32 is_given, Monoid::Out initial, Monoid::Out *out,
    u64 *workspace)
{
    reduce_all<Indexed>(items, count, capacity, is_given, workspace, [&](const Monoid::Value &total) {
        *out = Monoid::lower(Monoid::combine(Monoid::raise(initial), total));
    });
}
