//! Each operation on runs as one function call on all backends.

use std::{
    any::{Any, TypeId},
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
};

use compaction::{
    Count,
    cudarc::driver::{CudaView, CudaViewMut},
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

/// The outputs of an operation that writes a key and a value for each run.
struct Outputs<'a, K, V> {
    keys: CudaViewMut<'a, K>,
    values: CudaViewMut<'a, V>,
    runs: CudaViewMut<'a, u32>,
}

impl Cuda<'_> {
    /// Returns the keys and values that `call` writes. It gets outputs with room for as many runs as there are keys.
    fn of_runs<K: Shared, V: Shared>(
        &self,
        keys: &[K],
        call: impl FnOnce(CudaView<'_, K>, Outputs<'_, K, V>) -> compaction::Result<()>,
    ) -> (Vec<K>, Vec<V>) {
        let items = self.input(keys);
        let (mut out, mut values) = (self.output(keys.len()), self.output(keys.len()));
        let mut runs = self.output(1);
        let outputs = Outputs {
            keys: out.view_mut(),
            values: values.view_mut(),
            runs: runs.view_mut(),
        };
        call(items.view(), outputs).unwrap();
        let runs = runs.read(&self.gpu.stream)[0] as usize;
        (self.read(&out, runs), self.read(&values, runs))
    }
}

/// Returns the keys and values that `call` writes on the CPU, where it returns the number of runs. `values` is room.
fn of_runs<K: Shared, V>(
    keys: &[K],
    mut values: Vec<V>,
    call: impl FnOnce(&mut [K], &mut [V]) -> compaction::Result<usize>,
) -> (Vec<K>, Vec<V>) {
    let mut out = keys.to_vec();
    let runs = call(&mut out, &mut values).unwrap();
    out.truncate(runs);
    values.truncate(runs);
    (out, values)
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
            return of_runs(keys, values.to_vec(), |out, values_out| {
                cpu::unique_by_key(keys, values, out, values_out)
            });
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || UniqueByKey::<K, V>::new(&gpu.compiler, &gpu.context).unwrap();
        let unique = cuda.compiled(None, new);
        let values = cuda.input(values);
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        cuda.of_runs(keys, |keys, out| {
            let (values, all) = (values.view(), Count::All);
            let workspace = &mut workspace;
            unique.pairs(
                stream, keys, values, all, out.keys, out.values, out.runs, workspace,
            )
        })
    }

    pub(crate) fn run_lengths<K: Shared + Send + Sync>(&self, keys: &[K]) -> (Vec<K>, Vec<u32>) {
        let Self::Cuda(cuda) = self else {
            return of_runs(keys, vec![0; keys.len()], |out, lengths| {
                cpu::run_lengths(keys, out, lengths)
            });
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || RunLengths::<K>::new(&gpu.compiler, &gpu.context).unwrap();
        let encode = cuda.compiled(None, new);
        let count = Count::Given(keys.len() as u32);
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        cuda.of_runs(keys, |keys, out| {
            encode.items(
                stream,
                keys,
                count,
                out.keys,
                out.values,
                out.runs,
                &mut workspace,
            )
        })
    }

    pub(crate) fn reduce_by_key<K: Shared + Send + Sync, V: Number>(
        &self,
        operator: Operator,
        keys: &[K],
        values: &[V],
    ) -> (Vec<K>, Vec<V>) {
        let Self::Cuda(cuda) = self else {
            return of_runs(keys, values.to_vec(), |out, sums| {
                cpu::reduce_by_key(operator, keys, values, out, sums)
            });
        };
        let (gpu, stream) = (cuda.gpu, &cuda.gpu.stream);
        let new = || ReduceByKey::<K, V>::new(&gpu.compiler, &gpu.context, operator).unwrap();
        let reduce = cuda.compiled(Some(operator), new);
        let values = cuda.input(values);
        let mut workspace = Workspace::with_capacity(stream, keys.len()).unwrap();
        cuda.of_runs(keys, |keys, out| {
            let (values, all) = (values.view(), Count::All);
            let workspace = &mut workspace;
            reduce.pairs(
                stream, keys, values, all, out.keys, out.values, out.runs, workspace,
            )
        })
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
        let all = Count::All;
        if inclusive {
            scan.inclusive(stream, view, values_view, all, out_view, &mut workspace)
        } else {
            scan.exclusive(stream, view, values_view, all, out_view, &mut workspace)
        }
        .unwrap();
        cuda.read(&out, keys.len())
    }
}
