// The library opens contexts that are not primary, never destroys them, and needs a current context only for them.
#include "check.h"

// Selects from three flags on the default stream of a context, which it closes.
static void select_and_close(compaction_context *opened)
{
    compaction_plan *plan;
    compaction_workspace *workspace;
    OK(compaction_plan_select(opened, NULL, 0, 32, &plan));
    OK(compaction_workspace_create(plan, NULL, 3, 0, 0, &workspace));
    compaction_close(opened);
    const uint8_t flags[3] = {0, 1, 1};
    const compaction_address on_flags = put(flags, 3), out = room(12), selected = room(4);
    OK(compaction_select_indices(plan, workspace, NULL, on_flags, 3, 0, out, selected));
    OK(compaction_workspace_check(workspace, NULL));
    REQUIRE(word_at(selected, 32) == 2 && word_at(out, 64) == ((uint64_t)2 << 32 | 1));
    compaction_workspace_destroy(workspace);
    compaction_plan_destroy(plan);
    release(on_flags), release(out), release(selected);
}

int main(int arguments, char **argument)
{
    CUdevice device;
    CUcontext primary, created, current;
    compaction_context *opened = NULL;
    open_backend(arguments, argument);
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuCtxGetCurrent(&primary));
    DRIVER(cuStreamDestroy(stream));
    stream = NULL;
    select_and_close(context);

    // No context is current.
    DRIVER(cuCtxSetCurrent(NULL));
    FAILS(COMPACTION_NO_DEVICE, "no CUDA context is current", compaction_open_current(&opened));
    OK(compaction_open_device(0, &opened));
    DRIVER(cuCtxGetCurrent(&current));
    REQUIRE(current == NULL);
    DRIVER(cuCtxSetCurrent(primary));
    select_and_close(opened);

    // A context that is not primary, opened twice.
#if CUDA_VERSION >= 13000
    DRIVER(cuCtxCreate(&created, NULL, 0, device));
#else
    DRIVER(cuCtxCreate(&created, 0, device));
#endif
    REQUIRE(created != primary);
    for (int time = 0; time < 2; time++) {
        OK(compaction_open_current(&opened));
        select_and_close(opened);
        DRIVER(cuCtxGetCurrent(&current));
        REQUIRE(current == created);
    }
    DRIVER(cuCtxSetCurrent(primary));
    DRIVER(cuCtxSetCurrent(created));
    release(room(4));
    DRIVER(cuCtxDestroy(created));
    puts("done");
    return 0;
}
