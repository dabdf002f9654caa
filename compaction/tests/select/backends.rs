//! The selections as one function call on all backends.

use std::alloc::Layout;

use bytemuck::{cast_slice, cast_slice_mut};
use compaction::{
    Count, CountWord, cuda,
    cudarc::driver::{CudaView, CudaViewMut},
    layout::Shared,
    select::{Select, Strategy, TILE_ITEMS, Workspace, cpu},
};

use crate::{common::Gpu, guarded::Guarded};

/// The implementation under test.
pub(crate) enum Backend<'a> {
    /// The specification, which keeps the order.
    Specification,
    Cpu,
    Cuda(&'a Cuda<'a>),
}

impl Backend<'_> {
    pub(crate) fn strategies(&self) -> &'static [Strategy] {
        match self {
            Self::Specification => &[Strategy::LookBack],
            Self::Cpu | Self::Cuda(_) => Strategy::ALL,
        }
    }

    /// Selects indices into `out`, and returns the count.
    pub(crate) fn indices<W: CountWord>(
        &self,
        strategy: Strategy,
        flags: &[u8],
        out: &mut [W],
    ) -> usize {
        match self {
            Self::Specification => write(cpu::specification((0..).map(word), flags), out),
            Self::Cpu => cpu::indices(strategy, flags, out).unwrap(),
            Self::Cuda(cuda) => cuda.indices(strategy, flags, out),
        }
    }

    /// Selects items of type `T`, given as bytes aligned for it, into `out`, and returns the count.
    pub(crate) fn items<T: Shared + Send + Sync>(
        &self,
        strategy: Strategy,
        items: &[u8],
        flags: &[u8],
        out: &mut [u8],
    ) -> usize {
        match self {
            Self::Specification => {
                let items = cast_slice::<u8, T>(items).iter().copied();
                write(cpu::specification(items, flags), cast_slice_mut(out))
            }
            Self::Cpu => {
                let (items, out) = (cast_slice::<u8, T>(items), cast_slice_mut(out));
                cpu::items(strategy, items, flags, out).unwrap()
            }
            Self::Cuda(cuda) => cuda.items::<T>(strategy, items, flags, out),
        }
    }

    /// Selects within `items` of type `T`, given as bytes aligned for it, and returns the count.
    pub(crate) fn in_place<T: Shared + Send + Sync>(
        &self,
        strategy: Strategy,
        items: &mut [u8],
        flags: &[u8],
    ) -> usize {
        match self {
            Self::Specification => unreachable!("it writes elsewhere"),
            Self::Cpu => cpu::in_place(strategy, cast_slice_mut::<u8, T>(items), flags).unwrap(),
            Self::Cuda(cuda) => cuda.in_place::<T>(strategy, items, flags),
        }
    }
}

/// Converts a length to a word of 32 or 64 bits.
pub(crate) fn word<W: CountWord>(len: usize) -> W {
    W::from_len(len).unwrap()
}

fn write<T>(items: impl Iterator<Item = T>, out: &mut [T]) -> usize {
    let written = out.iter_mut().zip(items).map(|(out, item)| *out = item);
    written.count()
}

/// A GPU with the kernels of every strategy.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    selects: Vec<Select>,
    /// Number of items before every view in its buffer.
    pub(crate) start: usize,
    /// Number of additional bytes before every view of items that need no alignment.
    pub(crate) shift: usize,
    /// Tiles per launch of calls that count by 64 bits, or `None` to count by 32 bits in one launch.
    pub(crate) portion_tiles: Option<u32>,
}

impl<'a> Cuda<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Self {
        let compiled = Strategy::ALL
            .iter()
            .map(|&strategy| Select::new(&gpu.compiler, &gpu.context, strategy).unwrap());
        Self {
            gpu,
            selects: compiled.collect(),
            start: 0,
            shift: 0,
            portion_tiles: None,
        }
    }

    pub(crate) fn select(&self, strategy: Strategy) -> &Select {
        let found = self
            .selects
            .iter()
            .find(|select| select.strategy() == strategy);
        found.unwrap()
    }

    /// A workspace for any strategy: this one needs the most memory from one tile on.
    pub(crate) fn workspace(&self, items: usize) -> Workspace {
        let (stream, items) = (&self.gpu.stream, items.max(TILE_ITEMS as usize));
        let workspace = Workspace::for_strategy(stream, Strategy::ScanScatter, items).unwrap();
        match self.portion_tiles {
            Some(tiles) => workspace.portion_tiles(tiles),
            None => workspace,
        }
    }

    fn indices<W: CountWord>(&self, strategy: Strategy, flags: &[u8], out: &mut [W]) -> usize {
        let room = (Layout::new::<W>(), cast_slice_mut(out));
        self.call::<W>(&[], flags, room, &mut |mut call| {
            self.select(strategy).indices(
                &self.gpu.stream,
                &call.flags,
                call.count,
                &mut cuda::reinterpret_mut(&mut call.out)?,
                &mut call.selected,
                &mut call.workspace,
            )
        })
    }

    fn items<T: Shared>(
        &self,
        strategy: Strategy,
        items: &[u8],
        flags: &[u8],
        out: &mut [u8],
    ) -> usize {
        match self.portion_tiles {
            Some(_) => self.items_by::<T, u64>(strategy, items, flags, out),
            None => self.items_by::<T, u32>(strategy, items, flags, out),
        }
    }

    pub(crate) fn items_by<T: Shared, W: CountWord>(
        &self,
        strategy: Strategy,
        items: &[u8],
        flags: &[u8],
        out: &mut [u8],
    ) -> usize {
        let room = (Layout::new::<T>(), out);
        self.call::<W>(items, flags, room, &mut |mut call| {
            self.select(strategy).items::<T, W>(
                &self.gpu.stream,
                &cuda::reinterpret(call.items)?,
                &call.flags,
                call.count,
                &mut cuda::reinterpret_mut(&mut call.out)?,
                &mut call.selected,
                &mut call.workspace,
            )
        })
    }

    fn in_place<T: Shared>(&self, strategy: Strategy, items: &mut [u8], flags: &[u8]) -> usize {
        match self.portion_tiles {
            Some(_) => self.in_place_by::<T, u64>(strategy, items, flags),
            None => self.in_place_by::<T, u32>(strategy, items, flags),
        }
    }

    pub(crate) fn in_place_by<T: Shared, W: CountWord>(
        &self,
        strategy: Strategy,
        items: &mut [u8],
        flags: &[u8],
    ) -> usize {
        let room = (Layout::new::<T>(), items);
        self.call::<W>(&[], flags, room, &mut |mut call| {
            self.select(strategy).in_place::<T, W>(
                &self.gpu.stream,
                &mut cuda::reinterpret_mut(&mut call.out)?,
                &call.flags,
                call.count,
                &mut call.selected,
                &mut call.workspace,
            )
        })
    }

    /// Calls `call` on device buffers with a count of as many items as flags. Items and output have the same layout.
    /// Returns the output and the count.
    fn call<W: CountWord>(
        &self,
        items: &[u8],
        flags: &[u8],
        (layout, out): (Layout, &mut [u8]),
        call: &mut dyn FnMut(Call<'_, W>) -> compaction::Result<()>,
    ) -> usize {
        let stream = &self.gpu.stream;
        // Items begin `start` items into their buffer and, if they need no alignment, `shift` bytes later.
        let shift = if layout.align() == 1 { self.shift } else { 0 };
        let first = self.start * layout.size() + shift;
        let mut room = Guarded::new(stream, first, out);
        let items = Guarded::new(stream, first, items);
        let all = Guarded::new(stream, self.start + self.shift, flags);
        let mut selected = Guarded::new(stream, 1, &[word::<W>(0xabcd_0001)]);
        call(Call {
            items: items.view(),
            flags: all.view(),
            count: Count::Given(word(flags.len())),
            out: room.view_mut(),
            selected: selected.view_mut(),
            workspace: self.workspace(flags.len()),
        })
        .unwrap();
        out.copy_from_slice(&room.read(stream));
        selected.read(stream)[0].to_len()
    }
}

/// The arguments of a selection on a GPU, with items and output as bytes.
struct Call<'a, W: CountWord> {
    items: CudaView<'a, u8>,
    flags: CudaView<'a, u8>,
    count: Count<'a, W>,
    out: CudaViewMut<'a, u8>,
    selected: CudaViewMut<'a, W>,
    workspace: Workspace,
}

/// The function [`Cuda::items_by`] for one item type.
pub(crate) type CudaItems<'a> = fn(&Cuda<'a>, Strategy, &[u8], &[u8], &mut [u8]) -> usize;
/// The function [`Cuda::in_place_by`] for one item type.
pub(crate) type CudaInPlace<'a> = fn(&Cuda<'a>, Strategy, &mut [u8], &[u8]) -> usize;
