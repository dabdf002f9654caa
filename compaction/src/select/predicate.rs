//! Stream compaction by a user-defined predicate.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{BLOCK_THREADS, NAMES, TILE_ITEMS, check_item, method::Extent, workspace::Workspace};
use crate::{
    Count, CountWord, Error, Result,
    arguments::{ItemCount, check_room, check_workspace, room_for_count},
    cuda::{self, Compiler, In, InOut, IntoView, IntoViewMut, Kernel, Source, in_quotes},
    layout::Shared,
    look_back,
};

/// The parameters of the kernel `select_if_flags`: `(items, count, extent, flags)`. It writes one flag per item.
/// [`Extent`] states the range of items of the launch, and whether `count` contains the number of all items.
type Flags<T, W> = (In<T>, In<W>, Extent, InOut<u8>);
/// The parameters of the kernels `select_if_look_back` and `select_if_many_look_back`: `(items, count, extent, out,
/// selected, workspace)`. [`Extent`] states the range of items of the launch, and whether `count` contains the number
/// of all items.
type Keep<T, W> = (In<T>, In<W>, Extent, InOut<T>, InOut<W>, InOut<u64>);

/// Number of items of a launch from which `select_if_many_look_back` is faster than `select_if_look_back`: there are
/// more blocks than a GPU runs at once.
const MANY_ITEMS: u32 = 1 << 23;

/// The path with which the kernel file includes the predicate's text.
const INCLUDED: &str = "predicate";

/// The largest number of characters of a predicate's text in an error message.
const MAX_SHOWN: usize = 80;

/// A predicate in CUDA C++: source text that defines `bool keep(Item)` or `bool keep(const Item &)`, where `Item` is
/// the CUDA name of the item type.
///
/// If the items are structs, the text also defines the struct, whose layout is checked against Rust.
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
    /// Creates a predicate from its source text. `path` names it in error messages.
    ///
    /// ```
    /// use compaction::select::Predicate;
    ///
    /// let few = |most: u32| Predicate::new("few.cuh", format!("bool keep(u32 n) {{ return n <= {most}; }}"));
    /// assert_eq!(few(7).path(), few(8).path());
    /// ```
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// Returns the path that names the predicate in error messages.
    ///
    /// ```
    /// # use compaction::select::Predicate;
    /// assert_eq!(Predicate::new("all.cuh", "bool keep(u32) { return true; }").path(), "all.cuh");
    /// ```
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path as shown in error messages: on one line, or `the predicate` if it is blank.
    fn shown(&self) -> String {
        match in_quotes(&self.path) {
            path if path.trim().is_empty() => "the predicate".to_owned(),
            path => path.into_owned(),
        }
    }

    /// Builds the [`Error::NoKeep`] of this predicate for items of type `T`.
    fn no_keep<T: Shared>(&self) -> Error {
        let text: Vec<&str> = self.text.split_whitespace().collect();
        let mut text = text.join(" ");
        if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        Error::NoKeep {
            predicate: self.shown(),
            item: T::NAME,
            text,
        }
    }

    /// Returns whether the text contains the word `keep`. If not, it cannot define the predicate's function, and is not
    /// compiled.
    fn names_keep(&self) -> bool {
        let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
        self.text
            .split(|c| !is_in_word(c))
            .any(|word| word == "keep")
    }
}

/// Stream compaction on a GPU by a [`Predicate`], for items of type `T` and counts of type `W`.
///
/// A call works like [`Select`](super::Select) with [`Strategy::LookBack`](super::Strategy::LookBack), in one launch
/// and without flags. For n items of s bytes of which k are kept, it moves ns + ks bytes. To use another strategy, or
/// to select in place, write the flags with [`flags`](Self::flags).
///
/// ```no_run
/// use compaction::{Count, cuda, select::{Predicate, SelectIf, Workspace}};
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
/// select.items(&stream, &numbers, Count::Given(5), &mut out, &mut selected, &mut workspace)?;
/// assert_eq!(workspace.read(&stream, &selected)?, 3);
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
    /// Compiles the kernels with the predicate, or loads them if compiled earlier.
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
    /// Returns [`Error::NoKeep`] if the predicate defines no `keep`; [`Error::Compile`] with the predicate's path and
    /// the compiler's log if it does not compile; and otherwise the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        predicate: &Predicate,
    ) -> Result<Self> {
        let source = source::<T, W>(predicate)?;
        let module = compiler
            .load(context, &source)
            .map_err(|error| match error {
                Error::Compile { log, .. } if log.contains("\"keep\" is undefined") => {
                    predicate.no_keep::<T>()
                }
                Error::Compile { log, .. } => Error::Compile {
                    kernel: predicate.shown(),
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

    /// Returns the kernel files with this predicate, for an [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// # use compaction::select::{Predicate, SelectIf};
    /// let all = Predicate::new("all.cuh", "bool keep(u8) { return true; }");
    /// assert!(SelectIf::<u8>::sources(&all)?[0].text()?.contains("#define Item u8"));
    ///
    /// let none = Predicate::new("none.cuh", "bool kept;");
    /// let error = SelectIf::<u8>::sources(&none).unwrap_err();
    /// assert_eq!(error.to_string(), "none.cuh defines no bool keep(u8): \"bool kept;\"");
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoKeep`] if the text does not contain the word `keep`.
    pub fn sources(predicate: &Predicate) -> Result<Vec<Source>> {
        Ok(vec![source::<T, W>(predicate)?])
    }

    /// Enqueues a kernel that writes one flag per item, 1 if the predicate keeps the item and 0 otherwise, for use by
    /// [`Select`](super::Select).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, select::{Predicate, SelectIf, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let workspace = Workspace::with_capacity(&stream, 3)?;
    /// let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    /// let select = SelectIf::<u32>::new(&compiler, &context, &odd)?;
    /// let numbers = cuda::upload(&stream, &[7_u32, 8, 9])?;
    /// let mut flags = cuda::zeroed::<u8>(&stream, 3)?;
    /// let all = Count::Given(3_u32);
    /// select.flags(&stream, &numbers, all, &mut flags, &workspace)?;
    /// assert_eq!(cuda::download(&stream, &flags)?, [1, 0, 1]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Select::items`](super::Select::items), where `flags` is the output. Any [`Workspace`] of
    /// the stream is large enough.
    pub fn flags<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        flags: impl IntoViewMut<'a, u8>,
        workspace: &Workspace,
    ) -> Result<()> {
        let items = &items.into_view();
        let flags = &mut flags.into_view_mut();
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        check_room("the flags of select", flags.len(), item_count.capacity)?;
        let (count, capacity) = (
            cuda::reinterpret::<_, W>(item_count.count)?,
            item_count.capacity,
        );
        let is_given = item_count.is_given;
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

    /// Enqueues a selection that writes the items that the predicate keeps to `out`, in order, and their number to
    /// `selected[0]`. Entries of `out` behind the result keep their values.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, select::{Predicate, SelectIf, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    /// let select = SelectIf::<u32>::new(&compiler, &context, &odd)?;
    /// let numbers = cuda::upload(&stream, &[7_u32, 8, 9])?;
    /// let mut out = cuda::zeroed::<u32>(&stream, 3)?;
    /// let mut kept = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.items(&stream, &numbers, Count::All, &mut out, &mut kept, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?[..2], [7, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Select::items`](super::Select::items).
    pub fn items<'a>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        out: impl IntoViewMut<'a, T>,
        selected: impl IntoViewMut<'a, W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let items = &items.into_view();
        let (out, selected) = (&mut out.into_view_mut(), &mut selected.into_view_mut());
        let portion = workspace.portion::<W>();
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        let (is_given, capacity) = (item_count.is_given, item_count.capacity);
        check_room(NAMES.output, out.len(), capacity)?;
        let what = || "the items of select by a predicate".to_owned();
        check_workspace(what, workspace.capacity(), capacity)?;
        let count = cuda::reinterpret::<_, W>(item_count.count)?;
        let mut selected = room_for_count::<W, W>(&NAMES, selected)?;
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

/// Returns the kernel file with the predicate for items of type `T` and counts of type `W`.
fn source<T: Shared, W: CountWord>(predicate: &Predicate) -> Result<Source> {
    const { check_item::<T>() };
    if !predicate.names_keep() {
        return Err(predicate.no_keep::<T>());
    }
    let source = Source::new(
        "compaction/kernels/select_if.cu",
        include_str!("../../kernels/select_if.cu"),
    )
    .header_shown_as(INCLUDED, predicate.shown(), predicate.text.clone())
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .define("Item", T::NAME)
    .define("Word", W::NAME)
    .kernel::<Flags<T, W>>("select_if_flags")
    .kernel::<Keep<T, W>>("select_if_look_back")
    .kernel::<Keep<T, W>>("select_if_many_look_back");
    Ok(look_back::declare(source))
}
