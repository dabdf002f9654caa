//! Meshes that stand somewhere as a plane: scaled to nothing along one axis, as shadows and labels are.
//!
//! Such a place has no inverse, by which rays would be brought to the mesh; so the mesh is brought to the place.

use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::model::{Model, ModelInstance, ModelMesh, room};

/// What a place may scale along one axis more than along another: no more than what `f32` tells apart.
const FLATTEST: f64 = 1e9;

/// Whether something that is placed so can be seen: it is not scaled to a line or a point.
pub(super) fn is_seen(place: &DAffine3) -> bool {
    let DMat3 {
        x_axis,
        y_axis,
        z_axis,
    } = place.matrix3;
    let most = [x_axis, y_axis, z_axis]
        .map(DVec3::length)
        .into_iter()
        .fold(0.0, f64::max);
    let [x, y, z] = [x_axis, y_axis, z_axis].map(|axis| axis / most);
    [x.cross(y), y.cross(z), z.cross(x)]
        .iter()
        .any(|area| area.length() > 1.0 / FLATTEST)
}

fn is_flat(place: &DAffine3) -> bool {
    let most = |matrix: DMat3| {
        let axes = [matrix.x_axis, matrix.y_axis, matrix.z_axis];
        axes.map(|axis| axis.abs().max_element())
            .into_iter()
            .fold(0.0, f64::max)
    };
    let inverse = place.matrix3.inverse();
    !inverse.is_finite() || most(place.matrix3) * most(inverse) > FLATTEST
}

impl Model {
    /// Gives each instance that is flat a mesh of its own, that lies where it is. Its triangles face as they do, whatever
    /// its normals were.
    pub(super) fn lay_flat(&mut self) -> Result<(), String> {
        for number in 0..self.instances.len() {
            let ModelInstance {
                mesh, transform, ..
            } = self.instances[number];
            if !is_flat(&transform) {
                continue;
            }
            let laid = self.meshes[mesh].laid(&transform)?;
            let mesh = self.push_mesh(laid);
            let instance = &mut self.instances[number];
            instance.mesh = mesh;
            instance.transform = DAffine3::IDENTITY;
        }
        Ok(())
    }
}

impl ModelMesh {
    /// A mesh that looks as this one does in a place.
    fn laid(&self, place: &DAffine3) -> Result<ModelMesh, String> {
        fn copied<T: Copy>(list: &[T]) -> Result<Vec<T>, String> {
            let mut copy = room(list.len())?;
            copy.extend_from_slice(list);
            Ok(copy)
        }
        let there = |position: &Vec3| place.transform_point3(position.as_dvec3()).as_vec3();
        let mut positions = room(self.positions.len())?;
        positions.extend(self.positions.iter().map(there));
        Ok(ModelMesh {
            positions,
            triangles: copied(&self.triangles)?,
            uvs: self.uvs.as_deref().map(copied).transpose()?,
            second_uvs: self.second_uvs.as_deref().map(copied).transpose()?,
            ..ModelMesh::default()
        })
    }
}
