// Folds over the lanes of a warp in the order of the lanes, for values of any type and for operators that need not be
// commutative. All lanes must call them together.
#pragma once

#include "warp.cuh"

// Applies `shuffle`, a function of a 4-byte word, to all words of a value.
template <class Value, class Shuffle>
__device__ __forceinline__ Value shuffle_words(Value value, Shuffle shuffle)
{
    constexpr u32 WORDS = (sizeof(Value) + sizeof(u32) - 1) / sizeof(u32);
    u32 words[WORDS] = {};
    memcpy(words, &value, sizeof(Value));
#pragma unroll
    for (u32 word = 0; word < WORDS; word++) words[word] = shuffle(words[word]);
    memcpy(&value, words, sizeof(Value));
    return value;
}

template <class Value>
__device__ __forceinline__ Value shuffle_xor(const Value &value, u32 lanes)
{
    return shuffle_words(value, [=](u32 word) { return __shfl_xor_sync(ALL_LANES, word, lanes); });
}

template <class Value>
__device__ __forceinline__ Value shuffle_up(const Value &value, u32 distance)
{
    return shuffle_words(value, [=](u32 word) { return __shfl_up_sync(ALL_LANES, word, distance); });
}

template <class Value>
__device__ __forceinline__ Value shuffle_from(const Value &value, u32 lane)
{
    return shuffle_words(value, [=](u32 word) { return __shfl_sync(ALL_LANES, word, lane); });
}

// Combines the values of two lanes that differ in the bit `distance` of their index. Both get the result.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value combine_pair(
    const typename Monoid::Value &own, const typename Monoid::Value &other, u32 distance)
{
    return (lane_index() & distance) != 0 ? Monoid::combine(other, own) : Monoid::combine(own, other);
}

// The values of all lanes combined pairwise, in every lane.
template <class Monoid>
__device__ __forceinline__ typename Monoid::Value warp_fold_in_order(typename Monoid::Value value)
{
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2)
        value = combine_pair<Monoid>(value, shuffle_xor(value, distance), distance);
    return value;
}

// ROWS rows of one value per lane, combined pairwise: first over the lanes of each row, then over the rows. The result
// is in every lane. In each step, a lane halves its number of rows, each combined over twice as many lanes, so that few
// shuffles are needed.
template <class Monoid, u32 ROWS>
__device__ __forceinline__ typename Monoid::Value warp_fold_rows(typename Monoid::Value (&rows)[ROWS])
{
    using Value = typename Monoid::Value;
    static_assert(ROWS <= WARP_THREADS && (ROWS & (ROWS - 1)) == 0, "a lane comes to hold one row");
#pragma unroll
    for (u32 distance = 1; distance < WARP_THREADS; distance *= 2) {
        if (distance >= ROWS) {
            rows[0] = combine_pair<Monoid>(rows[0], shuffle_xor(rows[0], distance), distance);
            continue;
        }
        const bool upper = (lane_index() & distance) != 0;
#pragma unroll
        for (u32 pair = 0; pair < ROWS / distance / 2; pair++) {
            const Value own = upper ? rows[2 * pair + 1] : rows[2 * pair];
            const Value others = upper ? rows[2 * pair] : rows[2 * pair + 1];
            rows[pair] = combine_pair<Monoid>(own, shuffle_xor(others, distance), distance);
        }
    }
    // Lane r holds the row r % ROWS.
#pragma unroll
    for (u32 distance = 1; distance < ROWS; distance *= 2)
        rows[0] = combine_pair<Monoid>(rows[0], shuffle_xor(rows[0], distance), distance);
    return rows[0];
}
