//! Runs whose values are combined by operators in CUDA C++ that are not commutative.

use compaction::{
    Count,
    layout::Shared,
    runs::{ReduceByKey, ScanByKey, Workspace, cpu},
};

use crate::{
    Words16, assert_bytes,
    common::Gpu,
    each_case,
    functions::{Affine, Function, Rounded},
    guarded::Guarded,
    naive_runs,
};

const INITIAL: Affine = Affine { a: 3, b: 5 };

/// The results of all calls: keys and totals of the runs, and exclusive and inclusive prefixes.
struct Results<K, V> {
    keys: Vec<K>,
    totals: Vec<V>,
    exclusive: Vec<V>,
    inclusive: Vec<V>,
}

fn on_the_cpu<K: Shared + Send + Sync, V: Function>(
    initial: V,
    keys: &[K],
    values: &[V],
) -> Results<K, V> {
    let (identity, lift) = (V::IDENTITY, |value| value);
    let [mut totals, mut exclusive, mut inclusive] = [(); 3].map(|()| values.to_vec());
    let mut firsts = keys.to_vec();
    let runs = cpu::reduce_by_key_with(
        identity,
        lift,
        V::then,
        keys,
        values,
        &mut firsts,
        &mut totals,
    );
    firsts.truncate(runs.unwrap());
    totals.truncate(firsts.len());
    let prefixes = &mut exclusive;
    cpu::exclusive_scan_by_key_with(identity, lift, V::then, initial, keys, values, prefixes)
        .unwrap();
    let prefixes = &mut inclusive;
    cpu::inclusive_scan_by_key_with(identity, lift, V::then, initial, keys, values, prefixes)
        .unwrap();
    Results {
        keys: firsts,
        totals,
        exclusive,
        inclusive,
    }
}

pub(crate) fn the_cpu_keeps_the_order() {
    each_case::<u32>(|keys, case| {
        let values = Affine::random(keys.len());
        let got = on_the_cpu(INITIAL, keys, &values);
        let (mut firsts, mut totals) = (Vec::new(), Vec::new());
        for (run, &(first, length)) in naive_runs(keys).iter().enumerate() {
            firsts.push(keys[first]);
            let mut before = INITIAL;
            let run_values = &values[first..first + length];
            for (at, &value) in (first..).zip(run_values) {
                assert_eq!(got.exclusive[at], before, "{case}: {at}");
                before = before.then(value);
                assert_eq!(got.inclusive[at], before, "{case}: {at}");
            }
            totals.extend(run_values.iter().copied().reduce(Affine::then));
            assert_eq!(got.totals[run], totals[run], "{case}: run {run}");
        }
        assert_bytes(&got.keys, &firsts, case);
    });
}

/// Compares all calls with those on the CPU, to the bit.
fn agrees<K: Shared + Send + Sync, V: Function>(gpu: &Gpu, initial: V) {
    let stream = &gpu.stream;
    let (compiler, context, operator) = (&gpu.compiler, &gpu.context, V::operator());
    let reduce = ReduceByKey::<K, V>::with_operator(compiler, context, &operator).unwrap();
    let scan = ScanByKey::<K, V>::with_operator(compiler, context, &operator).unwrap();
    let scan = scan.initial(initial);
    assert_eq!((reduce.operator(), scan.operator()), (None, None));
    each_case::<K>(|keys, case| {
        let values = V::random(keys.len());
        let expected = on_the_cpu(initial, keys, &values);
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        let (device_keys, device_values) = (
            Guarded::new(stream, 1, keys),
            Guarded::new(stream, 2, &values),
        );
        let mut firsts = Guarded::<K>::room(stream, 0, keys.len());
        let [mut totals, mut exclusive, mut inclusive] =
            [0, 1, 3].map(|start| Guarded::<V>::room(stream, start, keys.len()));
        let mut runs = Guarded::<u32>::room(stream, 0, 1);
        let views = || (device_keys.view(), device_values.view(), Count::All);
        let (keys_view, values_view, all) = views();
        reduce
            .pairs(
                stream,
                keys_view,
                values_view,
                all,
                firsts.view_mut(),
                totals.view_mut(),
                runs.view_mut(),
                &mut workspace,
            )
            .unwrap();
        let (keys_view, values_view, all) = views();
        let out = exclusive.view_mut();
        scan.exclusive(stream, keys_view, values_view, all, out, &mut workspace)
            .unwrap();
        let (keys_view, values_view, all) = views();
        let out = inclusive.view_mut();
        scan.inclusive(stream, keys_view, values_view, all, out, &mut workspace)
            .unwrap();
        let runs = runs.read(stream)[0] as usize;
        assert_bytes(&firsts.read(stream)[..runs], &expected.keys, case);
        assert_bytes(&totals.read(stream)[..runs], &expected.totals, case);
        assert_bytes(&exclusive.read(stream), &expected.exclusive, case);
        assert_bytes(&inclusive.read(stream), &expected.inclusive, case);
    });
}

pub(crate) fn agrees_with_the_cpu(gpu: &Gpu) {
    let initial = Rounded {
        a: 1.5,
        b: 0.25,
        weight: 1.0,
    };
    agrees::<u32, Affine>(gpu, INITIAL);
    agrees::<u64, Rounded>(gpu, initial);
    agrees::<Words16, Rounded>(gpu, initial);
}

/// Returns the kernels of some types.
pub(crate) fn sources() -> Vec<compaction::cuda::Source> {
    let (affine, rounded) = (Affine::operator(), Rounded::operator());
    [
        ReduceByKey::<u32, Affine>::sources_with_operator(&affine),
        ReduceByKey::<u64, Rounded>::sources_with_operator(&rounded),
        ReduceByKey::<u32, Affine, u64>::sources_with_operator(&affine),
        ScanByKey::<u32, Affine>::sources_with_operator(&affine),
        ScanByKey::<u64, Rounded>::sources_with_operator(&rounded),
        ScanByKey::<u32, Rounded, u64>::sources_with_operator(&rounded),
    ]
    .map(Result::unwrap)
    .concat()
}
