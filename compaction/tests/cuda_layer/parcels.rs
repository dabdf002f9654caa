//! A struct shared with CUDA, and a kernel that changes each of its fields.

use compaction::{
    cuda::{In, InOut, Source},
    shared,
};

shared! {
    /// A struct with all kinds of fields that can be shared.
    pub(crate) struct Parcel {
        /// Metres.
        pub(crate) size: Vec3,
        /// Arbitrary bits.
        pub(crate) tag: u32,
        /// A nested array, with the layout of C.
        pub(crate) table: [[f32; 2]; 3],
        /// An 8-byte field.
        pub(crate) serial: u64,
        /// Two small fields in a row.
        pub(crate) halves: [u16; 2],
        /// Explicit padding.
        pub(crate) _pad: [u32; 1],
    }

    /// A struct with the name that the kernel uses for three floats.
    pub(crate) struct Vec3 {
        /// First component.
        pub(crate) x: f32,
        /// Second component.
        pub(crate) y: f32,
        /// Third component.
        pub(crate) z: f32,
    }
}

/// Fields of [`Parcel`] in CUDA.
pub(crate) const PARCEL_FIELDS: &str =
    "Vec3 size; u32 tag; f32 table[3][2]; u64 serial; u16 halves[2]; u32 _pad[1];";

/// Kernel that adds a vector to each parcel's size and changes its other fields.
pub(crate) const MOVE: &str = r#"#include "shared/parcel.cuh"

extern "C" __global__ void move_parcels(const Parcel *__restrict__ parcels, Parcel *out, const u32 count, Vec3 by) {
    u32 item = blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (item >= count) return;
    Parcel parcel = parcels[item];
    parcel.size.x += by.x;
    parcel.size.y += by.y;
    parcel.size.z += by.z;
    parcel.tag += 1;
    parcel.table[2][1] += 1.0f;
    parcel.serial += 1ull << 40;
    parcel.halves[1] += 1;
    parcel._pad[0] += 1;
    out[item] = parcel;
}
"#;

/// Argument types of [`MOVE`].
pub(crate) type Move = (In<Parcel>, InOut<Parcel>, u32, Vec3);

/// Returns the source of the kernel that changes parcels, with the given CUDA definition of the struct.
pub(crate) fn move_with(fields: &str, kernel: &str) -> Source {
    Source::new("kernels/move.cu", kernel.to_owned())
        .header(
            "kernels/shared/parcel.cuh",
            format!(
                "#pragma once\nstruct Vec3 {{ f32 x, y, z; }};\nstruct Parcel {{ {fields} }};\n"
            ),
        )
        .constant("BLOCK_THREADS", 128)
        .kernel::<Move>("move_parcels")
}

pub(crate) fn move_parcels() -> Source {
    move_with(PARCEL_FIELDS, MOVE)
}

/// Returns a parcel with a different value in every field.
pub(crate) fn parcel(seed: u32) -> Parcel {
    let at = |place: u32| (100 * seed + place) as f32;
    Parcel {
        size: Vec3 {
            x: at(1),
            y: at(2),
            z: at(3),
        },
        tag: 100 * seed + 4,
        table: [[at(5), at(6)], [at(7), at(8)], [at(9), at(10)]],
        serial: u64::from(seed) << 33 | 11,
        halves: [12, 13],
        _pad: [14],
    }
}

/// Returns the parcel that the kernel computes from `parcel`, moved by `by`.
pub(crate) fn moved(mut parcel: Parcel, by: Vec3) -> Parcel {
    parcel.size.x += by.x;
    parcel.size.y += by.y;
    parcel.size.z += by.z;
    parcel.tag += 1;
    parcel.table[2][1] += 1.0;
    parcel.serial += 1 << 40;
    parcel.halves[1] += 1;
    parcel._pad[0] += 1;
    parcel
}

/// The vector that [`MOVE`] adds in the tests.
pub(crate) const BY: Vec3 = Vec3 {
    x: 0.25,
    y: 0.5,
    z: 0.75,
};
