//! One call for all machines.

use compaction::{
    Strategy, cuda,
    cudarc::driver::{CudaSlice, CudaViewMut},
    layout::Shared,
    select::{Count, Select, Workspace, cpu},
};

use crate::common::Gpu;

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
    pub(crate) fn indices(&self, strategy: Strategy, flags: &[u8], out: &mut [u32]) -> u32 {
        match self {
            Self::Specification => write(cpu::specification(0.., flags), out),
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
    ) -> u32 {
        match self {
            Self::Specification => write(cpu::specification(items.iter().copied(), flags), out),
            Self::Cpu => cpu::items(strategy, items, flags, out).unwrap(),
            Self::Cuda(cuda) => cuda.items(strategy, items, flags, out),
        }
    }
}

impl Backend<'_> {
    /// Selects within `items`, and returns the count.
    pub(crate) fn in_place<T: Shared + Send + Sync>(
        &self,
        strategy: Strategy,
        items: &mut [T],
        flags: &[u8],
    ) -> u32 {
        match self {
            Self::Specification => unreachable!("it writes elsewhere"),
            Self::Cpu => cpu::in_place(strategy, items, flags).unwrap(),
            Self::Cuda(cuda) => cuda.in_place(strategy, items, flags),
        }
    }
}

fn write<T>(items: impl Iterator<Item = T>, out: &mut [T]) -> u32 {
    let written = out.iter_mut().zip(items).map(|(out, item)| *out = item);
    written.count() as u32
}

/// A GPU with every strategy compiled.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    selects: Vec<Select>,
    /// Every view starts this many items into its buffer.
    pub(crate) start: usize,
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

    fn indices(&self, strategy: Strategy, flags: &[u8], out: &mut [u32]) -> u32 {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = cuda::upload(stream, &behind(start, flags)).unwrap();
        let mut guarded = Guarded::new(self, out);
        let (mut out_view, mut selected) = guarded.views(start);
        self.select(strategy)
            .indices(
                stream,
                &device_flags.slice(start..),
                Count::Given(flags.len() as u32),
                &mut out_view,
                &mut selected,
                &mut self.workspace(flags.len()),
            )
            .unwrap();
        guarded.read(self, out)
    }

    fn items<T: Shared>(
        &self,
        strategy: Strategy,
        items: &[T],
        flags: &[u8],
        out: &mut [T],
    ) -> u32 {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = cuda::upload(stream, &behind(start, flags)).unwrap();
        let device_items = cuda::upload(stream, &behind(start, items)).unwrap();
        let mut guarded = Guarded::new(self, out);
        let (mut out_view, mut selected) = guarded.views(start);
        self.select(strategy)
            .items(
                stream,
                &device_items.slice(start..),
                &device_flags.slice(start..),
                Count::Given(flags.len() as u32),
                &mut out_view,
                &mut selected,
                &mut self.workspace(flags.len()),
            )
            .unwrap();
        guarded.read(self, out)
    }
}

impl Cuda<'_> {
    fn in_place<T: Shared>(&self, strategy: Strategy, items: &mut [T], flags: &[u8]) -> u32 {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = cuda::upload(stream, &behind(start, flags)).unwrap();
        let mut guarded = Guarded::new(self, items);
        let (mut view, mut selected) = guarded.views(start);
        stream.memcpy_htod(items, &mut view).unwrap();
        self.select(strategy)
            .in_place(
                stream,
                &mut view,
                &device_flags.slice(start..),
                Count::Given(flags.len() as u32),
                &mut selected,
                &mut self.workspace(flags.len()),
            )
            .unwrap();
        guarded.read(self, items)
    }
}

/// `items` behind some others, which are not to be read: flags among them would be set.
pub(crate) fn behind<T: Shared>(start: usize, items: &[T]) -> Vec<T> {
    let mut all = vec![bytemuck::pod_read_unaligned(&vec![0x77; size_of::<T>()]); start];
    all.extend_from_slice(items);
    all
}

/// Words that stand around the count.
const COUNT_GUARD: [u32; 3] = [0xabcd_0001, 0xabcd_0002, 0xabcd_0003];
/// Items behind the output.
const ROOM: usize = 64;

/// An output with guards around it, and a count likewise.
struct Guarded<T> {
    len: usize,
    start: usize,
    before: Vec<T>,
    out: CudaSlice<T>,
    selected: CudaSlice<u32>,
}

impl<T: Shared> Guarded<T> {
    fn new(cuda: &Cuda<'_>, out: &[T]) -> Self {
        let mut before = behind(cuda.start, out);
        before.extend(behind::<T>(ROOM, &[]));
        Self {
            len: out.len(),
            start: cuda.start,
            out: cuda::upload(&cuda.gpu.stream, &before).unwrap(),
            before,
            selected: cuda::upload(&cuda.gpu.stream, &COUNT_GUARD).unwrap(),
        }
    }

    fn views(&mut self, start: usize) -> (CudaViewMut<'_, T>, CudaViewMut<'_, u32>) {
        (
            self.out.slice_mut(start..start + self.len),
            self.selected.slice_mut(1..2),
        )
    }

    /// Checks the guards, copies the output, and returns the count.
    fn read(self, cuda: &Cuda<'_>, out: &mut [T]) -> u32 {
        let bytes = |items: &[T]| bytemuck::cast_slice::<T, u8>(items).to_vec();
        let selected = cuda::download(&cuda.gpu.stream, &self.selected).unwrap();
        let after = cuda::download(&cuda.gpu.stream, &self.out).unwrap();
        let (head, tail) = (self.start, self.start + self.len);
        assert_eq!(
            bytes(&after[..head]),
            bytes(&self.before[..head]),
            "written before the output"
        );
        assert_eq!(
            bytes(&after[tail..]),
            bytes(&self.before[tail..]),
            "written behind the output"
        );
        assert_eq!(
            [selected[0], selected[2]],
            [COUNT_GUARD[0], COUNT_GUARD[2]],
            "around the count"
        );
        out.copy_from_slice(&after[head..tail]);
        selected[1]
    }
}
