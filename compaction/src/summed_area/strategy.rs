//! The strategies for summed-area tables.

use crate::names::known_by_name;

/// The algorithm that computes a summed-area table on a GPU. The variants are ordered by age, oldest first.
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
    /// Scans the rows, transposes the table, scans the former columns, and transposes back, in four launches. Each
    /// launch reads and writes the whole table.
    ScanTranspose,
    /// Decoupled look-back in two directions, in one launch that reads and writes the table once. A block sums its
    /// tile, and then looks back over the sums of the tiles to the left and then of those above.
    ///
    /// (Y. Emoto, S. Funasaka, H. Tokura, T. Honda, K. Nakano and Y. Ito, "An Optimal Parallel Algorithm for Computing
    /// the Summed Area Table on the GPU", 2018, without its diagonal order.)
    #[default]
    SinglePass,
}

impl Strategy {
    /// All strategies, oldest first.
    pub const ALL: &[Self] = &[Self::ScanTranspose, Self::SinglePass];

    /// Returns the strategy's name as parsed and displayed: `scan-transpose` or `single-pass`.
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
