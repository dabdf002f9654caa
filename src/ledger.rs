//! What is kept of each pixel beside the film's sums, where pixels get samples until they are good.

use xxhash_rust::xxh3::Xxh3;

use crate::history::{History, is_done};

/// Each pixel's samples, and what is known of its noise, rows from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// How many samples it has.
    pub taken: Vec<u32>,
    /// The film's sums when it was judged last, three channels a pixel.
    pub marks: Vec<u64>,
    /// What was found then.
    pub histories: Vec<History>,
}

impl Ledger {
    /// Before the first sample.
    pub fn new(pixel_count: u32) -> Ledger {
        Ledger {
            taken: vec![0; pixel_count as usize],
            marks: vec![0; 3 * pixel_count as usize],
            histories: vec![History::default(); pixel_count as usize],
        }
    }

    /// Those of these pixels that are not done, in their order.
    pub(crate) fn unfinished(&self, pixels: &[u32]) -> Vec<u32> {
        let left = |&&pixel: &&u32| !is_done(&self.histories[pixel as usize]);
        pixels.iter().filter(left).copied().collect()
    }

    /// Hash of all of it, 32 hexadecimal digits (XXH3, 128 bits).
    pub(crate) fn hash(&self) -> String {
        let mut hash = Xxh3::new();
        for chunk in self.taken.chunks(1 << 12) {
            hash.update(bytemuck::cast_slice(&little(chunk, u32::to_le)));
        }
        for chunk in self.marks.chunks(1 << 12) {
            hash.update(bytemuck::cast_slice(&little(chunk, u64::to_le)));
        }
        for chunk in self.histories.chunks(1 << 12) {
            let words: &[u32] = bytemuck::cast_slice(chunk);
            hash.update(bytemuck::cast_slice(&little(words, u32::to_le)));
        }
        format!("{:032x}", hash.digest128())
    }
}

/// The words as all machines write them.
fn little<T: Copy>(words: &[T], of: fn(T) -> T) -> Vec<T> {
    words.iter().map(|&word| of(word)).collect()
}
