//! Each operation on runs as one function call on all backends.

use std::{
    any::{Any, TypeId},
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
};

use compaction::{
    Count,
    layout::Shared,
    runs::{Operator, ReduceByKey, RunLengths, ScanByKey, Unique, UniqueByKey, Workspace, cpu},
};

use crate::{cases::Number, common::Gpu, guarded::Guarded};

/// The implementation under test.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

/// Operations by their type and operator.
type Compiled = HashMap<(TypeId, Option<Operator>), Rc<dyn Any>>;

/// A GPU with its compiled kernels.
pub(crate) struct Cuda<'a> {
    pub(crate) gpu: &'a Gpu,
    /// Offsets of the views of inputs and outputs in their buffers, in items.
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

    fn compiled<T: 'static>(
        &self,
        operator: Option<Operator>,
        compile: impl FnOnce() -> T,
    ) -> Rc<T> {
        let mut compiled = self.compiled.borrow_mut();
        let known = compiled
            .entry((TypeId::of::<T>(), operator))
            .or_insert_with(|| Rc::new(compile()));
        known.clone().downcast().unwrap()
    }

    fn input<T: Shared>(&self, items: &[T]) -> Guarded<T> {
        Guarded::new(&self.gpu.stream, self.starts.0, items)
    }

    fn output<T: Shared>(&self, len: usize) -> Guarded<T> {
        Guarded::room(&self.gpu.stream, self.starts.1, len)
    }

    /// Returns the items of an output in front of `runs`, and checks that the rest has its guard value.
    fn read<T: Shared>(&self, out: &Guarded<T>, runs: usize) -> Vec<T> {
        let mut items = out.read(&self.gpu.stream);
        let rest: &[u8] = bytemuck::cast_slice(&items[runs..]);
        assert!(
            rest.iter().all(|&byte| byte == 0x5a),
            "written behind the result"
        );
        items.truncate(runs);
        items
    }
}

impl Backend<'_> {
    pub(crate) fn unique<K: Shared + Send + Sync>(&self, keys: &[K]) -> Vec<K> {
        let Self::Cuda(cuda) = self else {
            let mut out = keys.to_vec();
            let runs = cpu::unique(keys, &mut out).unwrap();
            out.truncate(runs);
            return out;
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || Unique::<K>::new(&gpu.compiler, &gpu.context).unwrap();
        let unique = cuda.compiled(None, new);
        let (items, mut out, mut runs) =
            (cuda.input(keys), cuda.output(keys.len()), cuda.output(1));
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        let (view, out_view) = (items.view(), out.view_mut());
        unique
            .items(
                stream,
                view,
                Count::All,
                out_view,
                runs.view_mut(),
                &mut workspace,
            )
            .unwrap();
        cuda.read(&out, runs.read(stream)[0] as usize)
    }

    pub(crate) fn unique_by_key<K: Shared + Send + Sync, V: Number>(
        &self,
        keys: &[K],
        values: &[V],
    ) -> (Vec<K>, Vec<V>) {
        let Self::Cuda(cuda) = self else {
            let (mut out, mut values_out) = (keys.to_vec(), values.to_vec());
            let runs = cpu::unique_by_key(keys, values, &mut out, &mut values_out).unwrap();
            out.truncate(runs);
            values_out.truncate(runs);
            return (out, values_out);
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || UniqueByKey::<K, V>::new(&gpu.compiler, &gpu.context).unwrap();
        let unique = cuda.compiled(None, new);
        let (items, device_values) = (cuda.input(keys), cuda.input(values));
        let (mut out, mut values_out) = (cuda.output(keys.len()), cuda.output(keys.len()));
        let mut runs = cuda.output(1);
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        let (view, values_view) = (items.view(), device_values.view());
        let (out_view, values_out_view) = (out.view_mut(), values_out.view_mut());
        unique
            .pairs(
                stream,
                view,
                values_view,
                Count::All,
                out_view,
                values_out_view,
                runs.view_mut(),
                &mut workspace,
            )
            .unwrap();
        let runs = runs.read(stream)[0] as usize;
        (cuda.read(&out, runs), cuda.read(&values_out, runs))
    }

    pub(crate) fn run_lengths<K: Shared + Send + Sync>(&self, keys: &[K]) -> (Vec<K>, Vec<u32>) {
        let Self::Cuda(cuda) = self else {
            let (mut out, mut lengths) = (keys.to_vec(), vec![0_u32; keys.len()]);
            let runs = cpu::run_lengths(keys, &mut out, &mut lengths).unwrap();
            out.truncate(runs);
            lengths.truncate(runs);
            return (out, lengths);
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || RunLengths::<K>::new(&gpu.compiler, &gpu.context).unwrap();
        let encode = cuda.compiled(None, new);
        let (items, mut out) = (cuda.input(keys), cuda.output(keys.len()));
        let (mut lengths, mut runs) = (cuda.output(keys.len()), cuda.output(1));
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        let (view, out_view, lengths_view) = (items.view(), out.view_mut(), lengths.view_mut());
        encode
            .items(
                stream,
                view,
                Count::Given(keys.len() as u32),
                out_view,
                lengths_view,
                runs.view_mut(),
                &mut workspace,
            )
            .unwrap();
        let runs = runs.read(stream)[0] as usize;
        (cuda.read(&out, runs), cuda.read(&lengths, runs))
    }

    pub(crate) fn reduce_by_key<K: Shared + Send + Sync, V: Number>(
        &self,
        operator: Operator,
        keys: &[K],
        values: &[V],
    ) -> (Vec<K>, Vec<V>) {
        let Self::Cuda(cuda) = self else {
            let (mut out, mut sums) = (keys.to_vec(), values.to_vec());
            let runs = cpu::reduce_by_key(operator, keys, values, &mut out, &mut sums).unwrap();
            out.truncate(runs);
            sums.truncate(runs);
            return (out, sums);
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || ReduceByKey::<K, V>::new(&gpu.compiler, &gpu.context, operator).unwrap();
        let reduce = cuda.compiled(Some(operator), new);
        let (items, device_values) = (cuda.input(keys), cuda.input(values));
        let (mut out, mut sums) = (cuda.output(keys.len()), cuda.output(keys.len()));
        let mut runs = cuda.output(1);
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        let (view, values_view) = (items.view(), device_values.view());
        let (out_view, sums_view) = (out.view_mut(), sums.view_mut());
        reduce
            .pairs(
                stream,
                view,
                values_view,
                Count::All,
                out_view,
                sums_view,
                runs.view_mut(),
                &mut workspace,
            )
            .unwrap();
        let runs = runs.read(stream)[0] as usize;
        (cuda.read(&out, runs), cuda.read(&sums, runs))
    }

    pub(crate) fn scan_by_key<K: Shared + Send + Sync, V: Number>(
        &self,
        operator: Operator,
        keys: &[K],
        values: &[V],
        inclusive: bool,
    ) -> Vec<V> {
        let Self::Cuda(cuda) = self else {
            let mut out = values.to_vec();
            let identity = compaction::reduce::cpu::items(operator, &[]);
            if inclusive {
                cpu::inclusive_scan_by_key(operator, identity, keys, values, &mut out)
            } else {
                cpu::exclusive_scan_by_key(operator, identity, keys, values, &mut out)
            }
            .unwrap();
            return out;
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || ScanByKey::<K, V>::new(&gpu.compiler, &gpu.context, operator).unwrap();
        let scan = cuda.compiled(Some(operator), new);
        let (items, device_values) = (cuda.input(keys), cuda.input(values));
        let mut out = cuda.output(keys.len());
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        let (view, values_view, out_view) = (items.view(), device_values.view(), out.view_mut());
        if inclusive {
            scan.inclusive(
                stream,
                view,
                values_view,
                Count::All,
                out_view,
                &mut workspace,
            )
        } else {
            scan.exclusive(
                stream,
                view,
                values_view,
                Count::All,
                out_view,
                &mut workspace,
            )
        }
        .unwrap();
        cuda.read(&out, keys.len())
    }
}
