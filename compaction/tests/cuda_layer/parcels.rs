//! A struct that crosses the border, and a kernel that changes every field of it.

use compaction::{
    cuda::{In, InOut, Source},
    shared,
};

shared! {
    /// A struct of the kinds of fields that cross the border.
    pub(crate) struct Parcel {
        /// Metres.
        pub(crate) size: Vec3,
        /// Any bits.
        pub(crate) tag: u32,
        /// Arrays nest as in C.
        pub(crate) table: [[f32; 2]; 3],
        /// Eight bytes.
        pub(crate) serial: u64,
        /// Two small ones in a row.
        pub(crate) halves: [u16; 2],
        /// Padding is written out.
        pub(crate) _pad: [u32; 1],
    }

    /// Has the name that the kernels give to three floats.
    pub(crate) struct Vec3 {
        /// First.
        pub(crate) x: f32,
        /// Second.
        pub(crate) y: f32,
        /// Third.
        pub(crate) z: f32,
    }
}

pub(crate) const PARCEL_FIELDS: &str =
    "Vec3 size; u32 tag; f32 table[3][2]; u64 serial; u16 halves[2]; u32 _pad[1];";

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

pub(crate) type Move = (In<Parcel>, InOut<Parcel>, u32, Vec3);

/// The kernel that moves parcels, with CUDA's side of the border as given.
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

/// A parcel with another value in every place.
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

/// What the kernel makes of a parcel.
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

pub(crate) const BY: Vec3 = Vec3 {
    x: 0.25,
    y: 0.5,
    z: 0.75,
};
