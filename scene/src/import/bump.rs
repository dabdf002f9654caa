//! Bump maps: height maps in metres, which become normal maps when the size of the surface is known.

use glam::{DAffine3, Mat2, Vec2, Vec3};

use super::Imported;
use crate::{
    model::{ModelInstance, ModelMaterial, ModelMesh},
    scene::{Channel, Encoding, MaterialTexture, Parameter, Surface, Texture},
};

/// A height map of a surface.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Bump {
    /// Index of the texture in the model's library.
    pub(crate) texture: u32,
    /// Height in metres of the value 1.
    pub(crate) scale: f32,
}

/// Steps per octave to which the sizes of bump maps are rounded, so that similar surfaces share a normal map.
const STEPS_PER_OCTAVE: f32 = 64.0;

impl Imported {
    /// Returns the sizes in metres that one repetition of a bump map covers along u and v, on a surface on which these
    /// grow by 1 over `size` metres, as [`uv_extent`] returns them. They are rounded to [`STEPS_PER_OCTAVE`].
    pub(crate) fn bump_size(&self, bump: Bump, size: [f32; 2]) -> [f32; 2] {
        let texture = &self.model.library.textures[bump.texture as usize];
        let axes = texture.transform.matrix2;
        let covered = |size: f32, repeats: f32| rounded(size / repeats.max(1e-6));
        [
            covered(size[0], axes.x_axis.length()),
            covered(size[1], axes.y_axis.length()),
        ]
    }

    /// Returns sizes that are equal for surfaces on which a material has the same relief: a material that has `bump`, or
    /// blends materials with bump maps. `size` is as for [`Imported::bump_size`]. Returns `None` if there is no bump map.
    pub(crate) fn relief_size(
        &self,
        material: &ModelMaterial,
        bump: Option<Bump>,
        size: [f32; 2],
    ) -> Option<[f32; 2]> {
        match bump {
            _ if self.blends_bumps(&material.surface) => Some(size.map(rounded)),
            Some(bump) => Some(self.bump_size(bump, size)),
            None => None,
        }
    }

    /// Makes bump maps normal maps: `bump`, which is that of the whole material, and those of the materials that it
    /// blends. Blended materials with bump maps are copied into the model, and the blend then refers to the copies.
    /// `size` is as for [`Imported::bump_size`]. Fails if memory does not suffice.
    pub(crate) fn add_relief(
        &mut self,
        material: &mut ModelMaterial,
        bump: Option<Bump>,
        size: [f32; 2],
    ) -> Result<(), String> {
        if let Some(bump) = bump {
            let map = self.normal_map(bump, self.bump_size(bump, size))?;
            material.maps.textures.insert(Parameter::Normal, map);
        }
        if let Surface::Blend { first, second, .. } = &mut material.surface {
            for part in [first, second] {
                *part = self.sized_part(*part, size.map(rounded))?;
            }
        }
        Ok(())
    }

    /// Returns the index in the model of a part of a blend with its relief on a surface of this size: a copy if it has a
    /// bump map or blends such a material, and else the part itself. Fails if memory does not suffice.
    fn sized_part(&mut self, part: u32, size: [f32; 2]) -> Result<u32, String> {
        let bump = self.part_bumps.get(&part).copied();
        let original = &self.model.materials[part as usize];
        if !self.has_bump_map(original, bump) {
            return Ok(part);
        }
        let key = (part, size.map(f32::to_bits));
        if let Some(&known) = self.sized_parts.get(&key) {
            return Ok(known);
        }
        let mut copy = original.clone();
        self.add_relief(&mut copy, bump, size)?;
        let index = self.model.materials.len();
        self.model.materials.push(copy);
        self.bumped.insert(index);
        self.sized_parts.insert(key, index as u32);
        Ok(index as u32)
    }

    /// Returns whether a material has a bump map: `bump`, which is that of the whole material, or one of a material that it
    /// blends.
    pub(crate) fn has_bump_map(&self, material: &ModelMaterial, bump: Option<Bump>) -> bool {
        bump.is_some() || self.blends_bumps(&material.surface)
    }

    /// Returns whether a surface blends a material with a bump map, directly or in another blend.
    fn blends_bumps(&self, surface: &Surface) -> bool {
        let mut parts = surface.blended().into_iter().flatten();
        parts.any(|part| {
            let own = self.part_bumps.contains_key(&part);
            own || self.blends_bumps(&self.model.materials[part as usize].surface)
        })
    }

    /// Returns the normal map for a bump map of which one repetition covers `size` metres along u and v, which may be
    /// negative along v as in [`uv_extent`]. Fails if memory does not suffice.
    pub(crate) fn normal_map(
        &mut self,
        bump: Bump,
        size: [f32; 2],
    ) -> Result<MaterialTexture, String> {
        let library = &mut self.model.library;
        let linear = library.linear(bump.texture)?;
        let texture = library.textures[linear as usize];
        let image = &library.images[texture.image as usize];
        let texels = Vec2::new(image.width as f32, image.height as f32);
        // Directions in the image, with y downwards, in which it moves when u or v grows.
        let [along_u, along_v] = [
            texture.transform.matrix2.x_axis,
            texture.transform.matrix2.y_axis,
        ]
        .map(Vec2::normalize_or_zero);
        // Films depend on the rounding, so the order of these operations is fixed.
        let rise =
            |size: f32, texels: f32| 0.01 * (100.0 * bump.scale / size).clamp(-1e6, 1e6) * texels;
        let slopes = Mat2::from_cols(
            Vec2::new(
                along_u.x * rise(size[0], texels.x),
                -along_v.x * rise(size[1], texels.x),
            ),
            Vec2::new(
                -along_u.y * rise(size[0], texels.y),
                along_v.y * rise(size[1], texels.y),
            ),
        );
        let wrap = texture.wrap[0];
        let image = library.normal_map_with_slopes(texture.image, slopes, wrap)?;
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

    /// Returns an instance of a group's member, moved by `transform`. A bump map gets the slopes of its size there, for
    /// which an uneven scale counts as an even one. A normal map keeps its relief if `transform` mirrors. Fails if memory
    /// does not suffice.
    pub(crate) fn instance_of_group(
        &mut self,
        transform: &DAffine3,
        instance: ModelInstance,
    ) -> Result<ModelInstance, String> {
        let determinant = transform.matrix3.determinant();
        let mirrors = determinant < 0.0;
        let has_tangents = self.model.meshes[instance.mesh].tangents.is_some();
        if mirrors && has_tangents && self.bumped.contains(&instance.material) {
            self.note("approximated: bump maps on meshes that also have normal maps, which are upside down in mirroring instances");
        }
        Ok(ModelInstance {
            mesh: match mirrors {
                true => self.with_flipped_bitangents(instance.mesh)?,
                false => instance.mesh,
            },
            material: self.material_for_scale(instance.material, determinant),
            transform: *transform * instance.transform,
        })
    }

    /// Returns the index of a mesh that is like `mesh` with the other sign of its bitangents, or `mesh` itself if it has
    /// none.
    fn with_flipped_bitangents(&mut self, mesh: usize) -> Result<usize, String> {
        if let Some(&known) = self.mirrored_meshes.get(&mesh) {
            return Ok(known);
        }
        let own = &self.model.meshes[mesh];
        if own.tangents.is_none() {
            return Ok(mesh);
        }
        let mut copy = own.copy()?;
        for tangent in copy.tangents.iter_mut().flatten() {
            tangent[3] = -tangent[3];
        }
        let index = self.model.push_mesh(copy);
        self.mirrored_meshes.insert(mesh, index);
        Ok(index)
    }

    /// Returns the material for a surface that is scaled by the cube root of `determinant`: another one if it has a bump
    /// map or blends materials with bump maps, and else the same.
    fn material_for_scale(&mut self, material: usize, determinant: f64) -> usize {
        let octaves = (determinant.abs().log2() / 3.0).clamp(-64.0, 64.0) as f32;
        let steps = (octaves * STEPS_PER_OCTAVE).round();
        if steps == 0.0 || steps.is_nan() {
            return material;
        }
        self.scaled_relief(material, steps as i32)
    }

    /// Returns the index in the model of a material for a surface that is larger by this number of steps: a copy if it
    /// has a bump map or blends such a material, and else the material itself.
    fn scaled_relief(&mut self, material: usize, steps: i32) -> usize {
        // The materials of a blend with bump maps are in the set, and so is the blend.
        if !self.bumped.contains(&material) {
            return material;
        }
        let key = (material, steps);
        if let Some(&known) = self.scaled_bumps.get(&key) {
            return known;
        }
        let mut copy = self.model.materials[material].clone();
        if let Surface::Blend { first, second, .. } = &mut copy.surface {
            for part in [first, second] {
                *part = self.scaled_relief(*part as usize, steps) as u32;
            }
        }
        // Slopes fall when the surface grows and the heights stay.
        let scale = (-steps as f32 / STEPS_PER_OCTAVE).exp2();
        copy.maps.normal_scale = (copy.maps.normal_scale * scale).min(100.0);
        let index = self.model.materials.len();
        self.model.materials.push(copy);
        // An instance in a group may be scaled again by an instance of the group.
        self.bumped.insert(index);
        self.scaled_bumps.insert(key, index);
        index
    }
}

/// Returns a size in metres with its absolute value clamped to 1e-6..=1e9 and rounded to [`STEPS_PER_OCTAVE`].
fn rounded(size: f32) -> f32 {
    let octaves = size.abs().clamp(1e-6, 1e9).log2();
    let magnitude = ((octaves * STEPS_PER_OCTAVE).round() / STEPS_PER_OCTAVE).exp2();
    magnitude.copysign(size)
}

/// Returns the mean distances in metres over which u and v grow by 1 on a mesh with this transform, weighted by area.
/// Returns 1 if no triangle has usable texture coordinates. For a large mesh, only some thousand evenly spaced triangles
/// count.
///
/// `right_handed` is the argument of [`ModelMesh::add_right_handed_tangents`] if the mesh gets those tangents, otherwise
/// `None`. The distance along v is negative if their bitangents oppose those of the texture coordinates on most of the
/// mesh. This keeps the relief of bump maps.
pub(crate) fn uv_extent(
    mesh: &ModelMesh,
    transform: &DAffine3,
    right_handed: Option<bool>,
) -> [f32; 2] {
    let Some(uvs) = &mesh.uvs else {
        return [1.0; 2];
    };
    let (mut sums, mut weights) = ([0.0; 2], 0.0);
    // Area on which the bitangent of the texture coordinates is the cross product of normal and tangent, minus the rest.
    let mut right_handed_area = 0.0;
    // A sample of the triangles suffices for a mean.
    let step = (mesh.triangles.len() / 4096).max(1);
    for triangle in mesh.triangles.iter().step_by(step) {
        let corners = triangle.map(|vertex| vertex as usize);
        let [a, b, c] = corners.map(|vertex| {
            let position: Vec3 = mesh.positions[vertex];
            transform.transform_point3(position.as_dvec3())
        });
        let [ta, tb, tc] = corners.map(|vertex| uvs[vertex].map(f64::from));
        let [du, dv] = [0, 1].map(|axis| [tb[axis] - ta[axis], tc[axis] - ta[axis]]);
        let determinant = du[0] * dv[1] - du[1] * dv[0];
        let along = [
            ((b - a) * dv[1] - (c - a) * dv[0]) / determinant,
            ((c - a) * du[0] - (b - a) * du[1]) / determinant,
        ];
        let area = (b - a).cross(c - a).length();
        if along.iter().all(|along| along.is_finite()) && area.is_finite() {
            for (sum, along) in sums.iter_mut().zip(along) {
                *sum += along.length() * area;
            }
            weights += area;
            // In an image v grows downwards, which reverses the orientation.
            right_handed_area -= area.copysign(determinant);
        }
    }
    if weights > 0.0 {
        let [along_u, along_v] = sums.map(|sum| (sum / weights) as f32);
        let is_reversed =
            right_handed.is_some_and(|mirrored| (right_handed_area < 0.0) != mirrored);
        [along_u, if is_reversed { -along_v } else { along_v }]
    } else {
        [1.0; 2]
    }
}
