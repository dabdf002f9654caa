//! Histograms: plans and calls.

use std::{ffi::c_char, sync::Arc};

use compaction::{
    Count, CountWord,
    cuda::Buffer,
    cudarc::driver::CudaStream,
    histogram::{self, Histogram, MAX_BINS, Sample, cpu},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, text},
    operation::{Site, TypedOperation, TypedPlan, call_with, run},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{Word, with_sample, with_word},
    workspace::Workspace,
};

/// The way to find the bin of an item.
enum Bins {
    /// Bins of equal width from the first number to before the second one.
    Even(f64, f64),
    /// Bins between the bounds at this address, one more than bins.
    Bounds(Address),
    /// The item itself is the number of its bin.
    Keys,
}

/// The arguments of the calls of a plan of [`compaction_plan_histogram`].
struct HistogramCall {
    values: Address,
    items: u64,
    count: Address,
    bins: Bins,
    out: Address,
}

/// A type of items, with what depends on whether it is an integer and whether it can be the number of a bin.
trait Binned: Sample {
    /// Returns the bound nearest to `value`. Returns a failure for a fraction, if the items are integers. `what` names the
    /// parameter.
    fn level_of(what: &str, value: f64) -> Result<Self::Level, Failure>;

    /// Enqueues a histogram of keys. Returns a failure if the items cannot be keys.
    fn keys_on_gpu<W: CountWord>(
        histogram: &Histogram<Self, W>,
        stream: &Arc<CudaStream>,
        keys: &Buffer<Self>,
        count: Count<'_, W>,
        out: &mut Buffer<W>,
        scratch: &mut histogram::Workspace,
    ) -> Result<(), Failure>;

    /// Makes a histogram of keys on the CPU. Returns a failure if the items cannot be keys.
    fn keys_on_cpu<W: CountWord>(keys: &[Self], out: &mut [W]) -> Result<(), Failure>;
}

/// Returns the failure for a histogram of keys that are not unsigned.
fn no_keys<T>() -> Result<T, Failure> {
    Err(Failure::invalid(
        "plan: histogram_keys needs items of u8, u16 or u32",
    ))
}

/// Implements [`Binned`] for items whose levels are integers (`whole`) or floats (`real`), and that can be keys
/// (`is_key`) or not (`no_key`).
macro_rules! binned {
    ($($item:ident $level:ident $key:ident),+) => {$(
        impl Binned for $item {
            fn level_of(what: &str, value: f64) -> Result<Self::Level, Failure> {
                binned!(@$level $item, what, value)
            }

            binned!(@$key);
        }
    )+};
    (@whole $item:ident, $what:ident, $value:ident) => {
        // Larger whole numbers are not exact, and no item is as large.
        if $value.fract() == 0.0 && $value.abs() <= (1_u64 << f64::MANTISSA_DIGITS) as f64 {
            Ok($value as i64)
        } else {
            Err(Failure::invalid(format!(
                "{}: {}, where a histogram of {} takes whole numbers",
                $what, $value, stringify!($item)
            )))
        }
    };
    (@real $item:ident, $what:ident, $value:ident) => {{
        let _ = $what;
        Ok($value as $item)
    }};
    (@is_key) => {
        fn keys_on_gpu<W: CountWord>(
            histogram: &Histogram<Self, W>,
            stream: &Arc<CudaStream>,
            keys: &Buffer<Self>,
            count: Count<'_, W>,
            out: &mut Buffer<W>,
            scratch: &mut histogram::Workspace,
        ) -> Result<(), Failure> {
            Ok(histogram.keys(stream, keys, count, out, scratch)?)
        }

        fn keys_on_cpu<W: CountWord>(keys: &[Self], out: &mut [W]) -> Result<(), Failure> {
            Ok(cpu::keys(keys, out)?)
        }
    };
    (@no_key) => {
        fn keys_on_gpu<W: CountWord>(
            _: &Histogram<Self, W>,
            _: &Arc<CudaStream>,
            _: &Buffer<Self>,
            _: Count<'_, W>,
            _: &mut Buffer<W>,
            _: &mut histogram::Workspace,
        ) -> Result<(), Failure> {
            no_keys()
        }

        fn keys_on_cpu<W: CountWord>(_: &[Self], _: &mut [W]) -> Result<(), Failure> {
            no_keys()
        }
    };
}
binned!(
    u8 whole is_key, u16 whole is_key, u32 whole is_key, i8 whole no_key, i16 whole no_key, i32 whole no_key,
    f32 real no_key, f64 real no_key
);

/// Histograms of items of type `T`, with counts of type `W`.
struct Histograms<T: Sample, W: CountWord> {
    bins: u32,
    /// The loaded kernels. `None` on the CPU.
    histogram: Option<Histogram<T, W>>,
}

impl<T: Binned, W: CountWord> TypedOperation for Histograms<T, W> {
    type Scratch = histogram::Workspace;
    type Call = HistogramCall;

    fn scratch_variant(&self) {}

    unsafe fn run(&self, site: Site, call: &HistogramCall) -> Result<(), Failure> {
        let bins = u64::from(self.bins);
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let values = buffers.reads::<T>("values", call.values, call.items)?;
        let out = buffers.writes::<W>("out", call.out, bins)?;
        let range = match call.bins {
            Bins::Even(lower, upper) => {
                Some(T::level_of("lower", lower)?..T::level_of("upper", upper)?)
            }
            _ => None,
        };
        let bounds = match call.bins {
            Bins::Bounds(at) => Some(buffers.reads::<T::Level>("bounds", at, bins + 1)?),
            _ => None,
        };
        buffers.check_apart()?;
        run! {
            site, &self.histogram, count.max(), count;
            reads values; writes out;
            gpu |histogram, stream, scratch| {
                if let Some(range) = range.clone() {
                    histogram.even(stream, values, count, range, out, scratch)
                } else if let Some(bounds) = &bounds {
                    histogram.bounds(stream, values, count, &bounds.on(stream)?, out, scratch)
                } else {
                    return T::keys_on_gpu(histogram, stream, values, count, out, scratch);
                }
            };
            cpu |items| {
                if let Some(range) = range.clone() {
                    cpu::even(values, range, out)?;
                } else if let Some(bounds) = &bounds {
                    cpu::bounds(values, bounds.host(bounds.len())?, out)?;
                } else {
                    T::keys_on_cpu(values, out)?;
                }
                Ok(())
            }
        }
    }
}

/// Plans histograms: compaction_histogram_even, compaction_histogram_bounds and compaction_histogram_keys.
///
/// `type` is u8, u16, u32, i8, i16, i32, f32 or f64. There are `bins` bins, 1 to 2^24. Counts, also those of the bins, are
/// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// A workspace serves any number of items, and histograms of all types and numbers of bins. Items outside all bins, and
/// NaNs, are not counted.
///
/// The library contains the kernels for items of u8, u16, u32 and f32 with counts of 32 bits. Others need NVRTC on the
/// first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `type` a text that ends with a zero byte. `plan` must point to memory
/// for a pointer. Null is an error for all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_histogram(
    context: *const Context,
    r#type: *const c_char,
    bins: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let name = unsafe { text("type", r#type) }?;
        let word = Word::of_bits(word_bits)?;
        if !(1..=MAX_BINS).contains(&(bins as usize)) {
            return Err(Failure::invalid(format!(
                "bins: {bins}, where 1 to {MAX_BINS} are possible"
            )));
        }
        with_word!(word, W => with_sample!(name, T => {
            let load = |gpu: &Gpu| {
                Histogram::<T, W>::new(&gpu.compiler, &gpu.context, bins as usize)
            };
            let histogram = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("histogram", Histograms { bins, histogram }))
        }))
    })
}

/// Writes to `out` the number of items in each of the plan's bins, which have equal widths from `lower` to before `upper`.
///
/// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
/// room for as many words as there are bins.
///
/// The range must be finite and not empty. For items of integers, `lower` and `upper` must be whole numbers, at most 2^32
/// apart, and bin b begins at `lower + b * (upper - lower) / bins`, rounded up. For items of f32, they are rounded to f32.
/// The bin of a float x is `(x - lower) * scale`, rounded down, where `scale` is `bins / (upper - lower)`.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_histogram_even(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    lower: f64,
    upper: f64,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "histogram_even" HistogramCall {
        values, items, count, bins: Bins::Even(lower, upper), out
    })
}

/// Writes to `out` the number of items in each of the plan's bins: bin b has the items from `bounds[b]` to below
/// `bounds[b + 1]`. Otherwise like compaction_histogram_even.
///
/// There is one bound more than bins. The bounds are of the type of the items for floats, and of 64-bit signed integers for
/// items of integers. They must ascend, or else the counts are unspecified.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_histogram_bounds(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    bounds: Address,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "histogram_bounds" HistogramCall {
        values, items, count, bins: Bins::Bounds(bounds), out
    })
}

/// Writes to `out` how many items are equal to the number of each bin, counted from 0. Otherwise like
/// compaction_histogram_even.
///
/// The type of the items must be u8, u16 or u32. Larger items than the plan has bins are not counted.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_histogram_keys(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "histogram_keys" HistogramCall { values, items, count, bins: Bins::Keys, out })
}
