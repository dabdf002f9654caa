// An emulated CUDA driver that runs kernels on the CPU. A few threads of the host run the blocks of a launch, one block
// per thread at a time. The threads of a block are fibers, which switch where one waits for others.

#include "devices.hpp"

#define API extern "C" __attribute__((visibility("default"))) Result

API cuInit(unsigned) { return SUCCESS; }

API cuDriverGetVersion(int *version)
{
    *version = 12020;
    return SUCCESS;
}

API cuGetErrorName(Result result, const char **name)
{
    switch (result) {
        case SUCCESS: *name = "CUDA_SUCCESS"; break;
        case INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
        case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
        case DEVICE_UNAVAILABLE: *name = "CUDA_ERROR_DEVICE_UNAVAILABLE"; break;
        case INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
        case INVALID_IMAGE: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
        case INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
        case NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; break;
        case NOT_READY: *name = "CUDA_ERROR_NOT_READY"; break;
        case LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
        case NOT_SUPPORTED: *name = "CUDA_ERROR_NOT_SUPPORTED"; break;
        case STREAM_CAPTURE_UNSUPPORTED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; break;
        case STREAM_CAPTURE_INVALIDATED: *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"; break;
        default: *name = nullptr; return INVALID_VALUE;
    }
    return SUCCESS;
}

API cuGetErrorString(Result result, const char **text) { return cuGetErrorName(result, text); }

// ------------------------------------------------------------------------------------------------------------- devices

API cuDeviceGetCount(int *count)
{
    *count = (int)VISIBLE.size();
    return SUCCESS;
}

API cuDeviceGet(int *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= (int)VISIBLE.size()) return INVALID_DEVICE;
    *device = VISIBLE[(size_t)ordinal];
    return SUCCESS;
}

API cuDeviceGetName(char *name, int length, int)
{
    snprintf(name, (size_t)length, "Emulated GPU");
    return SUCCESS;
}

API cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = memory_of(device);
    return SUCCESS;
}

API cuDeviceGetAttribute(int *value, int attribute, int)
{
    switch (attribute) {
        case 1:   // threads per block
        case 2:   // width of a block
        case 3:   // height of a block
        case 39:  // threads per multiprocessor
            *value = MOST_THREADS;
            return SUCCESS;
        case 4: *value = 64; return SUCCESS;          // depth of a block
        case 5: *value = 0x7fffffff; return SUCCESS;  // width of a grid
        case 6:                                       // height of a grid
        case 7: *value = 65535; return SUCCESS;       // depth of a grid
        case 8: *value = 48 << 10; return SUCCESS;    // shared memory per block
        case 10: *value = WARP; return SUCCESS;
        case 12:  // registers per block, and per multiprocessor
        case 82: *value = 65536; return SUCCESS;
        case 16: *value = MULTIPROCESSORS; return SUCCESS;
        case 75: *value = CAPABILITY / 10; return SUCCESS;
        case 76: *value = CAPABILITY % 10; return SUCCESS;
        case 81:  // shared memory per multiprocessor, and per block by opt-in
        case 97: *value = CAPABILITY >= 90 ? 227 << 10 : 64 << 10; return SUCCESS;
        case 115: *value = 1; return SUCCESS;  // memory pools
        default: *value = 0; return SUCCESS;
    }
}

API cuDeviceGetUuid(char *uuid, int device)
{
    memset(uuid, device + 1, 16);
    return SUCCESS;
}

API cuDeviceGetUuid_v2(char *uuid, int device) { return cuDeviceGetUuid(uuid, device); }

API cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &devices[device];
    return open(device, 0);
}

API cuDevicePrimaryCtxRelease_v2(int device)
{
    devices[device].finish();
    return SUCCESS;
}

API cuCtxSetCurrent(void *context)
{
    Device *device = context ? device_of(context) : nullptr;
    if (context && !device) return INVALID_CONTEXT;
    current = device;
    current_context = context;
    return SUCCESS;
}

API cuCtxGetCurrent(void **context)
{
    *context = current_context;
    return SUCCESS;
}

API cuCtxCreate_v2(void **context, unsigned, int device)
{
    *context = new Created{&devices[device]};
    return cuCtxSetCurrent(*context);
}

// Keeps the handle, so that its later use is detected.
API cuCtxDestroy_v2(void *context)
{
    ((Created *)context)->is_destroyed = true;
    return context == current_context ? cuCtxSetCurrent(nullptr) : SUCCESS;
}

API cuCtxGetDevice(int *device)
{
    if (!current) return INVALID_CONTEXT;
    *device = (int)(current - devices);
    return SUCCESS;
}

API cuDevicePrimaryCtxGetState(int, unsigned *flags, int *is_active)
{
    *flags = 0;
    *is_active = 1;
    return SUCCESS;
}

API cuCtxSynchronize()
{
    current->finish();
    return current->state;
}

// ------------------------------------------------------------------------------------------------------------- streams

API cuStreamCreate(void **stream, unsigned)
{
    *stream = new Stream;
    return SUCCESS;
}

API cuStreamCreateWithPriority(void **stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }

API cuStreamDestroy_v2(void *stream)
{
    delete (Stream *)stream;
    return SUCCESS;
}

API cuStreamSynchronize(void *stream)
{
    if (stream_of(stream).is_capturing) return STREAM_CAPTURE_UNSUPPORTED;
    stream_of(stream).device->finish();
    return stream_of(stream).device->state;
}

API cuStreamQuery(void *stream) { return stream_of(stream).device->hangs ? NOT_READY : cuStreamSynchronize(stream); }

API cuStreamWaitEvent(void *stream, void *event, unsigned)
{
    const Stream &waiting = stream_of(stream);
    // A graph cannot wait for work outside it.
    if (waiting.is_capturing && ((Event *)event)->captured_on != &waiting) return STREAM_CAPTURE_ISOLATION;
    return waiting.device->state;
}

API cuStreamIsCapturing(void *stream, int *status)
{
    *status = stream_of(stream).is_capturing;
    return SUCCESS;
}

API cuStreamBeginCapture_v2(void *stream, int)
{
    if (stream_of(stream).is_capturing) return STREAM_CAPTURE_UNSUPPORTED;
    stream_of(stream).is_capturing = true;
    stream_of(stream).captured.clear();
    return SUCCESS;
}

API cuStreamEndCapture(void *stream, void **graph)
{
    if (!stream_of(stream).is_capturing) return INVALID_VALUE;
    stream_of(stream).is_capturing = false;
    *graph = new Graph{std::move(stream_of(stream).captured)};
    return SUCCESS;
}

API cuGraphInstantiateWithFlags(void **instance, void *graph, uint64_t)
{
    *instance = new Graph(*(Graph *)graph);
    return SUCCESS;
}

API cuGraphUpload(void *, void *) { return SUCCESS; }

API cuGraphGetNodes(void *graph, void *, size_t *count)
{
    *count = ((Graph *)graph)->all.size();
    return SUCCESS;
}

API cuGraphLaunch(void *graph, void *stream)
{
    return submit(stream, [all = ((Graph *)graph)->all] {
        for (const Work &work : all)
            if (const Result result = work()) return result;
        return SUCCESS;
    });
}

API cuGraphDestroy(void *graph)
{
    delete (Graph *)graph;
    return SUCCESS;
}

API cuGraphExecDestroy(void *graph) { return cuGraphDestroy(graph); }

API cuEventCreate(void **event, unsigned)
{
    *event = new Event;
    return SUCCESS;
}

API cuEventDestroy_v2(void *event)
{
    delete (Event *)event;
    return SUCCESS;
}

API cuEventRecord(void *event, void *stream)
{
    ((Event *)event)->never = stream_of(stream).device->hangs.load();
    ((Event *)event)->captured_on = stream_of(stream).is_capturing ? &stream_of(stream) : nullptr;
    return submit(stream, [event] {
        ((Event *)event)->at = std::chrono::steady_clock::now();
        return SUCCESS;
    });
}

API cuEventRecordWithFlags(void *event, void *stream, unsigned) { return cuEventRecord(event, stream); }

API cuEventSynchronize(void *event)
{
    if (((Event *)event)->never) ((Event *)event)->device->finish();
    return ((Event *)event)->device->state;
}

API cuEventQuery(void *event)
{
    const bool waits = ((Event *)event)->never && ((Event *)event)->device->hangs;
    return waits ? NOT_READY : cuEventSynchronize(event);
}

API cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    *milliseconds = std::chrono::duration<float, std::milli>(((Event *)to)->at - ((Event *)from)->at).count();
    return SUCCESS;
}

// -------------------------------------------------------------------------------------------------------------- memory

API cuMemAlloc_v2(uint64_t *address, size_t bytes) { return allocate(address, bytes); }
API cuMemAllocAsync(uint64_t *address, size_t bytes, void *) { return allocate(address, bytes); }
API cuMemFree_v2(uint64_t address)
{
    current->finish();
    return release(address);
}
API cuMemFreeAsync(uint64_t address, void *) { return release(address); }

API cuMemGetInfo_v2(size_t *free, size_t *total)
{
    std::lock_guard<std::mutex> lock(memory);
    *total = memory_of((int)(current - devices));
    *free = *total - current->used;
    return SUCCESS;
}

API cuMemHostAlloc(void **memory, size_t bytes, unsigned)
{
    *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    return *memory ? SUCCESS : OUT_OF_MEMORY;
}

API cuMemFreeHost(void *memory)
{
    for (const Device &device : devices) device.finish();
    free(memory);
    return SUCCESS;
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    return submit(stream, [=] {
        memcpy((void *)to, from, bytes);
        return SUCCESS;
    });
}

API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    return submit(stream, [=] {
        memcpy(to, (void *)from, bytes);
        return SUCCESS;
    });
}

API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    return submit(stream, [=] {
        memmove((void *)to, (void *)from, bytes);
        return SUCCESS;
    });
}

API cuDeviceCanAccessPeer(int *can, int from, int to)
{
    *can = from != to && !getenv("EMULATED_NO_PEERS");
    return SUCCESS;
}

API cuCtxEnablePeerAccess(void *peer, unsigned) { return device_of(peer) == current ? INVALID_DEVICE : SUCCESS; }

API cuMemcpyPeerAsync(uint64_t to, void *to_device, uint64_t from, void *from_device, size_t bytes, void *stream)
{
    return submit(stream, [=] {
        for (const void *end : {to_device, from_device})
            if (device_of((void *)end)->state != SUCCESS) return device_of((void *)end)->state.load();
        memmove((void *)to, (void *)from, bytes);
        return SUCCESS;
    });
}

API cuMemsetD8Async(uint64_t at, unsigned char value, size_t bytes, void *stream)
{
    return submit(stream, [=] {
        memset((void *)at, value, bytes);
        return SUCCESS;
    });
}

API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr); }
API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { return cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr); }
API cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) { return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr); }
API cuMemsetD8_v2(uint64_t at, unsigned char value, size_t bytes) { return cuMemsetD8Async(at, value, bytes, nullptr); }

// ------------------------------------------------------------------------------------------------------------- kernels

// Loads a module. The image is the path of a library compiled by the emulated NVRTC.
API cuModuleLoadData(void **module, const void *image)
{
    constexpr char MARK[] = "emulated ";
    if (strncmp((const char *)image, MARK, sizeof MARK - 1) != 0) return INVALID_IMAGE;
    if (const Result refused = open((int)(current - devices), ++current->modules)) return refused;
    void *library = dlopen((const char *)image + sizeof MARK - 1, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "emulated GPU: %s\n", dlerror());
        return INVALID_IMAGE;
    }
    *module = new Module{library, shared_bytes_of(library), (void *(*)(size_t *))dlsym(library, "emulated_dynamic_shared")};
    return SUCCESS;
}

API cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) { return cuModuleLoadData(module, image); }

// Does nothing, because captured graphs may still refer to functions of the module.
API cuModuleUnload(void *) { return SUCCESS; }

API cuModuleGetFunction(void **function, void *module, const char *name)
{
    const void *kernel = dlsym(((Module *)module)->library, (std::string("emulated_kernel_") + name).c_str());
    if (!kernel) return NOT_FOUND;
    *function = new Function{name, (Module *)module, (const Kernel *)kernel};
    return SUCCESS;
}

API cuFuncGetAttribute(int *value, int attribute, void *)
{
    // Attribute 0 is the maximum number of threads per block, and 4 the number of registers per thread.
    *value = attribute == 0 ? MOST_THREADS : attribute == 4 ? 32 : 0;
    return SUCCESS;
}

API cuFuncSetAttribute(void *, int, int) { return SUCCESS; }

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int, size_t)
{
    *blocks = 1;
    return SUCCESS;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t bytes, unsigned)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, bytes);
}

API cuLaunchKernel(
    void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
    unsigned dynamic_bytes, void *stream, void **arguments, void **)
{
    const Function *function = (Function *)handle;
    const Three grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
    const uint64_t threads = (uint64_t)block_x * block_y * block_z;
    if (threads == 0 || threads > MOST_THREADS || grid_x == 0 || grid_y == 0 || grid_z == 0) return INVALID_VALUE;
    if (grid_y > 65535 || grid_z > 65535 || dynamic_bytes > (CAPABILITY >= 90 ? 227u << 10 : 64u << 10)) return INVALID_VALUE;
    // The caller may change the arguments as soon as this call returns.
    struct alignas(16) Chunk {
        char bytes[16];
    };
    std::vector<std::vector<Chunk>> values;
    for (const size_t *size = function->kernel->sizes; *size != 0; size++) {
        values.emplace_back((*size + sizeof(Chunk) - 1) / sizeof(Chunk));
        memcpy((void *)values.back().data(), arguments[values.size() - 1], *size);
    }
    Device *device = stream_of(stream).device;
    return submit(stream, [=]() mutable {
        // The rest of a graph is skipped after a failed launch.
        if (device->state != SUCCESS || device->hangs) return SUCCESS;
        const int ordinal = (int)(device - devices);
        const auto delay = DELAYS.find(ordinal), failure = FAILURES.find(ordinal), hang = HANGS.find(ordinal);
        const long number = device->launches++;
        if (delay != DELAYS.end()) std::this_thread::sleep_for(std::chrono::microseconds(delay->second));
        if (hang != HANGS.end() && number == hang->second) {
            device->hangs = true;
            return SUCCESS;
        }
        if (failure != FAILURES.end() && number == failure->second) {
            fail(*device);
            return SUCCESS;
        }
        std::vector<void *> places;
        for (auto &value : values) places.push_back(value.data());
        Launch launch;
        launch.function = function;
        launch.grid = grid;
        launch.block = block;
        launch.dynamic_bytes = dynamic_bytes;
        launch.arguments = places.data();
        const auto start = std::chrono::steady_clock::now();
        // As on a GPU, the next synchronising call reports the failure.
        if (!multiprocessors().run(launch)) fail(*device);
        const auto slowdown = SLOWDOWNS.find(ordinal);
        if (slowdown != SLOWDOWNS.end())
            std::this_thread::sleep_for((std::chrono::steady_clock::now() - start) * (slowdown->second - 1));
        return SUCCESS;
    });
}
