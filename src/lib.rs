//! A wavefront path tracer that sieves its rays: after every bounce, stream compaction removes the rays that missed and
//! the paths that ended.
//!
//! ```text
//!                     a wave of (pixel, sample) pairs
//!                                  │
//!                              generate                        camera rays
//!                                  │
//!        ┌────────────────────► intersect ──► miss: the sky's light
//!        │                         │
//!        │                      compact                        hits stay
//!        │                         │
//!        │                       shade ─────► emission, a shadow ray, the next ray
//!        │                         │
//!        │                       shadow ────► light that nothing blocks
//!        │                         │
//!        └──── live paths ◄───── compact                       ended paths leave
//!                                  │
//!                             accumulate                       samples onto the film
//!                                  │
//!                               resolve                        the film as an image, once per frame
//!                               denoise                        the image with less noise, on request
//! ```
//!
//! [`wavefront`] is that loop. It runs on the CPU and on CUDA and gives the same bits on both: the film depends only on
//! the scene, the size, the seed and the samples.
//!
//! ```no_run
//! use raysieve::{render::renderer::{Renderer, Settings}, scene::Scene};
//!
//! let scene = Scene::load("scenes/cornell.ron".as_ref())?;
//! let mut renderer = Renderer::new(&scene, &Settings::default())?;
//! while renderer.advance()? {}
//! println!("{}", renderer.finish()?.film_hash);
//! # Ok::<(), raysieve::Error>(())
//! ```

/// Lists constants as pairs of name and value, for the source of kernels.
macro_rules! named {
    ($($constant:ident),+ $(,)?) => {
        &[$((stringify!($constant), $constant)),+]
    };
}

// The modules in dependency order: each imports only those above it, and the test `module_order` fails otherwise.
pub use raysieve_scene as scene;

mod error;
pub use error::Error;

pub mod math;
pub mod sampler;
pub mod path;
pub mod film;
pub mod camera;
pub mod accel;
pub mod shading;
pub mod lights;
pub mod adaptive;
pub mod device;
pub mod vertex;
pub mod stages;
pub mod wavefront;
pub mod light_shares;
pub mod inspect;
mod backend;
pub mod render;

pub use backend::devices;
