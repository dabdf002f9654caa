//! Leaks the memory and streams of a GPU that hangs, because the driver would wait forever when they are freed.

use std::{
    mem,
    ops::{Deref, DerefMut},
};

/// A value that owns memory or streams of a GPU.
pub(super) trait CanHang {
    /// Returns whether a GPU that the value uses hangs, so that dropping the value would never return.
    fn hangs(&self) -> bool;
}

/// Owner of a value that it drops normally, or leaks if [`CanHang::hangs`]. The system frees a leaked value when the
/// process ends.
pub(super) struct LeakOnHang<T: CanHang>(Vec<T>);

impl<T: CanHang> LeakOnHang<T> {
    /// Takes ownership of the value.
    pub(super) fn new(value: T) -> LeakOnHang<T> {
        LeakOnHang(vec![value])
    }
}

impl<T: CanHang> Deref for LeakOnHang<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T: CanHang> DerefMut for LeakOnHang<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0[0]
    }
}

impl<T: CanHang> Drop for LeakOnHang<T> {
    fn drop(&mut self) {
        if self.hangs() {
            mem::forget(mem::take(&mut self.0));
        }
    }
}
