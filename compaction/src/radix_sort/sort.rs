//! The sort on a GPU: what its methods check, and what they hand to the strategy.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Arc, OnceLock},
};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};

use super::{
    Key, NAMES, Order, Strategy, Workspace, check_bits, check_values, key_bits,
    onesweep::Onesweep,
    source,
    split::Split,
    workspace::{Parts, Views},
};
use crate::{
    Count, CountWord, Result,
    counted::{Counted, check_room, check_workspace},
    cuda::{self, Compiler, Source},
    layout::Shared,
};

/// Sorts keys of type `K` on a GPU, which are counted by `W`: `u32`, or `u64` for 2³² keys and more, which takes some more
/// registers.
///
/// Its methods put launches onto the caller's stream and return: for onesweep one more than passes, for split one for
/// each bit; of more than 2²⁸ keys or so, as many for each portion of that many. They allocate nothing, wait for nothing,
/// and read no count back, so that they can be captured into a graph, and the graph be replayed. The input stays as it
/// is. Buffers are borrowed views, which may start anywhere in a larger buffer.
///
/// ```no_run
/// use compaction::{Count, cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
/// let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
///
/// let keys = cuda::upload(&stream, &[31_u32, 41, 59, 26, 53])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 5)?;
/// sort.keys(&stream, &keys.as_view(), Count::All, &mut out.as_view_mut(), &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [26, 31, 41, 53, 59]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct RadixSort<K, W = u32> {
    order: Order,
    strategy: Strategy,
    bits: Range<u32>,
    compiler: Compiler,
    context: Arc<CudaContext>,
    /// For keys alone and with values of 4 and of 8 bytes, filled when first needed.
    kernels: [OnceLock<Kernels>; 3],
    types: PhantomData<fn(K, W)>,
}

/// The compiled kernels of a strategy.
#[derive(Debug)]
enum Kernels {
    Onesweep(Onesweep),
    Split(Split),
}

/// What a strategy orders.
pub(super) struct Call<'a> {
    pub(super) bits: Range<u32>,
    pub(super) counted: Counted<'a>,
    pub(super) keys: Column<'a>,
    pub(super) values: Column<'a>,
}

/// Keys or values on their way through the passes, in bytes.
pub(super) struct Column<'a> {
    pub(super) input: CudaView<'a, u8>,
    out: CudaViewMut<'a, u8>,
    /// Where every other pass writes to.
    between: CudaViewMut<'a, u8>,
}

impl<'a> Column<'a> {
    fn new<T: Shared>(
        input: &'a CudaView<'_, T>,
        out: &'a mut CudaViewMut<'_, T>,
        between: &'a mut CudaSlice<u8>,
    ) -> Result<Self> {
        Ok(Self {
            input: cuda::reinterpret(input.slice(..))?,
            out: cuda::reinterpret_mut(out)?,
            between: between.as_view_mut(),
        })
    }

    /// What a pass reads and what it writes, when so many come after it: the last one writes the output.
    pub(super) fn pass(
        &mut self,
        first: bool,
        after: u32,
    ) -> (CudaView<'_, u8>, CudaViewMut<'_, u8>) {
        let (from, to) = match after % 2 {
            0 => (self.between.slice(..), self.out.slice_mut(..)),
            _ => (self.out.slice(..), self.between.slice_mut(..)),
        };
        (if first { self.input.slice(..) } else { from }, to)
    }
}

impl<K: Key, W: CountWord> RadixSort<K, W> {
    /// Compiles, or finds compiled, the kernels for keys alone, counted by `W`.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let compiler = cuda::Compiler::new();
    /// let sort = RadixSort::<f32>::new(&compiler, &cuda::open(0)?, Order::Descending, Strategy::Onesweep)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        order: Order,
        strategy: Strategy,
    ) -> Result<Self> {
        let sort = Self {
            order,
            strategy,
            bits: 0..key_bits::<K>(),
            compiler: compiler.clone(),
            context: context.clone(),
            kernels: [const { OnceLock::new() }; 3],
            types: PhantomData,
        };
        sort.kernels(0)?;
        Ok(sort)
    }

    /// Orders by these bits alone, counted from the lowest. Keys that do not differ there keep their order. Of signed
    /// keys and floats they are the bits of the unsigned number that is ordered as the key is, see [`Key::ordered`].
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// // For keys below 2¹²: two passes instead of four.
    /// let sort = sort.bits(0..12)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::Error::OutOfRange) for bits that the key does not have, or that end before they begin.
    pub fn bits(mut self, bits: Range<u32>) -> Result<Self> {
        check_bits::<K>(&bits)?;
        self.bits = bits;
        Ok(self)
    }

    /// How it sorts.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Split)?;
    /// assert_eq!(sort.strategy(), Strategy::Split);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Writes the keys to `out`, in order: as [the example](Self) does.
    ///
    /// A count on the device that says more than there are keys counts as that many, and [`Workspace::check`] reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, radix_sort::{Order, RadixSort, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&Compiler::new(), &context, Order::Descending, Strategy::Onesweep)?;
    /// let mut workspace = Workspace::<f32>::with_capacity(&stream, 3)?;
    /// let keys = cuda::upload(&stream, &[0.5_f32, -1.0, 2.0])?;
    /// let mut out = cuda::zeroed::<f32>(&stream, 3)?;
    /// sort.keys(&stream, &keys.as_view(), Count::All, &mut out.as_view_mut(), &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [2.0, 0.5, -1.0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::Error::OutOfRange) for a given count of more keys than there are;
    /// [`Uncountable`](crate::Error::Uncountable) for 2³² keys or more and counts of `u32`;
    /// [`LengthMismatch`](crate::Error::LengthMismatch) for a count on the device without a word;
    /// [`OutputTooShort`](crate::Error::OutputTooShort); [`WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and
    /// those of [`Kernel::launch`](cuda::Kernel::launch).
    pub fn keys<V>(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, K>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, K>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let parts = workspace.parts();
        let counted = self.counted(keys, count, &parts)?;
        check_room(NAMES.output, out.len(), counted.capacity)?;
        let kernels = self.kernels(0)?;
        let [absent, absent_out, between] = parts.absent;
        let (absent, mut absent_out) = (absent.as_view(), absent_out.as_view_mut());
        let call = Call {
            bits: self.bits.clone(),
            counted,
            keys: Column::new(keys, out, parts.keys)?,
            values: Column::new(&absent, &mut absent_out, between)?,
        };
        kernels.launch::<K>(stream, call, parts.tables)
    }

    /// Writes the keys to `keys_out`, in order, and to `values_out` each key's value. A value has 4 or 8 bytes; another
    /// size does not compile.
    ///
    /// ```no_run
    /// use compaction::{Count, cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// let mut workspace = Workspace::<f32, u32>::with_capacity(&stream, 3)?;
    ///
    /// let depths = cuda::upload(&stream, &[2.5_f32, 0.5, 1.5])?;
    /// let objects = cuda::upload(&stream, &[0_u32, 1, 2])?;
    /// let (mut near_to_far, mut order) = (cuda::zeroed(&stream, 3)?, cuda::zeroed(&stream, 3)?);
    /// sort.pairs(
    ///     &stream,
    ///     &depths.as_view(),
    ///     &objects.as_view(),
    ///     Count::All,
    ///     &mut near_to_far.as_view_mut(),
    ///     &mut order.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &order)?, [1, 2, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// The kernels are compiled when they are first needed, which takes a moment and has no place in a graph capture:
    /// [`prepare_pairs`](Self::prepare_pairs) does it ahead.
    ///
    /// # Errors
    ///
    /// Those of [`keys`](Self::keys) and of [`prepare_pairs`](Self::prepare_pairs); [`LengthMismatch`](crate::Error::LengthMismatch) as well if
    /// there are not as many values as keys; [`Reinterpret`](crate::Error::Reinterpret) for values of 8 bytes that do not lie on 8 bytes.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs<V: Shared>(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, K>,
        values: &CudaView<'_, V>,
        count: Count<'_, W>,
        keys_out: &mut CudaViewMut<'_, K>,
        values_out: &mut CudaViewMut<'_, V>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        const { check_value::<V>() };
        let parts = workspace.parts();
        let counted = self.counted(keys, count, &parts)?;
        check_values(keys.len(), values.len())?;
        for room in [keys_out.len(), values_out.len()] {
            check_room(NAMES.output, room, counted.capacity)?;
        }
        check_aligned(values, values_out)?;
        let kernels = self.kernels(size_of::<V>())?;
        let call = Call {
            bits: self.bits.clone(),
            counted,
            keys: Column::new(keys, keys_out, parts.keys)?,
            values: Column::new(values, values_out, parts.values)?,
        };
        kernels.launch::<K>(stream, call, parts.tables)
    }

    /// Compiles, or finds compiled, what [`pairs`](Self::pairs) needs for values of `V`'s size.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u64>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// sort.prepare_pairs::<u32>()?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare_pairs<V: Shared>(&self) -> Result<()> {
        const { check_value::<V>() };
        self.kernels(size_of::<V>()).map(drop)
    }

    /// The kernel files for keys alone: what an [`Archive`](cuda::Archive) ships.
    ///
    /// ```
    /// use compaction::radix_sort::{Order, RadixSort, Strategy};
    ///
    /// let sources = RadixSort::<f32>::sources(Order::Ascending, Strategy::Onesweep);
    /// assert!(sources[0].text()?.contains("constexpr u32 VALUE_BYTES = 0;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources(order: Order, strategy: Strategy) -> Vec<Source> {
        vec![source::<K, W>(order, strategy, 0)]
    }

    /// The kernel files of [`pairs`](Self::pairs) for values of `V`'s size: what an [`Archive`](cuda::Archive) ships.
    ///
    /// ```
    /// use compaction::radix_sort::{Order, RadixSort, Strategy};
    ///
    /// let sources = RadixSort::<f32>::sources_pairs::<u32>(Order::Ascending, Strategy::Onesweep);
    /// assert!(sources[0].text()?.contains("constexpr u32 VALUE_BYTES = 4;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources_pairs<V: Shared>(order: Order, strategy: Strategy) -> Vec<Source> {
        const { check_value::<V>() };
        vec![source::<K, W>(order, strategy, size_of::<V>() as u32)]
    }

    fn counted<'a>(
        &self,
        keys: &CudaView<'_, K>,
        count: Count<'a, W>,
        parts: &Parts<'a>,
    ) -> Result<Counted<'a>> {
        let counted = Counted::new(&NAMES, keys.len(), count, parts.unread)?;
        let what = || "the keys of radix_sort".to_owned();
        check_workspace(what, parts.capacity, counted.capacity)?;
        Ok(counted)
    }

    /// The kernels for values of so many bytes.
    fn kernels(&self, value_bytes: usize) -> Result<&Kernels> {
        let slot = &self.kernels[value_bytes / 4];
        if let Some(kernels) = slot.get() {
            return Ok(kernels);
        }
        let value_bytes = value_bytes as u32;
        let source = source::<K, W>(self.order, self.strategy, value_bytes);
        let module = self.compiler.load(&self.context, &source)?;
        let multiprocessors = cuda::multiprocessors(&self.context)?;
        let kernels = match self.strategy {
            Strategy::Onesweep => {
                Kernels::Onesweep(Onesweep::of::<K>(&module, multiprocessors, value_bytes)?)
            }
            Strategy::Split => Kernels::Split(Split::of(&module, multiprocessors)?),
        };
        Ok(slot.get_or_init(|| kernels))
    }
}

/// Refuses, when the program is compiled, values that the kernels do not take.
const fn check_value<V>() {
    assert!(
        size_of::<V>() == 4 || size_of::<V>() == 8,
        "a value has 4 or 8 bytes"
    );
}

impl Kernels {
    fn launch<K: Key>(
        &self,
        stream: &Arc<CudaStream>,
        call: Call<'_>,
        tables: Views<'_>,
    ) -> Result<()> {
        match self {
            Self::Onesweep(onesweep) => onesweep.launch(stream, call, tables),
            Self::Split(split) => split.launch::<K>(stream, call, tables),
        }
    }
}

/// Refuses values that the kernels cannot read and write as whole words of their size.
fn check_aligned<V: Shared>(values: &CudaView<'_, V>, out: &mut CudaViewMut<'_, V>) -> Result<()> {
    if size_of::<V>() == 8 {
        cuda::reinterpret::<V, u64>(values.slice(..))?;
        cuda::reinterpret_mut::<V, u64>(out)?;
    } else {
        cuda::reinterpret::<V, u32>(values.slice(..))?;
        cuda::reinterpret_mut::<V, u32>(out)?;
    }
    Ok(())
}
