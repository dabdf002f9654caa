// Buffers: keys, sorted keys; for pairs: keys, values, sorted keys, sorted values.
#include "peer.cuh"

PEER(sort_keys_u32, cub::DeviceRadixSort::SortKeys(temp, bytes, AT(u32, 0), AT(u32, 1), n, 0, 32, stream))
PEER(sort_pairs_u32, cub::DeviceRadixSort::SortPairs(temp, bytes, AT(u32, 0), AT(u32, 2), AT(u32, 1), AT(u32, 3), n, 0, 32, stream))
PEER(sort_pairs_u8, cub::DeviceRadixSort::SortPairs(temp, bytes, AT(u8, 0), AT(u8, 2), AT(u32, 1), AT(u32, 3), n, 0, 8, stream))
