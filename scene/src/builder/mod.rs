//! Collects the parts of a scene while it is read: geometry with its instances, and materials with their textures.
//!
//! Imports `model`, `image`, `scene` and what they import.

mod add_triangles;
pub(crate) mod geometry;
pub(crate) mod materials;
pub(crate) mod placement;
pub(crate) mod transform;
