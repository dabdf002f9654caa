//! The hasher of scenes and materials.

use glam::Vec3;
use xxhash_rust::xxh3::Xxh3;

/// A 128-bit XXH3 hasher of numbers and vectors as little-endian bytes, so that hashes agree on every machine.
#[derive(Default)]
pub(crate) struct Hasher(Xxh3);

impl Hasher {
    /// Adds bytes as they are, without their length.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds an integer as 8 little-endian bytes.
    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds the bits of each float as 4 bytes, so that 0 and −0 differ.
    pub(crate) fn floats<const COUNT: usize>(&mut self, floats: [f32; COUNT]) {
        let bytes = floats.map(|float| float.to_bits().to_le_bytes());
        self.bytes(bytes.as_flattened());
    }

    /// Adds the bits of the three components of a vector.
    pub(crate) fn vector(&mut self, vector: Vec3) {
        self.floats(vector.to_array());
    }

    /// Adds the bits of all components of the vectors, without their number.
    pub(crate) fn vectors(&mut self, vectors: impl IntoIterator<Item = Vec3>) {
        vectors.into_iter().for_each(|vector| self.vector(vector));
    }

    /// Returns the hash of everything added so far.
    pub(crate) fn finish(&self) -> u128 {
        self.0.digest128()
    }
}
