//! The partition into classes on a GPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    CountPortions, MoveIndices, Workspace,
    workspace::{CHUNK_BITS, LAST_CLASS_EPOCH, class_chunks, portions},
};
use crate::{
    Count, CountWord, Result,
    counted::{
        Counted, Names, check_range, check_room, check_words, check_workspace, count_words,
        is_wide, names,
    },
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source},
    look_back::Control,
};

/// Items that a block orders at a time on CUDA.
///
/// ```
/// assert_eq!(compaction::partition::CLASS_TILE_ITEMS, 8192);
/// ```
pub const CLASS_TILE_ITEMS: u32 = 8192;
/// Bits of a class's number that a warp votes for; with more, it goes by masks.
const MOST_VOTES: u32 = 5;

/// Threads of a block, of which a multiprocessor runs one, so that few chunks have to be looked at. Masks take shared
/// memory, and leave room for half as many warps.
fn block_threads(bits: u32) -> u32 {
    if bits > MOST_VOTES { 512 } else { 1024 }
}

/// Bits of a class's number. Keys that name no class count as one more, where there are any.
fn class_bits(classes: u32) -> u32 {
    (u32::BITS - classes.leading_zeros()).min(8)
}

pub(super) const STARTS: &str = "the starts of partition";
const NAMES: Names = names!("partition", "keys");

/// `(keys, count, capacity, is_given, out, starts, workspace)`
type Indices = (
    In<u8>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);

/// Refuses numbers of classes that a byte cannot tell apart.
pub(super) fn check_classes(classes: u32) -> Result<()> {
    check_range("the classes of partition", classes as usize, 1, 256)
}

/// The kernel file for this many classes.
fn source(classes: u32) -> Result<Source> {
    check_classes(classes)?;
    let bits = class_bits(classes);
    let text = include_str!("../../kernels/partition_classes.cu");
    Ok(Source::new("compaction/kernels/partition_classes.cu", text)
        .constant("BLOCK_THREADS", block_threads(bits))
        .constant("ITEMS_PER_THREAD", CLASS_TILE_ITEMS / block_threads(bits))
        .constant("MOST_VOTES", MOST_VOTES)
        .constant("CLASSES", classes)
        .constant("CLASS_BITS", bits)
        .constant("CHUNK_BITS", CHUNK_BITS)
        .constant("LAST_EPOCH", LAST_CLASS_EPOCH)
        .shared::<Control>()
        .kernel::<Indices>("partition_classes")
        .kernel::<CountPortions>("partition_count_classes")
        .kernel::<MoveIndices>("partition_move_classes")
        .kernel::<MoveIndices>("partition_move_wide_classes"))
}

/// The partition into classes on a GPU.
///
/// As [`Partition`](super::Partition): one launch or two, nothing allocated, nothing waited for.
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
/// classes.indices(
///     &stream,
///     &keys.as_view(),
///     Count::Given(6),
///     &mut out.as_view_mut(),
///     &mut starts.as_view_mut(),
///     &mut workspace,
/// )?;
/// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 5, 2, 0, 4]);
/// assert_eq!(workspace.read_starts(&stream, &starts.as_view())?, [0, 3, 4, 6]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Classes {
    classes: u32,
    multiprocessors: u32,
    indices: Kernel<Indices>,
    count: Kernel<CountPortions>,
    /// Indices in words of 4 bytes and of 8.
    move_indices: [Kernel<MoveIndices>; 2],
}

impl Classes {
    /// Compiles, or finds compiled, the kernels for this many classes, 1 to 256. Fewer are faster: a warp votes once for
    /// every bit of a class's number.
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
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for another number of classes; what [`Compiler::load`] says.
    pub fn new(compiler: &Compiler, context: &Arc<CudaContext>, classes: u32) -> Result<Self> {
        let module = compiler.load(context, &source(classes)?)?;
        Ok(Self {
            classes,
            multiprocessors: cuda::multiprocessors(context)?,
            indices: module.kernel("partition_classes")?,
            count: module.kernel("partition_count_classes")?,
            move_indices: [
                module.kernel("partition_move_classes")?,
                module.kernel("partition_move_wide_classes")?,
            ],
        })
    }

    /// The kernel files for this many classes: what an [`Archive`](crate::cuda::Archive) ships.
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
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for another number of classes.
    pub fn sources(classes: u32) -> Result<Vec<Source>> {
        Ok(vec![source(classes)?])
    }

    /// How many classes there are.
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

    /// Writes the indices of all keys to `out`, ordered by key, equal ones in their order, and to `starts[c]` where
    /// class c begins. `starts[classes]` is where the last class ends: what lies behind it, up to the number of keys, has
    /// a key that names no class, and is in its order as well.
    ///
    /// `out` has room for as many indices as there may be keys, `starts` for one more than classes. Both are `u32`, in one
    /// launch, or `u64`, in two: from 2³² keys on they have to be.
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
    /// classes.indices(
    ///     &stream,
    ///     &keys.as_view(),
    ///     Count::All,
    ///     &mut out.as_view_mut(),
    ///     &mut starts.as_view_mut(),
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 3, 5, 2, 0, 4]);
    /// assert_eq!(cuda::download(&stream, &starts)?, [0, 3, 4, 6]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Partition::indices`](super::Partition::indices).
    pub fn indices<I: CountWord, W: CountWord>(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, u8>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, I>,
        starts: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let room = workspace.capacity();
        let counted = Counted::new(&NAMES, keys.len(), count, &workspace.unread)?;
        let what = || "the keys of partition".to_owned();
        check_workspace(what, room, counted.capacity)?;
        check_words::<I>(NAMES.output, counted.capacity)?;
        check_room(NAMES.output, out.len(), counted.capacity)?;
        check_room(STARTS, starts.len(), self.classes as usize + 1)?;
        let threads = block_threads(class_bits(self.classes));
        let is_given = counted.is_given.into();
        let mut words = workspace.classes.words.as_view_mut();
        match (u32::try_from(counted.capacity), is_wide::<I>()) {
            (Ok(capacity), false) if !is_wide::<W>() => {
                let chunks = class_chunks(capacity, self.multiprocessors);
                let args = (
                    keys.slice(..),
                    counted.count,
                    capacity,
                    is_given,
                    cuda::reinterpret_mut(out)?,
                    cuda::reinterpret_mut(starts)?,
                    words,
                );
                self.indices
                    .launch(stream, Launch::blocks(chunks, threads), args)
            }
            (_, wide) => {
                let blocks = portions(counted.capacity, CLASS_TILE_ITEMS, self.multiprocessors);
                let launch = Launch::blocks(blocks as u32, threads);
                let args = (
                    keys.slice(..),
                    counted.count.slice(..),
                    count_words::<W>(),
                    counted.capacity as u64,
                    is_given,
                    workspace.class_counts.as_view_mut(),
                    words.slice_mut(..),
                );
                self.count.launch(stream, launch, args)?;
                let args = (
                    keys.slice(..),
                    counted.count,
                    count_words::<W>(),
                    counted.capacity as u64,
                    is_given,
                    workspace.class_counts.as_view(),
                    cuda::reinterpret_mut(out)?,
                    cuda::reinterpret_mut(starts)?,
                    words,
                );
                self.move_indices[usize::from(wide)].launch(stream, launch, args)
            }
        }
    }
}
