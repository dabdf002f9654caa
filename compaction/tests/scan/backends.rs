//! The scan as one function call on all backends.

use std::{
    any::{Any, TypeId},
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
};

use compaction::{
    Count, CountWord,
    scan::{Operator, Scan, Strategy, Workspace, cpu},
};

use crate::{
    cases::{Number, assert_same},
    common::Gpu,
    guarded::Guarded,
};

/// The implementation under test.
pub(crate) enum Backend<'a> {
    Specification,
    Cpu,
    Cuda(&'a Cuda<'a>),
}

impl Backend<'_> {
    /// Scans from one buffer to another and in place, which must agree, and checks the guard items around the output.
    pub(crate) fn scan<T: Number>(
        &self,
        strategy: Strategy,
        operator: Operator,
        items: &[T],
        inclusive: bool,
    ) -> Vec<T> {
        match self {
            Self::Specification if inclusive => {
                cpu::inclusive_specification(operator, items).collect()
            }
            Self::Specification => cpu::exclusive_specification(operator, items).collect(),
            Self::Cpu => {
                let mut out = guards(items.len() + ROOM);
                let mut in_place = items.to_vec();
                if inclusive {
                    cpu::inclusive(operator, items, &mut out).unwrap();
                    cpu::inclusive_in_place(operator, &mut in_place);
                } else {
                    cpu::exclusive(operator, items, &mut out).unwrap();
                    cpu::exclusive_in_place(operator, &mut in_place);
                };
                check_guards(&out[items.len()..]);
                out.truncate(items.len());
                assert_same(&in_place, &out, "in place on the CPU");
                out
            }
            Self::Cuda(cuda) => cuda.scan(strategy, operator, items, inclusive),
        }
    }

    pub(crate) fn strategies(&self) -> &'static [Strategy] {
        match self {
            Self::Specification | Self::Cpu => &[Strategy::LookBack],
            Self::Cuda(cuda) => cuda.strategies,
        }
    }
}

/// Number of guard items around an output.
const ROOM: usize = 64;
const GUARD: u8 = 0xa5;

pub(crate) fn guards<T: Number>(len: usize) -> Vec<T> {
    vec![bytemuck::pod_read_unaligned(&vec![GUARD; size_of::<T>()]); len]
}

pub(crate) fn check_guards<T: Number>(items: &[T]) {
    let bytes: &[u8] = bytemuck::cast_slice(items);
    let touched = bytes.iter().position(|&byte| byte != GUARD);
    assert!(
        touched.is_none(),
        "byte {touched:?} beside the output is written"
    );
}

type Compiled = HashMap<(TypeId, Operator, Strategy), Rc<dyn Any>>;

/// A GPU with its compiled kernels.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    /// Offsets of the views of input and output in their buffers, in items.
    pub(crate) starts: (usize, usize),
    /// Number of tiles from which the kernel for long inputs is used, or `None` for the default.
    pub(crate) look_ahead_from: Option<usize>,
    pub(crate) strategies: &'static [Strategy],
    compiled: RefCell<Compiled>,
}

impl<'a> Cuda<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Self {
        Self {
            gpu,
            starts: (0, 0),
            look_ahead_from: None,
            strategies: Strategy::ALL,
            compiled: RefCell::default(),
        }
    }

    pub(crate) fn compiled<T: Number, W: CountWord>(
        &self,
        operator: Operator,
        strategy: Strategy,
    ) -> Rc<Scan<T, W>> {
        let gpu = self.gpu;
        let compile = || {
            let mut scan =
                Scan::<T, W>::new(&gpu.compiler, &gpu.context, operator, strategy).unwrap();
            if let Some(tiles) = self.look_ahead_from {
                scan.look_ahead_from(tiles);
            }
            scan
        };
        let mut compiled = self.compiled.borrow_mut();
        let scan = compiled
            .entry((TypeId::of::<(T, W)>(), operator, strategy))
            .or_insert_with(|| Rc::new(compile()));
        scan.clone().downcast().unwrap()
    }

    fn scan<T: Number>(
        &self,
        strategy: Strategy,
        operator: Operator,
        items: &[T],
        inclusive: bool,
    ) -> Vec<T> {
        let (stream, (start, out_start)) = (&self.gpu.stream, self.starts);
        let len = items.len();
        let mut device_items = Guarded::new(stream, start, items);
        let mut out = Guarded::<T>::room(stream, out_start, len);
        let mut workspace = Workspace::for_strategy(stream, strategy, len).unwrap();
        let scan = self.compiled::<T, u32>(operator, strategy);
        let (view, mut out_view) = (device_items.view(), out.view_mut());
        if inclusive {
            scan.inclusive(stream, &view, Count::All, &mut out_view, &mut workspace)
        } else {
            let count = Count::Given(len as u32);
            scan.exclusive(stream, &view, count, &mut out_view, &mut workspace)
        }
        .unwrap();
        let mut view = device_items.view_mut();
        if inclusive {
            scan.inclusive_in_place(stream, &mut view, Count::All, &mut workspace)
        } else {
            scan.exclusive_in_place(stream, &mut view, Count::All, &mut workspace)
        }
        .unwrap();
        let out = out.read(stream);
        let case = format!("in place, {len} {} by {strategy}", T::NAME);
        assert_same(&device_items.read(stream), &out, &case);
        out
    }
}
