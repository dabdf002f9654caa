// Segments of 64 items. Buffers: items, offsets of the segments' beginnings and of the last end, results; for pairs: keys,
// values, offsets, sorted keys, sorted values.
#include "peer.cuh"

PEER(segmented_sum_u32, cub::DeviceSegmentedReduce::Sum(temp, bytes, AT(u32, 0), AT(u32, 2), n / 64, AT(u32, 1), AT(u32, 1) + 1, stream))
PEER(segmented_sort_u32, cub::DeviceSegmentedSort::StableSortKeys(temp, bytes, AT(u32, 0), AT(u32, 2), n, n / 64, AT(u32, 1), AT(u32, 1) + 1, stream))
PEER(segmented_sort_pairs_u32, cub::DeviceSegmentedSort::StableSortPairs(temp, bytes, AT(u32, 0), AT(u32, 3), AT(u32, 1), AT(u32, 4), n, n / 64, AT(u32, 2), AT(u32, 2) + 1, stream))
