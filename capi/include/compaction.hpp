// C++ wrapper of compaction.h, for C++17 and later: owners, views with lengths, and plans with types.
//
//     auto context = compaction::context::current();
//     compaction::select_plan<float> select(context);
//     auto workspace = select.make_workspace(stream, rays);
//     select.items(workspace, stream, {distances, rays}, {flags, rays}, {out, rays}, {count, 1});
//
// A call that fails throws compaction::error. Where exceptions are disabled, or COMPACTION_NO_EXCEPTIONS is defined, a
// call returns its status instead, and the object of a constructor that fails is empty: it converts to false.
//
// The conventions of compaction.h for threads, streams, graphs and memory apply.

#ifndef COMPACTION_HPP
#define COMPACTION_HPP

#include "compaction.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(COMPACTION_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define COMPACTION_NO_EXCEPTIONS
#endif
#ifndef COMPACTION_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace compaction {

using status = compaction_status;
using address = compaction_address;
// A CUDA stream: CUstream or cudaStream_t. Null is the default stream. The CPU ignores it.
using stream_handle = CUstream_st *;

#ifndef COMPACTION_NO_EXCEPTIONS
// The failure of a call: its status, and a message of one line.
class error : public std::runtime_error {
public:
    error(compaction::status code, const char *message) : std::runtime_error(message), code_(code) {}
    compaction::status code() const noexcept { return code_; }

private:
    compaction::status code_;
};
#endif

namespace detail {

// Throws the failure of a call, or returns its status where there are no exceptions.
inline status check(status result)
{
#ifndef COMPACTION_NO_EXCEPTIONS
    if (result != COMPACTION_SUCCESS) throw error(result, compaction_last_error());
#endif
    return result;
}

// Throws or returns the failure of an argument, unless `is_right`.
inline status require(bool is_right, const char *message)
{
    if (is_right) return COMPACTION_SUCCESS;
#ifndef COMPACTION_NO_EXCEPTIONS
    throw error(COMPACTION_INVALID_ARGUMENT, message);
#else
    (void)message;
    return COMPACTION_INVALID_ARGUMENT;
#endif
}

struct deleter {
    void operator()(compaction_context *context) const noexcept { compaction_close(context); }
    void operator()(compaction_plan *plan) const noexcept { compaction_plan_destroy(plan); }
    void operator()(compaction_workspace *workspace) const noexcept { compaction_workspace_destroy(workspace); }
};

template <class T>
using owner = std::unique_ptr<T, deleter>;

template <class T>
constexpr bool is_word = std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>;

template <class W>
constexpr std::uint32_t word_bits = std::numeric_limits<W>::digits;

// The name of a number type.
template <class T>
constexpr const char *type_name()
{
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>, "items are numbers");
    if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? "f32" : "f64";
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1 ? "i8" : sizeof(T) == 2 ? "i16" : sizeof(T) == 4 ? "i32" : "i64";
    else
        return sizeof(T) == 1 ? "u8" : sizeof(T) == 2 ? "u16" : sizeof(T) == 4 ? "u32" : "u64";
}

}  // namespace detail

// A view of `size` items of type T in device memory, or in host memory for plans on the CPU.
template <class T>
class view {
public:
    view() = default;
    view(T *items, std::size_t size) : view(static_cast<compaction::address>(reinterpret_cast<std::uintptr_t>(items)), size) {}
    view(compaction::address begin, std::size_t size) : begin_(begin), size_(size) {}
    // A view of a std::vector, std::array, std::span or another container of host memory.
    template <class Container, class = std::enable_if_t<std::is_convertible_v<
                                   std::remove_pointer_t<decltype(std::data(std::declval<Container &>()))> (*)[], T (*)[]>>>
    view(Container &container) : view(std::data(container), std::size(container)) {}
    // A view for reading of items that may be written.
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T> && !std::is_same_v<U, T>>>
    view(const view<U> &other) : begin_(other.begin()), size_(other.size()) {}

    compaction::address begin() const noexcept { return begin_; }
    std::size_t size() const noexcept { return size_; }

private:
    compaction::address begin_ = 0;
    std::size_t size_ = 0;
};

// A GPU or the CPU.
class context {
public:
    // Opens the CUDA context that is current on this thread, the primary context of a GPU, or the CPU.
    static context current() { return context([](compaction_context **to) { return compaction_open_current(to); }); }
    static context device(int ordinal) { return context([=](compaction_context **to) { return compaction_open_device(ordinal, to); }); }
    static context cpu() { return context([](compaction_context **to) { return compaction_open_cpu(to); }); }

    explicit operator bool() const noexcept { return static_cast<bool>(context_); }
    compaction_context *get() const noexcept { return context_.get(); }

private:
    template <class Open>
    explicit context(Open open)
    {
        compaction_context *opened = nullptr;
        detail::check(open(&opened));
        context_.reset(opened);
    }

    detail::owner<compaction_context> context_;
};

// The scratch memory of a plan.
class workspace {
public:
    explicit operator bool() const noexcept { return static_cast<bool>(workspace_); }
    compaction_workspace *get() const noexcept { return workspace_.get(); }

    // Waits for the stream and reports a count in device memory that was too large.
    status check(stream_handle stream) { return detail::check(compaction_workspace_check(get(), stream)); }

private:
    friend class plan;
    explicit workspace(compaction_workspace *made) : workspace_(made) {}

    detail::owner<compaction_workspace> workspace_;
};

// An operation with its kernels. The plans below are derived from it.
class plan {
public:
    explicit operator bool() const noexcept { return static_cast<bool>(plan_); }
    compaction_plan *get() const noexcept { return plan_.get(); }

    // Returns the size of a workspace for `items` items in bytes of device memory.
    std::uint64_t workspace_bytes(std::size_t items) const
    {
        std::uint64_t bytes = 0;
        detail::check(compaction_workspace_bytes(get(), items, &bytes));
        return bytes;
    }

    // Creates a workspace for `items` items that allocates its memory, or uses `memory`, aligned to 256 bytes.
    workspace make_workspace(stream_handle stream, std::size_t items, view<std::uint8_t> memory = {}) const
    {
        compaction_workspace *made = nullptr;
        detail::check(compaction_workspace_create(get(), stream, items, memory.begin(), memory.size(), &made));
        return workspace(made);
    }

protected:
    template <class Make>
    explicit plan(Make make)
    {
        compaction_plan *made = nullptr;
        detail::check(make(&made));
        plan_.reset(made);
    }

    // Creates a workspace for a table.
    workspace make_table_workspace(
        stream_handle stream, std::uint32_t width, std::uint32_t height, view<std::uint8_t> memory) const
    {
        compaction_workspace *made = nullptr;
        detail::check(compaction_table_workspace_create(
            get(), stream, width, height, memory.begin(), memory.size(), &made));
        return workspace(made);
    }

    // Checks the lengths of a call on `items` items: those of the other inputs, of the outputs, and of the counts.
    static status check_lengths(
        std::size_t items, std::initializer_list<std::size_t> inputs, std::initializer_list<std::size_t> outputs,
        std::size_t selected = 1)
    {
        for (const std::size_t input : inputs)
            if (const status wrong = detail::require(input == items, "the inputs have different lengths")) return wrong;
        for (const std::size_t output : outputs)
            if (const status wrong = detail::require(output >= items, "an output is shorter than the input")) return wrong;
        return detail::require(selected >= 1, "there is no room for the count");
    }

    // Checks that there is room for a result of one entry.
    static status check_result(std::size_t room) { return detail::require(room >= 1, "there is no room for the result"); }

    // Checks that there is one offset more than segments.
    static status check_offsets(std::size_t offsets) { return detail::require(offsets >= 1, "there are no offsets"); }

private:
    detail::owner<compaction_plan> plan_;
};

// Selections of items of type T, or of indices, with counts and indices of type W.
//
// In each call, `count` is empty for all items, or a word with their number in the memory of the plan.
template <class T = std::uint32_t, class W = std::uint32_t>
class select_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit select_plan(const context &on, const char *strategy = nullptr)
        : plan([&](compaction_plan **to) { return compaction_plan_select(on.get(), strategy, sizeof(T), detail::word_bits<W>, to); })
    {
    }

    status indices(
        workspace &scratch, stream_handle stream, view<const std::uint8_t> flags, view<W> out, view<W> selected,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(flags.size(), {}, {out.size()}, selected.size())) return wrong;
        return detail::check(compaction_select_indices(
            get(), scratch.get(), stream, flags.begin(), flags.size(), count.begin(), out.begin(), selected.begin()));
    }

    status items(
        workspace &scratch, stream_handle stream, view<const T> values, view<const std::uint8_t> flags, view<T> out,
        view<W> selected, view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(flags.size(), {values.size()}, {out.size()}, selected.size())) return wrong;
        return detail::check(compaction_select_items(
            get(), scratch.get(), stream, values.begin(), flags.begin(), flags.size(), count.begin(), out.begin(),
            selected.begin()));
    }
};

// Selections of items of type T that move to the front of their buffer, with counts of type W.
template <class T, class W = std::uint32_t>
class select_in_place_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit select_in_place_plan(const context &on, const char *strategy = nullptr)
        : plan([&](compaction_plan **to) {
              return compaction_plan_select_in_place(on.get(), strategy, sizeof(T), detail::word_bits<W>, to);
          })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<T> values, view<const std::uint8_t> flags, view<W> selected,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(flags.size(), {values.size()}, {}, selected.size())) return wrong;
        return detail::check(compaction_select_in_place(
            get(), scratch.get(), stream, values.begin(), flags.begin(), flags.size(), count.begin(), selected.begin()));
    }
};

// Selections from columns whose items have the given sizes in bytes, with counts of type W.
template <class W = std::uint32_t>
class select_columns_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    select_columns_plan(const context &on, const std::vector<std::uint32_t> &item_bytes)
        : plan([&](compaction_plan **to) {
              const auto columns = static_cast<std::uint32_t>(item_bytes.size());
              return compaction_plan_select_columns(on.get(), item_bytes.data(), columns, detail::word_bits<W>, to);
          })
    {
    }

    // The columns must have room for as many items as there are flags.
    status operator()(
        workspace &scratch, stream_handle stream, view<const std::uint8_t> flags,
        const std::vector<compaction_column> &columns, view<W> selected, view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(flags.size(), {}, {}, selected.size())) return wrong;
        return detail::check(compaction_select_columns(
            get(), scratch.get(), stream, flags.begin(), flags.size(), count.begin(), columns.data(),
            static_cast<std::uint32_t>(columns.size()), selected.begin()));
    }
};

// Partitions by flags of items of type T, or of indices, with counts and indices of type W.
template <class T = std::uint32_t, class W = std::uint32_t>
class partition_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit partition_plan(const context &on)
        : plan([&](compaction_plan **to) { return compaction_plan_partition(on.get(), sizeof(T), detail::word_bits<W>, to); })
    {
    }

    status indices(
        workspace &scratch, stream_handle stream, view<const std::uint8_t> flags, view<W> out, view<W> selected,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(flags.size(), {}, {out.size()}, selected.size())) return wrong;
        return detail::check(compaction_partition_indices(
            get(), scratch.get(), stream, flags.begin(), flags.size(), count.begin(), out.begin(), selected.begin()));
    }

    status items(
        workspace &scratch, stream_handle stream, view<const T> values, view<const std::uint8_t> flags, view<T> out,
        view<W> selected, view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(flags.size(), {values.size()}, {out.size()}, selected.size())) return wrong;
        return detail::check(compaction_partition_items(
            get(), scratch.get(), stream, values.begin(), flags.begin(), flags.size(), count.begin(), out.begin(),
            selected.begin()));
    }
};

// Partitions into classes, with counts and indices of type W.
template <class W = std::uint32_t>
class partition_classes_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    partition_classes_plan(const context &on, std::uint32_t classes)
        : plan([&](compaction_plan **to) { return compaction_plan_partition_classes(on.get(), classes, detail::word_bits<W>, to); }),
          classes_(classes)
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const std::uint8_t> keys, view<W> out, view<W> starts,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(keys.size(), {}, {out.size()})) return wrong;
        if (const status wrong = detail::require(starts.size() > classes_, "there is no room for the starts")) return wrong;
        return detail::check(compaction_partition_classes(
            get(), scratch.get(), stream, keys.begin(), keys.size(), count.begin(), out.begin(), starts.begin()));
    }

private:
    std::uint32_t classes_;
};

// Scans of items of type T by "sum", "min" or "max", with counts of type W.
template <class T, class W = std::uint32_t>
class scan_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    explicit scan_plan(const context &on, const char *op = "sum", const char *strategy = nullptr)
        : plan([&](compaction_plan **to) {
              return compaction_plan_scan(on.get(), strategy, op, detail::type_name<T>(), detail::word_bits<W>, to);
          })
    {
    }

    status exclusive(
        workspace &scratch, stream_handle stream, view<const T> values, view<T> out, view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(values.size(), {}, {out.size()})) return wrong;
        return detail::check(compaction_scan_exclusive(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), out.begin()));
    }

    status inclusive(
        workspace &scratch, stream_handle stream, view<const T> values, view<T> out, view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(values.size(), {}, {out.size()})) return wrong;
        return detail::check(compaction_scan_inclusive(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), out.begin()));
    }
};

// Summed-area tables of items of type T.
template <class T>
class summed_area_plan : public plan {
public:
    explicit summed_area_plan(const context &on, const char *strategy = nullptr)
        : plan([&](compaction_plan **to) { return compaction_plan_summed_area(on.get(), strategy, detail::type_name<T>(), to); })
    {
    }

    // Creates a workspace for tables of `width` by `height` items.
    workspace make_workspace(
        stream_handle stream, std::uint32_t width, std::uint32_t height, view<std::uint8_t> memory = {}) const
    {
        return make_table_workspace(stream, width, height, memory);
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, std::uint32_t width, std::uint32_t height,
        view<T> out) const
    {
        const std::size_t items = static_cast<std::size_t>(width) * height;
        if (const status wrong = check_lengths(items, {values.size()}, {out.size()})) return wrong;
        return detail::check(compaction_summed_area(
            get(), scratch.get(), stream, values.begin(), width, height, out.begin()));
    }
};

}  // namespace compaction

#include "compaction_aggregate.hpp"
#include "compaction_order.hpp"

#endif
