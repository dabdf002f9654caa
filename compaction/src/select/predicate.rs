//! Selection by a function of the user's.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, Count, TILE_ITEMS, capacity, check_item, check_lengths, room_for_count, told,
    workspace::Workspace,
};
use crate::{
    Error, Result,
    cuda::{Compiler, In, InOut, Kernel, Launch, Source},
    layout::Shared,
    look_back,
};

/// `(items, count, capacity, is_given, flags)`
type Flags<T> = (In<T>, In<u32>, u32, u32, InOut<u8>);
/// `(items, count, capacity, is_given, out, selected, workspace)`
type Keep<T> = (In<T>, In<u32>, u32, u32, InOut<T>, InOut<u32>, InOut<u64>);

/// Where the kernel file includes the user's text.
const INCLUDE: &str = "#include \"predicate\"";

/// The text of a predicate: CUDA C++ that defines `bool keep(Item)`, or `bool keep(const Item &)`, for an item's type
/// in CUDA. A struct's text is part of it, and is checked against the one in Rust.
///
/// ```
/// use compaction::select::Predicate;
///
/// let even = Predicate::new("even.cuh", "bool keep(u32 number) { return number % 2 == 0; }");
/// assert_eq!(even.path(), "even.cuh");
/// ```
#[derive(Clone, Debug)]
pub struct Predicate {
    path: String,
    text: String,
}

impl Predicate {
    /// This text. `path` is how errors name it.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// How errors name it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kernel file that asks it of items of `T`.
    pub fn source<T: Shared>(&self) -> Source {
        const { check_item::<T>() };
        let file = include_str!("../../kernels/select_if.cu");
        let include = format!("#include \"{}\"", self.path);
        let source = Source::new(
            "compaction/kernels/select_if.cu",
            file.replace(INCLUDE, &include),
        )
        .header(self.path.clone(), self.text.clone())
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .define("Item", T::NAME)
        .kernel::<Flags<T>>("select_if_flags")
        .kernel::<Keep<T>>("select_if_look_back");
        look_back::declare(source)
    }
}

/// The selection on a GPU of the items that a [`Predicate`] keeps.
///
/// As [`Select`](super::Select) by [`Strategy::LookBack`](crate::Strategy::LookBack), in one launch and without flags:
/// for n items of s bytes of which k are kept, ns + ks bytes move. For the other strategies, and in place,
/// [`flags`](Self::flags) writes what the predicate says of each item.
///
/// ```no_run
/// use compaction::{cuda, select::{Count, Predicate, SelectIf, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let even = Predicate::new("even.cuh", "bool keep(u32 number) { return number % 2 == 0; }");
/// let select = SelectIf::<u32>::new(&cuda::Compiler::new(), &context, &even)?;
/// let mut workspace = Workspace::with_capacity(&stream, 5)?;
///
/// let numbers = cuda::upload(&stream, &[31_u32, 58, 59, 26, 84])?;
/// let mut out = cuda::zeroed::<u32>(&stream, 5)?;
/// let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
/// select.items(
///     &stream,
///     &numbers.as_view(),
///     Count::Given(5),
///     &mut out.as_view_mut(),
///     &mut selected.as_view_mut(),
///     &mut workspace,
/// )?;
/// assert_eq!(workspace.read(&stream, &selected.as_view())?, 3);
/// assert_eq!(cuda::download(&stream, &out)?[..3], [58, 26, 84]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct SelectIf<T: Shared> {
    flags: Kernel<Flags<T>>,
    keep: Kernel<Keep<T>>,
}

impl<T: Shared> SelectIf<T> {
    /// Compiles, or finds compiled, the kernels that ask the predicate.
    ///
    /// # Errors
    ///
    /// [`Error::Compile`] with the predicate's path, and its text and line, if it does not compile; else what
    /// [`Compiler::load`] says.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        predicate: &Predicate,
    ) -> Result<Self> {
        let module =
            compiler
                .load(context, &predicate.source::<T>())
                .map_err(|error| match error {
                    Error::Compile { log, .. } => Error::Compile {
                        kernel: predicate.path.clone(),
                        log,
                    },
                    other => other,
                })?;
        Ok(Self {
            flags: module.kernel("select_if_flags")?,
            keep: module.kernel("select_if_look_back")?,
        })
    }

    /// Writes 1 for each item that is kept, else 0: flags as [`Select`](super::Select) takes them.
    ///
    /// # Errors
    ///
    /// As [`Select::items`](super::Select::items).
    pub fn flags(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_>,
        flags: &mut CudaViewMut<'_, u8>,
        workspace: &Workspace,
    ) -> Result<()> {
        let capacity = capacity(items.len(), &count)?;
        check_lengths(items.len(), items.len(), flags.len(), capacity as usize)?;
        let (count, is_given) = told(count, &workspace.unread)?;
        let args = (
            items.slice(..),
            count,
            capacity,
            is_given,
            flags.slice_mut(..),
        );
        self.flags
            .launch(stream, Launch::covering(capacity, BLOCK_THREADS), args)
    }

    /// Writes the items that the predicate keeps to `out`, in order, and how many there are to `selected[0]`.
    ///
    /// # Errors
    ///
    /// As [`Select::items`](super::Select::items).
    pub fn items(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_>,
        out: &mut CudaViewMut<'_, T>,
        selected: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let capacity = capacity(items.len(), &count)?;
        check_lengths(items.len(), items.len(), out.len(), capacity as usize)?;
        if workspace.capacity() < capacity {
            return Err(Error::WorkspaceTooSmall {
                what: "select by a predicate",
                needed: capacity as usize,
                got: workspace.capacity() as usize,
            });
        }
        let (count, is_given) = told(count, &workspace.unread)?;
        let args = (
            items.slice(..),
            count,
            capacity,
            is_given,
            out.slice_mut(..),
            room_for_count(selected)?,
            workspace.words.as_view_mut(),
        );
        let blocks = capacity.div_ceil(TILE_ITEMS).max(1);
        self.keep
            .launch(stream, Launch::blocks(blocks, BLOCK_THREADS), args)
    }
}
