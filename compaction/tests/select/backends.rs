//! The selections as one function call on all backends.

use compaction::{
    Count, CountWord, cuda,
    cudarc::driver::CudaViewMut,
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

    /// Selects items into `out`, and returns the count.
    pub(crate) fn items<T: Shared + Send + Sync>(
        &self,
        strategy: Strategy,
        items: &[T],
        flags: &[u8],
        out: &mut [T],
    ) -> usize {
        match self {
            Self::Specification => write(cpu::specification(items.iter().copied(), flags), out),
            Self::Cpu => cpu::items(strategy, items, flags, out).unwrap(),
            Self::Cuda(cuda) => cuda.items(strategy, items, flags, out),
        }
    }

    /// Selects within `items`, and returns the count.
    pub(crate) fn in_place<T: Shared + Send + Sync>(
        &self,
        strategy: Strategy,
        items: &mut [T],
        flags: &[u8],
    ) -> usize {
        match self {
            Self::Specification => unreachable!("it writes elsewhere"),
            Self::Cpu => cpu::in_place(strategy, items, flags).unwrap(),
            Self::Cuda(cuda) => cuda.in_place(strategy, items, flags),
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
        let (room, all) = (self.guarded(out), self.guarded(flags));
        self.call(room, out, flags.len(), |given, out, selected, workspace| {
            let select = self.select(strategy);
            select.indices(
                &self.gpu.stream,
                &all.view(),
                given,
                out,
                selected,
                workspace,
            )
        })
    }

    pub(crate) fn items<T: Shared>(
        &self,
        strategy: Strategy,
        items: &[T],
        flags: &[u8],
        out: &mut [T],
    ) -> usize {
        match self.portion_tiles {
            Some(_) => self.items_by::<T, u64>(strategy, items, flags, out),
            None => self.items_by::<T, u32>(strategy, items, flags, out),
        }
    }

    fn items_by<T: Shared, W: CountWord>(
        &self,
        strategy: Strategy,
        items: &[T],
        flags: &[u8],
        out: &mut [T],
    ) -> usize {
        let (items, all) = (self.guarded(items), self.guarded(flags));
        let items = cuda::reinterpret::<u8, T>(items.view()).unwrap();
        let room = self.guarded(out);
        self.call::<T, W>(room, out, flags.len(), |given, out, selected, workspace| {
            let (select, stream) = (self.select(strategy), &self.gpu.stream);
            select.items(stream, &items, &all.view(), given, out, selected, workspace)
        })
    }

    pub(crate) fn in_place<T: Shared>(
        &self,
        strategy: Strategy,
        items: &mut [T],
        flags: &[u8],
    ) -> usize {
        match self.portion_tiles {
            Some(_) => self.in_place_by::<T, u64>(strategy, items, flags),
            None => self.in_place_by::<T, u32>(strategy, items, flags),
        }
    }

    fn in_place_by<T: Shared, W: CountWord>(
        &self,
        strategy: Strategy,
        items: &mut [T],
        flags: &[u8],
    ) -> usize {
        let (room, all) = (self.guarded(items), self.guarded(flags));
        let len = flags.len();
        self.call::<T, W>(room, items, len, |given, items, selected, workspace| {
            let (select, stream) = (self.select(strategy), &self.gpu.stream);
            select.in_place(stream, items, &all.view(), given, selected, workspace)
        })
    }

    /// Uploads items between guards, `start` items into their buffer and, if they need no alignment, `shift` bytes
    /// more.
    fn guarded<T: Shared>(&self, items: &[T]) -> Guarded<u8> {
        let shift = if align_of::<T>() == 1 { self.shift } else { 0 };
        let first = self.start * size_of::<T>() + shift;
        Guarded::new(&self.gpu.stream, first, bytemuck::cast_slice(items))
    }

    /// Calls `call` with a count of `len` items, an output, a count buffer and a workspace. Returns the output and the
    /// count.
    fn call<T: Shared, W: CountWord>(
        &self,
        mut room: Guarded<u8>,
        out: &mut [T],
        len: usize,
        call: impl FnOnce(
            Count<'_, W>,
            &mut CudaViewMut<'_, T>,
            &mut CudaViewMut<'_, W>,
            &mut Workspace,
        ) -> compaction::Result<()>,
    ) -> usize {
        let stream = &self.gpu.stream;
        let mut selected = Guarded::new(stream, 1, &[word::<W>(0xabcd_0001)]);
        call(
            Count::Given(word(len)),
            &mut cuda::reinterpret_mut(&mut room.view_mut()).unwrap(),
            &mut selected.view_mut(),
            &mut self.workspace(len),
        )
        .unwrap();
        bytemuck::cast_slice_mut(out).copy_from_slice(&room.read(stream));
        selected.read(stream)[0].to_len()
    }
}
