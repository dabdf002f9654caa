//! The scratch memory of operations, as plans make it.

use std::{
    any::{Any, TypeId},
    sync::Arc,
};

use compaction::{
    Error,
    cuda::{Arena, Handover},
    cudarc::driver::{CudaContext, CudaStream},
    gather, histogram, partition,
    radix_sort::{self, Key},
    reduce, runs,
    scan::{self, Item},
    segmented_reduce, segmented_sort, select, select_columns, summed_area, top_k,
};

use crate::status::Failure;

/// The number of items that a workspace is for: a length, or the (width, height) of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    Items(usize),
    Table(u32, u32),
}

impl Extent {
    /// Returns the number of items of an operation on sequences, or a failure for a table.
    pub(crate) fn items(self) -> Result<usize, Failure> {
        match self {
            Self::Items(items) => Ok(items),
            Self::Table(..) => Err(Failure::invalid(
                "plan: only one of summed_area has workspaces for tables",
            )),
        }
    }

    /// Returns the number of items of a length or of a table.
    pub(crate) fn area(self) -> usize {
        match self {
            Self::Items(items) => items,
            // The product of two 32-bit numbers fits in 64 bits.
            Self::Table(width, height) => width as usize * height as usize,
        }
    }

    /// Returns the (width, height) of an operation on tables, or a failure for a length.
    pub(crate) fn table(self) -> Result<(u32, u32), Failure> {
        match self {
            Self::Table(width, height) => Ok((width, height)),
            Self::Items(_) => Err(Failure::invalid(
                "plan: one of summed_area has workspaces for tables, by compaction_table_workspace_create",
            )),
        }
    }
}

/// The scratch memory of one operation.
pub(crate) trait Scratch: Any + Send {
    /// Waits for the stream. Returns an error if a device count was too large since the last check.
    fn check(&mut self, stream: &Arc<CudaStream>) -> compaction::Result<()>;

    /// Uses the memory on another stream from now on.
    fn hand_over(&mut self, handover: &Handover) -> compaction::Result<()>;
}

/// The purpose of a workspace of a plan on the CPU, which has no memory.
pub(crate) struct HostScratch {
    /// The type of the scratch memory that the plan would have on a GPU.
    pub(crate) kind: TypeId,
    /// The strategy or the parameter of the plan.
    pub(crate) variant: (&'static str, usize),
    /// The number of items.
    pub(crate) capacity: usize,
}

impl HostScratch {
    /// Returns that of a plan whose scratch memory on a GPU has the type `S`. Returns a failure if `extent` is of the wrong
    /// kind.
    pub(crate) fn of<S: PlanScratch>(
        strategy: S::Strategy,
        extent: Extent,
    ) -> Result<Self, Failure> {
        let capacity = S::capacity(extent)?;
        Ok(Self {
            kind: TypeId::of::<S>(),
            variant: strategy.variant(),
            capacity: if S::IS_LIMITED { capacity } else { usize::MAX },
        })
    }
}

impl Scratch for HostScratch {
    fn check(&mut self, _: &Arc<CudaStream>) -> compaction::Result<()> {
        Ok(())
    }

    fn hand_over(&mut self, _: &Handover) -> compaction::Result<()> {
        Ok(())
    }
}

/// Scratch memory that a plan creates: its size depends on the strategy of the plan, if it has one, and on an extent.
pub(crate) trait PlanScratch: Scratch + Sized {
    /// The strategy or the parameter on which the size depends, or `()`.
    type Strategy: Variant;
    /// Whether calls on more items than the memory was made for are errors.
    const IS_LIMITED: bool;

    /// Returns the number of items of `extent`. Returns a failure if it is a table and the operation takes a length, or
    /// the reverse.
    fn capacity(extent: Extent) -> Result<usize, Failure>;

    /// Returns the size in bytes of the memory for calls on up to `extent` items. Returns the failures of
    /// [`capacity`](Self::capacity).
    fn bytes_for(
        context: &Arc<CudaContext>,
        strategy: Self::Strategy,
        extent: Extent,
    ) -> Result<usize, Failure>;

    /// Creates the memory for calls on up to `extent` items. Returns the failures of [`bytes_for`](Self::bytes_for), or
    /// one if there is too little memory.
    fn in_arena(
        arena: &mut Arena,
        strategy: Self::Strategy,
        extent: Extent,
    ) -> Result<Self, Failure>;
}

/// A difference within scratch memory of one type: a strategy, a parameter, or nothing.
pub(crate) trait Variant {
    /// Returns the name of the strategy and the parameter, or an empty text and 0.
    fn variant(self) -> (&'static str, usize);
}

impl Variant for () {
    fn variant(self) -> (&'static str, usize) {
        ("", 0)
    }
}

/// Implements [`Scratch`] by the methods of a workspace.
macro_rules! scratch {
    ([$($generics:tt)*] $workspace:ty) => {
        impl<$($generics)*> Scratch for $workspace {
            fn check(&mut self, stream: &Arc<CudaStream>) -> compaction::Result<()> {
                Self::check(self, stream)
            }

            fn hand_over(&mut self, handover: &Handover) -> compaction::Result<()> {
                Self::hand_over(self, handover)
            }
        }
    };
}

/// Implements [`Scratch`] and [`PlanScratch`] by the methods of workspaces for a number of items.
macro_rules! item_scratch {
    ($($is_limited:literal [$($generics:tt)*] $workspace:ty),+ $(,)?) => {$(
        scratch!([$($generics)*] $workspace);

        impl<$($generics)*> PlanScratch for $workspace {
            type Strategy = ();
            const IS_LIMITED: bool = $is_limited;

            fn capacity(extent: Extent) -> Result<usize, Failure> {
                extent.items()
            }

            fn bytes_for(context: &Arc<CudaContext>, (): (), extent: Extent) -> Result<usize, Failure> {
                Ok(Self::bytes_for(context, extent.items()?)?)
            }

            fn in_arena(arena: &mut Arena, (): (), extent: Extent) -> Result<Self, Failure> {
                Ok(Self::in_arena(arena, extent.items()?)?)
            }
        }
    )+};
}

/// Implements [`PlanScratch`] by the methods of workspaces whose size depends on a strategy.
macro_rules! strategy_scratch {
    ($([$($generics:tt)*] $workspace:ty, $strategy:ty, $extent:ident);+ $(;)?) => {$(
        impl<$($generics)*> PlanScratch for $workspace {
            type Strategy = $strategy;
            const IS_LIMITED: bool = true;

            fn capacity(extent: Extent) -> Result<usize, Failure> {
                extent.$extent()?;
                Ok(extent.area())
            }

            fn bytes_for(
                context: &Arc<CudaContext>,
                strategy: $strategy,
                extent: Extent,
            ) -> Result<usize, Failure> {
                Ok(Self::bytes_for(context, strategy, extent.$extent()?)?)
            }

            fn in_arena(
                arena: &mut Arena,
                strategy: $strategy,
                extent: Extent,
            ) -> Result<Self, Failure> {
                Ok(Self::in_arena(arena, strategy, extent.$extent()?)?)
            }
        }

        impl Variant for $strategy {
            fn variant(self) -> (&'static str, usize) {
                (self.name(), 0)
            }
        }
    )+};
}

item_scratch!(
    true [] select_columns::Workspace,
    true [] partition::Workspace,
    true [K: Key, V: 'static] radix_sort::Workspace<K, V>,
    true [] reduce::Workspace,
    true [K: 'static, V: 'static] runs::Workspace<K, V>,
    false [] histogram::Workspace,
    true [T: 'static] segmented_reduce::Workspace<T>,
    true [K: Key, V: 'static] segmented_sort::Workspace<K, V>,
    false [] gather::Workspace,
);
scratch!([] select::Workspace);
scratch!([K: Key] top_k::Workspace<K>);
scratch!([T: Item + Send] scan::Workspace<T>);
strategy_scratch!(
    [] select::Workspace, select::Strategy, items;
    [T: Item + Send] scan::Workspace<T>, scan::Strategy, items;
    [T: Item] summed_area::Workspace<T>, summed_area::Strategy, table;
);

/// The largest k of the calls of a plan of top_k.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxK(pub(crate) usize);

impl Variant for MaxK {
    fn variant(self) -> (&'static str, usize) {
        ("", self.0)
    }
}

impl<K: Key> PlanScratch for top_k::Workspace<K> {
    type Strategy = MaxK;
    const IS_LIMITED: bool = true;

    fn capacity(extent: Extent) -> Result<usize, Failure> {
        extent.items()
    }

    fn bytes_for(
        context: &Arc<CudaContext>,
        MaxK(max_k): MaxK,
        extent: Extent,
    ) -> Result<usize, Failure> {
        Ok(Self::bytes_for(context, extent.items()?, max_k)?)
    }

    fn in_arena(arena: &mut Arena, MaxK(max_k): MaxK, extent: Extent) -> Result<Self, Failure> {
        Ok(Self::in_arena(arena, extent.items()?, max_k)?)
    }
}

impl<T: Item> Scratch for summed_area::Workspace<T> {
    fn check(&mut self, stream: &Arc<CudaStream>) -> compaction::Result<()> {
        // A table has no count.
        stream
            .synchronize()
            .map_err(Error::driver("wait for a stream"))
    }

    fn hand_over(&mut self, handover: &Handover) -> compaction::Result<()> {
        Self::hand_over(self, handover)
    }
}
