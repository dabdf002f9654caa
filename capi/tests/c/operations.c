// Columns, partitions, scans, sorts and summed-area tables, next to plain loops. Workspaces are in the memory of this
// program, which has exactly as many bytes as they need.
#include "with_plan.h"

static void make_table_workspace(uint32_t width, uint32_t height)
{
    uint64_t bytes;
    OK(compaction_table_workspace_bytes(plan, width, height, &bytes));
    workspace_memory = room(bytes);
    if (on_gpu)
        FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "the memory for a workspace",
              compaction_table_workspace_create(plan, stream, width, height, workspace_memory, bytes - 1, &workspace));
    OK(compaction_table_workspace_create(plan, stream, width, height, workspace_memory, bytes, &workspace));
}

static void columns(size_t items, uint32_t bits)
{
    enum { COLUMNS = 3 };
    const uint32_t sizes[COLUMNS] = {4, 1, 12};
    OK(compaction_plan_select_columns(context, sizes, COLUMNS, bits, &plan));
    make_workspace(items);
    uint8_t *flags = (uint8_t *)malloc(items + 1), *values[COLUMNS];
    fill_flags(flags, items, 3);
    compaction_column column[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        values[c] = (uint8_t *)malloc(items * sizes[c] + 1);
        fill_random(values[c], items * sizes[c]);
        column[c].values = put(values[c], items * sizes[c]);
        column[c].out = room(items * sizes[c]);
    }
    const compaction_address on_flags = put(flags, items), selected = room(bits / 8), count = put_word(items, bits);
    OK(compaction_select_columns(plan, workspace, stream, on_flags, items, count, column, COLUMNS, selected));
    for (int c = 0; c < COLUMNS; c++) {
        uint8_t *got = (uint8_t *)malloc(items * sizes[c] + 1);
        get(got, column[c].out, items * sizes[c]);
        size_t kept = 0;
        for (size_t item = 0; item < items; item++)
            if (flags[item]) REQUIRE(memcmp(got + sizes[c] * kept++, values[c] + sizes[c] * item, sizes[c]) == 0);
        REQUIRE(word_at(selected, bits) == kept);
        free(got), free(values[c]);
        release(column[c].values), release(column[c].out);
    }
    release(on_flags), release(selected), release(count);
    free(flags);
    finish_plan();
}

static void partition(size_t items, uint32_t bits)
{
    const uint32_t size = 8;
    OK(compaction_plan_partition(context, size, bits, &plan));
    make_workspace(items);
    uint8_t *flags = (uint8_t *)malloc(items + 1);
    uint64_t *values = (uint64_t *)malloc(items * size + 1), *got = (uint64_t *)malloc(items * size + 1);
    fill_flags(flags, items, 2);
    fill_random(values, items * size);
    const compaction_address on_flags = put(flags, items), from = put(values, items * size), to = room(items * size);
    const compaction_address indices = room(items * bits / 8), selected = room(bits / 8);
    OK(compaction_partition_items(plan, workspace, stream, from, on_flags, items, 0, to, selected));
    OK(compaction_partition_indices(plan, workspace, stream, on_flags, items, 0, indices, selected));
    size_t kept = 0;
    for (size_t item = 0; item < items; item++) kept += flags[item] != 0;
    REQUIRE(word_at(selected, bits) == kept);
    get(got, to, items * size);
    size_t part[2] = {kept, 0};
    for (size_t item = 0; item < items; item++) REQUIRE(got[part[flags[item] != 0]++] == values[item]);
    get(got, indices, items * bits / 8);
    part[0] = kept, part[1] = 0;
    for (size_t item = 0; item < items; item++) REQUIRE(entry(got, bits, part[flags[item] != 0]++) == item);
    release(on_flags), release(from), release(to), release(indices), release(selected);
    free(flags), free(values), free(got);
    finish_plan();
}

static void classes(size_t items, uint32_t bits)
{
    enum { CLASSES = 4 };
    OK(compaction_plan_partition_classes(context, CLASSES, bits, &plan));
    make_workspace(items);
    uint8_t *keys = (uint8_t *)malloc(items + 1);
    // Key 4 is no class.
    for (size_t item = 0; item < items; item++) keys[item] = (uint8_t)(random_number() % (CLASSES + 1));
    const compaction_address on_keys = put(keys, items), out = room(items * bits / 8);
    const compaction_address starts = room((CLASSES + 1) * bits / 8);
    OK(compaction_partition_classes(plan, workspace, stream, on_keys, items, 0, out, starts));
    uint64_t got_starts[CLASSES + 1], *got = (uint64_t *)malloc(items * 8 + 1);
    get(got_starts, starts, (CLASSES + 1) * bits / 8);
    get(got, out, items * bits / 8);
    size_t next = 0;
    for (int class = 0; class <= CLASSES; class ++) {
        REQUIRE(entry(got_starts, bits, (size_t)class) == next);
        for (size_t item = 0; item < items; item++)
            if (keys[item] == class) REQUIRE(entry(got, bits, next++) == item);
    }
    REQUIRE(next == items);
    release(on_keys), release(out), release(starts);
    free(keys), free(got);
    finish_plan();
}

static void scan(size_t items, const char *op, uint32_t bits)
{
    const int is_sum = strcmp(op, "sum") == 0;
    OK(compaction_plan_scan(context, NULL, op, "u32", bits, &plan));
    make_workspace(items);
    uint32_t *values = (uint32_t *)malloc(items * 4 + 1), *got = (uint32_t *)malloc(items * 4 + 1);
    fill_random(values, items * 4);
    const compaction_address from = put(values, items * 4), to = room(items * 4), count = put_word(items, bits);
    for (int inclusive = 0; inclusive < 2; inclusive++) {
        // The second one is in place.
        if (inclusive)
            OK(compaction_scan_inclusive(plan, workspace, stream, from, items, count, from));
        else
            OK(compaction_scan_exclusive(plan, workspace, stream, from, items, 0, to));
        get(got, inclusive ? from : to, items * 4);
        uint32_t total = 0;
        for (size_t item = 0; item < items; item++) {
            if (!inclusive) REQUIRE(got[item] == total);
            total = is_sum ? total + values[item] : total > values[item] ? total : values[item];
            if (inclusive) REQUIRE(got[item] == total);
        }
    }
    release(from), release(to), release(count);
    free(values), free(got);
    finish_plan();
}

static void sort(size_t items, int descending, uint32_t value_bytes)
{
    OK(compaction_plan_radix_sort(context, NULL, "f32", value_bytes, descending, 0, 0, 32, &plan));
    make_workspace(items);
    float *keys = (float *)malloc(items * 4 + 1), *got = (float *)malloc(items * 4 + 1);
    uint32_t *values = (uint32_t *)malloc(items * 4 + 1);
    for (size_t item = 0; item < items; item++) {
        keys[item] = (float)(int)(random_number() % 2001) - 1000.0f;
        values[item] = (uint32_t)item;
    }
    const compaction_address from = put(keys, items * 4), to = room(items * 4);
    const compaction_address values_from = put(values, items * 4), values_to = room(items * 4);
    if (value_bytes)
        OK(compaction_radix_sort_pairs(plan, workspace, stream, from, values_from, items, 0, to, values_to));
    else
        OK(compaction_radix_sort_keys(plan, workspace, stream, from, items, 0, to));
    get(got, to, items * 4);
    if (value_bytes) get(values, values_to, items * 4);
    double before = 0, after = 0;
    for (size_t item = 0; item < items; item++) {
        before += keys[item], after += got[item];
        if (value_bytes) REQUIRE(keys[values[item]] == got[item]);
        if (item == 0) continue;
        REQUIRE(descending ? got[item - 1] >= got[item] : got[item - 1] <= got[item]);
        if (value_bytes && got[item - 1] == got[item]) REQUIRE(values[item - 1] < values[item]);
    }
    REQUIRE(before == after);
    release(from), release(to), release(values_from), release(values_to);
    free(keys), free(got), free(values);
    finish_plan();
}

static void summed_area(uint32_t width, uint32_t height)
{
    const size_t items = (size_t)width * height;
    OK(compaction_plan_summed_area(context, NULL, "u32", &plan));
    make_table_workspace(width, height);
    uint32_t *values = (uint32_t *)malloc(items * 4 + 1), *got = (uint32_t *)malloc(items * 4 + 1);
    fill_random(values, items * 4);
    const compaction_address from = put(values, items * 4), to = room(items * 4);
    OK(compaction_summed_area(plan, workspace, stream, from, width, height, to));
    get(got, to, items * 4);
    for (uint32_t y = 0; y < height; y++) {
        uint32_t row = 0;
        for (uint32_t x = 0; x < width; x++) {
            row += values[(size_t)y * width + x];
            REQUIRE(got[(size_t)y * width + x] == row + (y ? got[(size_t)(y - 1) * width + x] : 0));
        }
    }
    release(from), release(to);
    free(values), free(got);
    finish_plan();
}

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    for (size_t length = 0; length < LENGTH_COUNT; length++) {
        const size_t items = LENGTHS[length];
        for (uint32_t bits = 32; bits <= 64; bits += 32) {
            columns(items, bits);
            partition(items, bits);
            classes(items, bits);
        }
        scan(items, "sum", 32);
        sort(items, 0, 4);
        summed_area(33, (uint32_t)(items / 33));
        if (on_gpu) continue;
        scan(items, "max", 64);
        sort(items, 0, 0);
        sort(items, 1, 4);
    }
    close_backend();
    puts("done");
    return 0;
}
