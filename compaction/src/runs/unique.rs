//! Unique items on a GPU.

use std::{alloc::Layout, marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    UNIQUE, UNIQUE_BY_KEY, Workspace,
    kernel_source::{Values, check, of_keys},
};
use crate::{
    Count, CountWord, Movable, Result,
    arguments::{Call, InputParams, room_for_count},
    cuda::{self, Compiler, Flat, In, InOut, IntoView, IntoViewMut, Kernel, Source, kernel_params},
    select::item_layout,
    tiles::{rows, tile_items},
};

kernel_params! {
    /// The parameters of the kernel `unique`, with keys as bytes.
    struct UniqueParams<'a, W: CountWord> {
        keys: In<u8>,
        input: Flat<InputParams<'static>>,
        out: InOut<u8>,
        runs: InOut<W>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `unique_by_key`, with keys and values as bytes.
    struct ByKeyParams<'a, W: CountWord> {
        keys: In<u8>,
        values: In<u8>,
        input: Flat<InputParams<'static>>,
        keys_out: InOut<u8>,
        values_out: InOut<u8>,
        runs: InOut<W>,
        workspace: InOut<u64>,
    }
}

/// The removal of items that equal the item before them, on a GPU. CUB: `DeviceSelect::Unique`.
///
/// Items have type `K`, plain data or `bool`, and are equal if their bytes are equal. Counts have type `W`: `u32`, or
/// `u64` for 2³² or more items.
///
/// A call enqueues one launch on the caller's stream and returns. It allocates nothing and does not wait, so it can be
/// captured into a CUDA graph. Buffers are views that may start at any item of a larger buffer; views aligned to 16
/// bytes are processed faster.
///
/// ```no_run
/// use compaction::{Count, cuda, runs::{Unique, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let unique = Unique::<u32>::new(&cuda::Compiler::new(), &context)?;
/// let mut workspace = Workspace::with_capacity(&stream, 6)?;
///
/// let items = cuda::upload(&stream, &[3, 3, 1, 4, 4, 3])?;
/// let (mut out, mut runs) = (cuda::zeroed(&stream, 6)?, cuda::zeroed(&stream, 1)?);
/// unique.items(&stream, &items, Count::All, &mut out, &mut runs, &mut workspace)?;
/// let kept = workspace.read(&stream, &runs)?;
/// assert_eq!(cuda::download(&stream, &out.slice(..kept))?, [3, 1, 4, 3]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceSelect::Unique", "unique_copy"))]
#[derive(Debug)]
pub struct Unique<K: Movable, W: CountWord = u32> {
    kernel: Kernel<UniqueParams<'static, W>>,
    types: PhantomData<fn(K)>,
}

impl<K: Movable, W: CountWord> Unique<K, W> {
    /// Compiles the kernel for items of the size and alignment of `K`, or loads it if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, runs::Unique};
    ///
    /// let unique = Unique::<[f32; 3], u64>::new(&cuda::Compiler::new(), &cuda::open(0)?)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        let module = compiler.load(context, &source::<W>(item_layout::<K>()))?;
        Ok(Self {
            kernel: module.kernel("unique")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::runs::Unique;
    ///
    /// assert_eq!(Unique::<f32>::sources()[0].path(), "compaction/kernels/unique.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<W>(item_layout::<K>())]
    }

    /// Enqueues a call that writes the first item of each run of equal items to `out`, and the number of runs to
    /// `runs[0]`.
    ///
    /// `out` must have room for `count` items, or for as many as `items` if the count is in device memory. Entries
    /// behind the result keep their values. A device count larger than `items` is clamped, and [`Workspace::check`]
    /// reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{Unique, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let unique = Unique::<u8>::new(&cuda::Compiler::new(), &context)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 4)?;
    /// let items = cuda::upload(&stream, b"aabb")?;
    /// let (mut out, mut runs) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 1)?);
    /// unique.items(&stream, &items, Count::Given(3), &mut out, &mut runs, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, *b"ab\0\0");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `items`;
    /// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more items with counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out` or an empty `runs`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](cuda::Kernel::launch).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, K>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, K>,
        runs: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace<K>,
    ) -> Result<()> {
        let items = &items.into_view();
        let (out, runs) = (&mut out.into_view_mut(), &mut runs.into_view_mut());
        let call = Call {
            operation: UNIQUE.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: Some(&runs),
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let tile = tile_items(rows(size_of::<K>()));
        let checked = check(&UNIQUE, items.len(), count, out.len(), tile, workspace)?;
        let args = UniqueParams {
            keys: cuda::reinterpret(items.slice(..))?,
            input: checked.item_count.params(),
            out: cuda::item_bytes(out.slice_mut(..)),
            runs: room_for_count(&UNIQUE, runs)?,
            workspace: checked.words,
        };
        self.kernel.launch(stream, checked.launch, args)
    }
}

/// The removal of keys that equal the key before them, together with their values, on a GPU. CUB:
/// `DeviceSelect::UniqueByKey`.
///
/// Keys and values are plain data or `bool`. Keys are equal if their bytes are equal; the first value of each run is
/// kept. A call is one launch, like that of [`Unique`].
///
/// ```no_run
/// use compaction::{Count, cuda, runs::{UniqueByKey, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let unique = UniqueByKey::<u32, u8>::new(&cuda::Compiler::new(), &context)?;
/// let mut workspace = Workspace::with_capacity(&stream, 4)?;
///
/// let (keys, values) = (cuda::upload(&stream, &[3, 3, 1, 1])?, cuda::upload(&stream, b"abcd")?);
/// let (mut keys_out, mut values_out) = (cuda::zeroed(&stream, 4)?, cuda::zeroed(&stream, 4)?);
/// let mut runs = cuda::zeroed(&stream, 1)?;
/// unique.pairs(&stream, &keys, &values, Count::All, &mut keys_out, &mut values_out, &mut runs, &mut workspace)?;
/// assert_eq!(workspace.read(&stream, &runs)?, 2);
/// assert_eq!(cuda::download(&stream, &values_out)?[..2], *b"ac");
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceSelect::UniqueByKey", "unique_by_key_copy"))]
#[derive(Debug)]
pub struct UniqueByKey<K: Movable, V: Movable, W: CountWord = u32> {
    kernel: Kernel<ByKeyParams<'static, W>>,
    types: PhantomData<fn(K, V)>,
}

impl<K: Movable, V: Movable, W: CountWord> UniqueByKey<K, V, W> {
    /// Compiles the kernel for keys and values of the sizes and alignments of `K` and `V`, or loads it if compiled
    /// earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, runs::UniqueByKey};
    ///
    /// let unique = UniqueByKey::<u64, f32>::new(&cuda::Compiler::new(), &cuda::open(0)?)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        let source = source_by_key::<W>(item_layout::<K>(), item_layout::<V>());
        Ok(Self {
            kernel: compiler.load(context, &source)?.kernel("unique_by_key")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::runs::UniqueByKey;
    ///
    /// let sources = UniqueByKey::<f32, u32>::sources();
    /// assert_eq!(sources[0].path(), "compaction/kernels/unique_by_key.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source_by_key::<W>(item_layout::<K>(), item_layout::<V>())]
    }

    /// Enqueues a call that writes the first key of each run of equal keys to `keys_out`, its value to `values_out`,
    /// and the number of runs to `runs[0]`. Both outputs must have room for as many entries as there are keys.
    /// Otherwise like [`Unique::items`].
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{UniqueByKey, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let unique = UniqueByKey::<u8, f32>::new(&cuda::Compiler::new(), &context)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let (keys, values) = (cuda::upload(&stream, b"aab")?, cuda::upload(&stream, &[0.5, 1.0, 2.0])?);
    /// let (mut keys_out, mut values_out) = (cuda::zeroed(&stream, 3)?, cuda::zeroed(&stream, 3)?);
    /// let mut runs = cuda::zeroed(&stream, 1)?;
    /// unique.pairs(&stream, &keys, &values, Count::All, &mut keys_out, &mut values_out, &mut runs, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &values_out)?, [0.5, 2.0, 0.0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Unique::items`], and [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless
    /// there are as many values as keys.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs<'a>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, K>,
        values: impl IntoView<'a, V>,
        count: Count<'a, W>,
        keys_out: impl IntoViewMut<'a, K>,
        values_out: impl IntoViewMut<'a, V>,
        runs: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace<K, V>,
    ) -> Result<()> {
        let (keys, values) = (&keys.into_view(), &values.into_view());
        let keys_out = &mut keys_out.into_view_mut();
        let values_out = &mut values_out.into_view_mut();
        let runs = &mut runs.into_view_mut();
        let call = Call {
            operation: UNIQUE_BY_KEY.keys.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[
                ("keys", &keys),
                ("values", &values),
                ("keys output", &keys_out),
                ("values output", &values_out),
            ],
            count: count.operand(),
            written: Some(&runs),
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        UNIQUE_BY_KEY.check_values(keys.len(), values.len())?;
        let names = &UNIQUE_BY_KEY.keys;
        let room = keys_out.len().min(values_out.len());
        let tile = tile_items(rows_of_keys(size_of::<K>()));
        let checked = check(names, keys.len(), count, room, tile, workspace)?;
        let args = ByKeyParams {
            keys: cuda::reinterpret(keys.slice(..))?,
            values: cuda::reinterpret(values.slice(..))?,
            input: checked.item_count.params(),
            keys_out: cuda::item_bytes(keys_out.slice_mut(..)),
            values_out: cuda::item_bytes(values_out.slice_mut(..)),
            runs: room_for_count(names, runs)?,
            workspace: checked.words,
        };
        self.kernel.launch(stream, checked.launch, args)
    }
}

/// Returns the rows of each warp of `unique_by_key`, which has the indices of all heads of a tile in shared memory.
fn rows_of_keys(bytes: usize) -> usize {
    rows(bytes).min(4)
}

fn source<W: CountWord>(keys: Layout) -> Source {
    let text = include_str!("../../kernels/unique.cu");
    let source = Source::new("compaction/kernels/unique.cu", text)
        .kernel::<UniqueParams<'static, W>>("unique");
    of_keys::<W>(source, keys, (keys.size(), Values::None), rows(keys.size()))
}

fn source_by_key<W: CountWord>(keys: Layout, values: Layout) -> Source {
    let path = "compaction/kernels/unique_by_key.cu";
    let text = include_str!("../../kernels/unique_by_key.cu");
    let source = Source::new(path, text)
        .constant("VALUE_BYTES", values.size() as u32)
        .constant("VALUE_ALIGN", values.align().min(16) as u32)
        .kernel::<ByKeyParams<'static, W>>("unique_by_key");
    of_keys::<W>(
        source,
        keys,
        (keys.size(), Values::None),
        rows_of_keys(keys.size()),
    )
}
