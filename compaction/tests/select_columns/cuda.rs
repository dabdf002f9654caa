//! Tests of the selection of columns on a GPU.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use compaction::{
    Count, CountWord,
    cuda::{Compiler, download, upload, zeroed},
    cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut},
    layout::Shared,
    select_columns::{Column, SelectColumns, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    Backend, TILE, check,
    common::{Gpu, assert_error, is_short, lengths, times},
    devices::capture,
    guarded::Guarded,
    item_types::Words4,
    random::{Mask, items, seeded},
};

/// Value of words that a call must not write.
const GUARD: u32 = 0xdead_beef;

/// The items of a column, without their type.
pub(crate) trait Items {
    fn upload(&self, cuda: &Cuda<'_>) -> Box<dyn Uploaded>;
}

impl<T: Shared> Items for Vec<T> {
    fn upload(&self, cuda: &Cuda<'_>) -> Box<dyn Uploaded> {
        Box::new(ColumnPair {
            items: self.clone(),
            input: Guarded::new(&cuda.gpu.stream, cuda.start, self),
            out: Guarded::<T>::room(&cuda.gpu.stream, cuda.start, self.len()),
        })
    }
}

/// A column's items and output on the device.
pub(crate) trait Uploaded {
    fn lend<'a>(&'a mut self, call: &mut dyn FnMut(Column<'_>));
    fn check(&self, cuda: &Cuda<'_>, flags: &[u8], kept: usize);
}

/// A column of one type.
struct ColumnPair<T> {
    items: Vec<T>,
    input: Guarded<T>,
    out: Guarded<T>,
}

impl<T: Shared> Uploaded for ColumnPair<T> {
    fn lend<'a>(&'a mut self, call: &mut dyn FnMut(Column<'_>)) {
        let input: CudaView<'_, T> = self.input.view();
        let mut out: CudaViewMut<'_, T> = self.out.view_mut();
        call(Column::new(input, &mut out).unwrap());
    }

    fn check(&self, cuda: &Cuda<'_>, flags: &[u8], kept: usize) {
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

/// A GPU with its compiled kernels.
pub(crate) struct Cuda<'a> {
    gpu: &'a Gpu,
    compiled: RefCell<HashMap<Vec<usize>, SelectColumns>>,
    /// Number of items before every view in its buffer.
    start: usize,
    /// Whether counts have 64 bits, which selects another kernel.
    wide: bool,
}

impl<'a> Cuda<'a> {
    fn new(gpu: &'a Gpu) -> Self {
        Self {
            gpu,
            compiled: RefCell::default(),
            start: 0,
            wide: false,
        }
    }

    /// Selects from columns with these item sizes in bytes, and checks the result.
    pub(crate) fn assert_keeps_flagged(
        &self,
        bytes: &[usize],
        flags: &[u8],
        columns: &mut [&mut dyn Items],
    ) {
        match self.wide {
            false => self.assert_keeps_flagged_counted_by::<u32>(bytes, flags, columns),
            true => self.assert_keeps_flagged_counted_by::<u64>(bytes, flags, columns),
        }
    }

    fn assert_keeps_flagged_counted_by<W: CountWord>(
        &self,
        bytes: &[usize],
        flags: &[u8],
        columns: &mut [&mut dyn Items],
    ) {
        let stream = &self.gpu.stream;
        let mut compiled = self.compiled.borrow_mut();
        let select = compiled.entry(bytes.to_vec()).or_insert_with(|| {
            SelectColumns::new(&self.gpu.compiler, &self.gpu.context, bytes).unwrap()
        });
        let device_flags = Guarded::new(stream, self.start, flags);
        let mut selected = Guarded::<W>::room(stream, 1, 1);
        let mut workspace = Workspace::with_capacity(stream, flags.len()).unwrap();
        let mut uploaded: Vec<_> = columns.iter().map(|items| items.upload(self)).collect();
        lend_all(&mut uploaded, Vec::new(), &mut |columns| {
            select
                .columns(
                    stream,
                    device_flags.view(),
                    Count::Given(W::from_len(flags.len()).unwrap()),
                    columns,
                    selected.view_mut(),
                    &mut workspace,
                )
                .unwrap();
        });
        selected.read(stream);
        let kept = workspace.read(stream, selected.view()).unwrap();
        uploaded
            .iter()
            .for_each(|column| column.check(self, flags, kept));
    }
}

/// Borrows one column after the other, and then calls `call` with all of them.
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

pub(crate) fn keeps_flagged_items(gpu: &Gpu) {
    super::keeps_flagged_items(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn keeps_flagged_items_in_random_cases(gpu: &Gpu) {
    let mut cuda = Cuda::new(gpu);
    for seed in 0..times(100) as u64 {
        cuda.wide = seed % 4 == 3;
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..17);
        let len = lengths([random.random_range(0..2 << magnitude)])
            .pop()
            .unwrap_or(9);
        let flags = Mask::Random(random.random_range(0..101)).flags(len, &mut random);
        super::assert_keeps_flagged(&Backend::Cuda(&cuda), &flags);
    }
}

/// Tests 64-bit counts, which select other kernels than 32-bit ones.
pub(crate) fn counts_with_64_bits(gpu: &Gpu) {
    let mut random = seeded(11);
    let mut cuda = Cuda::new(gpu);
    cuda.wide = true;
    for len in lengths([0, 1, TILE - 1, TILE, TILE + 1, 140 * TILE + 5]) {
        for mask in [Mask::All, Mask::None, Mask::Random(30), Mask::Blocks] {
            super::assert_keeps_flagged(&Backend::Cuda(&cuda), &mask.flags(len, &mut random));
        }
    }
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(4);
    let mut cuda = Cuda::new(gpu);
    for start in [1, 2, 3, 4, 7, 8, 11, 12, 16, 33] {
        cuda.start = start;
        for len in [1, 130, TILE + 1, 5 * TILE + 2] {
            super::assert_keeps_flagged(
                &Backend::Cuda(&cuda),
                &Mask::Random(50).flags(len, &mut random),
            );
        }
    }
}

/// Checks that a device count larger than the buffer is clamped, and reported once.
pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let counts = [0, 1, TILE, TILE + 1, CAPACITY];
    let too_many = [CAPACITY + 1, u32::MAX as usize];
    counted_by::<u32>(gpu, counts.into_iter().chain(too_many));
    counted_by::<u64>(gpu, counts.into_iter().chain(too_many).chain([1 << 33]));
}

/// Number of items of the buffers in [`counted_by`].
const CAPACITY: usize = 9 * TILE + 5;

/// Selects with each of these counts in device memory.
fn counted_by<W: CountWord>(gpu: &Gpu, counts: impl Iterator<Item = usize>) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[16, 4]).unwrap();
    let flags = Mask::Random(50).flags(CAPACITY, &mut seeded(5));
    let device_flags = upload(stream, &flags).unwrap();
    let (fours, words) = (items::<Words4>(CAPACITY), items::<u32>(CAPACITY));
    let (device_fours, device_words) = (
        upload(stream, &fours).unwrap(),
        upload(stream, &words).unwrap(),
    );
    let mut workspace = Workspace::with_capacity(stream, CAPACITY).unwrap();
    for count in counts {
        let device_count = upload(stream, &[W::from_len(count).unwrap()]).unwrap();
        let mut fours_out = zeroed::<Words4>(stream, CAPACITY).unwrap();
        let mut words_out = zeroed::<u32>(stream, CAPACITY).unwrap();
        let mut selected = zeroed::<W>(stream, 1).unwrap();
        select
            .columns(
                stream,
                &device_flags,
                Count::Device(device_count.as_view()),
                &mut [
                    Column::new(device_fours.as_view(), &mut fours_out).unwrap(),
                    Column::new(device_words.as_view(), &mut words_out).unwrap(),
                ],
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        let len = count.min(CAPACITY);
        if count > len {
            assert_error(
                workspace.read(stream, &selected),
                &format!("says {count} items, but there were {CAPACITY}"),
            );
        }
        let kept = workspace.read(stream, &selected).unwrap();
        let fours_out = download(stream, &fours_out).unwrap();
        let words_out = download(stream, &words_out).unwrap();
        let (fours, words, flags) = (&fours[..len], &words[..len], &flags[..len]);
        check(
            fours,
            flags,
            &fours_out,
            kept,
            &vec![Words4::default(); CAPACITY],
        );
        check(words, flags, &words_out, kept, &vec![0; CAPACITY]);
    }
}

/// Enqueues calls long before their results are read. Half-way, the epochs start again.
fn check_many_calls(gpu: &Gpu, stream: &Arc<CudaStream>, calls: usize, seed: u64) {
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[4]).unwrap();
    let max_len = if is_short() { 4 } else { 30 } * TILE;
    let mut random = seeded(seed);
    let flags = Mask::Random(30).flags(2 * max_len, &mut random);
    let device_flags = upload(stream, &flags).unwrap();
    let words = items::<u32>(2 * max_len);
    let device_words = upload(stream, &words).unwrap();
    let mut workspace = Workspace::with_capacity(stream, max_len).unwrap();
    let mut queued = Vec::new();
    for call in 0..calls {
        if call == calls / 2 {
            workspace.age(stream, 3).unwrap();
        }
        let magnitude = random.random_range(0..12);
        let len = random.random_range(0..(max_len >> magnitude) + 1);
        let start = random.random_range(0..max_len);
        let range = start..start + len;
        let mut out = zeroed::<u32>(stream, len).unwrap();
        let mut selected = zeroed::<u32>(stream, 1).unwrap();
        select
            .columns(
                stream,
                device_flags.slice(range.clone()),
                Count::Given(len as u32),
                &mut [Column::new(device_words.slice(range.clone()), &mut out).unwrap()],
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        queued.push((range, out, selected));
    }
    for (range, out, selected) in queued {
        let kept = download(stream, &selected).unwrap()[0] as usize;
        let out = download(stream, &out).unwrap();
        let (words, flags) = (&words[range.clone()], &flags[range]);
        check(words, flags, &out, kept, &vec![0; out.len()]);
    }
}

pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    check_many_calls(gpu, &gpu.stream, times(10_000), 6);
}

pub(crate) fn runs_on_two_streams_at_once(gpu: &Gpu) {
    let streams = [gpu.stream.clone(), gpu.context.new_stream().unwrap()];
    std::thread::scope(|scope| {
        for (seed, stream) in (70..).zip(&streams) {
            scope.spawn(move || check_many_calls(gpu, stream, times(1000), seed));
        }
    });
}

/// Replays a graph of two calls, with counts of 32 and of 64 bits.
pub(crate) fn replays_a_captured_call(gpu: &Gpu) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[16]).unwrap();
    let len = lengths([40 * TILE + 11]).pop().unwrap_or(4 * TILE + 11);
    let fours = items::<Words4>(len);
    let input = upload(stream, &fours).unwrap();
    let mut flags = zeroed::<u8>(stream, len).unwrap();
    let (mut out, mut wide_out) = (
        zeroed::<Words4>(stream, len).unwrap(),
        zeroed::<Words4>(stream, len).unwrap(),
    );
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut wide_selected = zeroed::<u64>(stream, 1).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let graph = capture(stream, || {
        let (mut out, mut wide_out) = (out.as_view_mut(), wide_out.as_view_mut());
        let flags = flags.as_view();
        let column = Column::new(input.as_view(), &mut out).unwrap();
        let mut count = selected.as_view_mut();
        select
            .columns(
                stream,
                &flags,
                Count::All,
                &mut [column],
                &mut count,
                &mut workspace,
            )
            .unwrap();
        let column = Column::new(input.as_view(), &mut wide_out).unwrap();
        let mut count = wide_selected.as_view_mut();
        select
            .columns(
                stream,
                &flags,
                Count::All,
                &mut [column],
                &mut count,
                &mut workspace,
            )
            .unwrap();
    });
    let mut random = seeded(7);
    for _ in 0..times(50) {
        let host_flags = Mask::Random(random.random_range(0..101)).flags(len, &mut random);
        stream.memcpy_htod(&host_flags, &mut flags).unwrap();
        stream.memset_zeros(&mut out).unwrap();
        stream.memset_zeros(&mut wide_out).unwrap();
        graph.launch().unwrap();
        let kept = download(stream, &selected).unwrap()[0] as usize;
        let wide_kept = download(stream, &wide_selected).unwrap()[0] as usize;
        for (out, kept) in [(&out, kept), (&wide_out, wide_kept)] {
            let out = download(stream, out).unwrap();
            check(
                &fours,
                &host_flags,
                &out,
                kept,
                &vec![Words4::default(); len],
            );
        }
    }
}

/// Checks that invalid arguments are errors, and leave the output unchanged.
/// Checks that all outputs get as many items as the shortest one has room for, by counts of both widths.
pub(crate) fn fills_short_outputs(gpu: &Gpu) {
    fills_short_outputs_by::<u32>(gpu);
    fills_short_outputs_by::<u64>(gpu);
}

fn fills_short_outputs_by<W: CountWord>(gpu: &Gpu) {
    let (stream, len) = (&gpu.stream, 20_000);
    let flags = Mask::Random(50).flags(len, &mut seeded(9));
    let items: Vec<u32> = (0..len as u32).collect();
    let kept = cpu::specification(&[&items], &flags).pop().unwrap();
    let (flags, items) = (
        upload(stream, &flags).unwrap(),
        upload(stream, &items).unwrap(),
    );
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[4, 4]).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut selected = zeroed::<W>(stream, 1).unwrap();
    for (room, other) in [
        (0, 5),
        (1, 9),
        (100, 8000),
        (kept.len() - 1, len),
        (9000, 8999),
    ] {
        let mut outs = [room, other].map(|room| upload(stream, &vec![GUARD; room + 1]).unwrap());
        let [first, second] = &mut outs;
        // A view of each buffer without its last item, which no call may write.
        let mut columns = [
            Column::new(&items, first.slice_mut(..room)).unwrap(),
            Column::new(&items, second.slice_mut(..other)).unwrap(),
        ];
        let all = Count::All;
        select
            .columns(
                stream,
                &flags,
                all,
                &mut columns,
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        assert_eq!(workspace.read(stream, &selected).unwrap(), kept.len());
        let written = room.min(other).min(kept.len());
        for out in &outs {
            let out = download(stream, out).unwrap();
            assert_eq!(out[..written], kept[..written]);
            assert!(out[written..].iter().all(|&item| item == GUARD));
        }
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let select = SelectColumns::new(&gpu.compiler, &gpu.context, &[4]).unwrap();
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let (words, pairs) = (
        zeroed::<u32>(stream, 8).unwrap(),
        zeroed::<u64>(stream, 8).unwrap(),
    );
    let (mut words_out, mut pairs_out) = (
        upload(stream, &[GUARD; 8]).unwrap(),
        zeroed::<u64>(stream, 8).unwrap(),
    );
    let mut selected = upload(stream, &[GUARD]).unwrap();
    let mut workspaces = [8, 7].map(|items| Workspace::with_capacity(stream, items).unwrap());
    let [workspace, small] = &mut workspaces;
    let mut call = |count: u32, columns: &mut [Column<'_>], counts: usize, workspace: &mut _| {
        let mut selected = selected.slice_mut(..counts);
        select.columns(
            stream,
            &flags,
            Count::Given(count),
            columns,
            &mut selected,
            workspace,
        )
    };
    assert_error(
        call(8, &mut [], 1, workspace),
        "the columns of select_columns: 0 instead of 1",
    );
    assert_error(
        call(
            8,
            &mut [Column::new(pairs.as_view(), &mut pairs_out).unwrap()],
            1,
            workspace,
        ),
        "the bytes of a column's item: 8 instead of 4",
    );
    assert_error(
        call(
            8,
            &mut [Column::new(words.slice(1..), &mut words_out).unwrap()],
            1,
            workspace,
        ),
        "a column of select_columns: 7 instead of 8",
    );
    let mut whole = words_out.as_view_mut();
    let mut whole = [Column::new(words.as_view(), &mut whole).unwrap()];
    assert_error(
        call(9, &mut whole, 1, workspace),
        "the count given to select_columns: 9, where 0 to 8 are possible",
    );
    assert_error(
        call(8, &mut whole, 0, workspace),
        "the words of the count that select_columns writes: room for 0 items where up to 1 may be written; make it longer",
    );
    assert_error(
        call(8, &mut whole, 1, small),
        "the items of select_columns: a workspace for 7 is used for 8",
    );
    assert_eq!(download(stream, &words_out).unwrap(), [GUARD; 8]);
    assert_eq!(download(stream, &selected).unwrap(), [GUARD]);
}

pub(crate) fn refuses_another_device([here, there]: &[Arc<CudaContext>; 2]) {
    let streams = [here.new_stream().unwrap(), there.new_stream().unwrap()];
    let stream = &streams[0];
    let select = SelectColumns::new(&Compiler::new(), here, &[4]).unwrap();
    let mut elsewhere = Workspace::with_capacity(&streams[1], 8).unwrap();
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let words = upload(stream, &[7_u32; 8]).unwrap();
    let mut out = upload(stream, &[GUARD; 8]).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    assert_error(
        select.columns(
            stream,
            &flags,
            Count::All,
            &mut [Column::new(words.as_view(), &mut out).unwrap()],
            &mut selected,
            &mut elsewhere,
        ),
        "in another CUDA context than the stream of the call",
    );
    assert_eq!(download(stream, &out).unwrap(), [GUARD; 8]);
}
