//! A PLY file as a model.

use std::io::BufRead;

use glam::DAffine3;

use super::{
    from_top, linear, painted,
    ply::{self, Element},
    polygon,
};
use crate::scene::{
    geometry::{check_finite, make_room},
    model::{Model, ModelInstance, ModelMaterial, ModelMesh},
};

pub(super) fn read(reader: &mut impl BufRead) -> Result<Model, String> {
    let mut mesh = ModelMesh::default();
    let (mut normals, mut uvs, mut colors) = (Vec::new(), Vec::new(), Vec::new());
    let mut faces = 0u64;
    let (mut face, mut triangles) = (Vec::new(), Vec::new());
    ply::read(reader, |element| match element {
        Element::Vertex(vertex) => {
            check_finite(mesh.positions.len() + 1, vertex.position)?;
            make_room(&mut mesh.positions)?;
            mesh.positions.push(vertex.position.as_vec3());
            make_room(&mut normals)?;
            normals.push(vertex.normal);
            make_room(&mut uvs)?;
            uvs.push(from_top(vertex.uv));
            if vertex.color.is_finite() || !colors.is_empty() {
                make_room(&mut colors)?;
                colors.push(linear(vertex.color));
            }
            Ok(())
        }
        Element::Face(corners) => {
            faces += 1;
            let count = mesh.positions.len();
            let vertex = |&index: &i64| {
                let vertex = u32::try_from(index).ok();
                vertex
                    .filter(|&vertex| (vertex as usize) < count)
                    .ok_or_else(|| {
                        format!("face {faces} names vertex {index} (from 0), but there are {count} vertices")
                    })
            };
            if corners.len() < 3 {
                let count = corners.len();
                return Err(format!(
                    "face {faces} has {count} corners, expected 3 or more"
                ));
            }
            face.clear();
            for index in corners {
                face.push(vertex(index)?);
            }
            let places = face.iter();
            let places = places.map(|&vertex| mesh.positions[vertex as usize].as_dvec3());
            polygon::triangles(places, &mut triangles);
            for triangle in &triangles {
                make_room(&mut mesh.triangles)?;
                mesh.triangles.push(triangle.map(|corner| face[corner]));
            }
            Ok(())
        }
    })?;
    if mesh.triangles.is_empty() {
        return Err("has no faces, expected at least one triangle".to_owned());
    }
    // What a file does not give is NaN, and left out.
    mesh.normals = Some(normals).filter(|normals| normals.iter().any(|normal| !normal.is_nan()));
    mesh.uvs = Some(uvs).filter(|uvs| uvs.as_flattened().iter().any(|uv| !uv.is_nan()));
    mesh.colors = Some(colors).filter(|colors| colors.len() == mesh.positions.len());
    let mut model = Model::default();
    for left_out in mesh.settle() {
        model.note(format!("not used: {left_out} that are not finite"));
    }
    model.materials.push(match mesh.colors {
        Some(_) => painted(),
        None => ModelMaterial::default(),
    });
    let mesh = model.push_mesh(mesh);
    let material = model.tinted(mesh, 0)?;
    model.instances.push(ModelInstance {
        mesh,
        material,
        transform: DAffine3::IDENTITY,
    });
    Ok(model)
}
