//! Tests of `top_k` against the beginning of a stable sort.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{Nvrtc, download, upload, zeroed},
    top_k::{Key, Order, TopK, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    common::{Gpu, Share, Tests, add_tests, assert_error, is_short, lengths, times},
    devices::capture,
    guarded::Guarded,
    random::{Random, seeded},
};

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "" self { the_cpu_finds_the_first_keys, the_cpu_refuses_invalid_arguments }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" self {
            finds_the_first_keys, finds_equal_keys_in_order, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, reuses_a_workspace, replays_a_captured_call,
            refuses_invalid_arguments,
        }
    )
    .run()
}

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];
/// Keys of a tile.
const TILE: usize = 8192;
const LENGTHS: [usize; 8] = [
    0,
    1,
    100,
    TILE - 1,
    TILE,
    TILE + 1,
    3 * TILE + 5,
    (1 << 21) + 3,
];

/// Returns random keys of which some are equal. Floats have both zeros and NaNs of both signs.
fn draw<K: Key>(len: usize, random: &mut Random) -> Vec<K> {
    let mut key = || {
        let bits = match random.random_range(0..16) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (8 * size_of::<K>() - 1),
            _ => random.random::<u64>(),
        };
        bytemuck::pod_read_unaligned::<K>(&bits.to_le_bytes()[..size_of::<K>()])
    };
    (0..len).map(|_| key()).collect()
}

/// Returns the first k keys of a stable sort as (key, index).
fn expected<K: Key>(order: Order, keys: &[K], k: usize) -> (Vec<K>, Vec<u32>) {
    let mut indices: Vec<u32> = (0..keys.len() as u32).collect();
    indices.sort_by_key(|&index| match order {
        Order::Ascending => keys[index as usize].ordered(),
        Order::Descending => !keys[index as usize].ordered(),
    });
    indices.truncate(k);
    (
        indices.iter().map(|&index| keys[index as usize]).collect(),
        indices,
    )
}

#[track_caller]
fn assert_same<K: Key>(got: (&[K], &[u32]), expected: &(Vec<K>, Vec<u32>), case: &str) {
    let wrong = (got.1.iter().zip(&expected.1)).position(|(got, expected)| got != expected);
    assert!(wrong.is_none(), "{case}: index {wrong:?} is wrong");
    let bytes = |keys: &[K]| bytemuck::cast_slice::<K, u8>(keys).to_vec();
    assert!(bytes(got.0) == bytes(&expected.0), "{case}: a key is wrong");
}

fn the_cpu_finds_the_first_keys() {
    let mut random = seeded(1);
    for len in [0, 1, 1000, 200_000] {
        for (order, k) in ORDERS
            .into_iter()
            .flat_map(|order| [0, 1, 70, len].map(|k| (order, k)))
        {
            let keys = draw::<f32>(len, &mut random);
            let found = k.min(len);
            let (mut out, mut indices) = (vec![0.0; found], vec![0_u32; found]);
            assert_eq!(
                cpu::keys_and_indices(order, &keys, k, &mut out, &mut indices).unwrap(),
                found
            );
            assert_same((&out, &indices), &expected(order, &keys, k), "cpu");
        }
    }
}

fn the_cpu_refuses_invalid_arguments() {
    assert_error(
        cpu::keys_and_indices(
            Order::Ascending,
            &[1, 2, 3],
            2,
            &mut [0; 2],
            &mut [0_u32; 1],
        ),
        "the output of top_k: room for 1 items where up to 2 may be written; make it longer",
    );
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    // The kernels of the radix sort have a test of their own.
    let sources = [
        TopK::<f32>::sources(Order::Descending).remove(0),
        TopK::<u64>::sources(Order::Ascending).remove(0),
        TopK::<u8>::sources(Order::Ascending).remove(0),
    ];
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources);
}

fn finds<K: Key>(gpu: &Gpu, order: Order, keys: &[K], k: usize, start: usize) {
    let stream = &gpu.stream;
    let top = TopK::<K>::new(&gpu.compiler, &gpu.context, order).unwrap();
    let mut workspace = Workspace::with_capacity(stream, keys.len(), k + 1).unwrap();
    let input = Guarded::new(stream, start, keys);
    let found = k.min(keys.len());
    let mut out = Guarded::<K>::room(stream, start, found);
    let mut indices = Guarded::<u32>::room(stream, start, found);
    let (out_view, indices_view) = (out.view_mut(), indices.view_mut());
    top.keys_and_indices(
        stream,
        input.view(),
        Count::All,
        k,
        out_view,
        indices_view,
        &mut workspace,
    )
    .unwrap();
    let case = format!("{k} of {} {}, {order:?}", keys.len(), K::NAME);
    let got = (out.read(stream), indices.read(stream));
    assert_same((&got.0, &got.1), &expected(order, keys, k), &case);
}

fn finds_the_first_keys(gpu: &Gpu) {
    let mut random = seeded(2);
    for len in lengths(LENGTHS) {
        for k in [0, 1, 100, len / 2, len] {
            let order = ORDERS[k % 2];
            finds(gpu, order, &draw::<f32>(len, &mut random), k, 0);
            if is_short() && k != 100 {
                continue;
            }
            finds(gpu, order, &draw::<u64>(len, &mut random), k, 0);
            finds(gpu, order, &draw::<i16>(len, &mut random), k, 0);
            finds(gpu, order, &draw::<u8>(len, &mut random), k, 0);
            finds(gpu, order, &draw::<f64>(len, &mut random), k, 0);
        }
    }
}

fn finds_equal_keys_in_order(gpu: &Gpu) {
    let len = if is_short() { 20_000 } else { 1_000_000 };
    for k in [1, 77, 9000, len] {
        for period in [1, 2, 1000] {
            let keys: Vec<u32> = (0..len as u32).map(|key| key % period).collect();
            for order in ORDERS {
                finds(gpu, order, &keys, k, 0);
            }
        }
    }
}

fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(3);
    for start in [1, 2, 3, 7] {
        finds(
            gpu,
            Order::Ascending,
            &draw::<u8>(9000, &mut random),
            50,
            start,
        );
        finds(
            gpu,
            Order::Descending,
            &draw::<f32>(9000, &mut random),
            50,
            start,
        );
    }
}

fn reads_its_count_from_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let (len, k) = (TILE + 100, 50);
    let keys = draw::<f32>(len, &mut seeded(4));
    let input = upload(stream, &keys).unwrap();
    let order = Order::Descending;
    let top = TopK::<f32>::new(&gpu.compiler, &gpu.context, order).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len, k).unwrap();
    for count in [0, 1, 49, 50, 51, TILE + 1, len, len + 1, u32::MAX as usize] {
        let device_count = upload(stream, &[count as u32]).unwrap();
        let mut out = zeroed::<f32>(stream, k).unwrap();
        let mut indices = upload(stream, &vec![u32::MAX; k]).unwrap();
        let counted = Count::on_device(&device_count);
        top.keys_and_indices(
            stream,
            &input,
            counted,
            k,
            &mut out,
            &mut indices,
            &mut workspace,
        )
        .unwrap();
        let taken = len.min(count);
        let (out, indices) = (
            download(stream, &out).unwrap(),
            download(stream, &indices).unwrap(),
        );
        let found = k.min(taken);
        let expected = expected(order, &keys[..taken], k);
        assert_same((&out[..found], &indices[..found]), &expected, "counted");
        assert!(
            indices[found..].iter().all(|&index| index == u32::MAX),
            "{count}"
        );
        assert_eq!(workspace.check(stream).is_err(), count > len, "{count}");
    }
}

/// Half-way, the epochs start again.
fn reuses_a_workspace(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(5);
    let order = Order::Ascending;
    let top = TopK::<u32>::new(&gpu.compiler, &gpu.context, order).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 40_000, 300).unwrap();
    let calls = times(1000);
    for call in 0..calls {
        if call == calls / 2 {
            workspace.age(stream, 3).unwrap();
        }
        let (len, k) = (random.random_range(0..40_000), random.random_range(0..300));
        let keys = draw::<u32>(len, &mut random);
        let input = upload(stream, &keys).unwrap();
        let mut out = zeroed::<u32>(stream, 300).unwrap();
        let mut indices = zeroed::<u32>(stream, 300).unwrap();
        top.keys_and_indices(
            stream,
            &input,
            Count::All,
            k,
            &mut out,
            &mut indices,
            &mut workspace,
        )
        .unwrap();
        let found = k.min(len);
        let (out, indices) = (
            download(stream, &out).unwrap(),
            download(stream, &indices).unwrap(),
        );
        assert_same(
            (&out[..found], &indices[..found]),
            &expected(order, &keys, k),
            "reused",
        );
    }
}

fn replays_a_captured_call(gpu: &Gpu) {
    let (stream, len, k) = (&gpu.stream, 20_000, 100);
    let mut random = seeded(6);
    let top = TopK::<f32>::new(&gpu.compiler, &gpu.context, Order::Descending).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len, k).unwrap();
    let mut input = zeroed::<f32>(stream, len).unwrap();
    let (mut out, mut indices) = (
        zeroed::<f32>(stream, k).unwrap(),
        zeroed::<u32>(stream, k).unwrap(),
    );
    let graph = capture(stream, || {
        top.keys_and_indices(
            stream,
            &input,
            Count::All,
            k,
            &mut out,
            &mut indices,
            &mut workspace,
        )
        .unwrap();
    });
    for _ in 0..3 {
        let host = draw::<f32>(len, &mut random);
        stream.memcpy_htod(&host, &mut input).unwrap();
        graph.launch().unwrap();
        let got = (
            download(stream, &out).unwrap(),
            download(stream, &indices).unwrap(),
        );
        assert_same(
            (&got.0, &got.1),
            &expected(Order::Descending, &host, k),
            "replayed",
        );
    }
}

fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let top = TopK::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending).unwrap();
    let keys = upload(stream, &[1_u32; 8]).unwrap();
    let mut out = upload(stream, &[7_u32; 8]).unwrap();
    let mut indices = zeroed::<u32>(stream, 8).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 8, 4).unwrap();
    let mut small = Workspace::with_capacity(stream, 7, 4).unwrap();
    let mut call = |count: Count<'_>, k: usize, room: usize, workspace: &mut Workspace<u32>| {
        let indices = indices.slice_mut(..room);
        top.keys_and_indices(stream, &keys, count, k, &mut out, indices, workspace)
    };
    assert_error(
        call(Count::All, 5, 8, &mut workspace),
        "the k of top_k: 5, where 0 to 4 are possible",
    );
    assert_error(
        call(Count::Given(9), 4, 8, &mut workspace),
        "the count given to top_k: 9, where 0 to 8 are possible",
    );
    assert_error(
        call(Count::All, 4, 3, &mut workspace),
        "the output of top_k: room for 3 items where up to 4 may be written; make it longer",
    );
    assert_error(
        call(Count::All, 4, 8, &mut small),
        "the keys of top_k: a workspace for 7 is used for 8",
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 8]);
}
