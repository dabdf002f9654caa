// A plan and its workspace, in memory of the program that has exactly as many bytes as the workspace needs.
#pragma once

#include "check.h"

static compaction_plan *plan;
static compaction_workspace *workspace;
static compaction_address workspace_memory;

static inline void make_workspace(size_t items)
{
    uint64_t bytes;
    OK(compaction_workspace_bytes(plan, items, &bytes));
    workspace_memory = room(bytes);
    if (on_gpu)
        FAILS(COMPACTION_WORKSPACE_TOO_SMALL, "the memory for a workspace",
              compaction_workspace_create(plan, stream, items, workspace_memory, bytes - 1, &workspace));
    OK(compaction_workspace_create(plan, stream, items, workspace_memory, bytes, &workspace));
}

static inline void finish_plan(void)
{
    OK(compaction_workspace_check(workspace, stream));
    compaction_workspace_destroy(workspace);
    compaction_plan_destroy(plan);
    release(workspace_memory);
}
