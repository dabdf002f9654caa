// Monoids: associative operations with an identity, used by folds and scans. Twin: src/monoid.rs.
//
// `lift` converts an item to a value that can be combined, and `lower` converts a value to an item. Lowering a value
// and lifting it again gives the same value. If a monoid is EXACT, every order of combination gives the same bits.
#pragma once

#include "prelude.cuh"

template <class To, class From>
__device__ __forceinline__ To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bits are neither made up nor lost");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// Integer types with the size of T: unsigned for addition without overflow, and the type by which T is compared.
template <class T>
struct Words;
template <>
struct Words<u32> {
    using Unsigned = u32;
    using Key = u32;
};
template <>
struct Words<i32> {
    using Unsigned = u32;
    using Key = i32;
};
template <>
struct Words<u64> {
    using Unsigned = u64;
    using Key = u64;
};
template <>
struct Words<i64> {
    using Unsigned = u64;
    using Key = i64;
};
template <>
struct Words<f32> {
    using Unsigned = u32;
    using Key = i32;
    static constexpr u32 INFINITE = 0x7f800000;
};
template <>
struct Words<f64> {
    using Unsigned = u64;
    using Key = i64;
    static constexpr u64 INFINITE = 0x7ff0000000000000;
};

template <class T>
constexpr bool IS_FLOAT = same_type<T, f32> || same_type<T, f64>;

template <class T, bool FLOAT = IS_FLOAT<T>>
struct Sum;

// Integers wrap around.
template <class T>
struct Sum<T, false> {
    using Value = typename Words<T>::Unsigned;
    static constexpr bool EXACT = true;

    static __device__ __forceinline__ Value identity() { return 0; }
    static __device__ __forceinline__ Value lift(T item) { return (Value)item; }
    static __device__ __forceinline__ T lower(Value value) { return (T)value; }
    static __device__ __forceinline__ Value combine(Value left, Value right) { return left + right; }
};

template <class T>
struct Sum<T, true> {
    using Value = T;
    static constexpr bool EXACT = false;

    static __device__ __forceinline__ Value identity() { return 0; }
    // Converts -0 to +0, because otherwise adding the identity 0 would change -0.
    static __device__ __forceinline__ Value lift(T item) { return Value(0) + item; }
    static __device__ __forceinline__ T lower(Value value) { return value; }
    static __device__ __forceinline__ Value combine(Value left, Value right) { return left + right; }
};

// Maps items to integers of the same order. For floats, -0 is less than +0, and NaNs map to a given key.
template <class T, bool FLOAT = IS_FLOAT<T>>
struct Order;

template <class T>
struct Order<T, false> {
    using Key = T;
    static constexpr bool IS_SIGNED = (T)-1 < (T)0;
    static constexpr Key LOWEST = IS_SIGNED ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
    static constexpr Key HIGHEST = (T)~LOWEST;

    static __device__ __forceinline__ Key key(T item, Key) { return item; }
    static __device__ __forceinline__ T item(Key key) { return key; }
};

template <class T>
struct Order<T, true> {
    using Key = typename Words<T>::Key;
    using Unsigned = typename Words<T>::Unsigned;
    static constexpr Unsigned MAGNITUDE = ~(Unsigned)0 >> 1;
    static constexpr Key HIGHEST = (Key)Words<T>::INFINITE;
    static constexpr Key LOWEST = (Key)(~Words<T>::INFINITE);

    // The order of negative floats is opposite to that of their bits.
    static __device__ __forceinline__ Unsigned turned(Unsigned bits)
    {
        return (Key)bits < 0 ? bits ^ MAGNITUDE : bits;
    }
    static __device__ __forceinline__ Key key(T item, Key no_number)
    {
        const Unsigned bits = bits_as<Unsigned>(item);
        return (bits & MAGNITUDE) > Words<T>::INFINITE ? no_number : (Key)turned(bits);
    }
    static __device__ __forceinline__ T item(Key key) { return bits_as<T>(turned((Unsigned)key)); }
};

template <class T>
struct Min {
    using Value = typename Order<T>::Key;
    static constexpr bool EXACT = true;

    static __device__ __forceinline__ Value identity() { return Order<T>::HIGHEST; }
    static __device__ __forceinline__ Value lift(T item) { return Order<T>::key(item, identity()); }
    static __device__ __forceinline__ T lower(Value value) { return Order<T>::item(value); }
    static __device__ __forceinline__ Value combine(Value left, Value right) { return right < left ? right : left; }
};

template <class T>
struct Max {
    using Value = typename Order<T>::Key;
    static constexpr bool EXACT = true;

    static __device__ __forceinline__ Value identity() { return Order<T>::LOWEST; }
    static __device__ __forceinline__ Value lift(T item) { return Order<T>::key(item, identity()); }
    static __device__ __forceinline__ T lower(Value value) { return Order<T>::item(value); }
    static __device__ __forceinline__ Value combine(Value left, Value right) { return left < right ? right : left; }
};
