//! The columns on a GPU.

use std::{cell::RefCell, collections::HashMap};

use compaction::{
    Error,
    cuda::{download, upload, zeroed},
    cudarc::driver::{
        CudaView, CudaViewMut,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    layout::Shared,
    select::Count,
    select_columns::{Column, SelectColumns, Workspace},
};

use crate::{
    Backend, Four, TILE, check,
    common::Gpu,
    guarded::Guarded,
    random::{Mask, Random, items},
};

const GUARD: u32 = 0xdead_beef;

/// Some items of a type that only they know.
pub(crate) trait Items {
    fn upload(&self, cuda: &Cuda<'_>) -> Box<dyn Uploaded>;
}

impl<T: Shared> Items for Vec<T> {
    fn upload(&self, cuda: &Cuda<'_>) -> Box<dyn Uploaded> {
        Box::new(Pair {
            items: self.clone(),
            input: Guarded::new(&cuda.gpu.stream, cuda.start, self),
            out: Guarded::<T>::room(&cuda.gpu.stream, cuda.start, self.len()),
        })
    }
}

/// They and their output on the device.
pub(crate) trait Uploaded {
    fn lend<'a>(&'a mut self, call: &mut dyn FnMut(Column<'_>));
    fn check(&self, cuda: &Cuda<'_>, flags: &[u8], kept: u32);
}

struct Pair<T> {
    items: Vec<T>,
    input: Guarded<T>,
    out: Guarded<T>,
}

impl<T: Shared> Uploaded for Pair<T> {
    fn lend<'a>(&'a mut self, call: &mut dyn FnMut(Column<'_>)) {
        let input: CudaView<'_, T> = self.input.view();
        let mut out: CudaViewMut<'_, T> = self.out.view_mut();
        call(Column::new(input, &mut out).unwrap());
    }

    fn check(&self, cuda: &Cuda<'_>, flags: &[u8], kept: u32) {
        let guard = bytemuck::pod_read_unaligned::<T>(&vec![0x5a; size_of::<T>()]);
        let before = vec![guard; self.items.len()];
        check(
            &self.items,
            flags,
            &self.out.read(&cuda.gpu.stream),
            kept,
            &before,
        );
    }
}

/// A GPU with what is compiled for it.
pub(crate) struct Cuda<'a> {
    gpu: &'a Gpu,
    compiled: RefCell<HashMap<Vec<usize>, SelectColumns>>,
    /// Every view starts this many items into its buffer.
    start: usize,
}

impl<'a> Cuda<'a> {
    fn new(gpu: &'a Gpu) -> Self {
        Self {
            gpu,
            compiled: RefCell::default(),
            start: 0,
        }
    }

    /// Selects from the columns, which have so many bytes an item, and checks what comes.
    pub(crate) fn keeps(&self, bytes: &[usize], flags: &[u8], columns: &mut [&mut dyn Items]) {
        let stream = &self.gpu.stream;
        let mut compiled = self.compiled.borrow_mut();
        let select = compiled.entry(bytes.to_vec()).or_insert_with(|| {
            SelectColumns::new(&self.gpu.compiler, &self.gpu.context, bytes).unwrap()
        });
        let device_flags = Guarded::new(stream, self.start, flags);
        let mut selected = Guarded::<u32>::room(stream, 1, 1);
        let mut workspace = Workspace::with_capacity(stream, flags.len() as u32).unwrap();
        let mut uploaded: Vec<_> = columns.iter().map(|items| items.upload(self)).collect();
        lend_all(&mut uploaded, Vec::new(), &mut |columns| {
            select
                .columns(
                    stream,
                    &device_flags.view(),
                    Count::Given(flags.len() as u32),
                    columns,
                    &mut selected.view_mut(),
                    &mut workspace,
                )
                .unwrap();
        });
        let kept = selected.read(stream)[0];
        uploaded
            .iter()
            .for_each(|column| column.check(self, flags, kept));
    }
}

/// Borrows one column after the other, and then calls with all of them.
fn lend_all(
    rest: &mut [Box<dyn Uploaded>],
    lent: Vec<Column<'_>>,
    call: &mut dyn FnMut(&mut [Column<'_>]),
) {
    let mut lent = Some(lent);
    match rest.split_first_mut() {
        None => call(&mut lent.take().unwrap()),
        Some((first, rest)) => first.lend(&mut |column| {
            let mut columns: Vec<Column<'_>> = lent.take().unwrap();
            columns.push(column);
            lend_all(rest, columns, call);
        }),
    }
}

pub(crate) fn keeps_what_is_flagged(gpu: &Gpu) {
    super::keeps_what_is_flagged(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn random_cases(gpu: &Gpu) {
    let cuda = Cuda::new(gpu);
    for seed in 0..60 {
        let mut random = Random(seed);
        let magnitude = random.below(17);
        let len = random.below(2 << magnitude);
        let flags = Mask::Random(random.below(101)).flags(len, &mut random);
        super::keeps(&Backend::Cuda(&cuda), &flags);
    }
}

pub(crate) fn starts_anywhere(gpu: &Gpu) {
    let mut random = Random(4);
    let mut cuda = Cuda::new(gpu);
    for start in [1, 2, 3, 4, 7, 8, 11, 16] {
        cuda.start = start;
        for len in [1, 130, TILE + 1, 5 * TILE + 2] {
            super::keeps(
                &Backend::Cuda(&cuda),
                &Mask::Random(50).flags(len, &mut random),
            );
        }
    }
}

pub(crate) fn counts_on_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[16, 4]).unwrap();
    let capacity = 9 * TILE + 5;
    let flags = Mask::Random(50).flags(capacity, &mut Random(5));
    let device_flags = upload(stream, &flags).unwrap();
    let (fours, words) = (items::<Four>(capacity), items::<u32>(capacity));
    let (device_fours, device_words) = (
        upload(stream, &fours).unwrap(),
        upload(stream, &words).unwrap(),
    );
    let mut workspace = Workspace::with_capacity(stream, capacity as u32).unwrap();
    for count in [
        0,
        1,
        TILE,
        TILE + 1,
        capacity,
        capacity + 1,
        u32::MAX as usize,
    ] {
        let device_count = upload(stream, &[count as u32]).unwrap();
        let mut fours_out = zeroed::<Four>(stream, capacity).unwrap();
        let mut words_out = zeroed::<u32>(stream, capacity).unwrap();
        let mut selected = upload(stream, &[GUARD]).unwrap();
        select
            .columns(
                stream,
                &device_flags.as_view(),
                Count::Device(device_count.as_view()),
                &mut [
                    Column::new(device_fours.as_view(), &mut fours_out.as_view_mut()).unwrap(),
                    Column::new(device_words.as_view(), &mut words_out.as_view_mut()).unwrap(),
                ],
                &mut selected.as_view_mut(),
                &mut workspace,
            )
            .unwrap();
        let len = count.min(capacity);
        let kept = download(stream, &selected).unwrap()[0];
        let fours_out = download(stream, &fours_out).unwrap();
        let words_out = download(stream, &words_out).unwrap();
        check(
            &fours[..len],
            &flags[..len],
            &fours_out,
            kept,
            &vec![Four::default(); capacity],
        );
        check(
            &words[..len],
            &flags[..len],
            &words_out,
            kept,
            &vec![0; capacity],
        );
    }
}

/// All calls are on the stream before the first result is read. Half-way the epochs begin again.
pub(crate) fn over_and_over(gpu: &Gpu) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[4]).unwrap();
    let most = 30 * TILE;
    let mut random = Random(6);
    let flags = Mask::Random(30).flags(2 * most, &mut random);
    let device_flags = upload(stream, &flags).unwrap();
    let words = items::<u32>(2 * most);
    let device_words = upload(stream, &words).unwrap();
    let mut workspace = Workspace::with_capacity(stream, most as u32).unwrap();
    let mut queued = Vec::new();
    for call in 0..1000 {
        if call == 500 {
            workspace.age(stream, 3).unwrap();
        }
        let magnitude = random.below(12);
        let len = random.below((most >> magnitude) + 1);
        let start = random.below(most);
        let range = start..start + len;
        let mut out = zeroed::<u32>(stream, len).unwrap();
        let mut selected = zeroed::<u32>(stream, 1).unwrap();
        select
            .columns(
                stream,
                &device_flags.slice(range.clone()),
                Count::Given(len as u32),
                &mut [
                    Column::new(device_words.slice(range.clone()), &mut out.as_view_mut()).unwrap(),
                ],
                &mut selected.as_view_mut(),
                &mut workspace,
            )
            .unwrap();
        queued.push((range, out, selected));
    }
    for (range, out, selected) in queued {
        let kept = download(stream, &selected).unwrap()[0];
        let out = download(stream, &out).unwrap();
        check(
            &words[range.clone()],
            &flags[range],
            &out,
            kept,
            &vec![0; out.len()],
        );
    }
}

pub(crate) fn replays(gpu: &Gpu) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[16]).unwrap();
    let len = 40 * TILE + 11;
    let fours = items::<Four>(len);
    let input = upload(stream, &fours).unwrap();
    let mut flags = zeroed::<u8>(stream, len).unwrap();
    let mut out = zeroed::<Four>(stream, len).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len as u32).unwrap();
    stream
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    select
        .columns(
            stream,
            &flags.as_view(),
            Count::Given(len as u32),
            &mut [Column::new(input.as_view(), &mut out.as_view_mut()).unwrap()],
            &mut selected.as_view_mut(),
            &mut workspace,
        )
        .unwrap();
    let graph = stream
        .end_capture(CUgraphInstantiate_flags(0))
        .unwrap()
        .unwrap();
    let mut random = Random(7);
    for _ in 0..50 {
        let host_flags = Mask::Random(random.below(101)).flags(len, &mut random);
        stream.memcpy_htod(&host_flags, &mut flags).unwrap();
        stream.memset_zeros(&mut out).unwrap();
        graph.launch().unwrap();
        let kept = download(stream, &selected).unwrap()[0];
        let out = download(stream, &out).unwrap();
        check(&fours, &host_flags, &out, kept, &vec![Four::default(); len]);
    }
}

pub(crate) fn refuses_what_does_not_fit(gpu: &Gpu) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[4]).unwrap();
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let (words, pairs) = (
        zeroed::<u32>(stream, 8).unwrap(),
        zeroed::<u64>(stream, 8).unwrap(),
    );
    let (mut words_out, mut pairs_out) = (
        zeroed::<u32>(stream, 8).unwrap(),
        zeroed::<u64>(stream, 8).unwrap(),
    );
    let mut workspace = Workspace::with_capacity(stream, 8).unwrap();
    let mut call = |count: u32, columns: &mut [Column<'_>]| {
        let mut selected = zeroed::<u32>(stream, 1).unwrap();
        let (count, mut selected) = (Count::Given(count), selected.as_view_mut());
        select.columns(
            stream,
            &flags.as_view(),
            count,
            columns,
            &mut selected,
            &mut workspace,
        )
    };
    let error = call(8, &mut []).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 1,
                got: 0,
                ..
            }
        ),
        "{error}"
    );
    let error = call(
        8,
        &mut [Column::new(pairs.as_view(), &mut pairs_out.as_view_mut()).unwrap()],
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 4,
                got: 8,
                ..
            }
        ),
        "{error}"
    );
    let error = call(
        8,
        &mut [Column::new(words.slice(1..), &mut words_out.as_view_mut()).unwrap()],
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 8,
                got: 7,
                ..
            }
        ),
        "{error}"
    );
    let error = call(
        8,
        &mut [Column::new(words.as_view(), &mut words_out.slice_mut(1..)).unwrap()],
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 8,
                got: 7,
                ..
            }
        ),
        "{error}"
    );
    let error = call(
        9,
        &mut [Column::new(words.as_view(), &mut words_out.as_view_mut()).unwrap()],
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 9,
                got: 8,
                ..
            }
        ),
        "{error}"
    );
}
