//! Tests of items and flags of `bool`.

use compaction::{
    Count, Error,
    cuda::{self, download, upload, zeroed},
    gather::{self, Gather},
    partition::{self, Partition},
    runs::{self, RunLengths, Unique},
    select::{Predicate, Select, SelectIf, Strategy, Workspace, cpu},
};

use crate::common::{Gpu, assert_error};

const FLAGS: [bool; 6] = [true, true, false, true, false, true];
const ITEMS: [bool; 6] = [true, false, true, false, false, true];
const NO_BOOL: &str =
    "the all-one bits that select by off writes: not a valid bool; use u8, or another strategy";

pub(crate) fn the_cpu_keeps_bools() {
    let flags = FLAGS.map(u8::from);
    for &strategy in Strategy::ALL {
        let (mut out, mut items) = ([true; 6], ITEMS);
        let kept = cpu::items(strategy, &ITEMS, &flags, &mut out);
        let kept_in_place = cpu::in_place(strategy, &mut items, &flags);
        if strategy == Strategy::Off {
            assert_error(kept, NO_BOOL);
            assert_error(kept_in_place, NO_BOOL);
            assert_eq!((out, items), ([true; 6], ITEMS));
        } else {
            assert_eq!((kept.unwrap(), kept_in_place.unwrap()), (4, 4));
        }
        if strategy.keeps_order() && strategy != Strategy::Off {
            assert_eq!(out, [true, false, false, true, true, true]);
            assert_eq!(items[..4], [true, false, false, true]);
        }
    }
}

pub(crate) fn keeps_bools(gpu: &Gpu) {
    let (stream, compiler, context) = (&gpu.stream, &gpu.compiler, &gpu.context);
    let (flags, items) = (
        upload(stream, &FLAGS).unwrap(),
        upload(stream, &ITEMS).unwrap(),
    );
    assert_eq!(download(stream, &items).unwrap(), ITEMS);
    let mut workspace = Workspace::with_capacity(stream, 6).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut select = |strategy: Strategy| {
        let select = Select::new(compiler, context, strategy).unwrap();
        let mut out = zeroed::<bool>(stream, 6).unwrap();
        let mut in_place = zeroed::<bool>(stream, 6).unwrap();
        cuda::copy(stream, &items, &mut in_place).unwrap();
        select.items(
            stream,
            &items,
            &flags,
            Count::All,
            &mut out,
            &mut selected,
            &mut workspace,
        )?;
        let workspace = &mut workspace;
        select.in_place(
            stream,
            &mut in_place,
            &flags,
            Count::All,
            &mut selected,
            workspace,
        )?;
        Ok((
            download(stream, &out).unwrap(),
            download(stream, &in_place).unwrap(),
        ))
    };
    let (out, in_place) = select(Strategy::LookBack).unwrap();
    assert_eq!(out, [true, false, false, true, false, false]);
    assert_eq!(in_place[..4], out[..4]);
    let refused: Result<_, Error> = select(Strategy::Off);
    assert_error(refused, NO_BOOL);

    let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    let odd = SelectIf::<u32>::new(compiler, context, &odd).unwrap();
    let numbers = upload(stream, &[7_u32, 8, 9]).unwrap();
    let mut are_odd = zeroed::<bool>(stream, 3).unwrap();
    odd.flags(stream, &numbers, Count::All, &mut are_odd, &workspace)
        .unwrap();
    assert_eq!(download(stream, &are_odd).unwrap(), [true, false, true]);
}

pub(crate) fn moves_bools(gpu: &Gpu) {
    let (stream, compiler, context) = (&gpu.stream, &gpu.compiler, &gpu.context);
    let items = upload(stream, &ITEMS).unwrap();
    let mut out = zeroed::<bool>(stream, 6).unwrap();
    let mut count = zeroed::<u32>(stream, 1).unwrap();

    let partition = Partition::new(compiler, context).unwrap();
    let mut workspace = partition::Workspace::with_capacity(stream, 6).unwrap();
    partition
        .items(
            stream,
            &items,
            &items,
            Count::All,
            &mut out,
            &mut count,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(
        download(stream, &out).unwrap(),
        [true, true, true, false, false, false]
    );

    let gather = Gather::<bool>::new(compiler, context).unwrap();
    let mut workspace = gather::Workspace::new(stream).unwrap();
    let indices = upload(stream, &[5_u32, 4, 9]).unwrap();
    gather
        .items(
            stream,
            &items,
            &indices,
            Count::All,
            &mut out,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(download(stream, &out).unwrap()[..3], [true, false, true]);

    let mut workspace = runs::Workspace::with_capacity(stream, 6).unwrap();
    let unique = Unique::<bool>::new(compiler, context).unwrap();
    unique
        .items(
            stream,
            &items,
            Count::All,
            &mut out,
            &mut count,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(
        download(stream, &out).unwrap()[..5],
        [true, false, true, false, true]
    );
    let run_lengths = RunLengths::<bool>::new(compiler, context).unwrap();
    let mut lengths = zeroed::<u32>(stream, 6).unwrap();
    run_lengths
        .items(
            stream,
            &items,
            Count::All,
            &mut out,
            &mut lengths,
            &mut count,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(download(stream, &lengths).unwrap()[..5], [1, 1, 1, 2, 1]);
}

#[expect(
    unsafe_code,
    reason = "no safe function writes a byte that is no bool to a buffer of bool"
)]
pub(crate) fn a_byte_that_is_no_bool_is_not_downloaded(gpu: &Gpu) {
    let stream = &gpu.stream;
    let bytes = upload(stream, &[1_u8, 0, 2]).unwrap();
    // SAFETY: the view has as many bytes, which only `download` reads, and it checks them.
    let bools = unsafe { bytes.as_view().transmute::<bool>(3) }.unwrap();
    assert_error(
        download(stream, &bools),
        "item 2 of the buffer to download: not a valid bool; use plain data, such as u8",
    );
    assert_eq!(download(stream, &bools.slice(..2)).unwrap(), [true, false]);
}
