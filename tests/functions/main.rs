//! Tests of the renderer's mathematical functions against laws, closed forms and brute force.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/thread_time.rs"]
mod thread_time;

mod bvh;
mod camera;
mod environment;
mod film;
mod instances;
mod light;
mod light_tree;
mod material;
mod math;
mod opacity_maps;
mod path;
mod sample_sets;
mod sampler;
mod schedule;
mod sun_sky;
mod texture;
