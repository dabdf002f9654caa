//! Meshes that stand in one place each, as one mesh: their boxes overlap, and a ray would go into the tree of one after the
//! other; a tree over all of their triangles is crossed once.
//!
//! Only meshes that stay meshes are gathered: others become flat triangles, which share a tree in any case. Lamps stay apart,
//! since all triangles of an instance that shines are looked at.

use std::{collections::BTreeMap, mem::take};

use glam::{DAffine3, DVec3, Vec3};

use super::{
    Parameter,
    model::{Model, ModelInstance, ModelMaterial, ModelMesh, room},
};

/// Fewer meshes of one kind are left as they are.
const MANY: usize = 4;
/// Vertices and triangles have numbers of 32 bits, with room to spare.
const MOST: usize = 1 << 31;
/// Its distance from the origin over a mesh's own size up to which coordinates of the model are fine enough for it.
const FAR: f64 = 4096.0;

/// What the vertices of a mesh have besides positions: normals, tangents, one or two texture coordinates.
type Kind = (bool, bool, bool, bool);

impl Model {
    /// Makes one mesh of those of a kind.
    pub(super) fn gather(&mut self) -> Result<(), String> {
        let mut places = vec![0u32; self.meshes.len()];
        for instance in &self.instances {
            places[instance.mesh] += 1;
        }
        let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for (number, instance) in self.instances.iter().enumerate() {
            let mesh = &self.meshes[instance.mesh];
            let material = &self.materials[instance.material];
            if places[instance.mesh] == 1 && stays_mesh(mesh, material) && lies_near(mesh, instance)
            {
                let kind = kind(mesh, material);
                kinds.entry(kind).or_default().push(number);
            }
        }
        let mut gathered = vec![false; self.instances.len()];
        let mut meshes = Vec::new();
        for numbers in kinds.into_values() {
            if numbers.len() < MANY {
                continue;
            }
            let of = |count: fn(&ModelMesh) -> usize| -> usize {
                let meshes = numbers
                    .iter()
                    .map(|&number| &self.meshes[self.instances[number].mesh]);
                meshes.map(count).fold(0, usize::saturating_add)
            };
            // Tangents may double vertices.
            let (vertices, triangles) = (
                of(|mesh| mesh.positions.len()),
                of(|mesh| mesh.triangles.len()),
            );
            if vertices.max(triangles) > MOST / 2 {
                continue;
            }
            meshes.push(self.gathered(&numbers, vertices, triangles)?);
            numbers.iter().for_each(|&number| gathered[number] = true);
        }
        let mut left = gathered.iter();
        self.instances
            .retain(|_| left.next().is_some_and(|gathered| !gathered));
        for mesh in meshes {
            let material = mesh.parts[0] as usize;
            let mesh = self.push_mesh(mesh);
            self.instances.push(ModelInstance {
                mesh,
                material,
                transform: DAffine3::IDENTITY,
            });
        }
        Ok(())
    }

    /// The meshes of these instances, which leaves them empty.
    fn gathered(
        &mut self,
        numbers: &[usize],
        vertices: usize,
        triangles: usize,
    ) -> Result<ModelMesh, String> {
        let mut all = ModelMesh {
            positions: room(vertices)?,
            triangles: room(triangles)?,
            parts: room(triangles)?,
            ..ModelMesh::default()
        };
        for &number in numbers {
            let ModelInstance {
                mesh,
                material,
                transform,
            } = self.instances[number];
            let mut mesh = take(&mut self.meshes[mesh]);
            let of = &self.materials[material];
            mesh.settle_coordinates(!of.maps.textures.is_empty(), bends(of))?;
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
                all.parts.push(material as u32);
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
}

/// Whether a mesh in one place does not become flat triangles, and gives no light.
fn stays_mesh(mesh: &ModelMesh, material: &ModelMaterial) -> bool {
    let plain = mesh.is_flat() && material.maps.textures.is_empty();
    !plain && material.surface.radiance() == Vec3::ZERO && !mesh.triangles.is_empty()
}

/// Whether a mesh has a normal map to be bent by.
fn bends(material: &ModelMaterial) -> bool {
    [Parameter::Normal, Parameter::ClearcoatNormal]
        .iter()
        .any(|parameter| material.maps.textures.contains_key(parameter))
}

fn kind(mesh: &ModelMesh, material: &ModelMaterial) -> Kind {
    (
        mesh.normals.is_some(),
        bends(material) && (mesh.tangents.is_some() || mesh.normals.is_some()),
        mesh.uvs.is_some() || !material.maps.textures.is_empty(),
        mesh.second_uvs.is_some(),
    )
}

/// Whether its vertices lose little as coordinates of the model.
fn lies_near(mesh: &ModelMesh, instance: &ModelInstance) -> bool {
    let corners = mesh.corners();
    let corners = corners.map(|corner| instance.transform.transform_point3(corner.as_dvec3()));
    let low = corners.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    let high = corners
        .iter()
        .copied()
        .fold(DVec3::NEG_INFINITY, DVec3::max);
    let size = (high - low).max_element();
    let turn = instance.transform.matrix3.inverse();
    low.abs().max(high.abs()).max_element() <= FAR * size && turn.is_finite()
}
