//! Device buffers as arguments of calls: buffers and views of cudarc, and buffers of this crate.

use std::{ops::Range, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceSlice};

use super::{Buffer, stream_order::addresses};

/// A device buffer that a call reads: `&CudaSlice`, `&CudaView`, `&CudaViewMut` or `&Buffer`, or a [`CudaView`] itself.
///
/// Where a call reads flags, a `&CudaSlice<bool>` or a `CudaView<bool>` works too.
///
/// ```no_run
/// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
/// # let context = cuda::open(0)?;
/// # let stream = context.default_stream();
/// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
/// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
/// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
/// let mut out = cuda::zeroed(&stream, 5)?;
/// scan.exclusive(&stream, &items, Count::All, &mut out, &mut workspace)?;
/// scan.exclusive(&stream, items.slice(2..), Count::All, out.slice_mut(..3), &mut workspace)?;
/// # Ok::<(), compaction::Error>(())
/// ```
pub trait IntoView<'a, T> {
    /// Returns a view of all items, for reading.
    fn into_view(self) -> CudaView<'a, T>;
}

impl<'a, T> IntoView<'a, T> for CudaView<'a, T> {
    fn into_view(self) -> CudaView<'a, T> {
        self
    }
}

impl<'a, T> IntoView<'a, T> for &'a CudaView<'_, T> {
    fn into_view(self) -> CudaView<'a, T> {
        self.slice(..)
    }
}

impl<'a, T> IntoView<'a, T> for &'a CudaViewMut<'_, T> {
    fn into_view(self) -> CudaView<'a, T> {
        self.as_view()
    }
}

impl<'a, T> IntoView<'a, T> for &'a CudaSlice<T> {
    fn into_view(self) -> CudaView<'a, T> {
        self.as_view()
    }
}

impl<'a, T> IntoView<'a, T> for &'a Buffer<T> {
    fn into_view(self) -> CudaView<'a, T> {
        self.as_view()
    }
}

/// Flags may also be a buffer of `bool`.
impl<'a> IntoView<'a, u8> for &'a CudaSlice<bool> {
    fn into_view(self) -> CudaView<'a, u8> {
        self.as_view().into_view()
    }
}

/// Flags may also be a view of `bool`.
impl<'a> IntoView<'a, u8> for CudaView<'a, bool> {
    fn into_view(self) -> CudaView<'a, u8> {
        // SAFETY: a `bool` is one byte, 0 or 1, and the view is only read. It has as many bytes as items.
        let bytes = unsafe { self.transmute(self.len()) };
        bytes.unwrap_or_else(|| unreachable!("a bool has one byte"))
    }
}

/// A device buffer that a call writes: `&mut CudaSlice`, `&mut CudaViewMut` or `&mut Buffer`, or a [`CudaViewMut`]
/// itself.
///
/// ```no_run
/// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
/// # let context = cuda::open(0)?;
/// # let stream = context.default_stream();
/// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
/// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
/// let mut items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
/// scan.exclusive_in_place(&stream, &mut items, Count::All, &mut workspace)?;
/// scan.exclusive_in_place(&stream, items.slice_mut(1..), Count::All, &mut workspace)?;
/// # Ok::<(), compaction::Error>(())
/// ```
pub trait IntoViewMut<'a, T> {
    /// Returns a view of all items, for writing.
    fn into_view_mut(self) -> CudaViewMut<'a, T>;
}

impl<'a, T> IntoViewMut<'a, T> for CudaViewMut<'a, T> {
    fn into_view_mut(self) -> CudaViewMut<'a, T> {
        self
    }
}

impl<'a, T> IntoViewMut<'a, T> for &'a mut CudaViewMut<'_, T> {
    fn into_view_mut(self) -> CudaViewMut<'a, T> {
        self.slice_mut(..)
    }
}

impl<'a, T> IntoViewMut<'a, T> for &'a mut CudaSlice<T> {
    fn into_view_mut(self) -> CudaViewMut<'a, T> {
        self.as_view_mut()
    }
}

impl<'a, T> IntoViewMut<'a, T> for &'a mut Buffer<T> {
    fn into_view_mut(self) -> CudaViewMut<'a, T> {
        self.as_view_mut()
    }
}

/// A buffer of a GPU call: the stream that it is used on, and its memory.
pub(crate) trait Operand {
    /// Returns the stream that the buffer was allocated on.
    fn home(&self) -> &Arc<CudaStream>;
    /// Returns the device addresses of the buffer.
    fn addresses(&self) -> Range<u64>;
}

macro_rules! operands {
    ($($buffer:ty),+) => {$(
        impl<T> Operand for $buffer {
            fn home(&self) -> &Arc<CudaStream> {
                self.stream()
            }
            fn addresses(&self) -> Range<u64> {
                addresses(self)
            }
        }
    )+};
}
operands!(CudaView<'_, T>, CudaViewMut<'_, T>);

impl<O: Operand + ?Sized> Operand for &O {
    fn home(&self) -> &Arc<CudaStream> {
        (**self).home()
    }
    fn addresses(&self) -> Range<u64> {
        (**self).addresses()
    }
}

impl<O: Operand + ?Sized> Operand for &mut O {
    fn home(&self) -> &Arc<CudaStream> {
        (**self).home()
    }
    fn addresses(&self) -> Range<u64> {
        (**self).addresses()
    }
}
