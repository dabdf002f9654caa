//! `radix_sort`: orders keys, and values by their keys.
//!
//! ```text
//! keys        31  41  59  26  53  31
//! values       a   b   c   d   e   f
//!
//! keys    →   26  31  31  41  53  59     ascending
//! values  →    d   a   f   b   e   c     stable: a came before f
//! ```
//!
//! On the CPU, [`cpu`] writes into slices; on a GPU, a [`RadixSort`] does it on a stream. Both give the same, bit for
//! bit, and the same in every run. Keys are [`u32`], [`u64`], [`i32`] or [`f32`], values [`u32`], which may be indices of
//! anything. Floats are in the order of [`f32::total_cmp`]: -NaN, -∞, …, -0.0, 0.0, …, ∞, NaN. Both directions are
//! stable, and a window of the bits can be sorted by alone.
//!
//! A radix sort orders by one digit of the keys after the other, the lowest first; each of these passes keeps the order
//! of the one before. [`Strategy::Split`] takes a bit at a time: a stable partition of what has a zero there from what
//! has a one, 32 times (M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, 2007,
//! chapter 39). [`Strategy::Onesweep`] takes 8 bits at a time and counts all digits ahead, so that a pass reads and
//! writes each key once, by decoupled look-back over the counts of 256 bins (A. Adinets and D. Merrill, "Onesweep: A
//! Faster Least Significant Digit Radix Sort for GPUs", arXiv 2206.01784, 2022). It differs from the paper in that
//! several states are looked at together, and that nothing is cleared between passes. Bytes that move for n keys of 4
//! bytes: 36n, and 32n more with values; a bit at a time, where keys are read twice a pass, 384n, and 256n more.

pub mod cpu;
mod workspace;

use std::{
    fmt,
    ops::Range,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Error, Result,
    counting::{Counted, Names, check_room},
    cuda::{self, Compiler, In, InOut, Kernel, Launch, Source},
    layout::Shared,
    look_back,
    select::Count,
};

pub use workspace::Workspace;
use workspace::{ONESWEEP_THREADS, SPLIT_BLOCKS, SPLIT_THREADS, split_chunks};

/// Items of a thread of [`Strategy::Split`]: four words of flags, whose four counts are added up in one word.
const SPLIT_ITEMS: u32 = 16;
/// Items that a block of [`Strategy::Onesweep`] orders at a time on CUDA, for keys of 4 bytes; half as many of 8 bytes.
pub const TILE_ITEMS: u32 = ONESWEEP_THREADS * workspace::ITEMS_PER_THREAD;
/// Blocks of [`Strategy::Onesweep`] that run on a multiprocessor at once.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
/// States of earlier tiles that a thread reads at once.
const WINDOW: u32 = 4;
/// Bits of a digit.
const DIGIT_BITS: u32 = 8;
/// Keys that a thread counts at a time.
const COUNT_BATCH: u32 = 8;

const NAMES: Names = Names {
    room: "radix_sort",
    input: "the keys of radix_sort",
    count: "the count that radix_sort reads",
};

/// How keys are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// 8 bits a pass; one launch to count, and one for each pass (Adinets & Merrill 2022).
    #[default]
    Onesweep,
    /// One bit a pass, each a stable partition in one launch (GPU Gems 3).
    Split,
}

impl Strategy {
    /// All strategies, the default first.
    pub const ALL: &[Self] = &[Self::Onesweep, Self::Split];

    /// Its name, as it is written and read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Onesweep => "onesweep",
            Self::Split => "split",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> std::result::Result<Self, UnknownStrategy> {
        let known = Self::ALL.iter().find(|strategy| strategy.name() == name);
        known.copied().ok_or_else(|| UnknownStrategy {
            name: name.to_owned(),
        })
    }
}

/// A name that no [`Strategy`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no way to sort is named \"{name}\"; there are onesweep, split")]
pub struct UnknownStrategy {
    name: String,
}

/// The direction of the order. Equal keys keep their order in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The smallest key first.
    #[default]
    Ascending,
    /// The largest key first.
    Descending,
}

/// A key: [`u32`], [`u64`], [`i32`] or [`f32`].
pub trait Key: Shared + Send + Sync + sealed::Sealed {
    /// The bits of a number that is ordered as the key is.
    fn ordered(self) -> u64;

    #[doc(hidden)]
    const KIND: u32;
}

macro_rules! keys {
    ($($key:ident, $kind:literal, |$value:ident| $ordered:expr;)+) => {$(
        impl Key for $key {
            fn ordered(self) -> u64 {
                let $value = self;
                $ordered
            }
            const KIND: u32 = $kind;
        }
        impl sealed::Sealed for $key {}
    )+};
}
keys! {
    u32, 0, |key| u64::from(key);
    u64, 0, |key| key;
    i32, 1, |key| u64::from(key.cast_unsigned() ^ 1 << 31);
    f32, 2, |key| {
        let bits = key.to_bits();
        u64::from(bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 })
    };
}

mod sealed {
    pub trait Sealed {}
}

/// Bits of a key.
const fn key_bits<K: Key>() -> u32 {
    8 * size_of::<K>() as u32
}

/// Refuses bits that the key does not have.
fn check_bits<K: Key>(bits: &Range<u32>) -> Result<()> {
    if bits.end > key_bits::<K>() {
        return Err(Error::TooLong {
            what: "the bits of radix_sort",
            len: bits.end as usize,
            max: key_bits::<K>() as usize,
        });
    }
    if bits.start > bits.end {
        return Err(Error::LengthMismatch {
            what: "the bits of radix_sort, which end before they begin",
            expected: bits.start as usize,
            got: bits.end as usize,
        });
    }
    Ok(())
}

/// `(keys, count, capacity, begin, end, counts, starts, finished)`
type CountDigits = (
    In<u32>,
    In<u32>,
    u32,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
);
/// `(keys, values, count, capacity, begin, end, starts, keys out, values out, workspace)`
type Sweep = (
    In<u32>,
    In<u32>,
    In<u32>,
    u32,
    u32,
    u32,
    In<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);
/// `(keys, values, count, capacity, bit, keys out, values out, zeros, workspace)`
type Split = (
    In<u32>,
    In<u32>,
    In<u32>,
    u32,
    u32,
    InOut<u32>,
    InOut<u32>,
    InOut<u32>,
    InOut<u64>,
);

/// The kernels of a strategy for keys of type `K`, alone or with values: what an [`Archive`](cuda::Archive) ships.
pub fn source<K: Key>(strategy: Strategy, order: Order, values: bool) -> Source {
    let source = match strategy {
        Strategy::Onesweep => Source::new(
            "compaction/kernels/radix_sort_onesweep.cu",
            include_str!("../kernels/radix_sort_onesweep.cu"),
        )
        .constant("BLOCK_THREADS", ONESWEEP_THREADS)
        .constant("ITEMS_PER_THREAD", workspace::items_per_thread::<K>())
        .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR)
        .constant("WINDOW", WINDOW)
        .constant("DIGIT_BITS", DIGIT_BITS)
        .constant("COUNT_BATCH", COUNT_BATCH)
        .kernel::<CountDigits>("radix_sort_count")
        .kernel::<Sweep>("radix_sort_onesweep"),
        Strategy::Split => Source::new(
            "compaction/kernels/radix_sort_split.cu",
            include_str!("../kernels/radix_sort_split.cu"),
        )
        .constant("BLOCK_THREADS", SPLIT_THREADS)
        .constant("BLOCKS_PER_MULTIPROCESSOR", SPLIT_BLOCKS)
        .kernel::<Split>("radix_sort_split"),
    };
    let source = source
        .constant("KEY_WORDS", (size_of::<K>() / 4) as u32)
        .constant("KEY_KIND", K::KIND)
        .constant("DESCENDING", u32::from(order == Order::Descending))
        .constant("VALUES", u32::from(values));
    look_back::declare(source)
}

/// The compiled kernels of a strategy.
#[derive(Debug)]
enum Kernels {
    Onesweep(Kernel<CountDigits>, Kernel<Sweep>),
    Split(Kernel<Split>),
}

/// Sorts keys of type `K` on a GPU.
///
/// Its methods put launches onto the caller's stream and return: for onesweep one more than passes, for split one for
/// each bit. They allocate nothing, wait for nothing, and read no count back, so that they can be captured into a graph,
/// and the graph be replayed. The input stays as it is. Buffers are borrowed views, which may start anywhere in a larger
/// buffer.
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
/// sort.keys(&stream, &keys.as_view(), Count::Given(5), &mut out.as_view_mut(), &mut workspace)?;
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
    multiprocessors: u32,
    keys: Kernels,
    /// Filled when first needed.
    pairs: OnceLock<Kernels>,
    key: std::marker::PhantomData<fn(K)>,
}

/// Keys or values on their way through the passes, in words.
struct Column<'a> {
    input: CudaView<'a, u32>,
    out: CudaViewMut<'a, u32>,
    /// Where every other pass writes to.
    between: CudaViewMut<'a, u32>,
}

impl Column<'_> {
    /// What a pass reads and what it writes, when so many come after it: the last one writes the output.
    fn pass(&mut self, first: bool, after: u32) -> (CudaView<'_, u32>, CudaViewMut<'_, u32>) {
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
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        order: Order,
    ) -> Result<Self> {
        Ok(Self {
            strategy,
            order,
            bits: 0..key_bits::<K>(),
            compiler: compiler.clone(),
            context: context.clone(),
            multiprocessors: cuda::multiprocessors(context)?,
            keys: Self::kernels(compiler, context, strategy, order, false)?,
            pairs: OnceLock::new(),
            key: std::marker::PhantomData,
        })
    }

    fn kernels(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        order: Order,
        values: bool,
    ) -> Result<Kernels> {
        let module = compiler.load(context, &source::<K>(strategy, order, values))?;
        Ok(match strategy {
            Strategy::Onesweep => Kernels::Onesweep(
                module.kernel("radix_sort_count")?,
                module.kernel("radix_sort_onesweep")?,
            ),
            Strategy::Split => Kernels::Split(module.kernel("radix_sort_split")?),
        })
    }

    /// Orders by these bits alone, counted from the lowest. Keys that do not differ there keep their order. Of signed
    /// keys and floats they are the bits of the unsigned number that is ordered as the key is, see [`Key::ordered`].
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] for bits that the key does not have; [`Error::LengthMismatch`] if they end before they begin.
    pub fn bits(mut self, bits: Range<u32>) -> Result<Self> {
        check_bits::<K>(&bits)?;
        self.bits = bits;
        Ok(self)
    }

    /// How it sorts.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Writes the keys to `out`, in order.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are fewer keys than a given count says, or no word in a count's view;
    /// [`Error::TooLong`] for 2³² keys or more; [`Error::OutputTooShort`]; [`Error::WorkspaceTooSmall`]; and those of
    /// [`Kernel::launch`].
    pub fn keys(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, K>,
        count: Count<'_>,
        out: &mut CudaViewMut<'_, K>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let room = workspace.check::<K>(false)?;
        let counted = Counted::new(&NAMES, keys.len(), count, room, &workspace.no_limit)?;
        check_room(
            "the output of radix_sort",
            out.len(),
            counted.capacity as usize,
        )?;
        let keys = Column {
            input: cuda::reinterpret(keys.slice(..))?,
            out: cuda::reinterpret_mut(out)?,
            between: workspace.keys.as_view_mut(),
        };
        let [input, out, between] = workspace.absent.each_mut();
        let values = Column {
            input: input.as_view(),
            out: out.as_view_mut(),
            between: between.as_view_mut(),
        };
        let tables = workspace.tables.views();
        self.sort(stream, &self.keys, counted, [keys, values], tables)
    }

    /// Writes the keys to `keys_out`, in order, and to `values_out` each key's value.
    ///
    /// The kernels are compiled when they are first needed, which takes a moment and has no place in a graph capture:
    /// [`prepare_pairs`](Self::prepare_pairs) does it ahead.
    ///
    /// # Errors
    ///
    /// Those of [`keys`](Self::keys) and of [`prepare_pairs`](Self::prepare_pairs); [`Error::LengthMismatch`] as well if
    /// there are not as many values as keys.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one thing that the operation reads or writes"
    )]
    pub fn pairs(
        &self,
        stream: &Arc<CudaStream>,
        keys: &CudaView<'_, K>,
        values: &CudaView<'_, u32>,
        count: Count<'_>,
        keys_out: &mut CudaViewMut<'_, K>,
        values_out: &mut CudaViewMut<'_, u32>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let kernels = self.pair_kernels()?;
        let room = workspace.check::<K>(true)?;
        let counted = Counted::new(&NAMES, keys.len(), count, room, &workspace.no_limit)?;
        check_values(keys.len(), values.len())?;
        for room in [keys_out.len(), values_out.len()] {
            check_room("the output of radix_sort", room, counted.capacity as usize)?;
        }
        let keys = Column {
            input: cuda::reinterpret(keys.slice(..))?,
            out: cuda::reinterpret_mut(keys_out)?,
            between: workspace.keys.as_view_mut(),
        };
        let values = Column {
            input: values.slice(..),
            out: values_out.slice_mut(..),
            between: workspace.values.as_view_mut(),
        };
        let tables = workspace.tables.views();
        self.sort(stream, kernels, counted, [keys, values], tables)
    }

    /// Compiles, or finds compiled, what [`pairs`](Self::pairs) needs.
    ///
    /// # Errors
    ///
    /// What [`Compiler::load`] says.
    pub fn prepare_pairs(&self) -> Result<()> {
        self.pair_kernels().map(drop)
    }

    fn pair_kernels(&self) -> Result<&Kernels> {
        if let Some(kernels) = self.pairs.get() {
            return Ok(kernels);
        }
        let kernels = Self::kernels(
            &self.compiler,
            &self.context,
            self.strategy,
            self.order,
            true,
        )?;
        Ok(self.pairs.get_or_init(|| kernels))
    }

    fn sort(
        &self,
        stream: &Arc<CudaStream>,
        kernels: &Kernels,
        counted: Counted<'_>,
        columns: [Column<'_>; 2],
        tables: workspace::Views<'_>,
    ) -> Result<()> {
        match kernels {
            Kernels::Onesweep(count, sweep) => {
                self.onesweep(stream, count, sweep, counted, columns, tables)
            }
            Kernels::Split(split) => self.split(stream, split, counted, columns, tables),
        }
    }

    fn onesweep(
        &self,
        stream: &Arc<CudaStream>,
        count: &Kernel<CountDigits>,
        sweep: &Kernel<Sweep>,
        Counted {
            count: counted,
            capacity,
            ..
        }: Counted<'_>,
        [mut keys, mut values]: [Column<'_>; 2],
        mut tables: workspace::Views<'_>,
    ) -> Result<()> {
        let Range { start, end } = self.bits;
        let counters = capacity.div_ceil(COUNT_BATCH * ONESWEEP_THREADS);
        let blocks = counters.clamp(1, BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors);
        let args = (
            keys.input.slice(..),
            counted.slice(..),
            capacity,
            start,
            end,
            tables.counts.slice_mut(..),
            tables.starts.slice_mut(..),
            tables.finished.slice_mut(..),
        );
        count.launch(stream, Launch::blocks(blocks, ONESWEEP_THREADS), args)?;

        let tiles = capacity.div_ceil(workspace::tile_items::<K>()).max(1);
        let passes = (end - start).div_ceil(DIGIT_BITS).max(1);
        for pass in 0..passes {
            let (keys_in, keys_out) = keys.pass(pass == 0, passes - 1 - pass);
            let (values_in, values_out) = values.pass(pass == 0, passes - 1 - pass);
            let bins = (pass << DIGIT_BITS) as usize;
            let args = (
                keys_in,
                values_in,
                counted.slice(..),
                capacity,
                start + pass * DIGIT_BITS,
                end,
                tables.starts.slice(bins..bins + (1 << DIGIT_BITS)),
                keys_out,
                values_out,
                tables.onesweep.slice_mut(..),
            );
            sweep.launch(stream, Launch::blocks(tiles, ONESWEEP_THREADS), args)?;
        }
        Ok(())
    }

    fn split(
        &self,
        stream: &Arc<CudaStream>,
        split: &Kernel<Split>,
        Counted {
            count: counted,
            capacity,
            ..
        }: Counted<'_>,
        [mut keys, mut values]: [Column<'_>; 2],
        mut tables: workspace::Views<'_>,
    ) -> Result<()> {
        let chunks = split_chunks(capacity, self.multiprocessors);
        // By no bits, everything is copied: by one that no key has.
        let bits = match &self.bits {
            bits if bits.is_empty() => key_bits::<K>()..key_bits::<K>() + 1,
            bits => bits.clone(),
        };
        for bit in bits.clone() {
            let after = bits.end - 1 - bit;
            let (keys_in, keys_out) = keys.pass(bit == bits.start, after);
            let (values_in, values_out) = values.pass(bit == bits.start, after);
            let args = (
                keys_in,
                values_in,
                counted.slice(..),
                capacity,
                bit,
                keys_out,
                values_out,
                tables.finished.slice_mut(1..),
                tables.split.slice_mut(..),
            );
            split.launch(stream, Launch::blocks(chunks, SPLIT_THREADS), args)?;
        }
        Ok(())
    }
}

/// Refuses values that are not as many as their keys.
fn check_values(keys: usize, values: usize) -> Result<()> {
    if values != keys {
        return Err(Error::LengthMismatch {
            what: "the values of radix_sort",
            expected: keys,
            got: values,
        });
    }
    Ok(())
}
