// Count before moving, in one launch: every chunk of the input is counted, and then every chunk is moved to the
// position that all counts determine.
//
// Tasks are assigned by tickets, all counts before all moves, and each block runs two tasks. A move waits only for
// counts. When the first move is drawn, every count has been drawn by a running block, which counts without waiting. So
// nothing is assumed about the order in which blocks start, nor about how many run at once.
#pragma once

#include "order.cuh"

// Runs count(chunk) and then move(chunk) for every chunk; there are as many chunks as blocks. All threads of a block
// run them together. A chunk is passed as a ticket, whose `tile` is the chunk's number.
template <class Count, class Move>
__device__ __forceinline__ void count_then_move(Control *control, Count count, Move move)
{
    __shared__ u64 shared_word;
    const u32 chunks = gridDim.x;
    u64 word = 0;
    if (threadIdx.x == 0) word = atomicAdd(&control->ticket, 1ull);
    for (u32 turn = 0; turn < 2; turn++) {
        __syncthreads();
        if (threadIdx.x == 0) shared_word = word;
        __syncthreads();
        const Ticket task = {(u32)(shared_word >> 32), (u32)shared_word};
        // The next ticket is drawn while this task runs.
        if (threadIdx.x == 0 && turn == 0) word = atomicAdd(&control->ticket, 1ull);

        if (threadIdx.x == 0 && task.tile == 2 * chunks - 1 && task.epoch != LAST_EPOCH)
            store_relaxed(&control->ticket, (u64)(task.epoch + 1) << 32);
        if (task.tile < chunks)
            count(task);
        else
            move(Ticket{task.epoch, task.tile - chunks});
        if (turn == 1) retire(control, task.epoch);
    }
}
