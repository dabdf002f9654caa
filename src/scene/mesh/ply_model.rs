//! A PLY file as a model.

use std::io::BufRead;

use glam::{DAffine3, Vec3};

use super::{
    from_top,
    ply::{self, Element},
};
use crate::{
    scene::{
        Surface,
        geometry::{check_finite, make_room},
        model::{Model, ModelInstance, ModelMaterial, ModelMesh},
    },
    texture::srgb_value,
};

pub(super) fn read(reader: &mut impl BufRead) -> Result<Model, String> {
    let mut mesh = ModelMesh::default();
    let (mut normals, mut uvs, mut colors) = (Vec::new(), Vec::new(), Vec::new());
    let mut faces = 0u64;
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
                let linear = |part: f32| srgb_value(part.clamp(0.0, 1.0).into());
                colors.push(vertex.color.map(linear));
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
            let [first, rest @ ..] = corners else {
                return Err(format!("face {faces} has 0 corners, expected 3 or more"));
            };
            let first = vertex(first)?;
            for edge in rest.windows(2) {
                make_room(&mut mesh.triangles)?;
                mesh.triangles
                    .push([first, vertex(&edge[0])?, vertex(&edge[1])?]);
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
    model.materials.push(if mesh.colors.is_some() {
        let albedo = Vec3::ONE;
        let one_sided = false;
        Surface::Diffuse { albedo, one_sided }.into()
    } else {
        ModelMaterial::default()
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
