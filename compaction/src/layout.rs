//! The border: plain data that Rust and CUDA both read, and the checks that keep the two definitions alike.
//!
//! A struct stands readable on both sides, once in Rust by [`shared!`](crate::shared) and once in a header, with the
//! same names:
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
//! [`asserts`] are the `static_assert`s that [`Source`](crate::cuda::Source) adds to a kernel file, so that a kernel whose
//! header differs from Rust does not compile. Here two fields have changed places:
//!
//! ```
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
//! ```

use std::fmt::Write;

use bytemuck::Pod;
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

/// One field of a [`Shared`] struct.
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
    /// Its name on both sides.
    pub name: &'static str,
    /// Its type as written in Rust. A path counts by its last word, an array by item and length.
    pub rust_type: &'static str,
    /// Its first byte.
    pub offset: usize,
}

/// Plain data that CUDA knows by the same name.
///
/// Implemented for numbers, and for structs by [`shared!`](crate::shared).
///
/// ```
/// use compaction::layout::Shared;
///
/// fn bytes<T: Shared>(items: &[T]) -> String {
///     format!("{} × {}, {} bytes", items.len(), T::NAME, size_of_val(items))
/// }
/// assert_eq!(bytes(&[0.5_f32, 1.5]), "2 × f32, 8 bytes");
/// ```
pub trait Shared: Pod + DeviceRepr + ValidAsZeroBits {
    /// The type's name in CUDA.
    const NAME: &'static str;
    /// All fields, in order; none for a number.
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

/// Declares plain structs that kernels read under the same names.
///
/// The struct is `#[repr(C)]`, [`Pod`], `Copy`, comparable, and all zeros by `default()`. Padding is written out: a gap
/// between fields does not compile. A field's type has the same name in CUDA, or is an array `[T; N]` of such.
/// The crate that uses the macro depends on `bytemuck`.
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

        $crate::__crosses_to_the_device!($name);

        impl $crate::layout::Shared for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [$crate::layout::Field] = &[$($crate::layout::Field {
                name: stringify!($field),
                rust_type: stringify!($field_type),
                offset: ::core::mem::offset_of!($name, $field),
            }),+];
        }
    )+};
}

/// `static_assert`s that do not compile unless CUDA's `T` has the size, alignment, fields and field types of Rust's.
///
/// They use the words of `compaction/prelude.cuh` and stand after `T`'s definition. Numbers need none.
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
    let (name, size, align) = (T::NAME, size_of::<T>(), align_of::<T>());
    let mut cuda = format!(
        "static_assert(sizeof({name}) == {size}, \"{name}: {size} bytes in Rust\");\n\
         static_assert(alignof({name}) == {align}, \"{name}: aligned to {align} bytes in Rust\");\n"
    );
    for field in T::FIELDS {
        let (field_name, offset, cuda_type) =
            (field.name, field.offset, cuda_type(field.rust_type));
        let _ = writeln!(
            cuda,
            "static_assert(offset_of({name}, {field_name}) == {offset}, \"{name}.{field_name}: byte {offset} in Rust\");\n\
             static_assert(same_type<decltype({name}::{field_name}), {cuda_type}>, \
             \"{name}.{field_name}: {cuda_type} in Rust\");"
        );
    }
    cuda
}

/// `[[f32; 4]; 3]` is `f32[3][4]`, `glam::Vec3` is `Vec3`.
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
