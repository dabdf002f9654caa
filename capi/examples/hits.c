// Fills rays, keeps those that hit a sphere, and orders them by distance. The GPU never waits for the host in between.
// Uses the CUDA driver API and compaction.h only, and compiles as C and as C++:
//
//     capi/install PREFIX
//     export PKG_CONFIG_PATH=PREFIX/lib/pkgconfig
//     cc capi/examples/hits.c $(pkg-config --cflags --libs compaction) -Wl,-rpath,PREFIX/lib -lcuda -lm -o hits

#include <compaction.h>
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 192, HEIGHT = 108, RAYS = WIDTH * HEIGHT };

// Ends the program if a call of the driver fails.
static void driver(CUresult result, const char *call)
{
    const char *name = "unknown error";
    if (result == CUDA_SUCCESS) return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    exit(1);
}
#define DRIVER(call) driver(call, #call)

// Ends the program if a call of the library fails.
static void check(compaction_status status)
{
    if (status == COMPACTION_SUCCESS) return;
    fprintf(stderr, "%s\n", compaction_last_error());
    exit(1);
}

// Returns the distance at which a ray from the origin hits a sphere, or -1 if it misses.
static float hit(const float direction[3])
{
    const float center[3] = {0.5f, 0.0f, 4.0f}, radius = 1.5f;
    float along = 0, apart = -radius * radius;
    for (int axis = 0; axis < 3; axis++) {
        along += direction[axis] * center[axis];
        apart += center[axis] * center[axis];
    }
    const float root = along * along - apart;
    return root < 0 ? -1.0f : along - sqrtf(root);
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr memory;
    DRIVER(cuMemAlloc(&memory, bytes));
    return memory;
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUstream stream;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    // One ray per pixel. Its flag says whether it hits.
    static float distances[RAYS];
    static uint8_t flags[RAYS];
    for (int ray = 0; ray < RAYS; ray++) {
        const float x = ((float)(ray % WIDTH) + 0.5f) / WIDTH - 0.5f, y = ((float)(ray / WIDTH) + 0.5f) / WIDTH - 0.28f;
        const float length = sqrtf(x * x + y * y + 1.0f);
        const float direction[3] = {x / length, y / length, 1.0f / length};
        distances[ray] = hit(direction);
        flags[ray] = distances[ray] >= 0;
    }

    // Plans load the kernels; workspaces are their scratch memory.
    compaction_context *on_gpu;
    compaction_plan *select, *sort;
    compaction_workspace *of_select, *of_sort;
    check(compaction_open_current(&on_gpu));
    check(compaction_plan_select(on_gpu, NULL, sizeof *distances, 32, &select));
    check(compaction_plan_radix_sort(on_gpu, NULL, "f32", sizeof(uint32_t), 0, 0, 0, 32, &sort));
    check(compaction_workspace_create(select, stream, RAYS, 0, 0, &of_select));
    check(compaction_workspace_create(sort, stream, RAYS, 0, 0, &of_sort));

    const CUdeviceptr on_flags = allocate(sizeof flags), on_distances = allocate(sizeof distances);
    const CUdeviceptr hits = allocate(4 * RAYS), hit_distances = allocate(4 * RAYS), hit_count = allocate(4);
    const CUdeviceptr ordered = allocate(4 * RAYS), ordered_distances = allocate(4 * RAYS);
    DRIVER(cuMemcpyHtoDAsync(on_flags, flags, sizeof flags, stream));
    DRIVER(cuMemcpyHtoDAsync(on_distances, distances, sizeof distances, stream));

    // The hits' indices and distances. The sort reads their number from device memory.
    check(compaction_select_indices(select, of_select, stream, on_flags, RAYS, 0, hits, hit_count));
    check(compaction_select_items(select, of_select, stream, on_distances, on_flags, RAYS, 0, hit_distances, hit_count));
    check(compaction_radix_sort_pairs(sort, of_sort, stream, hit_distances, hits, RAYS, hit_count, ordered_distances, ordered));

    static uint32_t got[RAYS];
    uint32_t count;
    DRIVER(cuMemcpyDtoHAsync(got, ordered, sizeof got, stream));
    DRIVER(cuMemcpyDtoHAsync(&count, hit_count, sizeof count, stream));
    DRIVER(cuStreamSynchronize(stream));

    uint32_t expected = 0;
    for (int ray = 0; ray < RAYS; ray++) expected += flags[ray];
    int is_right = count == expected && count > 0;
    for (uint32_t at = 0; is_right && at < count; at++) {
        is_right = got[at] < RAYS && flags[got[at]];
        if (is_right && at > 0) is_right = distances[got[at - 1]] <= distances[got[at]];
    }
    printf("%u of %d rays hit; the nearest is ray %u at %.3f\n", count, (int)RAYS, got[0], (double)distances[got[0]]);

    compaction_workspace_destroy(of_select);
    compaction_workspace_destroy(of_sort);
    compaction_plan_destroy(select);
    compaction_plan_destroy(sort);
    compaction_close(on_gpu);
    const CUdeviceptr buffers[] = {on_flags, on_distances, hits, hit_distances, hit_count, ordered, ordered_distances};
    for (size_t buffer = 0; buffer < sizeof buffers / sizeof *buffers; buffer++) DRIVER(cuMemFree(buffers[buffer]));
    DRIVER(cuStreamDestroy(stream));
    DRIVER(cuDevicePrimaryCtxRelease(device));
    puts(is_right ? "done" : "the result is wrong");
    return is_right ? 0 : 1;
}
