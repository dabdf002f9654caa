//! The ways to compact, as values that can be named, listed and switched.

use crate::names::known_by_name;

/// How an operation finds out where each survivor goes.
///
/// Every strategy is there on the CPU and on CUDA. All keep the same items and count the same number of them; they
/// differ in the order, and in what it costs. On a GPU, for the indices of n flags of which k are set:
///
/// | strategy | launches | bytes that move | order of the survivors | same in every run |
/// |---|---|---|---|---|
/// | `look-back` | 1 | n + 4k | kept | yes |
/// | `count-scan-scatter`, `sequences` | 3 | 2n + 4k | kept | yes |
/// | `scan-scatter` | 3 | 10n + 4k | kept | yes |
/// | `hole-filling` | 2 | 2n + 4k, and the list of the holes | the last ones fill the holes | yes |
/// | `atomic` | 1 | n + 4k | kept within a tile | as a set |
/// | `off` | 1 | n + 4n | all stay in place | yes |
///
/// Why each came after the one before, and which to use when, is [told in the guide](crate::guide::select). Each has a
/// name, for command lines and tables:
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
    /// Keeps the order of the items, in a single pass: a block that has counted its tile looks back over the counts
    /// of the tiles before it (Merrill & Garland 2016). The result is the same in every run.
    #[default]
    LookBack,
    /// Counts, scans and scatters, in three launches: blocks count their survivors by a barrier that counts, the counts
    /// are scanned, and ballots rank each survivor in its block (D. Spataro, cuStreamComp, 2014). Keeps the order.
    CountScanScatter,
    /// Cuts the items into one sequence a warp: each warp counts its own, the counts are scanned, each warp compacts its
    /// own (Billeter, Olsson & Assarsson 2009). Keeps the order.
    Sequences,
    /// Scans all flags, an index an item, on balanced trees, and scatters by it (Harris, Sengupta & Owens, GPU Gems 3,
    /// chapter 39, 2007). Keeps the order; the one that moves the most bytes.
    ScanScatter,
    /// Leaves the survivors that stand among the first places where they are, and fills the holes between them with the
    /// last ones, the very last first. Not in order, but the same in every run. The one for
    /// [in place](crate::select::Select::in_place): it moves no more items than go.
    HoleFilling,
    /// Appends: each block reserves room for its survivors with one atomic addition. The order inside a block's tile
    /// is kept; the tiles come in any order, another one in every run.
    Atomic,
    /// Removes nothing: every item stays at its place, and those that would go are overwritten by all-one bits, which
    /// as an index is [`u32::MAX`]. The baseline that shows what compaction gains.
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

    /// Whether the survivors come in the order of the items.
    ///
    /// ```
    /// use compaction::select::Strategy;
    ///
    /// assert!(Strategy::LookBack.keeps_order() && !Strategy::HoleFilling.keeps_order());
    /// ```
    pub fn keeps_order(self) -> bool {
        !matches!(self, Self::HoleFilling | Self::Atomic)
    }

    /// Its name, as it is written and read.
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
