//! The rows of the table, printed as text and written as CSV.

use std::fmt::Write;

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

/// The input of every method.
pub(crate) struct Case {
    pub(crate) items: usize,
    /// Share of items that are kept, in percent.
    pub(crate) percent: u32,
    /// Whether this is the first input of its length; methods that keep all items are timed only for that one.
    pub(crate) is_first: bool,
}

impl Case {
    /// Draws a flag for each item, independently.
    pub(crate) fn flags(&self) -> Vec<u8> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        (0..self.items)
            .map(|_| u8::from(random.random_range(0..100) < self.percent))
            .collect()
    }
}

/// The time of one method.
pub(crate) struct Row {
    /// "CPU" or the GPU's name.
    pub(crate) machine: String,
    /// The operation: "scan", "indices" or "u32".
    pub(crate) work: &'static str,
    pub(crate) method: &'static str,
    pub(crate) items: usize,
    /// Share of items that are kept, in percent; `None` if all are.
    pub(crate) percent: Option<u32>,
    pub(crate) microseconds: f64,
    /// Time of a copy of the same bytes, in microseconds.
    pub(crate) copy_microseconds: f64,
    /// Bytes that the operation must move, independent of the method.
    pub(crate) bytes: usize,
}

/// Returns the median of the times.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Whether an error says that a GPU has too little memory.
pub(crate) fn is_out_of_memory(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(
        error.downcast_ref(),
        Some(compaction::Error::OutOfMemory { .. })
    )
}

pub(crate) fn print_head() {
    println!(
        "{:12} {:8} {:20} {:>10} {:>6} {:>11} {:>8} {:>8}",
        "machine", "work", "method", "items", "keep", "µs", "GB/s", "of copy"
    );
}

impl Row {
    /// Returns the time of the copy in percent of this time.
    fn share(&self) -> f64 {
        100.0 * self.copy_microseconds / self.microseconds
    }

    fn gigabytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.microseconds / 1000.0
    }

    pub(crate) fn print(&self) {
        println!(
            "{:12} {:8} {:20} {:>10} {:>6} {:>11.1} {:>8.1} {:>6.0} %",
            self.machine,
            self.work,
            self.method,
            self.items,
            self.percent
                .map_or_else(String::new, |percent| format!("{percent} %")),
            self.microseconds,
            self.gigabytes_per_second(),
            self.share(),
        );
    }
}

pub(crate) fn csv(rows: &[Row]) -> String {
    let mut csv = String::from(
        "machine,work,method,items,keep_percent,microseconds,bytes,copy_microseconds\n",
    );
    for row in rows {
        let Row {
            machine,
            work,
            method,
            items,
            percent,
            microseconds,
            bytes,
            copy_microseconds,
        } = row;
        let percent = percent.map_or_else(String::new, |percent| percent.to_string());
        let _ = writeln!(
            csv,
            "{machine},{work},{method},{items},{percent},{microseconds:.3},{bytes},{copy_microseconds:.3}"
        );
    }
    csv
}
