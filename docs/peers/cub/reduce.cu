// Buffers: items, result. For arg_min_f32: items, smallest item, its index.
#include "peer.cuh"

PEER(reduce_sum_u32, cub::DeviceReduce::Sum(temp, bytes, AT(u32, 0), AT(u32, 1), n, stream))
PEER(reduce_sum_f32, cub::DeviceReduce::Sum(temp, bytes, AT(f32, 0), AT(f32, 1), n, stream))
PEER(reduce_max_f32, cub::DeviceReduce::Max(temp, bytes, AT(f32, 0), AT(f32, 1), n, stream))
PEER(arg_min_f32, cub::DeviceReduce::ArgMin(temp, bytes, AT(f32, 0), AT(f32, 1), (cuda::std::int64_t *)b[2], (cuda::std::int64_t)n, stream))
