//! Instances that are scaled to 0, or almost 0, along one axis, as models do for shadows and labels.
//!
//! Their transform has no inverse, which instancing needs to transform rays. So their meshes are transformed instead.

use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::{Model, ModelInstance, ModelMesh};
use crate::{memory::vec_with_capacity, origin::origin_of_points};

/// Largest ratio between a transform's scales along its axes. Beyond it the smallest scale counts as 0, because `f32`
/// cannot resolve it.
const MAX_SCALE_RATIO: f64 = 1e9;

/// Returns whether an object with this transform is visible: it is, unless the transform scales it to a line or a
/// point. The readers of glTF, Mitsuba and pbrt files leave out invisible instances.
pub(crate) fn is_visible(place: &DAffine3) -> bool {
    let DMat3 {
        x_axis,
        y_axis,
        z_axis,
    } = place.matrix3;
    let max_length = [x_axis, y_axis, z_axis]
        .map(DVec3::length)
        .into_iter()
        .fold(0.0, f64::max);
    let [x, y, z] = [x_axis, y_axis, z_axis].map(|axis| axis / max_length);
    [x.cross(y), y.cross(z), z.cross(x)]
        .iter()
        .any(|area| area.length() > 1.0 / MAX_SCALE_RATIO)
}

/// Returns whether a transform scales to 0, or almost 0, along an axis: it has no inverse, or one that is too imprecise
/// in `f32`.
fn is_flat(place: &DAffine3) -> bool {
    let max_entry = |matrix: DMat3| {
        let axes = [matrix.x_axis, matrix.y_axis, matrix.z_axis];
        axes.map(|axis| axis.abs().max_element())
            .into_iter()
            .fold(0.0, f64::max)
    };
    let inverse = place.matrix3.inverse();
    !inverse.is_finite() || max_entry(place.matrix3) * max_entry(inverse) > MAX_SCALE_RATIO
}

impl Model {
    /// Replaces the mesh of each instance whose transform scales to 0, or almost 0, along an axis by its own copy in
    /// model coordinates, and its transform by the identity or, far from 0, by a translation.
    ///
    /// The copy keeps only triangles, their materials and texture coordinates; its shading is flat. Fails if memory does not suffice;
    /// then some instances may be replaced already.
    pub(crate) fn bake_flat_instances(&mut self) -> Result<(), String> {
        for number in 0..self.instances.len() {
            let ModelInstance {
                mesh, transform, ..
            } = self.instances[number];
            if !is_flat(&transform) {
                continue;
            }
            let positions = &self.meshes[mesh].positions;
            let origin = origin_of_points(positions.len(), |vertex| {
                transform.transform_point3(positions[vertex].as_dvec3())
            });
            let place = DAffine3 {
                translation: transform.translation - origin,
                ..transform
            };
            let transformed = self.meshes[mesh].transformed(&place)?;
            let mesh = self.push_mesh(transformed);
            let instance = &mut self.instances[number];
            instance.mesh = mesh;
            instance.transform = DAffine3::from_translation(origin);
        }
        Ok(())
    }
}

impl ModelMesh {
    /// Returns a copy of the mesh with transformed positions. It keeps only triangles, their materials and texture
    /// coordinates. Fails if memory does not suffice.
    fn transformed(&self, place: &DAffine3) -> Result<ModelMesh, String> {
        fn copied<T: Copy>(list: &[T]) -> Result<Vec<T>, String> {
            let mut copy = vec_with_capacity(list.len())?;
            copy.extend_from_slice(list);
            Ok(copy)
        }
        let there = |position: &Vec3| place.transform_point3(position.as_dvec3()).as_vec3();
        let mut positions = vec_with_capacity(self.positions.len())?;
        positions.extend(self.positions.iter().map(there));
        Ok(ModelMesh {
            positions,
            triangles: copied(&self.triangles)?,
            triangle_materials: copied(&self.triangle_materials)?,
            uvs: self.uvs.as_deref().map(copied).transpose()?,
            second_uvs: self.second_uvs.as_deref().map(copied).transpose()?,
            ..ModelMesh::default()
        })
    }
}
