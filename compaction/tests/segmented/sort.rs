//! Tests of `segmented_sort`.

use std::sync::Arc;

use compaction::{
    Count, CountWord,
    cuda::{Nvrtc, download, upload, zeroed},
    segmented_sort::{Key, Order, SegmentedSort, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    Case, cases,
    common::{Gpu, Share, assert_error, is_short},
    devices::capture,
    guarded::Guarded,
    random::{Random, seeded},
    spills,
};

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

/// Returns random keys of which many are equal. Floats have both zeros and NaNs of both signs.
fn draw<K: Key>(len: usize, random: &mut Random) -> Vec<K> {
    let mut key = || {
        let bits = match random.random_range(0..8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (8 * size_of::<K>() - 1),
            _ => random.random::<u64>() & 0xc0c3_ffff_c0c3_8003,
        };
        bytemuck::pod_read_unaligned::<K>(&bits.to_le_bytes()[..size_of::<K>()])
    };
    (0..len).map(|_| key()).collect()
}

fn number<K: Key>(order: Order, key: K) -> u64 {
    match order {
        Order::Ascending => key.ordered(),
        Order::Descending => !key.ordered(),
    }
}

#[track_caller]
fn assert_same<K: Key>(got: &[K], expected: &[K], case: &str) {
    let wrong = (got.iter().zip(expected))
        .position(|(got, expected)| bytemuck::bytes_of(got) != bytemuck::bytes_of(expected));
    assert!(
        wrong.is_none() && got.len() == expected.len(),
        "{case}: item {wrong:?} is wrong"
    );
}

pub(crate) fn sorts_each_segment_on_the_cpu() {
    let mut random = seeded(31);
    for case in cases(&mut random) {
        let offsets = case.offsets(4);
        let len = *offsets.last().unwrap() as usize + 3;
        let keys = draw::<f32>(len, &mut random);
        let values: Vec<usize> = (0..len).collect();
        for order in ORDERS {
            let (mut expected, mut indices) = (keys.clone(), values.clone());
            for ends in offsets.windows(2) {
                let segment = ends[0] as usize..ends[1] as usize;
                indices[segment].sort_by_key(|&index| number(order, keys[index]));
            }
            for (key, &index) in expected.iter_mut().zip(&indices) {
                *key = keys[index];
            }
            let (mut out, mut values_out) = (keys.clone(), values.clone());
            cpu::keys_by_offsets(order, &keys, &offsets, &mut out).unwrap();
            assert_same(&out, &expected, case.name);
            let mut out = keys.clone();
            cpu::pairs_by_offsets(order, &keys, &values, &offsets, &mut out, &mut values_out)
                .unwrap();
            assert_same(&out, &expected, case.name);
            assert_eq!(values_out, indices, "{}", case.name);
        }
    }
}

pub(crate) fn offsets_beyond_the_items_count_as_their_end_on_the_cpu() {
    let mut out = [0; 4];
    cpu::keys_by_offsets(Order::Ascending, &[4, 3, 2, 1], &[1_u32, 9, 9], &mut out).unwrap();
    assert_eq!(out, [0, 1, 2, 3]);
}

pub(crate) fn refuses_invalid_arguments_on_the_cpu() {
    let (keys, mut out) = ([1_u32; 6], [7; 5]);
    assert_error(
        cpu::keys_by_offsets(Order::Ascending, &keys, &[0_u32, 4, 3], &mut out),
        "an offset of segmented_sort: 3, where 4 to 6 are possible",
    );
    assert_error(
        cpu::keys_of_length(Order::Ascending, &keys, 2, &mut out),
        "the output of segmented_sort: room for 5 items where up to 6 may be written; make it longer",
    );
    assert_error(
        cpu::keys_of_length(Order::Ascending, &keys, 0, &mut out),
        "the segment length of segmented_sort: 0",
    );
    assert_eq!(out, [7; 5]);
}

pub(crate) fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        SegmentedSort::<u32>::sources(Order::Ascending),
        SegmentedSort::<f64, u64>::sources(Order::Descending),
        SegmentedSort::<f32>::sources_pairs::<u32>(Order::Descending),
        SegmentedSort::<i64>::sources_pairs::<u64>(Order::Ascending),
        SegmentedSort::<u8>::sources_pairs::<u32>(Order::Ascending),
    ]
    .concat();
    // The networks of a warp hold eight entries of up to 16 bytes and as many of another lane.
    spills::compile_with_spills_up_to(64, &[75, 80, 90, 120], nvrtc, share, &sources);
}

/// Sorts keys alone, and with their indices as values of type `V`.
fn equals<K: Key, V: CountWord, W: CountWord>(
    gpu: &Gpu,
    case: &Case,
    order: Order,
    start: usize,
    random: &mut Random,
) {
    let stream = &gpu.stream;
    let offsets: Vec<W> = (case.offsets(5).into_iter())
        .map(|offset| W::of_len(offset as usize))
        .collect();
    let len = offsets.last().unwrap().to_len() + 3;
    let (keys, values) = (
        draw::<K>(len, random),
        (0..len).map(V::of_len).collect::<Vec<_>>(),
    );
    let untouched = draw::<K>(len, random);
    let (mut expected, mut expected_values) = (untouched.clone(), values.clone());
    cpu::pairs_by_offsets(
        order,
        &keys,
        &values,
        &offsets,
        &mut expected,
        &mut expected_values,
    )
    .unwrap();
    let sort = SegmentedSort::<K, W>::new(&gpu.compiler, &gpu.context, order).unwrap();
    let mut workspace = Workspace::<K, V>::with_capacity(stream, len).unwrap();
    let name = format!("{} of {}, {order:?}", case.name, K::NAME);
    let (device_keys, device_values, device_offsets) = (
        Guarded::new(stream, start, &keys),
        Guarded::new(stream, start, &values),
        Guarded::new(stream, start, &offsets),
    );
    let (keys, offsets) = (device_keys.view(), device_offsets.view());
    for count in [Count::All, Count::Given(W::of_len(offsets.len() - 1))] {
        let mut out = Guarded::new(stream, start, &untouched);
        sort.keys_by_offsets(
            stream,
            &keys,
            &offsets,
            count,
            out.view_mut(),
            &mut workspace,
        )
        .unwrap();
        assert_same(&out.read(stream), &expected, &name);
    }
    let mut out = Guarded::new(stream, start, &untouched);
    let mut values_out = Guarded::new(stream, start, &values);
    sort.pairs_by_offsets(
        stream,
        &keys,
        device_values.view(),
        &offsets,
        Count::All,
        out.view_mut(),
        values_out.view_mut(),
        &mut workspace,
    )
    .unwrap();
    assert_same(&out.read(stream), &expected, &name);
    assert!(values_out.read(stream) == expected_values, "values, {name}");
    workspace.check(stream).unwrap();
}

pub(crate) fn equals_the_cpu(gpu: &Gpu) {
    let mut random = seeded(32);
    for (index, case) in cases(&mut random).iter().enumerate() {
        let order = ORDERS[index % 2];
        equals::<f32, u32, u32>(gpu, case, order, 0, &mut random);
        // The comparison with the CPU takes seconds for each type of a long case.
        if is_short() || case.lengths.iter().sum::<usize>() > 1_000_000 {
            continue;
        }
        equals::<u32, u32, u32>(gpu, case, order, 0, &mut random);
        equals::<i32, u64, u32>(gpu, case, order, 0, &mut random);
        equals::<u64, u32, u32>(gpu, case, order, 0, &mut random);
        equals::<i16, u64, u32>(gpu, case, order, 0, &mut random);
    }
}

/// Types of other sizes, in fewer cases.
pub(crate) fn sorts_keys_of_each_size(gpu: &Gpu) {
    let mut random = seeded(33);
    for case in cases(&mut random).iter().skip(5) {
        equals::<u8, u32, u32>(gpu, case, Order::Ascending, 0, &mut random);
        equals::<f64, u64, u64>(gpu, case, Order::Descending, 0, &mut random);
    }
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(34);
    for (start, case) in cases(&mut random).iter().enumerate().skip(4) {
        equals::<i32, u32, u32>(gpu, case, Order::Ascending, start, &mut random);
    }
}

pub(crate) fn sorts_equal_lengths(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(35);
    let len = if is_short() { 9_000 } else { 400_000 };
    let host = draw::<u32>(len, &mut random);
    let indices: Vec<u32> = (0..len as u32).collect();
    let (keys, values) = (
        upload(stream, &host).unwrap(),
        upload(stream, &indices).unwrap(),
    );
    let order = Order::Descending;
    let sort = SegmentedSort::<u32>::new(&gpu.compiler, &gpu.context, order).unwrap();
    let mut workspace = Workspace::<u32, u32>::with_capacity(stream, len).unwrap();
    for length in [
        1,
        2,
        8,
        9,
        63,
        64,
        65,
        128,
        129,
        256,
        257,
        1000,
        3841,
        len,
        len + 1,
    ] {
        let (mut out, mut values_out) = (
            Guarded::new(stream, 1, &host),
            Guarded::new(stream, 3, &indices),
        );
        sort.pairs_of_length(
            stream,
            &keys,
            &values,
            Count::All,
            length,
            out.view_mut(),
            values_out.view_mut(),
            &mut workspace,
        )
        .unwrap();
        let (mut expected, mut expected_values) = (host.clone(), indices.clone());
        cpu::pairs_of_length(
            order,
            &host,
            &indices,
            length,
            &mut expected,
            &mut expected_values,
        )
        .unwrap();
        let tail = len / length * length;
        let case = format!("of {length}");
        assert_same(&out.read(stream)[..tail], &expected[..tail], &case);
        assert_same(
            &values_out.read(stream)[..tail],
            &expected_values[..tail],
            &case,
        );
        let mut out = zeroed::<u32>(stream, len).unwrap();
        sort.keys_of_length(stream, &keys, Count::All, length, &mut out, &mut workspace)
            .unwrap();
        assert_same(
            &download(stream, &out).unwrap()[..tail],
            &expected[..tail],
            &case,
        );
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let lengths: Vec<usize> = (0..100).map(|segment| segment % 70 * 8).collect();
    let offsets = Case {
        name: "counted",
        lengths,
    }
    .offsets(0);
    let host = draw::<u32>(*offsets.last().unwrap() as usize, &mut seeded(36));
    let (keys, device_offsets) = (
        upload(stream, &host).unwrap(),
        upload(stream, &offsets).unwrap(),
    );
    let sort = SegmentedSort::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending).unwrap();
    let mut workspace = Workspace::<u32>::with_capacity(stream, host.len()).unwrap();
    for count in [0, 1, 33, 100, 101, u32::MAX] {
        let device_count = upload(stream, &[count]).unwrap();
        let mut out = upload(stream, &host).unwrap();
        let counted = Count::on_device(&device_count);
        sort.keys_by_offsets(
            stream,
            &keys,
            &device_offsets,
            counted,
            &mut out,
            &mut workspace,
        )
        .unwrap();
        let mut expected = host.clone();
        let taken = &offsets[..=100.min(count as usize)];
        cpu::keys_by_offsets(Order::Ascending, &host, taken, &mut expected).unwrap();
        assert_same(&download(stream, &out).unwrap(), &expected, "counted");
        assert_eq!(workspace.check(stream).is_err(), count > 100, "{count}");
    }
}

/// Checks that arbitrary offsets access no other memory.
pub(crate) fn clamps_invalid_offsets(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(37);
    let host = draw::<u32>(10_000, &mut random);
    let keys = upload(stream, &host).unwrap();
    let sort = SegmentedSort::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending).unwrap();
    for _ in 0..if is_short() { 2 } else { 30 } {
        let offsets: Vec<u32> = (0..300).map(|_| random.random_range(0..20_000)).collect();
        let offsets = upload(stream, &offsets).unwrap();
        let mut out = Guarded::<u32>::room(stream, 3, 10_000);
        let mut workspace = Workspace::<u32>::with_capacity(stream, host.len()).unwrap();
        sort.keys_by_offsets(
            stream,
            &keys,
            &offsets,
            Count::All,
            out.view_mut(),
            &mut workspace,
        )
        .unwrap();
        out.read(stream);
    }
}

pub(crate) fn replays_a_captured_call(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(38);
    let case = Case {
        name: "replayed",
        lengths: vec![3, 0, 70, 9000, 1, 64, 300],
    };
    let offsets = case.offsets(0);
    let len = *offsets.last().unwrap() as usize;
    let mut keys = zeroed::<f32>(stream, len).unwrap();
    let device_offsets = upload(stream, &offsets).unwrap();
    let mut out = zeroed::<f32>(stream, len).unwrap();
    let sort = SegmentedSort::<f32>::new(&gpu.compiler, &gpu.context, Order::Ascending).unwrap();
    let mut workspace = Workspace::<f32>::with_capacity(stream, len).unwrap();
    let graph = capture(stream, || {
        sort.keys_by_offsets(
            stream,
            &keys,
            &device_offsets,
            Count::All,
            &mut out,
            &mut workspace,
        )
        .unwrap();
    });
    for _ in 0..3 {
        let host = draw::<f32>(len, &mut random);
        stream.memcpy_htod(&host, &mut keys).unwrap();
        graph.launch().unwrap();
        let mut expected = host.clone();
        cpu::keys_by_offsets(Order::Ascending, &host, &offsets, &mut expected).unwrap();
        assert_same(&download(stream, &out).unwrap(), &expected, case.name);
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let sort = SegmentedSort::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending).unwrap();
    let keys = upload(stream, &[1_u32; 6]).unwrap();
    let offsets = upload(stream, &[0_u32, 2, 6]).unwrap();
    let mut out = upload(stream, &[7_u32; 6]).unwrap();
    let mut workspace = Workspace::<u32, u32>::with_capacity(stream, 6).unwrap();
    let mut small = Workspace::<u32, u32>::with_capacity(stream, 5).unwrap();
    let mut call = |count: Count<'_>, room: usize, workspace: &mut Workspace<u32, u32>| {
        sort.keys_by_offsets(
            stream,
            &keys,
            &offsets,
            count,
            out.slice_mut(..room),
            workspace,
        )
    };
    assert_error(
        call(Count::Given(3), 6, &mut workspace),
        "the count given to segmented_sort: 3, where 0 to 2 are possible",
    );
    assert_error(
        call(Count::All, 5, &mut workspace),
        "the output of segmented_sort: room for 5 items where up to 6 may be written; make it longer",
    );
    assert_error(
        call(Count::All, 6, &mut small),
        "the keys of segmented_sort: a workspace for 5 is used for 6",
    );
    let mut values_out = upload(stream, &[7_u32; 6]).unwrap();
    assert_error(
        sort.pairs_of_length(
            stream,
            &keys,
            keys.slice(1..),
            Count::All,
            2,
            &mut out,
            &mut values_out,
            &mut workspace,
        ),
        "the values of segmented_sort: 5 instead of 6",
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 6]);
}
