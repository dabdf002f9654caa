//! Gather and scatter: copies items from, or to, the places that a table of indices names.
//!
//! ```text
//! items      a  b  c  d
//! indices    2  0  3  3
//!
//! gather  →  c  a  d  d         out[i] = items[indices[i]]
//!
//! items      a  b  c  d
//! indices    2  0  3  1
//!
//! scatter →  b  d  a  c         out[indices[i]] = items[i]
//! ```
//!
//! On the CPU, [`cpu`] writes into slices; on a GPU, [`Gather`] and [`Scatter`] enqueue the operation on a stream.
//! Thrust: `gather` and `scatter`. Items are any plain data of 1 to 64 bytes.
//!
//! An index that is not less than the number of items, or of output entries for a scatter, is skipped: a gather leaves
//! the output entry as it is, and a scatter does not copy the item. Indices of a scatter should differ. If two are
//! equal, the entry receives the last of their items on the CPU, and on a GPU unspecified bytes of these items.
//!
//! The radix sort's [`argsort`](crate::radix_sort::RadixSort::argsort) gives the indices by which a gather sorts larger
//! records. For n indices of 4 bytes and items of s bytes, a call moves 4n + 2sn bytes, and more where neighboring
//! indices are far apart, because memory is read in sectors of 32 bytes.
//!
//! Examples: [`Gather`] and [`Scatter`].

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;

use crate::arguments::{ArgumentNames, argument_names};

#[cfg(feature = "cuda")]
pub use gpu::{Gather, Scatter};

/// Device memory in which gathers and scatters record a device count that was too large. One workspace serves items of
/// any type and number.
///
/// ```no_run
/// use compaction::{cuda, gather::Workspace};
///
/// let workspace = Workspace::new(&cuda::open(0)?.default_stream())?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
pub type Workspace = crate::scratch::Workspace<gpu::Copying>;

const NAMES: ArgumentNames = argument_names!("gather", "indices");
const SCATTER_NAMES: ArgumentNames = argument_names!("scatter", "indices");
const SCATTERED: &str = "the items of scatter";
