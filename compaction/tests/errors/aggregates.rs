//! Calls that combine, count or sort items.

use compaction::{
    Count,
    histogram::{self, Histogram},
    merge_sort::{self, MergeSort},
    radix_sort::Order,
    reduce::{self, ArgReduce, Extreme, Reduce},
    runs::{self, ReduceByKey, RunLengths, ScanByKey, Unique, UniqueByKey},
    scan::Operator,
    segmented_reduce::{self, SegmentedReduce},
    segmented_sort::{self, SegmentedSort},
    top_k::{self, TopK},
};

use crate::calls::{Call, LEN, call};

pub(crate) fn calls_of_runs() -> Vec<Call> {
    vec![
        call! {
            "unique", items of Unique::<u32>::new, |stream| runs::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [LEN], runs "selected": u32 [1];
            "output": "the output of unique: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "unique_by_key", pairs of UniqueByKey::<u32, u32>::new,
            |stream| runs::Workspace::with_capacity(stream, LEN);
            keys "keys": u32 [LEN], values "values": u32 [LEN]
                => keys_out "keys output": u32 [LEN], values_out "values output": u32 [LEN], runs "selected": u32 [1];
            "values": "the values of unique_by_key: 7 instead of 8"
        },
        call! {
            "run_lengths", items of RunLengths::<u32>::new, |stream| runs::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN]
                => keys_out "keys output": u32 [LEN], lengths "lengths": u32 [LEN], runs "selected": u32 [1];
            "lengths": "the output of run_lengths: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "reduce_by_key", pairs of |compiler, context| {
                ReduceByKey::<u32, u32>::new(compiler, context, Operator::Sum)
            },
            |stream| runs::Workspace::with_capacity(stream, LEN);
            keys "keys": u32 [LEN], values "values": u32 [LEN]
                => keys_out "keys output": u32 [LEN], values_out "values output": u32 [LEN], runs "selected": u32 [1];
            "values output": "the output of reduce_by_key: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "scan_by_key", inclusive of |compiler, context| {
                ScanByKey::<u32, u32>::new(compiler, context, Operator::Sum)
            },
            |stream| runs::Workspace::with_capacity(stream, LEN);
            keys "keys": u32 [LEN], values "values": u32 [LEN] => out "output": u32 [LEN];
            "values": "the values of scan_by_key: 7 instead of 8",
            "output": "the output of scan_by_key: room for 7 items where up to 8 may be written; make it longer"
        },
    ]
}

pub(crate) fn calls_that_fold() -> Vec<Call> {
    vec![
        call! {
            "reduce", items of |compiler, context| Reduce::<u32>::new(compiler, context, Operator::Sum),
            |stream| reduce::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [1];
            "output": "the output of reduce: room for 0 items where up to 1 may be written; make it longer"
        },
        call! {
            "reduce", items of |compiler, context| ArgReduce::<u32>::new(compiler, context, Extreme::Min),
            |stream| reduce::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => index "index": u32 [1], value "output": u32 [1];
            "index": "the index that reduce writes: room for 0 items where up to 1 may be written; make it longer"
        },
        call! {
            "segmented_reduce", by_offsets of |compiler, context| {
                SegmentedReduce::<u32>::new(compiler, context, Operator::Sum)
            },
            |stream| segmented_reduce::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN], offsets "offsets": u32 [3] => out "output": u32 [2];
            "output": "the output of segmented_reduce: room for 1 items where up to 2 may be written; make it longer"
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
        call! {
            "segmented_sort", pairs_by_offsets of |compiler, context| {
                let sort = SegmentedSort::<u32>::new(compiler, context, Order::Ascending)?;
                sort.prepare_pairs::<u32>().map(|()| sort)
            },
            |stream| segmented_sort::Workspace::with_capacity(stream, LEN);
            keys "keys": u32 [LEN], values "values": u32 [LEN], offsets "offsets": u32 [3]
                => keys_out "output": u32 [LEN], values_out "output": u32 [LEN];
            "output": "the output of segmented_sort: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "merge_sort", items of |compiler, context| {
                let before = "bool before(u32 a, u32 b) { return a < b; }";
                let compare = merge_sort::Comparison::new("less.cuh", before);
                MergeSort::<u32>::new(compiler, context, &compare)
            },
            |stream| merge_sort::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [LEN];
            "output": "the output of merge_sort: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "top_k", keys_and_indices of |compiler, context| TopK::<u32>::new(compiler, context, Order::Descending),
            |stream| top_k::Workspace::with_capacity(stream, LEN, 2);
            keys "keys": u32 [LEN]; parameter 2
                => keys_out "keys output": u32 [2], indices_out "indices output": u32 [2];
            "indices output": "the output of top_k: room for 1 items where up to 2 may be written; make it longer"
        },
    ]
}
