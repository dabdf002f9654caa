//! Arrays with one entry for each path of a group that is processed together. The compiler vectorises loops over them.

use glam::Vec3;

/// Maximum number of paths that are processed together.
pub(crate) const PATHS: usize = 32;

/// A number for each path of a group. Entries beyond the paths of the group hold any values.
pub(crate) type F32Array = [f32; PATHS];
/// A 32-bit word for each path of a group.
pub(crate) type U32Array = [u32; PATHS];

/// A vector for each path of a group, as a structure of arrays.
#[derive(Default)]
pub(crate) struct Vec3Array {
    pub(crate) x: F32Array,
    pub(crate) y: F32Array,
    pub(crate) z: F32Array,
}

impl Vec3Array {
    /// Zero vectors.
    pub(crate) const ZERO: Vec3Array = Vec3Array {
        x: [0.0; PATHS],
        y: [0.0; PATHS],
        z: [0.0; PATHS],
    };

    /// Returns the vector at this index.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Vec3 {
        Vec3::new(self.x[index], self.y[index], self.z[index])
    }

    /// Replaces the vector at this index.
    #[inline(always)]
    pub(crate) fn set(&mut self, index: usize, v: Vec3) {
        self.x[index] = v.x;
        self.y[index] = v.y;
        self.z[index] = v.z;
    }

    /// Replaces the vector at this index if all bits of `mask` are set, and leaves it if none is.
    #[inline(always)]
    pub(crate) fn set_by_mask(&mut self, index: usize, mask: u32, v: Vec3) {
        self.x[index] = select_by_mask(mask, v.x, self.x[index]);
        self.y[index] = select_by_mask(mask, v.y, self.y[index]);
        self.z[index] = select_by_mask(mask, v.z, self.z[index]);
    }

    /// Replaces all [`PATHS`] vectors by this one.
    #[inline(always)]
    pub(crate) fn fill(&mut self, v: Vec3) {
        self.x = [v.x; PATHS];
        self.y = [v.y; PATHS];
        self.z = [v.z; PATHS];
    }
}

/// Returns `selected` if all bits of `mask` are set, and `other` if none is. Uses bit operations, because the compiler
/// turns an `if` into slow masked stores.
#[inline(always)]
pub(crate) fn select_by_mask(mask: u32, selected: f32, other: f32) -> f32 {
    let (selected, other) = (selected.to_bits(), other.to_bits());
    f32::from_bits(other ^ ((selected ^ other) & mask))
}

/// Returns the indices of the entries that are `true` in ascending order, and their number. There are at most [`PATHS`]
/// entries. Indices from that number on are unspecified.
///
/// It does not branch on the entries, because many branches would be mispredicted.
#[inline(always)]
pub(crate) fn indices_of(entries: &[bool]) -> ([usize; PATHS], usize) {
    let (mut indices, mut count) = ([0; PATHS], 0);
    for (index, &is_true) in entries.iter().enumerate() {
        indices[count % PATHS] = index;
        count += usize::from(is_true);
    }
    (indices, count)
}
