//! The processing of one vertex of a path, from the ray that arrives to the ray that leaves. Stages call this code for
//! each entry of a queue, and `megakernel` for each path.
//!
//! It may import everything about scenes, lights and materials, but nothing about waves.

pub mod boundaries;
pub mod rays;
pub mod scattering;
pub mod shading;
