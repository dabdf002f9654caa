//! The sort on a GPU: what its methods check, and what they hand to the strategy.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Arc, OnceLock},
};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};

use super::{
    Key, Order, Strategy, Workspace, check_bits, check_values, key_bits, onesweep::Onesweep,
    sources, split::Split, workspace::Views,
};
use crate::{
    Result,
    counted::{Counted, Names, check_room},
    cuda::{self, Compiler},
    layout::Shared,
    select::Count,
};

const NAMES: Names = Names {
    room: "radix_sort",
    input: "the keys of radix_sort",
    count: "the count that radix_sort reads",
};

/// Sorts keys of type `K` on a GPU.
///
/// Its methods put launches onto the caller's stream and return: for onesweep one more than passes, for split one for
/// each bit; of more than 2²⁸ keys or so, as many for each portion of that many. They allocate nothing, wait for nothing,
/// and read no count back, so that they can be captured into a graph, and the graph be replayed. The input stays as it
/// is. Buffers are borrowed views, which may start anywhere in a larger buffer.
///
/// ```no_run
/// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}, select::Count};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Strategy::Onesweep, Order::Ascending)?;
/// let mut workspace = Workspace::for_keys::<u32>(&stream, 5)?;
///
/// let keys = cuda::upload(&stream, &[31_u32, 41, 59, 26, 53])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 5)?;
/// sort.keys(&stream, &keys.as_view(), Count::All, &mut out.as_view_mut(), &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [26, 31, 41, 53, 59]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct RadixSort<K> {
    strategy: Strategy,
    order: Order,
    bits: Range<u32>,
    compiler: Compiler,
    context: Arc<CudaContext>,
    /// For keys alone and with values of 4 and of 8 bytes, each for fewer than 2³² keys and for more. Filled when first
    /// needed.
    kernels: [[OnceLock<Kernels>; 2]; 3],
    key: PhantomData<fn(K)>,
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
    pub(super) counted: Counted<'a, u64>,
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

impl<K: Key> RadixSort<K> {
    /// Compiles, or finds compiled, the kernels for keys alone.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let compiler = cuda::Compiler::new();
    /// let sort = RadixSort::<f32>::new(&compiler, &cuda::open(0)?, Strategy::Onesweep, Order::Descending)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        order: Order,
    ) -> Result<Self> {
        let sort = Self {
            strategy,
            order,
            bits: 0..key_bits::<K>(),
            compiler: compiler.clone(),
            context: context.clone(),
            kernels: [const { [const { OnceLock::new() }; 2] }; 3],
            key: PhantomData,
        };
        sort.kernels(0, 0)?;
        Ok(sort)
    }

    /// Orders by these bits alone, counted from the lowest. Keys that do not differ there keep their order. Of signed
    /// keys and floats they are the bits of the unsigned number that is ordered as the key is, see [`Key::ordered`].
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy}};
    ///
    /// let context = cuda::open(0)?;
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Strategy::Onesweep, Order::Ascending)?;
    /// // For keys below 2¹²: two passes instead of four.
    /// let sort = sort.bits(0..12)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TooLong`](crate::Error::TooLong) for bits that the key does not have; [`LengthMismatch`](crate::Error::LengthMismatch) if they end before they begin.
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
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Strategy::Split, Order::Ascending)?;
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
    /// # use compaction::{cuda::{self, Compiler}, radix_sort::{Order, RadixSort, Strategy, Workspace}, select::Count};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&Compiler::new(), &context, Strategy::Onesweep, Order::Descending)?;
    /// let mut workspace = Workspace::for_keys::<f32>(&stream, 3)?;
    /// let keys = cuda::upload(&stream, &[0.5_f32, -1.0, 2.0])?;
    /// let mut out = cuda::zeroed::<f32>(&stream, 3)?;
    /// sort.keys(&stream, &keys.as_view(), Count::All, &mut out.as_view_mut(), &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [2.0, 0.5, -1.0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there are fewer keys than a given count says, or no word in a count's view;
    /// [`OutputTooShort`](crate::Error::OutputTooShort); [`WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and those of [`Kernel::launch`](cuda::Kernel::launch).
    pub fn keys(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, K>,
        count: Count<'_>,
        out: &mut CudaViewMut<'_, K>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let parts = workspace.parts::<K>(0)?;
        let counted = Counted::new(&NAMES, keys.len(), count, parts.capacity, parts.unread)?;
        let items = counted.capacity as usize;
        check_room("the output of radix_sort", out.len(), items)?;
        let kernels = self.kernels(0, items)?;
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
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}, select::Count};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let sort = RadixSort::<f32>::new(&cuda::Compiler::new(), &context, Strategy::Onesweep, Order::Ascending)?;
    /// let mut workspace = Workspace::for_pairs::<f32, u32>(&stream, 3)?;
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
    /// [`prepare_pairs`](Self::prepare_pairs) does it ahead. (Those for 2³² keys or more, alone as well, a first call does.)
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
        count: Count<'_>,
        keys_out: &mut CudaViewMut<'_, K>,
        values_out: &mut CudaViewMut<'_, V>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        const { check_value::<V>() };
        let parts = workspace.parts::<K>(size_of::<V>())?;
        let counted = Counted::new(&NAMES, keys.len(), count, parts.capacity, parts.unread)?;
        let items = counted.capacity as usize;
        check_values(keys.len(), values.len())?;
        for room in [keys_out.len(), values_out.len()] {
            check_room("the output of radix_sort", room, items)?;
        }
        check_aligned(values, values_out)?;
        let kernels = self.kernels(size_of::<V>(), items)?;
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
    /// let sort = RadixSort::<u64>::new(&cuda::Compiler::new(), &context, Strategy::Onesweep, Order::Ascending)?;
    /// sort.prepare_pairs::<u32>()?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare_pairs<V: Shared>(&self) -> Result<()> {
        const { check_value::<V>() };
        self.kernels(size_of::<V>(), 0).map(drop)
    }

    /// The kernels for values of so many bytes, and for so many keys.
    fn kernels(&self, value_bytes: usize, items: usize) -> Result<&Kernels> {
        let is_wide = self.strategy == Strategy::Onesweep && items > u32::MAX as usize;
        let slot = &self.kernels[value_bytes / 4][usize::from(is_wide)];
        if let Some(kernels) = slot.get() {
            return Ok(kernels);
        }
        let value_bytes = value_bytes as u32;
        let source =
            sources::<K>(self.strategy, self.order, value_bytes).swap_remove(usize::from(is_wide));
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
