// Selections of indices and items, to another buffer and in place, next to a plain loop.
#include "check.h"

// Selects indices of `items` flags of which the count allows `counted`. `has_count` is whether it comes from memory.
static void indices(const char *strategy, uint32_t bits, size_t items, size_t counted, int has_count)
{
    compaction_plan *plan;
    compaction_workspace *workspace;
    OK(compaction_plan_select(context, strategy, 0, bits, &plan));
    OK(compaction_workspace_create(plan, stream, items, 0, 0, &workspace));

    uint8_t *flags = (uint8_t *)malloc(items + 1);
    fill_flags(flags, items, 3);
    const size_t word = bits / 8;
    const compaction_address on_flags = put(flags, items), out = room(items * word), selected = room(word);
    const compaction_address count = has_count ? put_word(counted, bits) : 0;
    // Twice, because a workspace serves any number of calls.
    for (int call = 0; call < 2; call++)
        OK(compaction_select_indices(plan, workspace, stream, on_flags, items, count, out, selected));

    void *got = malloc(items * word + 1);
    get(got, out, items * word);
    size_t kept = 0;
    for (size_t index = 0; index < counted; index++)
        if (flags[index]) REQUIRE(entry(got, bits, kept++) == index);
    REQUIRE(word_at(selected, bits) == kept);
    for (size_t behind = kept * word; behind < items * word; behind++) REQUIRE(((uint8_t *)got)[behind] == 0xaa);
    OK(compaction_workspace_check(workspace, stream));

    release(on_flags), release(out), release(selected);
    if (count) release(count);
    free(flags), free(got);
    compaction_workspace_destroy(workspace);
    compaction_plan_destroy(plan);
}

// Selects items of `size` bytes to another buffer, or in place.
static void items(const char *strategy, uint32_t size, uint32_t bits, size_t items, int in_place)
{
    compaction_plan *plan;
    compaction_workspace *workspace;
    if (in_place)
        OK(compaction_plan_select_in_place(context, strategy, size, bits, &plan));
    else
        OK(compaction_plan_select(context, strategy, size, bits, &plan));
    OK(compaction_workspace_create(plan, stream, items, 0, 0, &workspace));

    uint8_t *flags = (uint8_t *)malloc(items + 1), *values = (uint8_t *)malloc(items * size + 1);
    fill_flags(flags, items, 2);
    fill_random(values, items * size);
    // Buffers that start at the second item are aligned to the size of an item only.
    const compaction_address from = room((items + 1) * size), to = room((items + 1) * size);
    const compaction_address on_flags = put(flags, items), selected = room(bits / 8);
    put_at(from + size, values, items * size);
    if (in_place)
        OK(compaction_select_in_place(plan, workspace, stream, from + size, on_flags, items, 0, selected));
    else
        OK(compaction_select_items(plan, workspace, stream, from + size, on_flags, items, 0, to + size, selected));

    uint8_t *got = (uint8_t *)malloc(items * size + 1);
    get(got, (in_place ? from : to) + size, items * size);
    size_t kept = 0;
    for (size_t item = 0; item < items; item++)
        if (flags[item]) REQUIRE(memcmp(got + size * kept++, values + size * item, size) == 0);
    REQUIRE(word_at(selected, bits) == kept);
    OK(compaction_workspace_check(workspace, stream));

    release(from), release(to), release(on_flags), release(selected);
    free(flags), free(values), free(got);
    compaction_workspace_destroy(workspace);
    compaction_plan_destroy(plan);
}

// A count in memory that is larger than the buffer is reported.
static void count_too_large(void)
{
    compaction_plan *plan;
    compaction_workspace *workspace;
    OK(compaction_plan_select(context, NULL, 0, 32, &plan));
    OK(compaction_workspace_create(plan, stream, 3, 0, 0, &workspace));
    const uint8_t flags[3] = {1, 0, 1};
    const compaction_address on_flags = put(flags, 3), out = room(12), selected = room(4), count = put_word(4, 32);
    if (on_gpu) {
        OK(compaction_select_indices(plan, workspace, stream, on_flags, 3, count, out, selected));
        FAILS(COMPACTION_COUNT_TOO_LARGE, "says 4 items", compaction_workspace_check(workspace, stream));
        REQUIRE(word_at(selected, 32) == 2);
        OK(compaction_workspace_check(workspace, stream));
    } else {
        FAILS(COMPACTION_COUNT_TOO_LARGE, "4 items, where at most 3",
              compaction_select_indices(plan, workspace, stream, on_flags, 3, count, out, selected));
        REQUIRE(word_at(selected, 32) == 0xaaaaaaaa);
    }
    release(on_flags), release(out), release(selected), release(count);
    compaction_workspace_destroy(workspace);
    compaction_plan_destroy(plan);
}

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    for (size_t length = 0; length < LENGTH_COUNT; length++) {
        const size_t count = LENGTHS[length];
        for (uint32_t bits = 32; bits <= 64; bits += 32) {
            indices(NULL, bits, count, count, 0);
            indices("look-back", bits, count, count / 2, 1);
            items(NULL, 4, bits, count, 0);
        }
        items(NULL, 16, 32, count, 0);
        items(NULL, 8, 32, count, 1);
        if (on_gpu) continue;
        // Each strategy and size would take a kernel on a GPU, and compaction's own tests run those.
        items("hole-filling", 4, 32, 0, 1);
        items("scan-scatter", 1, 32, count, 0);
        items("sequences", 2, 64, count, 0);
        items("count-scan-scatter", 12, 64, count, 0);
        indices("sequences", 32, count, count, 0);
        for (uint32_t size = 4; size <= 64; size += 4) items(NULL, size, 32, count, size % 8 == 0);
    }
    count_too_large();
    close_backend();
    puts("done");
    return 0;
}
