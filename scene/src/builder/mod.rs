//! Collects the parts of a scene while it is read: geometry with its instances, and materials with their textures.

pub(crate) mod add_mesh;
mod add_triangles;
pub(crate) mod geometry;
pub(crate) mod indexed_mesh;
pub(crate) mod materials;
mod mesh_use;
pub(crate) mod placement;
pub(crate) mod transform;

use std::{path::Path, sync::Arc};

use self::{geometry::Geometry, materials::Materials};
use crate::scene::{Camera, Scene};

/// Returns a scene of these objects without lights, seen by `camera`, with default settings: an image of 512 × 512
/// pixels with 64 samples each, and at most 8 scatterings of a path.
pub(crate) fn scene(
    path: &Path,
    camera: Camera,
    geometry: Geometry,
    materials: Materials,
) -> Scene {
    Scene {
        path: path.to_owned(),
        origin: geometry.origin,
        materials: materials.surfaces,
        material_names: materials.display_names,
        maps: materials.maps,
        media: materials.media,
        priorities: materials.priorities,
        textures: materials.library.textures,
        images: materials.library.images,
        triangles: Arc::new(geometry.triangles),
        spheres: Arc::new(geometry.spheres),
        meshes: Arc::new(geometry.meshes),
        instances: Arc::new(geometry.instances),
        ..Scene::new(camera)
    }
}
