//! The scan strategies.

use crate::names::known_by_name;

/// The parallel algorithm of a scan on a GPU. The variants are ordered by year, oldest first.
///
/// All strategies give equal bits for integer sums, minima and maxima, and every strategy gives the same bits in every
/// run. The variants state their order of floating-point additions and their cost for n items.
///
/// ```
/// use compaction::scan::Strategy;
///
/// assert_eq!("raking".parse(), Ok(Strategy::Raking));
/// assert_eq!(Strategy::default().to_string(), "look-back");
/// assert!("racking".parse::<Strategy>().unwrap_err().to_string().contains("raking, look-back"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Hillis and Steele: step k combines each item with the item 2ᵏ places before it, from one buffer into another.
    ///
    /// It takes log₂ n launches over all items, n log₂ n combinations, and moves 2n log₂ n items to or from memory. (W.
    /// D. Hillis and G. L. Steele, "Data Parallel Algorithms", 1986.) Floating-point sums use this tree, which depends
    /// on the length alone.
    HillisSteele,
    /// Blelloch: sums go up a binary tree over the items, padded to a power of two, and prefixes come down the tree.
    ///
    /// It takes one launch per level and direction, with one thread per item, most of which are idle near the root: 2
    /// log₂ n launches and 2n combinations. (G. E. Blelloch, "Prefix Sums and Their Applications", 1990.)
    /// Floating-point sums use this tree, which depends on the length alone.
    Blelloch,
    /// [`Blelloch`](Self::Blelloch) with one thread per tree node instead of one per item, so that launches shrink
    /// towards the root.
    ///
    /// Floating-point sums have the bits of [`Blelloch`](Self::Blelloch).
    BlellochCompact,
    /// Block sums: blocks scan tiles in shared memory. The tiles' sums are scanned in the same way, level by level, and
    /// then added to the items of their tiles.
    ///
    /// It moves 4n items to or from memory. (M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with
    /// CUDA", GPU Gems 3, 2007.) Floating-point sums have the bits of the CPU implementation.
    BlockSums,
    /// Reduce-then-scan: an upsweep computes the tiles' sums, these are scanned, and a downsweep reads the items again
    /// and writes the prefixes.
    ///
    /// It moves 3n items to or from memory. (D. Merrill and A. Grimshaw, "Parallel Scan for Stream Architectures",
    /// 2009; S. Baxter, moderngpu, 2013.) Floating-point sums have the bits of the CPU implementation.
    Raking,
    /// Decoupled look-back: a single pass in one launch. A block sums its tile and then looks back over the sums of
    /// earlier tiles.
    ///
    /// It moves 2n items to or from memory. (D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with
    /// Decoupled Look-back", 2016.) Floating-point sums use a tree that depends on the length alone, not on the
    /// progress of other blocks.
    ///
    /// On GPUs of compute capability 9.0 or later, inputs of 32 MiB or more that are aligned to 16 bytes use persistent
    /// blocks instead. Each has separate warps for the steps of a tile ("decoupled look-ahead" in NVIDIA's CCCL, 2025).
    /// The result has the same bits.
    #[default]
    LookBack,
}

impl Strategy {
    /// All strategies, oldest first.
    pub const ALL: &[Self] = &[
        Self::HillisSteele,
        Self::Blelloch,
        Self::BlellochCompact,
        Self::BlockSums,
        Self::Raking,
        Self::LookBack,
    ];

    /// Returns the strategy's name as parsed and displayed, such as `look-back`.
    ///
    /// ```
    /// assert_eq!(compaction::scan::Strategy::BlockSums.name(), "block-sums");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::HillisSteele => "hillis-steele",
            Self::Blelloch => "blelloch",
            Self::BlellochCompact => "blelloch-compact",
            Self::BlockSums => "block-sums",
            Self::Raking => "raking",
            Self::LookBack => "look-back",
        }
    }
}

known_by_name!(Strategy, "scan strategy");
