// The items of a launch, where `Word`, the word of counts and indices, has 32 or 64 bits.
//
// Items that 32 bits count are one launch's. With words of 64 bits they are dealt with in portions, a launch each, one
// after the other on a stream: places within a portion have 32 bits all the same, and a launch leaves in the workspace
// how many were selected so far, for the next one.
#pragma once

#include "order.cuh"

constexpr bool IS_LONG = sizeof(Word) == 8;

struct Extent {
    u64 capacity;  // the most items that there may be, in all portions
    u64 first;     // index of the launch's first item
    u32 items;     // how many the launch has at most
    u32 number;    // portions before it
    u32 is_given;  // whether there are as many as there may be; else the device's count says how many
    u32 unused;

    __device__ __forceinline__ Word begin() const { return IS_LONG ? (Word)first : 0; }

    // The most items that there may be.
    __device__ __forceinline__ Word most() const { return IS_LONG ? (Word)capacity : (Word)items; }

    // How many items there are in all.
    __device__ __forceinline__ Word total(const Word *count) const { return is_given ? most() : min(*count, most()); }

    // How many of them the launch has.
    __device__ __forceinline__ u32 item_count(const Word *count) const
    {
        return is_given ? items : items_of(min(*count, most()));
    }

    // As above; a count that says too much is written down, for whoever reads the result.
    __device__ __forceinline__ u32 item_count(const Word *count, Control *control) const
    {
        if (is_given) return items;
        const Word said = *count;
        report_overrun(said, most(), control);
        return items_of(min(said, most()));
    }

  private:
    __device__ __forceinline__ u32 items_of(Word counted) const
    {
        if (!IS_LONG) return (u32)counted;
        return counted > first ? (u32)min(counted - first, (u64)items) : 0;
    }
};

// How many were selected by the portions so far.
struct SoFar {
    const Extent &extent;
    Control *control;
    Word *selected;

    __device__ __forceinline__ Word before() const { return before(extent, control); }

    static __device__ __forceinline__ Word before(const Extent &extent, const Control *control)
    {
        return IS_LONG && extent.number > 0 ? (Word)control->selected[extent.number % 2] : 0;
    }

    // The next portion reads another word than this one, of which some blocks may be yet to start.
    __device__ __forceinline__ void set(Word sum) const
    {
        if (IS_LONG) control->selected[(extent.number + 1) % 2] = sum;
        *selected = sum;
    }
};

using AppendSoFar = AsTheyCome<SoFar>;

__device__ __forceinline__ AppendSoFar appending(const Extent &extent, Word *selected, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    return {&control->appended, {extent, control, selected}, 0};
}
