//! Ray intersection: primitives, instances, and the bounding volume hierarchies over them.
//!
//! Contains the twins `primitive`, `instance` and `bvh`, the host-side builders in `trees`, and the SIMD traversal of
//! CPUs.

pub(crate) mod arrays;
pub mod bvh;
pub mod instance;
pub mod primitive;
pub mod trees;
#[cfg(target_arch = "x86_64")]
pub mod vectors;
#[cfg(not(target_arch = "x86_64"))]
#[path = "vectors/none.rs"]
pub mod vectors;
