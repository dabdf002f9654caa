//! Meshes that a program adds to a scene, and their vertex colors.

use std::sync::Arc;

use glam::{Affine3A, Vec3};

use crate::{
    Error,
    model::{ModelMesh, vertex_colors::color_image},
    scene::{Encoding, Mesh, Parameter, Scene, Surface, Texture, has_area},
};

/// A triangle mesh to be added to a scene by [`Scene::add_mesh`]. Positions and triangles are required. Every other
/// list is empty, or has one entry per vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewMesh {
    /// Position of each vertex in metres, before `transform`.
    pub positions: Vec<Vec3>,
    /// Indices into `positions` of each triangle's vertices, counter-clockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
    /// Shading normal of each vertex, of any length above 0. Empty for flat shading.
    pub normals: Vec<Vec3>,
    /// Texture coordinates of each vertex; (0, 0) is the upper left corner of an image. Excludes `colors`.
    pub uvs: Vec<[f32; 2]>,
    /// Color of each vertex in linear sRGB, which multiplies that of the material and is interpolated over triangles.
    /// They need no texture, and the material must have none.
    pub colors: Vec<Vec3>,
    /// Transform from the coordinates of the mesh to world space; the identity by default.
    pub transform: Affine3A,
}

impl Scene {
    /// Adds a mesh of this material, and an instance that places it by its transform. Returns the index of the mesh,
    /// for further instances by [`Scene::add_instance`].
    ///
    /// Triangles without an area are left out. Vertex colors belong to a copy of the material, which a change of the
    /// material does not affect. Its index is in [`Mesh::materials`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if the material does not exist, an index or a number of the mesh is wrong, a list has the
    /// wrong length, or no triangle is left. The scene is then unchanged.
    pub fn add_mesh(&mut self, mesh: NewMesh, material: u32) -> Result<u32, Error> {
        let object = format!("meshes[{}]", self.meshes.len());
        let invalid = |problem: String| Error::Invalid {
            object: object.clone(),
            problem,
        };
        let surface = self.existing_material(&object, material)?;
        let NewMesh {
            positions,
            triangles,
            normals,
            uvs,
            colors,
            transform,
        } = mesh;
        if !colors.is_empty() && colors.len() != positions.len() {
            return Err(invalid(format!(
                "has {} colors, expected {}, one per vertex, or none",
                colors.len(),
                positions.len()
            )));
        }
        let is_color = |color: &Vec3| color.is_finite() && color.min_element() >= 0.0;
        if let Some(vertex) = colors.iter().position(|color| !is_color(color)) {
            return Err(invalid(format!(
                "colors[{vertex}] is {}, expected finite numbers of 0 or more",
                colors[vertex]
            )));
        }
        let is_direction = |normal: &Vec3| normal.length_squared().is_normal();
        if let Some(vertex) = normals.iter().position(|normal| !is_direction(normal)) {
            return Err(invalid(format!(
                "normals[{vertex}] is {}, expected a finite vector other than 0",
                normals[vertex]
            )));
        }
        let normals = normals.into_iter().map(Vec3::normalize).collect();
        let given = triangles.len();
        let mut checked = Mesh {
            positions,
            triangles,
            materials: vec![material],
            normals,
            uvs,
            ..Mesh::default()
        };
        let positions = &checked.positions;
        let kept = |triangle: &[u32; 3]| {
            let [a, b, c] = triangle.map(|vertex| positions.get(vertex as usize));
            match (a, b, c) {
                (Some(&a), Some(&b), Some(&c)) => !is_finite_without_area(&[a, b, c]),
                // The check names it.
                _ => true,
            }
        };
        checked.triangles.retain(kept);
        if given > 0 && checked.triangles.is_empty() {
            return Err(invalid("has no triangle with an area".to_owned()));
        }
        if let Some(problem) = checked.problem() {
            return Err(invalid(problem));
        }
        if !colors.is_empty() {
            let colored = self.with_colors(&checked, &colors, material, surface);
            checked = colored.map_err(invalid)?;
        }
        Arc::make_mut(&mut self.meshes).push(checked);
        let index = self.meshes.len() as u32 - 1;
        self.add_instance(index, transform, None);
        Ok(index)
    }

    /// Returns a mesh whose texture coordinates point into an image of its vertex colors, and adds the image with a
    /// copy of the material that it multiplies. Fails with the reason if the mesh or the material has a texture
    /// already, or if there are too many triangles.
    fn with_colors(
        &mut self,
        mesh: &Mesh,
        colors: &[Vec3],
        material: u32,
        surface: Surface,
    ) -> Result<Mesh, String> {
        if !mesh.uvs.is_empty() {
            return Err("has colors and uvs; give it one of them".to_owned());
        }
        let maps = self.maps.get(&material).cloned().unwrap_or_default();
        if !maps.textures.is_empty() {
            return Err("has colors, and its material has a texture; choose another".to_owned());
        }
        let mut model = ModelMesh {
            positions: mesh.positions.clone(),
            normals: (!mesh.normals.is_empty()).then(|| mesh.normals.clone()),
            colors: Some(colors.iter().map(|color| color.extend(1.0)).collect()),
            triangles: mesh.triangles.clone(),
            ..ModelMesh::default()
        };
        let image = color_image(&mut model)?;
        let image = self.add_image(image);
        let name = match self.material_names.get(material as usize) {
            Some(name) if !name.is_empty() => {
                format!("{name} (colors of mesh {})", self.meshes.len())
            }
            _ => String::new(),
        };
        let copy = self.add_material(&name, surface);
        self.maps.insert(copy, maps);
        if let Some(medium) = self.media.get(&material).copied() {
            self.media.insert(copy, medium);
        }
        if let Some(&priority) = self.priorities.get(&material) {
            self.priorities.insert(copy, priority);
        }
        let parameter = match surface {
            Surface::Emissive {
                albedo: Vec3::ZERO, ..
            } => Parameter::Emission,
            _ => Parameter::Color,
        };
        self.set_texture(copy, parameter, Texture::new(image, Encoding::Linear));
        Ok(Mesh {
            positions: model.positions,
            triangles: model.triangles,
            materials: vec![copy],
            normals: model.normals.unwrap_or_default(),
            uvs: model.uvs.unwrap_or_default(),
            ..Mesh::default()
        })
    }
}

/// Returns whether all corners of a triangle are finite, but it has no area.
fn is_finite_without_area(corners: &[Vec3; 3]) -> bool {
    corners.iter().all(|corner| corner.is_finite()) && !has_area(corners)
}
