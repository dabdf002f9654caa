//! The buffers that a launch of a graph is given.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use super::{Buffer, stream_order::Uses};

/// The buffers that a [`Graph`](super::Graph) uses, as given to each launch.
///
/// Buffers, views and workspaces implement this trait, and so do structs of kernel parameters that
/// [`shared!`](crate::shared) declares. A shared reference or a [`CudaView`] is for reading only. Tuples, slices, vectors
/// and options give several buffers. A struct of buffers implements the trait by visiting its fields:
///
/// ```
/// use compaction::{cuda::{GraphBuffers, Uses}, cudarc::driver::CudaSlice};
///
/// struct Rays {
///     origins: CudaSlice<f32>,
///     hits: CudaSlice<u32>,
/// }
///
/// impl GraphBuffers for Rays {
///     fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
///         self.origins.visit(uses);
///         self.hits.visit(uses);
///     }
/// }
/// ```
pub trait GraphBuffers {
    /// Visits each buffer.
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>);
}

impl<T> GraphBuffers for CudaSlice<T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        uses.write::<T, _>(self);
    }
}

impl<T> GraphBuffers for &CudaSlice<T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        uses.read::<T>(*self);
    }
}

impl<T> GraphBuffers for CudaView<'_, T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        uses.read::<T>(self);
    }
}

impl<T> GraphBuffers for CudaViewMut<'_, T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        uses.write::<T, _>(self);
    }
}

impl<T> GraphBuffers for Buffer<T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.as_slice_mut().visit(uses);
    }
}

impl<T> GraphBuffers for &Buffer<T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        uses.read::<T>(self.as_slice());
    }
}

impl<B: GraphBuffers + ?Sized> GraphBuffers for &mut B {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        (**self).visit(uses);
    }
}

impl<B: GraphBuffers> GraphBuffers for [B] {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        for buffers in self {
            buffers.visit(uses);
        }
    }
}

impl<B: GraphBuffers> GraphBuffers for Vec<B> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.as_mut_slice().visit(uses);
    }
}

impl<B: GraphBuffers, const LEN: usize> GraphBuffers for [B; LEN] {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.as_mut_slice().visit(uses);
    }
}

impl<B: GraphBuffers> GraphBuffers for Option<B> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        if let Some(buffers) = self {
            buffers.visit(uses);
        }
    }
}

macro_rules! tuples {
    ($($buffers:ident $position:tt),*) => {
        impl<$($buffers: GraphBuffers),*> GraphBuffers for ($($buffers,)*) {
            fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
                $(uses.within_argument($position + 1, |uses| self.$position.visit(uses));)*
                let _ = uses;
            }
        }
    };
}
tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
