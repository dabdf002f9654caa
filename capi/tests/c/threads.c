// Two threads share a plan, each with its own workspace and stream, and then a workspace. Each has its own last error.
#include "check.h"

#include <pthread.h>

enum { ITEMS = 5000, CALLS = 20 };

static compaction_plan *plan;
static compaction_workspace *shared;

static void *use_plan(void *number)
{
    const size_t every = (size_t)(uintptr_t)number;
    CUstream own = NULL;
    CUcontext before = NULL;
    if (on_gpu) {
        CUdevice device;
        DRIVER(cuDeviceGet(&device, 0));
        DRIVER(cuDevicePrimaryCtxRetain(&before, device));
        DRIVER(cuCtxSetCurrent(before));
        DRIVER(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    }
    compaction_workspace *workspace;
    OK(compaction_workspace_create(plan, own, ITEMS, 0, 0, &workspace));
    uint8_t flags[ITEMS];
    static __thread uint32_t got[ITEMS];
    for (size_t item = 0; item < ITEMS; item++) flags[item] = item % every == 0;
    const compaction_address on_flags = put(flags, ITEMS), out = room(sizeof got), selected = room(4);
    for (int call = 0; call < CALLS; call++) {
        OK(compaction_select_indices(plan, workspace, own, on_flags, ITEMS, 0, out, selected));
        if (on_gpu) DRIVER(cuStreamSynchronize(own));
        get(got, out, sizeof got);
        const size_t kept = (ITEMS + every - 1) / every;
        REQUIRE(word_at(selected, 32) == kept);
        for (size_t at = 0; at < kept; at++) REQUIRE(got[at] == at * every);
        char expected[32];
        snprintf(expected, sizeof expected, "word_bits: %zu", every);
        compaction_plan *none;
        FAILS(COMPACTION_INVALID_ARGUMENT, expected, compaction_plan_select(context, NULL, 0, (uint32_t)every, &none));
    }
    // The workspace that both threads use, on one stream, serves one of them at a time.
    for (int call = 0; call < CALLS; call++) {
        const compaction_status status =
            compaction_select_indices(plan, shared, stream, on_flags, ITEMS, 0, out, selected);
        if (status == COMPACTION_SUCCESS) continue;
        REQUIRE(status == COMPACTION_BUSY && strstr(compaction_last_error(), "another thread"));
        call--;
    }
    REQUIRE(word_at(selected, 32) == (ITEMS + every - 1) / every);
    compaction_workspace_destroy(workspace);
    release(on_flags), release(out), release(selected);
    if (on_gpu) {
        CUcontext after;
        DRIVER(cuCtxGetCurrent(&after));
        REQUIRE(after == before);
        DRIVER(cuStreamDestroy(own));
    }
    return NULL;
}

int main(int arguments, char **argument)
{
    open_backend(arguments, argument);
    OK(compaction_plan_select(context, NULL, 0, 32, &plan));
    OK(compaction_workspace_create(plan, stream, ITEMS, 0, 0, &shared));
    pthread_t threads[2];
    for (size_t number = 0; number < 2; number++)
        REQUIRE(pthread_create(&threads[number], NULL, use_plan, (void *)(uintptr_t)(number + 2)) == 0);
    for (size_t number = 0; number < 2; number++) REQUIRE(pthread_join(threads[number], NULL) == 0);
    REQUIRE(strcmp(compaction_last_error(), "") == 0);
    compaction_workspace_destroy(shared);
    compaction_plan_destroy(plan);
    close_backend();
    puts("done");
    return 0;
}
