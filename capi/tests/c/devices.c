// Work on a second GPU leaves the current context of the thread as it is. With one GPU, nothing is tested.
#include "check.h"

static CUcontext primary(int ordinal)
{
    CUdevice device;
    CUcontext primary;
    DRIVER(cuDeviceGet(&device, ordinal));
    DRIVER(cuDevicePrimaryCtxRetain(&primary, device));
    return primary;
}

static void require_current(CUcontext expected)
{
    CUcontext current;
    DRIVER(cuCtxGetCurrent(&current));
    REQUIRE(current == expected);
}

int main(int arguments, char **argument)
{
    int count;
    open_backend(arguments, argument);
    DRIVER(cuDeviceGetCount(&count));
    if (count > 1) {
        const CUcontext first = primary(0), second = primary(1);
        const uint8_t flags[3] = {1, 0, 1};
        DRIVER(cuCtxSetCurrent(second));
        CUstream on_second;
        DRIVER(cuStreamCreate(&on_second, CU_STREAM_NON_BLOCKING));
        const compaction_address on_flags = put(flags, 3), out = room(12), selected = room(4);
        DRIVER(cuCtxSetCurrent(first));

        compaction_context *other;
        compaction_plan *plan, *on_first;
        compaction_workspace *workspace, *default_stream;
        OK(compaction_open_device(1, &other));
        require_current(first);
        OK(compaction_plan_select(other, NULL, 0, 32, &plan));
        OK(compaction_plan_select(context, NULL, 0, 32, &on_first));
        OK(compaction_workspace_create(plan, on_second, 3, 0, 0, &workspace));
        OK(compaction_workspace_create(plan, NULL, 3, 0, 0, &default_stream));
        require_current(first);
        OK(compaction_select_indices(plan, workspace, on_second, on_flags, 3, 0, out, selected));
        require_current(first);
        FAILS(COMPACTION_INVALID_ARGUMENT, "another CUDA context",
              compaction_select_indices(on_first, workspace, stream, on_flags, 3, 0, out, selected));
        OK(compaction_workspace_check(workspace, on_second));
        compaction_close(other);
        compaction_workspace_destroy(workspace);
        compaction_workspace_destroy(default_stream);
        compaction_plan_destroy(plan);
        compaction_plan_destroy(on_first);
        require_current(first);

        DRIVER(cuCtxSetCurrent(second));
        DRIVER(cuStreamSynchronize(on_second));
        uint32_t got[2];
        get(got, out, sizeof got);
        REQUIRE(got[0] == 0 && got[1] == 2 && word_at(selected, 32) == 2);
        release(on_flags), release(out), release(selected);
        DRIVER(cuStreamDestroy(on_second));
        DRIVER(cuCtxSetCurrent(first));
    }
    close_backend();
    puts("done");
    return 0;
}
