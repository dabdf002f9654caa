// The state of the emulated devices: memory, streams, graphs and events.
#pragma once

#include "blocks.hpp"

namespace {

enum Result : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    DEVICE_UNAVAILABLE = 46,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801,
    STREAM_CAPTURE_UNSUPPORTED = 900,
    STREAM_CAPTURE_ISOLATION = 905,
    STREAM_CAPTURE_INVALIDATED = 901,
};

struct Device {
    size_t used = 0;
    // SUCCESS, or the error of the first failed kernel, which every later call returns.
    std::atomic<Result> state{SUCCESS};
    // Whether the device hangs, so that submitted work is never executed.
    std::atomic<bool> hangs{false};
    std::atomic<long> launches{0}, modules{0};

    // Waits for all work. Work is executed when it is submitted, so this returns at once unless the device hangs.
    void finish() const
    {
        while (hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

Device devices[8];
// The current device, and the handle of its current context. Handles of primary contexts are addresses of devices.
thread_local Device *current = &devices[0];
thread_local void *current_context = &devices[0];

// A context that cuCtxCreate made. It shares everything with the primary one, except its handle and its end.
struct Created {
    Device *device;
    std::atomic<bool> is_destroyed{false};
};

// Returns the device of a context, or null if the context was destroyed.
Device *device_of(void *context)
{
    if ((Device *)context >= devices && (Device *)context < std::end(devices)) return (Device *)context;
    const Created *created = (Created *)context;
    return created->is_destroyed ? nullptr : created->device;
}

size_t memory_of(int device)
{
    const auto mebibytes = MEMORY.find(device);
    return mebibytes == MEMORY.end() ? 3ull << 30 : (size_t)mebibytes->second << 20;
}

// Applies the settings STUCK and REFUSED to the creation of a device's context (number 0) or of a module (from 1).
Result open(int device, long number)
{
    const auto stuck = STUCK.find(device), refused = REFUSED.find(device);
    while (stuck != STUCK.end() && number == stuck->second) pause();
    return refused != REFUSED.end() && number == refused->second ? DEVICE_UNAVAILABLE : SUCCESS;
}

using Work = std::function<Result()>;

struct Stream {
    Device *device = current;
    bool is_capturing = false;
    std::vector<Work> captured;
};

struct Graph {
    std::vector<Work> all;
};

struct Event {
    Device *device = current;
    std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
    const Stream *captured_on = nullptr;  // the stream whose capture recorded the event last
    std::atomic<bool> never{false};  // whether the event never completes, because its device hangs
};

// The default stream belongs to the current device.
thread_local Stream default_stream;

Stream &stream_of(void *stream)
{
    if ((uintptr_t)stream > 2) return *(Stream *)stream;
    default_stream.device = current;
    return default_stream;
}

// Executes work immediately, or records it in a graph. Either preserves the order of the stream.
Result submit(void *stream, Work work)
{
    Stream &queue = stream_of(stream);
    if (queue.device->state != SUCCESS) return queue.device->state;
    if (!queue.is_capturing) return queue.device->hangs ? SUCCESS : work();
    queue.captured.push_back(std::move(work));
    return SUCCESS;
}

// -------------------------------------------------------------------------------------------------------------- memory

// An allocation, which ends at an inaccessible page and becomes inaccessible itself when it is freed.
struct Allocation {
    char *pages;
    size_t mapped, bytes, room;  // sizes with the page, as requested, and rounded up to 256 bytes
    Device *device;
};

std::mutex memory;
std::map<uint64_t, Allocation> allocations;

// Marks a device as failed and discards its memory.
void fail(Device &device)
{
    std::lock_guard<std::mutex> lock(memory);
    device.state = LAUNCH_FAILED;
    for (const auto &[address, it] : allocations)
        if (it.device == &device) memset((void *)address, POISON, std::min<size_t>(it.bytes, 64 << 20));
    if (!ALL_FALL) return;
    // The other devices fail a moment later. They keep their memory, which running kernels may still use.
    std::thread([&device] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (Device &other : devices)
            if (&other != &device) other.state = LAUNCH_FAILED;
    }).detach();
}

Result allocate(uint64_t *address, size_t bytes)
{
    std::lock_guard<std::mutex> lock(memory);
    if (bytes == 0) return INVALID_VALUE;
    current->finish();
    if (current->state != SUCCESS) return current->state;
    if (bytes > memory_of((int)(current - devices)) - current->used) return OUT_OF_MEMORY;
    const size_t room = (bytes + 255) / 256 * 256, mapped = (room + PAGE - 1) / PAGE * PAGE + PAGE;
    char *pages = (char *)mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return OUT_OF_MEMORY;
    mprotect(pages + mapped - PAGE, PAGE, PROT_NONE);
    char *start = pages + mapped - PAGE - room;
    // Poisoning all of a huge allocation would make all its pages resident.
    memset(start, POISON, std::min<size_t>(bytes, 64 << 20));
    memset(pages, FENCE, (size_t)(start - pages));
    memset(start + bytes, FENCE, room - bytes);
    *address = (uint64_t)start;
    allocations[*address] = {pages, mapped, bytes, room, current};
    current->used += bytes;
    return SUCCESS;
}

Result release(uint64_t address)
{
    std::lock_guard<std::mutex> lock(memory);
    const auto found = allocations.find(address);
    if (found == allocations.end()) return INVALID_VALUE;
    const Allocation it = found->second;
    char *start = (char *)address, *fence = start + it.bytes;
    const long before = start - it.pages, behind = (long)(it.room - it.bytes);
    const bool is_whole = std::count(it.pages, start, (char)FENCE) == before && std::count(fence, fence + behind, (char)FENCE) == behind;
    if (!is_whole) {
        fprintf(stderr, "emulated GPU: out-of-bounds write next to an allocation of %zu bytes\n", it.bytes);
        it.device->state = LAUNCH_FAILED;
    }
    it.device->used -= it.bytes;
    munmap(it.pages, it.mapped);
    allocations.erase(found);
    return is_whole ? SUCCESS : LAUNCH_FAILED;
}

size_t shared_bytes_of(void *library)
{
    struct Search {
        size_t module, bytes;
    } search = {0, 0};
    dlinfo(library, RTLD_DI_TLS_MODID, &search.module);
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *data) {
            Search &search = *(Search *)data;
            if (info->dlpi_tls_modid != search.module) return 0;
            for (int header = 0; header < info->dlpi_phnum; header++)
                if (info->dlpi_phdr[header].p_type == PT_TLS) search.bytes = info->dlpi_phdr[header].p_memsz;
            return 1;
        },
        &search);
    return search.bytes;
}

}  // namespace
