//! Selection by a function of the user's.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use super::{
    BLOCK_THREADS, Count, TILE_ITEMS, check_item, check_lengths, method::Extent, room_for_count,
    workspace::Workspace,
};
use crate::{
    Error, Result,
    counting::CountWord,
    cuda::{Compiler, In, InOut, Kernel, Source},
    layout::Shared,
    look_back,
};

/// `(items, count, extent, flags)`
type Flags<T, W> = (In<T>, In<W>, Extent, InOut<u8>);
/// `(items, count, extent, out, selected, workspace)`
type Keep<T, W> = (In<T>, In<W>, Extent, InOut<T>, InOut<W>, InOut<u64>);

/// From this many items on, blocks are more than a GPU runs at once.
const MANY_ITEMS: u32 = 1 << 23;

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
    ///
    /// ```
    /// use compaction::select::Predicate;
    ///
    /// let few = |most: u32| Predicate::new("few.cuh", format!("bool keep(u32 n) {{ return n <= {most}; }}"));
    /// assert!(few(7).source::<u32>().text()?.contains("n <= 7"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// How errors name it.
    ///
    /// ```
    /// # use compaction::select::Predicate;
    /// assert_eq!(Predicate::new("all.cuh", "bool keep(u32) { return true; }").path(), "all.cuh");
    /// ```
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kernel file that asks it of items of `T`, counted by `u32`.
    ///
    /// ```
    /// # use compaction::select::Predicate;
    /// let all = Predicate::new("all.cuh", "bool keep(u8) { return true; }");
    /// assert!(all.source::<u8>().text()?.contains("#define Item u8"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn source<T: Shared>(&self) -> Source {
        self.counting::<T, u32>()
    }

    fn counting<T: Shared, W: CountWord>(&self) -> Source {
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
        .define("Word", W::NAME)
        .kernel::<Flags<T, W>>("select_if_flags")
        .kernel::<Keep<T, W>>("select_if_look_back")
        .kernel::<Keep<T, W>>("select_if_many_look_back");
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
pub struct SelectIf<T: Shared, W: CountWord = u32> {
    flags: Kernel<Flags<T, W>>,
    few: Kernel<Keep<T, W>>,
    many: Kernel<Keep<T, W>>,
}

impl<T: Shared, W: CountWord> SelectIf<T, W> {
    /// Compiles, or finds compiled, the kernels that ask the predicate.
    ///
    /// ```no_run
    /// use compaction::{cuda, select::{Predicate, SelectIf}};
    ///
    /// let far = Predicate::new("far.cuh", "bool keep(f32 distance) { return distance > 1.0f; }");
    /// let select = SelectIf::<f32, u64>::new(&cuda::Compiler::new(), &cuda::open(0)?, &far)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
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
        let module = compiler
            .load(context, &predicate.counting::<T, W>())
            .map_err(|error| match error {
                Error::Compile { log, .. } => Error::Compile {
                    kernel: predicate.path.clone(),
                    log,
                },
                other => other,
            })?;
        Ok(Self {
            flags: module.kernel("select_if_flags")?,
            few: module.kernel("select_if_look_back")?,
            many: module.kernel("select_if_many_look_back")?,
        })
    }

    /// Writes 1 for each item that is kept, else 0: flags as [`Select`](super::Select) takes them.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Count, Predicate, SelectIf, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let workspace = Workspace::with_capacity(&stream, 3)?;
    /// let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    /// let select = SelectIf::<u32>::new(&compiler, &context, &odd)?;
    /// let numbers = cuda::upload(&stream, &[7_u32, 8, 9])?;
    /// let mut flags = cuda::zeroed::<u8>(&stream, 3)?;
    /// let all = Count::Given(3_u32);
    /// select.flags(&stream, &numbers.as_view(), all, &mut flags.as_view_mut(), &workspace)?;
    /// assert_eq!(cuda::download(&stream, &flags)?, [1, 0, 1]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Select::items`](super::Select::items).
    pub fn flags(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_, W>,
        flags: &mut CudaViewMut<'_, u8>,
        workspace: &Workspace,
    ) -> Result<()> {
        let capacity = count.capacity(items.len())?;
        check_lengths(items.len(), items.len(), flags.len(), capacity)?;
        let (count, is_given) = count.told(&workspace.unread)?;
        for extent in Extent::all(capacity, is_given, workspace.portion::<W>()) {
            let args = (
                items.slice(..),
                count.slice(..),
                extent,
                flags.slice_mut(..),
            );
            self.flags
                .launch(stream, extent.blocks(BLOCK_THREADS), args)?;
        }
        Ok(())
    }

    /// Writes the items that the predicate keeps to `out`, in order, and how many there are to `selected[0]`.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Count, Predicate, SelectIf, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    /// let select = SelectIf::<u32>::new(&compiler, &context, &odd)?;
    /// let numbers = cuda::upload(&stream, &[7_u32, 8, 9])?;
    /// let mut out = cuda::zeroed::<u32>(&stream, 3)?;
    /// let mut kept = cuda::zeroed::<u32>(&stream, 1)?;
    /// let (mut to, mut count) = (out.as_view_mut(), kept.as_view_mut());
    /// select.items(&stream, &numbers.as_view(), Count::All, &mut to, &mut count, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?[..2], [7, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Select::items`](super::Select::items).
    pub fn items(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, T>,
        selected: &mut CudaViewMut<'_, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let capacity = count.capacity(items.len())?;
        check_lengths(items.len(), items.len(), out.len(), capacity)?;
        if workspace.capacity() < capacity {
            return Err(Error::WorkspaceTooSmall {
                what: "select by a predicate",
                needed: capacity,
                got: workspace.capacity(),
            });
        }
        let portion = workspace.portion::<W>();
        let (count, is_given) = count.told(&workspace.unread)?;
        let mut selected = room_for_count(selected)?;
        for extent in Extent::all(capacity, is_given, portion) {
            let args = (
                items.slice(..),
                count.slice(..),
                extent,
                out.slice_mut(..),
                selected.slice_mut(..),
                workspace.states.words.as_view_mut(),
            );
            let kernel = match extent.items {
                0..MANY_ITEMS => &self.few,
                _ => &self.many,
            };
            kernel.launch(stream, extent.blocks(TILE_ITEMS), args)?;
        }
        Ok(())
    }
}
