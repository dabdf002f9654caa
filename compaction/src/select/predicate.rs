//! Stream compaction by a user-defined predicate.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{BLOCK_THREADS, NAMES, TILE_ITEMS, check_item, params::Extent, workspace::Workspace};
use crate::policies::select::MANY_TESTED_ITEMS;
use crate::{
    Count, CountWord, Error, Movable, Result,
    arguments::{Call, ItemCount, check_room, check_workspace, room_for_count},
    cuda::{
        self, Compiler, Image, In, InOut, IntoView, IntoViewMut, Kernel, Origin, Source, in_quotes,
        kernel_params,
    },
    layout::Shared,
    look_back,
};

kernel_params! {
    /// The parameters of the kernel `select_if_flags`, which writes one flag per item. `count` is the number of all
    /// items, if the [`Extent`] does not state it.
    struct Flags<'a, T: Shared, W: CountWord, P: Parameters> {
        items: In<T>,
        count: In<W>,
        extent: Extent,
        flags: InOut<u8>,
        parameters: <P as Parameters>::Passed,
    }

    /// The parameters of the kernels `select_if_look_back` and `select_if_many_look_back`. `count` is the number of all
    /// items, if the [`Extent`] does not state it.
    struct Keep<'a, T: Shared, W: CountWord, P: Parameters> {
        items: In<T>,
        count: In<W>,
        extent: Extent,
        out: InOut<T>,
        selected: InOut<W>,
        workspace: InOut<u64>,
        parameters: <P as Parameters>::Passed,
    }
}

/// The path with which the kernel file includes the predicate's text.
const INCLUDED: &str = "predicate";

/// Messages of NVRTC about a predicate without `keep`, or with a `keep` of another type.
const NO_KEEP: [&str; 3] = [
    "\"keep\" is undefined",
    "keep has another type",
    "overloaded function \"keep\"",
];

/// The largest number of characters of a predicate's text in an error message.
const MAX_SHOWN: usize = 80;

/// A predicate in CUDA C++: source text that defines `bool keep(Item)`, where `Item` is the CUDA name of the item type.
/// With [`Parameters`] it defines `bool keep(Item, Parameters)`, with the CUDA name of their type. Each parameter may
/// also be a `const` reference. Other types are errors, even if they convert.
///
/// The names of number types are those of Rust (`f32`, `u64`) or of C++ (`float`); `__device__` is optional. CUDA's
/// mathematical functions, such as `fabsf`, are there, but not those of `std`.
///
/// If the items or parameters are structs, the text also defines the struct, whose layout is checked against Rust. It
/// may include headers of CUDA, see [`Nvrtc::compile`](crate::cuda::Nvrtc::compile): `#include <cuda_fp16.h>`.
///
/// ```
/// use compaction::select::Predicate;
///
/// let even = Predicate::new("even.cuh", "bool keep(u32 number) { return number % 2 == 0; }");
/// assert_eq!(even.path(), "even.cuh");
/// ```
#[doc(alias("functor", "select_op"))]
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
    /// let few = Predicate::new("few.cuh", "bool keep(u32 n, u32 most) { return n <= most; }");
    /// assert_eq!(few.path(), "few.cuh");
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

    /// Builds the [`Error::NoKeep`] of this predicate for items of type `T` and parameters of type `P`.
    fn no_keep<T: Shared, P: Parameters>(&self) -> Error {
        let text: Vec<&str> = self.text.split_whitespace().collect();
        let mut text = text.join(" ");
        if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        Error::NoKeep {
            predicate: self.shown(),
            expected: match P::NAME {
                Some(parameters) => format!("bool keep({}, {parameters})", T::NAME),
                None => format!("bool keep({})", T::NAME),
            },
            text,
        }
    }

    /// Turns a compiler's error about the predicate into one that names the predicate, and what it should define.
    fn explain<T: Shared, P: Parameters>(&self, error: Error) -> Error {
        match error {
            Error::Compile { log, .. } if NO_KEEP.iter().any(|words| log.contains(words)) => {
                self.no_keep::<T, P>()
            }
            Error::Compile { log, .. } => Error::Compile {
                kernel: self.shown(),
                log,
            },
            other => other,
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

/// The parameters of a [`Predicate`], which may change from call to call without compiling it again: a number, a struct
/// that [`shared!`](crate::shared) declares, or `()` for none.
///
/// ```
/// use compaction::select::Parameters;
///
/// fn are_parameters<P: Parameters>(_: P) {}
/// are_parameters(0.5_f32);
/// are_parameters(());
/// ```
pub trait Parameters: Copy + 'static {
    /// The type that kernels receive.
    #[doc(hidden)]
    type Passed: Shared;
    /// The name of the type in CUDA, or `None` without parameters.
    #[doc(hidden)]
    const NAME: Option<&'static str>;

    /// Returns the value that kernels receive.
    #[doc(hidden)]
    fn passed(self) -> Self::Passed;
}

impl<T: Shared> Parameters for T {
    type Passed = T;
    const NAME: Option<&'static str> = Some(T::NAME);

    fn passed(self) -> T {
        self
    }
}

impl Parameters for () {
    // Kernels do not use it.
    type Passed = u32;
    const NAME: Option<&'static str> = None;

    fn passed(self) -> u32 {
        0
    }
}

/// The type of a flag that [`SelectIf::flags`] writes: `u8` or `bool`.
///
/// The trait is sealed: other crates cannot implement it.
///
/// ```
/// use compaction::select::Flag;
///
/// fn is_flag<F: Flag>() {}
/// is_flag::<bool>();
/// ```
pub trait Flag: Movable + sealed::Sealed {}

impl Flag for u8 {}
impl Flag for bool {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for bool {}
}

/// Stream compaction on a GPU by a [`Predicate`] in CUDA C++. CUB: `DeviceSelect::If`; Thrust: `copy_if`.
///
/// Items have type `T`, counts type `W`, and parameters of the predicate type `P`.
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
#[doc(alias("DeviceSelect::If", "copy_if", "remove_if"))]
#[derive(Debug)]
pub struct SelectIf<T: Shared, W: CountWord = u32, P: Parameters = ()> {
    flags: Kernel<Flags<'static, T, W, P>>,
    few: Kernel<Keep<'static, T, W, P>>,
    many: Kernel<Keep<'static, T, W, P>>,
    parameters: P,
}

impl<T: Shared, W: CountWord> SelectIf<T, W> {
    /// Compiles the kernels with a predicate without parameters, or loads them if compiled earlier.
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
    /// Returns [`Error::NoKeep`] if the predicate defines no `keep` of the expected type; [`Error::Compile`] with the
    /// predicate's path and the compiler's log if it does not compile; and otherwise the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        predicate: &Predicate,
    ) -> Result<Self> {
        Self::with_parameters(compiler, context, predicate, ())
    }
}

impl<T: Shared, W: CountWord, P: Parameters> SelectIf<T, W, P> {
    /// Compiles the kernels with a predicate, or loads them if compiled earlier. Calls pass `parameters` to the
    /// predicate until [`set_parameters`](Self::set_parameters) replaces them.
    ///
    /// ```no_run
    /// use compaction::{cuda, select::{Predicate, SelectIf}};
    ///
    /// let far = Predicate::new("far.cuh", "bool keep(f32 distance, f32 min) { return distance > min; }");
    /// let (compiler, context) = (cuda::Compiler::new(), cuda::open(0)?);
    /// let mut select = SelectIf::<f32, u32, f32>::with_parameters(&compiler, &context, &far, 1.0)?;
    /// select.set_parameters(1.5); // compiles nothing
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](SelectIf::new).
    pub fn with_parameters(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        predicate: &Predicate,
        parameters: P,
    ) -> Result<Self> {
        let source = source::<T, W, P>(predicate)?;
        let module = compiler
            .load(context, &source)
            .map_err(|error| predicate.explain::<T, P>(error))?;
        Ok(Self {
            flags: module.kernel("select_if_flags")?,
            few: module.kernel("select_if_look_back")?,
            many: module.kernel("select_if_many_look_back")?,
            parameters,
        })
    }

    /// Replaces the parameters that later calls pass to the predicate. A recorded [`Graph`](crate::cuda::Graph) keeps
    /// those of its recording.
    ///
    /// ```no_run
    /// # use compaction::select::SelectIf;
    /// fn slide(select: &mut SelectIf<f32, u32, f32>, threshold: f32) {
    ///     select.set_parameters(threshold);
    /// }
    /// ```
    pub fn set_parameters(&mut self, parameters: P) {
        self.parameters = parameters;
    }

    /// Returns the parameters that calls pass to the predicate.
    ///
    /// ```no_run
    /// # use compaction::select::SelectIf;
    /// fn threshold(select: &SelectIf<f32, u32, f32>) -> f32 {
    ///     select.parameters()
    /// }
    /// ```
    pub fn parameters(&self) -> P {
        self.parameters
    }

    /// Returns the compiled code of the kernels with a predicate for a compute capability (90 for 9.0), or the error of
    /// the predicate. Needs no GPU.
    ///
    /// ```
    /// use compaction::{Error, cuda::Compiler, select::{Predicate, SelectIf}};
    ///
    /// let small = Predicate::new("small.cuh", "bool keep(u32 n) { return n < 9; }");
    /// match SelectIf::<u64>::image(&Compiler::new(), &small, 90) {
    ///     // small.cuh defines no bool keep(u64), as the types of items and parameters require: "bool keep(u32 n) …"
    ///     Err(error @ Error::NoKeep { .. }) => println!("{error}"),
    ///     Err(Error::NoCompiler { reason, .. }) => println!("{reason}"),
    ///     other => unreachable!("{other:?}"),
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](SelectIf::new), except those of the driver.
    pub fn image(
        compiler: &Compiler,
        predicate: &Predicate,
        capability: u32,
    ) -> Result<(Image, Origin)> {
        compiler
            .image(&source::<T, W, P>(predicate)?, capability)
            .map_err(|error| predicate.explain::<T, P>(error))
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
    /// assert_eq!(
    ///     error.to_string(),
    ///     "none.cuh defines no bool keep(u8), as the types of items and parameters require: \"bool kept;\""
    /// );
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoKeep`] if the text does not contain the word `keep`.
    pub fn sources(predicate: &Predicate) -> Result<Vec<Source>> {
        Ok(vec![source::<T, W, P>(predicate)?])
    }

    /// Enqueues a kernel that writes one flag per item, 1 if the predicate keeps the item and 0 otherwise, for use by
    /// [`Select`](super::Select). Flags are `u8` or `bool`.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, select::{Predicate, SelectIf, Workspace}};
    /// # let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    /// # let stream = context.default_stream();
    /// # let workspace = Workspace::with_capacity(&stream, 3)?;
    /// let odd = Predicate::new("odd.cuh", "bool keep(u32 number) { return number % 2; }");
    /// let select = SelectIf::<u32>::new(&compiler, &context, &odd)?;
    /// let numbers = cuda::upload(&stream, &[7_u32, 8, 9])?;
    /// let mut are_odd = cuda::zeroed::<bool>(&stream, 3)?;
    /// select.flags(&stream, &numbers, Count::All, &mut are_odd, &workspace)?;
    /// assert_eq!(cuda::download(&stream, &are_odd)?, [true, false, true]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Select::items`](super::Select::items), where `flags` is the output. Any [`Workspace`] of
    /// the stream is large enough.
    pub fn flags<'a, F: Flag>(
        &self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
        count: Count<'a, W>,
        flags: impl IntoViewMut<'a, F>,
        workspace: &Workspace,
    ) -> Result<()> {
        let items = &items.into_view();
        let mut flags = cuda::item_bytes(flags.into_view_mut());
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.flags.context(),
            buffers: &[("items", &items), ("flags", &flags)],
            count: count.operand(),
            written: None,
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        check_room("the flags of select", flags.len(), item_count.capacity)?;
        let portion = workspace.portion::<W>();
        for extent in Extent::all(&item_count, portion, item_count.capacity) {
            let args = Flags {
                items: items.slice(..),
                count: item_count.words()?,
                extent,
                flags: flags.slice_mut(..),
                parameters: self.parameters.passed(),
            };
            self.flags
                .launch(stream, extent.blocks(BLOCK_THREADS), args)?;
        }
        Ok(())
    }

    /// Enqueues a selection that writes the items that the predicate keeps to `out`, in order, and their number to
    /// `selected[0]`. Entries of `out` behind the result keep their values. If `out` is shorter than the result, it
    /// receives the first items, and `selected[0]` is the full count: the result is `out.slice(..kept.min(out.len()))`.
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
        let call = Call {
            operation: NAMES.operation,
            stream,
            context: self.few.context(),
            buffers: &[("items", &items), ("output", &out)],
            count: count.operand(),
            written: Some(&selected),
            workspace: workspace.states.home(),
        };
        let _named = call.check()?;
        let portion = workspace.portion::<W>();
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        let what = || "the items of select by a predicate".to_owned();
        check_workspace(what, workspace.capacity(), item_count.capacity)?;
        let mut selected = room_for_count::<W, W>(&NAMES, selected)?;
        for extent in Extent::all(&item_count, portion, out.len()) {
            let args = Keep {
                items: items.slice(..),
                count: item_count.words()?,
                extent,
                out: out.slice_mut(..),
                selected: selected.slice_mut(..),
                workspace: workspace.states.words.as_view_mut(),
                parameters: self.parameters.passed(),
            };
            let kernel = match extent.items {
                0..MANY_TESTED_ITEMS => &self.few,
                _ => &self.many,
            };
            kernel.launch(stream, extent.blocks(TILE_ITEMS), args)?;
        }
        Ok(())
    }
}

/// Returns the kernel file with the predicate for items of type `T`, counts of type `W` and parameters of type `P`.
fn source<T: Shared, W: CountWord, P: Parameters>(predicate: &Predicate) -> Result<Source> {
    const { check_item::<T>() };
    if !predicate.names_keep() {
        return Err(predicate.no_keep::<T, P>());
    }
    let source = Source::new(
        "compaction/kernels/select_if.cu",
        include_str!("../../kernels/select_if.cu"),
    )
    .header_shown_as(INCLUDED, predicate.shown(), predicate.text.clone())
    .constant("BLOCK_THREADS", BLOCK_THREADS)
    .define("Item", T::NAME)
    .define("Word", W::NAME)
    .define("Parameters", <P::Passed as Shared>::NAME)
    .define("PARAMETRIC", if P::NAME.is_some() { "1" } else { "0" })
    .kernel::<Flags<'static, T, W, P>>("select_if_flags")
    .kernel::<Keep<'static, T, W, P>>("select_if_look_back")
    .kernel::<Keep<'static, T, W, P>>("select_if_many_look_back");
    Ok(look_back::declare(source))
}
