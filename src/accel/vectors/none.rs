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
