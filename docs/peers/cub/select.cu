// Buffers: inputs, then outputs, then the number of selected items.
#include "peer.cuh"

struct Odd {
    __device__ bool operator()(u32 item) const { return item & 1; }
};
struct Record {
    uint4 words[2];
};
struct IsAlive {
    __device__ bool operator()(u8 flag) const { return flag; }
};

PEER(select_indices, cub::DeviceSelect::Flagged(temp, bytes, thrust::counting_iterator<u32>(0), AT(u8, 0), AT(u32, 1), AT(u32, 2), n, stream))
PEER(select_u32, cub::DeviceSelect::Flagged(temp, bytes, AT(u32, 0), AT(u8, 1), AT(u32, 2), AT(u32, 3), n, stream))
PEER(select_if_u32, cub::DeviceSelect::If(temp, bytes, AT(u32, 0), AT(u32, 1), AT(u32, 2), n, Odd{}, stream))
PEER(select_records, cub::DeviceSelect::Flagged(temp, bytes, AT(Record, 0), AT(u8, 1), AT(Record, 2), AT(u32, 3), n, stream))
PEER(partition_u32, cub::DevicePartition::Flagged(temp, bytes, AT(u32, 0), AT(u8, 1), AT(u32, 2), AT(u32, 3), n, stream))
PEER(select_columns, cub::DeviceSelect::Flagged(temp, bytes,
    thrust::make_zip_iterator(AT(uint4, 0), AT(uint4, 1), AT(uint4, 2), AT(uint4, 3)), AT(u8, 4),
    thrust::make_zip_iterator(AT(uint4, 5), AT(uint4, 6), AT(uint4, 7), AT(uint4, 8)), AT(u32, 9), n, stream))
