// Sums by a functor that CUB does not know. Buffers as in reduce.cu, scan.cu, runs.cu and segments.cu.
#include "peer.cuh"

struct Add {
    __host__ __device__ u32 operator()(u32 left, u32 right) const { return left + right; }
};

PEER(own_reduce_u32, cub::DeviceReduce::Reduce(temp, bytes, AT(u32, 0), AT(u32, 1), n, Add{}, 0u, stream))
PEER(own_scan_u32, cub::DeviceScan::ExclusiveScan(temp, bytes, AT(u32, 0), AT(u32, 1), Add{}, 0u, n, stream))
PEER(own_reduce_by_key_u32, cub::DeviceReduce::ReduceByKey(temp, bytes, AT(u32, 0), AT(u32, 2), AT(u32, 1), AT(u32, 3), AT(u32, 4), Add{}, n, stream))
PEER(own_scan_by_key_u32, cub::DeviceScan::ExclusiveScanByKey(temp, bytes, AT(u32, 0), AT(u32, 1), AT(u32, 2), Add{}, 0u, n, cuda::std::equal_to<>{}, stream))
PEER(own_segmented_reduce_u32, cub::DeviceSegmentedReduce::Reduce(temp, bytes, AT(u32, 0), AT(u32, 2), n / 64, AT(u32, 1), AT(u32, 1) + 1, Add{}, 0u, stream))
