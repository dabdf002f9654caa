//! Triangles that a program adds to a scene.

use std::sync::Arc;

use glam::Vec3;

use crate::{
    Error,
    limits::{MAX_LENGTH, MAX_PRIMITIVES},
    memory,
    scene::{Scene, Triangle, has_area},
};

impl Scene {
    /// Adds triangles with flat normals. `positions` are vertices in the coordinates of the file in metres, from -1e8 to
    /// 1e8, and `triangles` are indices into them, counter-clockwise seen from the front. `material` is an entry of
    /// [`Scene::material_names`].
    ///
    /// Triangles without an area are left out. Returns their number.
    ///
    /// # Errors
    /// [`Error::Setting`] if the material does not exist, if a position or an index is out of range, or if there are
    /// too many triangles. The scene is then unchanged.
    pub fn add_triangles(
        &mut self,
        positions: &[Vec3],
        triangles: &[[u32; 3]],
        material: &str,
    ) -> Result<usize, Error> {
        let wrong = |problem: String| Error::Setting {
            setting: format!("mesh of {} triangles", triangles.len()),
            problem,
        };
        let mut names = self.material_names.iter();
        let material = names.position(|name| name == material).ok_or_else(|| {
            let names = self.material_names.join("\", \"");
            wrong(format!(
                "the scene has no material \"{material}\"; it has \"{names}\""
            ))
        })? as u32;
        let is_valid = |position: &Vec3| f64::from(position.abs().max_element()) <= MAX_LENGTH;
        let is_outside = |position: &Vec3| !(position.is_finite() && is_valid(position));
        if let Some(number) = positions.iter().position(is_outside) {
            let position = positions[number];
            return Err(wrong(format!(
                "vertex {number} is {position}, expected coordinates from -1e8 to 1e8 metres"
            )));
        }
        let count = positions.len();
        let is_unknown = |&index: &u32| index as usize >= count;
        if let Some(index) = triangles.as_flattened().iter().copied().find(is_unknown) {
            return Err(wrong(format!(
                "vertex {index} does not exist; there are {count}, counted from 0"
            )));
        }
        let in_meshes: usize = self.meshes.iter().map(|mesh| mesh.triangles.len()).sum();
        let others = in_meshes + self.triangles.len() + self.spheres.len() + self.instances.len();
        if others.saturating_add(triangles.len()) > MAX_PRIMITIVES {
            return Err(wrong(format!(
                "a scene has at most {MAX_PRIMITIVES} triangles, spheres and instances"
            )));
        }
        let added = Arc::make_mut(&mut self.triangles);
        let before = added.len();
        memory::reserve_more(added, triangles.len()).map_err(wrong)?;
        let origin = self.origin;
        let relative = |vertex: u32| (positions[vertex as usize].as_dvec3() - origin).as_vec3();
        let in_world = triangles.iter().map(|triangle| Triangle {
            vertices: triangle.map(relative),
            material,
        });
        added.extend(in_world.filter(|triangle| has_area(&triangle.vertices)));
        Ok(before + triangles.len() - added.len())
    }
}
