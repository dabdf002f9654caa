// Reductions and sorts of segments, argsorts, top k, gathers and scatters, next to plain loops.
#include "with_plan.h"

// Fills the offsets of random segments of `items` items, some of them empty, and returns the number of segments. There
// must be room for `items` + 2 words of `bits` bits.
static size_t fill_offsets(void *offsets, size_t items, uint32_t bits)
{
    size_t segments = 0;
    for (size_t at = 0;; segments++) {
        if (bits == 64)
            ((uint64_t *)offsets)[segments] = at;
        else
            ((uint32_t *)offsets)[segments] = (uint32_t)at;
        if (at == items) return segments;
        at += random_number() % 5 ? random_number() % 40 : random_number() % 3000;
        if (at > items || segments == items) at = items;
    }
}

static void reduce(size_t items, const char *op, uint32_t bits)
{
    const int is_sum = !op;
    OK(compaction_plan_segmented_reduce(context, op, "u64", bits, &plan));
    make_workspace(items);
    uint64_t *values = (uint64_t *)malloc(items * 8 + 8), *got = (uint64_t *)malloc(items * 8 + 16);
    void *offsets = malloc((items + 2) * 8);
    fill_random(values, items * 8);
    const size_t segments = fill_offsets(offsets, items, bits), length = 7;
    const compaction_address from = put(values, items * 8), on_offsets = put(offsets, (segments + 1) * bits / 8);
    const compaction_address out = room(items * 8 + 16);
    for (int by_offsets = 0; by_offsets < 2; by_offsets++) {
        if (by_offsets)
            OK(compaction_segmented_reduce_by_offsets(plan, workspace, stream, from, items, on_offsets, segments, 0, out));
        else
            OK(compaction_segmented_reduce_of_length(plan, workspace, stream, from, items, length, 0, out));
        get(got, out, items * 8 + 16);
        for (size_t segment = 0; segment < (by_offsets ? segments : items / length); segment++) {
            size_t item = by_offsets ? entry(offsets, bits, segment) : segment * length;
            const size_t end = by_offsets ? entry(offsets, bits, segment + 1) : item + length;
            uint64_t total = is_sum ? 0 : UINT64_MAX;
            for (; item < end; item++) total = is_sum ? total + values[item] : total < values[item] ? total : values[item];
            REQUIRE(got[segment] == total);
        }
    }
    release(from), release(on_offsets), release(out);
    free(values), free(got), free(offsets);
    finish_plan();
}

// Requires that `got` has the keys from `begin` to before `end` in order, and that `values` are their stable order.
static void require_sorted(
    const int32_t *keys, const int32_t *got, const uint32_t *values, size_t begin, size_t end, int descending)
{
    uint64_t before = 0, after = 0;
    for (size_t item = begin; item < end; item++) {
        before += (uint64_t)keys[item] * (uint64_t)keys[item] + (uint64_t)keys[item];
        after += (uint64_t)got[item] * (uint64_t)got[item] + (uint64_t)got[item];
        if (values) REQUIRE(values[item] >= begin && values[item] < end && keys[values[item]] == got[item]);
        if (item == begin) continue;
        REQUIRE(descending ? got[item - 1] >= got[item] : got[item - 1] <= got[item]);
        if (values && got[item - 1] == got[item]) REQUIRE(values[item - 1] < values[item]);
    }
    REQUIRE(before == after);
}

static void sort(size_t items, uint32_t value_bytes, int descending, uint32_t bits)
{
    OK(compaction_plan_segmented_sort(context, "i32", value_bytes, descending, bits, &plan));
    make_workspace(items);
    int32_t *keys = (int32_t *)malloc(items * 4 + 4), *got = (int32_t *)malloc(items * 4 + 4);
    uint32_t *values = (uint32_t *)malloc(items * 4 + 4), *order = (uint32_t *)malloc(items * 4 + 4);
    void *offsets = malloc((items + 2) * 8);
    for (size_t item = 0; item < items; item++) {
        keys[item] = (int32_t)(random_number() % 200) - 100;
        values[item] = (uint32_t)item;
    }
    const size_t segments = fill_offsets(offsets, items, bits), length = 300;
    const compaction_address from = put(keys, items * 4), on_values = put(values, items * 4);
    const compaction_address on_offsets = put(offsets, (segments + 1) * bits / 8);
    for (int by_offsets = 0; by_offsets < 2; by_offsets++) {
        const compaction_address to = room(items * 4), to_values = room(items * 4);
        if (by_offsets && value_bytes)
            OK(compaction_segmented_sort_pairs_by_offsets(
                plan, workspace, stream, from, on_values, items, on_offsets, segments, 0, to, to_values));
        else if (by_offsets)
            OK(compaction_segmented_sort_keys_by_offsets(
                plan, workspace, stream, from, items, on_offsets, segments, 0, to));
        else if (value_bytes)
            OK(compaction_segmented_sort_pairs_of_length(
                plan, workspace, stream, from, on_values, items, length, 0, to, to_values));
        else
            OK(compaction_segmented_sort_keys_of_length(plan, workspace, stream, from, items, length, 0, to));
        get(got, to, items * 4);
        get(order, to_values, items * 4);
        for (size_t segment = 0; segment < (by_offsets ? segments : items / length); segment++) {
            const size_t begin = by_offsets ? entry(offsets, bits, segment) : segment * length;
            const size_t end = by_offsets ? entry(offsets, bits, segment + 1) : begin + length;
            require_sorted(keys, got, value_bytes ? order : NULL, begin, end, descending);
        }
        release(to), release(to_values);
    }
    release(from), release(on_values), release(on_offsets);
    free(keys), free(got), free(values), free(order), free(offsets);
    finish_plan();
}

static void argsort(size_t items, int descending, uint32_t bits)
{
    OK(compaction_plan_argsort(context, NULL, "i32", descending, 0, 0, bits, &plan));
    make_workspace(items);
    int32_t *keys = (int32_t *)malloc(items * 4 + 4), *got = (int32_t *)malloc(items * 4 + 4);
    uint32_t *order = (uint32_t *)malloc(items * 4 + 4);
    uint64_t *indices = (uint64_t *)malloc(items * 8 + 8);
    for (size_t item = 0; item < items; item++) keys[item] = (int32_t)(random_number() % 200) - 100;
    const compaction_address from = put(keys, items * 4), to = room(items * 4), to_indices = room(items * 8);
    OK(compaction_argsort(plan, workspace, stream, from, items, 0, to, to_indices));
    get(got, to, items * 4);
    get(indices, to_indices, items * bits / 8);
    for (size_t item = 0; item < items; item++) order[item] = (uint32_t)entry(indices, bits, item);
    require_sorted(keys, got, order, 0, items, descending);
    release(from), release(to), release(to_indices);
    free(keys), free(got), free(order), free(indices);
    finish_plan();
}

static void top_k(size_t items, int descending)
{
    enum { K = 100 };
    OK(compaction_plan_top_k(context, "i32", descending, K, &plan));
    make_workspace(items);
    int32_t *keys = (int32_t *)malloc(items * 4 + 4), got[K];
    uint32_t indices[K];
    for (size_t item = 0; item < items; item++) keys[item] = (int32_t)(random_number() % 5000) - 2500;
    const compaction_address from = put(keys, items * 4), to = room(sizeof got), to_indices = room(sizeof indices);
    OK(compaction_top_k(plan, workspace, stream, from, items, 0, K, to, to_indices));
    get(got, to, sizeof got);
    get(indices, to_indices, sizeof indices);
    const size_t found = items < K ? items : K;
    for (size_t at = 0; at < found; at++) {
        REQUIRE(indices[at] < items && keys[indices[at]] == got[at]);
        // As many keys come before this one in a stable sort as stand before it.
        size_t before = 0;
        for (size_t item = 0; item < items; item++) {
            const int is_before = descending ? keys[item] > got[at] : keys[item] < got[at];
            before += is_before || (keys[item] == got[at] && item < indices[at]);
        }
        REQUIRE(before == at);
    }
    for (size_t at = found; at < K; at++) REQUIRE(indices[at] == 0xaaaaaaaa);
    FAILS(COMPACTION_INVALID_ARGUMENT, "k: 101, where the plan allows up to 100",
          compaction_top_k(plan, workspace, stream, from, items, 0, K + 1, to, to_indices));
    release(from), release(to), release(to_indices);
    free(keys);
    finish_plan();
}

// A scatter by a permutation, and the gather that reverts it. Some indices are too large.
static void permute(size_t items, uint32_t size, uint32_t bits)
{
    uint8_t *values = (uint8_t *)malloc(items * size + 1), *got = (uint8_t *)malloc(items * size + 1);
    uint64_t *indices = (uint64_t *)malloc(items * 8 + 8);
    fill_random(values, items * size);
    for (size_t item = 0; item < items; item++) {
        const uint64_t index = item % 10 == 9 ? items + item : (item + items / 3) % items;
        if (bits == 64)
            indices[item] = index;
        else
            ((uint32_t *)indices)[item] = (uint32_t)index;
    }
    const compaction_address from = put(values, items * size), on_indices = put(indices, items * bits / 8);
    const compaction_address scattered = room(items * size), gathered = room(items * size);
    OK(compaction_plan_scatter(context, size, bits, &plan));
    make_workspace(0);
    OK(compaction_scatter(plan, workspace, stream, from, on_indices, items, 0, scattered, items));
    get(got, scattered, items * size);
    for (size_t item = 0; item < items; item++)
        if (item % 10 != 9)
            REQUIRE(memcmp(got + (item + items / 3) % items * size, values + item * size, size) == 0);
    finish_plan();
    OK(compaction_plan_gather(context, size, bits, &plan));
    make_workspace(0);
    OK(compaction_gather(plan, workspace, stream, scattered, items, on_indices, items, 0, gathered));
    get(got, gathered, items * size);
    for (size_t item = 0; item < items; item++) {
        if (item % 10 != 9)
            REQUIRE(memcmp(got + item * size, values + item * size, size) == 0);
        else
            REQUIRE(got[item * size] == 0xaa && got[item * size + size - 1] == 0xaa);
    }
    release(from), release(on_indices), release(scattered), release(gathered);
    free(values), free(got), free(indices);
    finish_plan();
}

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    for (size_t length = 0; length < LENGTH_COUNT; length++) {
        const size_t items = LENGTHS[length];
        reduce(items, NULL, 32);
        sort(items, 4, 0, 32);
        argsort(items, 0, 32);
        top_k(items, 0);
        permute(items, 12, 32);
        if (on_gpu && items > 8000) continue;
        reduce(items, "min", 64);
        sort(items, 0, 1, 64);
        argsort(items, 1, 64);
        top_k(items, 1);
        permute(items, 1, 64);
    }
    close_backend();
    puts("done");
    return 0;
}
