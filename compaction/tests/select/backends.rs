//! One call for all machines.

use compaction::{
    Strategy, cuda,
    cudarc::driver::CudaViewMut,
    layout::Shared,
    select::{Count, Select, Workspace, cpu},
};

use crate::{common::Gpu, guarded::Guarded};

/// What computes.
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
    pub(crate) fn indices(&self, strategy: Strategy, flags: &[u8], out: &mut [u32]) -> usize {
        match self {
            Self::Specification => write(cpu::specification(0.., flags), out),
            Self::Cpu => cpu::indices(strategy, flags, out).unwrap() as usize,
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
            Self::Cpu => cpu::items(strategy, items, flags, out).unwrap() as usize,
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
            Self::Cpu => cpu::in_place(strategy, items, flags).unwrap() as usize,
            Self::Cuda(cuda) => cuda.in_place(strategy, items, flags),
        }
    }
}

fn write<T>(items: impl Iterator<Item = T>, out: &mut [T]) -> usize {
    let written = out.iter_mut().zip(items).map(|(out, item)| *out = item);
    written.count()
}

/// A GPU with every strategy compiled.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    selects: Vec<Select>,
    /// Every view starts this many items into its buffer.
    pub(crate) start: usize,
    /// And this many bytes, where the items need not lie on more.
    pub(crate) shift: usize,
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
        }
    }

    pub(crate) fn select(&self, strategy: Strategy) -> &Select {
        let found = self
            .selects
            .iter()
            .find(|select| select.strategy() == strategy);
        found.unwrap()
    }

    pub(crate) fn workspace(&self, items: usize) -> Workspace {
        Workspace::with_capacity(&self.gpu.stream, items as u32).unwrap()
    }

    fn indices(&self, strategy: Strategy, flags: &[u8], out: &mut [u32]) -> usize {
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
        let (items, all) = (self.guarded(items), self.guarded(flags));
        let items = cuda::reinterpret(items.view()).unwrap();
        let room = self.guarded(out);
        self.call(room, out, flags.len(), |given, out, selected, workspace| {
            let select = self.select(strategy);
            let stream = &self.gpu.stream;
            select.items::<T>(stream, &items, &all.view(), given, out, selected, workspace)
        })
    }

    pub(crate) fn in_place<T: Shared>(
        &self,
        strategy: Strategy,
        items: &mut [T],
        flags: &[u8],
    ) -> usize {
        let (room, all) = (self.guarded(items), self.guarded(flags));
        self.call(
            room,
            items,
            flags.len(),
            |given, items, selected, workspace| {
                let select = self.select(strategy);
                select.in_place(
                    &self.gpu.stream,
                    items,
                    &all.view(),
                    given,
                    selected,
                    workspace,
                )
            },
        )
    }

    /// These items between guards, `start` items into their buffer and, if they lie anywhere, `shift` bytes more.
    fn guarded<T: Shared>(&self, items: &[T]) -> Guarded<u8> {
        let shift = if align_of::<T>() == 1 { self.shift } else { 0 };
        let first = self.start * size_of::<T>() + shift;
        Guarded::new(&self.gpu.stream, first, bytemuck::cast_slice(items))
    }

    /// Calls with a count of `len` items, room for what comes out and for its number, and a workspace. Reads both.
    fn call<T: Shared>(
        &self,
        mut room: Guarded<u8>,
        out: &mut [T],
        len: usize,
        call: impl FnOnce(
            Count<'_>,
            &mut CudaViewMut<'_, T>,
            &mut CudaViewMut<'_, u32>,
            &mut Workspace,
        ) -> compaction::Result<()>,
    ) -> usize {
        let stream = &self.gpu.stream;
        let mut selected = Guarded::new(stream, 1, &[0xabcd_0001_u32]);
        call(
            Count::Given(len as u32),
            &mut cuda::reinterpret_mut(&mut room.view_mut()).unwrap(),
            &mut selected.view_mut(),
            &mut self.workspace(len),
        )
        .unwrap();
        bytemuck::cast_slice_mut(out).copy_from_slice(&room.read(stream));
        selected.read(stream)[0] as usize
    }
}
