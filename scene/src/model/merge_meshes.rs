//! Merging of meshes that a model uses only once into one mesh.
//!
//! The bounding boxes of separate meshes overlap, so that a ray would traverse one BVH after the other. One BVH over
//! all of their triangles is traversed once. Meshes that become separate triangles of the scene share a BVH anyway and
//! are not merged. Emissive meshes are not merged, because every triangle of an emissive instance counts as a light.
//! Small meshes far from 0, or from the origin that suits most meshes, are not merged, because `f32` coordinates of the
//! model are too imprecise.

use std::{collections::BTreeMap, mem::take};

use glam::{DAffine3, DVec3, Vec3};

use super::{Model, ModelInstance, ModelMaterial, ModelMesh};
use crate::{memory::vec_with_capacity, origin::Parts};

/// Smallest number of meshes that are merged. They must have the same set of vertex attributes.
const MIN_MESHES: usize = 4;
/// Largest number of vertices, and of triangles, of a merged mesh. Their indices have 32 bits.
const MAX_ELEMENTS: usize = 1 << 31;
/// Largest ratio of a mesh's distance from the origin of the merged mesh to its size at which it is merged. Farther away, `f32`
/// coordinates of the model are too imprecise for it.
const MAX_RELATIVE_DISTANCE: f64 = 4096.0;

/// The set of vertex attributes of a mesh: whether it has normals, tangents, texture coordinates, and a second set of
/// texture coordinates.
type Attributes = (bool, bool, bool, bool);

impl Model {
    /// Merges meshes with one instance each into one mesh, whose transform is a translation at most, separately for each set of vertex
    /// attributes that at least four of them have. Their materials may differ.
    ///
    /// The documentation of the module names the meshes that are never merged. Fails if memory does not suffice.
    pub(crate) fn merge_meshes(&mut self) -> Result<(), String> {
        let mut parts = Parts::default();
        self.add_parts(&DAffine3::IDENTITY, &mut parts);
        let origin = parts.origin();
        let mut places = vec![0u32; self.meshes.len()];
        for instance in &self.instances {
            places[instance.mesh] += 1;
        }
        let mut groups: BTreeMap<Attributes, Vec<usize>> = BTreeMap::new();
        for (number, instance) in self.instances.iter().enumerate() {
            let mesh = &self.meshes[instance.mesh];
            let material = &self.materials[instance.material];
            if places[instance.mesh] == 1
                && self.stays_mesh(mesh, material)
                && is_precise(mesh, instance, origin)
            {
                let attributes = self.attributes(mesh, material);
                groups.entry(attributes).or_default().push(number);
            }
        }
        let mut merged = vec![false; self.instances.len()];
        let mut meshes = Vec::new();
        for numbers in groups.into_values() {
            if numbers.len() < MIN_MESHES {
                continue;
            }
            let total = |count: fn(&ModelMesh) -> usize| -> usize {
                let meshes = numbers
                    .iter()
                    .map(|&number| &self.meshes[self.instances[number].mesh]);
                meshes.map(count).fold(0, usize::saturating_add)
            };
            // Computing tangents may duplicate vertices.
            let (vertices, triangles) = (
                total(|mesh| mesh.positions.len()),
                total(|mesh| mesh.triangles.len()),
            );
            if vertices.max(triangles) > MAX_ELEMENTS / 2 {
                continue;
            }
            meshes.push(self.merge(&numbers, origin, vertices, triangles)?);
            numbers.iter().for_each(|&number| merged[number] = true);
        }
        let mut left = merged.iter();
        self.instances
            .retain(|_| left.next().is_some_and(|merged| !merged));
        for mesh in meshes {
            let material = mesh.triangle_materials[0] as usize;
            let mesh = self.push_mesh(mesh);
            self.instances.push(ModelInstance {
                mesh,
                material,
                transform: DAffine3::from_translation(origin),
            });
        }
        Ok(())
    }

    /// Merges the meshes of the instances with the indices `numbers` into one mesh, and leaves those meshes empty. The
    /// mesh is in model coordinates relative to `origin`. `vertices` and `triangles` are the total counts.
    ///
    /// Fails if memory does not suffice.
    fn merge(
        &mut self,
        numbers: &[usize],
        origin: DVec3,
        vertices: usize,
        triangles: usize,
    ) -> Result<ModelMesh, String> {
        let mut all = ModelMesh {
            positions: vec_with_capacity(vertices)?,
            triangles: vec_with_capacity(triangles)?,
            triangle_materials: vec_with_capacity(triangles)?,
            ..ModelMesh::default()
        };
        for &number in numbers {
            let ModelInstance {
                mesh,
                material,
                transform,
            } = self.instances[number];
            let transform = DAffine3 {
                translation: transform.translation - origin,
                ..transform
            };
            let mut mesh = take(&mut self.meshes[mesh]);
            let material_of_mesh = &self.materials[material];
            mesh.add_missing_attributes(
                self.needs_uvs(material_of_mesh),
                self.needs_tangents(material_of_mesh),
            )?;
            let first = all.positions.len() as u32;
            let mirrors = transform.matrix3.determinant() < 0.0;
            let turn = transform.matrix3.inverse().transpose();
            let place =
                |&position: &Vec3| transform.transform_point3(position.as_dvec3()).as_vec3();
            all.positions.extend(mesh.positions.iter().map(place));
            for triangle in &mesh.triangles {
                let [a, b, c] = triangle.map(|vertex| first + vertex);
                all.triangles
                    .push(if mirrors { [a, c, b] } else { [a, b, c] });
            }
            if mesh.triangle_materials.is_empty() {
                let own = std::iter::repeat_n(material as u32, mesh.triangles.len());
                all.triangle_materials.extend(own);
            } else {
                all.triangle_materials.append(&mut mesh.triangle_materials);
            }
            let along = |moved: DVec3, else_was: Vec3| moved.normalize_or(else_was.as_dvec3());
            if let Some(normals) = mesh.normals {
                let turned = |&normal: &Vec3| along(turn * normal.as_dvec3(), normal).as_vec3();
                let all = all.normals.get_or_insert_default();
                all.extend(normals.iter().map(turned));
            }
            if let Some(tangents) = mesh.tangents {
                let all = all.tangents.get_or_insert_default();
                all.extend(tangents.iter().map(|tangent| {
                    let was = Vec3::from_slice(tangent);
                    let moved = along(transform.matrix3 * was.as_dvec3(), was).as_vec3();
                    let side = if mirrors { -tangent[3] } else { tangent[3] };
                    moved.extend(side).to_array()
                }));
            }
            if let Some(uvs) = mesh.uvs {
                all.uvs.get_or_insert_default().extend(uvs);
            }
            if let Some(uvs) = mesh.second_uvs {
                all.second_uvs.get_or_insert_default().extend(uvs);
            }
        }
        Ok(all)
    }

    /// Returns whether a mesh with one instance stays a mesh in the scene, instead of becoming separate triangles, and
    /// emits no light. `material` is that of its instance.
    fn stays_mesh(&self, mesh: &ModelMesh, material: &ModelMaterial) -> bool {
        let plain = mesh.is_flat() && !self.needs_uvs(material);
        !plain && material.surface.radiance() == Vec3::ZERO && !mesh.triangles.is_empty()
    }

    /// Returns the set of vertex attributes that a mesh will have after `add_missing_attributes`: with those that its
    /// material needs, and without tangents that it does not need.
    fn attributes(&self, mesh: &ModelMesh, material: &ModelMaterial) -> Attributes {
        let needs_tangents = self.needs_tangents(material);
        (
            mesh.normals.is_some(),
            needs_tangents && (mesh.tangents.is_some() || mesh.normals.is_some()),
            mesh.uvs.is_some() || self.needs_uvs(material),
            mesh.second_uvs.is_some(),
        )
    }

    /// Returns whether the surfaces of a material need texture coordinates: it has a texture, or it is anisotropic, or
    /// it blends such a material.
    pub(crate) fn needs_uvs(&self, material: &ModelMaterial) -> bool {
        self.uses(material, |material| {
            !material.maps.textures.is_empty() || material.surface.is_anisotropic()
        })
    }

    /// Returns whether the surfaces of a material need tangents: it has a normal map, or it is anisotropic, or it
    /// blends such a material.
    pub(crate) fn needs_tangents(&self, material: &ModelMaterial) -> bool {
        self.uses(material, |material| {
            material.maps.need_tangents() || material.surface.is_anisotropic()
        })
    }

    /// Returns whether a material has a normal map, or blends such a material.
    pub(crate) fn has_normal_map(&self, material: &ModelMaterial) -> bool {
        self.uses(material, |material| material.maps.has_normal_map())
    }

    /// Returns whether `test` holds for a material, or for one that it blends.
    fn uses(&self, material: &ModelMaterial, test: fn(&ModelMaterial) -> bool) -> bool {
        let parts = material.surface.blended().into_iter().flatten();
        let mut parts = parts.filter_map(|part| self.materials.get(part as usize));
        test(material) || parts.any(|part| self.uses(part, test))
    }
}

/// Returns whether the positions of a mesh are precise enough as `f32` in model coordinates relative to `origin`, and the
/// transform of its instance is invertible.
fn is_precise(mesh: &ModelMesh, instance: &ModelInstance, origin: DVec3) -> bool {
    let place = |corner: Vec3| instance.transform.transform_point3(corner.as_dvec3()) - origin;
    let corners = mesh.corners().map(place);
    let low = corners.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    let high = corners
        .iter()
        .copied()
        .fold(DVec3::NEG_INFINITY, DVec3::max);
    let size = (high - low).max_element();
    let turn = instance.transform.matrix3.inverse();
    low.abs().max(high.abs()).max_element() <= MAX_RELATIVE_DISTANCE * size && turn.is_finite()
}
