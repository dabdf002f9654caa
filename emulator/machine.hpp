// Declarations shared by kernels, compiled by a host compiler, and the driver that runs them.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace emulated {

struct Three {
    unsigned x, y, z;
};

// Position of a thread: its index and its block's, with the sizes of block and grid.
struct Place {
    Three thread, block, block_size, grid_size;
};

// A kernel, as a function that calls it with pointers to its arguments, and the sizes of the arguments in bytes. A size
// of 0 ends the list.
struct Kernel {
    void (*call)(void **arguments);
    const size_t *sizes;
};

// A kind of warp operation at which lanes wait for each other. Lanes that meet must execute the same kind.
enum Word : unsigned { SYNC, SHUFFLE, BALLOT, MATCH, REDUCE };

// An mbarrier in shared memory, in the 64 bits that PTX reserves for it.
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
// Waits for all threads of the block that have not ended. Returns the sum of their values.
unsigned emulated_barrier(unsigned value);
// Waits for the lanes of the mask that have not ended. Returns each lane's value, valid until this thread waits again.
const uint64_t *emulated_meet(emulated::Word word, unsigned mask, uint64_t value);
// Lets other threads run, because this one polls for a value that another has yet to write.
void emulated_poll();
// Starts an asynchronous copy, which completes before its barrier's phase ends or, without a barrier, before
// `emulated_copied` returns.
void emulated_copy(void *to, const void *from, unsigned bytes, emulated::Barrier *barrier);
void emulated_copied();
// Ends the launch with an error of the kernel.
[[noreturn]] void emulated_fail(const char *cause);
#pragma GCC visibility pop
}
