// Buffers: items, prefixes.
#include "peer.cuh"

PEER(exclusive_sum_u32, cub::DeviceScan::ExclusiveSum(temp, bytes, AT(u32, 0), AT(u32, 1), n, stream))
PEER(exclusive_sum_f32, cub::DeviceScan::ExclusiveSum(temp, bytes, AT(f32, 0), AT(f32, 1), n, stream))
PEER(exclusive_sum_u64, cub::DeviceScan::ExclusiveSum(temp, bytes, AT(u64, 0), AT(u64, 1), n, stream))
PEER(exclusive_sum_f64, cub::DeviceScan::ExclusiveSum(temp, bytes, AT(f64, 0), AT(f64, 1), n, stream))
