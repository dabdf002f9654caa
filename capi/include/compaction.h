// C interface of the crate compaction: scan, reduction, stream compaction, partition, sorts, runs of equal items,
// histograms, gather and scatter, and summed-area tables.
//
// A context stands for a GPU or for the CPU. A plan is one operation with its strategy, types and loaded kernels. A
// workspace is the scratch memory of a plan. The calls of a plan put work on the caller's stream and return at once:
//
//     compaction_open_current(&context);
//     compaction_plan_select(context, NULL, 0, 32, &plan);
//     compaction_workspace_create(plan, stream, 1000, 0, 0, &workspace);
//     compaction_select_indices(plan, workspace, stream, flags, 1000, 0, out, selected);
//
// Errors. Every function that can fail returns a status, and compaction_last_error() describes the last failure of
// the calling thread in one line. A call that fails has written nothing, unless the driver fails. No call aborts.
//
// Threads. Any number of threads may use a context or a plan at once. A workspace serves one call at a time; a call
// that finds it in use by another thread fails with COMPACTION_BUSY. An object must not be destroyed during a call
// that uses it. Each object keeps what it was made from alive, so objects may be destroyed in any order.
//
// Streams and graphs. The calls that run an operation neither allocate device memory, load kernels, nor wait, so they
// can be captured into a CUDA graph. The workspace must then live as long as the graph. Creating contexts, plans and
// workspaces must not be captured. The calls leave the current CUDA context of the thread as it was. A stream must
// exist during a call: CUDA drivers crash on streams that were destroyed.
//
// Memory. Addresses of a plan on a GPU are device addresses (CUdeviceptr) that the stream's GPU can access. Addresses
// of a plan on the CPU are those of host memory. Buffers need the alignment of their items only: that of the type,
// or for items of 8 or more bytes 4 bytes. An empty buffer may have the address 0.

#ifndef COMPACTION_H
#define COMPACTION_H

/* Written by cbindgen from capi/src. Do not edit. */

#include <stdint.h>

// The version of this header: 10,000 × major + 100 × minor + patch. Until version 1.0.0, a program needs a library
// of the same major and minor version; from then on one of the same major version, and not an older one.
#define COMPACTION_VERSION 100

// The result of a call. `compaction_last_error()` has the details of a failure.
enum compaction_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The call succeeded.
    COMPACTION_SUCCESS = 0,
    // A pointer or an address is null, where it must not be.
    COMPACTION_NULL_POINTER = 1,
    // An address is not a multiple of the alignment that its items need.
    COMPACTION_MISALIGNED = 2,
    // A strategy, a type or an operator has a name that does not exist.
    COMPACTION_UNKNOWN_NAME = 3,
    // A number, a size or a combination of arguments is not possible.
    COMPACTION_INVALID_ARGUMENT = 4,
    // The workspace is for fewer items, or the memory given for it is too small.
    COMPACTION_WORKSPACE_TOO_SMALL = 5,
    // The workspace is in use by a call of another thread.
    COMPACTION_BUSY = 6,
    // The word at `count` was larger than the number of items, or of segments, that the call allowed. On a GPU, the
    // call used that number, and compaction_workspace_check reports it.
    COMPACTION_COUNT_TOO_LARGE = 7,
    // The GPU has too little free memory.
    COMPACTION_OUT_OF_MEMORY = 8,
    // There is no usable driver, no GPU of this number, or no current context.
    COMPACTION_NO_DEVICE = 9,
    // The kernels are not shipped for these types, and NVRTC is missing or cannot compile them.
    COMPACTION_NO_KERNEL = 10,
    // A call of the CUDA driver failed.
    COMPACTION_DRIVER = 11,
    // The library has a defect: a panic was caught.
    COMPACTION_PANIC = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum compaction_status compaction_status;
#else
typedef int32_t compaction_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A stream of the CUDA driver: `CUstream` and `cudaStream_t` are pointers to it. Null is the default stream.
typedef struct CUstream_st CUstream_st;

// A GPU with its CUDA context, or the CPU. Plans are made on a context.
typedef struct compaction_context compaction_context;

// An operation with its strategy and types. On a GPU, all its kernels are loaded; the CPU needs none.
typedef struct compaction_plan compaction_plan;

// Scratch memory for the calls of plans with the same operation, strategy and types, one call after the other.
typedef struct compaction_workspace compaction_workspace;

// An address of device memory (`CUdeviceptr`), or of host memory for a plan on the CPU.
typedef uint64_t compaction_address;

// A column of compaction_select_columns: its items, and the buffer for its selected items.
typedef struct compaction_column {
    // The address of the input items, which the call only reads.
    compaction_address values;
    // The address of the output, which must have room for as many items.
    compaction_address out;
} compaction_column;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, in the form of `COMPACTION_VERSION`, to compare with that of the header.
uint32_t compaction_version(void);

// Returns the message of the last call that failed on this thread, or an empty text. A call that succeeds keeps it.
//
// The text is UTF-8. It is valid until the next call that fails on this thread, and until the thread ends.
const char *compaction_last_error(void);

// Opens the CUDA context that is current on the calling thread. A primary context is retained. Another context must
// stay alive until everything made from this one is destroyed.
//
// Fails with COMPACTION_NO_DEVICE if no context is current.
//
// # Safety
//
// `context` must point to memory for a pointer, or be null, which is an error.
compaction_status compaction_open_current(struct compaction_context **context);

// Opens the primary context of the GPU with this number, counted from 0, as the CUDA runtime does.
//
// Fails with COMPACTION_NO_DEVICE if there is no such GPU, or no NVIDIA driver of version 535 or later.
//
// # Safety
//
// `context` must point to memory for a pointer, or be null, which is an error.
compaction_status compaction_open_device(int32_t ordinal, struct compaction_context **context);

// Opens the CPU. Its plans take addresses of host memory, ignore the stream, and have finished when a call returns.
// The results are equal to those of a GPU.
//
// # Safety
//
// `context` must point to memory for a pointer, or be null, which is an error.
compaction_status compaction_open_cpu(struct compaction_context **context);

// Closes a context. Plans that were made on it stay valid. Null is ignored.
//
// # Safety
//
// `context` must come from one of the functions that open one, must not have been closed, and must not be in use.
void compaction_close(struct compaction_context *context);

// Destroys a plan and unloads its kernels. Work that it enqueued must have finished, and graphs that captured it must
// not be launched again. Null is ignored.
//
// # Safety
//
// `plan` must come from one of the functions that make one, must not have been destroyed, and must not be in use.
void compaction_plan_destroy(struct compaction_plan *plan);

// Writes to `*bytes` the size in bytes of the device memory of a workspace for calls on up to `items` items. It is 0
// for a plan on the CPU.
//
// # Safety
//
// `plan` must be a plan of this library, and `bytes` must point to a word; null is an error.
compaction_status compaction_workspace_bytes(const struct compaction_plan *plan, uint64_t items, uint64_t *bytes);

// Creates a workspace for calls on up to `items` items, and prepares it on `stream`.
//
// `memory` is the device address of `bytes` bytes that the workspace uses until it is destroyed, a multiple of 256.
// With the address 0, the workspace allocates its memory on the stream and frees it when destroyed.
//
// The workspace serves all plans with the same operation, strategy and types, one call after the other. Calls on
// different streams must be ordered by the caller. It never needs clearing. On the CPU, it has no memory and `memory` is
// ignored, but calls check it as on a GPU.
//
// # Safety
//
// `plan` must be a plan of this library, `stream` a stream of its context, and `workspace` must point to memory for a
// pointer. Null is an error for `plan` and `workspace`. Nothing else may access the memory while the workspace exists.
compaction_status compaction_workspace_create(const struct compaction_plan *plan,
                                              struct CUstream_st *stream,
                                              uint64_t items,
                                              compaction_address memory,
                                              uint64_t bytes,
                                              struct compaction_workspace **workspace);

// Writes to `*bytes` the size in bytes of the device memory of a workspace for tables of `width` by `height` items, for
// a plan of compaction_plan_summed_area. It is 0 for a plan on the CPU.
//
// # Safety
//
// `plan` must be a plan of this library, and `bytes` must point to a word; null is an error.
compaction_status compaction_table_workspace_bytes(const struct compaction_plan *plan,
                                                   uint32_t width,
                                                   uint32_t height,
                                                   uint64_t *bytes);

// Creates a workspace for tables of `width` by `height` items, or of another shape that needs no more memory, for a
// plan of compaction_plan_summed_area. Otherwise like compaction_workspace_create.
//
// # Safety
//
// As for compaction_workspace_create.
compaction_status compaction_table_workspace_create(const struct compaction_plan *plan,
                                                    struct CUstream_st *stream,
                                                    uint32_t width,
                                                    uint32_t height,
                                                    compaction_address memory,
                                                    uint64_t bytes,
                                                    struct compaction_workspace **workspace);

// Waits for the stream. Fails with COMPACTION_COUNT_TOO_LARGE if a call since the last check read a count from device
// memory that was larger than its `items`; the call then processed `items` items.
//
// # Safety
//
// `workspace` must be a workspace of this library or null, which is an error, and `stream` a stream of its context.
compaction_status compaction_workspace_check(struct compaction_workspace *workspace, struct CUstream_st *stream);

// Destroys a workspace. Memory that it allocated is freed in the order of the stream of its last call, which must
// still exist. Null is ignored.
//
// # Safety
//
// `workspace` must come from a function that creates one, must not have been destroyed, and must not be in use.
void compaction_workspace_destroy(struct compaction_workspace *workspace);

// Plans selections of flagged items, or of their indices: compaction_select_indices and compaction_select_items.
//
// `strategy` is look-back, count-scan-scatter, sequences, scan-scatter, hole-filling, atomic or off. Null stands for
// look-back, the fastest that keeps the order. The strategies hole-filling and atomic do not keep it. The strategy off
// removes nothing: it writes all-one bits instead of each item that is not selected.
//
// `item_bytes` is 1, 2 or a multiple of 4 up to 64, or 0 for indices alone. Indices and counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// The library contains the kernels of look-back for items of 4, 8 and 16 bytes. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `plan` must
// point to memory for a pointer. Null is an error for `context` and `plan`.
compaction_status compaction_plan_select(const struct compaction_context *context,
                                         const char *strategy,
                                         uint32_t item_bytes,
                                         uint32_t word_bits,
                                         struct compaction_plan **plan);

// Plans selections of flagged items that move to the front of their own buffer: compaction_select_in_place.
//
// On a GPU, `strategy` is look-back, hole-filling or off; null stands for look-back. `item_bytes` is 1, 2 or a
// multiple of 4 up to 64. Counts are unsigned words of `word_bits` bits: 32 or 64.
//
// The library contains the kernels of look-back for items of 4, 8 and 16 bytes. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `plan` must
// point to memory for a pointer. Null is an error for `context` and `plan`.
compaction_status compaction_plan_select_in_place(const struct compaction_context *context,
                                                  const char *strategy,
                                                  uint32_t item_bytes,
                                                  uint32_t word_bits,
                                                  struct compaction_plan **plan);

// Selects the indices of the nonzero flags.
//
// Reads `items` flags of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Writes the
// indices to `out`, which must have room for `items` words, and their number to the word at `selected`. The plan
// determines the size of all words. Memory behind the results keeps its values.
//
// # Safety
//
// `plan` and `workspace` must be objects of this library; null is an error.
// `stream` must be a stream of the plan's context. The buffers must have the lengths above. Nothing else may access
// them until the work has finished, unless it is ordered with the stream. A buffer that is written must not overlap
// another one.
compaction_status compaction_select_indices(const struct compaction_plan *plan,
                                            struct compaction_workspace *workspace,
                                            struct CUstream_st *stream,
                                            compaction_address flags,
                                            uint64_t items,
                                            compaction_address count,
                                            compaction_address out,
                                            compaction_address selected);

// Selects the items whose flag is nonzero. Otherwise like compaction_select_indices.
//
// Reads `items` items of the plan's size from `values`. Writes the selected ones to `out`, which must have room for
// `items` items.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_select_items(const struct compaction_plan *plan,
                                          struct compaction_workspace *workspace,
                                          struct CUstream_st *stream,
                                          compaction_address values,
                                          compaction_address flags,
                                          uint64_t items,
                                          compaction_address count,
                                          compaction_address out,
                                          compaction_address selected);

// Moves the items whose flag is nonzero to the front of `values`. Otherwise like compaction_select_indices.
//
// The items behind them are unspecified items of the input. The strategy off overwrites rejected items with ones.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_select_in_place(const struct compaction_plan *plan,
                                             struct compaction_workspace *workspace,
                                             struct CUstream_st *stream,
                                             compaction_address values,
                                             compaction_address flags,
                                             uint64_t items,
                                             compaction_address count,
                                             compaction_address selected);

// Plans selections from a struct of arrays: compaction_select_columns.
//
// There are `columns` columns, 1 to 8, and the items of column c have `item_bytes[c]` bytes, 1 to 64. Counts are
// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64. The order of the items is kept.
//
// The kernels need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, `item_bytes` must point to `columns` numbers, and `plan` must point to
// memory for a pointer; null is an error.
compaction_status compaction_plan_select_columns(const struct compaction_context *context,
                                                 const uint32_t *item_bytes,
                                                 uint32_t columns,
                                                 uint32_t word_bits,
                                                 struct compaction_plan **plan);

// Selects the items of each column whose flag is nonzero.
//
// Reads `items` flags of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Writes the
// selected items of each column to its output, and their number to the word at `selected`. There must be as many
// columns as in the plan. Items of a multiple of 4 bytes must be aligned to 4 bytes. Memory behind the results keeps
// its values.
//
// # Safety
//
// As for compaction_select_indices. `columns` must point to `column_count` columns; null is an error.
compaction_status compaction_select_columns(const struct compaction_plan *plan,
                                            struct compaction_workspace *workspace,
                                            struct CUstream_st *stream,
                                            compaction_address flags,
                                            uint64_t items,
                                            compaction_address count,
                                            const struct compaction_column *columns,
                                            uint32_t column_count,
                                            compaction_address selected);

// Plans partitions by flags: compaction_partition_indices and compaction_partition_items.
//
// `item_bytes` is 1, 2 or a multiple of 4 up to 64, or 0 for indices alone. Indices and counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// The library contains the kernels for items of 4, 8 and 16 bytes. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
compaction_status compaction_plan_partition(const struct compaction_context *context,
                                            uint32_t item_bytes,
                                            uint32_t word_bits,
                                            struct compaction_plan **plan);

// Plans partitions into classes by keys of one byte: compaction_partition_classes.
//
// There are `classes` classes, 1 to 256. Indices and counts are unsigned words of `word_bits` bits: 32, for fewer than
// 2^32 items, or 64.
//
// The library contains the kernels for 2, 4, 8, 16, 32, 64, 128 and 256 classes. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
compaction_status compaction_plan_partition_classes(const struct compaction_context *context,
                                                    uint32_t classes,
                                                    uint32_t word_bits,
                                                    struct compaction_plan **plan);

// Partitions indices: writes those of the nonzero flags to `out`, and those of the zero flags behind them.
//
// Reads `items` flags of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
// room for `items` words. Writes the number of nonzero flags to the word at `selected`. Both parts keep their order.
// The plan determines the size of all words. Memory behind the results keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_partition_indices(const struct compaction_plan *plan,
                                               struct compaction_workspace *workspace,
                                               struct CUstream_st *stream,
                                               compaction_address flags,
                                               uint64_t items,
                                               compaction_address count,
                                               compaction_address out,
                                               compaction_address selected);

// Partitions the items at `values`: writes those whose flag is nonzero to `out`, and the others behind them. Otherwise
// like compaction_partition_indices.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_partition_items(const struct compaction_plan *plan,
                                             struct compaction_workspace *workspace,
                                             struct CUstream_st *stream,
                                             compaction_address values,
                                             compaction_address flags,
                                             uint64_t items,
                                             compaction_address count,
                                             compaction_address out,
                                             compaction_address selected);

// Groups indices by class: writes the indices of all keys to `out`, ordered by key. Equal keys keep their order.
//
// Reads `items` keys of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
// room for `items` words. `starts` must have room for one more word than there are classes: the start of each class in
// `out`, and the end of the last. Indices of keys that are no class follow, in their order. The plan determines the
// size of all words. Memory behind the results keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_partition_classes(const struct compaction_plan *plan,
                                               struct compaction_workspace *workspace,
                                               struct CUstream_st *stream,
                                               compaction_address keys,
                                               uint64_t items,
                                               compaction_address count,
                                               compaction_address out,
                                               compaction_address starts);

// Plans scans: compaction_scan_exclusive and compaction_scan_inclusive.
//
// `strategy` is look-back, raking, block-sums, blelloch-compact, blelloch or hillis-steele. Null stands for look-back,
// the fastest. `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, i64, f32 or f64. Counts are
// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// Sums of floats by raking and block-sums have the bits of the CPU. Other strategies add in an order of their own, and
// give the same bits in every run.
//
// The library contains the kernels of sums with counts of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library. The names must be texts that end with a zero byte, or null except for
// `type`. `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
compaction_status compaction_plan_scan(const struct compaction_context *context,
                                       const char *strategy,
                                       const char *op,
                                       const char *type,
                                       uint32_t word_bits,
                                       struct compaction_plan **plan);

// Writes to `out`, for each item, the combination of all items before it. The first result is the identity of the
// operator: 0 for sum, the largest value for min, the smallest for max.
//
// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word
// larger than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out`
// must have room for `items` items. It may be `values`, and must not overlap it otherwise. Memory behind the results
// keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_scan_exclusive(const struct compaction_plan *plan,
                                            struct compaction_workspace *workspace,
                                            struct CUstream_st *stream,
                                            compaction_address values,
                                            uint64_t items,
                                            compaction_address count,
                                            compaction_address out);

// Writes to `out`, for each item, the combination of all items up to and including it. Otherwise like
// compaction_scan_exclusive.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_scan_inclusive(const struct compaction_plan *plan,
                                            struct compaction_workspace *workspace,
                                            struct CUstream_st *stream,
                                            compaction_address values,
                                            uint64_t items,
                                            compaction_address count,
                                            compaction_address out);

// Plans reductions: compaction_reduce.
//
// `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, i64, f32 or f64. Counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU. Minimum and
// maximum ignore NaNs, and -0 is less than +0.
//
// The library contains the kernels of all operators and types with counts of 32 bits. Others need NVRTC on the first
// use.
//
// # Safety
//
// `context` must be a context of this library. The names must be texts that end with a zero byte; `op` may be null.
// `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
compaction_status compaction_plan_reduce(const struct compaction_context *context,
                                         const char *op,
                                         const char *type,
                                         uint32_t word_bits,
                                         struct compaction_plan **plan);

// Writes the combination of all items to the item at `out`: their sum, minimum or maximum.
//
// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word
// larger than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Without
// items, the result is the identity of the operator: 0 for sum, the largest value for min, the smallest for max.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_reduce(const struct compaction_plan *plan,
                                    struct compaction_workspace *workspace,
                                    struct CUstream_st *stream,
                                    compaction_address values,
                                    uint64_t items,
                                    compaction_address count,
                                    compaction_address out);

// Plans searches for the smallest or the largest item and its index: compaction_arg_reduce.
//
// `extreme` is min or max. `type` is u32, i32, u64, i64, f32 or f64. The index and the counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// The library contains the kernels of both extremes and all types with words of 32 bits. Others need NVRTC on the
// first use.
//
// # Safety
//
// `context` must be a context of this library. The names must be texts that end with a zero byte. `plan` must point to
// memory for a pointer. Null is an error for all of them.
compaction_status compaction_plan_arg_reduce(const struct compaction_context *context,
                                             const char *extreme,
                                             const char *type,
                                             uint32_t word_bits,
                                             struct compaction_plan **plan);

// Writes the index of the smallest or the largest item to the word at `index`, and the item to that at `value`. Of
// equal items, the first one counts. -0 is less than +0. Otherwise like compaction_reduce.
//
// NaNs are ignored. Without other items, the index is a word of all ones, and the value is the largest one for min and
// the smallest one for max.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_arg_reduce(const struct compaction_plan *plan,
                                        struct compaction_workspace *workspace,
                                        struct CUstream_st *stream,
                                        compaction_address values,
                                        uint64_t items,
                                        compaction_address count,
                                        compaction_address index,
                                        compaction_address value);

// Plans calls that keep the first item of each run of equal items: compaction_unique.
//
// `item_bytes` is 1, 2 or a multiple of 4 up to 64. Items are equal if their bytes are equal. Counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// The library contains the kernels for items of 4 and 8 bytes with counts of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
compaction_status compaction_plan_unique(const struct compaction_context *context,
                                         uint32_t item_bytes,
                                         uint32_t word_bits,
                                         struct compaction_plan **plan);

// Writes the first item of each run of equal items to `out`, and the number of runs to the word at `runs`.
//
// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
// room for `items` items. Memory behind the results keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_unique(const struct compaction_plan *plan,
                                    struct compaction_workspace *workspace,
                                    struct CUstream_st *stream,
                                    compaction_address values,
                                    uint64_t items,
                                    compaction_address count,
                                    compaction_address out,
                                    compaction_address runs);

// Plans calls that keep the first key of each run of equal keys, with its value: compaction_unique_by_key.
//
// `key_bytes` and `value_bytes` are 4 or 8. Keys are equal if their bytes are equal. Counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 keys, or 64.
//
// The library contains the kernels for counts of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
compaction_status compaction_plan_unique_by_key(const struct compaction_context *context,
                                                uint32_t key_bytes,
                                                uint32_t value_bytes,
                                                uint32_t word_bits,
                                                struct compaction_plan **plan);

// Writes the first key of each run of equal keys to `keys_out`, its value to `values_out`, and the number of runs to the
// word at `runs`.
//
// Reads `items` keys and values. `keys_out` and `values_out` must have room for as many. Otherwise like
// compaction_unique.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_unique_by_key(const struct compaction_plan *plan,
                                           struct compaction_workspace *workspace,
                                           struct CUstream_st *stream,
                                           compaction_address keys,
                                           compaction_address values,
                                           uint64_t items,
                                           compaction_address count,
                                           compaction_address keys_out,
                                           compaction_address values_out,
                                           compaction_address runs);

// Plans calls that count the items of each run of equal items: compaction_run_lengths.
//
// `item_bytes` is 1, 2 or a multiple of 4 up to 64. Items are equal if their bytes are equal. Lengths and counts are
// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// The library contains the kernels for items of 4 and 8 bytes with words of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
compaction_status compaction_plan_run_lengths(const struct compaction_context *context,
                                              uint32_t item_bytes,
                                              uint32_t word_bits,
                                              struct compaction_plan **plan);

// Writes the first item of each run of equal items to `out`, the number of its items to `lengths`, and the number of runs
// to the word at `runs`.
//
// `lengths` must have room for `items` words. Otherwise like compaction_unique.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_run_lengths(const struct compaction_plan *plan,
                                         struct compaction_workspace *workspace,
                                         struct CUstream_st *stream,
                                         compaction_address values,
                                         uint64_t items,
                                         compaction_address count,
                                         compaction_address out,
                                         compaction_address lengths,
                                         compaction_address runs);

// Plans reductions of the values of each run of equal keys: compaction_reduce_by_key.
//
// `op` is sum, min or max; null stands for sum. `key_bytes` is 4 or 8. Keys are equal if their bytes are equal. `type`
// is the type of the values: u32, i32, u64, i64, f32 or f64. Counts are unsigned words of `word_bits` bits: 32, for
// fewer than 2^32 keys, or 64.
//
// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU.
//
// The library contains the kernels of sums by keys of 4 bytes with counts of 32 bits. Others need NVRTC on the first
// use.
//
// # Safety
//
// `context` must be a context of this library. The names must be texts that end with a zero byte; `op` may be null.
// `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
compaction_status compaction_plan_reduce_by_key(const struct compaction_context *context,
                                                const char *op,
                                                uint32_t key_bytes,
                                                const char *type,
                                                uint32_t word_bits,
                                                struct compaction_plan **plan);

// Writes the key of each run of equal keys to `keys_out`, the combination of its values to `values_out`, and the
// number of runs to the word at `runs`.
//
// Reads `items` keys and values, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `keys_out` and
// `values_out` must have room for `items` entries. Memory behind the results keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_reduce_by_key(const struct compaction_plan *plan,
                                           struct compaction_workspace *workspace,
                                           struct CUstream_st *stream,
                                           compaction_address keys,
                                           compaction_address values,
                                           uint64_t items,
                                           compaction_address count,
                                           compaction_address keys_out,
                                           compaction_address values_out,
                                           compaction_address runs);

// Plans scans of the values of each run of equal keys: compaction_scan_by_key_exclusive and
// compaction_scan_by_key_inclusive.
//
// The parameters are those of compaction_plan_reduce_by_key, and so are the kernels that the library contains.
//
// # Safety
//
// As for compaction_plan_reduce_by_key.
compaction_status compaction_plan_scan_by_key(const struct compaction_context *context,
                                              const char *op,
                                              uint32_t key_bytes,
                                              const char *type,
                                              uint32_t word_bits,
                                              struct compaction_plan **plan);

// Writes to `out`, for each item, the combination of all values before it in its run of equal keys. The first result
// of a run is the identity of the operator: 0 for sum, the largest value for min, the smallest for max.
//
// Reads `items` keys and values, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must
// have room for `items` values. Memory behind the results keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_scan_by_key_exclusive(const struct compaction_plan *plan,
                                                   struct compaction_workspace *workspace,
                                                   struct CUstream_st *stream,
                                                   compaction_address keys,
                                                   compaction_address values,
                                                   uint64_t items,
                                                   compaction_address count,
                                                   compaction_address out);

// Writes to `out`, for each item, the combination of all values in its run of equal keys up to and including its own.
// Otherwise like compaction_scan_by_key_exclusive.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_scan_by_key_inclusive(const struct compaction_plan *plan,
                                                   struct compaction_workspace *workspace,
                                                   struct CUstream_st *stream,
                                                   compaction_address keys,
                                                   compaction_address values,
                                                   uint64_t items,
                                                   compaction_address count,
                                                   compaction_address out);

// Plans histograms: compaction_histogram_even, compaction_histogram_bounds and compaction_histogram_keys.
//
// `type` is u8, u16, u32, i8, i16, i32, f32 or f64. There are `bins` bins, 1 to 2^24. Counts, also those of the bins, are
// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
//
// A workspace serves any number of items, and histograms of all types and numbers of bins. Items outside all bins, and
// NaNs, are not counted.
//
// The library contains the kernels for items of u8, u16, u32 and f32 with counts of 32 bits. Others need NVRTC on the
// first use.
//
// # Safety
//
// `context` must be a context of this library, and `type` a text that ends with a zero byte. `plan` must point to memory
// for a pointer. Null is an error for all of them.
compaction_status compaction_plan_histogram(const struct compaction_context *context,
                                            const char *type,
                                            uint32_t bins,
                                            uint32_t word_bits,
                                            struct compaction_plan **plan);

// Writes to `out` the number of items in each of the plan's bins, which have equal widths from `lower` to before `upper`.
//
// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
// room for as many words as there are bins.
//
// The range must be finite and not empty. For items of integers, `lower` and `upper` must be whole numbers, at most 2^32
// apart, and bin b begins at `lower + b * (upper - lower) / bins`, rounded up. For items of f32, they are rounded to f32.
// The bin of a float x is `(x - lower) * scale`, rounded down, where `scale` is `bins / (upper - lower)`.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_histogram_even(const struct compaction_plan *plan,
                                            struct compaction_workspace *workspace,
                                            struct CUstream_st *stream,
                                            compaction_address values,
                                            uint64_t items,
                                            compaction_address count,
                                            double lower,
                                            double upper,
                                            compaction_address out);

// Writes to `out` the number of items in each of the plan's bins: bin b has the items from `bounds[b]` to below
// `bounds[b + 1]`. Otherwise like compaction_histogram_even.
//
// There is one bound more than bins. The bounds are of the type of the items for floats, and of 64-bit signed integers for
// items of integers. They must ascend, or else the counts are unspecified.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_histogram_bounds(const struct compaction_plan *plan,
                                              struct compaction_workspace *workspace,
                                              struct CUstream_st *stream,
                                              compaction_address values,
                                              uint64_t items,
                                              compaction_address count,
                                              compaction_address bounds,
                                              compaction_address out);

// Writes to `out` how many items are equal to the number of each bin, counted from 0. Otherwise like
// compaction_histogram_even.
//
// The type of the items must be u8, u16 or u32. Larger items than the plan has bins are not counted.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_histogram_keys(const struct compaction_plan *plan,
                                            struct compaction_workspace *workspace,
                                            struct CUstream_st *stream,
                                            compaction_address values,
                                            uint64_t items,
                                            compaction_address count,
                                            compaction_address out);

// Plans reductions of segments: compaction_segmented_reduce_by_offsets and compaction_segmented_reduce_of_length.
//
// `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, i64, f32 or f64. Offsets and counts are
// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64. A workspace is for a number of items,
// however many segments there are.
//
// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU.
//
// The library contains the kernels of sums with words of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library. The names must be texts that end with a zero byte; `op` may be null.
// `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
compaction_status compaction_plan_segmented_reduce(const struct compaction_context *context,
                                                   const char *op,
                                                   const char *type,
                                                   uint32_t word_bits,
                                                   struct compaction_plan **plan);

// Writes the combination of the items of each segment to `out`: segment s has the items from `offsets[s]` to before
// `offsets[s + 1]` of the `items` items at `values`.
//
// There are `segments` segments, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `segments` counts as `segments`, and compaction_workspace_check reports it; on the CPU it is an error.
// `offsets` has `segments` + 1 words, and `out` must have room for `segments` items. The result of an empty segment is
// the identity of the operator. Memory behind the results keeps its values.
//
// An offset larger than `items` counts as `items`. No offset may be less than the one before it: on the CPU that is an
// error, and on a GPU the results of this and later calls with the workspace are unspecified. No other memory is
// accessed.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_segmented_reduce_by_offsets(const struct compaction_plan *plan,
                                                         struct compaction_workspace *workspace,
                                                         struct CUstream_st *stream,
                                                         compaction_address values,
                                                         uint64_t items,
                                                         compaction_address offsets,
                                                         uint64_t segments,
                                                         compaction_address count,
                                                         compaction_address out);

// Writes the combination of the items of each segment to `out`, where each segment has `length` items. Otherwise like
// compaction_segmented_reduce_by_offsets.
//
// There are as many segments as `items` has whole ones, or as many as the word at `count` says. Items behind them are
// ignored. A `length` of 0 is an error.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_segmented_reduce_of_length(const struct compaction_plan *plan,
                                                        struct compaction_workspace *workspace,
                                                        struct CUstream_st *stream,
                                                        compaction_address values,
                                                        uint64_t items,
                                                        uint64_t length,
                                                        compaction_address count,
                                                        compaction_address out);

// Plans sorts of the keys of each segment, alone or with values: compaction_segmented_sort_keys_by_offsets,
// compaction_segmented_sort_keys_of_length, and the same for pairs.
//
// `type` is the type of the keys: u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64. `value_bytes` is the size of a value, 4
// or 8, or 0 for keys alone. The order is ascending if `descending` is 0. Offsets and counts are unsigned words of
// `word_bits` bits: 32, for fewer than 2^32 keys, or 64. A workspace is for a number of keys, however many segments there
// are.
//
// The sort is stable. Floats are in the order of IEEE 754 totalOrder.
//
// The library contains the kernels for keys of u32 and f32 in ascending order, alone and with values of 4 bytes, with words
// of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `type` a text that ends with a zero byte. `plan` must point to memory
// for a pointer. Null is an error for all of them.
compaction_status compaction_plan_segmented_sort(const struct compaction_context *context,
                                                 const char *type,
                                                 uint32_t value_bytes,
                                                 int32_t descending,
                                                 uint32_t word_bits,
                                                 struct compaction_plan **plan);

// Writes the keys of each segment to `keys_out`, sorted: segment s has the keys from `offsets[s]` to before
// `offsets[s + 1]` of the `items` keys at `keys`.
//
// There are `segments` segments, or as many as the word at the address `count` says, if that is not 0. A word larger than
// `segments` counts as `segments`, and compaction_workspace_check reports it; on the CPU it is an error. `offsets` has
// `segments` + 1 words, and `keys_out` must have room for `items` keys. Entries outside all segments keep their values.
//
// An offset larger than `items` counts as `items`. No offset may be less than the one before it: on the CPU that is an
// error, and on a GPU the results of this and later calls with the workspace are unspecified. No other memory is accessed.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_segmented_sort_keys_by_offsets(const struct compaction_plan *plan,
                                                            struct compaction_workspace *workspace,
                                                            struct CUstream_st *stream,
                                                            compaction_address keys,
                                                            uint64_t items,
                                                            compaction_address offsets,
                                                            uint64_t segments,
                                                            compaction_address count,
                                                            compaction_address keys_out);

// Writes the keys of each segment to `keys_out`, sorted, where each segment has `length` keys. Otherwise like
// compaction_segmented_sort_keys_by_offsets.
//
// There are as many segments as `items` has whole ones, or as many as the word at `count` says. Keys behind them are
// ignored. A `length` of 0 is an error.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_segmented_sort_keys_of_length(const struct compaction_plan *plan,
                                                           struct compaction_workspace *workspace,
                                                           struct CUstream_st *stream,
                                                           compaction_address keys,
                                                           uint64_t items,
                                                           uint64_t length,
                                                           compaction_address count,
                                                           compaction_address keys_out);

// Sorts the keys of each segment, and writes the value of each key to the same index of `values_out`. Otherwise like
// compaction_segmented_sort_keys_by_offsets.
//
// `values_out` must have room for `items` values. Values must be aligned to their size.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_segmented_sort_pairs_by_offsets(const struct compaction_plan *plan,
                                                             struct compaction_workspace *workspace,
                                                             struct CUstream_st *stream,
                                                             compaction_address keys,
                                                             compaction_address values,
                                                             uint64_t items,
                                                             compaction_address offsets,
                                                             uint64_t segments,
                                                             compaction_address count,
                                                             compaction_address keys_out,
                                                             compaction_address values_out);

// Sorts the keys of each segment of `length` keys, and writes the value of each key to the same index of `values_out`.
// Otherwise like compaction_segmented_sort_keys_of_length.
//
// `values_out` must have room for `items` values. Values must be aligned to their size.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_segmented_sort_pairs_of_length(const struct compaction_plan *plan,
                                                            struct compaction_workspace *workspace,
                                                            struct CUstream_st *stream,
                                                            compaction_address keys,
                                                            compaction_address values,
                                                            uint64_t items,
                                                            uint64_t length,
                                                            compaction_address count,
                                                            compaction_address keys_out,
                                                            compaction_address values_out);

// Plans gathers of items by indices: compaction_gather.
//
// `item_bytes` is 1, 2 or a multiple of 4 up to 64. Indices and counts are unsigned words of `word_bits` bits: 32, for
// fewer than 2^32 indices, or 64.
//
// A workspace serves any number of items, and all plans of compaction_plan_gather and compaction_plan_scatter.
//
// The library contains the kernels for items of 4, 8 and 16 bytes with indices of 32 bits. Others need NVRTC on the first
// use.
//
// # Safety
//
// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
compaction_status compaction_plan_gather(const struct compaction_context *context,
                                         uint32_t item_bytes,
                                         uint32_t word_bits,
                                         struct compaction_plan **plan);

// Writes `values[indices[i]]` to `out[i]`, for each index i below `items`.
//
// There are `value_items` items at `values`. There are `items` indices, or as many as the word at the address `count`
// says, if that is not 0. A word larger than `items` counts as `items`, and compaction_workspace_check reports it; on the
// CPU it is an error. `out` must have room for `items` items. An index of `value_items` or more leaves its entry of `out`
// as it is.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_gather(const struct compaction_plan *plan,
                                    struct compaction_workspace *workspace,
                                    struct CUstream_st *stream,
                                    compaction_address values,
                                    uint64_t value_items,
                                    compaction_address indices,
                                    uint64_t items,
                                    compaction_address count,
                                    compaction_address out);

// Plans scatters of items by indices: compaction_scatter.
//
// The parameters are those of compaction_plan_gather, and so are the kernels that the library contains.
//
// # Safety
//
// As for compaction_plan_gather.
compaction_status compaction_plan_scatter(const struct compaction_context *context,
                                          uint32_t item_bytes,
                                          uint32_t word_bits,
                                          struct compaction_plan **plan);

// Writes `values[i]` to `out[indices[i]]`, for each index i below `items`.
//
// There are `items` items and indices, or as many as the word at the address `count` says, if that is not 0. A word larger
// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` has
// `out_items` items; an item whose index is not below that is skipped. The indices should differ: an entry
// that several name receives the last of their items on the CPU, and on a GPU unspecified bytes of these items.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_scatter(const struct compaction_plan *plan,
                                     struct compaction_workspace *workspace,
                                     struct CUstream_st *stream,
                                     compaction_address values,
                                     compaction_address indices,
                                     uint64_t items,
                                     compaction_address count,
                                     compaction_address out,
                                     uint64_t out_items);

// Plans sorts of keys, or of keys with values: compaction_radix_sort_keys and compaction_radix_sort_pairs.
//
// `strategy` is onesweep or split; null stands for onesweep, the faster one. `type` is the type of the keys: u8, u16,
// u32, u64, i8, i16, i32, i64, f32 or f64. `value_bytes` is the size of a value, 4 or 8, or 0 for keys alone. The order
// is ascending if `descending` is 0. Counts are unsigned words of `word_bits` bits: 32, for fewer than 2^32 keys, or
// 64.
//
// The sort is stable, and compares the bits from `first_bit` up to but not including `end_bit`, counted from the
// lowest. If both are 0, it compares all. Floats are in the order of IEEE 754 totalOrder.
//
// The library contains the kernels of onesweep for keys of u32, u64, i32 and f32 in both orders, alone and with values
// of 4 bytes, with counts of 32 bits. Others need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `type` such a
// text. `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
compaction_status compaction_plan_radix_sort(const struct compaction_context *context,
                                             const char *strategy,
                                             const char *type,
                                             uint32_t value_bytes,
                                             int32_t descending,
                                             uint32_t first_bit,
                                             uint32_t end_bit,
                                             uint32_t word_bits,
                                             struct compaction_plan **plan);

// Writes the sorted keys to `keys_out`.
//
// Reads `items` keys, or as many as the word at the address `count` says, if that is not 0. A word larger than `items`
// counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `keys_out` must have room for
// `items` keys. Memory behind the results keeps its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_radix_sort_keys(const struct compaction_plan *plan,
                                             struct compaction_workspace *workspace,
                                             struct CUstream_st *stream,
                                             compaction_address keys,
                                             uint64_t items,
                                             compaction_address count,
                                             compaction_address keys_out);

// Writes the sorted keys to `keys_out`, and the value of each key to the same index of `values_out`. Otherwise like
// compaction_radix_sort_keys.
//
// `values_out` must have room for `items` values. Values must be aligned to their size.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_radix_sort_pairs(const struct compaction_plan *plan,
                                              struct compaction_workspace *workspace,
                                              struct CUstream_st *stream,
                                              compaction_address keys,
                                              compaction_address values,
                                              uint64_t items,
                                              compaction_address count,
                                              compaction_address keys_out,
                                              compaction_address values_out);

// Plans argsorts, which sort keys and return their order as indices: compaction_argsort.
//
// The indices and the counts are unsigned words of `word_bits` bits: 32, for fewer than 2^32 keys, or 64. The other
// parameters are those of compaction_plan_radix_sort.
//
// The library contains the kernels of onesweep for keys of u32 and f32 in both orders, with words of 32 bits. Others need
// NVRTC on the first use.
//
// # Safety
//
// As for compaction_plan_radix_sort.
compaction_status compaction_plan_argsort(const struct compaction_context *context,
                                          const char *strategy,
                                          const char *type,
                                          int32_t descending,
                                          uint32_t first_bit,
                                          uint32_t end_bit,
                                          uint32_t word_bits,
                                          struct compaction_plan **plan);

// Writes the sorted keys to `keys_out`, and the index that each of them had among `keys` to `indices_out`. Equal keys
// keep their order.
//
// Both outputs must have room for `items` entries. Otherwise like compaction_radix_sort_keys.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_argsort(const struct compaction_plan *plan,
                                     struct compaction_workspace *workspace,
                                     struct CUstream_st *stream,
                                     compaction_address keys,
                                     uint64_t items,
                                     compaction_address count,
                                     compaction_address keys_out,
                                     compaction_address indices_out);

// Plans selections of the first keys in sort order: compaction_top_k.
//
// `type` is u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64. The calls select the smallest keys if `descending` is 0, and
// the largest ones otherwise: up to `max_k`. Floats are in the order of IEEE 754 totalOrder. Indices and counts are words of
// 32 bits, for fewer than 2^32 keys. A workspace is for a number of keys, and for plans of the same `max_k`.
//
// The kernels need NVRTC on the first use.
//
// # Safety
//
// `context` must be a context of this library, and `type` a text that ends with a zero byte. `plan` must point to memory
// for a pointer. Null is an error for all of them.
compaction_status compaction_plan_top_k(const struct compaction_context *context,
                                        const char *type,
                                        int32_t descending,
                                        uint64_t max_k,
                                        struct compaction_plan **plan);

// Writes the first `k` keys in sort order to `keys_out`, sorted, and the index that each of them had to `indices_out`. Of
// equal keys, those with the smallest indices come first.
//
// Reads `items` keys, or as many as the word at the address `count` says, if that is not 0. A word larger than `items`
// counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Fewer than `k` keys are all
// selected. Both outputs must have room for `k` entries, or for `items` if those are fewer. Memory behind the results keeps
// its values.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_top_k(const struct compaction_plan *plan,
                                   struct compaction_workspace *workspace,
                                   struct CUstream_st *stream,
                                   compaction_address keys,
                                   uint64_t items,
                                   compaction_address count,
                                   uint64_t k,
                                   compaction_address keys_out,
                                   compaction_address indices_out);

// Plans summed-area tables: compaction_summed_area. Workspaces come from compaction_table_workspace_create.
//
// `strategy` is single-pass or scan-transpose; null stands for single-pass, the faster one. `type` is u32, i32, u64,
// i64, f32 or f64. Sums of integers wrap around on overflow. Sums of floats have an order of additions that the
// strategy determines, and the same bits in every run.
//
// The library contains the kernels of all types.
//
// # Safety
//
// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `type` such a
// text. `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
compaction_status compaction_plan_summed_area(const struct compaction_context *context,
                                              const char *strategy,
                                              const char *type,
                                              struct compaction_plan **plan);

// Writes to `out`, for each item, the sum of the rectangle of items from the first item to it, inclusive.
//
// The table has `width` by `height` items, stored row by row without gaps. `out` must have room for as many and must
// not overlap `values`.
//
// # Safety
//
// As for compaction_select_indices.
compaction_status compaction_summed_area(const struct compaction_plan *plan,
                                         struct compaction_workspace *workspace,
                                         struct CUstream_st *stream,
                                         compaction_address values,
                                         uint32_t width,
                                         uint32_t height,
                                         compaction_address out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COMPACTION_H */
