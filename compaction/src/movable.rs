//! The types of items that operations copy.

use bytemuck::{CheckedBitPattern, NoUninit};

use crate::{Error, Result};

/// A type of items that operations copy without interpreting them: plain data ([`Pod`](bytemuck::Pod)), `bool`, and
/// other types without padding of which only some bit patterns are valid, such as enums with `bytemuck`'s derives.
///
/// An operation writes whole copies of items of its input, so that an output of `bool` contains valid ones only.
/// [`download`](crate::cuda::download) checks what it reads.
///
/// ```
/// use compaction::select::{Strategy, cpu};
///
/// let mut out = [false; 3];
/// cpu::items(Strategy::LookBack, &[true, false, true], &[1, 0, 1], &mut out)?;
/// assert_eq!(out, [true, true, false]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// An operation that computes items, or that may mix the bytes of two, takes plain data only. Such buffers of flags are
/// of `u8`:
///
/// ```compile_fail
/// # #[cfg(not(feature = "cuda"))] compile_error!("no operation");
/// # use compaction::gather::Scatter;
/// # fn new(compiler: &compaction::cuda::Compiler, context: &std::sync::Arc<compaction::cudarc::driver::CudaContext>) {
/// let scatter = Scatter::<bool>::new(compiler, context);
/// # }
/// ```
pub trait Movable: NoUninit + CheckedBitPattern {}

impl<T: NoUninit + CheckedBitPattern> Movable for T {}

/// Returns the item whose bits are all 1, which the strategy `off` of select writes. Returns [`Error::InvalidItem`] if
/// these bits are not valid.
pub(crate) fn all_ones<T: Movable>() -> Result<T> {
    let ones = vec![u8::MAX; size_of::<T>()];
    bytemuck::checked::try_pod_read_unaligned(&ones).map_err(|_| Error::InvalidItem {
        what: "the all-one bits that select by off writes".to_owned(),
        item: std::any::type_name::<T>(),
        instead: "u8, or another strategy",
    })
}
