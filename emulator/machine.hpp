// What kernels, compiled by a host's compiler, and the driver that runs them share.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulated {

struct Three {
    unsigned x, y, z;
};

// Where a thread stands.
struct Place {
    Three thread, block, block_size, grid_size;
};

// A kernel: what calls it with pointers to its arguments, and the arguments' sizes, with a 0 behind.
struct Kernel {
    void (*call)(void **arguments);
    const size_t *sizes;
};

// Words at which threads wait for each other. Those who meet have to be at the same one.
enum Word : unsigned { SYNC, SHUFFLE, BALLOT, MATCH, REDUCE };

// A barrier in shared memory, in the 64 bits that PTX gives it.
struct Barrier {
    unsigned short arrivals, phase : 1, awaited : 15;
    int bytes;

    void arrive(int promised)
    {
        bytes += promised;
        awaited--;
        turn();
    }

    void copied(int come)
    {
        bytes -= come;
        turn();
    }

    void turn()
    {
        if (awaited != 0 || bytes != 0) return;
        awaited = arrivals;
        phase ^= 1;
    }
};
static_assert(sizeof(Barrier) == 8, "a barrier has 64 bits");

}  // namespace emulated

extern "C" {
#pragma GCC visibility push(default)
const emulated::Place *emulated_place();
// Waits for all threads of the block that have not ended; the sum of what each gives.
unsigned emulated_barrier(unsigned value);
// Waits for those lanes of the mask that have not ended. What each gave, until this thread waits again.
const uint64_t *emulated_meet(emulated::Word word, unsigned mask, uint64_t value);
// Lets others go on: this thread looks for what another has yet to write.
void emulated_poll();
// Begins a copy. It is done some time before its barrier turns or, without one, before `emulated_copied` returns.
void emulated_copy(void *to, const void *from, unsigned bytes, emulated::Barrier *barrier);
void emulated_copied();
// Ends the launch: the kernel is wrong.
[[noreturn]] void emulated_fail(const char *cause);
#pragma GCC visibility pop
}
