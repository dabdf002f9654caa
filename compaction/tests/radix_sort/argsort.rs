//! Tests of the argsort.

use compaction::{
    Count, CountWord,
    cuda::{download, upload, zeroed},
    radix_sort::{Order, RadixSort, Strategy, Workspace, cpu},
};

use crate::{
    FromBits, ORDERS, TILE, check,
    common::{Gpu, assert_error, lengths},
    draw,
    guarded::Guarded,
    random::seeded,
};

pub(crate) fn the_cpu_argsorts() {
    let mut random = seeded(21);
    for len in [0, 1, 100, (1 << 14) + 1] {
        for order in ORDERS {
            let keys = draw::<f32>(len, 9, &mut random);
            let (mut out, mut indices) = (vec![0.0; len], vec![0_u32; len]);
            cpu::argsort(order, 0..32, &keys, &mut out, &mut indices).unwrap();
            let indices: Vec<_> = indices.into_iter().map(CountWord::to_len).collect();
            check("argsort", &keys, &(0..32), order, &out, Some(&indices));
        }
    }
}

fn argsorts_as<K: FromBits, I: CountWord>(
    gpu: &Gpu,
    keys: &[K],
    order: Order,
    strategy: Strategy,
    bits: std::ops::Range<u32>,
) {
    let (stream, len) = (&gpu.stream, keys.len());
    let sort = RadixSort::<K>::new(&gpu.compiler, &gpu.context, order, strategy).unwrap();
    let sort = sort.bits(bits.clone()).unwrap();
    let input = Guarded::new(stream, 3, keys);
    let mut out = Guarded::<K>::room(stream, 1, len);
    let mut indices = Guarded::<I>::room(stream, 5, len);
    let mut workspace = Workspace::<K, I>::with_capacity(stream, len).unwrap();
    let (out_view, indices_view) = (out.view_mut(), indices.view_mut());
    sort.argsort(
        stream,
        input.view(),
        Count::All,
        out_view,
        indices_view,
        &mut workspace,
    )
    .unwrap();
    let indices: Vec<_> = indices
        .read(stream)
        .into_iter()
        .map(CountWord::to_len)
        .collect();
    check(
        strategy.name(),
        keys,
        &bits,
        order,
        &out.read(stream),
        Some(&indices),
    );
}

pub(crate) fn argsorts(gpu: &Gpu) {
    let mut random = seeded(22);
    for len in lengths([0, 1, 33, TILE - 1, TILE + 1, 3 * TILE + 5, 60 * TILE]) {
        for &strategy in Strategy::ALL {
            let order = ORDERS[len % 2];
            argsorts_as::<f32, u32>(gpu, &draw(len, 1, &mut random), order, strategy, 0..32);
            argsorts_as::<u64, u64>(gpu, &draw(len, 9, &mut random), order, strategy, 0..17);
            argsorts_as::<u8, u32>(gpu, &draw(len, 0, &mut random), order, strategy, 0..8);
            argsorts_as::<u32, u32>(gpu, &draw(len, 0, &mut random), order, strategy, 3..3);
        }
    }
}

pub(crate) fn argsorts_a_count_from_the_device(gpu: &Gpu) {
    let (stream, len) = (&gpu.stream, TILE + 50);
    let keys = draw::<i32>(len, 3, &mut seeded(23));
    let input = upload(stream, &keys).unwrap();
    let mut workspace = Workspace::<i32, u32>::with_capacity(stream, len).unwrap();
    for &strategy in Strategy::ALL {
        let order = Order::Descending;
        let sort = RadixSort::<i32>::new(&gpu.compiler, &gpu.context, order, strategy).unwrap();
        for given in [0, 7, TILE + 3] {
            let count = upload(stream, &[given as u32]).unwrap();
            let mut out = zeroed::<i32>(stream, len).unwrap();
            let mut indices = upload(stream, &vec![u32::MAX; len]).unwrap();
            let count = Count::on_device(&count);
            sort.argsort(
                stream,
                &input,
                count,
                &mut out,
                &mut indices,
                &mut workspace,
            )
            .unwrap();
            let indices: Vec<_> = download(stream, &indices).unwrap();
            assert!(
                indices[given..].iter().all(|&index| index == u32::MAX),
                "{strategy}"
            );
            let indices: Vec<_> = indices[..given]
                .iter()
                .map(|&index| index as usize)
                .collect();
            let out = &download(stream, &out).unwrap()[..given];
            check(
                strategy.name(),
                &keys[..given],
                &(0..32),
                order,
                out,
                Some(&indices),
            );
        }
        let mut out = zeroed::<i32>(stream, len).unwrap();
        let mut short = zeroed::<u32>(stream, len - 1).unwrap();
        assert_error(
            sort.argsort(
                stream,
                &input,
                Count::All,
                &mut out,
                &mut short,
                &mut workspace,
            ),
            "the output of radix_sort: room for",
        );
    }
}
