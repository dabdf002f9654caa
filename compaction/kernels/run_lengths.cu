// run_lengths: the key and the length of each run. Contract and source: compaction/src/runs.rs.

#include "runs.cuh"

// The number of heads, and the index of the last one.
struct LastHead {
    struct Value {
        Word heads;
        Word last;
    };
    static constexpr bool EXACT = true;

    static __device__ __forceinline__ Value identity() { return {0, 0}; }
    static __device__ __forceinline__ Value combine(const Value &left, const Value &right)
    {
        return {left.heads + right.heads, max(left.last, right.last)};
    }
};

TILES(run_lengths)(
    const u8 *keys, const u32 *count, u64 capacity, u32 is_given, u8 *keys_out, Word *lengths, Word *runs,
    u64 *workspace)
{
    const Key *const from = (const Key *)keys;
    draw_tile<LastHead>(
        count, capacity, is_given, workspace, [&] { prefetch_tile(from, capacity); },
        [&](const Tile &tile, const auto &look_back, bool is_last) {
            __shared__ u16 places[TILE_ITEMS];
            __shared__ Key staged[STAGED ? TILE_ITEMS : 1];
            Rows<Key> rows;
            tile.load(from, rows);
            Heads heads = rank_in_warp(head_mask(from, tile, rows));
            rank_in_tile(heads);
            heads.for_each([&](u32 rank, u32 place, u32 row, u32 item) {
                places[rank] = (u16)place;
                if (STAGED) staged[STAGED ? rank : 0] = rows[row].items[item];
            });
            __syncthreads();

            const Word first = (Word)tile.first;
            LastHead::Value before = {};
            if (warp_index() == 0) {
                const LastHead::Value own = {
                    heads.total, heads.total == 0 ? 0 : first + places[heads.total - 1]};
                if (lane_index() == 0) look_back.announce(own);
                __syncwarp();
                before = look_back.find(own);
                if (is_last && lane_index() == 0) {
                    const LastHead::Value whole = LastHead::combine(before, own);
                    *runs = whole.heads;
                    if (whole.heads > 0) lengths[whole.heads - 1] = first + tile.items - whole.last;
                }
            }
            before = block_first(before);

            if (STAGED)
                for (u32 rank = threadIdx.x; rank < heads.total; rank += BLOCK_THREADS)
                    ((Key *)keys_out)[before.heads + rank] = staged[STAGED ? rank : 0];
            else
                heads.for_each([&](u32 rank, u32, u32 row, u32 item) {
                    ((Key *)keys_out)[before.heads + rank] = rows[row].items[item];
                });
            // Each head ends the run before it.
            for (u32 rank = threadIdx.x; rank < heads.total; rank += BLOCK_THREADS)
                if (before.heads + rank > 0)
                    lengths[before.heads + rank - 1] =
                        first + places[rank] - (rank == 0 ? before.last : first + places[rank - 1]);
        });
}
