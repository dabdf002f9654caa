// reduce_arg: finds the smallest or the largest item and its index. Contract and source: compaction/src/reduce.rs.

#include "reduce.cuh"

using Compare = OPERATOR<ITEM>;
using ItemKey = Compare::Value;

// The extreme of two items. Of equal items, it is the one with the smaller index.
struct Extreme {
    struct Value {
        ItemKey key;
        Word index;
    };
    static constexpr bool COMMUTATIVE = true;
    static constexpr Word NOWHERE = ~(Word)0;  // the index of no item
    // A key that no item beats, and that only integers may have. It also stands for NaN.
    static constexpr bool IS_SIGNED = (ItemKey)~0ull < 0;
    static constexpr ItemKey LOWEST = IS_SIGNED ? (ItemKey)1 << (8 * sizeof(ItemKey) - 1) : 0;
    static constexpr ItemKey WORST = same_type<Compare, Min<ITEM>> ? (ItemKey)~LOWEST : LOWEST;

    static __device__ __forceinline__ Value identity() { return {WORST, NOWHERE}; }
    static __device__ __forceinline__ Value lift(ITEM item, u64 index)
    {
        return {Order<ITEM>::key(item, WORST), (Word)index};
    }
    static __device__ __forceinline__ bool is_better(ItemKey left, ItemKey right)
    {
        return left != right && Compare::combine(left, right) == left;
    }
    static __device__ __forceinline__ Value append(const Value &left, const Value &right)
    {
        const bool is_first = !IS_FLOAT<ITEM> && left.index == NOWHERE;
        return is_better(right.key, left.key) || is_first ? right : left;
    }
    static __device__ __forceinline__ Value combine(const Value &left, const Value &right)
    {
        const bool is_right = left.key == right.key ? right.index < left.index : is_better(right.key, left.key);
        return is_right ? right : left;
    }
};

REDUCE(reduce_arg)(
    const ITEM *items, const u32 *count, u64 capacity, u32 is_given, Word *index, ITEM *value, u64 *workspace)
{
    reduce_all<Extreme>(items, count, capacity, is_given, workspace, [&](const Extreme::Value &extreme) {
        *index = extreme.index;
        *value = Compare::lower(extreme.index == Extreme::NOWHERE ? Compare::identity() : extreme.key);
    });
}
