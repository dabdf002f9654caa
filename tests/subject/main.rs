//! The subject, function by function, where a law says what they do.

#[path = "../common/mod.rs"]
mod common;

mod bvh;
mod camera;
mod film;
mod light;
mod material;
mod math;
mod sampler;
mod texture;
