//! Computation of tangents for normal maps, as in MikkTSpace (M. Mikkelsen 2008) except for degenerate texture
//! coordinates.
//!
//! The tangent of a triangle is the direction in which u grows. The tangent of a vertex is the average over the
//! adjacent triangles, projected onto the plane of its normal and weighted by their angles. Only triangles with the
//! same orientation of texture coordinates are averaged. Where an image meets its mirror image, vertices are
//! duplicated.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use super::ModelMesh;
use crate::memory::{reserve_one, vec_with_capacity};

/// Computes the tangents of a mesh from its first set of texture coordinates. Does nothing without normals or texture
/// coordinates. Fails if memory does not suffice.
pub(crate) fn make(mesh: &mut ModelMesh) -> Result<(), String> {
    let (Some(normals), Some(uvs)) = (&mut mesh.normals, &mut mesh.uvs) else {
        return Ok(());
    };
    let mut second_uvs = mesh.second_uvs.as_mut();
    let first = mesh.positions.len();
    let mut sides: Vec<f32> = vec_with_capacity(first)?;
    sides.resize(first, 0.0);
    let mut doubles: HashMap<u32, u32> = HashMap::new();
    // Vertices with equal attributes share one tangent, even if the file stores them separately.
    let mut sums: HashMap<[u32; 9], DVec3> = HashMap::new();
    for triangle in &mut mesh.triangles {
        let corners = triangle.map(|vertex| vertex as usize);
        let side = match area(corners.map(|vertex| uvs[vertex])) {
            // In an image v grows downwards, which reverses the orientation.
            area if area > 0.0 => -1.0,
            _ => 1.0,
        };
        for vertex in triangle.iter_mut() {
            let at = *vertex as usize;
            if sides[at] == 0.0 {
                sides[at] = side;
            } else if sides[at] != side {
                let next = mesh.positions.len() as u32;
                *vertex = *doubles.entry(*vertex).or_insert(next);
                if *vertex == next {
                    reserve_one(&mut mesh.positions)?;
                    mesh.positions.push(mesh.positions[at]);
                    reserve_one(normals)?;
                    normals.push(normals[at]);
                    reserve_one(uvs)?;
                    uvs.push(uvs[at]);
                    if let Some(uvs) = &mut second_uvs {
                        reserve_one(uvs)?;
                        uvs.push(uvs[at]);
                    }
                    reserve_one(&mut sides)?;
                    sides.push(side);
                }
            }
        }
        let corners = triangle.map(|vertex| vertex as usize);
        let points = corners.map(|vertex| mesh.positions[vertex].as_dvec3());
        let along = along_u(points, corners.map(|vertex| uvs[vertex]));
        for corner in 0..3 {
            let vertex = corners[corner];
            let normal = normals[vertex].as_dvec3();
            let flat = |v: DVec3| (v - normal * normal.dot(v)).normalize_or_zero();
            let to_next = flat(points[(corner + 1) % 3] - points[corner]);
            let to_last = flat(points[(corner + 2) % 3] - points[corner]);
            let angle = libm::acos(to_next.dot(to_last).clamp(-1.0, 1.0));
            let key = key(mesh.positions[vertex], normals[vertex], uvs[vertex], side);
            *sums.entry(key).or_default() += flat(along) * angle;
        }
    }
    let mut tangents = vec_with_capacity(mesh.positions.len())?;
    for (vertex, &side) in sides.iter().enumerate() {
        let key = key(mesh.positions[vertex], normals[vertex], uvs[vertex], side);
        let normal = normals[vertex].as_dvec3();
        let tangent = sums.get(&key).copied().unwrap_or_default();
        let tangent = tangent.try_normalize();
        let tangent = tangent.unwrap_or_else(|| normal.any_orthonormal_vector());
        let side = if side < 0.0 { -1.0 } else { 1.0 };
        tangents.push(tangent.as_vec3().extend(side).to_array());
    }
    mesh.tangents = Some(tangents);
    Ok(())
}

/// Returns the bits of position, normal, texture coordinates and bitangent sign, as a key by which equal vertices are
/// found. 0 and −0 are equal.
fn key(position: Vec3, normal: Vec3, [u, v]: [f32; 2], side: f32) -> [u32; 9] {
    let [a, b, c] = position.to_array();
    let [d, e, f] = normal.to_array();
    // Adding 0 turns -0 into 0, so that both have equal bits.
    [a, b, c, d, e, f, u, v, side].map(|number| (number + 0.0).to_bits())
}

/// Returns twice the signed area of a triangle in texture coordinates. It is positive if the corners are
/// counter-clockwise with u to the right and v up.
fn area([[ua, va], [ub, vb], [uc, vc]]: [[f32; 2]; 3]) -> f64 {
    let step = |from: f32, to: f32| f64::from(to) - f64::from(from);
    step(ua, ub) * step(va, vc) - step(ua, uc) * step(va, vb)
}

/// Returns the unit direction in which u grows on a triangle, given the positions and texture coordinates of its
/// corners. Returns 0 if the texture coordinates are degenerate.
fn along_u([a, b, c]: [DVec3; 3], uvs: [[f32; 2]; 3]) -> DVec3 {
    let [va, vb, vc] = uvs.map(|[_, v]| f64::from(v));
    let along = (b - a) * (vc - va) - (c - a) * (vb - va);
    let turned = if area(uvs) < 0.0 { -along } else { along };
    turned.normalize_or_zero()
}
