//! A wavefront path tracer that sieves its rays: every bounce, the rays that missed and the paths that ended leave the
//! batch by stream compaction.
//!
//! ```text
//!                     a wave of (pixel, sample) pairs
//!                                  │
//!                              generate                        camera rays
//!                                  │
//!        ┌────────────────────► intersect ──► miss: the sky's light
//!        │                         │
//!        │                       sieve                         hits stay
//!        │                         │
//!        │                       shade ─────► emission, a shadow ray, the next ray
//!        │                         │
//!        │                       shadow ────► light that nothing blocks
//!        │                         │
//!        └──── live paths ◄───── sieve                         ended paths leave
//!                                  │
//!                             accumulate                       samples onto the film
//!                                  │
//!                               resolve                        the film as a picture, once a frame
//!                               denoise                        the same with less noise, on request
//! ```
//!
//! [`wavefront`] is that loop. It runs on the CPU and on CUDA, and gives the same bits on both: the film depends on the
//! scene, the size, the seed and the samples, and on nothing else.
//!
//! ```no_run
//! use raysieve::{renderer::{Renderer, Settings}, scene::Scene};
//!
//! let scene = Scene::load("scenes/cornell.ron".as_ref())?;
//! let mut renderer = Renderer::new(&scene, &Settings::default())?;
//! while renderer.advance()? {}
//! println!("{}", renderer.finish()?.film_hash);
//! # Ok::<(), raysieve::Error>(())
//! ```

// What is rendered.
pub mod scene;
pub mod world;
mod imagery;

// The subject, in the order that light meets it backwards: plain functions on one item. Each has a twin in
// `kernels/shared/`.
pub mod camera;
pub mod sampler;
pub mod bvh;
pub mod primitive;
pub mod instance;
mod trees;
pub mod material;
pub mod microfacet;
pub mod energy;
pub mod bsdf;
pub mod texture;
pub mod maps;
pub mod opacity;
pub mod layers;
pub mod environment;
pub mod light;
pub mod light_tree;
mod lighting;
pub mod film;
pub mod confidence;
mod filter;
pub mod math;
#[cfg(target_arch = "x86_64")]
pub mod vectors;
#[cfg(not(target_arch = "x86_64"))]
#[path = "vectors/none.rs"]
pub mod vectors;

// The loop.
pub mod path;
pub mod history;
pub mod ledger;
pub mod rounds;
pub mod stages;
pub mod wave;
pub mod wavefront;

// A render, and what is told of it.
mod backend;
pub mod kernels;
pub mod picture;
pub mod renderer;
pub mod stats;
pub mod part;
pub mod checkpoint;
pub mod track;

// What is shown of it and written.
pub mod chart;
pub mod devices;
pub mod live;
pub mod noise;
pub mod output;
pub mod serve;
pub mod sight;
pub mod tone;
pub mod window;

mod error;
mod quiet;
pub use error::Error;
