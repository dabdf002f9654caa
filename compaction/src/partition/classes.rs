//! The stable partition into classes on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    CLASS_TILE_ITEMS, STARTS, Workspace,
    call::{CountPortions, IndexKernels, Indices, MoveIndices, PartitionCall},
    check_classes,
    workspace::{CHUNK_BITS, LAST_CLASS_EPOCH, class_chunks, two_launch_blocks},
};
use crate::policies::partition::MAX_VOTES;
use crate::{
    Count, CountWord, Result,
    arguments::{
        ArgumentNames, Call, ItemCount, argument_names, check_room, check_words, check_workspace,
        is_wide,
    },
    cuda::{self, Compiler, IntoView, IntoViewMut, Launch, Source},
    look_back::Control,
};

/// Returns the threads per block for class numbers of `bits` bits. Blocks are as large as possible, because each
/// multiprocessor runs one block and each block has a row of counts.
///
/// Above [`MAX_VOTES`] bits, masks occupy shared memory and leave room for only half as many warps.
fn block_threads(bits: u32) -> u32 {
    if bits > MAX_VOTES { 512 } else { 1024 }
}

/// Returns the number of bits of a class number. Unless there are 256 classes, one further class holds the keys that
/// are not below `classes`.
fn class_bits(classes: u32) -> u32 {
    (u32::BITS - classes.leading_zeros()).min(8)
}

const NAMES: ArgumentNames = argument_names!("partition", "keys");

/// Returns the kernel file for a number of classes, or an error unless it is 1 to 256.
fn source(classes: u32) -> Result<Source> {
    check_classes(classes)?;
    let bits = class_bits(classes);
    let text = include_str!("../../kernels/partition_classes.cu");
    Ok(Source::new("compaction/kernels/partition_classes.cu", text)
        .constant("BLOCK_THREADS", block_threads(bits))
        .constant("ITEMS_PER_THREAD", CLASS_TILE_ITEMS / block_threads(bits))
        .constant("MAX_VOTES", MAX_VOTES)
        .constant("CLASSES", classes)
        .constant("CLASS_BITS", bits)
        .constant("CHUNK_BITS", CHUNK_BITS)
        .constant("LAST_EPOCH", LAST_CLASS_EPOCH)
        .shared::<Control>()
        .kernel::<Indices<'static>>("partition_classes")
        .kernel::<CountPortions<'static>>("partition_count_classes")
        .kernel::<MoveIndices<'static>>("partition_move_classes")
        .kernel::<MoveIndices<'static>>("partition_move_wide_classes"))
}

/// The stable partition of indices into up to 256 classes on a GPU, by keys of one byte: a counting sort.
///
/// Like [`Partition`](super::Partition), a call takes one launch, or two for counts or indices of `u64`. It allocates
/// nothing and does not wait.
///
/// ```no_run
/// use compaction::{Count, cuda, partition::{Classes, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let classes = Classes::new(&cuda::Compiler::new(), &context, 3)?;
/// let mut workspace = Workspace::with_capacity(&stream, 6)?;
///
/// let keys = cuda::upload(&stream, &[2_u8, 0, 1, 0, 2, 0])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 6)?;
/// let mut starts = cuda::zeroed::<u32>(&stream, 4)?;
/// classes.indices(&stream, &keys, Count::Given(6), &mut out, &mut starts, &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 5, 2, 0, 4]);
/// assert_eq!(workspace.read_starts(&stream, &starts)?, [0, 3, 4, 6]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("DevicePartition", "multisplit"))]
#[derive(Debug)]
pub struct Classes {
    classes: u32,
    multiprocessors: u32,
    indices: IndexKernels,
}

impl Classes {
    /// Compiles the kernels for 1 to 256 classes, or loads them if compiled earlier. Fewer classes are faster, because
    /// the work of a warp grows with the bits of a class number.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let materials = Classes::new(&Compiler::new(), &context, 16)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for another number of classes, and the errors of
    /// [`Compiler::load`].
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, classes: u32) -> Result<Self> {
        let module = compiler.load(context, &source(classes)?)?;
        Ok(Self {
            classes,
            multiprocessors: cuda::multiprocessors(context)?,
            indices: IndexKernels::of(
                &module,
                [
                    "partition_classes",
                    "partition_count_classes",
                    "partition_move_classes",
                    "partition_move_wide_classes",
                ],
            )?,
        })
    }

    /// Returns the kernel files for this many classes, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::partition::Classes;
    ///
    /// assert!(Classes::sources(20)?[0].path().ends_with("partition_classes.cu"));
    /// let error = Classes::sources(257).unwrap_err().to_string();
    /// assert_eq!(error, "the classes of partition: 257, where 1 to 256 are possible");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 256 classes.
    pub fn sources(classes: u32) -> Result<Vec<Source>> {
        Ok(vec![source(classes)?])
    }

    /// Returns the number of classes that was passed to [`new`](Self::new).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let classes = Classes::new(&Compiler::new(), &context, 3)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// assert_eq!(classes.classes(), 3);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn classes(&self) -> u32 {
        self.classes
    }

    /// Enqueues a partition that writes the indices of all keys to `out`, ordered by key, and the start of class c in
    /// `out` to `starts[c]`.
    ///
    /// Equal keys keep their order. `starts[classes]` is the end of the last class. Behind it, up to the number of
    /// keys, come the indices of keys of `classes` or more, in input order.
    ///
    /// `out` must have room for `count` indices, or for as many as `keys` if the count is in device memory. `starts`
    /// must have room for `classes + 1` entries. A device count larger than `keys` is clamped, and [`Workspace::check`]
    /// reports it.
    ///
    /// A call with `u32` for both indices and counts takes one launch. If either is `u64`, a call takes two. 2³² or
    /// more keys need `u64` for both.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let classes = Classes::new(&Compiler::new(), &context, 3)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// let keys = cuda::upload(&stream, &[2_u8, 0, 1, 0, 2, 0])?;
    /// let mut out = cuda::zeroed::<u32>(&stream, 6)?;
    /// let mut starts = cuda::zeroed::<u32>(&stream, 4)?;
    /// classes.indices(&stream, &keys, Count::All, &mut out, &mut starts, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 5, 2, 0, 4]);
    /// assert_eq!(cuda::download(&stream, &starts)?, [0, 3, 4, 6]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Partition::indices`](super::Partition::indices).
    pub fn indices<'a, I: CountWord, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        keys: impl IntoView<'a, u8>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, I>,
        starts: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let keys = &keys.into_view();
        let (out, starts) = (&mut out.into_view_mut(), &mut starts.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.indices.context(),
            buffers: &[("keys", &keys), ("output", &out), ("starts", &starts)],
            count: count.operand(),
            written: None,
            workspace: workspace.classes.home(),
        };
        let named = call.check()?;
        let room = workspace.capacity();
        let item_count = ItemCount::new(&NAMES, keys.len(), count, &workspace.dummy_count)?;
        let what = || "the keys of partition".to_owned();
        check_workspace(what, room, item_count.capacity)?;
        check_words::<I>(NAMES.output, item_count.capacity)?;
        check_room(NAMES.output, out.len(), item_count.capacity)?;
        check_room(STARTS, starts.len(), self.classes as usize + 1)?;
        let threads = block_threads(class_bits(self.classes));
        let call = PartitionCall {
            keys: keys.slice(..),
            item_count,
            selected: cuda::reinterpret_mut(starts)?,
            words: workspace.classes.words.as_view_mut(),
            counts: workspace.class_counts.as_view_mut(),
            _named: named,
        };
        let blocks = two_launch_blocks(
            call.item_count.capacity,
            CLASS_TILE_ITEMS,
            self.multiprocessors,
        );
        self.indices.launch(
            stream,
            call,
            (cuda::reinterpret_mut(out)?, is_wide::<I>()),
            |capacity| Launch::blocks(class_chunks(capacity, self.multiprocessors), threads),
            Launch::blocks(blocks as u32, threads),
        )
    }
}
