//! The key types of a radix sort.

use super::Order;
use crate::{CountWord, arguments::is_wide, cuda::Source, layout::Shared, look_back};

/// A type of keys that a radix sort supports: [`u8`], [`u16`], [`u32`], [`u64`], [`i8`], [`i16`], [`i32`], [`i64`],
/// [`f32`] or [`f64`].
///
/// ```
/// use compaction::radix_sort::Key;
///
/// assert!((-1_i32).ordered() < 0_i32.ordered());
/// assert!((-0.0_f32).ordered() < 0.0_f32.ordered());
/// assert!(f64::INFINITY.ordered() < f64::NAN.ordered());
/// ```
///
/// The trait is sealed: other crates cannot implement it.
pub trait Key: Shared + Send + Sync + sealed::Sealed {
    /// Returns an unsigned number whose order is the order of the keys. It has as many bits as the key; higher bits are
    /// 0.
    fn ordered(self) -> u64;

    #[doc(hidden)]
    const KIND: u32;
}

const UNSIGNED: u32 = 0;
const SIGNED: u32 = 1;
const FLOAT: u32 = 2;

macro_rules! keys {
    ($($key:ident, $kind:ident, |$value:ident| $ordered:expr;)+) => {$(
        impl Key for $key {
            fn ordered(self) -> u64 {
                let $value = self;
                $ordered
            }
            const KIND: u32 = $kind;
        }
        impl sealed::Sealed for $key {}
    )+};
}
keys! {
    u8, UNSIGNED, |key| u64::from(key);
    u16, UNSIGNED, |key| u64::from(key);
    u32, UNSIGNED, |key| u64::from(key);
    u64, UNSIGNED, |key| key;
    i8, SIGNED, |key| u64::from(key.cast_unsigned() ^ 1 << 7);
    i16, SIGNED, |key| u64::from(key.cast_unsigned() ^ 1 << 15);
    i32, SIGNED, |key| u64::from(key.cast_unsigned() ^ 1 << 31);
    i64, SIGNED, |key| key.cast_unsigned() ^ 1 << 63;
    f32, FLOAT, |key| {
        let bits = key.to_bits();
        u64::from(bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 })
    };
    f64, FLOAT, |key| {
        let bits = key.to_bits();
        bits ^ if bits >> 63 == 1 { u64::MAX } else { 1 << 63 }
    };
}

mod sealed {
    pub trait Sealed {}
}

/// The types of a sort, as its kernels distinguish them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortTypes {
    pub(super) key_bytes: u32,
    key_kind: u32,
    /// Size of a value in bytes: 4, 8, or 0 for keys alone.
    pub(super) value_bytes: u32,
    /// Name of the word type of counts in CUDA.
    word: &'static str,
    /// Whether counts have 8 bytes instead of 4.
    pub(super) has_wide_counts: bool,
}

impl SortTypes {
    /// Returns the types of a sort of keys `K` with counts `W`, and values of `value_bytes` bytes: 4, 8, or 0 for keys
    /// alone.
    pub(super) const fn of<K: Key, W: CountWord>(value_bytes: u32) -> Self {
        Self {
            key_bytes: size_of::<K>() as u32,
            key_kind: K::KIND,
            value_bytes,
            word: W::NAME,
            has_wide_counts: is_wide::<W>(),
        }
    }

    /// Adds to a kernel source the definitions that `radix_sort.cuh` needs: key type, value size, sort order and word
    /// type of counts.
    pub(super) fn declare(self, source: Source, order: Order) -> Source {
        let source = source
            .define("Word", self.word)
            .constant("KEY_BYTES", self.key_bytes)
            .constant("KEY_KIND", self.key_kind)
            .constant("DESCENDING", u32::from(order == Order::Descending))
            .constant("VALUE_BYTES", self.value_bytes);
        look_back::declare(source)
    }
}
