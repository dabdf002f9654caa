//! The operations, in groups that share a file of CUB's calls.

mod histogram;
mod reduce;
mod runs;
mod merge;
mod operators;
mod scan;
mod segments;
mod select;
mod sort;
mod tables;

use crate::{Result, bench::Bench};

/// Operations whose CUB calls are in one file.
pub(crate) struct Group {
    /// The name on the command line and of the file in `docs/peers/cub`.
    pub(crate) name: &'static str,
    /// The heading of the table.
    pub(crate) title: &'static str,
    /// Times all rows with this power of two as number of items.
    pub(crate) rows: fn(&mut Bench, u32) -> Result<()>,
}

/// All groups, in the order of the tables.
pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: "select",
        title: "Select, partition and columns",
        rows: select::rows,
    },
    Group {
        name: "scan",
        title: "Exclusive sum",
        rows: scan::rows,
    },
    Group {
        name: "sort",
        title: "Radix sort and classes",
        rows: sort::rows,
    },
    Group {
        name: "reduce",
        title: "Reductions",
        rows: reduce::rows,
    },
    Group {
        name: "runs",
        title: "Runs of 8 equal keys",
        rows: runs::rows,
    },
    Group {
        name: "histogram",
        title: "Histograms",
        rows: histogram::rows,
    },
    Group {
        name: "segments",
        title: "Segments of 64 items",
        rows: segments::rows,
    },
    Group {
        name: "merge",
        title: "Merge sort",
        rows: merge::rows,
    },
    Group {
        name: "operators",
        title: "Sums by an operator of the user's own",
        rows: operators::rows,
    },
    Group {
        name: "tables",
        title: "Summed-area tables",
        rows: tables::rows,
    },
];
