//! On processors of other kinds than x86-64 nothing asks for vectors by name.

/// None there are.
#[derive(Clone, Copy, Debug)]
pub enum Vectors {}

impl Vectors {
    /// `None`.
    pub fn best() -> Option<Vectors> {
        None
    }

    /// `None`.
    pub fn eight() -> Option<Vectors> {
        None
    }

    /// `None`.
    pub fn sixteen() -> Option<Vectors> {
        None
    }
}

/// Does this; the compiler may take what vectors the processor has.
pub(crate) fn by_vectors<T>(work: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(work)
}
