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

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    for (size_t length = 0; length < LENGTH_COUNT; length++) {
        const size_t items = LENGTHS[length];
        for (uint32_t bits = 32; bits <= 64; bits += 32) {
            indices(NULL, bits, items, items, 0);
            indices("look-back", bits, items, items / 2, 1);
        }
    }
    close_backend();
    puts("done");
    return 0;
}
