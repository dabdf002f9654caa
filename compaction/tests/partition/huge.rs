//! Tests near and beyond 2³² items. They need about 60 GB of GPU memory: `-- --ignored huge`.

use compaction::{
    Count, CountWord,
    cuda::{download, uninitialised, zeroed},
    cudarc::driver::CudaSlice,
    partition::{Classes, Partition, Workspace},
};

use crate::common::Gpu;

/// Distance between items that are selected, or of class 1.
const STEP: usize = 999_983;
/// Number of items checked at each place.
const AROUND: usize = 4096;

pub(crate) fn around_two_to_the_31(gpu: &Gpu) {
    for len in [(1 << 31) - 1, 1 << 31, (1 << 31) + 1] {
        partitions::<u32>(gpu, len);
    }
    partitions::<u64>(gpu, (1 << 31) + 1);
}

pub(crate) fn past_two_to_the_32(gpu: &Gpu) {
    partitions::<u32>(gpu, (1 << 32) - 1);
    partitions::<u64>(gpu, (1 << 32) + 3);
}

fn partitions<W: CountWord>(gpu: &Gpu, len: usize) {
    let stream = &gpu.stream;
    let mut flags = zeroed::<u8>(stream, len).unwrap();
    let few: Vec<usize> = (0..len).step_by(STEP).chain([len - 1]).collect();
    for &index in &few {
        let mut flag = flags.slice_mut(index..index + 1);
        stream.memcpy_htod(&[1_u8], &mut flag).unwrap();
    }
    // Returns the index of the item with this rank among those that are not selected.
    let other = |rank: usize| rank + 1 + rank / (STEP - 1);
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut out = uninitialised::<W>(stream, len).unwrap();

    let mut selected = zeroed::<W>(stream, 1).unwrap();
    let partition = Partition::new(&gpu.compiler, &gpu.context).unwrap();
    partition
        .indices(
            stream,
            &flags,
            Count::All,
            &mut out,
            &mut selected,
            &mut workspace,
        )
        .unwrap();
    let count = workspace.read(stream, &selected).unwrap();
    assert_eq!(count, few.len(), "{len} in two");
    assert_eq!(at(gpu, &out, 0, few.len()), few, "{len} in two: selected");
    for place in places(len, few.len()) {
        let expected: Vec<usize> = (0..AROUND)
            .map(|more| other(place - few.len() + more))
            .collect();
        assert!(
            at(gpu, &out, place, AROUND) == expected,
            "{len} in two: at {place}"
        );
    }

    // Class 0, which has most keys, comes first.
    let classes = Classes::new(&gpu.compiler, &gpu.context, 2).unwrap();
    let mut starts = zeroed::<W>(stream, 3).unwrap();
    classes
        .indices(
            stream,
            &flags,
            Count::All,
            &mut out,
            &mut starts,
            &mut workspace,
        )
        .unwrap();
    let starts = workspace.read_starts(stream, &starts).unwrap();
    let starts: Vec<usize> = starts.into_iter().map(CountWord::to_len).collect();
    let most = len - few.len();
    assert_eq!(starts, [0, most, len], "{len} by class");
    assert_eq!(
        at(gpu, &out, most, few.len()),
        few,
        "{len} by class: class 1"
    );
    for place in places(most, 0) {
        let expected: Vec<usize> = (0..AROUND).map(|more| other(place + more)).collect();
        assert!(
            at(gpu, &out, place, AROUND) == expected,
            "{len} by class: at {place}"
        );
    }
}

/// Returns places all over a range, including its ends.
fn places(end: usize, begin: usize) -> Vec<usize> {
    let last = end - AROUND;
    let spread = (0..20).map(|part| begin + (last - begin) / 20 * part);
    spread
        .chain([1 << 31, 1 << 32, last])
        .filter(|&place| place <= last)
        .collect()
}

fn at<W: CountWord>(gpu: &Gpu, out: &CudaSlice<W>, place: usize, len: usize) -> Vec<usize> {
    let words = download(&gpu.stream, &out.slice(place..place + len)).unwrap();
    words.into_iter().map(CountWord::to_len).collect()
}
