//! The check of triangles, spheres, meshes and instances.

use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use super::{MAX_COORDINATE, invalid, is_position, number, position, unexpected};
use crate::{
    Error,
    limits::{MAX_LENGTH, MAX_PRIMITIVES, MIN_LENGTH},
    scene::{Instance, Mesh, Scene, Sphere, Triangle, has_area},
};

/// The use of a material: its index, and what refers to it.
pub type MaterialUse = Option<(u32, String)>;

/// Largest distance from 1 of the length of a unit vector. Files of other programs have rounded ones.
const UNIT_TOLERANCE: f32 = 0.01;

impl Scene {
    /// Checks triangles, spheres, meshes and instances, except that their materials exist. Returns the largest index of
    /// a material among them with the name of an object that has it; `None` without objects.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first object that is wrong.
    pub fn check_shapes(&self) -> Result<MaterialUse, Error> {
        let counts = [
            self.triangles.len(),
            self.spheres.len(),
            self.instances.len(),
        ];
        let in_meshes = self.meshes.iter().map(|mesh| mesh.triangles.len());
        let count = counts.into_iter().chain(in_meshes).sum::<usize>();
        if counts == [0; 3] {
            let problem = "has no objects; add a triangle, a sphere or an instance of a mesh";
            return Err(invalid("scene", problem.to_owned()));
        }
        if count > MAX_PRIMITIVES {
            let problem = format!(
                "has {count} triangles, spheres and instances, expected at most {MAX_PRIMITIVES}"
            );
            return Err(invalid("scene", problem));
        }
        first_problem("triangles", &self.triangles, Triangle::problem)?;
        first_problem("spheres", &self.spheres, Sphere::problem)?;
        first_problem("meshes", &self.meshes, Mesh::problem)?;
        let reaches: Vec<DVec3> = self.meshes.par_iter().map(Mesh::reach).collect();
        first_problem("instances", &self.instances, |instance| {
            self.instance_problem(instance, &reaches)
        })?;
        Ok(self.largest_material())
    }

    /// Checks that the material with the largest index exists, as [`Scene::check_shapes`] returns it.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the object that has the material.
    pub fn check_materials_exist(&self, used: MaterialUse) -> Result<(), Error> {
        let count = self.materials.len();
        match used {
            Some((material, object)) if material as usize >= count => {
                let problem = format!(
                    "material is {material}, which does not exist; there are {count}, counted from 0"
                );
                Err(invalid(object, problem))
            }
            _ => Ok(()),
        }
    }

    /// Returns the largest index of a material and the name of an object that has it.
    fn largest_material(&self) -> MaterialUse {
        fn largest<T: Sync>(
            list: &str,
            items: &[T],
            material: impl Fn(&T) -> Option<u32> + Sync,
        ) -> MaterialUse {
            let used = items.par_iter().enumerate();
            let used = used.filter_map(|(number, item)| Some((material(item)?, number)));
            let (material, number) = used.max()?;
            Some((material, format!("{list}[{number}]")))
        }
        let all = [
            largest("triangles", &self.triangles, |item| Some(item.material)),
            largest("spheres", &self.spheres, |item| Some(item.material)),
            largest("instances", &self.instances, |item| item.material),
            largest("meshes", &self.meshes, |mesh| {
                mesh.materials.iter().copied().max()
            }),
        ];
        all.into_iter().flatten().max()
    }

    /// Returns what is wrong with an instance. `reaches` are those of the meshes.
    fn instance_problem(&self, instance: &Instance, reaches: &[DVec3]) -> Option<String> {
        let count = self.meshes.len();
        let Some(&reach) = reaches.get(instance.mesh as usize) else {
            return Some(format!(
                "mesh is {}, which does not exist; there are {count}, counted from 0",
                instance.mesh
            ));
        };
        if let Err(problem) = position("position", instance.position) {
            return Some(problem);
        }
        let [x, y, z] = instance.axes;
        let matrix = DMat3::from_cols(x.as_dvec3(), y.as_dvec3(), z.as_dvec3());
        let inverse = matrix.inverse();
        let fits = |matrix: DMat3| matrix.to_cols_array().iter().all(|part| part.abs() < 1e30);
        if !(fits(matrix) && fits(inverse)) {
            return Some(format!(
                "axes are {x}, {y} and {z}, expected finite vectors that span space"
            ));
        }
        // A bound first, because most instances are far from the limit.
        let bound = |row: usize| matrix.row(row).abs().dot(reach);
        let far = DVec3::new(bound(0), bound(1), bound(2)) + instance.position.as_dvec3().abs();
        if far.max_element() <= f64::from(MAX_COORDINATE) {
            return None;
        }
        let mesh = &self.meshes[instance.mesh as usize];
        let in_world = |at: &Vec3| matrix * at.as_dvec3() + instance.position.as_dvec3();
        let corners = mesh.triangles.as_flattened().iter();
        let mut corners = corners.map(|&corner| in_world(&mesh.positions[corner as usize]));
        let outside = corners.find(|at| at.abs().max_element() > f64::from(MAX_COORDINATE))?;
        let expected = "coordinates from -1e8 to 1e8";
        Some(unexpected("a vertex", outside, expected))
    }
}

/// Returns the error of the first item of a list that has a problem.
fn first_problem<T: Sync>(
    list: &str,
    items: &[T],
    problem: impl Fn(&T) -> Option<String> + Sync,
) -> Result<(), Error> {
    let found = items
        .par_iter()
        .enumerate()
        .find_map_first(|(number, item)| {
            let problem = problem(item)?;
            Some(invalid(format!("{list}[{number}]"), problem))
        });
    found.map_or(Ok(()), Err)
}

impl Triangle {
    fn problem(&self) -> Option<String> {
        if self.vertices.iter().all(|&vertex| is_position(vertex)) && has_area(&self.vertices) {
            return None;
        }
        let [a, b, c] = self.vertices;
        Some(format!(
            "vertices are {a}, {b} and {c}, expected coordinates from -1e8 to 1e8 and an area above 0"
        ))
    }
}

impl Sphere {
    fn problem(&self) -> Option<String> {
        let radii = MIN_LENGTH as f32..=MAX_LENGTH as f32;
        let checked = position("center", self.center).and(number("radius", self.radius, radii));
        checked.err()
    }
}

impl Mesh {
    /// Returns what is wrong with the mesh, except that its materials may not exist; `None` if nothing is.
    pub(crate) fn problem(&self) -> Option<String> {
        let (corners, count) = (self.positions.len(), self.triangles.len());
        if count == 0 {
            return Some("has no triangles; remove it and its instances".to_owned());
        }
        if self.materials.len() != 1 && self.materials.len() != count {
            let found = self.materials.len();
            return Some(format!(
                "has {found} materials, expected 1 or {count}, one per triangle"
            ));
        }
        let lists = [
            ("normals", self.normals.len()),
            ("uvs", self.uvs.len()),
            ("second_uvs", self.second_uvs.len()),
            ("tangents", self.tangents.len()),
        ];
        let wrong = lists
            .into_iter()
            .find(|&(_, found)| found != 0 && found != corners);
        if let Some((list, found)) = wrong {
            return Some(format!(
                "has {found} {list}, expected {corners}, one per vertex, or none"
            ));
        }
        let bad = |at: &Vec3| !is_position(*at);
        if let Some(vertex) = self.positions.par_iter().position_first(bad) {
            let expected = "coordinates from -1e8 to 1e8";
            let field = format!("positions[{vertex}]");
            return Some(unexpected(&field, self.positions[vertex], expected));
        }
        let is_unit = |length: f32| (length - 1.0).abs() <= UNIT_TOLERANCE;
        let bad = |normal: &Vec3| !is_unit(normal.length());
        if let Some(vertex) = self.normals.par_iter().position_first(bad) {
            let field = format!("normals[{vertex}]");
            return Some(unexpected(&field, self.normals[vertex], "a unit vector"));
        }
        for (list, uvs) in [("uvs", &self.uvs), ("second_uvs", &self.second_uvs)] {
            let bad = |uv: &[f32; 2]| !uv.iter().all(|part| part.is_finite());
            if let Some(vertex) = uvs.par_iter().position_first(bad) {
                let [u, v] = uvs[vertex];
                let field = format!("{list}[{vertex}]");
                let value = format_args!("[{u}, {v}]");
                return Some(unexpected(&field, value, "finite numbers"));
            }
        }
        let bad = |&[x, y, z, sign]: &[f32; 4]| {
            !(is_unit(Vec3::new(x, y, z).length()) && sign.abs() == 1.0)
        };
        if let Some(vertex) = self.tangents.par_iter().position_first(bad) {
            let [x, y, z, sign] = self.tangents[vertex];
            let field = format!("tangents[{vertex}]");
            let value = format_args!("[{x}, {y}, {z}, {sign}]");
            return Some(unexpected(&field, value, "a unit vector, and 1 or -1"));
        }
        let problem = |(number, triangle): (usize, &[u32; 3])| {
            let missing = triangle.iter().find(|&&corner| corner as usize >= corners);
            if let Some(corner) = missing {
                return Some(format!(
                    "triangles[{number}]: vertex {corner} does not exist; there are {corners}, counted from 0"
                ));
            }
            let vertices = triangle.map(|corner| self.positions[corner as usize]);
            (!has_area(&vertices)).then(|| format!("triangles[{number}]: has no area; remove it"))
        };
        let numbered = self.triangles.par_iter().enumerate();
        numbered.find_map_first(problem)
    }

    /// Returns the largest absolute x, y and z coordinate of the vertices.
    fn reach(&self) -> DVec3 {
        let positions = self.positions.iter();
        let reach = positions.fold(Vec3::ZERO, |reach, at| reach.max(at.abs()));
        reach.as_dvec3()
    }
}
