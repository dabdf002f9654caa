//! One call for both machines.

use std::{cell::RefCell, collections::HashMap};

use compaction::{
    layout::Shared,
    partition::{Classes, Partition, Workspace, cpu},
    select::Count,
};

use crate::{common::Gpu, guarded::Guarded};

/// What computes.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

impl Backend<'_> {
    pub(crate) fn indices(&self, flags: &[u8], out: &mut [u32]) -> u32 {
        match self {
            Self::Cpu => cpu::indices(flags, out).unwrap(),
            Self::Cuda(cuda) => cuda.indices(flags, out),
        }
    }

    pub(crate) fn items<T: Shared + Send + Sync>(
        &self,
        items: &[T],
        flags: &[u8],
        out: &mut [T],
    ) -> u32 {
        match self {
            Self::Cpu => cpu::items(items, flags, out).unwrap(),
            Self::Cuda(cuda) => cuda.items(items, flags, out),
        }
    }

    pub(crate) fn classes(&self, classes: u32, keys: &[u8], out: &mut [u32], starts: &mut [u32]) {
        match self {
            Self::Cpu => cpu::classes(classes, keys, out, starts).unwrap(),
            Self::Cuda(cuda) => cuda.classes(classes, keys, out, starts),
        }
    }
}

/// A GPU with what is compiled for it.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) partition: Partition,
    classes: RefCell<HashMap<u32, Classes>>,
    /// Every view starts this many items into its buffer.
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
        Workspace::with_capacity(&self.gpu.stream, items as u32).unwrap()
    }

    fn indices(&self, flags: &[u8], out: &mut [u32]) -> u32 {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = Guarded::new(stream, start, flags);
        let mut room = Guarded::<u32>::room(stream, start, flags.len());
        let mut selected = Guarded::<u32>::room(stream, 1, 1);
        self.partition
            .indices(
                stream,
                &device_flags.view(),
                Count::Given(flags.len() as u32),
                &mut room.view_mut(),
                &mut selected.view_mut(),
                &mut self.workspace(flags.len()),
            )
            .unwrap();
        out.copy_from_slice(&room.read(stream));
        selected.read(stream)[0]
    }

    fn items<T: Shared>(&self, items: &[T], flags: &[u8], out: &mut [T]) -> u32 {
        let (stream, start) = (&self.gpu.stream, self.start);
        let device_flags = Guarded::new(stream, start, flags);
        let device_items = Guarded::new(stream, start, items);
        let mut room = Guarded::<T>::room(stream, start, flags.len());
        let mut selected = Guarded::<u32>::room(stream, 1, 1);
        self.partition
            .items(
                stream,
                &device_items.view(),
                &device_flags.view(),
                Count::Given(flags.len() as u32),
                &mut room.view_mut(),
                &mut selected.view_mut(),
                &mut self.workspace(flags.len()),
            )
            .unwrap();
        out.copy_from_slice(&room.read(stream));
        selected.read(stream)[0]
    }

    fn classes(&self, classes: u32, keys: &[u8], out: &mut [u32], starts: &mut [u32]) {
        let (stream, start) = (&self.gpu.stream, self.start);
        let mut compiled = self.classes.borrow_mut();
        let partition = compiled.entry(classes).or_insert_with(|| {
            Classes::new(&self.gpu.compiler, &self.gpu.context, classes).unwrap()
        });
        let device_keys = Guarded::new(stream, start, keys);
        let mut room = Guarded::<u32>::room(stream, start, keys.len());
        let mut device_starts = Guarded::<u32>::room(stream, 1, starts.len());
        partition
            .indices(
                stream,
                &device_keys.view(),
                Count::Given(keys.len() as u32),
                &mut room.view_mut(),
                &mut device_starts.view_mut(),
                &mut self.workspace(keys.len()),
            )
            .unwrap();
        out.copy_from_slice(&room.read(stream));
        starts.copy_from_slice(&device_starts.read(stream));
    }
}
