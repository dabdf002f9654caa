// Parts common to both sorting strategies: keys as unsigned numbers in sort order, and the number of keys.
#pragma once

#include "item_count.cuh"

enum KeyKind : u32 { UNSIGNED = 0, SIGNED = 1, FLOAT = 2 };

template <u32 BYTES>
constexpr auto unsigned_of()
{
    if constexpr (BYTES == 1)
        return (u8)0;
    else if constexpr (BYTES == 2)
        return (u16)0;
    else if constexpr (BYTES == 4)
        return (u32)0;
    else
        return (u64)0;
}
using Key = decltype(unsigned_of<KEY_BYTES>());

// VALUE_BYTES is 0 when keys are sorted alone.
constexpr bool HAS_VALUES = VALUE_BYTES != 0;
using Value = decltype(unsigned_of<HAS_VALUES ? VALUE_BYTES : 4>());

constexpr Key SIGN = (Key)1 << (sizeof(Key) * 8 - 1);
constexpr Key ALL_BITS = (Key)~(Key)0;

// Signed keys are ordered after flipping the sign bit; floats, after also flipping all other bits of the negative ones.
__device__ __forceinline__ Key ordered(Key key)
{
    if constexpr (KEY_KIND == SIGNED) key ^= SIGN;
    if constexpr (KEY_KIND == FLOAT) key ^= key & SIGN ? ALL_BITS : SIGN;
    return DESCENDING ? (Key)~key : key;
}

// The key that sorts behind all others.
constexpr Key LAST_KEY = KEY_KIND == SIGNED ? (DESCENDING ? SIGN : (Key)~SIGN)
    : KEY_KIND == FLOAT                     ? (DESCENDING ? ALL_BITS : (Key)~SIGN)
                                            : (DESCENDING ? (Key)0 : ALL_BITS);

// The buffers of a pass. Those of the values are not accessed when keys are sorted alone, and `values_in` neither when
// the values are made.
struct Moved {
    const u8 *keys_in;
    const u8 *values_in;
    u8 *keys_out;
    u8 *values_out;
};

// The number of keys: `capacity`, or the device's count (a Word), clamped to `capacity`. A larger count is recorded for
// the workspace's `check`.
__device__ __forceinline__ u64 key_count(const u32 *count, u64 capacity, u32 is_given, Control *control)
{
    if (is_given) return capacity;
    const u64 said = *(const Word *)count;
    report_overrun(said, capacity, control);
    return min(said, capacity);
}
