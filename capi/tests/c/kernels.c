// Without NVRTC, the plans that the header lists have kernels, and others fail with COMPACTION_NO_KERNEL.
//
// The emulated GPU cannot run the kernels that the library contains, but its driver is given them.
#include "check.h"

static compaction_plan *plan;

static void ships(compaction_status status)
{
    if (status == COMPACTION_SUCCESS) {
        compaction_plan_destroy(plan);
        return;
    }
    if (status == COMPACTION_DRIVER && strstr(compaction_last_error(), "INVALID_IMAGE")) return;
    fprintf(stderr, "%s\n", compaction_last_error());
    exit(1);
}

#define IS_MISSING(call) FAILS(COMPACTION_NO_KERNEL, "pip install", call)

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    const char *const numbers[] = {"u32", "i32", "u64", "f32", "f64"};
    for (uint32_t bits = 32; bits <= 64; bits += 32) {
        ships(compaction_plan_select(context, NULL, 0, bits, &plan));
        for (uint32_t size = 4; size <= 16; size *= 2) {
            ships(compaction_plan_select(context, NULL, size, bits, &plan));
            ships(compaction_plan_select_in_place(context, NULL, size, bits, &plan));
            ships(compaction_plan_partition(context, size, bits, &plan));
        }
        for (uint32_t classes = 2; classes <= 256; classes *= 2)
            ships(compaction_plan_partition_classes(context, classes, bits, &plan));
    }
    for (int number = 0; number < 5; number++) {
        ships(compaction_plan_scan(context, NULL, NULL, numbers[number], 32, &plan));
        ships(compaction_plan_scan(context, "raking", NULL, numbers[number], 32, &plan));
        ships(compaction_plan_summed_area(context, NULL, numbers[number], &plan));
        if (number == 4) continue;
        for (int is_descending = 0; is_descending < 2; is_descending++) {
            ships(compaction_plan_radix_sort(
                context, NULL, numbers[number], 0, is_descending, 0, 0, 32, &plan));
            ships(compaction_plan_radix_sort(
                context, NULL, numbers[number], 4, is_descending, 0, 0, 32, &plan));
        }
    }
    for (int number = 0; number < 5; number++) {
        const char *const ops[] = {"sum", "min", "max"};
        for (int op = 0; op < 3; op++) {
            ships(compaction_plan_reduce(context, ops[op], numbers[number], 32, &plan));
            if (op) ships(compaction_plan_arg_reduce(context, ops[op], numbers[number], 32, &plan));
        }
        ships(compaction_plan_segmented_reduce(context, NULL, numbers[number], 32, &plan));
        ships(compaction_plan_reduce_by_key(context, NULL, 4, numbers[number], 32, &plan));
        ships(compaction_plan_scan_by_key(context, NULL, 4, numbers[number], 32, &plan));
        for (int is_descending = 0; is_descending < 2 && number < 4; is_descending++) {
            if (number == 1 || number == 2) continue;
            ships(compaction_plan_argsort(context, NULL, numbers[number], is_descending, 0, 0, 32, &plan));
            if (is_descending) continue;
            ships(compaction_plan_segmented_sort(context, numbers[number], 0, 0, 32, &plan));
            ships(compaction_plan_segmented_sort(context, numbers[number], 4, 0, 32, &plan));
        }
    }
    for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
        ships(compaction_plan_unique(context, bytes, 32, &plan));
        ships(compaction_plan_run_lengths(context, bytes, 32, &plan));
        ships(compaction_plan_unique_by_key(context, bytes, 4, 32, &plan));
        ships(compaction_plan_unique_by_key(context, bytes, 8, 32, &plan));
    }
    for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
        ships(compaction_plan_gather(context, bytes, 32, &plan));
        ships(compaction_plan_scatter(context, bytes, 32, &plan));
    }
    const char *const samples[] = {"u8", "u16", "u32", "f32"};
    for (int sample = 0; sample < 4; sample++) ships(compaction_plan_histogram(context, samples[sample], 10, 32, &plan));
    const uint32_t size = 4;
    IS_MISSING(compaction_plan_select_columns(context, &size, 1, 32, &plan));
    IS_MISSING(compaction_plan_partition_classes(context, 3, 32, &plan));
    IS_MISSING(compaction_plan_scan(context, NULL, "max", "u32", 32, &plan));
    IS_MISSING(compaction_plan_reduce(context, NULL, "u32", 64, &plan));
    IS_MISSING(compaction_plan_segmented_reduce(context, "max", "u32", 32, &plan));
    IS_MISSING(compaction_plan_radix_sort(context, "split", "u32", 0, 0, 0, 0, 32, &plan));
    close_backend();
    puts("done");
    return 0;
}
