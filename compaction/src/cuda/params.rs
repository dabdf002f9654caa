//! The parameter types of kernels.

use std::marker::PhantomData;

use cudarc::driver::{CudaView, CudaViewMut, LaunchArgs, PushKernelArg};

use super::stream_order::Uses;

pub use crate::layout::ParamField;
use crate::layout::{self, Shared};

/// A kernel parameter of type `const T *`: a buffer that the kernel reads. Its argument is a [`CudaView`].
///
/// ```
/// use compaction::cuda::{In, InOut, Source};
///
/// // extern "C" __global__ void sum(const f32 *items, u32 item_count, f32 *sum)
/// type Sum = (In<f32>, u32, InOut<f32>);
/// let source = Source::new("sum.cu", "…").kernel::<Sum>("sum");
/// ```
pub struct In<T>(PhantomData<T>);

/// A kernel parameter of type `T *`: a buffer that the kernel may read and write. Its argument is a [`CudaViewMut`].
///
/// ```
/// use compaction::cuda::{InOut, Source};
///
/// // extern "C" __global__ void count_up(u32 *counter)
/// let source = Source::new("count.cu", "…").kernel::<(InOut<u32>,)>("count_up");
/// ```
pub struct InOut<T>(PhantomData<T>);

/// A kernel parameter: [`In<T>`] or [`InOut<T>`] for a buffer, a [`Shared`] type passed by value, or a struct of such
/// parameters that [`shared!`](crate::shared) declares with a lifetime.
///
/// The trait is sealed: only [`shared!`](crate::shared) implements it in other crates.
///
/// ```
/// use compaction::cuda::{In, Param};
///
/// fn is_param<P: Param>() {}
/// is_param::<In<f32>>();
/// is_param::<u32>();
/// ```
pub trait Param: sealed::Sealed + 'static {
    /// The type of the argument that a launch takes for this parameter.
    type Arg<'a>;
    /// The parameter's bits as the kernel receives them: the address of a buffer, or the value.
    #[doc(hidden)]
    type Raw: Copy + 'static;

    /// Returns the parameter's type in CUDA.
    #[doc(hidden)]
    fn cuda_type() -> String;
    /// Returns the `static_assert`s on the layouts of the types in the parameter, one text per type. The text of a
    /// number type is empty.
    #[doc(hidden)]
    fn layouts() -> Vec<String>;
    /// Returns the fields of a struct of parameters in memory order. Empty for other parameters.
    #[doc(hidden)]
    fn fields() -> Vec<ParamField> {
        Vec::new()
    }
    /// Returns the argument's bits for a launch, which is ordered after other uses of the argument's buffers.
    #[doc(hidden)]
    fn raw<'l>(arg: &'l mut Self::Arg<'_>, uses: &mut Uses<'l>) -> Self::Raw;
    /// Appends the argument's bits to a launch.
    #[doc(hidden)]
    fn push<'l>(raw: &'l Self::Raw, launch: &mut LaunchArgs<'l>);
}

impl<T: Shared> Param for T {
    type Arg<'a> = T;
    type Raw = T;

    fn cuda_type() -> String {
        T::NAME.to_owned()
    }
    fn layouts() -> Vec<String> {
        vec![layout::asserts::<T>()]
    }
    fn raw<'l>(arg: &'l mut T, _: &mut Uses<'l>) -> T {
        *arg
    }
    fn push<'l>(raw: &'l T, launch: &mut LaunchArgs<'l>) {
        launch.arg(raw);
    }
}

/// Implements [`Param`] for a buffer parameter `$param` of the CUDA type `$pointer`, whose argument is a `$view`.
macro_rules! buffer_param {
    ($param:ident, $view:ident, $pointer:literal, $use:ident) => {
        impl<T: Shared> Param for $param<T> {
            type Arg<'a> = $view<'a, T>;
            type Raw = u64;

            fn cuda_type() -> String {
                format!($pointer, T::NAME)
            }

            fn layouts() -> Vec<String> {
                vec![layout::asserts::<T>()]
            }

            fn raw<'l>(arg: &'l mut $view<'_, T>, uses: &mut Uses<'l>) -> u64 {
                uses.$use(arg)
            }

            fn push<'l>(raw: &'l u64, launch: &mut LaunchArgs<'l>) {
                launch.arg(raw);
            }
        }
    };
}
buffer_param!(In, CudaView, "const {} *", read);
buffer_param!(InOut, CudaViewMut, "{} *", write);

/// Implements [`Param`] for a struct of parameters that `shared!` declares.
#[doc(hidden)]
#[macro_export]
macro_rules! __impl_param_struct {
    ($name:ident { $($field:ident : $field_type:ty),+ }) => {
        const _: () = {
            use $crate::__private::{
                DeviceRepr, GraphBuffers, LaunchArgs, Param, ParamField, PushKernelArg, Uses,
            };

            #[repr(C)]
            #[derive(Clone, Copy)]
            #[allow(missing_docs, unreachable_pub, reason = "kernels alone read it")]
            pub struct Raw {
                $($field: <$field_type as Param>::Raw),+
            }

            // SAFETY: each field is a value for the device or the address of a buffer; `layouts` asserts that CUDA's
            // struct has the same fields.
            #[allow(unsafe_code, reason = "a struct of `DeviceRepr` fields with asserted layout")]
            unsafe impl DeviceRepr for Raw {}

            // SAFETY: the methods below pass on those of the fields.
            #[allow(unsafe_code, reason = "the macro writes all methods")]
            unsafe impl $crate::__private::Sealed for $name<'static> {}

            impl Param for $name<'static> {
                type Arg<'a> = $name<'a>;
                type Raw = Raw;

                fn cuda_type() -> String {
                    stringify!($name).to_owned()
                }
                fn layouts() -> Vec<String> {
                    let mut layouts = vec![$crate::layout::struct_asserts(
                        stringify!($name),
                        (size_of::<Raw>(), align_of::<Raw>()),
                        &Self::fields(),
                    )];
                    $(layouts.extend(<$field_type as Param>::layouts());)+
                    layouts
                }
                fn fields() -> Vec<ParamField> {
                    vec![$(ParamField {
                        name: stringify!($field),
                        cuda_type: <$field_type as Param>::cuda_type(),
                        offset: ::core::mem::offset_of!(Raw, $field),
                    }),+]
                }
                fn raw<'l>(arg: &'l mut $name<'_>, uses: &mut Uses<'l>) -> Raw {
                    Raw {
                        $($field: {
                            uses.begin_field(stringify!($field));
                            <$field_type as Param>::raw(&mut arg.$field, uses)
                        }),+
                    }
                }
                fn push<'l>(raw: &'l Raw, launch: &mut LaunchArgs<'l>) {
                    launch.arg(raw);
                }
            }

            impl GraphBuffers for $name<'_> {
                fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
                    let _ = <$name<'static> as Param>::raw(self, uses);
                }
            }
        };
    };
}

/// The parameters of a kernel: a tuple of up to 33 [`Param`]s, or an array of one kind.
///
/// ```
/// use compaction::cuda::{In, InOut, Params};
///
/// fn are_params<P: Params>() {}
/// are_params::<(In<f32>, u32, InOut<f32>)>();
/// ```
pub trait Params: sealed::Sealed + 'static {
    /// The arguments of a launch: a [`CudaView`] for each [`In`], a [`CudaViewMut`] for each [`InOut`], and a value for
    /// each other parameter.
    type Args<'a>;
    /// The bits of all arguments as the kernel receives them.
    #[doc(hidden)]
    type Raw: Copy + 'static;

    /// Returns the parameter list in CUDA: `(const Ray *, Hit *, u32)`.
    #[doc(hidden)]
    fn signature() -> String;
    /// Returns the texts of [`Param::layouts`] of all parameters, in order. A type that several parameters share
    /// appears several times.
    #[doc(hidden)]
    fn layouts() -> Vec<String>;
    /// Returns the bits of all arguments for a launch, which is ordered after other uses of their buffers.
    #[doc(hidden)]
    fn raw<'l>(args: &'l mut Self::Args<'_>, uses: &mut Uses<'l>) -> Self::Raw;
    /// Appends the bits of all arguments to a launch.
    #[doc(hidden)]
    fn push<'l>(raw: &'l Self::Raw, launch: &mut LaunchArgs<'l>);
}

macro_rules! params {
    ($($param:ident $position:tt),*) => {
        #[allow(unused_variables, reason = "the empty tuple has no arguments")]
        impl<$($param: Param),*> Params for ($($param,)*) {
            type Args<'a> = ($($param::Arg<'a>,)*);
            type Raw = ($($param::Raw,)*);

            fn signature() -> String {
                format!("({})", <[String]>::join(&[$($param::cuda_type()),*], ", "))
            }
            fn layouts() -> Vec<String> {
                let layouts: &[Vec<String>] = &[$($param::layouts()),*];
                layouts.concat()
            }
            #[allow(clippy::unused_unit, reason = "the empty tuple has no arguments")]
            fn raw<'l>(args: &'l mut Self::Args<'_>, uses: &mut Uses<'l>) -> Self::Raw {
                ($({
                    uses.begin_argument($position + 1);
                    $param::raw(&mut args.$position, uses)
                },)*)
            }
            fn push<'l>(raw: &'l Self::Raw, launch: &mut LaunchArgs<'l>) {
                $($param::push(&raw.$position, launch);)*
            }
        }
        // SAFETY: the methods pass on those of the parameters, in order.
        unsafe impl<$($param: Param),*> sealed::Sealed for ($($param,)*) {}
    };
}

/// Declares the parameters of a kernel of this crate as a struct, so that a launch names its arguments.
///
/// The fields are the parameters in the kernel's order. Each has the type of a [`Param`], and holds its argument.
macro_rules! kernel_params {
    ($(
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident<$lifetime:lifetime $(, $generic:ident : $bound:path)*> {
            $($field:ident : $type:ty),+ $(,)?
        }
    )+) => {$(
        $(#[$meta])*
        $visibility struct $name<$lifetime $(, $generic: $bound)*> {
            $($visibility $field: <$type as $crate::cuda::Param>::Arg<$lifetime>),+
        }

        impl<$($generic: $bound),*> $crate::cuda::Params for $name<'static $(, $generic)*> {
            type Args<'a> = $name<'a $(, $generic)*>;
            type Raw = ($(<$type as $crate::cuda::Param>::Raw,)+);

            fn signature() -> String {
                let types: &[String] = &[$(<$type as $crate::cuda::Param>::cuda_type()),+];
                format!("({})", types.join(", "))
            }
            fn layouts() -> Vec<String> {
                let layouts: &[Vec<String>] = &[$(<$type as $crate::cuda::Param>::layouts()),+];
                layouts.concat()
            }
            fn raw<'l>(args: &'l mut Self::Args<'_>, uses: &mut $crate::cuda::Uses<'l>) -> Self::Raw {
                ($({
                    uses.begin_parameter(stringify!($field));
                    <$type as $crate::cuda::Param>::raw(&mut args.$field, uses)
                },)+)
            }
            fn push<'l>(
                raw: &'l Self::Raw,
                launch: &mut $crate::cudarc::driver::LaunchArgs<'l>,
            ) {
                let ($($field,)+) = raw;
                $(<$type as $crate::cuda::Param>::push($field, launch);)+
            }
        }

        // SAFETY: the methods pass on those of the parameters, in order.
        #[allow(unsafe_code, reason = "the macro writes all methods")]
        unsafe impl<$($generic: $bound),*> $crate::cuda::Sealed for $name<'static $(, $generic)*> {}
    )+};
}
pub(crate) use kernel_params;

/// Implements [`Params`] for the tuples of the given parameters and for all their beginnings, down to the empty tuple.
macro_rules! params_up_to {
    ([$($done:ident $at:tt),*]) => { params!($($done $at),*); };
    ([$($done:ident $at:tt),*] $next:ident $position:tt $($rest:tt)*) => {
        params!($($done $at),*);
        params_up_to!([$($done $at,)* $next $position] $($rest)*);
    };
}
params_up_to!([A 0] B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 P 15 Q 16 R 17 S 18 T 19 U 20 V 21 W 22 X 23
    Y 24 Z 25 Aa 26 Ab 27 Ac 28 Ad 29 Ae 30 Af 31 Ag 32);

impl<P: Param, const LEN: usize> Params for [P; LEN] {
    type Args<'a> = [P::Arg<'a>; LEN];
    type Raw = [P::Raw; LEN];

    fn signature() -> String {
        format!("({})", vec![P::cuda_type(); LEN].join(", "))
    }
    fn layouts() -> Vec<String> {
        P::layouts()
    }
    fn raw<'l>(args: &'l mut [P::Arg<'_>; LEN], uses: &mut Uses<'l>) -> [P::Raw; LEN] {
        args.each_mut().map(|arg| P::raw(arg, uses))
    }
    fn push<'l>(raw: &'l [P::Raw; LEN], launch: &mut LaunchArgs<'l>) {
        for each in raw {
            P::push(each, launch);
        }
    }
}
// SAFETY: the methods pass on those of the parameters, in order.
unsafe impl<P: Param, const LEN: usize> sealed::Sealed for [P; LEN] {}

/// Several parameters of a kernel that stand for one thing, as one field of [`kernel_params!`].
pub(crate) struct Flat<P>(PhantomData<P>);

impl<P: Params> Param for Flat<P> {
    type Arg<'a> = P::Args<'a>;
    type Raw = P::Raw;

    fn cuda_type() -> String {
        let signature = P::signature();
        signature.trim_matches(['(', ')']).to_owned()
    }
    fn layouts() -> Vec<String> {
        P::layouts()
    }
    fn raw<'l>(arg: &'l mut P::Args<'_>, uses: &mut Uses<'l>) -> P::Raw {
        P::raw(arg, uses)
    }
    fn push<'l>(raw: &'l P::Raw, launch: &mut LaunchArgs<'l>) {
        P::push(raw, launch);
    }
}
// SAFETY: the methods pass on those of the parameters, in order.
unsafe impl<P: Params> sealed::Sealed for Flat<P> {}

pub(crate) mod sealed {
    /// Prevents other implementations of [`Param`](super::Param) and [`Params`](super::Params) than those of this
    /// crate.
    ///
    /// # Safety
    ///
    /// `raw` must return bits that are valid for the CUDA type `cuda_type`, and only addresses of the argument's
    /// buffers.
    pub unsafe trait Sealed {}
    // SAFETY: the kernel receives the value.
    unsafe impl<T: crate::layout::Shared> Sealed for T {}
    // SAFETY: the kernel receives the address of the view.
    unsafe impl<T> Sealed for super::In<T> {}
    // SAFETY: the kernel receives the address of the view.
    unsafe impl<T> Sealed for super::InOut<T> {}
}
