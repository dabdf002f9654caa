//! Conversion of glTF primitives to triangle meshes, and to points and lines, with morph targets and skins applied.

use std::collections::HashMap;

use glam::{DAffine3, DMat3, DVec3, Vec3, Vec4};
use gltf::json::{
    mesh::{Mode, MorphTarget, Primitive, Semantic},
    validation::Checked,
};

use super::container::{File, compressed::Draco};
use crate::{
    memory::{self, vec_with_capacity},
    model::{Model, ModelMesh, strokes::Strokes},
};

/// The morph target weights and joint matrices that deform a mesh to its pose.
pub(super) struct Deformation<'d> {
    /// Weight of each morph target; targets beyond the end have weight 0.
    pub(super) weights: &'d [f32],
    /// Matrix of each joint of a skin, from mesh coordinates to scene coordinates; `None` without a skin.
    pub(super) joints: Option<&'d [DAffine3]>,
}

/// A cache of the primitives that were read, so that primitives that refer to the same data share one mesh.
#[derive(Default)]
pub(super) struct Primitives {
    /// Index of each primitive's mesh in the model; `None` for one without triangles. The key is a text of accessor
    /// indices, mode, extensions, morph target weights and `uv_sets`, on which the mesh depends.
    read: HashMap<String, Option<usize>>,
}

impl Primitives {
    /// Returns the index of a primitive's mesh in the model, and adds the mesh if it is new. Primitives share a mesh if
    /// they refer to the same accessors, with equal morph target weights and `uv_sets`. Skinned ones never do.
    ///
    /// The material of the primitive uses `uv_sets` as first and second set of texture coordinates (n for
    /// `TEXCOORD_n`). Returns `None` if the primitive has no triangles. Fails if it is invalid. Callers read points and
    /// lines with [`strokes`] instead, because here they would count as triangles.
    pub(super) fn read(
        &mut self,
        file: &File,
        primitive: &Primitive,
        deformation: &Deformation,
        uv_sets: [Option<u32>; 2],
        model: &mut Model,
    ) -> Result<Option<usize>, String> {
        let moved = deformation.joints.is_some();
        let key = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {uv_sets:?}",
            primitive.attributes,
            primitive.indices,
            primitive.mode,
            primitive
                .extensions
                .as_ref()
                .map(|extensions| &extensions.others),
            primitive.targets,
            deformation.weights,
        );
        if let (Some(&known), false) = (self.read.get(&key), moved) {
            return Ok(known);
        }
        let mesh = mesh(file, primitive, deformation, uv_sets, model)?;
        let index = mesh.map(|mesh| model.push_mesh(mesh));
        if !moved {
            self.read.insert(key, index);
        }
        Ok(index)
    }
}

/// The vertex attributes of a primitive, which are read from Draco data or from accessors.
struct Attributes<'f> {
    file: &'f File,
    primitive: &'f Primitive,
    /// Decoded Draco mesh, or `None` if the primitive is not compressed. Attributes that the mesh lacks come from
    /// accessors.
    draco: Option<Draco>,
    vertex_count: usize,
}

impl<'f> Attributes<'f> {
    /// Decodes a compressed primitive and counts its vertices. Returns `None` if the primitive has no positions. Fails
    /// if the Draco data or the accessor of the positions is invalid.
    fn of(file: &'f File, primitive: &'f Primitive) -> Result<Option<Self>, String> {
        let draco = Draco::decode(file, primitive)?;
        let mut attributes = Attributes {
            file,
            primitive,
            vertex_count: 0,
            draco,
        };
        attributes.vertex_count =
            match (&attributes.draco, attributes.accessor(&Semantic::Positions)) {
                (_, None) => return Ok(None),
                (Some(draco), _) => draco.vertex_count(),
                (None, Some(accessor)) => file.element_count(accessor)?,
            };
        Ok(Some(attributes))
    }

    /// Returns the accessor index of an attribute, or `None` if the primitive does not have that attribute.
    fn accessor(&self, semantic: &Semantic) -> Option<usize> {
        let index = self
            .primitive
            .attributes
            .get(&Checked::Valid(semantic.clone()))?;
        Some(index.value())
    }

    /// Returns the number of components of an attribute per vertex, or `None` if the primitive lacks it. Fails if its
    /// accessor is invalid.
    fn components(&self, semantic: &Semantic) -> Result<Option<usize>, String> {
        if let Some(draco) = &self.draco
            && let Some(count) = draco.components(&semantic.to_string())
        {
            return Ok(Some(count));
        }
        let accessor = self.accessor(semantic);
        accessor
            .map(|accessor| self.file.component_count(accessor))
            .transpose()
    }

    /// Returns an attribute as `N` floats per vertex, or `None` if the primitive lacks it. Fails if it is invalid or
    /// has another number of components or vertices.
    fn floats<const N: usize>(&self, semantic: &Semantic) -> Result<Option<Vec<[f32; N]>>, String> {
        if let Some(draco) = &self.draco
            && let Some(values) = draco.floats(&semantic.to_string())?
        {
            return Ok(Some(values));
        }
        let Some(accessor) = self.accessor(semantic) else {
            return Ok(None);
        };
        self.check_count(semantic, accessor)?;
        self.file.floats(accessor).map(Some)
    }

    /// Returns an attribute as four unsigned integers per vertex, or `None` if the primitive lacks it. Fails if it is
    /// invalid or has another type, number of components or number of vertices.
    fn integers(&self, semantic: &Semantic) -> Result<Option<Vec<[u32; 4]>>, String> {
        if let Some(draco) = &self.draco
            && let Some(values) = draco.floats::<4>(&semantic.to_string())?
        {
            let whole = values
                .into_iter()
                .map(|value| value.map(|value| value as u32));
            return Ok(Some(whole.collect()));
        }
        let Some(accessor) = self.accessor(semantic) else {
            return Ok(None);
        };
        self.check_count(semantic, accessor)?;
        self.file.integers(accessor).map(Some)
    }

    /// Fails unless the accessor with this index has one element per vertex. The message names the attribute by
    /// `semantic`.
    fn check_count(&self, semantic: &Semantic, accessor: usize) -> Result<(), String> {
        let (found, vertices) = (self.file.element_count(accessor)?, self.vertex_count);
        if found == vertices {
            return Ok(());
        }
        let semantic = semantic.to_string();
        Err(format!(
            "accessor {accessor} has {found} elements for {semantic}, but there are {vertices} vertices"
        ))
    }
}

/// Returns whether a primitive consists of points or lines.
pub(super) fn has_strokes(primitive: &Primitive) -> bool {
    matches!(
        primitive.mode,
        Checked::Valid(Mode::Points | Mode::Lines | Mode::LineLoop | Mode::LineStrip)
    )
}

/// Reads a primitive of points or lines, in mesh coordinates or, if it has a skin, in scene coordinates. `uv_sets` are
/// those of its material, whose index in the model is `material`.
///
/// Fails if it is invalid. Without positions the result is empty.
pub(super) fn strokes(
    file: &File,
    primitive: &Primitive,
    deformation: &Deformation,
    uv_sets: [Option<u32>; 2],
    material: usize,
    model: &mut Model,
) -> Result<Strokes, String> {
    let Some((mut vertices, indices)) = vertices(file, primitive, deformation, uv_sets)? else {
        return Ok(Strokes::default());
    };
    vertices.normals = None;
    vertices.tangents = None;
    normalize(&mut vertices, model);
    let count = vertices.positions.len();
    check_indices(indices.as_deref(), count)?;
    let corners = indices.as_ref().map_or(count, Vec::len);
    let corner = |place: usize| {
        indices
            .as_ref()
            .map_or(place as u32, |indices| indices[place])
    };
    let number = match primitive.mode {
        Checked::Valid(Mode::Points) => corners,
        Checked::Valid(Mode::Lines) => corners / 2,
        Checked::Valid(Mode::LineLoop) if corners > 2 => corners,
        _ => corners.saturating_sub(1),
    };
    let mut segments = vec_with_capacity(number)?;
    segments.extend((0..number).map(|segment| match primitive.mode {
        Checked::Valid(Mode::Points) => [corner(segment); 2],
        Checked::Valid(Mode::Lines) => [corner(2 * segment), corner(2 * segment + 1)],
        _ => [corner(segment), corner((segment + 1) % corners)],
    }));
    Ok(Strokes {
        vertices,
        segments,
        material,
    })
}

/// Reads a primitive of triangles, with the first and second set of texture coordinates (n for `TEXCOORD_n`) that its
/// material uses.
///
/// Returns `None` if it has no triangles. Fails if it is invalid. Points and lines would count as triangles.
fn mesh(
    file: &File,
    primitive: &Primitive,
    deformation: &Deformation,
    uv_sets: [Option<u32>; 2],
    model: &mut Model,
) -> Result<Option<ModelMesh>, String> {
    let mode = match primitive.mode {
        Checked::Valid(mode) => mode,
        Checked::Invalid => return Err("has no known mode".to_owned()),
    };
    let Some((mut mesh, indices)) = vertices(file, primitive, deformation, uv_sets)? else {
        return Ok(None);
    };
    mesh.triangles = triangles(indices.as_deref(), mesh.positions.len(), mode)?;
    if mesh.triangles.is_empty() {
        return Ok(None);
    }
    normalize(&mut mesh, model);
    Ok(Some(mesh))
}

/// Normalises normals and tangents of a mesh, and removes attributes with values that are not finite. Adds warnings to
/// `model` for the removed ones, except for tangents, which can be computed.
fn normalize(mesh: &mut ModelMesh, model: &mut Model) {
    for dropped in mesh.normalize_attributes() {
        let text = format!("ignored: {dropped} that are not finite, of {{}}");
        model.note_count(&text, ["primitive", "primitives"], 1);
    }
}

/// The vertices of a primitive, as a mesh without triangles, and its indices if it has any.
type Vertices = (ModelMesh, Option<Vec<u32>>);

/// Reads the vertices of a primitive, with morph targets and skin applied, and its indices if it has any. The mesh has
/// no triangles yet.
///
/// Returns `None` if the primitive has no positions. Fails if it is invalid.
fn vertices(
    file: &File,
    primitive: &Primitive,
    deformation: &Deformation,
    [uv_set, second_set]: [Option<u32>; 2],
) -> Result<Option<Vertices>, String> {
    let Some(attributes) = Attributes::of(file, primitive)? else {
        return Ok(None);
    };
    let vec3 = Vec3::from_array;
    let Some(positions) = attributes.floats(&Semantic::Positions)? else {
        return Ok(None);
    };
    let mut mesh = ModelMesh {
        positions: positions.into_iter().map(vec3).collect(),
        normals: attributes
            .floats(&Semantic::Normals)?
            .map(|normals| normals.into_iter().map(vec3).collect()),
        uvs: attributes.floats(&Semantic::TexCoords(uv_set.unwrap_or(0)))?,
        second_uvs: match second_set {
            Some(set) => attributes.floats(&Semantic::TexCoords(set))?,
            None => None,
        },
        tangents: attributes.floats(&Semantic::Tangents)?,
        ..ModelMesh::default()
    };
    mesh.colors = colors(&attributes)?;
    for (target, &weight) in primitive.targets.iter().flatten().zip(deformation.weights) {
        morph(file, target, weight, &mut mesh)?;
    }
    if let Some(joints) = deformation.joints {
        skin(&attributes, joints, &mut mesh)?;
    }
    if let Some(vertex) = mesh
        .positions
        .iter()
        .position(|position| !position.is_finite())
    {
        let position = mesh.positions[vertex];
        return Err(format!(
            "vertex {vertex} is {position}, expected finite numbers"
        ));
    }
    let indices = match (&attributes.draco, primitive.indices) {
        (Some(draco), _) => Some(draco.indices()?),
        (None, Some(accessor)) => Some(file.integers::<1>(accessor.value())?.into_flattened()),
        (None, None) => None,
    };
    Ok(Some((mesh, indices)))
}

/// Returns the vertex colors `COLOR_0` in linear RGBA, with alpha 1 if they have none; `None` if there are no colors.
/// They are clamped to 0..=1, as the specification demands. Fails if they are invalid.
fn colors(attributes: &Attributes) -> Result<Option<Vec<Vec4>>, String> {
    let semantic = Semantic::Colors(0);
    let mut colors: Option<Vec<Vec4>> = match attributes.components(&semantic)? {
        Some(3) => attributes.floats::<3>(&semantic)?.map(|colors| {
            let opaque = |&[r, g, b]: &[f32; 3]| Vec4::new(r, g, b, 1.0);
            colors.iter().map(opaque).collect()
        }),
        Some(_) => attributes
            .floats::<4>(&semantic)?
            .map(|colors| colors.into_iter().map(Vec4::from_array).collect()),
        None => None,
    };
    for color in colors.iter_mut().flatten() {
        *color = color.clamp(Vec4::ZERO, Vec4::ONE);
    }
    Ok(colors)
}

/// Returns the vertex indices of all triangles of a list, strip or fan, which `mode` selects. Without `indices` the
/// vertices are used in order; `vertices` is their number.
///
/// Fails if an index is not below that number, or there are too many.
fn triangles(
    indices: Option<&[u32]>,
    vertices: usize,
    mode: Mode,
) -> Result<Vec<[u32; 3]>, String> {
    check_indices(indices, vertices)?;
    let count = indices.map_or(vertices, <[u32]>::len);
    let corner = |place: usize| indices.map_or(place as u32, |indices| indices[place]);
    let of = match mode {
        Mode::TriangleStrip => |triangle: usize| match triangle % 2 {
            0 => [triangle, triangle + 1, triangle + 2],
            _ => [triangle, triangle + 2, triangle + 1],
        },
        Mode::TriangleFan => |triangle: usize| [0, triangle + 1, triangle + 2],
        _ => |triangle: usize| [3 * triangle, 3 * triangle + 1, 3 * triangle + 2],
    };
    let number = match mode {
        Mode::TriangleStrip | Mode::TriangleFan => count.saturating_sub(2),
        _ => count / 3,
    };
    let mut triangles = vec_with_capacity(number)?;
    triangles.extend((0..number).map(|triangle| of(triangle).map(corner)));
    Ok(triangles)
}

/// Fails if an index is not below `vertices`, or if there are more than 2³²−1 indices or, without indices, vertices.
fn check_indices(indices: Option<&[u32]>, vertices: usize) -> Result<(), String> {
    let wrong =
        indices.and_then(|indices| indices.iter().find(|&&index| index as usize >= vertices));
    if let Some(index) = wrong {
        return Err(format!(
            "its indices name vertex {index}, but there are {vertices} vertices"
        ));
    }
    let count = indices.map_or(vertices, <[u32]>::len);
    match u32::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "has {count} corners, expected at most {}",
            u32::MAX
        )),
    }
}

/// Adds the offsets of a morph target, times its weight, to positions, normals and tangents of the mesh. Fails if the
/// weight is not finite or an accessor is invalid.
fn morph(
    file: &File,
    target: &MorphTarget,
    weight: f32,
    mesh: &mut ModelMesh,
) -> Result<(), String> {
    if weight == 0.0 {
        return Ok(());
    }
    if !weight.is_finite() {
        return Err("a morph target has a weight that is not finite".to_owned());
    }
    let offsets = |accessor: usize, vertices: usize| -> Result<Vec<Vec3>, String> {
        let offsets = file.floats(accessor)?;
        if offsets.len() != vertices {
            return Err(format!(
                "accessor {accessor} moves {} vertices, but there are {vertices}",
                offsets.len()
            ));
        }
        Ok(offsets.into_iter().map(Vec3::from_array).collect())
    };
    if let Some(accessor) = target.positions {
        let moves = offsets(accessor.value(), mesh.positions.len())?;
        for (position, offset) in mesh.positions.iter_mut().zip(moves) {
            *position += offset * weight;
        }
    }
    if let (Some(accessor), Some(normals)) = (target.normals, &mut mesh.normals) {
        for (normal, offset) in normals
            .iter_mut()
            .zip(offsets(accessor.value(), mesh.positions.len())?)
        {
            *normal += offset * weight;
        }
    }
    if let (Some(accessor), Some(tangents)) = (target.tangents, &mut mesh.tangents) {
        for (tangent, offset) in tangents
            .iter_mut()
            .zip(offsets(accessor.value(), mesh.positions.len())?)
        {
            let moved = Vec3::from_slice(tangent) + offset * weight;
            *tangent = moved.extend(tangent[3]).to_array();
        }
    }
    Ok(())
}

/// Transforms every vertex and its tangent from mesh coordinates to scene coordinates by the weighted average of its
/// joints' matrices, and its normal by the inverse transpose. A vertex without weights is not transformed. Fails if a
/// vertex names a joint that does not exist.
fn skin(attributes: &Attributes, joints: &[DAffine3], mesh: &mut ModelMesh) -> Result<(), String> {
    let mut sets = Vec::new();
    for set in 0.. {
        match (
            attributes.integers(&Semantic::Joints(set))?,
            attributes.floats::<4>(&Semantic::Weights(set))?,
        ) {
            (Some(joints), Some(weights)) => sets.push((joints, weights)),
            _ => break,
        }
    }
    memory::check((mesh.positions.len() * size_of::<Vec3>()) as u64)?;
    for vertex in 0..mesh.positions.len() {
        let mut moved = DAffine3::ZERO;
        let mut sum = 0.0;
        for (numbers, weights) in &sets {
            for (&joint, &weight) in numbers[vertex].iter().zip(&weights[vertex]) {
                if weight == 0.0 {
                    continue;
                }
                let transform = joints.get(joint as usize).ok_or_else(|| {
                    format!(
                        "vertex {vertex} names joint {joint}, but there are {}",
                        joints.len()
                    )
                })?;
                let weight = f64::from(weight);
                moved.matrix3 += transform.matrix3 * weight;
                moved.translation += transform.translation * weight;
                sum += weight;
            }
        }
        if sum == 0.0 {
            continue;
        }
        let apply = |direction: Vec3| (moved.matrix3 * direction.as_dvec3() / sum).as_vec3();
        let position = mesh.positions[vertex].as_dvec3();
        let point: DVec3 = moved.transform_point3(position) / sum;
        mesh.positions[vertex] = point.as_vec3();
        if let Some(normals) = &mut mesh.normals {
            let normal = normal_matrix(&(moved.matrix3 * sum.recip())) * normals[vertex].as_dvec3();
            normals[vertex] = normal.as_vec3();
        }
        if let Some(tangents) = &mut mesh.tangents {
            let moved = apply(Vec3::from_slice(&tangents[vertex]));
            tangents[vertex] = moved.extend(tangents[vertex][3]).to_array();
        }
    }
    Ok(())
}

/// Returns the matrix that transforms normals as `matrix` transforms positions: a positive multiple of its inverse
/// transpose. It is also defined if `matrix` has no inverse.
fn normal_matrix(matrix: &DMat3) -> DMat3 {
    let (x, y, z) = (matrix.x_axis, matrix.y_axis, matrix.z_axis);
    // The cofactor matrix is the inverse transpose times the determinant.
    let cofactors = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
    if x.dot(cofactors.x_axis) < 0.0 {
        -cofactors
    } else {
        cofactors
    }
}
