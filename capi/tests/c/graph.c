// Calls are captured into the caller's graph, with the workspace in the caller's memory, and leave its context current.
#include "check.h"

int main(int arguments, char **argument)
{
    enum { ITEMS = 9000 };
    open_backend(arguments, argument);
    CUcontext before, after;
    DRIVER(cuCtxGetCurrent(&before));
    compaction_plan *select, *scan;
    compaction_workspace *of_select, *of_scan;
    OK(compaction_plan_select(context, NULL, 0, 64, &select));
    OK(compaction_plan_scan(context, NULL, NULL, "u64", 64, &scan));
    compaction_close(context);

    uint64_t bytes;
    OK(compaction_workspace_bytes(select, ITEMS, &bytes));
    const compaction_address memory = room(bytes);
    OK(compaction_workspace_create(select, stream, ITEMS, memory, bytes, &of_select));
    OK(compaction_workspace_create(scan, stream, ITEMS, 0, 0, &of_scan));
    finish();

    // The graph is captured on another stream than the one that the workspaces were made on.
    CUstream capturing;
    CUgraph graph;
    CUgraphExec instance;
    const compaction_address flags = room(ITEMS), out = room(8 * ITEMS), selected = room(8), sums = room(8 * ITEMS);
    DRIVER(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
    DRIVER(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(compaction_select_indices(select, of_select, capturing, flags, ITEMS, 0, out, selected));
    // The count of the first call is that of the second, and never leaves the GPU.
    OK(compaction_scan_inclusive(scan, of_scan, capturing, out, ITEMS, selected, sums));
    DRIVER(cuStreamEndCapture(capturing, &graph));
    DRIVER(cuGraphInstantiateWithFlags(&instance, graph, 0));
    REQUIRE(word_at(selected, 64) == 0xaaaaaaaaaaaaaaaa);

    for (uint64_t every = 2; every < 5; every++) {
        static uint8_t chosen[ITEMS];
        static uint64_t got[ITEMS];
        fill_flags(chosen, ITEMS, every);
        put_at(flags, chosen, ITEMS);
        DRIVER(cuGraphLaunch(instance, capturing));
        DRIVER(cuStreamSynchronize(capturing));
        get(got, sums, sizeof got);
        uint64_t kept = 0, sum = 0;
        for (uint64_t item = 0; item < ITEMS; item++) {
            if (!chosen[item]) continue;
            sum += item;
            REQUIRE(got[kept++] == sum);
        }
        REQUIRE(word_at(selected, 64) == kept);
    }
    OK(compaction_workspace_check(of_select, capturing));
    OK(compaction_workspace_check(of_scan, capturing));
    DRIVER(cuGraphExecDestroy(instance));
    DRIVER(cuGraphDestroy(graph));
    compaction_workspace_destroy(of_select);
    compaction_workspace_destroy(of_scan);
    compaction_plan_destroy(select);
    compaction_plan_destroy(scan);
    finish();
    DRIVER(cuCtxGetCurrent(&after));
    REQUIRE(after == before);
    release(memory), release(flags), release(out), release(selected), release(sums);
    DRIVER(cuStreamDestroy(capturing));
    DRIVER(cuStreamDestroy(stream));
    puts("done");
    return 0;
}
