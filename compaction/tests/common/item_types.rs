//! Item types of many sizes and alignments.

#![allow(dead_code, reason = "not every test program uses every item type")]

compaction::shared! {
    /// 12 bytes aligned to 4, copied by 4-byte words.
    pub struct Words3 {
        /// Arbitrary bits.
        pub words: [u32; 3],
    }
    /// 16 bytes aligned to 4, copied by one vector if both buffers are aligned to 16.
    pub struct Words4 {
        /// Arbitrary bits.
        pub words: [u32; 4],
    }
    /// 24 bytes aligned to 4, copied by 8-byte vectors if both buffers are aligned to 8.
    pub struct Words6 {
        /// Arbitrary bits.
        pub words: [u32; 6],
    }
    /// 64 bytes aligned to 4: the widest item.
    pub struct Words16 {
        /// Arbitrary bits.
        pub words: [u32; 16],
    }
    /// 7 bytes aligned to 1.
    pub struct Bytes7 {
        /// Arbitrary bits.
        pub bytes: [u8; 7],
    }
    /// 10 bytes aligned to 2.
    pub struct Halves5 {
        /// Arbitrary bits.
        pub halves: [u16; 5],
    }
}
