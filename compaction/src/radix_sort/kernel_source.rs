//! The types that the kernel files of a radix sort are compiled for.

use super::{Key, Order};
use crate::{
    CountWord,
    arguments::is_wide,
    cuda::{In, InOut, Source},
    look_back,
};

crate::shared! {
    /// The buffers of a pass, as bytes. `kernels/radix_sort.cuh` documents the fields.
    pub(super) struct Moved<'a> {
        pub(super) keys_in: In<u8>,
        pub(super) values_in: In<u8>,
        pub(super) keys_out: InOut<u8>,
        pub(super) values_out: InOut<u8>,
    }
}

/// The types of a sort, as its kernels distinguish them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortTypes {
    pub(super) key_bytes: u32,
    key_kind: u32,
    /// Size of a value in bytes: 4, 8, or 0 for keys alone.
    pub(super) value_bytes: u32,
    /// Name of the word type of counts in CUDA.
    word: &'static str,
    /// Whether the values are the indices of the keys, which the kernels make themselves.
    pub(super) makes_indices: bool,
    /// Whether counts have 8 bytes instead of 4.
    pub(super) has_wide_counts: bool,
}

impl SortTypes {
    /// Returns the types of a sort of keys `K` with counts `W`, and values of `value_bytes` bytes: 4, 8, or 0 for keys
    /// alone.
    pub(crate) const fn of<K: Key, W: CountWord>(value_bytes: u32) -> Self {
        Self {
            key_bytes: size_of::<K>() as u32,
            key_kind: K::KIND,
            value_bytes,
            word: W::NAME,
            makes_indices: false,
            has_wide_counts: is_wide::<W>(),
        }
    }

    /// Returns the types of an argsort with indices of `index_bytes` bytes, 4 or 8.
    pub(super) const fn of_indices<K: Key, W: CountWord>(index_bytes: u32) -> Self {
        Self {
            makes_indices: true,
            ..Self::of::<K, W>(index_bytes)
        }
    }

    /// Adds to a kernel source the definitions that `radix_sort.cuh` needs: key type, value size, sort order and word
    /// type of counts.
    pub(crate) fn declare(self, source: Source, order: Order) -> Source {
        let source = source
            .define("Word", self.word)
            .constant("KEY_BYTES", self.key_bytes)
            .constant("KEY_KIND", self.key_kind)
            .constant("DESCENDING", u32::from(order == Order::Descending))
            .constant("VALUE_BYTES", self.value_bytes);
        look_back::declare(source)
    }
}
