//! What is not taken down while a GPU hangs.

use std::{
    mem,
    ops::{Deref, DerefMut},
};

/// What may be at the mercy of a GPU that hangs.
pub(super) trait MayHang {
    /// Whether one does: the driver would then wait for ever for whatever is given back to it.
    fn hangs(&self) -> bool;
}

/// Dropped, unless it hangs: then its memory goes with the process.
pub(super) struct Held<T: MayHang>(Vec<T>);

impl<T: MayHang> Held<T> {
    pub(super) fn new(held: T) -> Held<T> {
        Held(vec![held])
    }
}

impl<T: MayHang> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T: MayHang> DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0[0]
    }
}

impl<T: MayHang> Drop for Held<T> {
    fn drop(&mut self) {
        if self.hangs() {
            mem::forget(mem::take(&mut self.0));
        }
    }
}
