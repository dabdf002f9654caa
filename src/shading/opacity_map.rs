//! Opacity maps: which parts of each triangle are surely opaque or surely transparent, so that rays that hit them need
//! no opacity test. Twin: `kernels/shared/opacity_map.cuh`.
//!
//! A map divides a triangle into cells of equal size in barycentric coordinates (Gruen et al. 2020, Sub-Triangle
//! Opacity Masks). It is conservative: a cell is known only if the opacity test has the same result everywhere in it.
//!
//! The maps of a scene are one list of words. The first words are the entries of the primitives, by index. The lowest
//! two bits of an entry are one of the constants below. In an entry with [`MAPPED`], the next [`LEVEL_BITS`] bits are
//! the binary logarithm n of the number of cells along an edge, and the others are the index of the map's first word. A
//! map has 2ⁿ rows of 2ⁿ cells with two bits each; about half of the cells lie outside the triangle. Row and column are
//! the barycentric weights of the third and of the second vertex.

/// State of a primitive or cell: only an opacity test can tell whether an intersection counts as a hit.
pub const UNKNOWN: u32 = 0;
/// State of a primitive or cell: every intersection counts as a hit.
pub const OPAQUE: u32 = 1;
/// State of a primitive or cell: no intersection counts as a hit, so that all rays pass through it. Spheres never have
/// this state: they are [`OPAQUE`] or [`UNKNOWN`].
pub const TRANSPARENT: u32 = 2;
/// Content of an entry: the states are those of the cells of a map.
pub const MAPPED: u32 = 3;

/// Number of bits of a state.
pub const STATE_BITS: u32 = 2;
/// Number of bits for the binary logarithm of the number of cells along an edge.
pub const LEVEL_BITS: u32 = 3;
/// Binary logarithm of the number of cells in a 32-bit word.
pub const WORD_LEVEL: u32 = 4;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    UNKNOWN,
    OPAQUE,
    TRANSPARENT,
    MAPPED,
    STATE_BITS,
    LEVEL_BITS,
    WORD_LEVEL
];

/// Returns the row or column of a barycentric weight, 0 to about 1, in a map with 2 to the power of `level` of them.
#[inline(always)]
pub fn cell_along(weight: f32, level: u32) -> u32 {
    let count = 1 << level;
    // The product is exact, so that a cell begins at exactly its index divided by the number of cells.
    let cell = (weight * count as f32) as u32;
    if cell < count { cell } else { count - 1 }
}

/// Returns what is known of the opacity at a point of a primitive: [`OPAQUE`], [`TRANSPARENT`] or [`UNKNOWN`].
///
/// `primitive` is its index among all primitives of the scene. `u` and `v` are the barycentric weights of a triangle's
/// second and third vertex, 0 to about 1; those of a sphere do not matter.
#[inline(always)]
pub fn known_opacity(opacity_maps: &[u32], primitive: u32, u: f32, v: f32) -> u32 {
    let entry = opacity_maps[primitive as usize];
    let state = entry & MAPPED;
    if state != MAPPED {
        return state;
    }
    let level = (entry >> STATE_BITS) & ((1 << LEVEL_BITS) - 1);
    let cell = (cell_along(v, level) << level) + cell_along(u, level);
    let first = entry >> (STATE_BITS + LEVEL_BITS);
    let word = opacity_maps[(first + (cell >> WORD_LEVEL)) as usize];
    (word >> (STATE_BITS * (cell & ((1 << WORD_LEVEL) - 1)))) & MAPPED
}
