//! Tests beyond 2³¹ and 2³² items. They need about 60 GB of GPU memory: `-- --ignored huge`.

use compaction::{
    Count, CountWord, Error,
    cuda::{download, upload, zeroed},
    select::{Predicate, Select, SelectIf, Strategy, Workspace},
};

use crate::{backends::word, common::Gpu};

pub(crate) fn around_two_to_the_31(gpu: &Gpu) {
    for len in [(1_usize << 31) - 1, 1 << 31, (1 << 31) + 1] {
        for strategy in [
            Strategy::LookBack,
            Strategy::CountScanScatter,
            Strategy::Sequences,
            Strategy::HoleFilling,
            Strategy::Atomic,
        ] {
            keeps_few::<u32>(gpu, strategy, len);
        }
    }
}

pub(crate) fn around_two_to_the_32(gpu: &Gpu) {
    for &strategy in Strategy::ALL.iter().filter(|&&each| each != Strategy::Off) {
        keeps_few::<u32>(gpu, strategy, (1 << 32) - 1);
        keeps_few::<u64>(gpu, strategy, (1 << 32) + 3);
    }
}

/// Selects items of one byte, also in place and by a predicate.
pub(crate) fn bytes_beyond_two_to_the_32(gpu: &Gpu) {
    let (stream, len) = (&gpu.stream, (1_usize << 32) + 3);
    let mut flags = vec![0_u8; len];
    flags.iter_mut().step_by(STEP).for_each(|flag| *flag = 1);
    flags[len - 1] = 0x80;
    let items: Vec<u8> = (0..len).map(|index| (index % 251) as u8 | 1).collect();
    let flagged = items.iter().zip(&flags).filter(|(_, flag)| **flag != 0);
    let expected: Vec<u8> = flagged.map(|(item, _)| *item).collect();

    let flags = upload(stream, &flags).unwrap();
    let mut device = upload(stream, &items).unwrap();
    let mut out = zeroed::<u8>(stream, len).unwrap();
    let mut selected = zeroed::<u64>(stream, 1).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let select = Select::new(&gpu.compiler, &gpu.context, Strategy::LookBack).unwrap();
    select
        .items(
            stream,
            &device,
            &flags,
            Count::All,
            &mut out,
            &mut selected,
            &mut workspace,
        )
        .unwrap();
    let kept = workspace.read(stream, &selected).unwrap();
    assert_eq!(kept, expected.len());
    let mut words = [
        zeroed::<u32>(stream, 1).unwrap(),
        zeroed(stream, 1).unwrap(),
    ];
    let [few, count] = &mut words;
    let error = select
        .indices(stream, &flags, Count::All, few, count, &mut workspace)
        .unwrap_err();
    assert!(
        matches!(error, Error::Uncountable { len: said, .. } if said == len),
        "{error}"
    );
    let copy = download(stream, &out.slice(..kept + 1)).unwrap();
    assert!(copy[..kept] == expected && copy[kept] == 0, "items");

    select
        .in_place(
            stream,
            &mut device,
            &flags,
            Count::All,
            &mut selected,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(workspace.read(stream, &selected).unwrap(), kept);
    let copy = download(stream, &device.slice(..kept)).unwrap();
    assert!(copy == expected, "in place");

    let flagged = Predicate::new("flagged.cuh", "bool keep(u8 flag) { return flag != 0; }");
    SelectIf::<u8, u64>::new(&gpu.compiler, &gpu.context, &flagged)
        .unwrap()
        .items(
            stream,
            &flags,
            Count::All,
            &mut out,
            &mut selected,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(workspace.read(stream, &selected).unwrap(), kept);
    let copy = download(stream, &out.slice(..kept)).unwrap();
    assert!(copy[..kept - 1].iter().all(|&flag| flag == 1) && copy[kept - 1] == 0x80);
}

const STEP: usize = 999_983;

/// Selects every 999,983rd item and the last one.
fn keeps_few<W: CountWord>(gpu: &Gpu, strategy: Strategy, len: usize) {
    let stream = &gpu.stream;
    let mut flags = vec![0_u8; len];
    flags.iter_mut().step_by(STEP).for_each(|flag| *flag = 1);
    flags[len - 1] = 0x80;
    let mut expected: Vec<W> = (0..len).step_by(STEP).map(word).collect();
    if expected.last() != Some(&word(len - 1)) {
        expected.push(word(len - 1));
    }
    let flags = upload(stream, &flags).unwrap();
    let mut out = zeroed::<W>(stream, len).unwrap();
    let mut selected = zeroed::<W>(stream, 1).unwrap();
    let mut workspace = Workspace::for_strategy(stream, strategy, len).unwrap();
    Select::new(&gpu.compiler, &gpu.context, strategy)
        .unwrap()
        .indices(
            stream,
            &flags,
            Count::Given(word(len)),
            &mut out,
            &mut selected,
            &mut workspace,
        )
        .unwrap();
    let kept = workspace.read(stream, &selected).unwrap();
    assert_eq!(kept, expected.len(), "{len} by {strategy}");
    let mut out = download(stream, &out.slice(..kept + 1)).unwrap();
    assert_eq!(
        out.pop(),
        Some(W::zeroed()),
        "behind the result of {len} by {strategy}"
    );
    if !strategy.keeps_order() {
        out.sort_unstable();
    }
    assert!(out == expected, "{len} by {strategy}");
}
