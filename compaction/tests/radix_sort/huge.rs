//! Tests near and beyond 2³² keys. They need about 110 GB of GPU memory: `-- --ignored huge`.

use compaction::{
    Count,
    cuda::{download, upload, zeroed},
    radix_sort::{Order, RadixSort, Strategy, Workspace},
};
use rayon::prelude::*;

use crate::common::Gpu;

/// An odd factor: its multiples modulo 2³² are all different and unsorted.
const FACTOR: u32 = 0x9e37_79b1;

pub(crate) fn around_two_to_the_31(gpu: &Gpu) {
    for len in [(1_usize << 31) - 1, (1 << 31) + 1] {
        let (keys, values) = sorted(gpu, len);
        let in_order = keys.par_windows(2).all(|pair| pair[0] < pair[1]);
        assert!(in_order, "{len}");
        let together = keys
            .par_iter()
            .zip(&values)
            .all(|(&key, &value)| (value as usize) < len && key == value.wrapping_mul(FACTOR));
        assert!(together, "{len}");
    }
}

/// Sorts every 32-bit key once, and those of the first three items twice.
pub(crate) fn past_two_to_the_32(gpu: &Gpu) {
    let len = (1_usize << 32) + 3;
    let (keys, values) = sorted(gpu, len);
    let mut twice: Vec<u32> = (0..3_u32).map(|item| item.wrapping_mul(FACTOR)).collect();
    twice.sort_unstable();
    // Returns how many keys too many there are before a place.
    let extra = |place: usize| {
        let before = (0..).zip(&twice);
        before
            .filter(|&(index, &key)| key as usize + index < place)
            .count()
    };
    let wrong = keys
        .par_iter()
        .enumerate()
        .position_any(|(place, &key)| key as usize != place - extra(place));
    assert_eq!(wrong, None);
    // The second of two equal keys is an item beyond 2³², whose index has lost its highest bit.
    let wrong = keys
        .par_iter()
        .zip(&values)
        .position_any(|(&key, &value)| key != value.wrapping_mul(FACTOR));
    assert_eq!(wrong, None);
}

/// Sorts the multiples of `FACTOR` with their indices, truncated to 32 bits, as values.
fn sorted(gpu: &Gpu, len: usize) -> (Vec<u32>, Vec<u32>) {
    let stream = &gpu.stream;
    let numbers: Vec<u32> = (0..len)
        .into_par_iter()
        .map(|number| number as u32)
        .collect();
    let values = upload(stream, &numbers).unwrap();
    let products: Vec<u32> = numbers
        .par_iter()
        .map(|number| number.wrapping_mul(FACTOR))
        .collect();
    let keys = upload(stream, &products).unwrap();
    drop((numbers, products));
    let mut workspace = Workspace::<u32, u32>::with_capacity(stream, len).unwrap();
    let mut out = zeroed::<u32>(stream, len).unwrap();
    let mut values_out = zeroed::<u32>(stream, len).unwrap();
    RadixSort::<u32, u64>::new(
        &gpu.compiler,
        &gpu.context,
        Order::Ascending,
        Strategy::Onesweep,
    )
    .unwrap()
    .pairs(
        stream,
        &keys,
        &values,
        Count::All,
        &mut out,
        &mut values_out,
        &mut workspace,
    )
    .unwrap();
    (
        download(stream, &out).unwrap(),
        download(stream, &values_out).unwrap(),
    )
}

/// Sorts keys that are almost all in one bin, with both strategies.
pub(crate) fn few_bins(gpu: &Gpu) {
    const STEP: usize = 999_983;
    let stream = &gpu.stream;
    let len = (1_usize << 32) + 3;
    let key = |item: usize| if item.is_multiple_of(STEP) { 9_u8 } else { 200 };
    let host_keys: Vec<u8> = (0..len).into_par_iter().map(key).collect();
    let numbers: Vec<u32> = (0..len)
        .into_par_iter()
        .map(|number| number as u32)
        .collect();
    let keys = upload(stream, &host_keys).unwrap();
    let values = upload(stream, &numbers).unwrap();
    drop((host_keys, numbers));
    let nines = len.div_ceil(STEP);
    let mut workspace = Workspace::<u8, u32>::with_capacity(stream, len).unwrap();
    for &strategy in Strategy::ALL {
        let mut out = zeroed::<u8>(stream, len).unwrap();
        let mut values_out = zeroed::<u32>(stream, len).unwrap();
        RadixSort::<u8, u64>::new(&gpu.compiler, &gpu.context, Order::Ascending, strategy)
            .unwrap()
            .pairs(
                stream,
                &keys,
                &values,
                Count::All,
                &mut out,
                &mut values_out,
                &mut workspace,
            )
            .unwrap();
        let out = download(stream, &out).unwrap();
        let (low, high) = out.split_at(nines);
        assert!(
            low.iter().all(|&key| key == 9) && high.par_iter().all(|&key| key == 200),
            "{strategy}"
        );
        let values = download(stream, &values_out).unwrap();
        let (low, high) = values.split_at(nines);
        let expected = (0..len).step_by(STEP).map(|item| item as u32);
        assert!(expected.eq(low.iter().copied()), "{strategy}");
        // The n-th item with the more frequent key has the index n + 1 + n / (STEP - 1).
        let wrong = high.par_iter().enumerate().position_any(|(rank, &value)| {
            let item = rank + rank / (STEP - 1) + 1;
            value != item as u32
        });
        assert_eq!(wrong, None, "{strategy}");
    }
}
