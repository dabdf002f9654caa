//! The ways to scan, as values that can be named, listed and switched.

use crate::names::known_by_name;

/// How a GPU comes to all prefixes, in the order in which the methods were found.
///
/// All give the same integers, minima and maxima, bit for bit. Of floating-point sums each says what it promises; in
/// each the result is the same in every run. For n items, "work" counts combinations and "bytes" what moves, in items.
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
    /// In step k each prefix of 2ᵏ items takes the one before it: log₂ n launches over all items, from one buffer into
    /// another. Work n log₂ n, bytes 2n log₂ n. (W. D. Hillis and G. L. Steele, "Data Parallel Algorithms", 1986.)
    ///
    /// Floating-point sums are combined by this tree, which the length fixes.
    HillisSteele,
    /// A binary tree over the items, padded to a power of two: sums go up, prefixes come down, a launch for each of its
    /// levels with a thread for every item, of which few work. Work 2n, launches 2 log₂ n. (G. E. Blelloch, "Prefix
    /// Sums and Their Applications", 1990.)
    ///
    /// Floating-point sums are combined by this tree, which the length fixes.
    Blelloch,
    /// As [`Blelloch`](Self::Blelloch), with a thread for each node: threads are numbered by nodes, and launches shrink
    /// towards the root.
    ///
    /// Floating-point sums have the bits of [`Blelloch`](Self::Blelloch).
    BlellochCompact,
    /// Blocks scan tiles within a multiprocessor, the tiles' sums are scanned in the same way, level by level, and added
    /// to their tiles. Bytes 4n. (M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU
    /// Gems 3, 2007.)
    ///
    /// Floating-point sums have the CPU's bits, by a fixed tree.
    BlockSums,
    /// Sums go up before anything is written: an upsweep reads the items for their tiles' sums, these are scanned, and
    /// a downsweep reads the items again, several a thread, and writes each prefix once. Bytes 3n. (D. Merrill and A.
    /// Grimshaw, "Parallel Scan for Stream Architectures", 2009; S. Baxter, moderngpu, 2013.)
    ///
    /// Floating-point sums have the CPU's bits, by a fixed tree.
    Raking,
    /// A single pass in one launch: a block that has summed its tile looks back over the sums of the tiles before it.
    /// Bytes 2n. (D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016.)
    ///
    /// From 32 MiB on, on GPUs of compute capability 9.0 and later, blocks stay instead and take one tile after the
    /// other, each of whose steps has warps of its own; what comes before a tile is then summed up from one of a
    /// block's tiles to its next ("decoupled look-ahead" in NVIDIA's CCCL, 2025). The result is the same, bit for bit.
    ///
    /// Floating-point sums are combined by a tree that the length fixes: unlike elsewhere, it does not depend on how
    /// far other blocks have come.
    #[default]
    LookBack,
}

impl Strategy {
    /// All strategies, the oldest first.
    pub const ALL: &[Self] = &[
        Self::HillisSteele,
        Self::Blelloch,
        Self::BlellochCompact,
        Self::BlockSums,
        Self::Raking,
        Self::LookBack,
    ];

    /// Its name, as it is written and read.
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
