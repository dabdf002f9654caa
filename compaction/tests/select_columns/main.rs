//! Tests of `select_columns`: one test body for both backends, checked against a filter of each column.

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

mod cuda;
mod huge;

use std::sync::Arc;

use compaction::{
    cuda::Nvrtc,
    layout::Shared,
    select_columns::{SelectColumns, TILE_ITEMS, cpu},
};

use crate::{
    common::{Share, Tests, add_tests, assert_error, lengths},
    cuda::Cuda,
    devices::two_gpus,
    item_types::{Bytes7, Halves5, Words3, Words4, Words6, Words16},
    random::{Mask, assert_equal_bytes, items, seeded},
};

const TILE: usize = TILE_ITEMS as usize;

/// Lengths around every limit of an implementation.
const SIZES: &[usize] = &[
    0,              // nothing
    1,              // less than a word of flags
    33,             // a warp, and one more
    511,            // a warp's share of a tile
    513,            //
    TILE - 1,       // a tile
    TILE,           //
    TILE + 1,       //
    (1 << 13) + 1,  // a chunk of the CPU
    140 * TILE + 5, // more tiles than one look back reads at once
    (1 << 19) + 3,  // many blocks on every multiprocessor
];

const MASKS: &[Mask] = &[
    Mask::All,
    Mask::None,
    Mask::Every11th,
    Mask::Random(10),
    Mask::Random(30),
    Mask::Random(90),
    Mask::Blocks,
];

/// The implementation under test.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

fn main() {
    let tests = Tests::new()
        .test("the_cpu_keeps_flagged_items", || {
            keeps_flagged_items(&Backend::Cpu)
        })
        .needs(
            "no second GPU",
            two_gpus(),
            "cuda_refuses_a_workspace_of_another_device",
            cuda::refuses_another_device,
        );
    add_tests!(tests;
        test "" self { the_cpu_refuses_invalid_arguments, the_cpu_fills_short_outputs }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            keeps_flagged_items, keeps_flagged_items_in_random_cases, counts_with_64_bits,
            takes_views_that_start_anywhere, reads_its_count_from_the_device, reuses_a_workspace,
            runs_on_two_streams_at_once, replays_a_captured_call, fills_short_outputs, refuses_invalid_arguments,
        }
        huge "huge_" huge { around_two_to_the_31, past_two_to_the_32 }
    )
    .run()
}

fn keeps_flagged_items(backend: &Backend<'_>) {
    let mut random = seeded(1);
    for len in lengths(SIZES.iter().copied()) {
        for &mask in MASKS {
            assert_keeps_flagged(backend, &mask.flags(len, &mut random));
        }
    }
}

/// Selects from one column, four of a path state, four of different types, four without alignment, and eight.
fn assert_keeps_flagged(backend: &Backend<'_>, flags: &[u8]) {
    let len = flags.len();
    let (mut a, mut b, mut c, mut d) = (
        items::<u32>(len),
        items::<Words3>(len),
        items::<u64>(len),
        items::<Words4>(len),
    );
    let (mut e, mut f, mut g, mut h) = (
        items::<Words6>(len),
        items::<Words16>(len),
        items::<f32>(len),
        items::<i32>(len),
    );
    let (mut odd, mut halves, mut bytes) = (
        items::<Bytes7>(len),
        items::<Halves5>(len),
        items::<u8>(len),
    );
    match backend {
        Backend::Cpu => {
            let mut outs = (
                a.clone(),
                b.clone(),
                c.clone(),
                d.clone(),
                e.clone(),
                f.clone(),
                g.clone(),
                h.clone(),
            );
            let kept = cpu::columns(
                flags,
                &mut [
                    cpu::Column::new(&a, &mut outs.0),
                    cpu::Column::new(&b, &mut outs.1),
                    cpu::Column::new(&c, &mut outs.2),
                    cpu::Column::new(&d, &mut outs.3),
                    cpu::Column::new(&e, &mut outs.4),
                    cpu::Column::new(&f, &mut outs.5),
                    cpu::Column::new(&g, &mut outs.6),
                    cpu::Column::new(&h, &mut outs.7),
                ],
            )
            .unwrap();
            check(&a, flags, &outs.0, kept, &a);
            check(&b, flags, &outs.1, kept, &b);
            check(&c, flags, &outs.2, kept, &c);
            check(&d, flags, &outs.3, kept, &d);
            check(&e, flags, &outs.4, kept, &e);
            check(&f, flags, &outs.5, kept, &f);
            check(&g, flags, &outs.6, kept, &g);
            check(&h, flags, &outs.7, kept, &h);
            let mut outs = (odd.clone(), halves.clone(), bytes.clone());
            let kept = cpu::columns(
                flags,
                &mut [
                    cpu::Column::new(&odd, &mut outs.0),
                    cpu::Column::new(&halves, &mut outs.1),
                    cpu::Column::new(&bytes, &mut outs.2),
                ],
            )
            .unwrap();
            check(&odd, flags, &outs.0, kept, &odd);
            check(&halves, flags, &outs.1, kept, &halves);
            check(&bytes, flags, &outs.2, kept, &bytes);
        }
        Backend::Cuda(cuda) => {
            cuda.assert_keeps_flagged(&[4], flags, &mut [&mut a]);
            cuda.assert_keeps_flagged(
                &[16, 16, 16, 16],
                flags,
                &mut [&mut d.clone(), &mut d.clone(), &mut d.clone(), &mut d],
            );
            cuda.assert_keeps_flagged(
                &[4, 12, 8, 64],
                flags,
                &mut [&mut a, &mut b, &mut c, &mut f],
            );
            cuda.assert_keeps_flagged(
                &[7, 10, 1, 12],
                flags,
                &mut [&mut odd, &mut halves, &mut bytes, &mut b],
            );
            cuda.assert_keeps_flagged(
                &[4, 12, 8, 16, 24, 64, 4, 4],
                flags,
                &mut [
                    &mut a, &mut b, &mut c, &mut d, &mut e, &mut f, &mut g, &mut h,
                ],
            );
        }
    }
}

/// Compares with the specification; `before` is the previous content of the output.
fn check<T: Shared>(items: &[T], flags: &[u8], out: &[T], kept: usize, before: &[T]) {
    let case = format!("{} flags, {}", flags.len(), T::NAME);
    let mut expected = cpu::specification(&[items], flags).pop().unwrap();
    assert_eq!(kept, expected.len(), "{case}: the count");
    expected.extend_from_slice(&before[expected.len()..]);
    assert_equal_bytes(&expected, out, &case);
}

/// Checks that all outputs get as many items as the shortest one has room for.
fn the_cpu_fills_short_outputs() {
    let len = 20_000;
    let flags = Mask::Random(50).flags(len, &mut seeded(9));
    let (small, large): (Vec<u16>, Vec<u64>) =
        (0..len).map(|item| (item as u16, item as u64)).unzip();
    let (kept_small, kept_large) = (
        cpu::specification(&[&small], &flags).pop().unwrap(),
        cpu::specification(&[&large], &flags).pop().unwrap(),
    );
    for (room, other) in [
        (0, 5),
        (1, 9),
        (100, 8000),
        (kept_small.len() - 1, len),
        (9000, 8999),
    ] {
        let (mut small_out, mut large_out) = (vec![u16::MAX; room], vec![u64::MAX; other]);
        let mut columns = [
            cpu::Column::new(&small, &mut small_out),
            cpu::Column::new(&large, &mut large_out),
        ];
        let kept = cpu::columns(&flags, &mut columns).unwrap();
        assert_eq!(kept, kept_small.len());
        let written = room.min(other).min(kept);
        assert_eq!(small_out[..written], kept_small[..written]);
        assert_eq!(large_out[..written], kept_large[..written]);
        assert!(small_out[written..].iter().all(|&item| item == u16::MAX));
        assert!(large_out[written..].iter().all(|&item| item == u64::MAX));
    }
}

fn the_cpu_refuses_invalid_arguments() {
    let (items, mut out) = ([1_u32, 2, 3], [7_u32; 3]);
    assert_error(
        cpu::columns(&[1; 4], &mut [cpu::Column::new(&items, &mut out)]),
        "a column of select_columns: 3 instead of 4",
    );
    assert_error(
        cpu::columns(&[1; 3], &mut []),
        "the columns of select_columns: 0, where 1 to 8 are possible",
    );
    assert_eq!(out, [7; 3]);
    for bytes in [0, 65] {
        assert_error(
            SelectColumns::sources(&[16, bytes]),
            "where 1 to 64 are possible",
        );
    }
    assert_error(
        SelectColumns::sources(&[4; 9]),
        "the columns of select_columns: 9, where 1 to 8 are possible",
    );
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        &[4][..],
        &[16; 4],
        &[4, 12, 8, 64],
        &[7, 10, 1, 12],
        &[16; 8],
    ];
    let sources = sources.map(|bytes| SelectColumns::sources(bytes).unwrap());
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources.concat());
}
