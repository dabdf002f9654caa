//! Calls that combine, count or sort items.

use compaction::{
    Count,
    histogram::{self, Histogram},
    merge_sort::{self, MergeSort},
    radix_sort::Order,
    reduce::{self, ArgReduce, Reduce},
    runs::{self, ReduceByKey, RunLengths, ScanByKey, Unique, UniqueByKey},
    scan::Operator,
    segmented_reduce::{self, SegmentedReduce},
    segmented_sort::{self, SegmentedSort},
    top_k::{self, TopK},
};

use crate::calls::{Call, LEN};

pub(crate) fn calls_of_runs() -> Vec<Call> {
    vec![
        Call {
            operation: "unique",
            arguments: &["items", "count", "output", "selected", "workspace"],
            too_short: &[(
                "output",
                "the output of unique: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let unique = Unique::<u32>::new(&places.compiler(), places.context())?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut runs = places.zeros::<u32>("selected", 1);
                let mut workspace = runs::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                unique.items(
                    &places.stream(),
                    &items,
                    count,
                    &mut out,
                    &mut runs,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "unique_by_key",
            arguments: &[
                "keys",
                "values",
                "count",
                "keys output",
                "values output",
                "selected",
                "workspace",
            ],
            too_short: &[("values", "the values of unique_by_key: 7 instead of 8")],
            run: |places| {
                let unique = UniqueByKey::<u32, u32>::new(&places.compiler(), places.context())?;
                let keys = places.zeros::<u32>("keys", LEN);
                let values = places.zeros::<u32>("values", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("keys output", LEN);
                let mut values_out = places.zeros::<u32>("values output", LEN);
                let mut runs = places.zeros::<u32>("selected", 1);
                let mut workspace = runs::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let (stream, count) = (places.stream(), Count::on_device(&count));
                let (keys_out, values_out) = (&mut keys_out, &mut values_out);
                unique.pairs(
                    &stream,
                    &keys,
                    &values,
                    count,
                    keys_out,
                    values_out,
                    &mut runs,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "run_lengths",
            arguments: &[
                "items",
                "count",
                "keys output",
                "lengths",
                "selected",
                "workspace",
            ],
            too_short: &[(
                "lengths",
                "the output of run_lengths: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let lengths_of = RunLengths::<u32>::new(&places.compiler(), places.context())?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("keys output", LEN);
                let mut lengths = places.zeros::<u32>("lengths", LEN);
                let mut runs = places.zeros::<u32>("selected", 1);
                let mut workspace = runs::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let (stream, count) = (places.stream(), Count::on_device(&count));
                lengths_of.items(
                    &stream,
                    &items,
                    count,
                    &mut keys_out,
                    &mut lengths,
                    &mut runs,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "reduce_by_key",
            arguments: &[
                "keys",
                "values",
                "count",
                "keys output",
                "values output",
                "selected",
                "workspace",
            ],
            too_short: &[(
                "values output",
                "the output of reduce_by_key: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let (compiler, context) = (&places.compiler(), places.context());
                let reduce = ReduceByKey::<u32, u32>::new(compiler, context, Operator::Sum)?;
                let keys = places.zeros::<u32>("keys", LEN);
                let values = places.zeros::<u32>("values", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("keys output", LEN);
                let mut values_out = places.zeros::<u32>("values output", LEN);
                let mut runs = places.zeros::<u32>("selected", 1);
                let mut workspace = runs::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let (stream, count) = (places.stream(), Count::on_device(&count));
                let (keys_out, values_out) = (&mut keys_out, &mut values_out);
                reduce.pairs(
                    &stream,
                    &keys,
                    &values,
                    count,
                    keys_out,
                    values_out,
                    &mut runs,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "scan_by_key",
            arguments: &["keys", "values", "count", "output", "workspace"],
            too_short: &[
                ("values", "the values of scan_by_key: 7 instead of 8"),
                (
                    "output",
                    "the output of scan_by_key: room for 7 items where up to 8 may be written; make it longer",
                ),
            ],
            run: |places| {
                let (compiler, context) = (&places.compiler(), places.context());
                let scan = ScanByKey::<u32, u32>::new(compiler, context, Operator::Sum)?;
                let keys = places.zeros::<u32>("keys", LEN);
                let values = places.zeros::<u32>("values", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace = runs::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                scan.inclusive(
                    &places.stream(),
                    &keys,
                    &values,
                    count,
                    &mut out,
                    &mut workspace,
                )
            },
        },
    ]
}

pub(crate) fn calls_that_fold() -> Vec<Call> {
    vec![
        Call {
            operation: "reduce",
            arguments: &["items", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of reduce: room for 0 items where up to 1 may be written; make it longer",
            )],
            run: |places| {
                let reduce =
                    Reduce::<u32>::new(&places.compiler(), places.context(), Operator::Sum)?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", 1);
                let mut workspace = reduce::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                reduce.items(&places.stream(), &items, count, &mut out, &mut workspace)
            },
        },
        Call {
            operation: "reduce",
            arguments: &["items", "count", "index", "output", "workspace"],
            too_short: &[(
                "index",
                "the index that reduce writes: room for 0 items where up to 1 may be written; make it longer",
            )],
            run: |places| {
                let search = ArgReduce::<u32>::new(
                    &places.compiler(),
                    places.context(),
                    reduce::Extreme::Min,
                )?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut index = places.zeros::<u32>("index", 1);
                let mut value = places.zeros::<u32>("output", 1);
                let mut workspace = reduce::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                search.items(
                    &places.stream(),
                    &items,
                    count,
                    &mut index,
                    &mut value,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "segmented_reduce",
            arguments: &["items", "offsets", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of segmented_reduce: room for 1 items where up to 2 may be written; make it longer",
            )],
            run: |places| {
                let (compiler, context) = (&places.compiler(), places.context());
                let reduce = SegmentedReduce::<u32>::new(compiler, context, Operator::Sum)?;
                let items = places.zeros::<u32>("items", LEN);
                let offsets = places.zeros::<u32>("offsets", 3);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", 2);
                let mut workspace =
                    segmented_reduce::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                reduce.by_offsets(
                    &places.stream(),
                    &items,
                    &offsets,
                    count,
                    &mut out,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "histogram",
            arguments: &["items", "count", "bounds", "output", "workspace"],
            too_short: &[
                (
                    "bounds",
                    "the bounds of histogram: 2000, where 2001 to 2001 are possible",
                ),
                (
                    "output",
                    "the output of histogram: room for 1999 items where up to 2000 may be written; make it longer",
                ),
            ],
            run: |places| {
                // So many bins are cleared first.
                let histogram = Histogram::<f32>::new(&places.compiler(), places.context(), 2000)?;
                let items = places.zeros::<f32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let bounds = places.zeros::<f32>("bounds", 2001);
                let mut out = places.zeros::<u32>("output", 2000);
                let mut workspace = histogram::Workspace::new(places.at("workspace"))?;
                let count = Count::on_device(&count);
                histogram.bounds(
                    &places.stream(),
                    &items,
                    count,
                    &bounds,
                    &mut out,
                    &mut workspace,
                )
            },
        },
    ]
}

pub(crate) fn calls_that_sort() -> Vec<Call> {
    vec![
        Call {
            operation: "segmented_sort",
            arguments: &["keys", "values", "offsets", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of segmented_sort: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let (compiler, context) = (&places.compiler(), places.context());
                let sort = SegmentedSort::<u32>::new(compiler, context, Order::Ascending)?;
                sort.prepare_pairs::<u32>()?;
                let keys = places.zeros::<u32>("keys", LEN);
                let values = places.zeros::<u32>("values", LEN);
                let offsets = places.zeros::<u32>("offsets", 3);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("output", LEN);
                let mut values_out = places.zeros::<u32>("output", LEN);
                let mut workspace =
                    segmented_sort::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let (stream, count) = (places.stream(), Count::on_device(&count));
                let (keys_out, values_out) = (&mut keys_out, &mut values_out);
                sort.pairs_by_offsets(
                    &stream,
                    &keys,
                    &values,
                    &offsets,
                    count,
                    keys_out,
                    values_out,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "merge_sort",
            arguments: &["items", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of merge_sort: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let before = "bool before(u32 a, u32 b) { return a < b; }";
                let compare = merge_sort::Comparison::new("less.cuh", before);
                let sort = MergeSort::<u32>::new(&places.compiler(), places.context(), &compare)?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace =
                    merge_sort::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                sort.items(&places.stream(), &items, count, &mut out, &mut workspace)
            },
        },
        Call {
            operation: "top_k",
            arguments: &[
                "keys",
                "count",
                "keys output",
                "indices output",
                "workspace",
            ],
            too_short: &[(
                "indices output",
                "the output of top_k: room for 1 items where up to 2 may be written; make it longer",
            )],
            run: |places| {
                let top =
                    TopK::<u32>::new(&places.compiler(), places.context(), Order::Descending)?;
                let keys = places.zeros::<u32>("keys", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("keys output", 2);
                let mut indices_out = places.zeros::<u32>("indices output", 2);
                let mut workspace =
                    top_k::Workspace::with_capacity(places.at("workspace"), LEN, 2)?;
                let (stream, count) = (places.stream(), Count::on_device(&count));
                top.keys_and_indices(
                    &stream,
                    &keys,
                    count,
                    2,
                    &mut keys_out,
                    &mut indices_out,
                    &mut workspace,
                )
            },
        },
    ]
}
