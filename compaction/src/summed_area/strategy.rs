//! The ways to make a summed-area table, as values that can be named, listed and switched.

use crate::names::known_by_name;

/// How a GPU makes a summed-area table.
///
/// ```
/// use compaction::summed_area::Strategy;
///
/// assert_eq!("scan-transpose".parse(), Ok(Strategy::ScanTranspose));
/// assert_eq!(Strategy::default().to_string(), "single-pass");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Scans the rows, transposes, scans what were the columns, and transposes back: four launches that each read and
    /// write the table.
    ScanTranspose,
    /// Reads and writes the table once, in one launch: a block that has summed its tile looks back, to the left and
    /// then up, over the sums of other tiles. (Y. Emoto, S. Funasaka, H. Tokura, T. Honda, K. Nakano and Y. Ito, "An
    /// Optimal Parallel Algorithm for Computing the Summed Area Table on the GPU", 2018, without its diagonal.)
    #[default]
    SinglePass,
}

impl Strategy {
    /// All strategies, the oldest first.
    pub const ALL: &[Self] = &[Self::ScanTranspose, Self::SinglePass];

    /// Its name, as it is written and read.
    ///
    /// ```
    /// assert_eq!(compaction::summed_area::Strategy::SinglePass.name(), "single-pass");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::ScanTranspose => "scan-transpose",
            Self::SinglePass => "single-pass",
        }
    }
}

known_by_name!(Strategy, "summed-area strategy");
