// Invalid arguments return a status and a message of one line, and write nothing.
#include "check.h"

// Requires that a call fails because a parameter is null.
#define IS_NULL(name, call) FAILS(COMPACTION_NULL_POINTER, name " is null", call)
#define IS_INVALID(text, call) FAILS(COMPACTION_INVALID_ARGUMENT, text, call)

static void plans(void)
{
    compaction_plan *plan = NULL;
    const uint32_t sizes[9] = {4, 0, 4, 4, 4, 4, 4, 4, 4};
    IS_NULL("context", compaction_plan_select(NULL, NULL, 4, 32, &plan));
    IS_NULL("plan", compaction_plan_select(context, NULL, 4, 32, NULL));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"look-bak\"; there are look-back", compaction_plan_select(context, "look-bak", 4, 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "strategy is not UTF-8", compaction_plan_select(context, "\xff", 4, 32, &plan));
    IS_INVALID("word_bits: 16", compaction_plan_select(context, NULL, 4, 16, &plan));
    IS_INVALID("item_bytes: 3", compaction_plan_select(context, NULL, 3, 32, &plan));
    IS_INVALID("item_bytes: 68", compaction_plan_partition(context, 68, 32, &plan));
    IS_INVALID("item_bytes: 0", compaction_plan_select_in_place(context, NULL, 0, 32, &plan));
    IS_INVALID("columns: 9", compaction_plan_select_columns(context, sizes, 9, 32, &plan));
    IS_INVALID("item: 0", compaction_plan_select_columns(context, sizes, 2, 32, &plan));
    IS_NULL("item_bytes", compaction_plan_select_columns(context, NULL, 1, 32, &plan));
    IS_INVALID("classes of partition: 257", compaction_plan_partition_classes(context, 257, 32, &plan));
    IS_INVALID("classes of partition: 0", compaction_plan_partition_classes(context, 0, 32, &plan));
    IS_NULL("type", compaction_plan_scan(context, NULL, NULL, NULL, 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"u8\" here; there are u32", compaction_plan_scan(context, NULL, NULL, "u8", 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"mean\"; there are sum", compaction_plan_scan(context, NULL, "mean", "u32", 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"f16\"", compaction_plan_radix_sort(context, NULL, "f16", 0, 0, 0, 0, 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"quick\"", compaction_plan_radix_sort(context, "quick", "u32", 0, 0, 0, 0, 32, &plan));
    IS_INVALID("value_bytes: 2", compaction_plan_radix_sort(context, NULL, "u32", 2, 0, 0, 0, 32, &plan));
    IS_INVALID("bits of radix_sort: 33", compaction_plan_radix_sort(context, NULL, "u32", 0, 0, 0, 33, 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"mean\"; there are sum", compaction_plan_reduce(context, "mean", "u32", 32, &plan));
    IS_NULL("type", compaction_plan_reduce(context, NULL, NULL, 32, &plan));
    IS_NULL("extreme", compaction_plan_arg_reduce(context, NULL, "u32", 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"sum\"; there are min", compaction_plan_arg_reduce(context, "sum", "u32", 32, &plan));
    IS_INVALID("item_bytes: 0", compaction_plan_unique(context, 0, 32, &plan));
    IS_INVALID("key_bytes: 2, where 4 and 8", compaction_plan_unique_by_key(context, 2, 4, 32, &plan));
    IS_INVALID("value_bytes: 16, where 4 and 8", compaction_plan_unique_by_key(context, 4, 16, 32, &plan));
    IS_INVALID("word_bits: 0", compaction_plan_run_lengths(context, 4, 0, &plan));
    IS_INVALID("key_bytes: 1", compaction_plan_reduce_by_key(context, NULL, 1, "u32", 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"i16\" here; there are u32", compaction_plan_scan_by_key(context, NULL, 4, "i16", 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"u64\" here; there are u8", compaction_plan_histogram(context, "u64", 10, 32, &plan));
    IS_INVALID("bins: 0", compaction_plan_histogram(context, "u8", 0, 32, &plan));
    IS_INVALID("bins: 16777217", compaction_plan_histogram(context, "u8", (1 << 24) + 1, 32, &plan));
    IS_NULL("type", compaction_plan_segmented_reduce(context, NULL, NULL, 32, &plan));
    IS_INVALID("value_bytes: 1", compaction_plan_segmented_sort(context, "u32", 1, 0, 32, &plan));
    IS_INVALID("bits of radix_sort: 9", compaction_plan_argsort(context, NULL, "u8", 0, 0, 9, 32, &plan));
    IS_INVALID("item_bytes: 7", compaction_plan_gather(context, 7, 32, &plan));
    IS_NULL("context", compaction_plan_scatter(NULL, 4, 32, &plan));
    FAILS(COMPACTION_UNKNOWN_NAME, "\"double\"", compaction_plan_summed_area(context, NULL, "double", &plan));
    REQUIRE(plan == NULL);
    if (!on_gpu) return;
    IS_INVALID("sequences cannot select in place", compaction_plan_select_in_place(context, "sequences", 4, 32, &plan));
}

static void contexts(void)
{
    compaction_context *other = NULL;
    IS_NULL("context", compaction_open_cpu(NULL));
    IS_INVALID("ordinal: -1", compaction_open_device(-1, &other));
    FAILS(COMPACTION_NO_DEVICE, "no CUDA device", compaction_open_device(1000, &other));
    REQUIRE(other == NULL);
    // Null is ignored.
    compaction_close(NULL);
    compaction_plan_destroy(NULL);
    compaction_workspace_destroy(NULL);
}

static void calls(void)
{
    compaction_plan *plan, *indices, *scan;
    compaction_workspace *workspace, *of_scan;
    uint64_t bytes;
    OK(compaction_plan_select(context, NULL, 4, 32, &plan));
    OK(compaction_plan_select(context, NULL, 0, 32, &indices));
    OK(compaction_plan_scan(context, NULL, NULL, "u32", 32, &scan));
    OK(compaction_workspace_create(plan, stream, 100, 0, 0, &workspace));
    OK(compaction_workspace_create(scan, stream, 100, 0, 0, &of_scan));
    const compaction_address flags = room(200), values = room(800), out = room(800), selected = room(8);

    IS_NULL("plan", compaction_select_items(NULL, workspace, stream, values, flags, 100, 0, out, selected));
    IS_NULL("flags", compaction_select_items(plan, workspace, stream, values, 0, 100, 0, out, selected));
    IS_NULL("values", compaction_select_items(plan, workspace, stream, 0, flags, 100, 0, out, selected));
    IS_NULL("out", compaction_select_items(plan, workspace, stream, values, flags, 100, 0, 0, selected));
    IS_NULL("selected", compaction_select_items(plan, workspace, stream, values, flags, 100, 0, out, 0));
    FAILS(COMPACTION_MISALIGNED, "values: address", compaction_select_items(plan, workspace, stream, values + 2, flags, 100, 0, out, selected));
    FAILS(COMPACTION_MISALIGNED, "out: address", compaction_select_items(plan, workspace, stream, values, flags, 100, 0, out + 1, selected));
    FAILS(COMPACTION_MISALIGNED, "count: address", compaction_select_items(plan, workspace, stream, values, flags, 100, flags + 1, out, selected));
    IS_INVALID("values and out overlap", compaction_select_items(plan, workspace, stream, values, flags, 100, 0, values + 4, selected));
    IS_INVALID("exceed the address space", compaction_select_items(plan, workspace, stream, values, flags, UINT64_MAX / 2, 0, out, selected));
    IS_INVALID("made for indices", compaction_select_items(indices, workspace, stream, values, flags, 100, 0, out, selected));
    IS_INVALID("one of scan cannot run select_items", compaction_select_items(scan, of_scan, stream, values, flags, 100, 0, out, selected));
    IS_INVALID("one of select cannot run select_in_place", compaction_select_in_place(plan, workspace, stream, values, flags, 100, 0, selected));
    IS_INVALID("cannot run radix_sort", compaction_radix_sort_keys(plan, workspace, stream, values, 100, 0, out));
    IS_INVALID("overlap", compaction_scan_exclusive(scan, of_scan, stream, values, 100, 0, values + 4));
    IS_NULL("bytes", compaction_workspace_bytes(plan, 100, NULL));
    IS_NULL("workspace", compaction_workspace_create(plan, stream, 100, 0, 0, NULL));
    IS_NULL("workspace", compaction_workspace_check(NULL, stream));
    OK(compaction_workspace_bytes(plan, 100, &bytes));
    REQUIRE((bytes > 0) == on_gpu);
    compaction_workspace *other = NULL;
    IS_NULL("workspace", compaction_select_items(plan, NULL, stream, values, flags, 100, 0, out, selected));
    IS_INVALID("another operation", compaction_select_items(plan, of_scan, stream, values, flags, 100, 0, out, selected));
    FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "100 is used for 101",
          compaction_select_items(plan, workspace, stream, values, flags, 101, 0, out, selected));
    IS_INVALID("only one of summed_area", compaction_table_workspace_create(plan, stream, 10, 10, 0, 0, &other));
    IS_INVALID("only one of summed_area", compaction_table_workspace_bytes(plan, 10, 10, &bytes));
    if (on_gpu) {
        const compaction_address memory = room(4096);
        FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "where at least", compaction_workspace_create(plan, stream, 100, memory, bytes - 1, &other));
        FAILS(COMPACTION_MISALIGNED, "multiple of 256", compaction_workspace_create(plan, stream, 100, memory + 8, bytes, &other));
        FAILS(COMPACTION_OUT_OF_MEMORY, "bytes left", compaction_workspace_create(scan, stream, (uint64_t)1 << 50, 0, 0, &other));
        release(memory);
    }
    REQUIRE(other == NULL);
    // Nothing was written.
    uint8_t got[800];
    get(got, out, sizeof got);
    for (size_t at = 0; at < sizeof got; at++) REQUIRE(got[at] == 0xaa);
    REQUIRE(word_at(selected, 64) == 0xaaaaaaaaaaaaaaaa);

    release(flags), release(values), release(out), release(selected);
    compaction_workspace_destroy(workspace);
    compaction_workspace_destroy(of_scan);
    compaction_plan_destroy(plan);
    compaction_plan_destroy(indices);
    compaction_plan_destroy(scan);
}

// The calls that combine items or move them by indices. `at` has 400 bytes, and `to` and `also` as many.
static void more_calls(void)
{
    compaction_plan *plan, *other;
    compaction_workspace *workspace, *of_other;
    const compaction_address at = room(400), to = room(400), also = room(400), count = put_word(101, 32);

    OK(compaction_plan_reduce(context, NULL, "u32", 32, &plan));
    OK(compaction_plan_unique(context, 4, 32, &other));
    OK(compaction_workspace_create(plan, stream, 50, 0, 0, &workspace));
    OK(compaction_workspace_create(other, stream, 50, 0, 0, &of_other));
    IS_NULL("workspace", compaction_reduce(plan, NULL, stream, at, 50, 0, to));
    IS_NULL("values", compaction_reduce(plan, workspace, stream, 0, 50, 0, to));
    IS_NULL("out", compaction_reduce(plan, workspace, stream, at, 50, 0, 0));
    FAILS(COMPACTION_MISALIGNED, "values: address", compaction_reduce(plan, workspace, stream, at + 2, 50, 0, to));
    IS_INVALID("values and out overlap", compaction_reduce(plan, workspace, stream, at, 50, 0, at + 196));
    IS_INVALID("count and out overlap", compaction_reduce(plan, workspace, stream, at, 50, to, to));
    IS_INVALID("exceed the address space", compaction_reduce(plan, workspace, stream, at, UINT64_MAX / 4, 0, to));
    IS_INVALID("another operation", compaction_reduce(plan, of_other, stream, at, 50, 0, to));
    IS_INVALID("one of unique cannot run reduce", compaction_reduce(other, of_other, stream, at, 50, 0, to));
    FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "50 is used for 51", compaction_reduce(plan, workspace, stream, at, 51, 0, to));
    IS_NULL("runs", compaction_unique(other, of_other, stream, at, 50, 0, to, 0));
    IS_INVALID("out and runs overlap", compaction_unique(other, of_other, stream, at, 50, 0, to, to + 4));
    FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "50 is used for 51", compaction_unique(other, of_other, stream, at, 51, 0, to, also));
    if (!on_gpu) {
        // A GPU reads the count later, and compaction_workspace_check reports it.
        FAILS(COMPACTION_COUNT_TOO_LARGE, "count: 101 items", compaction_reduce(plan, workspace, stream, at, 50, count, to));
        FAILS(COMPACTION_COUNT_TOO_LARGE, "count: 101 items", compaction_unique(other, of_other, stream, at, 50, count, to, also));
    }
    compaction_workspace_destroy(workspace), compaction_workspace_destroy(of_other);
    compaction_plan_destroy(plan), compaction_plan_destroy(other);

    OK(compaction_plan_histogram(context, "i32", 10, 32, &plan));
    OK(compaction_workspace_create(plan, stream, 0, 0, 0, &workspace));
    IS_INVALID("lower: 0.5, where a histogram of i32", compaction_histogram_even(plan, workspace, stream, at, 100, 0, 0.5, 10, to));
    IS_INVALID("range of histogram: 10..10", compaction_histogram_even(plan, workspace, stream, at, 100, 0, 10, 10, to));
    IS_INVALID("needs items of u8", compaction_histogram_keys(plan, workspace, stream, at, 100, 0, to));
    IS_NULL("bounds", compaction_histogram_bounds(plan, workspace, stream, at, 100, 0, 0, to));
    IS_INVALID("out and bounds overlap", compaction_histogram_bounds(plan, workspace, stream, at, 100, 0, to, to));
    compaction_workspace_destroy(workspace), compaction_plan_destroy(plan);

    OK(compaction_plan_segmented_reduce(context, NULL, "u32", 32, &plan));
    OK(compaction_workspace_create(plan, stream, 50, 0, 0, &workspace));
    IS_NULL("offsets", compaction_segmented_reduce_by_offsets(plan, workspace, stream, at, 50, 0, 0, 0, to));
    IS_INVALID("exceed the address space", compaction_segmented_reduce_by_offsets(plan, workspace, stream, at, 50, also, UINT64_MAX, 0, to));
    IS_INVALID("segment length of segmented_reduce: 0", compaction_segmented_reduce_of_length(plan, workspace, stream, at, 50, 0, 0, to));
    FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "50 is used for 51", compaction_segmented_reduce_of_length(plan, workspace, stream, at, 51, 3, 0, to));
    if (!on_gpu) {
        const uint32_t falling[3] = {0, 3, 2};
        const compaction_address offsets = put(falling, sizeof(falling));
        IS_INVALID("compaction_segmented_reduce_by_offsets: an offset of segmented_reduce: 2, where 3 to 50 are possible",
            compaction_segmented_reduce_by_offsets(plan, workspace, stream, at, 50, offsets, 2, 0, to));
        release(offsets);
    }
    compaction_workspace_destroy(workspace), compaction_plan_destroy(plan);

    OK(compaction_plan_segmented_sort(context, "u32", 0, 0, 32, &plan));
    OK(compaction_workspace_create(plan, stream, 50, 0, 0, &workspace));
    IS_INVALID("keys alone", compaction_segmented_sort_pairs_of_length(plan, workspace, stream, at, also, 50, 5, 0, to, to));
    IS_INVALID("keys and keys_out overlap", compaction_segmented_sort_keys_of_length(plan, workspace, stream, at, 50, 5, 0, at));
    IS_INVALID("segment length of segmented_sort: 0", compaction_segmented_sort_keys_of_length(plan, workspace, stream, at, 50, 0, 0, to));
    FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "50 is used for 51", compaction_segmented_sort_keys_of_length(plan, workspace, stream, at, 51, 5, 0, to));
    compaction_workspace_destroy(workspace), compaction_plan_destroy(plan);

    OK(compaction_plan_gather(context, 4, 32, &plan));
    OK(compaction_plan_scatter(context, 4, 32, &other));
    OK(compaction_workspace_create(plan, stream, 0, 0, 0, &workspace));
    IS_NULL("indices", compaction_gather(plan, workspace, stream, at, 100, 0, 100, 0, to));
    IS_INVALID("values and out overlap", compaction_gather(plan, workspace, stream, at, 100, also, 100, 0, at));
    IS_INVALID("one of gather cannot run scatter", compaction_scatter(plan, workspace, stream, at, also, 100, 0, to, 100));
    FAILS(COMPACTION_MISALIGNED, "indices: address", compaction_scatter(other, workspace, stream, at, also + 1, 99, 0, to, 100));
    compaction_workspace_destroy(workspace);
    compaction_plan_destroy(plan), compaction_plan_destroy(other);

    // Nothing was written.
    uint8_t got[400];
    get(got, to, sizeof got);
    for (size_t byte = 0; byte < sizeof got; byte++) REQUIRE(got[byte] == 0xaa);
    release(at), release(to), release(also), release(count);
}

int main(int arguments, char **argument)
{
    REQUIRE(strcmp(compaction_last_error(), "") == 0);
    open_backend(arguments, argument);
    contexts();
    plans();
    calls();
    more_calls();
    close_backend();
    puts("done");
    return 0;
}
