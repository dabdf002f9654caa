//! All calls, with the names of their arguments in errors.

use compaction::{
    Count, Result,
    custom::{self, CustomOperator, CustomReduce, CustomScan},
    gather::{self, Gather, Scatter},
    partition::{self, Classes, Partition},
    radix_sort::{self, Order, RadixSort},
    scan::{self, Operator, Scan},
    select::{self, Predicate, Select, SelectIf, Strategy},
    select_columns::{self, Column, SelectColumns},
    summed_area::{self, SummedArea},
};

use crate::{aggregates, places::Places};

/// A call on eight items.
pub(crate) struct Call {
    /// The name of the operation in errors.
    pub(crate) operation: &'static str,
    /// The names of the arguments in device memory.
    pub(crate) arguments: &'static [&'static str],
    /// Arguments that may be too short, with the error if they have one item less than they need.
    pub(crate) too_short: &'static [(&'static str, &'static str)],
    /// Makes the call.
    pub(crate) run: fn(&Places<'_>) -> Result<()>,
}

pub(crate) const LEN: usize = 8;

/// Builds a [`Call`] of a method of an operation, which `$new` creates, with a workspace that `$workspace` creates.
///
/// The method takes the stream, the inputs before the arrow, a count in device memory, parameters, the outputs behind the
/// arrow, and the workspace. Each buffer has its name in errors, its type and its length.
macro_rules! call {
    (
        $operation:literal, $method:ident of $new:expr, $workspace:expr;
        $($input:ident $input_name:literal: $input_type:ty [$input_len:expr]),+ $(; parameter $parameter:expr)?
            => $($output:ident $output_name:literal: $output_type:ty [$output_len:expr]),+;
        $($short:literal: $line:literal),*
    ) => {
        $crate::calls::Call {
            operation: $operation,
            arguments: &[$($input_name,)+ "count", $($output_name,)+ "workspace"],
            too_short: &[$(($short, $line)),*],
            run: |places| {
                let operation = $new(&places.compiler(), places.context())?;
                $(let $input = places.zeros::<$input_type>($input_name, $input_len);)+
                let count = places.zeros::<u32>("count", 1);
                $(let mut $output = places.zeros::<$output_type>($output_name, $output_len);)+
                let mut workspace = $workspace(places.at("workspace"))?;
                let stream = places.stream();
                operation.$method(
                    &stream,
                    $(&$input,)+
                    Count::on_device(&count),
                    $($parameter,)?
                    $(&mut $output,)+
                    &mut workspace,
                )
            },
        }
    };
}
pub(crate) use call;

pub(crate) fn all() -> Vec<Call> {
    let groups = [
        select_calls(),
        moving_calls(),
        combining_calls(),
        sorting_calls(),
        aggregates::calls_of_runs(),
        aggregates::calls_that_fold(),
        aggregates::calls_that_sort(),
    ];
    groups.into_iter().flatten().collect()
}

fn select_calls() -> Vec<Call> {
    vec![
        call! {
            "select", indices of |compiler, context| Select::new(compiler, context, Strategy::LookBack),
            |stream| select::Workspace::with_capacity(stream, LEN);
            flags "flags": u8 [LEN] => out "output": u32 [LEN], selected "selected": u32 [1];
            "count": "the words of the count that select reads: 0 instead of 1",
            "selected": "the words of the count that select writes: room for 0 items where up to 1 may be written; make it longer"
        },
        call! {
            "select", items of |compiler, context| Select::new(compiler, context, Strategy::LookBack),
            |stream| select::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN], flags "flags": u8 [LEN] => out "output": u32 [LEN], selected "selected": u32 [1];
            "items": "the items of select: 7 instead of 8"
        },
        Call {
            operation: "select",
            arguments: &["items", "flags", "count", "selected", "workspace"],
            too_short: &[("items", "the items of select: 7 instead of 8")],
            run: |places| {
                let select = Select::new(&places.compiler(), places.context(), Strategy::LookBack)?;
                select.prepare_in_place::<u32, u32>()?;
                let mut items = places.zeros::<u32>("items", LEN);
                let flags = places.zeros::<u8>("flags", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace = select::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                select.in_place(
                    &places.stream(),
                    &mut items,
                    &flags,
                    count,
                    &mut selected,
                    &mut workspace,
                )
            },
        },
        call! {
            "select", items of |compiler, context| SelectIf::<u32>::new(compiler, context, &odd()),
            |stream| select::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [LEN], selected "selected": u32 [1];
        },
        Call {
            operation: "select",
            arguments: &["items", "count", "flags", "workspace"],
            too_short: &[(
                "flags",
                "the flags of select: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let select = SelectIf::<u32>::new(&places.compiler(), places.context(), &odd())?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut flags = places.zeros::<u8>("flags", LEN);
                let workspace = select::Workspace::with_capacity(places.at("workspace"), LEN)?;
                select.flags(
                    &places.stream(),
                    &items,
                    Count::on_device(&count),
                    &mut flags,
                    &workspace,
                )
            },
        },
        Call {
            operation: "select_columns",
            arguments: &[
                "flags",
                "count",
                "column",
                "output",
                "selected",
                "workspace",
            ],
            too_short: &[("column", "a column of select_columns: 7 instead of 8")],
            run: |places| {
                let select = SelectColumns::new(&places.compiler(), places.context(), &[4])?;
                let flags = places.zeros::<u8>("flags", LEN);
                let count = places.zeros::<u32>("count", 1);
                let column = places.zeros::<u32>("column", LEN);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace =
                    select_columns::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let columns = &mut [Column::new(&column, &mut out)?];
                let count = Count::on_device(&count);
                select.columns(
                    &places.stream(),
                    &flags,
                    count,
                    columns,
                    &mut selected,
                    &mut workspace,
                )
            },
        },
    ]
}

fn odd() -> Predicate {
    Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }")
}

fn moving_calls() -> Vec<Call> {
    vec![
        call! {
            "partition", indices of Partition::new, |stream| partition::Workspace::with_capacity(stream, LEN);
            flags "flags": u8 [LEN] => out "output": u32 [LEN], selected "selected": u32 [1];
            "output": "the output of partition: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "partition", items of Partition::new, |stream| partition::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN], flags "flags": u8 [LEN] => out "output": u32 [LEN], selected "selected": u32 [1];
            "items": "the items of partition: 7 instead of 8"
        },
        call! {
            "partition", indices of |compiler, context| Classes::new(compiler, context, 3),
            |stream| partition::Workspace::with_capacity(stream, LEN);
            keys "keys": u8 [LEN] => out "output": u32 [LEN], starts "starts": u32 [4];
            "output": "the output of partition: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "gather", items of Gather::<u32>::new, gather::Workspace::new;
            items "items": u32 [LEN], indices "indices": u32 [LEN] => out "output": u32 [LEN];
            "output": "the output of gather: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "scatter", items of Scatter::<u32>::new, gather::Workspace::new;
            items "items": u32 [LEN], indices "indices": u32 [LEN] => out "output": u32 [LEN];
            "items": "the items of scatter: 7 instead of 8"
        },
    ]
}

fn combining_calls() -> Vec<Call> {
    vec![
        call! {
            "scan", inclusive of |compiler, context| {
                Scan::<u32>::new(compiler, context, Operator::Sum, scan::Strategy::LookBack)
            },
            |stream| scan::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [LEN];
            "output": "the output of scan: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "custom_scan", exclusive_with_total of |compiler, context| CustomScan::<u32>::new(compiler, context, &or()),
            |stream| custom::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [LEN], total "total": u32 [1];
            "output": "the output of custom_scan: room for 7 items where up to 8 may be written; make it longer",
            "total": "the total of custom_scan: room for 0 items where up to 1 may be written; make it longer"
        },
        call! {
            "custom_reduce", items of |compiler, context| CustomReduce::<u32>::new(compiler, context, &or()),
            |stream| custom::Workspace::with_capacity(stream, LEN);
            items "items": u32 [LEN] => out "output": u32 [1];
            "output": "the output of custom_reduce: room for 0 items where up to 1 may be written; make it longer"
        },
        Call {
            operation: "summed_area",
            arguments: &["items", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of summed_area: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let strategy = summed_area::Strategy::SinglePass;
                let tables =
                    SummedArea::<u32>::new(&places.compiler(), places.context(), strategy)?;
                let items = places.zeros::<u32>("items", LEN);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace =
                    summed_area::Workspace::with_capacity(places.at("workspace"), (4, 2))?;
                tables.table(&places.stream(), &items, (4, 2), &mut out, &mut workspace)
            },
        },
    ]
}

fn or() -> CustomOperator<u32> {
    CustomOperator::new(
        "or.cuh",
        "u32 combine(u32 a, u32 b) { return a | b; }",
        0_u32,
    )
    .exact()
}

fn sorting_calls() -> Vec<Call> {
    vec![
        call! {
            "radix_sort", keys of |compiler, context| {
                RadixSort::<u32>::new(compiler, context, Order::Ascending, radix_sort::Strategy::Onesweep)
            },
            |stream| radix_sort::Workspace::<u32>::with_capacity(stream, LEN);
            keys "keys": u32 [LEN] => out "output": u32 [LEN];
            "output": "the output of radix_sort: room for 7 items where up to 8 may be written; make it longer"
        },
        call! {
            "radix_sort", pairs of |compiler, context| {
                let strategy = radix_sort::Strategy::Onesweep;
                let sort = RadixSort::<u32>::new(compiler, context, Order::Ascending, strategy)?;
                sort.prepare_pairs::<u32>().map(|()| sort)
            },
            |stream| radix_sort::Workspace::with_capacity(stream, LEN);
            keys "keys": u32 [LEN], values "values": u32 [LEN]
                => keys_out "keys output": u32 [LEN], values_out "values output": u32 [LEN];
            "values": "the values of radix_sort: 7 instead of 8"
        },
        call! {
            "radix_sort", argsort of |compiler, context| {
                let strategy = radix_sort::Strategy::Onesweep;
                let sort = RadixSort::<u32>::new(compiler, context, Order::Ascending, strategy)?;
                sort.prepare_argsort::<u32>().map(|()| sort)
            },
            |stream| radix_sort::Workspace::with_capacity(stream, LEN);
            keys "keys": u32 [LEN] => keys_out "keys output": u32 [LEN], indices_out "indices output": u32 [LEN];
        },
    ]
}
