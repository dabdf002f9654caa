// reduce_arg: finds the smallest or the largest item and its index. Contract and source: compaction/src/reduce.rs.

#include "reduce.cuh"

using Compare = OPERATOR<Item>;

// The extreme of two items. Of equal items, it is the one with the smaller index.
struct Extreme {
    struct Value {
        Compare::Value key;
        Word index;
    };
    static constexpr bool EXACT = true;
    static constexpr Word NOWHERE = ~(Word)0;  // the index of no item

    static __device__ __forceinline__ Value identity() { return {Compare::identity(), NOWHERE}; }
    static __device__ __forceinline__ Value lift(Item item, u64 index)
    {
        // NaNs are ignored.
        return item == item ? Value{Compare::lift(item), (Word)index} : identity();
    }
    static __device__ __forceinline__ Value combine(const Value &left, const Value &right)
    {
        const bool same = left.key == right.key;
        const bool is_right = same ? right.index < left.index : Compare::combine(left.key, right.key) == right.key;
        return is_right ? right : left;
    }
};

REDUCE(reduce_arg)(
    const Item *items, const u32 *count, u64 capacity, u32 is_given, Word *index, Item *value, u64 *workspace)
{
    reduce_all<Extreme>(items, count, capacity, is_given, workspace, [&](const Extreme::Value &extreme) {
        *index = extreme.index;
        *value = Compare::lower(extreme.key);
    });
}
