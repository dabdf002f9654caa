//! The key types of a radix sort.

use crate::layout::Shared;

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
