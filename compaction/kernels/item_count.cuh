// The number of items of a call, which the host gives or a count in device memory says.
#pragma once

#include "look_back.cuh"

struct Input {
    const u32 *device_count;  // the count in device memory, of `count_words` words of 4 bytes; not read if `is_given`
    u64 capacity;             // number of items if `is_given`, otherwise the largest possible one
    u32 is_given;             // nonzero: there are exactly `capacity` items; zero: the device count says how many
    u32 count_words;          // 1 or 2

    // The number of items. `Counter` is the type of the device count, or `void` if only `count_words` tells it.
    template <class Counter = void>
    __device__ __forceinline__ u64 number() const
    {
        return is_given ? capacity : min(said<Counter>(), capacity);
    }

    // The number of items. A device count larger than the buffer is recorded for the workspace's `check`.
    template <class Counter = void>
    __device__ __forceinline__ u64 number(Control *control) const
    {
        if (is_given) return capacity;
        const u64 count = said<Counter>();
        report_overrun(count, capacity, control);
        return min(count, capacity);
    }

    // Records a device count larger than the buffer for the workspace's `check`.
    template <class Counter = void>
    __device__ __forceinline__ void check(Control *control) const
    {
        if (!is_given) report_overrun(said<Counter>(), capacity, control);
    }

  private:
    template <class Counter>
    __device__ __forceinline__ u64 said() const
    {
        if constexpr (same_type<Counter, void>)
            return count_words == 2 ? *(const u64 *)device_count : *device_count;
        else
            return *(const Counter *)device_count;
    }
};
