// Buffers: inputs, then outputs, then the number of runs where there is one.
#include "peer.cuh"

PEER(unique_u32, cub::DeviceSelect::Unique(temp, bytes, AT(u32, 0), AT(u32, 1), AT(u32, 2), n, stream))
PEER(unique_by_key_u32, cub::DeviceSelect::UniqueByKey(temp, bytes, AT(u32, 0), AT(u32, 1), AT(u32, 2), AT(u32, 3), AT(u32, 4), n, stream))
PEER(run_lengths_u32, cub::DeviceRunLengthEncode::Encode(temp, bytes, AT(u32, 0), AT(u32, 1), AT(u32, 2), AT(u32, 3), n, stream))
PEER(reduce_by_key_u32, cub::DeviceReduce::ReduceByKey(temp, bytes, AT(u32, 0), AT(u32, 2), AT(u32, 1), AT(u32, 3), AT(u32, 4), cuda::std::plus<>{}, n, stream))
PEER(scan_by_key_u32, cub::DeviceScan::ExclusiveSumByKey(temp, bytes, AT(u32, 0), AT(u32, 1), AT(u32, 2), n, cuda::std::equal_to<>{}, stream))
