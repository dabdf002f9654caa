//! The strategies of stream compaction.

use crate::names::known_by_name;

/// The algorithm that finds the output index of each selected item (survivor).
///
/// Every strategy exists on the CPU and on GPUs. All select the same items and return the same count, and they differ
/// in order and cost. On a GPU, for the indices of n flags of which k are set:
///
/// | strategy | launches | bytes moved | order of the survivors | same in every run |
/// |---|---|---|---|---|
/// | `look-back` | 1 | n + 4k | kept | yes |
/// | `count-scan-scatter`, `sequences` | 3 | 2n + 4k | kept | yes |
/// | `scan-scatter` | 3 | 10n + 4k | kept | yes |
/// | `hole-filling` | 2 | 2n + 4k, and the list of holes | the last survivors fill the holes | yes |
/// | `atomic` | 1 | n + 4k | kept within a tile only | as a set |
/// | `off` | 1 | n + 4n | survivors keep their indices, and all-one bits replace rejected items | yes |
///
/// The [guide](crate::guide::select) explains how the methods developed and which to use when. Each strategy has a name
/// for command lines and tables:
///
/// ```
/// use compaction::select::Strategy;
///
/// assert_eq!("atomic".parse(), Ok(Strategy::Atomic));
/// assert_eq!(Strategy::default().to_string(), "look-back");
/// let error = "atmic".parse::<Strategy>().unwrap_err().to_string();
/// assert!(error.starts_with("no compaction strategy is named \"atmic\"; there are look-back, count-scan-scatter,"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Decoupled look-back in a single pass: a block counts its tile and then looks back over the counts of earlier
    /// tiles (Merrill & Garland 2016).
    ///
    /// Keeps the order; the result is the same in every run.
    #[default]
    LookBack,
    /// Three launches: blocks count their survivors with a counting barrier, the counts are scanned, and each block
    /// ranks its survivors by ballots (D. Spataro, cuStreamComp, 2014).
    ///
    /// Keeps the order.
    CountScanScatter,
    /// Three launches over one run of items per warp: each warp counts its survivors, the counts are scanned, and each
    /// warp compacts its run (Billeter, Olsson & Assarsson 2009).
    ///
    /// Keeps the order.
    Sequences,
    /// Scans all flags to one rank per item with balanced trees, then scatters the survivors by rank, in three launches
    /// (Harris, Sengupta & Owens, GPU Gems 3, chapter 39, 2007).
    ///
    /// Keeps the order, and moves the most bytes of all strategies.
    ScanScatter,
    /// Hole filling: of k survivors, those among the first k items stay in place, and the last survivors fill the holes
    /// between them, the very last first.
    ///
    /// Does not keep the order, but gives the same result in every run. Best for
    /// [in-place](crate::select::Select::in_place) compaction, because it moves at most as many items as are removed.
    HoleFilling,
    /// Appends: each block reserves output space for its survivors with one atomic addition.
    ///
    /// Keeps the order within a tile; the order of the tiles differs between runs.
    Atomic,
    /// Removes nothing: survivors stay at their indices and rejected items are overwritten with all-one bits, which as
    /// a `u32` index is [`u32::MAX`].
    ///
    /// A baseline for measuring what compaction gains.
    Off,
}

impl Strategy {
    /// All strategies, the default first.
    pub const ALL: &[Self] = &[
        Self::LookBack,
        Self::CountScanScatter,
        Self::Sequences,
        Self::ScanScatter,
        Self::HoleFilling,
        Self::Atomic,
        Self::Off,
    ];

    /// Returns whether the survivors keep the order of the items.
    ///
    /// ```
    /// use compaction::select::Strategy;
    ///
    /// assert!(Strategy::LookBack.keeps_order() && !Strategy::HoleFilling.keeps_order());
    /// ```
    pub fn keeps_order(self) -> bool {
        !matches!(self, Self::HoleFilling | Self::Atomic)
    }

    /// Returns the strategy's name as parsed and displayed, such as `look-back`.
    ///
    /// ```
    /// use compaction::select::Strategy;
    ///
    /// assert_eq!(Strategy::HoleFilling.name(), "hole-filling");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::LookBack => "look-back",
            Self::CountScanScatter => "count-scan-scatter",
            Self::Sequences => "sequences",
            Self::ScanScatter => "scan-scatter",
            Self::HoleFilling => "hole-filling",
            Self::Atomic => "atomic",
            Self::Off => "off",
        }
    }
}

known_by_name!(Strategy, "compaction strategy");
