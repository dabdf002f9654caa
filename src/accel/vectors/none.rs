//! Stand-in for SIMD vectors on processors other than x86-64: none are available.

/// Uninhabited: this architecture has no supported vectors.
#[derive(Clone, Copy, Debug)]
pub enum SimdLevel {}

impl SimdLevel {
    /// Returns `None`.
    pub fn best() -> Option<SimdLevel> {
        None
    }

    /// Returns `None`.
    pub fn eight() -> Option<SimdLevel> {
        None
    }

    /// Returns `None`.
    pub fn sixteen() -> Option<SimdLevel> {
        None
    }
}

/// Runs a closure compiled for the vector instructions that the crate `pulp` detects, such as NEON, so that the
/// compiler can vectorise it.
///
/// The closure needs no [`SimdLevel`], because it is not written with explicit vectors. If `pulp` detects no vector
/// instructions, it runs as compiled for the target.
pub(crate) fn vectorized<T>(work: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(work)
}

/// Transposes rows of `Q` times 4 floats, one per entry of the columns: stores number `j` of each row's quadruple `i` in
/// `columns[i][j]`.
pub(crate) fn transpose<'a, const N: usize, const Q: usize>(
    columns: &mut [[[f32; N]; 4]; Q],
    row: impl Fn(usize) -> &'a [[f32; 4]; Q],
) {
    for index in 0..N {
        for (columns, numbers) in columns.iter_mut().zip(row(index)) {
            for (column, &number) in columns.iter_mut().zip(numbers) {
                column[index] = number;
            }
        }
    }
}
