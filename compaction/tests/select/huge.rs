//! As many items as can be counted. Takes some 40 GB of a GPU: `-- --ignored huge`.

use compaction::{
    Strategy,
    cuda::{download, upload, zeroed},
    select::{Count, Select, Workspace},
};

use crate::common::Gpu;

pub(crate) fn around_two_to_the_31(gpu: &Gpu) {
    for len in [(1_usize << 31) - 1, 1 << 31, (1 << 31) + 1] {
        for strategy in [
            Strategy::LookBack,
            Strategy::CountScanScatter,
            Strategy::Sequences,
            Strategy::HoleFilling,
            Strategy::Atomic,
        ] {
            keeps_few(gpu, strategy, len);
        }
    }
}

pub(crate) fn below_two_to_the_32(gpu: &Gpu) {
    for len in [(1_usize << 32) - 3, (1 << 32) - 1] {
        for &strategy in Strategy::ALL {
            if strategy != Strategy::Off {
                keeps_few(gpu, strategy, len);
            }
        }
    }
}

/// Every 999,983rd item, and the last.
fn keeps_few(gpu: &Gpu, strategy: Strategy, len: usize) {
    const STEP: usize = 999_983;
    let stream = &gpu.stream;
    let mut flags = vec![0_u8; len];
    flags.iter_mut().step_by(STEP).for_each(|flag| *flag = 1);
    flags[len - 1] = 0x80;
    let mut expected: Vec<u32> = (0..len).step_by(STEP).map(|index| index as u32).collect();
    if expected.last() != Some(&((len - 1) as u32)) {
        expected.push((len - 1) as u32);
    }
    let flags = upload(stream, &flags).unwrap();
    let mut out = zeroed::<u32>(stream, len).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut workspace = Workspace::for_strategy(stream, strategy, len as u32).unwrap();
    Select::new(&gpu.compiler, &gpu.context, strategy)
        .unwrap()
        .indices(
            stream,
            &flags.as_view(),
            Count::Given(len as u32),
            &mut out.as_view_mut(),
            &mut selected.as_view_mut(),
            &mut workspace,
        )
        .unwrap();
    let kept = workspace.read(stream, &selected.as_view()).unwrap();
    assert_eq!(kept, expected.len(), "{len} by {strategy}");
    let mut out = download(stream, &out.slice(..kept + 1)).unwrap();
    assert_eq!(
        out.pop(),
        Some(0),
        "behind the result of {len} by {strategy}"
    );
    if !strategy.keeps_order() {
        out.sort_unstable();
    }
    assert!(out == expected, "{len} by {strategy}");
}
