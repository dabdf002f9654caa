// Reductions, searches for extremes, runs, and histograms, next to plain loops.
#include "with_plan.h"

// Values of a few numbers, so that there are equal neighbours. Returns an array that the caller frees.
static uint32_t *few_values(size_t items, uint32_t kinds)
{
    uint32_t *values = (uint32_t *)malloc(items * 4 + 4);
    for (size_t item = 0; item < items; item++) values[item] = (uint32_t)(random_number() % kinds);
    return values;
}

static void reduce(size_t items, const char *op, uint32_t bits)
{
    OK(compaction_plan_reduce(context, op, "f32", bits, &plan));
    make_workspace(items + 5);
    float *values = (float *)malloc(items * 4 + 4), got;
    // The sum is exact.
    for (size_t item = 0; item < items; item++) values[item] = (float)(int)(random_number() % 2001) - 1000.0f;
    // There are more items than the count says.
    const compaction_address from = room((items + 5) * 4), out = room(4), count = put_word(items, bits);
    put_at(from, values, items * 4);
    OK(compaction_reduce(plan, workspace, stream, from, items + 5, count, out));
    get(&got, out, 4);
    const int is_sum = !op || strcmp(op, "sum") == 0, is_min = op && strcmp(op, "min") == 0;
    double expected = is_sum ? 0 : is_min ? 1e300 : -1e300;
    for (size_t item = 0; item < items; item++) {
        if (is_sum) expected += values[item];
        if (is_min && values[item] < expected) expected = values[item];
        if (!is_sum && !is_min && values[item] > expected) expected = values[item];
    }
    REQUIRE(got == (float)expected);
    release(from), release(out), release(count);
    free(values);
    finish_plan();
}

static void extreme(size_t items, int is_max, uint32_t bits)
{
    OK(compaction_plan_arg_reduce(context, is_max ? "max" : "min", "u32", bits, &plan));
    make_workspace(items);
    uint32_t *values = few_values(items, 1000), got;
    const compaction_address from = put(values, items * 4), index = room(bits / 8), value = room(4);
    OK(compaction_arg_reduce(plan, workspace, stream, from, items, 0, index, value));
    size_t best = 0;
    for (size_t item = 1; item < items; item++)
        if (is_max ? values[item] > values[best] : values[item] < values[best]) best = item;
    get(&got, value, 4);
    REQUIRE(got == (items ? values[best] : is_max ? 0 : UINT32_MAX));
    REQUIRE(word_at(index, bits) == (items ? best : bits == 64 ? UINT64_MAX : UINT32_MAX));
    release(from), release(index), release(value);
    free(values);
    finish_plan();
}

// All operations on runs of equal keys: the keys are the values, and the values are their indices.
static void runs(size_t items, uint32_t bits)
{
    uint32_t *keys = few_values(items, 3);
    uint32_t *indices = (uint32_t *)malloc(items * 4 + 4), *starts = (uint32_t *)malloc(items * 4 + 4);
    size_t expected = 0;
    for (size_t item = 0; item < items; item++) {
        indices[item] = (uint32_t)item;
        if (item == 0 || keys[item] != keys[item - 1]) starts[expected++] = (uint32_t)item;
    }
    const compaction_address from = put(keys, items * 4), values = put(indices, items * 4), count = room(bits / 8);
    uint32_t *got = (uint32_t *)malloc(items * 4 + 4), *got_values = (uint32_t *)malloc(items * 4 + 4);
    uint64_t *lengths = (uint64_t *)malloc(items * 8 + 8);
    for (int operation = 0; operation < 4; operation++) {
        const compaction_address out = room(items * 4), out_values = room(items * 8);
        if (operation == 0) {
            OK(compaction_plan_unique(context, 4, bits, &plan));
            make_workspace(items);
            OK(compaction_unique(plan, workspace, stream, from, items, 0, out, count));
        } else if (operation == 1) {
            OK(compaction_plan_unique_by_key(context, 4, 4, bits, &plan));
            make_workspace(items);
            OK(compaction_unique_by_key(plan, workspace, stream, from, values, items, 0, out, out_values, count));
        } else if (operation == 2) {
            OK(compaction_plan_run_lengths(context, 4, bits, &plan));
            make_workspace(items);
            OK(compaction_run_lengths(plan, workspace, stream, from, items, 0, out, out_values, count));
        } else {
            OK(compaction_plan_reduce_by_key(context, NULL, 4, "u32", bits, &plan));
            make_workspace(items);
            OK(compaction_reduce_by_key(plan, workspace, stream, from, values, items, 0, out, out_values, count));
        }
        REQUIRE(word_at(count, bits) == expected);
        get(got, out, items * 4);
        get(got_values, out_values, items * 4);
        get(lengths, out_values, items * bits / 8);
        for (size_t run = 0; run < items; run++) {
            if (run >= expected) {
                REQUIRE(got[run] == 0xaaaaaaaa);
                continue;
            }
            const size_t end = run + 1 < expected ? starts[run + 1] : items;
            uint32_t sum = 0;
            for (size_t item = starts[run]; item < end; item++) sum += (uint32_t)item;
            REQUIRE(got[run] == keys[starts[run]]);
            if (operation == 1) REQUIRE(got_values[run] == starts[run]);
            if (operation == 2) REQUIRE(entry(lengths, bits, run) == end - starts[run]);
            if (operation == 3) REQUIRE(got_values[run] == sum);
        }
        release(out), release(out_values);
        finish_plan();
    }
    release(from), release(values), release(count);
    free(keys), free(indices), free(starts), free(got), free(got_values), free(lengths);
}

static void scan_by_key(size_t items, const char *op, uint32_t bits)
{
    const int is_sum = strcmp(op, "sum") == 0;
    OK(compaction_plan_scan_by_key(context, op, 8, "i32", bits, &plan));
    make_workspace(items);
    uint64_t *keys = (uint64_t *)malloc(items * 8 + 8);
    int32_t *values = (int32_t *)malloc(items * 4 + 4), *got = (int32_t *)malloc(items * 4 + 4);
    for (size_t item = 0; item < items; item++) {
        keys[item] = random_number() % 2 << 40;
        values[item] = (int32_t)(random_number() % 2000) - 1000;
    }
    const compaction_address on_keys = put(keys, items * 8), from = put(values, items * 4), to = room(items * 4);
    for (int inclusive = 0; inclusive < 2; inclusive++) {
        if (inclusive)
            OK(compaction_scan_by_key_inclusive(plan, workspace, stream, on_keys, from, items, 0, to));
        else
            OK(compaction_scan_by_key_exclusive(plan, workspace, stream, on_keys, from, items, 0, to));
        get(got, to, items * 4);
        int32_t total = 0;
        for (size_t item = 0; item < items; item++) {
            if (item == 0 || keys[item] != keys[item - 1]) total = is_sum ? 0 : INT32_MIN;
            if (!inclusive) REQUIRE(got[item] == total);
            total = is_sum ? total + values[item] : total > values[item] ? total : values[item];
            if (inclusive) REQUIRE(got[item] == total);
        }
    }
    release(on_keys), release(from), release(to);
    free(keys), free(values), free(got);
    finish_plan();
}

static void histogram(size_t items, uint32_t bits)
{
    enum { BINS = 10 };
    OK(compaction_plan_histogram(context, "u8", BINS, bits, &plan));
    make_workspace(items);
    uint8_t *values = (uint8_t *)malloc(items + 1);
    fill_random(values, items);
    int64_t bounds[BINS + 1];
    for (int bound = 0; bound <= BINS; bound++) bounds[bound] = bound * bound * 2 - 3;
    const compaction_address from = put(values, items), on_bounds = put(bounds, sizeof bounds), out = room(BINS * 8);
    for (int way = 0; way < 3; way++) {
        if (way == 0) OK(compaction_histogram_even(plan, workspace, stream, from, items, 0, 20, 220, out));
        if (way == 1) OK(compaction_histogram_bounds(plan, workspace, stream, from, items, 0, on_bounds, out));
        if (way == 2) OK(compaction_histogram_keys(plan, workspace, stream, from, items, 0, out));
        uint64_t got[BINS], expected[BINS] = {0};
        for (size_t item = 0; item < items; item++)
            for (int bin = 0; bin < BINS; bin++)
                expected[bin] += way == 0   ? values[item] >= 20 + 20 * bin && values[item] < 40 + 20 * bin
                                 : way == 1 ? values[item] >= bounds[bin] && values[item] < bounds[bin + 1]
                                            : values[item] == bin;
        get(got, out, BINS * bits / 8);
        for (size_t bin = 0; bin < BINS; bin++) REQUIRE(entry(got, bits, bin) == expected[bin]);
    }
    release(from), release(on_bounds), release(out);
    free(values);
    finish_plan();
}

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    for (size_t length = 0; length < LENGTH_COUNT; length++) {
        const size_t items = LENGTHS[length];
        for (uint32_t bits = 32; bits <= 64; bits += 32) {
            runs(items, bits);
            extreme(items, bits == 64, bits);
            histogram(items, bits);
        }
        reduce(items, NULL, 32);
        scan_by_key(items, "sum", 32);
        if (on_gpu) continue;
        if (items) reduce(items, "min", 64);
        if (items) reduce(items, "max", 32);
        scan_by_key(items, "max", 64);
    }
    close_backend();
    puts("done");
    return 0;
}
