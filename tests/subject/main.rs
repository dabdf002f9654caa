//! The subject, function by function, where a law says what they do.

#[path = "../common/mod.rs"]
mod common;

mod bvh;
mod camera;
mod environment;
mod film;
mod light;
mod light_tree;
mod material;
mod math;
mod sampler;
mod sun_sky;
mod texture;
