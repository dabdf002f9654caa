// The C++ wrapper: owners, views, typed plans, and exceptions or statuses.
#include "check.h"

#include <array>
#include <compaction.hpp>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

// A buffer in memory of the backend.
template <class T>
struct buffer {
    explicit buffer(std::size_t length) : begin(room(length * sizeof(T))), size(length) {}
    explicit buffer(const std::vector<T> &from) : begin(put(from.data(), from.size() * sizeof(T))), size(from.size()) {}
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer() { release(begin); }
    operator compaction::view<T>() const { return {begin, size}; }
    operator compaction::view<const T>() const { return {begin, size}; }

    std::vector<T> items() const
    {
        std::vector<T> got(size);
        get(got.data(), begin, size * sizeof(T));
        return got;
    }

    compaction_address begin;
    std::size_t size;
};

void operations(const compaction::context &on)
{
    const std::vector<std::uint8_t> flags{0, 1, 1, 0, 0, 1};
    const std::vector<float> values{3.5f, 1.0f, 4.0f, 1.5f, 5.0f, 0.5f};
    const buffer<std::uint8_t> on_flags(flags);
    const buffer<float> on_values(values), out(6), sorted(6);
    const buffer<std::uint32_t> indices(6), selected(1), order(6), classes(6), starts(3);

    const compaction::select_plan<float> select(on);
    auto scratch = select.make_workspace(stream, 6);
    select.items(scratch, stream, on_values, on_flags, out, selected);
    select.indices(scratch, stream, on_flags, indices, selected);
    REQUIRE(selected.items()[0] == 3);
    REQUIRE(out.items()[2] == 0.5f && indices.items()[2] == 5);

    // The count of the selection stays in the memory of the backend.
    const compaction::radix_sort_plan<float, std::uint32_t> sort(on, compaction::order::descending);
    auto of_sort = sort.make_workspace(stream, 6);
    sort.pairs(of_sort, stream, out, indices, sorted, order, selected);
    REQUIRE((sorted.items()[0] == 4.0f && order.items()[0] == 2 && order.items()[2] == 5));

    const compaction::partition_classes_plan<> partition(on, 2);
    auto of_partition = partition.make_workspace(stream, 6);
    partition(of_partition, stream, on_flags, classes, starts);
    REQUIRE((classes.items() == std::vector<std::uint32_t>{0, 3, 4, 1, 2, 5}));
    REQUIRE((starts.items() == std::vector<std::uint32_t>{0, 3, 6}));
    of_partition.check(stream);
}

void on_cpu()
{
    const auto cpu = compaction::context::cpu();
    const compaction::scan_plan<std::int32_t> scan(cpu, "max");
    auto scratch = scan.make_workspace(nullptr, 4);
    std::array<std::int32_t, 4> values{2, -7, 9, 1}, out{};
    scan.inclusive(scratch, nullptr, values, out);
    REQUIRE((out == std::array<std::int32_t, 4>{2, 2, 9, 9}));
#if __cplusplus >= 202002L
    const std::span<const std::int32_t> all(values);
    std::span<std::int32_t> first(out.data(), 2);
    scan.exclusive(scratch, nullptr, compaction::view<const std::int32_t>(all.data(), 2), first);
    REQUIRE(out[1] == 2);
#endif
    const compaction::summed_area_plan<std::int32_t> table(cpu);
    auto of_table = table.make_workspace(nullptr, 2, 2);
    table(of_table, nullptr, values, 2, 2, out);
    REQUIRE((out == std::array<std::int32_t, 4>{2, -5, 11, 5}));
}

void failures(const compaction::context &on)
{
    const std::vector<std::uint8_t> none;
#ifdef COMPACTION_NO_EXCEPTIONS
    const compaction::select_plan<> unknown(on, "fastest");
    REQUIRE(!unknown && strstr(compaction_last_error(), "\"fastest\""));
    const compaction::select_plan<> select(on);
    auto scratch = select.make_workspace(stream, 1);
    REQUIRE(select.indices(scratch, stream, {compaction_address{0}, 1}, {}, {}) == COMPACTION_INVALID_ARGUMENT);
#else
    try {
        const compaction::select_plan<> unknown(on, "fastest");
        REQUIRE(!"an exception");
    } catch (const compaction::error &error) {
        REQUIRE(error.code() == COMPACTION_UNKNOWN_NAME && strstr(error.what(), "\"fastest\""));
    }
    const compaction::select_plan<> select(on);
    auto scratch = select.make_workspace(stream, 1);
    try {
        select.indices(scratch, stream, {compaction_address{0}, 1}, {}, {});
        REQUIRE(!"an exception");
    } catch (const compaction::error &error) {
        REQUIRE(strstr(error.what(), "an output is shorter"));
    }
#endif
}

}  // namespace

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    {
        const auto on = on_gpu ? compaction::context::current() : compaction::context::cpu();
        operations(on);
        failures(on);
    }
    on_cpu();
    close_backend();
    puts("done");
    return 0;
}
