//! Materials: BSDF lobes, microfacet distributions, energy tables, textures and opacity.
//!
//! Contains twins of `kernels/shared/`.

pub mod beckmann;
pub mod bodies;
pub mod bsdf;
pub mod bsdf_types;
pub mod energy;
pub mod material;
mod material_conversion;
pub mod material_textures;
pub mod medium;
pub mod microfacet;
pub mod opacity;
pub mod opacity_map;
pub mod texture;
pub mod thin_film;
