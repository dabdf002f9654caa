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
        Call {
            operation: "select",
            arguments: &["flags", "count", "output", "selected", "workspace"],
            too_short: &[
                (
                    "count",
                    "the words of the count that select reads: 0 instead of 1",
                ),
                (
                    "selected",
                    "the words of the count that select writes: room for 0 items where up to 1 may be written; make it longer",
                ),
            ],
            run: |places| {
                let select = Select::new(&places.compiler(), places.context(), Strategy::LookBack)?;
                let flags = places.zeros::<u8>("flags", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace = select::Workspace::with_capacity(places.at("workspace"), LEN)?;
                select.indices(
                    &places.stream(),
                    &flags,
                    Count::on_device(&count),
                    &mut out,
                    &mut selected,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "select",
            arguments: &["items", "flags", "count", "output", "selected", "workspace"],
            too_short: &[("items", "the items of select: 7 instead of 8")],
            run: |places| {
                let select = Select::new(&places.compiler(), places.context(), Strategy::LookBack)?;
                let items = places.zeros::<u32>("items", LEN);
                let flags = places.zeros::<u8>("flags", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace = select::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                select.items(
                    &places.stream(),
                    &items,
                    &flags,
                    count,
                    &mut out,
                    &mut selected,
                    &mut workspace,
                )
            },
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
        Call {
            operation: "select",
            arguments: &["items", "count", "output", "selected", "workspace"],
            too_short: &[],
            run: |places| {
                let select = odd(places)?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace = select::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                select.items(
                    &places.stream(),
                    &items,
                    count,
                    &mut out,
                    &mut selected,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "select",
            arguments: &["items", "count", "flags", "workspace"],
            too_short: &[(
                "flags",
                "the flags of select: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let select = odd(places)?;
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

fn odd(places: &Places<'_>) -> Result<SelectIf<u32>> {
    let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    SelectIf::new(&places.compiler(), places.context(), &odd)
}

fn moving_calls() -> Vec<Call> {
    vec![
        Call {
            operation: "partition",
            arguments: &["flags", "count", "output", "selected", "workspace"],
            too_short: &[(
                "output",
                "the output of partition: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let partition = Partition::new(&places.compiler(), places.context())?;
                let flags = places.zeros::<u8>("flags", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace =
                    partition::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                partition.indices(
                    &places.stream(),
                    &flags,
                    count,
                    &mut out,
                    &mut selected,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "partition",
            arguments: &["items", "flags", "count", "output", "selected", "workspace"],
            too_short: &[("items", "the items of partition: 7 instead of 8")],
            run: |places| {
                let partition = Partition::new(&places.compiler(), places.context())?;
                let items = places.zeros::<u32>("items", LEN);
                let flags = places.zeros::<u8>("flags", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut selected = places.zeros::<u32>("selected", 1);
                let mut workspace =
                    partition::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                partition.items(
                    &places.stream(),
                    &items,
                    &flags,
                    count,
                    &mut out,
                    &mut selected,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "partition",
            arguments: &["keys", "count", "output", "starts", "workspace"],
            too_short: &[(
                "output",
                "the output of partition: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let classes = Classes::new(&places.compiler(), places.context(), 3)?;
                let keys = places.zeros::<u8>("keys", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut starts = places.zeros::<u32>("starts", 4);
                let mut workspace =
                    partition::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                classes.indices(
                    &places.stream(),
                    &keys,
                    count,
                    &mut out,
                    &mut starts,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "gather",
            arguments: &["items", "indices", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of gather: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let gather = Gather::<u32>::new(&places.compiler(), places.context())?;
                let items = places.zeros::<u32>("items", LEN);
                let indices = places.zeros::<u32>("indices", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace = gather::Workspace::new(places.at("workspace"))?;
                let count = Count::on_device(&count);
                gather.items(
                    &places.stream(),
                    &items,
                    &indices,
                    count,
                    &mut out,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "scatter",
            arguments: &["items", "indices", "count", "output", "workspace"],
            too_short: &[("items", "the items of scatter: 7 instead of 8")],
            run: |places| {
                let scatter = Scatter::<u32>::new(&places.compiler(), places.context())?;
                let items = places.zeros::<u32>("items", LEN);
                let indices = places.zeros::<u32>("indices", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace = gather::Workspace::new(places.at("workspace"))?;
                let count = Count::on_device(&count);
                scatter.items(
                    &places.stream(),
                    &items,
                    &indices,
                    count,
                    &mut out,
                    &mut workspace,
                )
            },
        },
    ]
}

fn combining_calls() -> Vec<Call> {
    vec![
        Call {
            operation: "scan",
            arguments: &["items", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of scan: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let (operator, strategy) = (Operator::Sum, scan::Strategy::LookBack);
                let scan =
                    Scan::<u32>::new(&places.compiler(), places.context(), operator, strategy)?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace = scan::Workspace::with_capacity(places.at("workspace"), LEN)?;
                scan.inclusive(
                    &places.stream(),
                    &items,
                    Count::on_device(&count),
                    &mut out,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "custom_scan",
            arguments: &["items", "count", "output", "total", "workspace"],
            too_short: &[
                (
                    "output",
                    "the output of custom_scan: room for 7 items where up to 8 may be written; make it longer",
                ),
                (
                    "total",
                    "the total of custom_scan: room for 0 items where up to 1 may be written; make it longer",
                ),
            ],
            run: |places| {
                let scan = CustomScan::<u32>::new(&places.compiler(), places.context(), &or())?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut total = places.zeros::<u32>("total", 1);
                let mut workspace = custom::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                scan.exclusive_with_total(
                    &places.stream(),
                    &items,
                    count,
                    &mut out,
                    &mut total,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "custom_reduce",
            arguments: &["items", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of custom_reduce: room for 0 items where up to 1 may be written; make it longer",
            )],
            run: |places| {
                let reduce = CustomReduce::<u32>::new(&places.compiler(), places.context(), &or())?;
                let items = places.zeros::<u32>("items", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", 1);
                let mut workspace = custom::Workspace::with_capacity(places.at("workspace"), LEN)?;
                reduce.items(
                    &places.stream(),
                    &items,
                    Count::on_device(&count),
                    &mut out,
                    &mut workspace,
                )
            },
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
        Call {
            operation: "radix_sort",
            arguments: &["keys", "count", "output", "workspace"],
            too_short: &[(
                "output",
                "the output of radix_sort: room for 7 items where up to 8 may be written; make it longer",
            )],
            run: |places| {
                let sort = radix_sort(places)?;
                let keys = places.zeros::<u32>("keys", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut out = places.zeros::<u32>("output", LEN);
                let mut workspace =
                    radix_sort::Workspace::<u32>::with_capacity(places.at("workspace"), LEN)?;
                sort.keys(
                    &places.stream(),
                    &keys,
                    Count::on_device(&count),
                    &mut out,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "radix_sort",
            arguments: &[
                "keys",
                "values",
                "count",
                "keys output",
                "values output",
                "workspace",
            ],
            too_short: &[("values", "the values of radix_sort: 7 instead of 8")],
            run: |places| {
                let sort = radix_sort(places)?;
                sort.prepare_pairs::<u32>()?;
                let keys = places.zeros::<u32>("keys", LEN);
                let values = places.zeros::<u32>("values", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("keys output", LEN);
                let mut values_out = places.zeros::<u32>("values output", LEN);
                let mut workspace =
                    radix_sort::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let (stream, count) = (places.stream(), Count::on_device(&count));
                sort.pairs(
                    &stream,
                    &keys,
                    &values,
                    count,
                    &mut keys_out,
                    &mut values_out,
                    &mut workspace,
                )
            },
        },
        Call {
            operation: "radix_sort",
            arguments: &[
                "keys",
                "count",
                "keys output",
                "indices output",
                "workspace",
            ],
            too_short: &[],
            run: |places| {
                let sort = radix_sort(places)?;
                sort.prepare_argsort::<u32>()?;
                let keys = places.zeros::<u32>("keys", LEN);
                let count = places.zeros::<u32>("count", 1);
                let mut keys_out = places.zeros::<u32>("keys output", LEN);
                let mut indices_out = places.zeros::<u32>("indices output", LEN);
                let mut workspace =
                    radix_sort::Workspace::with_capacity(places.at("workspace"), LEN)?;
                let count = Count::on_device(&count);
                sort.argsort(
                    &places.stream(),
                    &keys,
                    count,
                    &mut keys_out,
                    &mut indices_out,
                    &mut workspace,
                )
            },
        },
    ]
}

fn radix_sort(places: &Places<'_>) -> Result<RadixSort<u32>> {
    let strategy = radix_sort::Strategy::Onesweep;
    RadixSort::new(
        &places.compiler(),
        places.context(),
        Order::Ascending,
        strategy,
    )
}
