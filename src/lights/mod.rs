//! Light sources: emission, light sampling, the light tree and the environment map.
//!
//! `light_params`, `light_groups` and `light_power` prepare them on the host; the others are twins of `kernels/shared/`.

pub mod area_light;
pub mod environment;
pub mod lamp;
pub mod light;
pub mod light_groups;
pub(crate) mod light_params;
pub mod light_power;
pub mod light_sample;
pub mod light_tree;
