//! Validation of the buffers and counts of GPU calls.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut, DeviceSlice};

use super::{ArgumentNames, check_len, check_range, check_room, count_words};
use crate::{
    Count, CountWord, Result,
    count::to_word,
    cuda::{self, Buffer, In, NamedCall, Operand, kernel_params},
    layout::Shared,
};

/// The name of each buffer of a GPU call, and the buffer: `("output", &out)`.
pub(crate) type Operands<'a> = [(&'static str, &'a dyn Operand)];

/// The objects that a GPU call uses. All of them are checked before anything is enqueued, so that an error names the
/// object in the words of the caller, and the call then writes nothing.
pub(crate) struct Call<'a> {
    /// The name of the operation, for errors.
    pub(crate) operation: &'static str,
    /// The stream of the call.
    pub(crate) stream: &'a CudaStream,
    /// The context that the kernels were loaded in.
    pub(crate) context: &'a Arc<CudaContext>,
    pub(crate) buffers: &'a Operands<'a>,
    /// The count in device memory that the call reads, if there is one.
    pub(crate) count: Option<&'a dyn Operand>,
    /// The count in device memory that the call writes, if there is one.
    pub(crate) written: Option<&'a dyn Operand>,
    /// The stream of the workspace.
    pub(crate) workspace: &'a Arc<CudaStream>,
}

impl<'a> Call<'a> {
    /// Returns [`Error::ForeignContext`](crate::Error::ForeignContext) or
    /// [`Error::ForeignStream`](crate::Error::ForeignStream) for the first object that the call cannot use on its stream.
    ///
    /// If the call is recorded into a graph, the memory of its launches has the names of this call until the result is
    /// dropped.
    pub(crate) fn check(&self) -> Result<NamedCall> {
        let operation = self.operation;
        cuda::check_context(self.stream, self.context, || operation.to_owned())?;
        for (name, buffer) in self.named() {
            cuda::check_usable(self.stream, buffer.home(), name)?;
        }
        let workspace = || format!("the workspace of {operation}");
        cuda::check_usable(self.stream, self.workspace, workspace)?;
        let names = || {
            let named = self.named();
            let named = named.map(|(name, buffer)| (name(), buffer.addresses()));
            (named.collect(), workspace())
        };
        Ok(cuda::name_recorded(self.stream, names))
    }

    /// Yields the buffers and counts, with functions that return their names.
    fn named(&self) -> impl Iterator<Item = (impl Fn() -> String + use<'a>, &'a dyn Operand)> {
        let operation = self.operation;
        let buffers = self.buffers.iter();
        let buffers = buffers.map(|&(name, buffer)| (["the ", name, " of "], "", buffer));
        let count = |count, verb| (["the count that ", "", ""], verb, count);
        let read = self.count.map(|read| count(read, " reads"));
        let written = self.written.map(|written| count(written, " writes"));
        let all = buffers.chain(read).chain(written);
        all.map(move |([article, name, of], verb, buffer)| {
            let name = move || format!("{article}{name}{of}{operation}{verb}");
            (name, buffer)
        })
    }
}

crate::shared! {
    /// The number of items of a call, as kernels receive it. `kernels/item_count.cuh` documents the fields.
    pub(crate) struct Input<'a> {
        pub(crate) device_count: In<u32>,
        pub(crate) capacity: u64,
        pub(crate) is_given: u32,
        pub(crate) count_words: u32,
    }
}

kernel_params! {
    /// An [`Input`] as three parameters of a kernel, whose counts have one type. There are exactly `capacity` items if
    /// `is_given` is 1; if it is 0, `count` contains their number, clamped to `capacity`.
    pub(crate) struct InputParams<'a> {
        count: In<u32>,
        capacity: u64,
        is_given: u32,
    }
}

/// The item count of a GPU call, checked against the length of the input buffer.
pub(crate) struct ItemCount<'a> {
    /// The device count, as one 4-byte word for `u32` or two for `u64`. A dummy that no kernel reads if the host gave
    /// the count.
    count: CudaView<'a, u32>,
    /// The exact number of items if `is_given`. Otherwise the length of the input buffer, to which kernels clamp the
    /// device count.
    pub(crate) capacity: usize,
    /// Whether there are exactly `capacity` items. Otherwise kernels read the number of items from `count`.
    is_given: bool,
    /// The size of the device count in 4-byte words: 1 or 2.
    count_words: u32,
}

impl<'a> ItemCount<'a> {
    /// Checks `count` against an input buffer of `len` items.
    ///
    /// `dummy_count` becomes the device count if the host gives the count; kernels then do not read it. Returns
    /// [`Error::OutOfRange`] for a host count above `len`, [`Error::LengthMismatch`] for an empty device count, and
    /// [`Error::Uncountable`] if `len` does not fit in a `W`.
    pub(crate) fn new<W: CountWord>(
        names: &ArgumentNames,
        len: usize,
        count: Count<'a, W>,
        dummy_count: &'a Buffer<u64>,
    ) -> Result<Self> {
        let capacity = match count {
            Count::Given(items) => items.to_len(),
            Count::All | Count::Device(_) => to_word::<W>(names.input, len)?.to_len(),
        };
        check_range(names.given, capacity, 0, len)?;
        let (count, is_given) = match count {
            Count::All | Count::Given(_) => (cuda::reinterpret(dummy_count.as_view())?, true),
            Count::Device(count) => {
                check_len(names.read, count.len().min(1), 1)?;
                (cuda::reinterpret(count)?, false)
            }
        };
        Ok(Self {
            count,
            capacity,
            is_given,
            count_words: count_words::<W>(),
        })
    }

    /// Returns whether counts have 8 bytes instead of 4.
    pub(crate) fn has_wide_count(&self) -> bool {
        self.count_words == 2
    }

    /// Returns whether the host gave the exact number of items, [`capacity`](Self::capacity).
    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }

    /// Returns the device count as words of the type that the call counts by.
    pub(crate) fn words<W: CountWord>(&self) -> Result<CudaView<'_, W>> {
        cuda::reinterpret(self.count.slice(..))
    }

    /// Returns the number as three arguments of a launch.
    pub(crate) fn params(&self) -> InputParams<'_> {
        InputParams {
            count: self.count.slice(..),
            capacity: self.capacity as u64,
            is_given: self.is_given.into(),
        }
    }

    /// Returns the number as the argument of a launch.
    pub(crate) fn input(&self) -> Input<'_> {
        Input {
            device_count: self.count.slice(..),
            capacity: self.capacity as u64,
            is_given: self.is_given.into(),
            count_words: self.count_words,
        }
    }
}

/// Views the output buffer for the number of selected items as words of type `U`. Returns [`Error::OutputTooShort`] if
/// the buffer is empty.
pub(crate) fn room_for_count<'a, W: CountWord, U: Shared>(
    names: &ArgumentNames,
    selected: &'a mut CudaViewMut<'_, W>,
) -> Result<CudaViewMut<'a, U>> {
    check_room(names.written, selected.len(), 1)?;
    cuda::reinterpret_mut(selected)
}

/// Waits for the stream and returns the count in the first word of `count`. Returns [`Error::LengthMismatch`] if
/// `count` is empty, and [`Error::ForeignContext`] if it belongs to another context.
pub(crate) fn read_count<W: CountWord>(
    names: &ArgumentNames,
    stream: &Arc<CudaStream>,
    count: &CudaView<'_, W>,
) -> Result<usize> {
    let name = || format!("the count that {} writes", names.operation);
    cuda::check_usable(stream, count.stream(), name)?;
    let count = cuda::download(stream, count)?;
    check_len(names.written, count.len().min(1), 1)?;
    Ok(count.first().map_or(0, |count| count.to_len()))
}
