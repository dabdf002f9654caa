//! The partitions as one function call on either backend.

use std::{cell::RefCell, collections::HashMap};

use compaction::{
    Count, CountWord,
    layout::Shared,
    partition::{Classes, Partition, Workspace, cpu},
};

use crate::{common::Gpu, guarded::Guarded};

/// The implementation under test.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

impl Backend<'_> {
    pub(crate) fn indices<I: CountWord, W: CountWord>(&self, flags: &[u8]) -> (Vec<I>, usize) {
        match self {
            Self::Cpu => {
                let mut out = vec![I::zeroed(); flags.len()];
                let selected = cpu::indices(flags, &mut out).unwrap();
                (out, selected)
            }
            Self::Cuda(cuda) => cuda.indices::<I, W>(flags),
        }
    }

    pub(crate) fn items<T: Shared + Send + Sync, W: CountWord>(
        &self,
        items: &[T],
        flags: &[u8],
    ) -> (Vec<T>, usize) {
        match self {
            Self::Cpu => {
                let mut out = vec![T::zeroed(); flags.len()];
                let selected = cpu::items(items, flags, &mut out).unwrap();
                (out, selected)
            }
            Self::Cuda(cuda) => cuda.items::<T, W>(items, flags),
        }
    }

    pub(crate) fn classes<I: CountWord, W: CountWord>(
        &self,
        classes: u32,
        keys: &[u8],
    ) -> (Vec<I>, Vec<W>) {
        match self {
            Self::Cpu => {
                let mut out = vec![I::zeroed(); keys.len()];
                let mut starts = vec![W::zeroed(); classes as usize + 1];
                cpu::classes(classes, keys, &mut out, &mut starts).unwrap();
                (out, starts)
            }
            Self::Cuda(cuda) => cuda.classes(classes, keys),
        }
    }
}

/// A GPU with its compiled kernels.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) partition: Partition,
    classes: RefCell<HashMap<u32, Classes>>,
    /// Number of items before every view in its buffer.
    pub(crate) start: usize,
}

impl<'a> Cuda<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Self {
        Self {
            gpu,
            partition: Partition::new(&gpu.compiler, &gpu.context).unwrap(),
            classes: RefCell::default(),
            start: 0,
        }
    }

    pub(crate) fn workspace(&self, items: usize) -> Workspace {
        Workspace::with_capacity(&self.gpu.stream, items).unwrap()
    }

    fn indices<I: CountWord, W: CountWord>(&self, flags: &[u8]) -> (Vec<I>, usize) {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = Guarded::new(stream, start, flags);
        let mut out = Guarded::<I>::room(stream, start, flags.len());
        let mut selected = Guarded::<W>::room(stream, 1, 1);
        let mut workspace = self.workspace(flags.len());
        self.partition
            .indices(
                stream,
                device_flags.view(),
                Count::All,
                out.view_mut(),
                selected.view_mut(),
                &mut workspace,
            )
            .unwrap();
        selected.read(stream);
        let selected = workspace.read(stream, selected.view()).unwrap();
        (out.read(stream), selected)
    }

    fn items<T: Shared, W: CountWord>(&self, items: &[T], flags: &[u8]) -> (Vec<T>, usize) {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = Guarded::new(stream, start, flags);
        let device_items = Guarded::new(stream, start, items);
        let mut out = Guarded::<T>::room(stream, start, flags.len());
        let mut selected = Guarded::<W>::room(stream, 1, 1);
        let mut workspace = self.workspace(flags.len());
        self.partition
            .items(
                stream,
                device_items.view(),
                device_flags.view(),
                Count::Given(W::from_len(flags.len()).unwrap()),
                out.view_mut(),
                selected.view_mut(),
                &mut workspace,
            )
            .unwrap();
        selected.read(stream);
        let selected = workspace.read(stream, selected.view()).unwrap();
        (out.read(stream), selected)
    }

    fn classes<I: CountWord, W: CountWord>(&self, classes: u32, keys: &[u8]) -> (Vec<I>, Vec<W>) {
        let (stream, start) = (&self.gpu.stream, self.start);
        let mut compiled = self.classes.borrow_mut();
        let partition = compiled.entry(classes).or_insert_with(|| {
            Classes::new(&self.gpu.compiler, &self.gpu.context, classes).unwrap()
        });
        let device_keys = Guarded::new(stream, start, keys);
        let mut out = Guarded::<I>::room(stream, start, keys.len());
        let mut starts = Guarded::<W>::room(stream, 1, classes as usize + 1);
        let mut workspace = self.workspace(keys.len());
        partition
            .indices(
                stream,
                device_keys.view(),
                Count::Given(W::from_len(keys.len()).unwrap()),
                out.view_mut(),
                starts.view_mut(),
                &mut workspace,
            )
            .unwrap();
        starts.read(stream);
        let starts = workspace.read_starts(stream, starts.view()).unwrap();
        (out.read(stream), starts)
    }
}
