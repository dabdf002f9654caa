// What the ways to sort have in common: keys as unsigned numbers in the order to sort by.
#pragma once

#include "prelude.cuh"

enum KeyKind : u32 { UNSIGNED = 0, SIGNED = 1, FLOAT = 2 };

template <u32 WORDS>
struct KeyOf {
    using type = u32;
};
template <>
struct KeyOf<2> {
    using type = u64;
};
using Key = KeyOf<KEY_WORDS>::type;

constexpr Key SIGN = (Key)1 << (sizeof(Key) * 8 - 1);

// Signed numbers come in order once their sign is flipped; floats, once all bits of the negative are.
__device__ __forceinline__ Key ordered(Key key)
{
    if constexpr (KEY_KIND == SIGNED) key ^= SIGN;
    if constexpr (KEY_KIND == FLOAT) key ^= key & SIGN ? ~(Key)0 : SIGN;
    return DESCENDING ? ~key : key;
}

// The key that comes after all others.
constexpr Key LAST_KEY = KEY_KIND == SIGNED ? (DESCENDING ? SIGN : ~SIGN)
    : KEY_KIND == FLOAT                     ? (DESCENDING ? ~(Key)0 : ~SIGN)
                                            : (DESCENDING ? 0 : ~(Key)0);
