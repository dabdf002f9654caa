//! Tests of outputs that are shorter than the result.

use std::collections::BTreeSet;

use bytemuck::cast_slice_mut;
use compaction::{CountWord, layout::Shared, select::Strategy};

use crate::{
    Sixteen, Three,
    backends::{Backend, Cuda, word},
    common::{Gpu, lengths},
    random::{self, Mask, seeded},
};

pub(crate) fn the_cpu_fills_a_short_output() {
    fills_short_outputs(&Backend::Cpu);
}

pub(crate) fn fills_a_short_output(gpu: &Gpu) {
    fills_short_outputs(&Backend::Cuda(&Cuda::new(gpu)));
    let mut portions = Cuda::new(gpu);
    portions.portion_tiles = Some(2);
    for len in lengths([20_000, 40_000]) {
        let flags = Mask::Random(60).flags(len, &mut seeded(5));
        indices::<u64>(&Backend::Cuda(&portions), &flags);
        items::<u32>(&Backend::Cuda(&portions), &flags);
    }
}

fn fills_short_outputs(backend: &Backend<'_>) {
    let mut random = seeded(4);
    for len in lengths([1, 100, 8197, 30_000, 70_000, 300_001]) {
        for mask in [Mask::All, Mask::Random(50), Mask::Blocks] {
            let flags = mask.flags(len, &mut random);
            indices::<u32>(backend, &flags);
            items::<u32>(backend, &flags);
            items::<Three>(backend, &flags);
            if len <= 8197 {
                items::<u8>(backend, &flags);
                items::<Sixteen>(backend, &flags);
            }
        }
    }
}

/// Returns lengths of outputs, from none to as many as there are flags.
fn rooms(flags: &[u8]) -> BTreeSet<usize> {
    let kept = flags.iter().filter(|&&flag| flag != 0).count();
    let rooms = [
        0,
        1,
        kept / 2,
        kept.saturating_sub(1),
        kept,
        flags.len() - 1,
    ];
    rooms
        .into_iter()
        .filter(|&room| room < flags.len())
        .collect()
}

fn indices<W: CountWord>(backend: &Backend<'_>, flags: &[u8]) {
    let guard: W = word(0xdead_beef);
    for &strategy in backend.strategies() {
        if strategy == Strategy::Off {
            continue; // It writes all items.
        }
        let mut full = vec![guard; flags.len()];
        let kept = backend.indices(strategy, flags, &mut full);
        for room in rooms(flags) {
            let mut out = vec![guard; room];
            let count = backend.indices(strategy, flags, &mut out);
            let case = format!("{strategy}, {room} of {kept} of {}", flags.len());
            assert_eq!(count, kept, "{case}");
            if strategy != Strategy::Atomic {
                assert!(out == full[..room], "{case}");
                continue;
            }
            let (written, rest) = out.split_at(room.min(kept));
            let mut distinct = written.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            let all_flagged = written.iter().all(|index| flags[index.to_len()] != 0);
            assert!(distinct.len() == written.len() && all_flagged, "{case}");
            assert!(rest.iter().all(|&index| index == guard), "{case}");
        }
    }
}

fn items<T: Shared + Send + Sync>(backend: &Backend<'_>, flags: &[u8]) {
    let (size, len) = (size_of::<T>(), flags.len());
    let mut items = vec![0_u128; (len * size).div_ceil(16)];
    let items = &mut cast_slice_mut::<_, u8>(&mut items)[..len * size];
    random::fill(items, size);
    for &strategy in backend.strategies() {
        if matches!(strategy, Strategy::Off | Strategy::Atomic) {
            continue; // The one writes all items, the other any of them.
        }
        let mut full = vec![0_u128; (len * size).div_ceil(16)];
        let full = &mut cast_slice_mut::<_, u8>(&mut full)[..len * size];
        full.fill(0xa5);
        let kept = backend.items::<T>(strategy, items, flags, full);
        for room in rooms(flags) {
            let mut out = vec![0_u128; (room * size).div_ceil(16)];
            let out = &mut cast_slice_mut::<_, u8>(&mut out)[..room * size];
            out.fill(0xa5);
            let count = backend.items::<T>(strategy, items, flags, out);
            let case = format!("{} {strategy}, {room} of {kept} of {len}", T::NAME);
            assert_eq!(count, kept, "{case}");
            assert!(*out == full[..room * size], "{case}");
        }
    }
}
