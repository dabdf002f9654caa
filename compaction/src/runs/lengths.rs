//! Run lengths on a GPU.

use std::{alloc::Layout, marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    LENGTHS, Workspace,
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
    /// The parameters of the kernel `run_lengths`, with keys as bytes.
    struct LengthsParams<'a, W: CountWord> {
        keys: In<u8>,
        input: Flat<InputParams<'static>>,
        keys_out: InOut<u8>,
        lengths: InOut<W>,
        runs: InOut<W>,
        workspace: InOut<u64>,
    }
}

/// Run-length encoding on a GPU. CUB: `DeviceRunLengthEncode::Encode`.
///
/// Items have type `K`, plain data or `bool`, and are equal if their bytes are equal. Counts and lengths have type `W`:
/// `u32`, or `u64` for 2³² or more items. A call is one launch, like that of [`Unique`](super::Unique).
///
/// ```no_run
/// use compaction::{Count, cuda, runs::{RunLengths, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let encode = RunLengths::<u8>::new(&cuda::Compiler::new(), &context)?;
/// let mut workspace = Workspace::with_capacity(&stream, 6)?;
///
/// let items = cuda::upload(&stream, b"aaabcc")?;
/// let (mut keys, mut lengths) = (cuda::zeroed(&stream, 6)?, cuda::zeroed(&stream, 6)?);
/// let mut runs = cuda::zeroed(&stream, 1)?;
/// encode.items(&stream, &items, Count::All, &mut keys, &mut lengths, &mut runs, &mut workspace)?;
/// let runs = workspace.read(&stream, &runs)?;
/// assert_eq!(cuda::download(&stream, &keys.slice(..runs))?, *b"abc");
/// assert_eq!(cuda::download(&stream, &lengths.slice(..runs))?, [3, 1, 2]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DeviceRunLengthEncode", "run_length_encode"))]
#[derive(Debug)]
pub struct RunLengths<K: Movable, W: CountWord = u32> {
    kernel: Kernel<LengthsParams<'static, W>>,
    types: PhantomData<fn(K)>,
}

impl<K: Movable, W: CountWord> RunLengths<K, W> {
    /// Compiles the kernel for items of the size and alignment of `K`, or loads it if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, runs::RunLengths};
    ///
    /// let encode = RunLengths::<u32, u64>::new(&cuda::Compiler::new(), &cuda::open(0)?)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>) -> Result<Self> {
        let module = compiler.load(context, &source::<W>(item_layout::<K>()))?;
        Ok(Self {
            kernel: module.kernel("run_lengths")?,
            types: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs, for an [`Archive`](cuda::Archive).
    ///
    /// ```
    /// use compaction::runs::RunLengths;
    ///
    /// assert_eq!(RunLengths::<u8>::sources()[0].path(), "compaction/kernels/run_lengths.cu");
    /// ```
    pub fn sources() -> Vec<Source> {
        vec![source::<W>(item_layout::<K>())]
    }

    /// Enqueues a call that writes the key of each run of equal items to `keys_out`, the run's length to `lengths`, and
    /// the number of runs to `runs[0]`. Otherwise like [`Unique::items`](super::Unique::items).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, runs::{RunLengths, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let encode = RunLengths::<u32, u64>::new(&cuda::Compiler::new(), &context)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let items = cuda::upload(&stream, &[7, 7, 7])?;
    /// let (mut keys, mut lengths) = (cuda::zeroed(&stream, 3)?, cuda::zeroed(&stream, 3)?);
    /// let mut runs = cuda::zeroed(&stream, 1)?;
    /// encode.items(&stream, &items, Count::All, &mut keys, &mut lengths, &mut runs, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &lengths)?, [3_u64, 0, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Unique::items`](super::Unique::items).
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, K>,
        count: Count<'a, W>,
        keys_out: impl IntoViewMut<'a, K>,
        lengths: impl IntoViewMut<'a, W>,
        runs: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace<K>,
    ) -> Result<()> {
        let items = &items.into_view();
        let (keys_out, lengths) = (&mut keys_out.into_view_mut(), lengths.into_view_mut());
        let runs = &mut runs.into_view_mut();
        let call = Call {
            operation: LENGTHS.operation,
            stream,
            context: self.kernel.context(),
            buffers: &[
                ("items", &items),
                ("keys output", &keys_out),
                ("lengths", &lengths),
            ],
            count: count.operand(),
            written: Some(&runs),
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let room = keys_out.len().min(lengths.len());
        let tile = tile_items(rows(staged_bytes(size_of::<K>())));
        let checked = check(&LENGTHS, items.len(), count, room, tile, workspace)?;
        let args = LengthsParams {
            keys: cuda::reinterpret(items.slice(..))?,
            input: checked.item_count.params(),
            keys_out: cuda::item_bytes(keys_out.slice_mut(..)),
            lengths,
            runs: room_for_count(&LENGTHS, runs)?,
            workspace: checked.words,
        };
        self.kernel.launch(stream, checked.launch, args)
    }
}

/// Returns the bytes of shared memory for each item of a tile: its key, and the index of a head within the tile.
const fn staged_bytes(key_bytes: usize) -> usize {
    key_bytes + size_of::<u16>()
}

fn source<W: CountWord>(keys: Layout) -> Source {
    let path = "compaction/kernels/run_lengths.cu";
    let text = include_str!("../../kernels/run_lengths.cu");
    let source = Source::new(path, text).kernel::<LengthsParams<'static, W>>("run_lengths");
    let bytes = staged_bytes(keys.size());
    of_keys::<W>(source, keys, (bytes, Values::None), rows(bytes))
}
