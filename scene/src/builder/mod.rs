//! Collects the parts of a scene while it is read: geometry with its instances, and materials with their textures.

mod add_triangles;
pub(crate) mod geometry;
pub(crate) mod indexed_mesh;
pub(crate) mod materials;
mod mesh_use;
pub(crate) mod placement;
pub(crate) mod transform;

use std::{path::Path, sync::Arc};

use glam::Vec3;

use self::{geometry::Geometry, materials::Materials};
use crate::{
    limits::DEFAULT_ROULETTE,
    scene::{Background, Camera, DirectLight, Scene, Tone},
};

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
        size: (512, 512),
        spp: 64,
        max_bounces: 8,
        roulette: DEFAULT_ROULETTE,
        seed: 0,
        clamp_indirect: None,
        fog: None,
        exposure_stops: 0.0,
        tone: Tone::default(),
        camera,
        framing: None,
        cameras: Vec::new(),
        sky: Vec3::ZERO,
        background: Background::Environment,
        shadow_catcher: None,
        direct_light: DirectLight::Both,
        lights: Vec::new(),
        materials: materials.surfaces,
        material_names: materials.display_names,
        maps: materials.maps,
        media: materials.media,
        textures: materials.library.textures,
        images: materials.library.images,
        triangles: Arc::new(geometry.triangles),
        spheres: Arc::new(geometry.spheres),
        meshes: Arc::new(geometry.meshes),
        instances: Arc::new(geometry.instances),
        timeline: None,
        notes: Vec::new(),
        files: Vec::new(),
    }
}
