//! Tests with items of every size and alignment.

use compaction::{
    layout::Shared,
    select::{Strategy, TILE_ITEMS},
};
use rayon::prelude::*;

use crate::{
    Eight, Five, ItemType, Sixteen, Three,
    backends::{Backend, Cuda, CudaInPlace, CudaItems},
    cases::IN_PLACE,
    common::{Gpu, lengths},
    item,
    random::{Mask, seeded},
    selects_in_place, selects_in_place_by, selects_items, selects_items_by,
};

macro_rules! byte_items {
    ($($name:ident: $low:literal $(+ $high:literal)?),+) => {
        compaction::shared! {$(
            /// An item of this many bytes without alignment.
            pub struct $name {
                /// Arbitrary bits.
                pub low: [u8; $low],
                $(/// Arbitrary bits.
                pub high: [u8; $high],)?
            }
        )+}
    };
}
byte_items!(Bytes1: 1, Bytes2: 2, Bytes3: 3, Bytes4: 4, Bytes5: 5, Bytes6: 6, Bytes7: 7, Bytes8: 8, Bytes9: 9, Bytes10: 10, Bytes11: 11, Bytes12: 12, Bytes13: 13, Bytes14: 14, Bytes15: 15, Bytes16: 16, Bytes17: 17, Bytes18: 18, Bytes19: 19, Bytes20: 20, Bytes21: 21, Bytes22: 22, Bytes23: 23, Bytes24: 24, Bytes25: 25, Bytes26: 26, Bytes27: 27, Bytes28: 28, Bytes29: 29, Bytes30: 30, Bytes31: 31, Bytes32: 32);
byte_items!(Bytes33: 32 + 1, Bytes34: 32 + 2, Bytes35: 32 + 3, Bytes36: 32 + 4, Bytes37: 32 + 5, Bytes38: 32 + 6, Bytes39: 32 + 7, Bytes40: 32 + 8, Bytes41: 32 + 9, Bytes42: 32 + 10, Bytes43: 32 + 11, Bytes44: 32 + 12, Bytes45: 32 + 13, Bytes46: 32 + 14, Bytes47: 32 + 15, Bytes48: 32 + 16, Bytes49: 32 + 17, Bytes50: 32 + 18, Bytes51: 32 + 19, Bytes52: 32 + 20, Bytes53: 32 + 21, Bytes54: 32 + 22, Bytes55: 32 + 23, Bytes56: 32 + 24, Bytes57: 32 + 25, Bytes58: 32 + 26, Bytes59: 32 + 27, Bytes60: 32 + 28, Bytes61: 32 + 29, Bytes62: 32 + 30, Bytes63: 32 + 31, Bytes64: 32 + 32);

macro_rules! aligned_items {
    ($($name:ident: [$number:ident; $numbers:literal]),+) => {
        compaction::shared! {$(
            /// An item aligned to the size of its numbers.
            pub struct $name {
                /// Arbitrary bits.
                pub numbers: [$number; $numbers],
            }
        )+}
    };
}
aligned_items!(
    Pairs1: [u16; 1], Pairs3: [u16; 3], Pairs8: [u16; 8], Pairs31: [u16; 31],
    Longs1: [u64; 1], Longs3: [u64; 3], Longs4: [u64; 4], Longs8: [u64; 8]
);

const TILE: usize = TILE_ITEMS as usize;
/// Lengths of the inputs.
const SIZES: [usize; 7] = [0, 1, 33, 255, TILE - 1, 3 * TILE + 5, (1 << 16) + 3];

/// Calls `$body::<T>($arg)` for each type `T`.
macro_rules! each {
    ($body:ident($arg:expr): $($item:ty),+ $(,)?) => { $($body::<$item>($arg);)+ };
}

/// Tests some types of every kind, because the CPU implementation is generic over all.
pub(crate) fn the_cpu_keeps_items_of_many_sizes() {
    each!(on_the_cpu(&Backend::Cpu):
        Bytes1, Bytes2, Bytes5, Bytes7, Bytes16, Bytes33, Bytes64, Pairs3, Three, Sixteen, Longs4);
}

fn on_the_cpu<T: Shared + Send + Sync>(cpu: &Backend<'_>) {
    for_each_mask(size_of::<T>(), &|flags, mask| {
        selects_items::<T>(cpu, flags, mask);
        selects_in_place::<T>(cpu, flags, mask);
    });
}

/// Calls `body` with flags for items of `size` bytes.
fn for_each_mask(size: usize, body: &dyn Fn(&[u8], Mask)) {
    let mut random = seeded(size as u64);
    for len in lengths(SIZES) {
        for mask in [Mask::All, Mask::Random(50)] {
            body(&mask.flags(len, &mut random), mask);
        }
    }
}

/// The name and size of an item type, and its selections on a GPU.
type OnCuda<'a> = (ItemType, CudaItems<'a>, CudaInPlace<'a>);

macro_rules! on_cuda {
    ($($item:ty),+ $(,)?) => {
        [$((item::<$item>(), Cuda::items_by::<$item, u32>, Cuda::in_place_by::<$item, u32>)),+]
    };
}

/// Tests all sizes in parallel, because their kernels take long to compile.
pub(crate) fn keeps_items_of_every_size(gpu: &Gpu) {
    let all: &[OnCuda<'_>] = &on_cuda![
        u8, i16, u32, f64, Three, Five, Eight, Sixteen, Pairs1, Pairs3, Pairs8, Pairs31, Longs1,
        Longs3, Longs4, Longs8, Bytes1, Bytes2, Bytes3, Bytes4, Bytes5, Bytes6, Bytes7, Bytes8,
        Bytes9, Bytes10, Bytes11, Bytes12, Bytes13, Bytes14, Bytes15, Bytes16, Bytes17, Bytes18,
        Bytes19, Bytes20, Bytes21, Bytes22, Bytes23, Bytes24, Bytes25, Bytes26, Bytes27, Bytes28,
        Bytes29, Bytes30, Bytes31, Bytes32, Bytes33, Bytes34, Bytes35, Bytes36, Bytes37, Bytes38,
        Bytes39, Bytes40, Bytes41, Bytes42, Bytes43, Bytes44, Bytes45, Bytes46, Bytes47, Bytes48,
        Bytes49, Bytes50, Bytes51, Bytes52, Bytes53, Bytes54, Bytes55, Bytes56, Bytes57, Bytes58,
        Bytes59, Bytes60, Bytes61, Bytes62, Bytes63, Bytes64
    ];
    let cuda = Cuda::new(gpu);
    all.par_iter().for_each(|calls| on_cuda(&cuda, calls));
}

/// Tests an item type with the default strategy, and some with every strategy, because each has its own kernels.
fn on_cuda<'a>(cuda: &Cuda<'a>, &(item, items_by, in_place_by): &OnCuda<'a>) {
    let has_all_strategies = [1, 2, 6, 7, 16, 24, 33, 62, 64].contains(&item.1);
    let strategies = match Strategy::ALL {
        all if has_all_strategies => all,
        all => &all[..1],
    };
    for_each_mask(item.1, &|flags, mask| {
        for &strategy in strategies {
            selects_items_by(item, strategy, flags, mask, &mut |items, out| {
                items_by(cuda, strategy, items, flags, out)
            });
            if IN_PLACE.contains(&strategy) {
                selects_in_place_by(item, strategy, flags, mask, &mut |items| {
                    in_place_by(cuda, strategy, items, flags)
                });
            }
        }
    });
}
