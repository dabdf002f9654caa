//! Tests of `gather`: gathers and scatters on the CPU and on the GPU against naive loops.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/item_types.rs"]
mod item_types;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

use std::sync::Arc;

use compaction::{
    Count, CountWord,
    cuda::{Nvrtc, download, upload, zeroed},
    gather::{Gather, Scatter, Workspace, cpu},
    layout::Shared,
};
use rand::{RngExt, seq::SliceRandom};

use crate::{
    common::{Gpu, Share, Tests, add_tests, assert_error, lengths},
    devices::capture,
    guarded::Guarded,
    item_types::{Bytes7, Halves5, Words3, Words6, Words16},
    random::{assert_equal_bytes, items, seeded},
};

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "" self { the_cpu_gathers_and_scatters, the_cpu_refuses_invalid_arguments }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" self { reads_bools_as_bytes,
            gathers_and_scatters, skips_indices_beyond_the_end, reads_its_count_from_the_device,
            replays_captured_calls, refuses_invalid_arguments,
        }
    )
    .run()
}

/// Lengths around the parts that a block copies at a time, and more than all blocks copy at a time.
const LENGTHS: [usize; 7] = [0, 1, 255, 2048, 2049, 70_001, 30_000_000];

/// Returns the numbers below `len` in random order.
fn permutation<I: CountWord>(len: usize, seed: u64) -> Vec<I> {
    let mut indices: Vec<I> = (0..len).map(I::of_len).collect();
    indices.shuffle(&mut seeded(seed));
    indices
}

fn the_cpu_gathers_and_scatters() {
    for len in [0, 1, 1000, 150_000] {
        let (all, indices) = (items::<Words3>(len), permutation::<u32>(len, 1));
        let (mut gathered, mut scattered) = (all.clone(), all.clone());
        cpu::gather(&all, &indices, &mut gathered).unwrap();
        assert_equal_bytes(
            indices.iter().map(|&index| &all[index as usize]),
            &gathered,
            "gather",
        );
        cpu::scatter(&gathered, &indices, &mut scattered).unwrap();
        assert_equal_bytes(&all, &scattered, "scatter undoes gather");
    }
}

fn the_cpu_refuses_invalid_arguments() {
    let mut out = [7; 2];
    assert_error(
        cpu::gather(&[1, 2], &[0_u32; 3], &mut out),
        "the output of gather: room for 2 items where up to 3 may be written; make it longer",
    );
    assert_error(
        cpu::scatter(&[1, 2], &[0_u32; 3], &mut out),
        "the items of scatter: 2 instead of 3",
    );
    assert_eq!(out, [7; 2]);
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        Gather::<u32>::sources(),
        Gather::<u8, u64>::sources(),
        Scatter::<Words3>::sources(),
        Scatter::<u128>::sources(),
    ]
    .concat();
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources);
}

fn round_trip<T: Shared, I: CountWord>(gpu: &Gpu, len: usize, start: usize) {
    let stream = &gpu.stream;
    let (all, indices) = (items::<T>(len), permutation::<I>(len, len as u64));
    let gather = Gather::<T, I>::new(&gpu.compiler, &gpu.context).unwrap();
    let scatter = Scatter::<T, I>::new(&gpu.compiler, &gpu.context).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    let device_items = Guarded::new(stream, start, &all);
    let device_indices = Guarded::new(stream, start, &indices);
    let mut gathered = Guarded::<T>::room(stream, start + 1, len);
    let (items, indices_view) = (device_items.view(), device_indices.view());
    gather
        .items(
            stream,
            &items,
            &indices_view,
            Count::All,
            gathered.view_mut(),
            &mut workspace,
        )
        .unwrap();
    let mut scattered = Guarded::<T>::room(stream, start, len);
    let gathered_view = gathered.view();
    scatter
        .items(
            stream,
            &gathered_view,
            &indices_view,
            Count::All,
            scattered.view_mut(),
            &mut workspace,
        )
        .unwrap();
    let case = format!("{len} {}", T::NAME);
    let expected = indices.iter().map(|index| &all[index.to_len()]);
    assert_equal_bytes(expected, &gathered.read(stream), &case);
    assert_equal_bytes(&all, &scattered.read(stream), &case);
}

fn gathers_and_scatters(gpu: &Gpu) {
    for (start, len) in lengths(LENGTHS).into_iter().enumerate() {
        round_trip::<u32, u32>(gpu, len, start);
        if len > 100_000 {
            continue;
        }
        round_trip::<u8, u32>(gpu, len, start);
        round_trip::<u64, u64>(gpu, len, start);
        round_trip::<Words3, u32>(gpu, len, start);
        round_trip::<Words6, u32>(gpu, len, start);
        round_trip::<Words16, u64>(gpu, len, start);
        round_trip::<Bytes7, u32>(gpu, len, start);
        round_trip::<Halves5, u32>(gpu, len, start);
    }
}

fn skips_indices_beyond_the_end(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(3);
    let len = 5000;
    let all = items::<u32>(len);
    let indices: Vec<u32> = permutation::<u32>(2 * len, 5)
        .into_iter()
        .take(len)
        .collect();
    let (device_items, device_indices) = (
        Guarded::new(stream, 0, &all),
        upload(stream, &indices).unwrap(),
    );
    let (mut gathered, mut scattered) = (vec![random.random(); len], vec![7; len]);
    let mut out = upload(stream, &gathered).unwrap();
    let mut scattered_out = Guarded::new(stream, 2, &scattered);
    let mut workspace = Workspace::new(stream).unwrap();
    let gather = Gather::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let scatter = Scatter::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let items = device_items.view();
    gather
        .items(
            stream,
            &items,
            &device_indices,
            Count::All,
            &mut out,
            &mut workspace,
        )
        .unwrap();
    scatter
        .items(
            stream,
            &items,
            &device_indices,
            Count::All,
            scattered_out.view_mut(),
            &mut workspace,
        )
        .unwrap();
    cpu::gather(&all, &indices, &mut gathered).unwrap();
    cpu::scatter(&all, &indices, &mut scattered).unwrap();
    assert_eq!(download(stream, &out).unwrap(), gathered);
    assert_eq!(scattered_out.read(stream), scattered);
}

fn reads_its_count_from_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let all = items::<u32>(3000);
    let indices = permutation::<u32>(3000, 6);
    let (device_items, device_indices) = (
        upload(stream, &all).unwrap(),
        upload(stream, &indices).unwrap(),
    );
    let gather = Gather::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    for count in [0, 1, 2049, 3000, 3001, u32::MAX] {
        let device_count = upload(stream, &[count]).unwrap();
        let mut out = upload(stream, &vec![7_u32; 3000]).unwrap();
        let counted = Count::on_device(&device_count);
        gather
            .items(
                stream,
                &device_items,
                &device_indices,
                counted,
                &mut out,
                &mut workspace,
            )
            .unwrap();
        let mut expected = vec![7; 3000];
        let taken = 3000.min(count as usize);
        cpu::gather(&all, &indices[..taken], &mut expected).unwrap();
        assert_eq!(download(stream, &out).unwrap(), expected);
        assert_eq!(workspace.check(stream).is_err(), count > 3000, "{count}");
    }
}

fn replays_captured_calls(gpu: &Gpu) {
    let (stream, len) = (&gpu.stream, 2500);
    let all = items::<u32>(len);
    let device_items = upload(stream, &all).unwrap();
    let mut indices = zeroed::<u32>(stream, len).unwrap();
    let (mut out, mut back) = (
        zeroed::<u32>(stream, len).unwrap(),
        zeroed::<u32>(stream, len).unwrap(),
    );
    let gather = Gather::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let scatter = Scatter::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    let graph = capture(stream, || {
        gather
            .items(
                stream,
                &device_items,
                &indices,
                Count::All,
                &mut out,
                &mut workspace,
            )
            .unwrap();
        scatter
            .items(
                stream,
                &out,
                &indices,
                Count::Given(2400),
                &mut back,
                &mut workspace,
            )
            .unwrap();
    });
    for seed in 0..3 {
        let host = permutation::<u32>(len, seed);
        stream.memcpy_htod(&host, &mut indices).unwrap();
        stream.memset_zeros(&mut back).unwrap();
        graph.launch().unwrap();
        let mut expected = vec![0; len];
        for &index in &host[..2400] {
            expected[index as usize] = all[index as usize];
        }
        assert_eq!(download(stream, &back).unwrap(), expected);
    }
}

fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let items = upload(stream, &[1_u32; 4]).unwrap();
    let indices = upload(stream, &[0_u32; 3]).unwrap();
    let mut out = upload(stream, &[7_u32; 2]).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    let gather = Gather::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let scatter = Scatter::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    assert_error(
        gather.items(
            stream,
            &items,
            &indices,
            Count::All,
            &mut out,
            &mut workspace,
        ),
        "the output of gather: room for 2 items where up to 3 may be written; make it longer",
    );
    assert_error(
        gather.items(
            stream,
            &items,
            &indices,
            Count::Given(4),
            &mut out,
            &mut workspace,
        ),
        "the count given to gather: 4, where 0 to 3 are possible",
    );
    assert_error(
        scatter.items(
            stream,
            &items,
            &indices,
            Count::All,
            &mut out,
            &mut workspace,
        ),
        "the items of scatter: 4 instead of 3",
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 2]);
}

fn reads_bools_as_bytes(gpu: &Gpu) {
    let stream = &gpu.stream;
    let gather = Gather::<u8>::new(&gpu.compiler, &gpu.context).unwrap();
    let items = stream.clone_htod(&[false, true, true]).unwrap();
    let indices = upload(stream, &[1_u32, 0, 2]).unwrap();
    let mut out = zeroed::<u8>(stream, 3).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    let all = Count::All;
    gather
        .items(stream, &items, &indices, all, &mut out, &mut workspace)
        .unwrap();
    assert_eq!(download(stream, &out).unwrap(), [1, 0, 1]);
}
