// The range of items of a launch. Counts and indices are of type `Word`, with 32 or 64 bits.
//
// With 32-bit words, one launch processes all items. With 64-bit words, the items are processed in portions, one launch
// each, in stream order. Positions within a portion have 32 bits in both cases, and each launch leaves in the workspace
// the number selected so far, for the next one.
#pragma once

#include "order.cuh"

constexpr bool IS_LONG = sizeof(Word) == 8;

struct Extent {
    u64 capacity;  // largest possible number of items, over all portions
    u64 first;     // index of the launch's first item
    u64 room;      // length of the output: items that would be written behind it are counted, but not written
    u32 items;     // largest possible number of items of the launch
    u32 number;    // number of this portion, counted from 0
    u32 is_given;  // nonzero: there are exactly `capacity` items; zero: the device count says how many
    u32 unused;

    __device__ __forceinline__ Word begin() const { return IS_LONG ? (Word)first : 0; }

    // The largest possible number of items.
    __device__ __forceinline__ Word most() const { return IS_LONG ? (Word)capacity : (Word)items; }

    // The number of items, of `count` to be written from position `begin` on, for which the output has room.
    __device__ __forceinline__ u32 room_for(Word begin, u32 count) const
    {
        const Word end = (Word)room;
        return (u32)min((Word)count, end - min(end, begin));
    }

    // The total number of items.
    __device__ __forceinline__ Word total(const Word *count) const { return is_given ? most() : min(*count, most()); }

    // The number of items of this launch.
    __device__ __forceinline__ u32 item_count(const Word *count) const
    {
        return is_given ? items : items_of(min(*count, most()));
    }

    // The number of items of this launch. A device count larger than the buffer is recorded for the workspace's
    // `check`.
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

// The number of items selected by this and all earlier portions.
struct PortionTally {
    const Extent &extent;
    Control *control;
    Word *selected;

    __device__ __forceinline__ Word before() const { return before(extent, control); }

    static __device__ __forceinline__ Word before(const Extent &extent, const Control *control)
    {
        return IS_LONG && extent.number > 0 ? (Word)control->selected[extent.number % 2] : 0;
    }

    // The next portion reads another word than this one, because some blocks of this one may not have started yet.
    __device__ __forceinline__ void set(Word sum) const
    {
        if (IS_LONG) control->selected[(extent.number + 1) % 2] = sum;
        *selected = sum;
    }
};

using PortionArrivalOrder = ArrivalOrder<PortionTally>;

__device__ __forceinline__ PortionArrivalOrder appending(const Extent &extent, Word *selected, u64 *workspace)
{
    Control *const control = (Control *)workspace;
    return {&control->appended, {extent, control, selected}, 0};
}

// A value that is not put behind the end of the output.
template <class Value>
struct Within {
    Value value;
    Word room;
    bool fits;  // whether there is room for all items. Then a load of the value need not wait for its position.
    __device__ __forceinline__ void put(Word to, Word from) const
    {
        if (fits)
            value.put(to, from);
        else if (to < room)
            value.put(to, from);
    }
};

template <class Value>
__device__ __forceinline__ Within<Value> within(const Extent &extent, Value value)
{
    return {value, (Word)extent.room, extent.room == extent.capacity};
}
