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

// Every plan of the other two headers, on six items.
void more_operations(const compaction::context &on)
{
    using words = std::vector<std::uint32_t>;
    const words flags{7, 7, 3, 3, 3, 9};
    const buffer<std::uint32_t> items(flags), out(6), second(6), one(1), index(1);
    const buffer<float> values(std::vector<float>{1, 2, 3, 4, 5, 6}), floats(6), total(1);

    const compaction::reduce_plan<float> sum(on);
    auto of_sum = sum.make_workspace(stream, 6);
    sum(of_sum, stream, values, total);
    REQUIRE(total.items()[0] == 21.0f);
    const compaction::arg_reduce_plan<std::uint32_t> smallest(on, compaction::extreme::min);
    auto of_smallest = smallest.make_workspace(stream, 6);
    smallest(of_smallest, stream, items, index, one);
    REQUIRE(index.items()[0] == 2 && one.items()[0] == 3);

    const compaction::unique_plan<std::uint32_t> unique(on);
    auto of_items = unique.make_workspace(stream, 6);
    unique(of_items, stream, items, out, one);
    REQUIRE(one.items()[0] == 3 && out.items()[1] == 3);
    const compaction::run_lengths_plan<std::uint32_t> lengths(on);
    lengths(of_items, stream, items, out, second, one);
    REQUIRE(one.items()[0] == 3 && second.items()[1] == 3);
    const compaction::unique_by_key_plan<std::uint32_t, float> unique_pairs(on);
    auto of_pairs = unique_pairs.make_workspace(stream, 6);
    unique_pairs(of_pairs, stream, items, values, out, floats, one);
    REQUIRE(floats.items()[1] == 3.0f);
    const compaction::reduce_by_key_plan<std::uint32_t, float> sums(on);
    auto of_sums = sums.make_workspace(stream, 6);
    sums(of_sums, stream, items, values, out, floats, one);
    REQUIRE(floats.items()[1] == 12.0f && out.items()[2] == 9);
    const compaction::scan_by_key_plan<std::uint32_t, float> scan(on);
    scan.inclusive(of_sums, stream, items, values, floats);
    REQUIRE(floats.items()[4] == 12.0f);
    scan.exclusive(of_sums, stream, items, values, floats);
    REQUIRE(floats.items()[4] == 7.0f && floats.items()[2] == 0.0f);

    const compaction::histogram_plan<std::uint32_t> histogram(on, 2);
    auto of_histogram = histogram.make_workspace(stream, 6);
    const buffer<std::int64_t> bounds(std::vector<std::int64_t>{3, 4, 9});
    const buffer<std::uint32_t> counts(2), offsets(words{0, 2, 6});
    histogram.even(of_histogram, stream, items, 0, 8, counts);
    REQUIRE((counts.items() == words{3, 2}));
    histogram.bounds(of_histogram, stream, items, bounds, counts);
    REQUIRE((counts.items() == words{3, 2}));
    histogram.keys(of_histogram, stream, items, counts);
    REQUIRE((counts.items() == words{0, 0}));

    const compaction::segmented_reduce_plan<float> segment_sums(on);
    auto of_segments = segment_sums.make_workspace(stream, 6);
    segment_sums.by_offsets(of_segments, stream, values, offsets, floats);
    REQUIRE(floats.items()[0] == 3.0f && floats.items()[1] == 18.0f);
    segment_sums.of_length(of_segments, stream, values, 3, floats);
    REQUIRE(floats.items()[0] == 6.0f && floats.items()[1] == 15.0f);
    const compaction::segmented_sort_plan<std::uint32_t, float> sort(on, compaction::order::descending);
    auto of_sort = sort.make_workspace(stream, 6);
    sort.pairs_by_offsets(of_sort, stream, items, values, offsets, out, floats);
    REQUIRE((out.items() == words{7, 7, 9, 3, 3, 3}) && floats.items()[2] == 6.0f);
    sort.keys_of_length(of_sort, stream, items, 3, out);
    REQUIRE((out.items() == words{7, 7, 3, 9, 3, 3}));
    sort.pairs_of_length(of_sort, stream, items, values, 3, out, floats);
    sort.keys_by_offsets(of_sort, stream, items, offsets, out);
    REQUIRE((out.items() == words{7, 7, 9, 3, 3, 3}) && floats.items()[3] == 6.0f);

    const compaction::argsort_plan<std::uint32_t> argsort(on);
    auto of_argsort = argsort.make_workspace(stream, 6);
    argsort(of_argsort, stream, items, out, second);
    REQUIRE((second.items() == words{2, 3, 4, 0, 1, 5}));
    const compaction::top_k_plan<float> largest(on, 2, compaction::order::descending);
    auto of_largest = largest.make_workspace(stream, 6);
    const buffer<float> first(2);
    largest(of_largest, stream, values, first, counts);
    REQUIRE((first.items() == std::vector<float>{6, 5}) && (counts.items() == words{5, 4}));
    const compaction::gather_plan<float> gather(on);
    auto of_gather = gather.make_workspace(stream, 0);
    gather(of_gather, stream, values, second, floats);
    REQUIRE(floats.items()[0] == 3.0f && floats.items()[5] == 6.0f);
    const compaction::scatter_plan<float> scatter(on);
    scatter(of_gather, stream, floats, second, values);
    REQUIRE((values.items() == std::vector<float>{1, 2, 3, 4, 5, 6}));
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
        more_operations(on);
        failures(on);
    }
    on_cpu();
    close_backend();
    puts("done");
    return 0;
}
