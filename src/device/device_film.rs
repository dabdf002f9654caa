//! The film in a GPU's memory, and the struct by which kernels receive it.

use std::sync::Arc;

use compaction::{
    cuda::{InOut, zeroed},
    cudarc::driver::{CudaSlice, CudaStream},
};

compaction::shared! {
    /// The film as kernels receive it. Twin: `kernels/shared/device_film.cuh`.
    pub struct DeviceFilm<'a> {
        /// Sums of the samples in fixed point, three channels per pixel.
        pub sums: InOut<u64>,
        /// The number of samples that were rejected because they are not finite or too large, as a list of one.
        pub rejected: InOut<u64>,
        /// Number of samples of each pixel, if the wave's pixels are listed; otherwise one unused number.
        pub sample_counts: InOut<u32>,
    }
}

/// The buffers of a film in a GPU's memory; see [`DeviceFilm`] for the fields.
#[allow(missing_docs, reason = "the fields are those of `DeviceFilm`")]
pub struct CudaFilm {
    pub sums: CudaSlice<u64>,
    pub rejected: CudaSlice<u64>,
    pub sample_counts: CudaSlice<u32>,
}

impl CudaFilm {
    /// Allocates a black film of `pixel_count` pixels that does not count the samples of each pixel.
    ///
    /// # Errors
    ///
    /// Returns the driver's error.
    pub fn new(stream: &Arc<CudaStream>, pixel_count: u32) -> compaction::Result<CudaFilm> {
        Ok(CudaFilm {
            sums: zeroed(stream, 3 * pixel_count as usize)?,
            rejected: zeroed(stream, 1)?,
            sample_counts: zeroed(stream, 1)?,
        })
    }

    /// Returns the device memory of the film in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.sums.num_bytes() + self.rejected.num_bytes() + self.sample_counts.num_bytes()) as u64
    }

    /// Returns the argument of a kernel that adds samples to the film.
    pub fn argument(&mut self) -> DeviceFilm<'_> {
        DeviceFilm {
            sums: self.sums.as_view_mut(),
            rejected: self.rejected.as_view_mut(),
            sample_counts: self.sample_counts.as_view_mut(),
        }
    }
}
