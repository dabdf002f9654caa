// An emulated CUDA driver whose devices are this processor. A few threads of the host run a launch's blocks, one block per
// thread at a time. The threads of a block are fibers, which switch where one waits for others.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#include "machine.hpp"

using namespace emulated;

namespace {

// ------------------------------------------------------------------------------------------------------------ settings

int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

const int DEVICES = setting("EMULATED_DEVICES", 1);
const int CAPABILITY = setting("EMULATED_CAPABILITY", 90);
// Number of blocks that run at once, one per multiprocessor.
const int MULTIPROCESSORS = std::max(1, setting("EMULATED_MULTIPROCESSORS", 3));
const int SEED = setting("EMULATED_SEED", 1);
// Seconds without the end of any block after which a launch counts as hanging.
const int PATIENCE = setting("EMULATED_PATIENCE", 120);

// Parses a number per device: "1:400,2:90" is 400 for device 1 and 90 for device 2.
std::map<int, long> by_device(const char *name)
{
    std::map<int, long> numbers;
    for (const char *text = getenv(name); text && *text;) {
        int device, read = 0;
        long number;
        if (sscanf(text, "%d:%ld%n", &device, &number, &read) != 2) {
            fprintf(stderr, "emulated GPU: %s: expected DEVICE:NUMBER, found \"%s\"\n", name, text);
            exit(2);
        }
        numbers[device] = number;
        text += read + (text[read] == ',');
    }
    return numbers;
}

// Number of the launch at which a device fails, or hangs, and additional microseconds per launch.
const std::map<int, long> FAILURES = by_device("EMULATED_FAILURES"), HANGS = by_device("EMULATED_HANGS"),
                          DELAYS = by_device("EMULATED_DELAYS");
// Number of the creation call that never returns, or fails: 0 is the device's context, others are modules. And MiB of
// memory.
const std::map<int, long> STUCK = by_device("EMULATED_STUCK"), REFUSED = by_device("EMULATED_REFUSED"),
                          MEMORY = by_device("EMULATED_MEMORY");
// Whether a failure disables all devices of the process.
const bool ALL_FALL = getenv("EMULATED_ALL_FALL");

// Returns the devices that the process sees, in its order: all, or those that CUDA_VISIBLE_DEVICES lists by UUID; none if
// it is empty. Its other forms are ignored.
std::vector<int> visible_devices()
{
    std::vector<int> visible;
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    for (text = text ? strstr(text, "GPU-") : nullptr; text; text = strstr(text + 1, "GPU-")) {
        unsigned first_byte;
        if (sscanf(text, "GPU-%2x", &first_byte) == 1 && first_byte >= 1 && (int)first_byte <= DEVICES)
            visible.push_back((int)first_byte - 1);
    }
    text = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible.empty() || (text && !*text)) return visible;
    for (int device = 0; device < DEVICES; device++) visible.push_back(device);
    return visible;
}

const std::vector<int> VISIBLE = visible_devices();

constexpr unsigned WARP = 32, MOST_THREADS = 1024;
constexpr size_t STACK = 256 << 10, PAGE = 4096;
// Byte value of memory that has not been written.
constexpr int POISON = 0xcd;

// -------------------------------------------------------------------------------------------------------------- fibers

#ifdef __x86_64__
using Context = void *;
extern "C" void emulated_switch(Context *from, Context *to);
asm(R"(
.text
.type emulated_switch, @function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

Context context_at(char *stack, unsigned thread, void (*begin)())
{
    // Offsets keep the tops of neighbouring stacks on different cache lines.
    void **top = (void **)(stack + STACK - 64 - thread % 64 * 192);
    *--top = nullptr;  // return address of `begin`, which does not return
    *--top = (void *)begin;
    for (int kept = 0; kept < 6; kept++) *--top = nullptr;
    return top;
}
#else
using Context = ucontext_t;
void emulated_switch(Context *from, Context *to) { swapcontext(from, to); }

Context context_at(char *stack, unsigned, void (*begin)())
{
    Context context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, begin, 0);
    return context;
}
#endif

// -------------------------------------------------------------------------------------------------------------- blocks

struct Module {
    void *library;
    size_t shared_bytes;  // static shared memory plus the maximum of dynamic shared memory
    void *(*dynamic_shared)(size_t *bytes);
};

struct Function {
    std::string name;
    Module *module;
    const Kernel *kernel;
};

struct Launch {
    const Function *function;
    Three grid, block;
    unsigned dynamic_bytes;
    void **arguments;
    std::vector<uint64_t> order;  // in which blocks start
    std::atomic<uint64_t> next{0}, ended{0};
    std::atomic<bool> has_failed{false};

    // Reports the first cause only.
    void fail(const std::string &cause)
    {
        if (!has_failed.exchange(true)) say("", cause);
    }

    void fail(const Place &place, bool in_thread, const std::string &cause)
    {
        if (has_failed.exchange(true)) return;
        say(", block " + text_of(place.block) + (in_thread ? ", thread " + text_of(place.thread) : ""), cause);
    }

private:
    static std::string text_of(Three index)
    {
        return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
    }

    void say(const std::string &where, const std::string &cause)
    {
        fprintf(stderr, "emulated GPU: kernel %s%s: %s\n", function->name.c_str(), where.c_str(), cause.c_str());
    }
};

// Lanes of a warp that wait for each other.
struct Meeting {
    bool is_open = false;
    Word word;
    unsigned mask, arrived;
    // The lanes' values of this meeting and of the last, and the lanes that have yet to read them.
    unsigned turn = 0, unread[2] = {};
    uint64_t values[2][WARP];
};

struct Warp {
    unsigned alive = 0;
    // Indexed by the lowest lane of the mask: masks of simultaneous meetings are disjoint.
    Meeting meetings[WARP];
};

enum class State { READY, AT_BARRIER, AT_MEETING, ENDED };

struct Fiber {
    Context context;
    Three index;
    Warp *warp;
    unsigned lane;
    State state;
    unsigned sum;  // of the values at a barrier
};

struct Copy {
    void *to;
    const void *from;
    unsigned bytes;
    Barrier *barrier;
    const Fiber *asker;
};

struct Block {
    std::vector<Fiber> &fibers;
    std::vector<Warp> &warps;
    Launch *launch;
    Place place;
    unsigned alive, at_barrier = 0, sum = 0;
    std::minstd_rand random = {};
    std::vector<Copy> copies = {};
    Context scheduler = {};
    Fiber *current = nullptr;
};

thread_local Block *running;

void leave() { emulated_switch(&running->current->context, &running->scheduler); }

void open_barrier(Block &block)
{
    for (Fiber &fiber : block.fibers) {
        if (fiber.state != State::AT_BARRIER) continue;
        fiber.sum = block.sum;
        fiber.state = State::READY;
    }
    block.at_barrier = block.sum = 0;
}

// Releases the lanes if all living ones have arrived.
void close_meeting(Block &block, Warp &warp, Meeting &meeting)
{
    if (!meeting.is_open || (meeting.mask & warp.alive & ~meeting.arrived) != 0) return;
    meeting.is_open = false;
    meeting.unread[meeting.turn] = meeting.arrived;
    Fiber *first = &block.fibers[(size_t)(&warp - block.warps.data()) * WARP];
    for (unsigned lane = 0; lane < WARP; lane++) {
        if ((meeting.arrived >> lane & 1) == 0) continue;
        first[lane].state = State::READY;
    }
}

void begin()
{
    Block *block = running;
    block->launch->function->kernel->call(block->launch->arguments);
    Fiber &fiber = *block->current;
    fiber.state = State::ENDED;
    fiber.warp->alive &= ~(1u << fiber.lane);
    for (Meeting &meeting : fiber.warp->meetings) close_meeting(*block, *fiber.warp, meeting);
    if (--block->alive == block->at_barrier) open_barrier(*block);
    for (;;) leave();
}

// Executes each pending copy with this probability in percent, or all copies of one fiber.
void copy(Block &block, unsigned chance, const Fiber *asker)
{
    auto is_done = [&](const Copy &copy) {
        if (asker ? copy.asker != asker || copy.barrier : block.random() % 100 >= chance) return false;
        memcpy(copy.to, copy.from, copy.bytes);
        if (copy.barrier) copy.barrier->copied((int)copy.bytes);
        return true;
    };
    block.copies.erase(std::remove_if(block.copies.begin(), block.copies.end(), is_done), block.copies.end());
}

void say_deadlock(Block &block)
{
    unsigned at_meetings = 0;
    for (Fiber &fiber : block.fibers) at_meetings += fiber.state == State::AT_MEETING;
    block.launch->fail(
        block.place, false, "deadlock: " + std::to_string(block.at_barrier) + " threads wait at a barrier, " +
                          std::to_string(at_meetings) + " for lanes of their warp, and no other is left to run");
}

// Memory of a host thread for running blocks one after another.
struct Room {
    // Stacks, each above an inaccessible guard page.
    char *stacks = (char *)mmap(
        nullptr, MOST_THREADS * (STACK + PAGE), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned usable = 0;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;

    char *stack_of(unsigned thread)
    {
        for (; usable <= thread; usable++)
            mprotect(stacks + usable * (STACK + PAGE) + PAGE, STACK, PROT_READ | PROT_WRITE);
        return stacks + thread * (STACK + PAGE) + PAGE;
    }
};

constexpr unsigned char FENCE = 0xfe;

void run_block(Launch &launch, uint64_t number, Room &room)
{
    const Function &function = *launch.function;
    size_t dynamic_room;
    char *dynamic = (char *)function.module->dynamic_shared(&dynamic_room), *shared;
    dlinfo(function.module->library, RTLD_DI_TLS_DATA, &shared);
    memset(shared, POISON, function.module->shared_bytes);
    const size_t fence = std::min<size_t>(256, dynamic_room - std::min<size_t>(dynamic_room, launch.dynamic_bytes));
    if (dynamic) memset(dynamic + launch.dynamic_bytes, FENCE, fence);

    const Three size = launch.block, grid = launch.grid;
    const unsigned threads = size.x * size.y * size.z;
    const Three index = {
        (unsigned)(number % grid.x), (unsigned)(number / grid.x % grid.y), (unsigned)(number / grid.x / grid.y)};
    room.fibers.resize(threads);
    room.warps.assign((threads + WARP - 1) / WARP, {});
    Block block{room.fibers, room.warps, &launch, {{}, index, size, grid}, threads};
    block.random.seed((unsigned)(number * 7919 + (unsigned)SEED));
    running = &block;
    for (unsigned thread = 0; thread < threads; thread++) {
        Fiber &fiber = block.fibers[thread];
        fiber.context = context_at(room.stack_of(thread), thread, begin);
        fiber.index = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
        fiber.lane = thread % WARP;
        fiber.warp = &block.warps[thread / WARP];
        fiber.warp->alive |= 1u << fiber.lane;
        fiber.state = State::READY;
    }
    for (unsigned pass = 1; block.alive != 0 && !launch.has_failed; pass++) {
        // CUDA promises no order of threads: start anywhere, in either direction.
        const unsigned from = block.random() % threads, step = block.random() % 2 ? 1 : threads - 1;
        bool has_run = !block.copies.empty();
        for (unsigned turn = 0, thread = from; turn < threads && !launch.has_failed; turn++, thread = (thread + step) % threads) {
            Fiber &fiber = block.fibers[thread];
            if (fiber.state != State::READY) continue;
            has_run = true;
            block.current = &fiber;
            block.place.thread = fiber.index;
            emulated_switch(&block.scheduler, &fiber.context);
        }
        copy(block, 50, nullptr);
        if (!has_run) say_deadlock(block);
        // The block may wait for another one that has no core at the moment.
        if (pass % 64 == 0) std::this_thread::yield();
    }
    copy(block, 100, nullptr);
    running = nullptr;
    if (dynamic && std::count(dynamic + launch.dynamic_bytes, dynamic + launch.dynamic_bytes + fence, (char)FENCE) != (long)fence)
        launch.fail(block.place, false, "writes beyond its dynamic shared memory");
}

// ------------------------------------------------------------------------------------------------------ multiprocessors

struct sigaction handler_before;

// A kernel accessed an inaccessible page. Neither it nor the process can continue, because its fiber cannot return.
void touched_nothing(int signal, siginfo_t *, void *)
{
    if (!running) {
        sigaction(signal, &handler_before, nullptr);
        return;
    }
    running->launch->fail(running->place, true, "invalid memory access");
    _exit(1);
}

// Installs the signal handler with its own stack, because the fiber's stack may have overflowed.
void hear_of_faults()
{
    stack_t stack = {};
    stack.ss_size = 64 << 10;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction handler = {};
        handler.sa_sigaction = touched_nothing;
        handler.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(SIGSEGV, &handler, &handler_before);
    });
}

class Multiprocessors {
public:
    // Runs a grid to its end. Returns false if it failed.
    bool run(Launch &launch)
    {
        std::lock_guard<std::mutex> one_at_a_time(whole);
        const uint64_t blocks = (uint64_t)launch.grid.x * launch.grid.y * launch.grid.z;
        launch.order.resize(blocks);
        for (uint64_t at = 0; at < blocks; at++) launch.order[at] = at;
        // CUDA promises no order of blocks: each swaps places with a near one.
        for (uint64_t at = 0; at < blocks; at++)
            std::swap(launch.order[at], launch.order[at + random() % std::min<uint64_t>(blocks - at, 7)]);
        std::unique_lock<std::mutex> lock(mutex);
        for (; started < MULTIPROCESSORS; started++) std::thread([this] { work(); }).detach();
        job = &launch;
        jobs++;
        busy = MULTIPROCESSORS;
        begin.notify_all();
        uint64_t ended_before = 0;
        while (!end.wait_for(lock, std::chrono::seconds(PATIENCE), [&] { return busy == 0; })) {
            const uint64_t ended = launch.ended;
            if (ended == ended_before || launch.has_failed) {
                launch.fail("timeout: no block has ended for " + std::to_string(PATIENCE) + " s");
                // A thread that does not poll cannot be stopped.
                if (!end.wait_for(lock, std::chrono::seconds(2), [&] { return busy == 0; })) _exit(1);
                break;
            }
            ended_before = ended;
        }
        return !launch.has_failed;
    }

private:
    void work()
    {
        hear_of_faults();
        Room room;
        for (uint64_t seen = 0;;) {
            Launch *launch;
            {
                std::unique_lock<std::mutex> lock(mutex);
                begin.wait(lock, [&] { return jobs != seen; });
                seen = jobs;
                launch = job;
            }
            uint64_t at;
            while (!launch->has_failed && (at = launch->next++) < launch->order.size()) {
                run_block(*launch, launch->order[at], room);
                launch->ended++;
            }
            std::lock_guard<std::mutex> lock(mutex);
            if (--busy == 0) end.notify_all();
        }
    }

    std::mutex whole, mutex;
    std::condition_variable begin, end;
    std::mt19937_64 random{(uint64_t)SEED};
    Launch *job = nullptr;
    uint64_t jobs = 0;
    int started = 0, busy = 0;
};

Multiprocessors &multiprocessors()
{
    // Never destroyed: its threads wait until the process ends.
    static Multiprocessors *const all = new Multiprocessors;
    return *all;
}

}  // namespace

// ------------------------------------------------------------------------------------------------ what kernels may call

const Place *emulated_place() { return &running->place; }

unsigned emulated_barrier(unsigned value)
{
    Block &block = *running;
    Fiber &fiber = *block.current;
    block.sum += value;
    fiber.state = State::AT_BARRIER;
    if (++block.at_barrier == block.alive) open_barrier(block);
    while (fiber.state != State::READY) leave();
    return fiber.sum;
}

const uint64_t *emulated_meet(Word word, unsigned mask, uint64_t value)
{
    Block &block = *running;
    Fiber &fiber = *block.current;
    if ((mask >> fiber.lane & 1) == 0) emulated_fail("a lane executes a warp operation with a mask that does not contain it");
    Meeting &meeting = fiber.warp->meetings[__builtin_ctz(mask)];
    if (!meeting.is_open) {
        // Wait while other lanes have yet to read the values of the meeting before the last.
        while (!meeting.is_open && meeting.unread[meeting.turn ^ 1] != 0) leave();
    }
    if (!meeting.is_open) {
        meeting.is_open = true;
        meeting.word = word;
        meeting.mask = mask;
        meeting.arrived = 0;
        meeting.turn ^= 1;
        // Values of absent lanes are undefined.
        if ((mask & fiber.warp->alive) != ~0u) memset(meeting.values[meeting.turn], POISON, sizeof meeting.values[0]);
    }
    if (meeting.mask != mask) emulated_fail("lanes of a warp operation have different masks");
    if (meeting.word != word) emulated_fail("lanes execute different warp operations");
    const unsigned turn = meeting.turn;
    meeting.values[turn][fiber.lane] = value;
    meeting.arrived |= 1u << fiber.lane;
    fiber.state = State::AT_MEETING;
    close_meeting(block, *fiber.warp, meeting);
    while (fiber.state != State::READY) leave();
    meeting.unread[turn] &= ~(1u << fiber.lane);
    return meeting.values[turn];
}

void emulated_poll() { leave(); }

void emulated_copy(void *to, const void *from, unsigned bytes, Barrier *barrier)
{
    running->copies.push_back({to, from, bytes, barrier, running->current});
}

void emulated_copied() { copy(*running, 100, running->current); }

void emulated_fail(const char *cause)
{
    running->launch->fail(running->place, true, cause);
    for (;;) leave();
}

// -------------------------------------------------------------------------------------------------------------- driver

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
    STREAM_CAPTURE_INVALIDATED = 901,
};

struct Device {
    size_t used = 0;
    // After a failed kernel every call returns its error.
    std::atomic<Result> state{SUCCESS};
    // If set, submitted work is never executed.
    std::atomic<bool> hangs{false};
    std::atomic<long> launches{0}, modules{0};

    // Called by functions that return when all work is done.
    void finish() const
    {
        while (hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

Device devices[8];
thread_local Device *current = &devices[0];

size_t memory_of(int device)
{
    const auto mebibytes = MEMORY.find(device);
    return mebibytes == MEMORY.end() ? 6ull << 30 : (size_t)mebibytes->second << 20;
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
    std::atomic<bool> never{false};  // waits for its device forever, because that hangs
};

// The default stream belongs to the current device.
thread_local Stream default_stream;

Stream &stream_of(void *stream)
{
    if ((uintptr_t)stream > 2) return *(Stream *)stream;
    default_stream.device = current;
    return default_stream;
}

// Executes work immediately, or records it in a graph. That alone preserves the order of a stream.
Result submit(void *stream, Work work)
{
    Stream &queue = stream_of(stream);
    if (queue.device->state != SUCCESS) return queue.device->state;
    if (!queue.is_capturing) return queue.device->hangs ? SUCCESS : work();
    queue.captured.push_back(std::move(work));
    return SUCCESS;
}

// -------------------------------------------------------------------------------------------------------------- memory

// An allocation ends at an inaccessible page, and becomes inaccessible itself when it is freed.
struct Allocation {
    char *pages;
    size_t mapped, bytes, room;  // `room` ends at that page
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
    // The other devices fail a moment later. Their kernels may still use their memory, which is not read any more.
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
    // Only the start of a huge allocation is poisoned, so that it costs memory only where it is used.
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
    current = (Device *)context;
    return context ? SUCCESS : INVALID_CONTEXT;
}

API cuCtxGetCurrent(void **context)
{
    *context = current;
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
API cuStreamWaitEvent(void *stream, void *, unsigned) { return stream_of(stream).device->state; }

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

API cuEventElapsedTime_v2(float *milliseconds, void *from, void *to) { return cuEventElapsedTime(milliseconds, from, to); }

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

API cuCtxEnablePeerAccess(void *peer, unsigned) { return peer == current ? INVALID_DEVICE : SUCCESS; }

API cuMemcpyPeerAsync(uint64_t to, void *to_device, uint64_t from, void *from_device, size_t bytes, void *stream)
{
    return submit(stream, [=] {
        for (const void *end : {to_device, from_device})
            if (((Device *)end)->state != SUCCESS) return ((Device *)end)->state.load();
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

// The image is the path of a library compiled by the emulated NVRTC.
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

// Modules are never unloaded, because captured graphs may still refer to their functions.
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
    // Maximum threads per block, and registers per thread.
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
    // Arguments are copied at the time of the launch.
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
        // After a failed launch the rest of a graph is skipped.
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
        // As on a GPU, the next synchronising call reports the failure.
        if (!multiprocessors().run(launch)) fail(*device);
        return SUCCESS;
    });
}
