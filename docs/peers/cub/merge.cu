// Buffers: keys, sorted keys.
#include "peer.cuh"

PEER(merge_sort_u32, cub::DeviceMergeSort::StableSortKeysCopy(temp, bytes, AT(u32, 0), AT(u32, 1), n, cuda::std::less<>{}, stream))
