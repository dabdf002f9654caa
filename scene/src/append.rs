//! Adding the objects of another scene, or of a model, to a scene.

use std::{path::Path, sync::Arc};

use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::{
    Error,
    scene::{Instance, MaterialTexture, Mesh, Scene, Sphere, Surface, Texture, Triangle, has_area},
};

/// Largest relative difference between the lengths of the axes of a transform that keeps spheres round.
const ROUND: f64 = 1e-4;

impl Scene {
    /// Loads a model or a scene file, and adds its objects with their materials, moved by `transform`. Its lights, its
    /// camera and its settings are left out.
    ///
    /// # Errors
    /// Those of [`Scene::load`] and [`Scene::add_scene`]. The scene is then unchanged.
    pub fn add_model(&mut self, path: &Path, transform: DAffine3) -> Result<(), Error> {
        let model = Scene::load(path)?;
        self.add_scene(&model, transform)?;
        self.notes.extend(model.notes);
        self.files.extend(model.files);
        Ok(())
    }

    /// Adds the objects of another scene with their materials, moved by `transform`. Its lights, its camera and its
    /// settings are left out. The materials keep their names, also those that this scene has already.
    ///
    /// `transform` acts on the coordinates of the other scene's file: on positions relative to its origin plus
    /// [`Scene::origin`]. Triangles that have no area afterwards are left out.
    ///
    /// # Errors
    /// The other scene is invalid, see [`Scene::check`]. [`Error::Invalid`] if the transform cannot be inverted, or
    /// would make spheres that are not round. The scene is then unchanged.
    pub fn add_scene(&mut self, other: &Scene, transform: DAffine3) -> Result<(), Error> {
        other.check_materials_exist(other.check_shapes()?)?;
        other.check_looks()?;
        let matrix = transform.matrix3;
        let refused = |problem: &str| Error::Invalid {
            object: "transform".to_owned(),
            problem: format!("{problem}; its axes are {}", Axes(matrix)),
        };
        if !(transform.is_finite() && matrix.inverse().is_finite()) {
            return Err(refused("cannot be inverted"));
        }
        let scale = matrix.determinant().abs().cbrt();
        let is_round = (matrix.transpose() * matrix
            - DMat3::from_diagonal(DVec3::splat(scale * scale)))
        .to_cols_array()
        .iter()
        .all(|part| part.abs() <= ROUND * scale * scale);
        if !other.spheres.is_empty() && !is_round {
            return Err(refused("does not keep spheres round"));
        }
        let base = Base {
            material: self.materials.len() as u32,
            texture: self.textures.len() as u32,
            image: self.images.len() as u32,
            mesh: self.meshes.len() as u32,
        };
        let moved = |point: Vec3| {
            let in_file = point.as_dvec3() + other.origin;
            (transform.transform_point3(in_file) - self.origin).as_vec3()
        };
        let is_mirrored = matrix.determinant() < 0.0;
        let triangles = other.triangles.iter().map(|triangle| {
            let [a, b, c] = triangle.vertices.map(moved);
            Triangle {
                vertices: if is_mirrored { [a, c, b] } else { [a, b, c] },
                material: triangle.material + base.material,
            }
        });
        let triangles = triangles.filter(|triangle| has_area(&triangle.vertices));
        Arc::make_mut(&mut self.triangles).extend(triangles);
        let spheres = other.spheres.iter().map(|sphere| Sphere {
            center: moved(sphere.center),
            radius: (f64::from(sphere.radius) * scale) as f32,
            material: sphere.material + base.material,
        });
        Arc::make_mut(&mut self.spheres).extend(spheres);
        let instances = other.instances.iter().map(|instance| Instance {
            mesh: instance.mesh + base.mesh,
            axes: instance
                .axes
                .map(|axis| (matrix * axis.as_dvec3()).as_vec3()),
            position: moved(instance.position),
            material: instance.material.map(|material| material + base.material),
        });
        Arc::make_mut(&mut self.instances).extend(instances);
        let meshes = other.meshes.iter().map(|mesh| Mesh {
            materials: mesh
                .materials
                .iter()
                .map(|material| material + base.material)
                .collect(),
            ..mesh.clone()
        });
        Arc::make_mut(&mut self.meshes).extend(meshes);
        self.add_looks(other, &base);
        Ok(())
    }

    /// Adds the material with this index in another scene, by [`Scene::add_material`], with its medium, priority,
    /// textures and their images. Returns its index, or `None` if the other scene has no such material, or it is a blend of
    /// others.
    pub fn copy_material(&mut self, name: &str, other: &Scene, index: u32) -> Option<u32> {
        let surface = *other.materials.get(index as usize)?;
        if surface.blended().is_some() {
            return None;
        }
        let own = self.add_material(name, surface);
        if let Some(mut maps) = other.maps.get(&index).cloned() {
            for map in maps.textures.values_mut() {
                let texture = *other.textures.get(map.texture as usize)?;
                let image = other.images.get(texture.image as usize)?.clone();
                let image = self.add_image(image);
                map.texture = self.textures.len() as u32;
                self.textures.push(Texture { image, ..texture });
            }
            self.maps.insert(own, maps);
        }
        if let Some(medium) = other.media.get(&index) {
            self.media.insert(own, *medium);
        }
        if let Some(&priority) = other.priorities.get(&index) {
            self.priorities.insert(own, priority);
        }
        Some(own)
    }

    /// Adds the materials, media, priorities, textures and images of another scene.
    fn add_looks(&mut self, other: &Scene, base: &Base) {
        let surfaces = other.materials.iter().map(|&surface| match surface {
            Surface::Blend {
                first,
                second,
                weight,
                by_side,
                emission,
                both_sides,
            } => Surface::Blend {
                first: first + base.material,
                second: second + base.material,
                weight,
                by_side,
                emission,
                both_sides,
            },
            other => other,
        });
        self.materials.extend(surfaces);
        self.material_names
            .resize(base.material as usize, String::new());
        self.material_names.extend(other.material_names.clone());
        for (material, maps) in &other.maps {
            let mut maps = maps.clone();
            for map in maps.textures.values_mut() {
                *map = MaterialTexture {
                    texture: map.texture + base.texture,
                    ..*map
                };
            }
            self.maps.insert(material + base.material, maps);
        }
        let media = other.media.iter();
        self.media
            .extend(media.map(|(material, medium)| (material + base.material, *medium)));
        let priorities = other.priorities.iter();
        self.priorities
            .extend(priorities.map(|(material, priority)| (material + base.material, *priority)));
        let textures = other.textures.iter().map(|texture| Texture {
            image: texture.image + base.image,
            ..*texture
        });
        self.textures.extend(textures);
        self.images.extend(other.images.iter().cloned());
    }
}

/// Indices in the scene of the first material, texture, image and mesh that another scene adds.
struct Base {
    material: u32,
    texture: u32,
    image: u32,
    mesh: u32,
}

/// The axes of a transform, for messages.
struct Axes(DMat3);

impl std::fmt::Display for Axes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DMat3 {
            x_axis,
            y_axis,
            z_axis,
        } = self.0;
        write!(f, "{x_axis}, {y_axis} and {z_axis}")
    }
}
