//! Media of a scene in the form that the stages read.

use std::borrow::Cow;

use glam::Vec3;

use crate::{
    scene::{Light, Scene},
    shading::{
        bodies::{INNERMOST, body_of, priority_of},
        material::{
            ABSORBING, BODY, BOUNDARIES, BOUNDARY, DIELECTRIC, EXTENDED, LAYERED, Material, NESTED,
            PRIORITY_SHIFT, ROUGH_DIELECTRIC, THIN,
        },
        medium::Medium,
    },
};

/// Sets the priorities of bodies, and marks all bodies if any has a priority above 0.
pub(super) fn set_priorities(scene: &Scene, materials: &mut [Material]) {
    for (&index, &priority) in &scene.priorities {
        let material = &mut materials[index as usize];
        if has_inside(material) {
            material.flags |= u32::from(priority) << PRIORITY_SHIFT;
        }
    }
    if materials.iter().any(|material| priority_of(material) > 0) {
        for material in materials {
            material.flags |= if has_inside(material) { BODY } else { 0 };
        }
    }
}

/// Returns the features of a scene in which light passes some surfaces straight; 0 for other scenes.
pub(super) fn crossing_features(materials: &[Material]) -> u32 {
    let any = |test: fn(&Material) -> bool| materials.iter().any(test);
    if any(|material| priority_of(material) > 0) {
        NESTED | BOUNDARIES | ABSORBING
    } else if any(|material| material.flags & BOUNDARY != 0) {
        BOUNDARIES
    } else {
        0
    }
}

/// Sets the extinction of bodies with media, and appends a material for the fog, so that it is a body around all others.
///
/// Returns the medium of each material, or an empty list if light scatters in none of them and there are no boundaries
/// that light passes straight, and the list of bodies that contains only the fog, 0 without fog.
///
/// # Errors
/// A one-line message if there are too many materials for a fog.
pub(super) fn add_media(
    scene: &Scene,
    materials: &mut Vec<Material>,
) -> Result<(Vec<Medium>, u32), String> {
    let mut media = vec![Medium::default(); materials.len()];
    let mut fog_body = 0;
    for (&index, medium) in &scene.media {
        media[index as usize] = Medium::from(medium);
    }
    if let Some(fog) = &scene.fog {
        fog_body = body_of(materials.len() as u32);
        if fog_body == 0 {
            let most = INNERMOST - 1;
            return Err(format!(
                "fog: the scene has more than {most} materials; remove some, or the fog"
            ));
        }
        materials.push(Material {
            ior: 1.0,
            ..Material::default()
        });
        media.push(Medium::from(fog));
    }
    for (material, medium) in materials.iter_mut().zip(&mut media) {
        if medium.extinction != Vec3::ZERO {
            material.absorption = medium.extinction;
        } else {
            medium.extinction = material.absorption;
        }
    }
    let has_boundaries = crossing_features(materials) != 0;
    if !has_boundaries && media.iter().all(|medium| medium.scatters == 0) {
        media.clear();
    }
    Ok((media, fog_body))
}

/// Returns the sky, the background that camera rays see instead of it, and the lights, without those that are infinitely
/// distant if there is fog, because it lets none of their light pass.
pub(super) fn distant_light(scene: &Scene) -> (Vec3, Option<Vec3>, Cow<'_, [Light]>) {
    if scene.fog.is_none() {
        let lights = Cow::Borrowed(&scene.lights[..]);
        return (scene.sky, scene.background.radiance(), lights);
    }
    let near = |light: &&Light| matches!(light, Light::Point { .. } | Light::Spot { .. });
    let lights = scene.lights.iter().filter(near).cloned().collect();
    (Vec3::ZERO, None, lights)
}

/// Returns whether paths enter a body where they are transmitted through the front of this material.
pub(super) fn has_inside(material: &Material) -> bool {
    let refracts = match material.kind {
        DIELECTRIC | ROUGH_DIELECTRIC => true,
        LAYERED | EXTENDED => material.transmission > 0.0,
        _ => false,
    };
    material.flags & BOUNDARY != 0 || refracts && material.flags & THIN == 0
}
