// Execution of a kernel on threads of the host: fibers, blocks, and the functions that kernels call.
#pragma once

#include "settings.hpp"

namespace {

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
    std::vector<uint64_t> order;  // the blocks' numbers, in the order in which they start
    std::atomic<uint64_t> next{0}, ended{0};
    std::atomic<bool> has_failed{false};

    // Marks the launch as failed, and prints the cause unless it has failed before.
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

// A warp operation at which lanes wait for each other.
struct Meeting {
    bool is_open = false;
    Word word;
    unsigned mask, arrived;
    // `values` alternates between this meeting and the last. `unread` has a bit for each lane that has yet to read them.
    unsigned turn = 0, unread[2] = {};
    uint64_t values[2][WARP];
};

struct Warp {
    unsigned alive = 0;
    // Indexed by the lowest lane of the mask, because masks of simultaneous meetings are disjoint.
    Meeting meetings[WARP];
};

enum class State { READY, AT_BARRIER, AT_MEETING, ENDED };

struct Fiber {
    Context context;
    Three index;
    Warp *warp;
    unsigned lane;
    State state;
    unsigned sum;  // result of the barrier at which the fiber waited
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

// Releases the lanes of a meeting if all lanes of its mask that have not ended have arrived.
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

// Executes each pending copy with probability `chance` in percent, or all copies of `asker` that have no barrier.
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

// The memory in which a host thread runs blocks, one after another.
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
        // CUDA promises no order of threads, so each pass starts at a random thread in a random direction.
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
        // The block may wait for another one, whose host thread needs a core.
        if (pass % 64 == 0) std::this_thread::yield();
    }
    copy(block, 100, nullptr);
    running = nullptr;
    if (dynamic && std::count(dynamic + launch.dynamic_bytes, dynamic + launch.dynamic_bytes + fence, (char)FENCE) != (long)fence)
        launch.fail(block.place, false, "writes beyond its dynamic shared memory");
}

// ------------------------------------------------------------------------------------------------------ multiprocessors

struct sigaction handler_before;

// Handles an access to an inaccessible page. In a kernel it ends the process, because the fiber cannot return.
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
        // CUDA promises no order of blocks, so each swaps places with a random near one.
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
                // A kernel that does not poll cannot be stopped, so the process ends.
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
        // Other lanes may have yet to read the values of the meeting before the last.
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
