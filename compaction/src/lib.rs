//! Stream compaction on the GPU for users of [`cudarc`], with an equal CPU implementation.
//!
//! [`select`] is its first operation; a [`Strategy`] says how it is done. [`scan`] is what it rests on, and
//! [`summed_area`] is the scan in two dimensions.
//!
//! [`layout`] is the border between Rust and CUDA: structs that both sides read, and the checks that keep them alike.
//! [`cuda`] is the way from a kernel's source to its launch.

pub mod counting;
pub mod cuda;
pub mod error;
pub mod layout;
pub mod partition;
pub mod radix_sort;
mod look_back;
mod monoid;
pub mod names;
pub mod scan;
pub mod select;
pub mod select_columns;
pub mod strategy;
pub mod summed_area;

pub use cudarc;
pub use error::{Error, Result};
pub use strategy::Strategy;

#[doc(hidden)]
pub mod __private {
    //! What [`shared!`](crate::shared) names in the crate that uses it.
    pub use bytemuck::{Pod, Zeroable};
    pub use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
}
