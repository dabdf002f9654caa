//! Bump maps: height maps in metres, which become normal maps when the size of the surface is known. Imports `model`.

use glam::{DAffine3, Vec3};

use super::Imported;
use crate::{
    model::ModelMesh,
    scene::{Channel, Encoding, MaterialTexture, Texture},
};

/// A height map of a surface.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Bump {
    /// Index of the texture in the model's library.
    pub(crate) texture: u32,
    /// Height in metres of the value 1.
    pub(crate) scale: f32,
}

impl Imported {
    /// Returns the size in metres that one repetition of a bump map covers, on a surface on which u grows by 1 over
    /// `size` metres. It is rounded, so that similar surfaces share a normal map.
    pub(crate) fn bump_size(&self, bump: Bump, size: f32) -> f32 {
        const STEPS_PER_OCTAVE: f32 = 64.0;
        let texture = &self.model.library.textures[bump.texture as usize];
        let repeats = texture.transform.matrix2.x_axis.length();
        let size = (size / repeats.max(1e-6)).clamp(1e-6, 1e9);
        ((size.log2() * STEPS_PER_OCTAVE).round() / STEPS_PER_OCTAVE).exp2()
    }

    /// Returns the normal map for a bump map whose image covers `size` metres. Fails if memory does not suffice.
    pub(crate) fn normal_map(&mut self, bump: Bump, size: f32) -> Result<MaterialTexture, String> {
        let library = &mut self.model.library;
        let texture = library.textures[bump.texture as usize];
        // A scale of 1 stands for a height of a hundredth of the image's width.
        let scale = (100.0 * bump.scale / size).clamp(-1e6, 1e6);
        let image = library.normal_map_from_heights(texture.image, scale, texture.wrap[0])?;
        let texture = library.add_texture(Texture {
            image,
            encoding: Encoding::Linear,
            ..texture
        });
        Ok(MaterialTexture {
            texture,
            channel: Channel::Red,
        })
    }
}

/// Returns the mean distance in metres over which u grows by 1 on a mesh with this transform, weighted by area. Returns
/// 1 if no triangle has usable texture coordinates. For a large mesh, only some thousand evenly spaced triangles count.
pub(crate) fn extent_of_u(mesh: &ModelMesh, transform: &DAffine3) -> f32 {
    let Some(uvs) = &mesh.uvs else {
        return 1.0;
    };
    let (mut sum, mut weights) = (0.0, 0.0);
    // A sample of the triangles suffices for a mean.
    let step = (mesh.triangles.len() / 4096).max(1);
    for triangle in mesh.triangles.iter().step_by(step) {
        let corners = triangle.map(|vertex| vertex as usize);
        let [a, b, c] = corners.map(|vertex| {
            let position: Vec3 = mesh.positions[vertex];
            transform.transform_point3(position.as_dvec3())
        });
        let [ta, tb, tc] = corners.map(|vertex| uvs[vertex].map(f64::from));
        let determinant = (tb[0] - ta[0]) * (tc[1] - ta[1]) - (tc[0] - ta[0]) * (tb[1] - ta[1]);
        let along = ((b - a) * (tc[1] - ta[1]) - (c - a) * (tb[1] - ta[1])) / determinant;
        let area = (b - a).cross(c - a).length();
        if along.is_finite() && area.is_finite() {
            sum += along.length() * area;
            weights += area;
        }
    }
    if weights > 0.0 {
        (sum / weights) as f32
    } else {
        1.0
    }
}
