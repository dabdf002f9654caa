//! One call for all machines.

use std::{
    any::{Any, TypeId},
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
};

use compaction::{
    cuda,
    scan::{Operator, Scan, Strategy, Workspace, cpu},
    select::Count,
};

use crate::{cases::Number, common::Gpu};

/// What computes.
pub(crate) enum Backend<'a> {
    Specification,
    Cpu,
    Cuda(&'a Cuda<'a>),
}

impl Backend<'_> {
    /// Scans with guards around what is written, by the strategy where there is one.
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
                let scan = if inclusive {
                    cpu::inclusive
                } else {
                    cpu::exclusive
                };
                scan(operator, items, &mut out).unwrap();
                check_guards(&out[items.len()..]);
                out.truncate(items.len());
                out
            }
            Self::Cuda(cuda) => cuda.scan(strategy, operator, items, inclusive),
        }
    }

    pub(crate) fn strategies(&self) -> &'static [Strategy] {
        match self {
            Self::Specification | Self::Cpu => &[Strategy::LookBack],
            Self::Cuda(_) => Strategy::ALL,
        }
    }
}

/// Items around an output.
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

/// A GPU.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    /// Where the views of items and of the output start in their buffers.
    pub(crate) starts: (usize, usize),
    compiled: RefCell<Compiled>,
}

impl<'a> Cuda<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Self {
        Self {
            gpu,
            starts: (0, 0),
            compiled: RefCell::default(),
        }
    }

    pub(crate) fn compiled<T: Number>(
        &self,
        operator: Operator,
        strategy: Strategy,
    ) -> Rc<Scan<T>> {
        let gpu = self.gpu;
        let compile = || Scan::<T>::new(&gpu.compiler, &gpu.context, operator, strategy).unwrap();
        let mut compiled = self.compiled.borrow_mut();
        let scan = compiled
            .entry((TypeId::of::<T>(), operator, strategy))
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
        // What stands before the items is not to be read.
        let mut all = guards(start);
        all.extend_from_slice(items);
        let device_items = cuda::upload(stream, &all).unwrap();
        let mut out = cuda::upload(stream, &guards::<T>(out_start + len + ROOM)).unwrap();
        let mut workspace = Workspace::with_capacity(stream, strategy, len).unwrap();
        let scan = self.compiled::<T>(operator, strategy);
        let view = device_items.slice(start..);
        let mut out_view = out.slice_mut(out_start..out_start + len);
        if inclusive {
            scan.inclusive(stream, &view, Count::All, &mut out_view, &mut workspace)
        } else {
            scan.exclusive(
                stream,
                &view,
                Count::Given(len as u32),
                &mut out_view,
                &mut workspace,
            )
        }
        .unwrap();
        let mut out = cuda::download(stream, &out).unwrap();
        check_guards(&out[..out_start]);
        check_guards(&out[out_start + len..]);
        out.truncate(out_start + len);
        out.split_off(out_start)
    }
}
