//! The argument types of a kernel, said once in Rust.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaStream, CudaView, CudaViewMut, DeviceSlice, LaunchArgs, PushKernelArg};

use crate::layout::{self, Shared};

/// A kernel's parameter `const T *`: a buffer that it reads.
///
/// ```
/// use compaction::cuda::{In, InOut, Source};
///
/// // extern "C" __global__ void sum(const f32 *items, u32 item_count, f32 *sum)
/// type Sum = (In<f32>, u32, InOut<f32>);
/// let source = Source::new("sum.cu", "…").kernel::<Sum>("sum");
/// ```
pub struct In<T>(PhantomData<T>);

/// A kernel's parameter `T *`: a buffer that it may read and write.
///
/// ```
/// use compaction::cuda::{InOut, Source};
///
/// // extern "C" __global__ void count_up(u32 *counter)
/// let source = Source::new("count.cu", "…").kernel::<(InOut<u32>,)>("count_up");
/// ```
pub struct InOut<T>(PhantomData<T>);

/// One parameter of a kernel: [`In<T>`], [`InOut<T>`], or a [`Shared`] type for a value.
///
/// Not for implementation elsewhere.
///
/// ```
/// use compaction::cuda::{In, Param};
///
/// fn is_param<P: Param>() {}
/// is_param::<In<f32>>();
/// is_param::<u32>();
/// ```
pub trait Param: sealed::Sealed + 'static {
    /// What a launch takes for it.
    type Arg<'a>;

    /// The type in CUDA.
    #[doc(hidden)]
    fn cuda_type() -> String;
    /// Checks of the layout of the types that it names.
    #[doc(hidden)]
    fn layout() -> String;
    /// The stream that a buffer was allocated on.
    #[doc(hidden)]
    fn stream<'a>(arg: &'a Self::Arg<'_>) -> Option<&'a Arc<CudaStream>>;
    #[doc(hidden)]
    fn push<'l>(arg: &'l mut Self::Arg<'_>, args: &mut LaunchArgs<'l>);
}

impl<T: Shared> Param for T {
    type Arg<'a> = T;

    fn cuda_type() -> String {
        T::NAME.to_owned()
    }
    fn layout() -> String {
        layout::asserts::<T>()
    }
    fn stream(_: &T) -> Option<&Arc<CudaStream>> {
        None
    }
    fn push<'l>(arg: &'l mut T, args: &mut LaunchArgs<'l>) {
        args.arg(&*arg);
    }
}

impl<T: Shared> Param for In<T> {
    type Arg<'a> = CudaView<'a, T>;

    fn cuda_type() -> String {
        format!("const {} *", T::NAME)
    }
    fn layout() -> String {
        layout::asserts::<T>()
    }
    fn stream<'a>(arg: &'a CudaView<'_, T>) -> Option<&'a Arc<CudaStream>> {
        Some(DeviceSlice::stream(arg))
    }
    fn push<'l>(arg: &'l mut CudaView<'_, T>, args: &mut LaunchArgs<'l>) {
        args.arg(&*arg);
    }
}

impl<T: Shared> Param for InOut<T> {
    type Arg<'a> = CudaViewMut<'a, T>;

    fn cuda_type() -> String {
        format!("{} *", T::NAME)
    }
    fn layout() -> String {
        layout::asserts::<T>()
    }
    fn stream<'a>(arg: &'a CudaViewMut<'_, T>) -> Option<&'a Arc<CudaStream>> {
        Some(DeviceSlice::stream(arg))
    }
    fn push<'l>(arg: &'l mut CudaViewMut<'_, T>, args: &mut LaunchArgs<'l>) {
        args.arg(arg);
    }
}

/// The parameters of a kernel: a tuple of up to thirty-three [`Param`]s.
///
/// ```
/// use compaction::cuda::{In, InOut, Params};
///
/// fn are_params<P: Params>() {}
/// are_params::<(In<f32>, u32, InOut<f32>)>();
/// ```
pub trait Params: sealed::Sealed + 'static {
    /// What a launch takes: a [`CudaView`] for each [`In`], a [`CudaViewMut`] for each [`InOut`], a value for each other.
    type Args<'a>;

    /// `(const Ray *, Hit *, u32)`.
    #[doc(hidden)]
    fn signature() -> String;
    #[doc(hidden)]
    fn layouts() -> Vec<String>;
    /// The streams that the buffers among the arguments were allocated on, each with its position from 1.
    #[doc(hidden)]
    fn streams<'a>(args: &'a Self::Args<'_>) -> impl Iterator<Item = (usize, &'a Arc<CudaStream>)>;
    #[doc(hidden)]
    fn push<'l>(args: &'l mut Self::Args<'_>, launch: &mut LaunchArgs<'l>);
}

macro_rules! params {
    ($($param:ident $position:tt),*) => {
        impl<$($param: Param),*> Params for ($($param,)*) {
            type Args<'a> = ($($param::Arg<'a>,)*);

            fn signature() -> String {
                format!("({})", <[String]>::join(&[$($param::cuda_type()),*], ", "))
            }
            fn layouts() -> Vec<String> {
                vec![$($param::layout()),*]
            }
            fn streams<'a>(args: &'a Self::Args<'_>) -> impl Iterator<Item = (usize, &'a Arc<CudaStream>)> {
                let streams = [$($param::stream(&args.$position)),*];
                (1..).zip(streams).filter_map(|(position, stream)| Some((position, stream?)))
            }
            fn push<'l>(args: &'l mut Self::Args<'_>, launch: &mut LaunchArgs<'l>) {
                $($param::push(&mut args.$position, launch);)*
            }
        }
        impl<$($param: Param),*> sealed::Sealed for ($($param,)*) {}
    };
}

/// Implements [`Params`] for the given tuple and every shorter one.
macro_rules! params_up_to {
    ([$($done:ident $at:tt),*]) => { params!($($done $at),*); };
    ([$($done:ident $at:tt),*] $next:ident $position:tt $($rest:tt)*) => {
        params!($($done $at),*);
        params_up_to!([$($done $at,)* $next $position] $($rest)*);
    };
}
params_up_to!([A 0] B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 P 15 Q 16 R 17 S 18 T 19 U 20 V 21 W 22 X 23
    Y 24 Z 25 Aa 26 Ab 27 Ac 28 Ad 29 Ae 30 Af 31 Ag 32);

mod sealed {
    pub trait Sealed {}
    impl<T: crate::layout::Shared> Sealed for T {}
    impl<T> Sealed for super::In<T> {}
    impl<T> Sealed for super::InOut<T> {}
}
