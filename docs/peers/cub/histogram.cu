// Buffers: items, numbers per bin; for given bounds: items, bounds, numbers per bin.
#include "peer.cuh"

PEER(histogram_u8, cub::DeviceHistogram::HistogramEven(temp, bytes, AT(u8, 0), AT(u32, 1), 257, 0, 256, n, stream))
PEER(histogram_even_256, cub::DeviceHistogram::HistogramEven(temp, bytes, AT(f32, 0), AT(u32, 1), 257, 0.0f, 1.0f, n, stream))
PEER(histogram_even_65536, cub::DeviceHistogram::HistogramEven(temp, bytes, AT(f32, 0), AT(u32, 1), 65537, 0.0f, 1.0f, n, stream))
PEER(histogram_bounds_256, cub::DeviceHistogram::HistogramRange(temp, bytes, AT(f32, 0), AT(u32, 2), 257, AT(f32, 1), n, stream))
PEER(histogram_bounds_65536, cub::DeviceHistogram::HistogramRange(temp, bytes, AT(f32, 0), AT(u32, 2), 65537, AT(f32, 1), n, stream))
