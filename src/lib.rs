//! A path tracer for programs: load or build a scene, render it on the CPU or on NVIDIA GPUs, and save the picture.
//!
//! | step | how |
//! |---|---|
//! | load | [`Scene::load`] reads scene files, glTF, OBJ and PLY; [`Scene::parse`] reads the text of a scene |
//! | build | [`Scene::new`], [`add_material`](Scene::add_material), [`add_mesh`](Scene::add_mesh), [`add_light`](Scene::add_light), [`add_model`](Scene::add_model) |
//! | change | the fields of [`Scene`], [`material_mut`](Scene::material_mut) by name; then [`Renderer::set_scene`] or [`Renderer::set_camera`] |
//! | render | [`Renderer::new`], then [`render_to`](Renderer::render_to) a number of samples, or [`advance`](Renderer::advance) step by step |
//! | save | [`Renderer::save`] as PNG or EXR, [`Renderer::picture`] as linear light, [`to_srgb8`](film::picture::tone::to_srgb8) as bytes, [`Renderer::aovs`] as layers |
//!
//! ```no_run
//! use raysieve::{Camera, Renderer, Scene, Settings, glam::Vec3, scene::{Light, NewMesh, Surface}};
//!
//! let mut scene = Scene::new(Camera::look_at(Vec3::new(2.0, 1.5, 4.0), Vec3::ZERO, 40.0));
//! let clay = scene.add_material("clay", Surface::diffuse(Vec3::new(0.7, 0.5, 0.3)));
//! let mesh = NewMesh {
//!     positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
//!     triangles: vec![[0, 1, 2]],
//!     ..NewMesh::default()
//! };
//! scene.add_mesh(mesh, clay)?;
//! scene.add_light(Light::Point { position: Vec3::new(1.0, 2.0, 3.0), intensity: Vec3::splat(30.0) });
//! let mut renderer = Renderer::new(&scene, &Settings::default())?;
//! renderer.render_to(64, |done| eprintln!("{:.0} %", 100.0 * done))?;
//! renderer.save("clay.png")?;
//! # Ok::<(), raysieve::Error>(())
//! ```
//!
//! The film depends on the scene, the size, the seed and the samples alone: it has the same bits on the CPU and on
//! CUDA.
//!
//! **Speed.** Without optimization, rendering is about 50 times slower. Plain `cargo run` of your program does not
//! optimize its dependencies, unless its `Cargo.toml` has these lines:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```
//!
//! # The loop
//!
//! Rays are sieved: after every bounce, stream compaction removes the rays that missed and the paths that ended.
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
//! Modules that other crates of the workspace share, and that are hidden here, may change in any release.

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

#[doc(hidden)]
pub mod math;
#[doc(hidden)]
pub mod sampler;
#[doc(hidden)]
pub mod path;
pub mod film;
#[doc(hidden)]
pub mod camera;
#[doc(hidden)]
pub mod accel;
#[doc(hidden)]
pub mod shading;
#[doc(hidden)]
pub mod lights;
#[doc(hidden)]
pub mod adaptive;
#[doc(hidden)]
pub mod device;
#[doc(hidden)]
pub mod vertex;
#[doc(hidden)]
pub mod stages;
#[doc(hidden)]
pub mod wavefront;
#[doc(hidden)]
pub mod light_shares;
pub mod inspect;
mod backend;
pub mod render;

pub use backend::devices;
pub use glam;
pub use render::renderer::{BackendChoice, Renderer, Settings};
pub use scene::{Camera, Scene};
