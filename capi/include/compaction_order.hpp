// Plans that sort keys, or move items by indices.
// compaction.hpp includes this file.

#ifndef COMPACTION_ORDER_HPP
#define COMPACTION_ORDER_HPP

#include "compaction.hpp"

namespace compaction {

enum class order { ascending, descending };

// Sorts of keys of type K, alone or with values of type V of 4 or 8 bytes, with counts of type W.
template <class K, class V = void, class W = std::uint32_t>
class radix_sort_plan : public plan {
    static_assert(detail::is_word<W>);
    // The type of the values, or a placeholder for keys alone.
    using value = std::conditional_t<std::is_void_v<V>, std::uint32_t, V>;

public:
    // Compares the bits from `first_bit` up to but not including `end_bit`, or all if both are 0.
    explicit radix_sort_plan(
        const context &on, order direction = order::ascending, std::uint32_t first_bit = 0, std::uint32_t end_bit = 0,
        const char *strategy = nullptr)
        : plan([&](compaction_plan **to) {
              return compaction_plan_radix_sort(
                  on.get(), strategy, detail::type_name<K>(), value_bytes(), direction == order::descending, first_bit,
                  end_bit, detail::word_bits<W>, to);
          })
    {
    }

    status keys(
        workspace &scratch, stream_handle stream, view<const K> keys, view<K> out, view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(keys.size(), {}, {out.size()})) return wrong;
        return detail::check(compaction_radix_sort_keys(
            get(), scratch.get(), stream, keys.begin(), keys.size(), count.begin(), out.begin()));
    }

    status pairs(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const value> values, view<K> keys_out,
        view<value> values_out, view<const W> count = {}) const
    {
        static_assert(!std::is_void_v<V>, "the plan is for keys alone");
        const status wrong = check_lengths(keys.size(), {values.size()}, {keys_out.size(), values_out.size()});
        if (wrong) return wrong;
        return detail::check(compaction_radix_sort_pairs(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), count.begin(), keys_out.begin(),
            values_out.begin()));
    }

private:
    static constexpr std::uint32_t value_bytes()
    {
        if constexpr (std::is_void_v<V>)
            return 0;
        else
            return sizeof(V);
    }
};

// Argsorts of keys of type K, with indices and counts of type W.
template <class K, class W = std::uint32_t>
class argsort_plan : public plan {
    static_assert(detail::is_word<W>);

public:
    // Compares the bits from `first_bit` up to but not including `end_bit`, or all if both are 0.
    explicit argsort_plan(
        const context &on, order direction = order::ascending, std::uint32_t first_bit = 0, std::uint32_t end_bit = 0,
        const char *strategy = nullptr)
        : plan([&](compaction_plan **to) {
              return compaction_plan_argsort(
                  on.get(), strategy, detail::type_name<K>(), direction == order::descending, first_bit, end_bit,
                  detail::word_bits<W>, to);
          })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const K> keys, view<K> keys_out, view<W> indices_out,
        view<const W> count = {}) const
    {
        const status wrong = check_lengths(keys.size(), {}, {keys_out.size(), indices_out.size()});
        if (wrong) return wrong;
        return detail::check(compaction_argsort(
            get(), scratch.get(), stream, keys.begin(), keys.size(), count.begin(), keys_out.begin(),
            indices_out.begin()));
    }
};

// Selections of the first keys of type K in sort order, with indices and counts of 32 bits.
template <class K>
class top_k_plan : public plan {
public:
    // Selects up to `max_k` of the smallest keys, or of the largest ones if the order is descending.
    top_k_plan(const context &on, std::size_t max_k, order direction = order::ascending)
        : plan([&](compaction_plan **to) {
              return compaction_plan_top_k(on.get(), detail::type_name<K>(), direction == order::descending, max_k, to);
          })
    {
    }

    // Selects as many keys as `keys_out` has room for.
    status operator()(
        workspace &scratch, stream_handle stream, view<const K> keys, view<K> keys_out, view<std::uint32_t> indices_out,
        view<const std::uint32_t> count = {}) const
    {
        if (const status wrong = check_lengths(keys_out.size(), {}, {indices_out.size()})) return wrong;
        return detail::check(compaction_top_k(
            get(), scratch.get(), stream, keys.begin(), keys.size(), count.begin(), keys_out.size(), keys_out.begin(),
            indices_out.begin()));
    }
};

// Sorts of segments of keys of type K, alone or with values of type V of 4 or 8 bytes, with offsets and counts of type W.
template <class K, class V = void, class W = std::uint32_t>
class segmented_sort_plan : public plan {
    static_assert(detail::is_word<W>);
    // The type of the values, or a placeholder for keys alone.
    using value = std::conditional_t<std::is_void_v<V>, std::uint32_t, V>;

public:
    explicit segmented_sort_plan(const context &on, order direction = order::ascending)
        : plan([&](compaction_plan **to) {
              return compaction_plan_segmented_sort(
                  on.get(), detail::type_name<K>(), std::is_void_v<V> ? 0 : sizeof(value), direction == order::descending,
                  detail::word_bits<W>, to);
          })
    {
    }

    // There is one offset more than segments.
    status keys_by_offsets(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const W> offsets, view<K> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_offsets(offsets.size())) return wrong;
        if (const status wrong = check_lengths(keys.size(), {}, {out.size()})) return wrong;
        return detail::check(compaction_segmented_sort_keys_by_offsets(
            get(), scratch.get(), stream, keys.begin(), keys.size(), offsets.begin(), offsets.size() - 1, count.begin(),
            out.begin()));
    }

    status keys_of_length(
        workspace &scratch, stream_handle stream, view<const K> keys, std::size_t length, view<K> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(keys.size(), {}, {out.size()})) return wrong;
        return detail::check(compaction_segmented_sort_keys_of_length(
            get(), scratch.get(), stream, keys.begin(), keys.size(), length, count.begin(), out.begin()));
    }

    status pairs_by_offsets(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const value> values, view<const W> offsets,
        view<K> keys_out, view<value> values_out, view<const W> count = {}) const
    {
        static_assert(!std::is_void_v<V>, "the plan is for keys alone");
        if (const status wrong = check_offsets(offsets.size())) return wrong;
        const status wrong = check_lengths(keys.size(), {values.size()}, {keys_out.size(), values_out.size()});
        if (wrong) return wrong;
        return detail::check(compaction_segmented_sort_pairs_by_offsets(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), offsets.begin(), offsets.size() - 1,
            count.begin(), keys_out.begin(), values_out.begin()));
    }

    status pairs_of_length(
        workspace &scratch, stream_handle stream, view<const K> keys, view<const value> values, std::size_t length,
        view<K> keys_out, view<value> values_out, view<const W> count = {}) const
    {
        static_assert(!std::is_void_v<V>, "the plan is for keys alone");
        const status wrong = check_lengths(keys.size(), {values.size()}, {keys_out.size(), values_out.size()});
        if (wrong) return wrong;
        return detail::check(compaction_segmented_sort_pairs_of_length(
            get(), scratch.get(), stream, keys.begin(), values.begin(), keys.size(), length, count.begin(),
            keys_out.begin(), values_out.begin()));
    }
};

// Gathers of items of type T by indices of type W. A workspace serves any number of items.
template <class T, class W = std::uint32_t>
class gather_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit gather_plan(const context &on)
        : plan([&](compaction_plan **to) { return compaction_plan_gather(on.get(), sizeof(T), detail::word_bits<W>, to); })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, view<const W> indices, view<T> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(indices.size(), {}, {out.size()})) return wrong;
        return detail::check(compaction_gather(
            get(), scratch.get(), stream, values.begin(), values.size(), indices.begin(), indices.size(), count.begin(),
            out.begin()));
    }
};

// Scatters of items of type T by indices of type W. A workspace serves any number of items.
template <class T, class W = std::uint32_t>
class scatter_plan : public plan {
    static_assert(detail::is_word<W> && std::is_trivially_copyable_v<T>);

public:
    explicit scatter_plan(const context &on)
        : plan([&](compaction_plan **to) { return compaction_plan_scatter(on.get(), sizeof(T), detail::word_bits<W>, to); })
    {
    }

    status operator()(
        workspace &scratch, stream_handle stream, view<const T> values, view<const W> indices, view<T> out,
        view<const W> count = {}) const
    {
        if (const status wrong = check_lengths(indices.size(), {values.size()}, {})) return wrong;
        return detail::check(compaction_scatter(
            get(), scratch.get(), stream, values.begin(), indices.begin(), indices.size(), count.begin(), out.begin(),
            out.size()));
    }
};

}  // namespace compaction

#endif
