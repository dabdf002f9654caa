//! Materials: the metallic-roughness model and its extensions.

use glam::Vec3;
use gltf::json::{mesh::Primitive, texture::Info};

use super::container::File;
use crate::scene::model::{Model, ModelMaterial};

pub(super) fn read(file: &File, index: usize) -> Result<ModelMaterial, String> {
    let written = &file.root.materials[index];
    let pbr = &written.pbr_metallic_roughness;
    let [r, g, b, _] = pbr.base_color_factor.0;
    let extensions = written.extensions.as_ref();
    let strength = extensions
        .and_then(|extensions| extensions.emissive_strength.as_ref())
        .map_or(1.0, |strength| strength.emissive_strength.0);
    let material = ModelMaterial {
        base_color: part("baseColorFactor", Vec3::new(r, g, b))?,
        unlit: extensions.is_some_and(|extensions| extensions.unlit.is_some()),
        transmission: extensions
            .and_then(|extensions| extensions.transmission.as_ref())
            .map_or(0.0, |transmission| transmission.transmission_factor.0),
        ior: extensions
            .and_then(|extensions| extensions.ior.as_ref())
            .map_or(1.5, |ior| ior.ior.0),
        emission: match written.emissive_texture {
            Some(_) => Vec3::ZERO,
            None => emission(
                "emissiveFactor",
                Vec3::from_array(written.emissive_factor.0) * strength,
            )?,
        },
    };
    Ok(material)
}

/// A note on the textures of the file, which are not shown.
pub(super) fn note_textures(file: &File, model: &mut Model) {
    if !file.root.textures.is_empty() {
        model.note("not shown: textures".to_owned());
    }
}

/// The material of a primitive that names none.
pub(super) fn default(file: &File, model: &mut Model) -> usize {
    let index = file.root.materials.len();
    if model.materials.len() == index {
        model.materials.push(ModelMaterial::default());
    }
    index
}

/// Which texture coordinates of its vertices a primitive's material looks at.
pub(super) fn uv_set(file: &File, primitive: &Primitive, _model: &mut Model) -> u32 {
    let material = primitive
        .material
        .and_then(|material| file.root.materials.get(material.value()));
    let looks_at = |info: &Info| {
        let transform = info
            .extensions
            .as_ref()
            .and_then(|extensions| extensions.texture_transform.as_ref());
        transform
            .and_then(|transform| transform.tex_coord)
            .unwrap_or(info.tex_coord)
    };
    material
        .and_then(|material| material.pbr_metallic_roughness.base_color_texture.as_ref())
        .map_or(0, looks_at)
}

fn part(field: &str, color: Vec3) -> Result<Vec3, String> {
    if color.is_finite() {
        Ok(color.clamp(Vec3::ZERO, Vec3::ONE))
    } else {
        Err(format!("{field} is {color}, expected numbers from 0 to 1"))
    }
}

fn emission(field: &str, color: Vec3) -> Result<Vec3, String> {
    if color.is_finite() && color.min_element() >= 0.0 {
        Ok(color)
    } else {
        Err(format!("{field} is {color}, expected numbers from 0"))
    }
}
