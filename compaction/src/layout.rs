//! Structs that Rust and CUDA share, and the compile-time checks that keep both definitions equal.
//!
//! Each struct is defined on both sides with the same names, once in Rust by [`shared!`](crate::shared) and once in a
//! CUDA header:
//!
//! ```text
//! compaction::shared! {                  // path.cuh
//!     pub struct Path {                  struct Path {
//!         pub origin: [f32; 3],              f32 origin[3];
//!         pub pixel: u32,                    u32 pixel;
//!     }                                  };
//! }
//! ```
//!
//! [`Source`](crate::cuda::Source) adds the `static_assert`s of [`asserts`] to a kernel file, so that a kernel does not
//! compile if its header differs from Rust. In this example, two fields are swapped:
//!
//! ```
//! # #[cfg(feature = "cuda")] fn example() -> compaction::Result<()> {
//! use compaction::cuda::{In, Nvrtc, Source, Target};
//!
//! compaction::shared! {
//!     /// One light path in flight.
//!     pub struct Path {
//!         /// World space, metres.
//!         pub origin: [f32; 3],
//!         /// Row-major index into the film.
//!         pub pixel: u32,
//!     }
//! }
//!
//! let source = Source::new(
//!     "shade.cu",
//!     r#"struct Path { u32 pixel; f32 origin[3]; };
//!        extern "C" __global__ void shade(const Path *paths) {}"#,
//! )
//! .kernel::<(In<Path>,)>("shade");
//! if let Ok(nvrtc) = Nvrtc::find() {
//!     let error = nvrtc.compile(&source, Target::Ptx(75)).unwrap_err().to_string();
//!     assert!(error.contains("Path.pixel: byte 12 in Rust"), "{error}");
//! }
//! # Ok(()) }
//! ```

use std::fmt::Write;

use bytemuck::Pod;

/// Name, type and offset of one field of a [`Shared`] struct.
///
/// ```
/// use compaction::layout::{Field, Shared};
///
/// compaction::shared! {
///     /// A ray's hit.
///     struct Hit { distance: f32, primitive: u32 }
/// }
/// assert_eq!(Hit::FIELDS[1], Field { name: "primitive", rust_type: "u32", offset: 4 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field's name in Rust and in CUDA. A kernel file whose struct has no field of this name does not compile.
    pub name: &'static str,
    /// The field's type as written in Rust, such as `u32`, `glam::Vec3` or `[f32; 3]`.
    pub rust_type: &'static str,
    /// Offset of the field from the start of the struct, in bytes.
    pub offset: usize,
}

/// Name, CUDA type and offset of a field of a struct of kernel parameters, for the code that
/// [`shared!`](crate::shared) generates.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamField {
    /// The field's name in Rust and in CUDA. A kernel file whose struct has no field of this name does not compile.
    pub name: &'static str,
    /// The field's type in CUDA, such as `const Node *`.
    pub cuda_type: String,
    /// Offset of the field from the start of the struct, in bytes.
    pub offset: usize,
}

#[cfg(feature = "cuda")]
mod device_data {
    use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

    /// The traits of cudarc for types that kernels take and that may be zeroed.
    #[doc(hidden)]
    pub trait DeviceData: DeviceRepr + ValidAsZeroBits {}
    impl<T: DeviceRepr + ValidAsZeroBits> DeviceData for T {}
}

#[cfg(not(feature = "cuda"))]
mod device_data {
    /// All types, because a build without CUDA has no device.
    #[doc(hidden)]
    pub trait DeviceData {}
    impl<T> DeviceData for T {}
}

use device_data::DeviceData;

/// A plain-data type that has the same name and layout in Rust and CUDA.
///
/// Number types implement this trait, and [`shared!`](crate::shared) implements it for structs.
///
/// ```
/// use compaction::layout::Shared;
///
/// fn bytes<T: Shared>(items: &[T]) -> String {
///     format!("{} × {}, {} bytes", items.len(), T::NAME, size_of_val(items))
/// }
/// assert_eq!(bytes(&[0.5_f32, 1.5]), "2 × f32, 8 bytes");
/// ```
pub trait Shared: Pod + DeviceData {
    /// The type's name in CUDA: `u32`, or the name of the struct.
    const NAME: &'static str;
    /// All fields of a struct, in memory order. Empty for number types.
    const FIELDS: &'static [Field];
}

macro_rules! numbers {
    ($($number:ident),+) => {$(
        impl Shared for $number {
            const NAME: &'static str = stringify!($number);
            const FIELDS: &'static [Field] = &[];
        }
    )+};
}
numbers!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

/// Declares plain-data structs that Rust shares with CUDA kernels.
///
/// Each struct is `#[repr(C)]`, [`Pod`], `Copy` and `PartialEq`, and `default()` sets all bytes to zero. Padding must
/// be written as explicit fields: a gap between fields does not compile. A field's type must have the same name in
/// CUDA, or be an array `[T; N]` of such a type. The crate that uses the macro must depend on `bytemuck` 1.
///
/// A struct with a lifetime is a kernel parameter that groups buffers and values. Each field's type is a
/// [`Param`](crate::cuda::Param), and the field holds its argument: a view of the buffer, or the value. The kernel
/// takes the struct by value, with a pointer for each view. Such a struct is declared alone.
///
/// ```
/// # #[cfg(feature = "cuda")] fn example() -> compaction::Result<()> {
/// use compaction::cuda::{In, InOut, Source};
///
/// compaction::shared! {
///     /// Buffers of a wave: `struct WaveBuffers { const f32 *rays; u32 *hits; u32 ray_count; };`
///     pub struct WaveBuffers<'a> {
///         /// Rays to trace.
///         pub rays: In<f32>,
///         /// Index of the primitive that each ray hit.
///         pub hits: InOut<u32>,
///         /// Number of rays.
///         pub ray_count: u32,
///     }
/// }
/// let source = Source::new("trace.cu", "…").kernel::<(WaveBuffers<'static>,)>("trace");
/// assert!(source.text()?.contains("WaveBuffers.hits: u32 * in Rust"));
/// # Ok(()) }
/// ```
///
/// ```
/// compaction::shared! {
///     /// One light path in flight.
///     pub struct Path {
///         /// World space, metres.
///         pub origin: [f32; 3],
///         /// Row-major index into the film.
///         pub pixel: u32,
///     }
/// }
/// assert_eq!(Path::default().pixel, 0);
/// ```
///
/// ```compile_fail
/// compaction::shared! {
///     /// Three bytes after `kind` belong to no field.
///     pub struct Gap {
///         /// Kind.
///         pub kind: u8,
///         /// Value.
///         pub value: u32,
///     }
/// }
/// ```
#[macro_export]
macro_rules! shared {
    ($(
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident : $field_type:ty),+ $(,)?
        }
    )+) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, $crate::__private::Pod, $crate::__private::Zeroable)]
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $field_type),+
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::__private::Zeroable::zeroed()
            }
        }

        $crate::__impl_device_traits!($name);

        impl $crate::layout::Shared for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [$crate::layout::Field] = &[$($crate::layout::Field {
                name: stringify!($field),
                rust_type: stringify!($field_type),
                offset: ::core::mem::offset_of!($name, $field),
            }),+];
        }
    )+};
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident<$lifetime:lifetime> {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident : $field_type:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name<$lifetime> {
            $($(#[$field_meta])* $field_visibility $field: <$field_type as $crate::cuda::Param>::Arg<$lifetime>),+
        }

        $crate::__impl_param_struct!($name { $($field: $field_type),+ });
    };
}

#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __impl_device_traits {
    ($name:ident) => {};
}

/// Returns `static_assert`s that fail unless CUDA's `T` has the same size, alignment, field offsets and field types as
/// Rust's.
///
/// The kernel file must contain the text after the definition of `T`, and needs `compaction/prelude.cuh`. The text is
/// empty for number types.
///
/// ```
/// compaction::shared! {
///     /// A ray's hit.
///     struct Hit { distance: f32, primitive: u32 }
/// }
/// let asserts = compaction::layout::asserts::<Hit>();
/// assert!(asserts.contains(r#"static_assert(offset_of(Hit, primitive) == 4, "Hit.primitive: byte 4 in Rust");"#));
/// assert!(compaction::layout::asserts::<u32>().is_empty());
/// ```
pub fn asserts<T: Shared>() -> String {
    if T::FIELDS.is_empty() {
        return String::new();
    }
    let field = |field: &Field| ParamField {
        name: field.name,
        cuda_type: cuda_type(field.rust_type),
        offset: field.offset,
    };
    let fields: Vec<ParamField> = T::FIELDS.iter().map(field).collect();
    struct_asserts(T::NAME, (size_of::<T>(), align_of::<T>()), &fields)
}

/// Returns `static_assert`s on the CUDA struct `name`: its size and alignment in bytes, and the name, type and offset
/// of each field.
#[doc(hidden)]
pub fn struct_asserts(name: &str, (size, align): (usize, usize), fields: &[ParamField]) -> String {
    let mut cuda = format!(
        "static_assert(sizeof({name}) == {size}, \"{name}: {size} bytes in Rust\");\n\
         static_assert(alignof({name}) == {align}, \"{name}: aligned to {align} bytes in Rust\");\n"
    );
    for field in fields {
        let ParamField {
            name: field_name,
            cuda_type,
            offset,
        } = field;
        let _ = writeln!(
            cuda,
            "static_assert(offset_of({name}, {field_name}) == {offset}, \"{name}.{field_name}: byte {offset} in Rust\");\n\
             static_assert(same_type<decltype({name}::{field_name}), {cuda_type}>, \
             \"{name}.{field_name}: {cuda_type} in Rust\");"
        );
    }
    cuda
}

/// Returns the CUDA spelling of a Rust type: `f32[3][4]` for `[[f32; 4]; 3]`, and `Vec3` for `glam::Vec3`.
fn cuda_type(rust_type: &str) -> String {
    let (mut item, mut lengths) = (rust_type.trim(), String::new());
    while let Some((inner, length)) = item
        .strip_prefix('[')
        .and_then(|array| array.strip_suffix(']'))
        .and_then(|array| array.rsplit_once(';'))
    {
        let _ = write!(lengths, "[{}]", length.trim());
        item = inner.trim();
    }
    format!(
        "{}{lengths}",
        item.rsplit("::").next().unwrap_or(item).trim()
    )
}
