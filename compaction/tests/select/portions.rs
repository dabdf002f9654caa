//! Counts and indices of 64 bits, and launches of a few tiles, so that there are many of them.

use compaction::{
    Error, Strategy,
    cuda::{download, upload},
    select::{Count, TILE_ITEMS},
};

use crate::{
    Three,
    backends::{Backend, Cuda},
    cases::check,
    common::{Gpu, lengths},
    random::{Mask, Random},
    selects_in_place, selects_indices, selects_items, sizes,
};

const TILE: usize = TILE_ITEMS as usize;
const GUARD: u64 = 0xdead_beef_dead_beef;

pub(crate) fn keeps_what_is_flagged(gpu: &Gpu) {
    let mut random = Random(31);
    let mut cuda = Cuda::new(gpu);
    for (tiles, start) in [(1, 0), (2, 3), (1 << 17, 1)] {
        (cuda.portion_tiles, cuda.start) = (Some(tiles), start);
        let backend = Backend::Cuda(&cuda);
        for len in lengths([
            0,
            1,
            TILE - 1,
            TILE,
            2 * TILE,
            2 * TILE + 1,
            4 * TILE + 3,
            9 * TILE,
            40 * TILE + 7,
        ]) {
            for mask in [Mask::All, Mask::None, Mask::Random(50), Mask::Blocks] {
                let flags = mask.flags(len, &mut random);
                selects_indices::<u64>(&backend, &flags, mask);
                selects_items::<u32>(&backend, &flags, mask);
                selects_items::<Three>(&backend, &flags, mask);
                selects_in_place::<u32>(&backend, &flags, mask);
                selects_in_place::<sizes::Bytes6>(&backend, &flags, mask);
            }
        }
    }
}

/// Counts that end in any portion, and some that say more than there is.
pub(crate) fn reads_its_count(gpu: &Gpu) {
    let (stream, mut cuda) = (&gpu.stream, Cuda::new(gpu));
    cuda.portion_tiles = Some(2);
    let capacity = 5 * TILE + 5;
    let flags = Mask::Random(50).flags(capacity, &mut Random(32));
    let device_flags = upload(stream, &flags).unwrap();
    let all: Vec<u64> = (0..capacity as u64).collect();
    let mut workspace = cuda.workspace(capacity);
    let counts = [
        0,
        1,
        2 * TILE,
        2 * TILE + 1,
        4 * TILE - 1,
        capacity,
        capacity + 1,
        1 << 32,
        usize::MAX,
    ];
    for count in counts {
        for &strategy in Strategy::ALL {
            let device_count = upload(stream, &[GUARD, count as u64]).unwrap();
            let mut out = upload(stream, &vec![GUARD; capacity]).unwrap();
            let mut selected = upload(stream, &[GUARD]).unwrap();
            cuda.select(strategy)
                .indices(
                    stream,
                    &device_flags.as_view(),
                    Count::Device(device_count.slice(1..)),
                    &mut out.as_view_mut(),
                    &mut selected.as_view_mut(),
                    &mut workspace,
                )
                .unwrap();
            let case = format!("a count of {count} on the device, {strategy}");
            let len = count.min(capacity);
            let out = download(stream, &out).unwrap();
            if count > capacity {
                let error = workspace.read(stream, &selected.as_view()).unwrap_err();
                assert!(
                    matches!(error, Error::CountTooLarge { count: said, capacity: taken, .. }
                        if said == count && taken == capacity),
                    "{case}: {error}"
                );
            }
            let selected = workspace.read(stream, &selected.as_view()).unwrap();
            let items = (&out[..len], selected);
            check(strategy, &all[..len], &flags[..len], items, GUARD, &case);
            assert!(
                out[len..].iter().all(|&word| word == GUARD),
                "{case}: behind the count"
            );
        }
    }
}
