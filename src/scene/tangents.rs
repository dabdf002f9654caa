//! Tangents for normal maps, where a file gives none: as MikkTSpace makes them (M. Mikkelsen 2008), but for how it goes on
//! where texture coordinates degenerate.
//!
//! A triangle's tangent is the direction in which u grows. A vertex has the mean of those around it, laid into the plane of
//! its normal and weighted by their angles there, over the triangles whose images face the same way: where an image meets
//! its mirror image, vertices are doubled.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use super::{
    geometry::make_room,
    model::{ModelMesh, room},
};

/// Gives a mesh with normals and texture coordinates its tangents.
pub(super) fn make(mesh: &mut ModelMesh) -> Result<(), String> {
    let (Some(normals), Some(uvs)) = (&mut mesh.normals, &mut mesh.uvs) else {
        return Ok(());
    };
    let mut second_uvs = mesh.second_uvs.as_mut();
    let first = mesh.positions.len();
    let mut sides: Vec<f32> = room(first)?;
    sides.resize(first, 0.0);
    let mut doubles: HashMap<u32, u32> = HashMap::new();
    // Vertices that are written apart and are the same are one.
    let mut sums: HashMap<[u32; 9], DVec3> = HashMap::new();
    for triangle in &mut mesh.triangles {
        let corners = triangle.map(|vertex| vertex as usize);
        let side = match area(corners.map(|vertex| uvs[vertex])) {
            // Its v grows upwards on the image, so that coordinates run the other way around.
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
                    make_room(&mut mesh.positions)?;
                    mesh.positions.push(mesh.positions[at]);
                    make_room(normals)?;
                    normals.push(normals[at]);
                    make_room(uvs)?;
                    uvs.push(uvs[at]);
                    if let Some(uvs) = &mut second_uvs {
                        make_room(uvs)?;
                        uvs.push(uvs[at]);
                    }
                    make_room(&mut sides)?;
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
    let mut tangents = room(mesh.positions.len())?;
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

fn key(position: Vec3, normal: Vec3, [u, v]: [f32; 2], side: f32) -> [u32; 9] {
    let [a, b, c] = position.to_array();
    let [d, e, f] = normal.to_array();
    // Both zeros are one place.
    [a, b, c, d, e, f, u, v, side].map(|number| (number + 0.0).to_bits())
}

/// Twice the area that texture coordinates enclose, above 0 if they run as the triangle's corners do.
fn area([[ua, va], [ub, vb], [uc, vc]]: [[f32; 2]; 3]) -> f64 {
    let step = |from: f32, to: f32| f64::from(to) - f64::from(from);
    step(ua, ub) * step(va, vc) - step(ua, uc) * step(va, vb)
}

/// The direction in which u grows; 0 where there is none.
fn along_u([a, b, c]: [DVec3; 3], uvs: [[f32; 2]; 3]) -> DVec3 {
    let [va, vb, vc] = uvs.map(|[_, v]| f64::from(v));
    let along = (b - a) * (vc - va) - (c - a) * (vb - va);
    let turned = if area(uvs) < 0.0 { -along } else { along };
    turned.normalize_or_zero()
}
