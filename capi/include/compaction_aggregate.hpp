// Plans that combine or count items: reductions, runs of equal items, and histograms.
// compaction.hpp includes this file.

#ifndef COMPACTION_AGGREGATE_HPP
#define COMPACTION_AGGREGATE_HPP

#include "compaction.hpp"

namespace compaction {

// Reductions of items of type T by "sum", "min" or "max", with counts of type W.
template <class T, class W = std::uint32_t>
class reduce_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    explicit reduce_plan(const context &on, const char *op = "sum")
        : plan([&](compaction_plan **to) {
              return compaction_plan_reduce(on.get(), op, detail::type_name<T>(), detail::word_bits<W>, to);
          })
    {
    }

    // `out` has one item.
    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, view<T> out, view<const W> count = {}) const
    {
        if (const status wrong = check_result(out.size())) return wrong;
        return detail::check(compaction_reduce(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), out.begin()));
    }
};

enum class extreme { min, max };

// Searches for the smallest or the largest item of type T, with an index and counts of type W.
template <class T, class W = std::uint32_t>
class arg_reduce_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    arg_reduce_plan(const context &on, extreme end)
        : plan([&](compaction_plan **to) {
              const char *const name = end == extreme::min ? "min" : "max";
              return compaction_plan_arg_reduce(on.get(), name, detail::type_name<T>(), detail::word_bits<W>, to);
          })
    {
    }

    // `index` and `value` have one entry each.
    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, view<W> index, view<T> value,
        view<const W> count = {}) const
    {
        if (const status wrong = check_result(index.size() < value.size() ? index.size() : value.size())) return wrong;
        return detail::check(compaction_arg_reduce(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), index.begin(), value.begin()));
    }
};

// Calls that keep the first item of each run of equal items of type T, with counts of type W.
template <class T, class W = std::uint32_t>
class unique_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit unique_plan(const context &on)
        : plan([&](compaction_plan **to) { return compaction_plan_unique(on.get(), sizeof(T), detail::word_bits<W>, to); })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, view<T> out, view<W> runs,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(values.size(), {}, {out.size()}, runs.size())) return wrong;
        return detail::check(compaction_unique(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), out.begin(), runs.begin()));
    }
};

// Calls that keep the first key of each run of equal keys of type K with its value of type V, with counts of type W. Keys
// and values have 4 or 8 bytes.
template <class K, class V, class W = std::uint32_t>
class unique_by_key_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<K> && std::is_trivially_copyable_v<V>);

public:
    explicit unique_by_key_plan(const context &on)
        : plan([&](compaction_plan **to) {
              return compaction_plan_unique_by_key(on.get(), sizeof(K), sizeof(V), detail::word_bits<W>, to);
          })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const V> values, view<K> keys_out,
        view<V> values_out, view<W> runs, view<const W> count = {}) const
    {
        const status wrong =
            check_lengths(keys.size(), {values.size()}, {keys_out.size(), values_out.size()}, runs.size());
        if (wrong) return wrong;
        return detail::check(compaction_unique_by_key(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), count.begin(), keys_out.begin(),
            values_out.begin(), runs.begin()));
    }
};

// Lengths of the runs of equal items of type T, with lengths and counts of type W.
template <class T, class W = std::uint32_t>
class run_lengths_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit run_lengths_plan(const context &on)
        : plan([&](compaction_plan **to) { return compaction_plan_run_lengths(on.get(), sizeof(T), detail::word_bits<W>, to); })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, view<T> out, view<W> lengths, view<W> runs,
        view<const W> count = {}) const
    {
        const status wrong = check_lengths(values.size(), {}, {out.size(), lengths.size()}, runs.size());
        if (wrong) return wrong;
        return detail::check(compaction_run_lengths(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), out.begin(), lengths.begin(),
            runs.begin()));
    }
};

// Reductions of values of type V by equal keys of type K of 4 or 8 bytes, by "sum", "min" or "max", with counts of type W.
template <class K, class V, class W = std::uint32_t>
class reduce_by_key_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<K>);

public:
    explicit reduce_by_key_plan(const context &on, const char *op = "sum")
        : plan([&](compaction_plan **to) {
              return compaction_plan_reduce_by_key(
                  on.get(), op, sizeof(K), detail::type_name<V>(), detail::word_bits<W>, to);
          })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const V> values, view<K> keys_out,
        view<V> values_out, view<W> runs, view<const W> count = {}) const
    {
        const status wrong =
            check_lengths(keys.size(), {values.size()}, {keys_out.size(), values_out.size()}, runs.size());
        if (wrong) return wrong;
        return detail::check(compaction_reduce_by_key(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), count.begin(), keys_out.begin(),
            values_out.begin(), runs.begin()));
    }
};

// Scans of values of type V by equal keys of type K of 4 or 8 bytes, by "sum", "min" or "max", with counts of type W.
template <class K, class V, class W = std::uint32_t>
class scan_by_key_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<K>);

public:
    explicit scan_by_key_plan(const context &on, const char *op = "sum")
        : plan([&](compaction_plan **to) {
              return compaction_plan_scan_by_key(
                  on.get(), op, sizeof(K), detail::type_name<V>(), detail::word_bits<W>, to);
          })
    {
    }

    status exclusive(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const V> values, view<V> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(keys.size(), {values.size()}, {out.size()})) return wrong;
        return detail::check(compaction_scan_by_key_exclusive(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), count.begin(), out.begin()));
    }

    status inclusive(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const V> values, view<V> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(keys.size(), {values.size()}, {out.size()})) return wrong;
        return detail::check(compaction_scan_by_key_inclusive(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), count.begin(), out.begin()));
    }
};

// Histograms of items of type T, with counts of type W.
template <class T, class W = std::uint32_t>
class histogram_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    // The type of bounds: that of floats, or 64-bit signed integers for integers.
    using bound = std::conditional_t<std::is_floating_point_v<T>, T, std::int64_t>;

    histogram_plan(const context &on, std::uint32_t bins)
        : plan([&](compaction_plan **to) {
              return compaction_plan_histogram(on.get(), detail::type_name<T>(), bins, detail::word_bits<W>, to);
          }),
          bins_(bins)
    {
    }

    status even(
        workspace &scratch, stream_handle stream, view<const T> values, double lower, double upper, view<W> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_bins(out.size())) return wrong;
        return detail::check(compaction_histogram_even(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), lower, upper, out.begin()));
    }

    // There is one bound more than bins.
    status bounds(
        workspace &scratch, stream_handle stream, view<const T> values, view<const bound> bounds, view<W> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_bins(out.size())) return wrong;
        if (const status wrong = detail::require(bounds.size() == bins_ + std::size_t{1}, "there must be one bound more than bins"))
            return wrong;
        return detail::check(compaction_histogram_bounds(
            get(), scratch.get(), stream, values.begin(), values.size(), count.begin(), bounds.begin(), out.begin()));
    }

    status keys(
        workspace &scratch, stream_handle stream, view<const T> keys, view<W> out, view<const W> count = {}) const
    {
        static_assert(std::is_unsigned_v<T>, "keys are unsigned");
        if (const status wrong = check_bins(out.size())) return wrong;
        return detail::check(compaction_histogram_keys(
            get(), scratch.get(), stream, keys.begin(), keys.size(), count.begin(), out.begin()));
    }

private:
    status check_bins(std::size_t out) const { return detail::require(out >= bins_, "there is no room for the bins"); }

    std::uint32_t bins_;
};

// Reductions of segments of items of type T by "sum", "min" or "max", with offsets and counts of type W.
template <class T, class W = std::uint32_t>
class segmented_reduce_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    explicit segmented_reduce_plan(const context &on, const char *op = "sum")
        : plan([&](compaction_plan **to) {
              return compaction_plan_segmented_reduce(on.get(), op, detail::type_name<T>(), detail::word_bits<W>, to);
          })
    {
    }

    // There is one offset more than segments.
    status by_offsets(
        workspace &scratch, stream_handle stream, view<const T> values, view<const W> offsets, view<T> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_offsets(offsets.size())) return wrong;
        const std::size_t segments = offsets.size() - 1;
        if (const status wrong = check_lengths(segments, {}, {out.size()})) return wrong;
        return detail::check(compaction_segmented_reduce_by_offsets(
            get(), scratch.get(), stream, values.begin(), values.size(), offsets.begin(), segments, count.begin(),
            out.begin()));
    }

    status of_length(
        workspace &scratch, stream_handle stream, view<const T> values, std::size_t length, view<T> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(length ? values.size() / length : 0, {}, {out.size()})) return wrong;
        return detail::check(compaction_segmented_reduce_of_length(
            get(), scratch.get(), stream, values.begin(), values.size(), length, count.begin(), out.begin()));
    }
};

}  // namespace compaction

#endif
