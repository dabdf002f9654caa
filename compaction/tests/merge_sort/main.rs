//! Tests of `merge_sort` against the standard library's stable sort.

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
    Count, CountWord,
    cuda::{Nvrtc, download, upload, zeroed},
    layout::Shared,
    merge_sort::{Comparison, MergeSort, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    common::{Gpu, Share, Tests, add_tests, assert_error, is_short, lengths},
    devices::capture,
    guarded::Guarded,
    random::{Random, assert_equal_bytes, seeded},
};

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "" self { the_cpu_sorts_stably, the_cpu_refuses_a_short_output }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        nvrtc "" self { names_the_comparison_that_does_not_compile }
        gpu "cuda_" self {
            sorts_numbers, sorts_structs_stably, sorts_large_buckets, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, replays_a_captured_call, refuses_invalid_arguments,
        }
    )
    .run()
}

/// Items of 4 bytes in a tile, and in a sample.
const TILE: usize = 3840;

/// Lengths around the limits of tiles and of levels: one level divides up to 2²⁰ items of 4 bytes.
const LENGTHS: [usize; 12] = [
    0,
    1,
    2,
    16,
    1000,
    TILE - 1,
    TILE,
    TILE + 1,
    2 * TILE + 1,
    5 * TILE,
    9 * TILE + 7,
    (1 << 20) + 3,
];

compaction::shared! {
    /// An item of 12 bytes, sorted by its score alone.
    struct Player {
        name: u32,
        score: i32,
        team: u32,
    }
    /// An item of 40 bytes.
    struct Big {
        words: [u32; 10],
    }
}

const PLAYERS: &str = "struct Player { u32 name; i32 score; u32 team; };
    bool before(const Player &left, const Player &right) { return left.score > right.score; }";
const BIG: &str = "struct Big { u32 words[10]; };
    bool before(const Big &left, const Big &right) { return left.words[9] % 16 < right.words[9] % 16; }";

fn players(len: usize, random: &mut Random) -> Vec<Player> {
    let range = 1 + random.random_range(0..1000);
    (0..len as u32)
        .map(|name| Player {
            name,
            score: random.random_range(-range..range),
            team: random.random(),
        })
        .collect()
}

fn by_score(left: &Player, right: &Player) -> bool {
    left.score > right.score
}

fn the_cpu_sorts_stably() {
    let mut random = seeded(1);
    for len in [0, 1, 100, 40_000] {
        let players = players(len, &mut random);
        let mut out = players.clone();
        cpu::items(by_score, &players, &mut out).unwrap();
        let mut expected = players;
        expected.sort_by_key(|player| std::cmp::Reverse(player.score));
        assert_equal_bytes(&expected, &out, "players");
    }
}

fn the_cpu_refuses_a_short_output() {
    assert_error(
        cpu::items(|left, right| left < right, &[1, 2], &mut [0]),
        "the output of merge_sort: room for 1 items where up to 2 may be written; make it longer",
    );
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let numbers = |item| {
        Comparison::new(
            "less.cuh",
            format!("bool before({item} a, {item} b) {{ return a < b; }}"),
        )
    };
    let sources = [
        MergeSort::<u32>::sources(&numbers("u32")),
        MergeSort::<u8>::sources(&numbers("u8")),
        MergeSort::<f64, u64>::sources(&numbers("f64")),
        MergeSort::<Player>::sources(&Comparison::new("players.cuh", PLAYERS)),
        MergeSort::<Big>::sources(&Comparison::new("big.cuh", BIG)),
    ]
    .concat();
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources);
}

fn names_the_comparison_that_does_not_compile(nvrtc: &Arc<Nvrtc>) {
    let target = nvrtc.target(90).unwrap();
    let compile = |text: &str| {
        let comparison = Comparison::new("mine.cuh", text);
        nvrtc.compile(&MergeSort::<u32>::sources(&comparison)[0], target)
    };
    let error = compile("bool before(u32 a, u32 b) { return a <; }")
        .unwrap_err()
        .to_string();
    assert!(error.contains("mine.cuh(1): error"), "{error}");
    compile("bool before(u32 a, const u32 &b) { return a < b; }").unwrap();
    let error = compile("u32 before(u32 a, u32 b) { return a < b; }")
        .unwrap_err()
        .to_string();
    assert!(error.contains("before has another type"), "{error}");
    let error = compile("bool before(u64 a, u64 b) { return a < b; }")
        .unwrap_err()
        .to_string();
    assert!(error.contains("before has another type"), "{error}");
    let error = compile("bool less(u32 a, u32 b) { return a < b; }")
        .unwrap_err()
        .to_string();
    assert!(error.contains("\"before\" is undefined"), "{error}");
}

fn sorts<T: Shared, W: CountWord>(
    gpu: &Gpu,
    items: &[T],
    text: &str,
    before: fn(&T, &T) -> bool,
    start: usize,
) {
    let (stream, len) = (&gpu.stream, items.len());
    let comparison = Comparison::new("comparison.cuh", text);
    let sort = MergeSort::<T, W>::new(&gpu.compiler, &gpu.context, &comparison).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len + 3).unwrap();
    let input = Guarded::new(stream, start, items);
    let mut out = Guarded::<T>::room(stream, start, len);
    sort.items(
        stream,
        input.view(),
        Count::All,
        out.view_mut(),
        &mut workspace,
    )
    .unwrap();
    let mut expected = items.to_vec();
    expected.sort_by(|left, right| before(right, left).cmp(&before(left, right)));
    assert_equal_bytes(&expected, &out.read(stream), &format!("{len} {}", T::NAME));
}

fn sorts_numbers(gpu: &Gpu) {
    let mut random = seeded(2);
    for len in lengths(LENGTHS) {
        let numbers: Vec<u32> = (0..len).map(|_| random.random()).collect();
        let text = "bool before(u32 a, u32 b) { return a < b; }";
        sorts::<u32, u32>(gpu, &numbers, text, |a, b| a < b, 0);
        let bytes: Vec<u8> = (0..len).map(|_| random.random()).collect();
        let text = "bool before(u8 a, u8 b) { return a > b; }";
        sorts::<u8, u32>(gpu, &bytes, text, |a, b| a > b, 0);
        if is_short() {
            continue;
        }
        let floats: Vec<f64> = (0..len).map(|_| random.random()).collect();
        let text = "bool before(f64 a, f64 b) { return a < b; }";
        sorts::<f64, u64>(gpu, &floats, text, |a, b| a < b, 0);
        let (equal, sorted) = (vec![7_u32; len], (0..len as u32).collect::<Vec<_>>());
        let text = "bool before(u32 a, u32 b) { return a > b; }";
        sorts::<u32, u32>(gpu, &equal, text, |a, b| a > b, 0);
        sorts::<u32, u32>(gpu, &sorted, text, |a, b| a > b, 0);
    }
}

fn sorts_structs_stably(gpu: &Gpu) {
    let mut random = seeded(3);
    for len in lengths(LENGTHS) {
        sorts::<Player, u32>(gpu, &players(len, &mut random), PLAYERS, by_score, 0);
        let big: Vec<Big> = (0..len.min(100_000) as u32)
            .map(|index| Big {
                words: [index, 1, 2, 3, 4, 5, 6, 7, 8, random.random()],
            })
            .collect();
        let before = |left: &Big, right: &Big| left.words[9] % 16 < right.words[9] % 16;
        sorts::<Big, u64>(gpu, &big, BIG, before, 0);
    }
}

/// Returns the position in a segment of an item of its sample, as `compaction/kernels/merge_sort.cu` computes it.
fn sample_position(items: usize, number: usize) -> usize {
    let (first, end) = (number * items / TILE, (number + 1) * items / TILE);
    let mut hash = (number as u32).wrapping_mul(0x9e37_79b1);
    hash = (hash ^ hash >> 15).wrapping_mul(0x85eb_ca6b);
    first + ((u64::from(hash ^ hash >> 13) * (end - first) as u64) >> 32) as usize
}

fn sorts_large_buckets(gpu: &Gpu) {
    // All items of the sample are 0, so that all others get into one bucket.
    let stream = &gpu.stream;
    let mut random = seeded(7);
    let less = Comparison::new("less.cuh", "bool before(u32 a, u32 b) { return a < b; }");
    let sort = MergeSort::<u32>::new(&gpu.compiler, &gpu.context, &less).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 9 * TILE).unwrap();
    for len in [2 * TILE + 1, 6 * TILE, 9 * TILE] {
        let mut items: Vec<u32> = (0..len).map(|_| random.random_range(1..1000)).collect();
        for number in 0..TILE {
            items[sample_position(len, number)] = 0;
        }
        let input = upload(stream, &items).unwrap();
        let mut out = zeroed(stream, len).unwrap();
        sort.items(stream, &input, Count::All, &mut out, &mut workspace)
            .unwrap();
        items.sort();
        assert_equal_bytes(&items, &download(stream, &out).unwrap(), "large");
    }
}

fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(4);
    for start in [1, 2, 3, 7] {
        let bytes: Vec<u8> = (0..9000).map(|_| random.random()).collect();
        let text = "bool before(u8 a, u8 b) { return a > b; }";
        sorts::<u8, u32>(gpu, &bytes, text, |a, b| a > b, start);
        sorts::<Player, u32>(gpu, &players(5000, &mut random), PLAYERS, by_score, start);
    }
}

fn reads_its_count_from_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = 2 * TILE + 100;
    let host = players(len, &mut seeded(5));
    let input = upload(stream, &host).unwrap();
    let comparison = Comparison::new("players.cuh", PLAYERS);
    let sort = MergeSort::<Player>::new(&gpu.compiler, &gpu.context, &comparison).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let guard = Player {
        name: 7,
        score: 7,
        team: 7,
    };
    for count in [0, 1, TILE, TILE + 1, len, len + 1, u32::MAX as usize] {
        let device_count = upload(stream, &[count as u32]).unwrap();
        let mut out = upload(stream, &vec![guard; len]).unwrap();
        let counted = Count::on_device(&device_count);
        sort.items(stream, &input, counted, &mut out, &mut workspace)
            .unwrap();
        let taken = len.min(count);
        let mut expected = vec![guard; len];
        cpu::items(by_score, &host[..taken], &mut expected).unwrap();
        assert_equal_bytes(&expected, &download(stream, &out).unwrap(), "counted");
        assert_eq!(workspace.check(stream).is_err(), count > len, "{count}");
    }
}

fn replays_a_captured_call(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = 3 * TILE + 5;
    let mut random = seeded(6);
    let comparison = Comparison::new("players.cuh", PLAYERS);
    let sort = MergeSort::<Player>::new(&gpu.compiler, &gpu.context, &comparison).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut input = zeroed::<Player>(stream, len).unwrap();
    let mut out = zeroed::<Player>(stream, len).unwrap();
    let graph = capture(stream, || {
        sort.items(stream, &input, Count::All, &mut out, &mut workspace)
            .unwrap();
    });
    for _ in 0..3 {
        let host = players(len, &mut random);
        stream.memcpy_htod(&host, &mut input).unwrap();
        graph.launch().unwrap();
        let mut expected = host.clone();
        cpu::items(by_score, &host, &mut expected).unwrap();
        assert_equal_bytes(&expected, &download(stream, &out).unwrap(), "replayed");
    }
}

fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let comparison = Comparison::new("less.cuh", "bool before(u32 a, u32 b) { return a < b; }");
    let sort = MergeSort::<u32>::new(&gpu.compiler, &gpu.context, &comparison).unwrap();
    let items = upload(stream, &[1_u32; 8]).unwrap();
    let mut out = upload(stream, &[7_u32; 8]).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 8).unwrap();
    let mut small = Workspace::with_capacity(stream, 7).unwrap();
    let mut call = |count: Count<'_>, room: usize, workspace: &mut Workspace<u32>| {
        sort.items(stream, &items, count, out.slice_mut(..room), workspace)
    };
    assert_error(
        call(Count::Given(9), 8, &mut workspace),
        "the count given to merge_sort: 9, where 0 to 8 are possible",
    );
    assert_error(
        call(Count::All, 7, &mut workspace),
        "the output of merge_sort: room for 7 items where up to 8 may be written; make it longer",
    );
    assert_error(
        call(Count::All, 8, &mut small),
        "the items of merge_sort: a workspace for 7 is used for 8",
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 8]);
}
