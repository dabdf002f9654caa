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
    IS_INVALID("made to select to another buffer", compaction_select_in_place(plan, workspace, stream, values, flags, 100, 0, selected));
    IS_INVALID("cannot run radix_sort", compaction_radix_sort_keys(plan, workspace, stream, values, 100, 0, out));
    IS_INVALID("overlap", compaction_scan_exclusive(scan, of_scan, stream, values, 100, 0, values + 4));
    IS_NULL("bytes", compaction_workspace_bytes(plan, 100, NULL));
    IS_NULL("workspace", compaction_workspace_create(plan, stream, 100, 0, 0, NULL));
    IS_NULL("workspace", compaction_workspace_check(NULL, stream));
    OK(compaction_workspace_bytes(plan, 100, &bytes));
    REQUIRE((bytes > 0) == on_gpu);
    if (on_gpu) {
        compaction_workspace *other = NULL;
        const compaction_address memory = room(4096);
        IS_NULL("workspace", compaction_select_items(plan, NULL, stream, values, flags, 100, 0, out, selected));
        IS_INVALID("another operation", compaction_select_items(plan, of_scan, stream, values, flags, 100, 0, out, selected));
        FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "100 is used for 101",
              compaction_select_items(plan, workspace, stream, values, flags, 101, 0, out, selected));
        FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "where at least", compaction_workspace_create(plan, stream, 100, memory, bytes - 1, &other));
        FAILS(COMPACTION_MISALIGNED, "multiple of 256", compaction_workspace_create(plan, stream, 100, memory + 8, bytes, &other));
        IS_INVALID("only one of summed_area", compaction_table_workspace_create(plan, stream, 10, 10, 0, 0, &other));
        FAILS(COMPACTION_OUT_OF_MEMORY, "bytes left", compaction_workspace_create(scan, stream, (uint64_t)1 << 50, 0, 0, &other));
        REQUIRE(other == NULL);
        release(memory);
    }
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

int main(int arguments, char **argument)
{
    REQUIRE(strcmp(compaction_last_error(), "") == 0);
    open_backend(arguments, argument);
    contexts();
    plans();
    calls();
    close_backend();
    puts("done");
    return 0;
}
