//! The scene as the stages read it on either backend, and the CUDA sources that read it.
//!
//! `render_scene` is the renderer's form of a scene, `texture_atlas` its packed textures, `opacity_maps` the
//! construction of its opacity maps, and `kernels` the shared CUDA headers with their constants. `kernel_variant` names
//! the features that kernels are compiled for. `device_scene`, `path_buffers` and `device_film` are the structs that
//! kernels receive, with the buffers behind them. `media` adds the media of a scene to its materials, and
//! `camera_bodies` finds those around the camera.

pub mod camera_bodies;
pub mod device_film;
pub mod device_scene;
pub mod kernel_variant;
pub mod kernels;
mod media;
pub(crate) mod opacity_maps;
pub mod path_buffers;
pub mod render_scene;
pub(crate) mod texture_atlas;
