// Helpers of the test programs: a backend with memory and a stream, checks, and random numbers.
#pragma once

#include <compaction.h>
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                  \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

// Requires that a call of the library succeeds.
#define OK(call)                                                                            \
    do {                                                                                    \
        if ((call) != COMPACTION_SUCCESS) {                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, compaction_last_error()); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

// Requires that a call of the library fails with a status and a message of one line that contains a text.
#define FAILS(status, text, call)                                                           \
    do {                                                                                    \
        const compaction_status got_ = (call);                                              \
        const char *message_ = compaction_last_error();                                     \
        if (got_ != (status) || !strstr(message_, text) || strchr(message_, '\n')) {        \
            fprintf(stderr, "%s:%d: %s: status %d: %s\n", __FILE__, __LINE__, #call, (int)got_, message_); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

// Requires that a call of the driver succeeds. A program that is compiled without a driver cannot call it.
#ifdef NO_DRIVER
#define DRIVER(call) REQUIRE(sizeof(call) == 0)
#else
#define DRIVER(call) REQUIRE((call) == CUDA_SUCCESS)
#endif

// Whether the program runs on a GPU, and its stream there.
static int on_gpu;
static CUstream stream;
static compaction_context *context;

// Opens the backend that the first argument names: "cpu" or "cuda". On a GPU, it opens the caller's current context.
static inline void open_backend(int arguments, char **argument)
{
    REQUIRE(arguments == 2);
    on_gpu = strcmp(argument[1], "cuda") == 0;
    if (!on_gpu) {
        OK(compaction_open_cpu(&context));
        return;
    }
    CUdevice device;
    CUcontext primary;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&primary, device));
    DRIVER(cuCtxSetCurrent(primary));
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(compaction_open_current(&context));
}

static inline void close_backend(void)
{
    compaction_close(context);
    if (on_gpu) DRIVER(cuStreamDestroy(stream));
}

// Waits for the stream.
static inline void finish(void)
{
    if (on_gpu) DRIVER(cuStreamSynchronize(stream));
}

// Allocates memory of the backend, filled with bytes of 0xaa.
static inline compaction_address room(size_t bytes)
{
    bytes += bytes == 0;
    if (!on_gpu) {
        void *memory = malloc(bytes);
        REQUIRE(memory);
        memset(memory, 0xaa, bytes);
        return (compaction_address)(uintptr_t)memory;
    }
    CUdeviceptr memory;
    DRIVER(cuMemAlloc(&memory, bytes));
    DRIVER(cuMemsetD8(memory, 0xaa, bytes));
    DRIVER(cuStreamSynchronize(NULL));
    return memory;
}

static inline void put_at(compaction_address to, const void *from, size_t bytes)
{
    if (bytes == 0) return;
    if (on_gpu)
        DRIVER(cuMemcpyHtoD(to, from, bytes));
    else
        memcpy((void *)(uintptr_t)to, from, bytes);
}

// Allocates memory of the backend with a copy of `from`.
static inline compaction_address put(const void *from, size_t bytes)
{
    const compaction_address memory = room(bytes);
    put_at(memory, from, bytes);
    return memory;
}

// Waits for the stream and copies memory of the backend.
static inline void get(void *to, compaction_address from, size_t bytes)
{
    finish();
    if (bytes == 0) return;
    if (on_gpu)
        DRIVER(cuMemcpyDtoH(to, from, bytes));
    else
        memcpy(to, (const void *)(uintptr_t)from, bytes);
}

static inline void release(compaction_address memory)
{
    if (on_gpu)
        DRIVER(cuMemFree(memory));
    else
        free((void *)(uintptr_t)memory);
}

// Reads a word of 32 or 64 bits.
static inline uint64_t word_at(compaction_address at, uint32_t bits)
{
    uint32_t narrow;
    uint64_t wide;
    if (bits == 64) {
        get(&wide, at, sizeof wide);
        return wide;
    }
    get(&narrow, at, sizeof narrow);
    return narrow;
}

// Allocates a word of 32 or 64 bits in memory of the backend.
static inline compaction_address put_word(uint64_t value, uint32_t bits)
{
    const uint32_t narrow = (uint32_t)value;
    return bits == 64 ? put(&value, sizeof value) : put(&narrow, sizeof narrow);
}

// Returns the entry `index` of words of 32 or 64 bits in host memory.
static inline uint64_t entry(const void *words, uint32_t bits, size_t index)
{
    return bits == 64 ? ((const uint64_t *)words)[index] : ((const uint32_t *)words)[index];
}

// Returns a random number (SplitMix64).
static inline uint64_t random_number(void)
{
    static uint64_t state = 1;
    uint64_t number = state += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

static inline void fill_random(void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) ((uint8_t *)memory)[at] = (uint8_t)random_number();
}

// Fills flags, of which about one in `every` is not 0.
static inline void fill_flags(uint8_t *flags, size_t items, uint64_t every)
{
    for (size_t at = 0; at < items; at++) flags[at] = random_number() % every == 0 ? (uint8_t)(random_number() | 1) : 0;
}

// Lengths that are empty, short, and not multiples of any tile.
static const size_t LENGTHS[] = {0, 1, 31, 4096, 8191, 20001};
#define LENGTH_COUNT (sizeof LENGTHS / sizeof *LENGTHS)
