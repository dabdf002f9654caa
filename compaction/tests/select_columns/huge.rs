//! Tests near and beyond 2³² items. They need about 45 GB of GPU memory: `-- --ignored huge`.

use compaction::{
    Count, CountWord,
    cuda::{download, zeroed},
    select_columns::{Column, SelectColumns, Workspace},
};

use crate::common::Gpu;

/// Distance between items that are kept.
const STEP: usize = 999_983;

pub(crate) fn around_two_to_the_31(gpu: &Gpu) {
    for len in [(1 << 31) - 1, 1 << 31, (1 << 31) + 1] {
        keeps_few::<u32>(gpu, len);
        keeps_few::<u64>(gpu, len);
    }
}

pub(crate) fn past_two_to_the_32(gpu: &Gpu) {
    keeps_few::<u32>(gpu, (1 << 32) - 1);
    keeps_few::<u64>(gpu, (1 << 32) + 3);
}

/// Selects from two columns in which the kept items hold their rank, and all others 0.
fn keeps_few<W: CountWord>(gpu: &Gpu, len: usize) {
    let stream = &gpu.stream;
    let mut flags = zeroed::<u8>(stream, len).unwrap();
    let mut bytes = zeroed::<u8>(stream, len).unwrap();
    let mut words = zeroed::<u32>(stream, len).unwrap();
    let kept: Vec<usize> = (0..len).step_by(STEP).chain([len - 1]).collect();
    for (rank, &index) in kept.iter().enumerate() {
        let item = index..index + 1;
        let mut flag = flags.slice_mut(item.clone());
        stream.memcpy_htod(&[0x80_u8], &mut flag).unwrap();
        let mut byte = bytes.slice_mut(item.clone());
        stream.memcpy_htod(&[rank as u8], &mut byte).unwrap();
        let mut word = words.slice_mut(item);
        stream.memcpy_htod(&[rank as u32 + 1], &mut word).unwrap();
    }
    let mut bytes_out = zeroed::<u8>(stream, len).unwrap();
    let mut words_out = zeroed::<u32>(stream, len).unwrap();
    let mut selected = zeroed::<W>(stream, 1).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    SelectColumns::new(&gpu.compiler, &gpu.context, &[1, 4])
        .unwrap()
        .columns(
            stream,
            &flags,
            Count::All,
            &mut [
                Column::new(bytes.as_view(), &mut bytes_out).unwrap(),
                Column::new(words.as_view(), &mut words_out).unwrap(),
            ],
            &mut selected,
            &mut workspace,
        )
        .unwrap();
    let count = workspace.read(stream, &selected).unwrap();
    assert_eq!(count, kept.len(), "{len}");
    let bytes = download(stream, &bytes_out.slice(..count + 1)).unwrap();
    let words = download(stream, &words_out.slice(..count + 1)).unwrap();
    for rank in 0..count {
        assert_eq!(
            (bytes[rank], words[rank]),
            (rank as u8, rank as u32 + 1),
            "{len}: item {rank}"
        );
    }
    assert_eq!(
        (bytes[count], words[count]),
        (0, 0),
        "{len}: behind the result"
    );
}
