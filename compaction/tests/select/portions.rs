//! Tests with 64-bit counts and indices, in launches of a few tiles, so that there are many portions.

use compaction::{
    Count, CountWord, Error,
    cuda::{download, upload},
    select::{Strategy, TILE_ITEMS},
};

use crate::{
    Three,
    backends::{Backend, Cuda, word},
    cases::check,
    common::{Gpu, lengths},
    random::{Mask, seeded},
    selects_in_place, selects_indices, selects_items, sizes,
};

const TILE: usize = TILE_ITEMS as usize;

pub(crate) fn works_in_portions(gpu: &Gpu) {
    let mut random = seeded(31);
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

/// Tests counts that end in any portion, and some larger than the buffer.
pub(crate) fn reads_its_count_in_portions(gpu: &Gpu) {
    let mut cuda = Cuda::new(gpu);
    cuda.portion_tiles = Some(2);
    let capacity = 5 * TILE + 5;
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
        reads_a_count::<u64>(&cuda, capacity, count);
    }
}

/// Runs every strategy with a device count of `count` items on buffers of `capacity` items.
pub(crate) fn reads_a_count<W: CountWord>(cuda: &Cuda<'_>, capacity: usize, count: usize) {
    let stream = &cuda.gpu.stream;
    let guard = word::<W>(0xdead_beef);
    let flags = Mask::Random(50).flags(capacity, &mut seeded(5));
    let device_flags = upload(stream, &flags).unwrap();
    let all: Vec<W> = (0..capacity).map(word).collect();
    let mut workspace = cuda.workspace(capacity);
    for &strategy in Strategy::ALL {
        let device_count = upload(stream, &[guard, word(count)]).unwrap();
        let mut out = upload(stream, &vec![guard; capacity]).unwrap();
        let mut selected = upload(stream, &[guard]).unwrap();
        cuda.select(strategy)
            .indices(
                stream,
                &device_flags,
                Count::Device(device_count.slice(1..)),
                &mut out,
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        let case = format!("{} count of {count} on the device, {strategy}", W::NAME);
        let len = count.min(capacity);
        let out = download(stream, &out).unwrap();
        if count > capacity {
            let error = workspace.read(stream, &selected).unwrap_err();
            assert!(
                matches!(error, Error::CountTooLarge { count: reported, capacity: taken, .. }
                    if reported == count && taken == capacity),
                "{case}: {error}"
            );
        }
        let selected = workspace.read(stream, &selected).unwrap();
        let result = (&out[..len], selected);
        check(strategy, &all[..len], &flags[..len], result, guard, &case);
        assert!(
            out[len..].iter().all(|&word| word == guard),
            "{case}: behind the count"
        );
    }
}
