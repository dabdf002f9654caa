//! Tests of `segmented_reduce` by operators in CUDA C++.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{Nvrtc, Source, upload},
    custom::CustomOperator,
    layout::Shared,
    segmented_reduce::{SegmentedReduce, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    Case, cases,
    common::{Gpu, Share, assert_error, is_short},
    functions::{Affine, Function, Rounded},
    guarded::Guarded,
    random::{Random, seeded},
    reduce::{counts_on_the_device, on_the_gpu},
    spills,
};

compaction::shared! {
    /// A matrix modulo 2³², of the largest size that items may have.
    pub(crate) struct Matrix {
        rows: [[u32; 4]; 4],
    }

    /// A run of symbols: the first and the last one, and how often neighbors differ.
    pub(crate) struct Run {
        first: u16,
        last: u16,
        changes: u32,
    }
}

impl Function for Matrix {
    const IDENTITY: Self = Self {
        rows: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    };

    fn operator() -> CustomOperator<Self> {
        let text = "struct Matrix { u32 rows[4][4]; };
            Matrix combine(const Matrix &left, const Matrix &right)
            {
                Matrix product = {};
                for (int row = 0; row < 4; row++)
                    for (int column = 0; column < 4; column++)
                        for (int at = 0; at < 4; at++)
                            product.rows[row][column] += left.rows[row][at] * right.rows[at][column];
                return product;
            }";
        CustomOperator::new("matrix.cuh", text, Self::IDENTITY)
    }
    fn then(self, right: Self) -> Self {
        let mut product = Self { rows: [[0; 4]; 4] };
        for (row, out) in product.rows.iter_mut().enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                for (at, &left) in self.rows[row].iter().enumerate() {
                    *out = out.wrapping_add(left.wrapping_mul(right.rows[at][column]));
                }
            }
        }
        product
    }
    fn random(len: usize) -> Vec<Self> {
        let mut random = seeded(len as u64);
        (0..len)
            .map(|_| Self {
                rows: random.random(),
            })
            .collect()
    }
}

/// The number of changes is `NONE` for a run without symbols.
const NONE: u32 = u32::MAX;

impl Run {
    const IDENTITY: Self = Self {
        first: 0,
        last: 0,
        changes: NONE,
    };

    /// Returns the operator over items of one byte.
    fn operator() -> CustomOperator<Self> {
        let text = "struct Run { u16 first, last; u32 changes; };
            Run lift(u8 symbol) { return {symbol, symbol, 0}; }
            Run combine(Run left, Run right)
            {
                if (left.changes == 0xffffffff) return right;
                if (right.changes == 0xffffffff) return left;
                return {left.first, right.last, left.changes + right.changes + (left.last != right.first)};
            }";
        CustomOperator::new("run.cuh", text, Self::IDENTITY)
    }
    fn lift(symbol: u8) -> Self {
        Self {
            first: symbol.into(),
            last: symbol.into(),
            changes: 0,
        }
    }
    fn combine(self, right: Self) -> Self {
        match (self.changes, right.changes) {
            (NONE, _) => right,
            (_, NONE) => self,
            (left, changes) => Self {
                first: self.first,
                last: right.last,
                changes: left + changes + u32::from(self.last != right.first),
            },
        }
    }
    /// Returns the run of a whole segment without the operator.
    fn of_segment(symbols: &[u8]) -> Self {
        let (Some(&first), Some(&last)) = (symbols.first(), symbols.last()) else {
            return Self::IDENTITY;
        };
        let changes = symbols.windows(2).filter(|pair| pair[0] != pair[1]);
        Self {
            first: first.into(),
            last: last.into(),
            changes: changes.count() as u32,
        }
    }
    fn symbols(len: usize, random: &mut Random) -> Vec<u8> {
        (0..len).map(|_| random.random_range(0..3)).collect()
    }
}

fn bytes<T: Shared>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

fn on_the_cpu<V: Function>(items: &[V], offsets: &[u32]) -> Vec<V> {
    let mut out = vec![V::zeroed(); offsets.len().saturating_sub(1)];
    cpu::by_offsets_with(V::IDENTITY, |item| item, V::then, items, offsets, &mut out).unwrap();
    out
}

/// Combines in the documented order, written independently of it.
fn documented<V: Function>(items: &[V]) -> V {
    let mut values = items.to_vec();
    while values.len() > 1 {
        let pair = |pair: &[V]| pair.iter().copied().reduce(V::then);
        values = values.chunks(2).filter_map(pair).collect();
    }
    values.first().copied().unwrap_or(V::IDENTITY)
}

pub(crate) fn combines_in_the_documented_order() {
    let mut random = seeded(1);
    for case in cases(&mut random) {
        let offsets = case.offsets(3);
        let items = Rounded::random(*offsets.last().unwrap() as usize + 9);
        let expected: Vec<Rounded> = offsets
            .windows(2)
            .map(|ends| documented(&items[ends[0] as usize..ends[1] as usize]))
            .collect();
        let got = on_the_cpu(&items, &offsets);
        assert!(bytes(&got) == bytes(&expected), "{}", case.name);
    }
}

pub(crate) fn equals_naive_loops() {
    let mut random = seeded(2);
    for case in cases(&mut random) {
        let offsets = case.offsets(0);
        let symbols = Run::symbols(*offsets.last().unwrap() as usize, &mut random);
        let mut runs = vec![Run::default(); offsets.len() - 1];
        let identity = Run::IDENTITY;
        cpu::by_offsets_with(
            identity,
            Run::lift,
            Run::combine,
            &symbols,
            &offsets,
            &mut runs,
        )
        .unwrap();
        for (ends, run) in offsets.windows(2).zip(runs) {
            let segment = &symbols[ends[0] as usize..ends[1] as usize];
            assert_eq!(run, Run::of_segment(segment), "{}: {ends:?}", case.name);
        }
    }
    let mut runs = [Run::default(); 2];
    cpu::of_length_with(
        Run::IDENTITY,
        Run::lift,
        Run::combine,
        b"aabcccd",
        3,
        &mut runs,
    )
    .unwrap();
    assert_eq!(runs.map(|run| run.changes), [1, 0]);
}

pub(crate) fn refuses_invalid_arguments_on_the_cpu() {
    let add = |left: u32, right| left + right;
    let (items, mut out) = ([1_u32; 6], [7; 1]);
    let mut by_offsets =
        |offsets: &[u32]| cpu::by_offsets_with(0, |item| item, add, &items, offsets, &mut out);
    assert_error(
        by_offsets(&[3, 2]),
        "an offset of segmented_reduce: 2, where 3 to 6 are possible",
    );
    assert_error(
        by_offsets(&[0, 1, 2]),
        "the output of segmented_reduce: room for 1 items where up to 2 may be written; make it longer",
    );
    assert_error(
        cpu::of_length_with(0, |item| item, add, &items, 0, &mut out),
        "the segment length of segmented_reduce: 0, where 1 to",
    );
    assert_eq!(out, [7]);
}

fn sources() -> Vec<Source> {
    [
        SegmentedReduce::<Affine>::sources_with_operator(&Affine::operator()),
        SegmentedReduce::<Rounded>::sources_with_operator(&Rounded::operator()),
        SegmentedReduce::<u8, u64, Run>::sources_with_operator(&Run::operator()),
        SegmentedReduce::<Matrix>::sources_with_operator(&Matrix::operator()),
    ]
    .map(Result::unwrap)
    .concat()
}

pub(crate) fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources());
}

/// Compares segments of all cases with those on the CPU, to the bit.
fn agrees<V: Function>(gpu: &Gpu, max_items: usize) {
    let operator = V::operator();
    let reduce =
        SegmentedReduce::<V>::with_operator(&gpu.compiler, &gpu.context, &operator).unwrap();
    let mut random = seeded(3);
    for (start, case) in cases(&mut random).iter().enumerate() {
        let offsets = case.offsets(5);
        let len = *offsets.last().unwrap() as usize;
        if len > max_items {
            continue;
        }
        let items = V::random(len + 7);
        let got = on_the_gpu(gpu, &reduce, &items, &offsets, start % 4);
        let expected = on_the_cpu(&items, &offsets);
        assert!(bytes(&got) == bytes(&expected), "{}", case.name);
    }
}

pub(crate) fn agrees_with_the_cpu(gpu: &Gpu) {
    agrees::<Affine>(gpu, usize::MAX);
    agrees::<Rounded>(gpu, usize::MAX);
    agrees::<Matrix>(gpu, if is_short() { 30_000 } else { 1 << 20 });
}

pub(crate) fn converts_items(gpu: &Gpu) {
    let operator = Run::operator();
    let reduce =
        SegmentedReduce::<u8, u64, Run>::with_operator(&gpu.compiler, &gpu.context, &operator)
            .unwrap();
    let mut random = seeded(4);
    // So long that the results of chunks have chunks, and those too.
    let levels = Case {
        name: "three levels",
        lengths: vec![5, (1 << 20) + 1025, 3],
    };
    for case in cases(&mut random).into_iter().chain([levels]) {
        let offsets = case.offsets(2);
        let symbols = Run::symbols(*offsets.last().unwrap() as usize, &mut random);
        let runs = on_the_gpu(gpu, &reduce, &symbols, &offsets, 1);
        for (ends, run) in offsets.windows(2).zip(runs) {
            let segment = &symbols[ends[0] as usize..ends[1] as usize];
            assert_eq!(run, Run::of_segment(segment), "{}: {ends:?}", case.name);
        }
    }
}

pub(crate) fn reduces_equal_lengths(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = if is_short() { 5_000 } else { 3_000_000 };
    let host = Rounded::random(len);
    let items = upload(stream, &host).unwrap();
    let operator = Rounded::operator();
    let reduce =
        SegmentedReduce::<Rounded>::with_operator(&gpu.compiler, &gpu.context, &operator).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    for length in [
        1,
        2,
        7,
        9,
        64,
        65,
        255,
        1024,
        1025,
        4099,
        len / 2,
        len,
        len + 1,
    ] {
        let segments = len / length;
        let mut out = Guarded::<Rounded>::room(stream, 1, segments);
        let room = out.view_mut();
        reduce
            .of_length(stream, &items, Count::All, length, room, &mut workspace)
            .unwrap();
        let mut expected = vec![Rounded::default(); segments];
        let identity = Rounded::IDENTITY;
        cpu::of_length_with(
            identity,
            |item| item,
            Rounded::then,
            &host,
            length,
            &mut expected,
        )
        .unwrap();
        assert!(bytes(&out.read(stream)) == bytes(&expected), "of {length}");
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let offsets: Vec<u32> = (0..301).map(|segment| segment * 37).collect();
    let host = Affine::random(300 * 37);
    let expected = on_the_cpu(&host, &offsets);
    let operator = Affine::operator();
    let reduce = SegmentedReduce::with_operator(&gpu.compiler, &gpu.context, &operator).unwrap();
    counts_on_the_device(gpu, &reduce, &host, &offsets, &expected);
}

pub(crate) fn names_what_is_missing(gpu: &Gpu) {
    let new = |text: &str| {
        let operator = CustomOperator::new("mine.cuh", text, 0_u32);
        SegmentedReduce::<u8, u32, u32>::with_operator(&gpu.compiler, &gpu.context, &operator)
    };
    assert_error(
        new("u32 add(u32 a, u32 b);"),
        "mine.cuh defines no u32 combine(u32, u32)",
    );
    assert_error(
        new("u32 combine(u32 a, u32 b) { return a + b; }"),
        "mine.cuh defines no u32 lift(u8)",
    );
    assert_error(
        new("u32 lift(u16 item) { return item; } u32 combine(u32 a, u32 b) { return a + b; }"),
        "mine.cuh defines no u32 lift(u8)",
    );
}
