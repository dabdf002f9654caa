//! The indexed mesh of an object with instances, which is stored once.

use std::{collections::HashMap, f64::consts::PI};

use glam::{DVec3, Vec3};

use super::geometry::Corner;
use crate::{
    memory::reserve_one,
    scene::{Mesh, Triangle},
};

/// Builds an indexed mesh, in which corners with equal position, texture coordinates and normal share a vertex.
/// `corners` has the attributes of each triangle's corners, or is empty. All triangles get the material of the first.
///
/// Texture coordinates are kept if all `corners` have them. A `smooth` mesh keeps its normals if all corners have one,
/// and gets averaged ones otherwise. Fails if memory does not suffice.
pub(crate) fn indexed_mesh(
    triangles: &[Triangle],
    corners: &[[Corner; 3]],
    smooth: bool,
) -> Result<Mesh, String> {
    let all =
        |has: fn(&Corner) -> bool| !corners.is_empty() && corners.as_flattened().iter().all(has);
    let with_uvs = all(|corner| corner.uv[0].is_finite() && corner.uv[1].is_finite());
    let with_normals = smooth && all(|corner| corner.normal.length_squared().is_normal());
    let mut mesh = Mesh::default();
    let mut numbers: HashMap<[u32; 8], u32> = HashMap::new();
    for (triangle, shared) in triangles.iter().enumerate() {
        let mut vertices = [0; 3];
        for (corner, vertex) in vertices.iter_mut().enumerate() {
            let position = shared.vertices[corner];
            let has = |has: bool| corners.get(triangle).filter(|_| has);
            let [u, v] = has(with_uvs).map_or([0.0; 2], |corners| corners[corner].uv);
            let normal = has(with_normals).map_or(Vec3::ZERO, |corners| corners[corner].normal);
            let [x, y, z] = position.to_array();
            let [a, b, c] = normal.to_array();
            // Adding 0 turns -0 into 0, so that both compare as equal bits.
            let bits = [x, y, z, u, v, a, b, c].map(|number| (number + 0.0).to_bits());
            let next = mesh.positions.len() as u32;
            *vertex = *numbers.entry(bits).or_insert(next);
            if *vertex == next {
                reserve_one(&mut mesh.positions)?;
                mesh.positions.push(position);
                if with_uvs {
                    reserve_one(&mut mesh.uvs)?;
                    mesh.uvs.push([u, v]);
                }
                if with_normals {
                    reserve_one(&mut mesh.normals)?;
                    mesh.normals.push(normal.normalize());
                }
            }
        }
        reserve_one(&mut mesh.triangles)?;
        mesh.triangles.push(vertices);
    }
    mesh.materials = vec![triangles.first().map_or(0, |triangle| triangle.material)];
    if smooth && !with_normals {
        mesh.normals = smooth_normals(&mesh);
    }
    Ok(mesh)
}

/// Returns a unit normal for each vertex: the average over the triangles around it, weighted by their angles there
/// (Thürmer & Wüthrich 1998). Vertices at exactly equal positions get equal normals. Where the average is 0, as without
/// triangles, the normal is +y.
fn smooth_normals(mesh: &Mesh) -> Vec<Vec3> {
    let mut places: HashMap<[u32; 3], u32> = HashMap::new();
    let place_of: Vec<u32> = mesh
        .positions
        .iter()
        .map(|position| {
            let bits = (*position + 0.0).to_array().map(f32::to_bits);
            let next = places.len() as u32;
            *places.entry(bits).or_insert(next)
        })
        .collect();
    let mut sums = vec![DVec3::ZERO; places.len()];
    for corners in &mesh.triangles {
        let at = corners.map(|vertex| mesh.positions[vertex as usize].as_dvec3());
        let normal = (at[1] - at[0]).cross(at[2] - at[0]).normalize_or_zero();
        for corner in 0..3 {
            let here = at[corner];
            let to_next = (at[(corner + 1) % 3] - here).normalize_or_zero();
            let to_last = (at[(corner + 2) % 3] - here).normalize_or_zero();
            let angle = libm::acos(to_next.dot(to_last).clamp(-1.0, 1.0));
            let place = place_of[corners[corner] as usize];
            sums[place as usize] += normal * angle.min(PI);
        }
    }
    place_of
        .iter()
        .map(|&place| sums[place as usize].normalize_or(DVec3::Y).as_vec3())
        .collect()
}
