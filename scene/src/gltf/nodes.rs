//! Traversal of the node hierarchy, which yields mesh instances, the camera and the lights in scene coordinates.

use std::collections::BTreeSet;

use glam::{DAffine3, DMat4, DQuat, DVec3, Vec3};
use gltf::json::{
    Node, Value,
    extensions::{root::KhrLightsPunctual, scene::khr_lights_punctual as punctual},
    mesh::Primitive,
    validation::Checked,
};

use super::{
    animation::{Pose, unit_quaternion},
    cameras::{self, CameraNode},
    container::File,
    has_splats,
    image::ImageCache,
    material,
    primitive::{self, Deformation, Primitives},
    scenes,
    variants::{self, Variant},
};
use crate::{
    LoadOptions,
    limits::SAMPLE_LIMIT,
    memory,
    model::{
        DARK_SPOT, LightKind, Model, ModelInstance, ModelLight, flat_instances::is_visible,
        strokes::Strokes,
    },
    scene::{Instance, Surface},
};

const INSTANCING: &str = "EXT_mesh_gpu_instancing";
const VISIBILITY: &str = "KHR_node_visibility";
/// Largest number of instances that `EXT_mesh_gpu_instancing` may add to a model: 2²⁴.
const MAX_INSTANCES: u64 = 1 << 24;

/// Adds the materials, meshes, instances, lights and cameras of the file's scene to `model`, as `options` selects them.
/// Images that `images` contains are not decoded again. Fails with a message that names the faulty glTF object.
pub(super) fn read(
    file: &File,
    images: &mut ImageCache,
    options: &LoadOptions,
    model: &mut Model,
) -> Result<(), String> {
    let roots = scenes::roots(file, model)?;
    let variant = variants::variant(file, options.variant.as_deref(), model)?;
    let pose = Pose::of(file, options, model)?;
    let tree = Tree::of(file, &pose, roots, model)?;
    check_instances(file, &tree)?;
    material::read(file, &materials(file, &tree, variant), images, model)?;
    let mut meshes = MeshReader {
        file,
        tree: &tree,
        pose: &pose,
        variant,
        primitives: Primitives::default(),
        strokes: Vec::new(),
    };
    let mut cameras = Vec::new();
    for &index in &tree.order {
        let node = &file.root.nodes[index];
        let Some(transform) = tree.transforms[index] else {
            continue;
        };
        let in_node = |problem: String| format!("node {index}: {problem}");
        check_matrix(node.matrix.as_ref(), &format!("node {index}"), model);
        if let Some(camera) = node.camera {
            cameras.push(CameraNode {
                node: index,
                camera: camera.value(),
                transform,
            });
        }
        if tree.hidden[index] {
            continue;
        }
        let extensions = node.extensions.as_ref();
        let light = extensions.and_then(|extensions| extensions.khr_lights_punctual.as_ref());
        if let Some(light) = light {
            let light = read_light(file, light.light.value(), transform, model).map_err(in_node)?;
            model.lights.push(light);
        }
        if let Some(mesh) = node.mesh {
            let placed = meshes.place(index, mesh.value(), transform, model);
            placed.map_err(in_node)?;
        }
    }
    cameras::read(file, &cameras, options.camera.as_deref(), model)?;
    model.add_strokes(meshes.strokes, options.line_width)?;
    convert_photometric_lights(model);
    Ok(())
}

/// Divides all lights of the model by 683, the lumens per watt, and adds a warning, if a channel of one is 200 or more.
/// So bright a light is taken as a sign that all are in candela or lux. Otherwise does nothing.
///
/// glTF defines both lights and emission in photometric units. Some programs convert only their lights from watts and
/// leave emission unconverted. Others write lights in arbitrary units that look right beside emission of about 1.
fn convert_photometric_lights(model: &mut Model) {
    const LUMENS_PER_WATT: f32 = 683.0;
    /// Value of the brightest channel of a light from which all lights are taken to be in candela or lux.
    const PHOTOMETRIC: f32 = 200.0;
    let brightest = model
        .lights
        .iter()
        .map(|light| light.strength.max_element());
    if brightest.fold(0.0, f32::max) < PHOTOMETRIC {
        return;
    }
    for light in &mut model.lights {
        light.strength /= LUMENS_PER_WATT;
    }
    model.note(
        "its lights are so bright that they are taken to be in candela or lux, and divided by 683"
            .to_owned(),
    );
}

/// Returns the sorted indices of the materials that the scene's meshes use in a variant. The index one past the file's
/// materials stands for glTF's default material, for primitives that name none. Invalid indices are left out.
fn materials(file: &File, tree: &Tree, variant: Variant) -> Vec<usize> {
    let root = &file.root;
    let count = root.materials.len();
    let shown = tree.order.iter().filter(|&&node| !tree.hidden[node]);
    let meshes = shown.filter_map(|&node| root.nodes[node].mesh);
    let meshes: BTreeSet<usize> = meshes.map(|mesh| mesh.value()).collect();
    let meshes = meshes.into_iter().filter_map(|mesh| root.meshes.get(mesh));
    let primitives = meshes.flat_map(|mesh| &mesh.primitives);
    let named: BTreeSet<usize> = primitives
        .map(|primitive| variants::material(primitive, variant).unwrap_or(count))
        .filter(|&index| index <= count)
        .collect();
    named.into_iter().collect()
}

/// The nodes of a file's scene in depth-first order, parents before children, with their transforms to the scene in one
/// pose.
struct Tree {
    /// Indices of the nodes that belong to the scene, each parent before its children.
    order: Vec<usize>,
    /// Transform from each node of the file to the scene; `None` for a node that is not in the scene.
    transforms: Vec<Option<DAffine3>>,
    /// Whether the mesh and the light of each node of the file are hidden, by `KHR_node_visibility` of the node or of
    /// one above it.
    hidden: Vec<bool>,
}

impl Tree {
    /// Traverses the nodes `roots` of the file and their descendants in the given pose. A node with several parents, which
    /// glTF forbids, stays below the one that is reached first, with a warning in `model`. Fails if a node is missing or has
    /// an invalid transform.
    fn of(file: &File, pose: &Pose, roots: Vec<usize>, model: &mut Model) -> Result<Tree, String> {
        let nodes = &file.root.nodes;
        let mut tree = Tree {
            order: Vec::new(),
            transforms: vec![None; nodes.len()],
            hidden: vec![false; nodes.len()],
        };
        let mut open: Vec<(usize, DAffine3, bool)> = roots
            .into_iter()
            .rev()
            .map(|root| (root, DAffine3::IDENTITY, false))
            .collect();
        while let Some((index, parent, below_hidden)) = open.pop() {
            let node = nodes
                .get(index)
                .ok_or_else(|| format!("there is no node {index}"))?;
            if tree.transforms[index].is_some() {
                let text = "shown below one of its parents only: {} with several parents";
                model.note_count(text, ["node", "nodes"], 1);
                continue;
            }
            let transform = parent
                * pose
                    .transform(index, node)
                    .map_err(|problem| format!("node {index}: {problem}"))?;
            if !transform.is_finite() {
                return Err(format!("node {index}: its transform is not finite"));
            }
            tree.transforms[index] = Some(transform);
            tree.order.push(index);
            let hidden = below_hidden || is_hidden(node);
            tree.hidden[index] = hidden;
            let children = node.children.iter().flatten().rev();
            open.extend(children.map(|child| (child.value(), transform, hidden)));
        }
        Ok(tree)
    }
}

/// Returns whether the extension `KHR_node_visibility` hides a node.
fn is_hidden(node: &Node) -> bool {
    let extensions = node.extensions.as_ref();
    let written = extensions.and_then(|extensions| extensions.others.get(VISIBILITY));
    let visible = written.and_then(|written| written.get("visible"));
    visible.and_then(Value::as_bool) == Some(false)
}

/// Adds a warning, once per model, if the last row of a matrix is not (0, 0, 0, 1); readers ignore that row. `of` names
/// the object that has the matrix. Does nothing for `None`.
fn check_matrix(matrix: Option<&[f32; 16]>, of: &str, model: &mut Model) {
    const NOTE: &str = "ignored: the last row of a matrix";
    let Some(matrix) = matrix else { return };
    let row = [matrix[3], matrix[7], matrix[11], matrix[15]];
    let off = row.iter().zip([0.0, 0.0, 0.0, 1.0]);
    // Programs that multiply matrices leave rounding errors there.
    if off.map(|(is, due)| (is - due).abs()).all(|off| off <= 1e-4) {
        return;
    }
    if !model.notes.iter().any(|note| note.starts_with(NOTE)) {
        model.note(format!("{NOTE}, {row:?} of {of}, expected [0, 0, 0, 1]"));
    }
}

/// Reader of the meshes of nodes.
struct MeshReader<'f> {
    file: &'f File,
    tree: &'f Tree,
    pose: &'f Pose,
    variant: Variant,
    primitives: Primitives,
    /// Points and lines that were read so far, in scene coordinates.
    strokes: Vec<Strokes>,
}

impl MeshReader<'_> {
    /// Adds instances of a node's mesh to the model: one of each primitive for each transform of the node. A skinned
    /// mesh has one transform, the identity, because its vertices are already in scene coordinates. Points and lines
    /// are added to `strokes` instead.
    ///
    /// `index` and `mesh` are the indices of node and mesh in the file, and `transform` is that of the node. Fails if
    /// the mesh or its skin is invalid.
    fn place(
        &mut self,
        index: usize,
        mesh: usize,
        transform: DAffine3,
        model: &mut Model,
    ) -> Result<(), String> {
        let file = self.file;
        let node = &file.root.nodes[index];
        let missing = || format!("there is no mesh {mesh}");
        let written = file.root.meshes.get(mesh).ok_or_else(missing)?;
        let joints = match node.skin {
            Some(skin) => joint_matrices(file, skin.value(), self.tree, model)?,
            None => None,
        };
        let rest = node.weights.as_ref().or(written.weights.as_ref());
        let rest = rest.map_or(&[][..], Vec::as_slice);
        let deformation = Deformation {
            weights: self.pose.weights(index).unwrap_or(rest),
            joints: joints.as_deref(),
        };
        // The joint matrices already transform vertices to scene coordinates.
        let mut transforms = match &joints {
            Some(_) => vec![DAffine3::IDENTITY],
            None => instance_transforms(file, node, transform)?,
        };
        // Exporters hide a node by scaling it to 0.
        transforms.retain(is_visible);
        for (number, primitive) in written.primitives.iter().enumerate() {
            self.add(primitive, &deformation, &transforms, model)
                .map_err(|problem| format!("mesh {mesh}, primitive {number}: {problem}"))?;
        }
        Ok(())
    }

    /// Adds instances of a primitive with these transforms to the model, or its points and lines to `strokes`. Fails if
    /// the primitive is invalid.
    fn add(
        &mut self,
        primitive: &Primitive,
        deformation: &Deformation,
        transforms: &[DAffine3],
        model: &mut Model,
    ) -> Result<(), String> {
        let file = self.file;
        let count = file.root.materials.len();
        let material = variants::material(primitive, self.variant);
        if let Some(material) = material.filter(|&material| material >= count) {
            return Err(format!("there is no material {material}"));
        }
        let uv_sets = material::uv_sets(file, material);
        let material = material.unwrap_or(count);
        if primitive::has_strokes(primitive) {
            if has_splats(file) {
                return Ok(());
            }
            let read = primitive::strokes(file, primitive, deformation, uv_sets, material, model)?;
            self.strokes.push(read.transformed(transforms)?);
            return Ok(());
        }
        let read = self
            .primitives
            .read(file, primitive, deformation, uv_sets, model)?;
        let Some(shape) = read else {
            return Ok(());
        };
        let is_glass = matches!(
            model.materials[material].surface,
            Surface::RoughDielectric { .. }
        );
        if is_glass && model.meshes[shape].colors.is_some() {
            let text = "not used: the vertex colors of {} of anisotropic glass";
            model.note_count(text, ["instance", "instances"], 1);
        }
        let shape = model.with_turned_tangents(shape, material)?;
        // A texture of the vertex colors would replace the coordinates that give the tangents.
        let material = match is_glass {
            true => material,
            false => model.with_vertex_colors(shape, material)?,
        };
        model
            .instances
            .extend(transforms.iter().map(|&transform| ModelInstance {
                mesh: shape,
                material,
                transform,
            }));
        Ok(())
    }
}

/// Fails if the instances that [`INSTANCING`] lists for all shown nodes are more than [`MAX_INSTANCES`], or do not fit
/// into memory. An instance of a mesh with several primitives counts as several. Many nodes may share few bytes of
/// transforms, so that the size of a file does not bound them.
fn check_instances(file: &File, tree: &Tree) -> Result<(), String> {
    let root = &file.root;
    let mut total = 0u64;
    for &index in tree.order.iter().filter(|&&node| !tree.hidden[node]) {
        let node = &root.nodes[index];
        let Some(mesh) = node.mesh.and_then(|mesh| root.meshes.get(mesh.value())) else {
            continue;
        };
        let extensions = node.extensions.as_ref();
        let written = extensions.and_then(|extensions| extensions.others.get(INSTANCING));
        let attributes = written.and_then(|written| written.get("attributes")?.as_object());
        let accessors = attributes.into_iter().flat_map(|map| map.values());
        let counts = accessors.filter_map(|accessor| {
            let accessor = usize::try_from(accessor.as_u64()?).ok()?;
            file.element_count(accessor).ok()
        });
        let copies = counts.min().unwrap_or(0) as u64;
        total = total.saturating_add(copies.saturating_mul(mesh.primitives.len() as u64));
    }
    if total > MAX_INSTANCES {
        return Err(format!(
            "has {total} instances ({INSTANCING}), but the limit is {MAX_INSTANCES}; export it with fewer"
        ));
    }
    let bytes = size_of::<ModelInstance>() + size_of::<Instance>();
    memory::check(total.saturating_mul(bytes as u64))
        .map_err(|problem| format!("its {total} instances: {problem}"))
}

/// Returns the transforms to scene coordinates of the node's mesh: `transform`, or one for each instance that
/// `EXT_mesh_gpu_instancing` lists. Fails if that extension is invalid.
fn instance_transforms(
    file: &File,
    node: &Node,
    transform: DAffine3,
) -> Result<Vec<DAffine3>, String> {
    let extensions = node.extensions.as_ref();
    let Some(written) = extensions.and_then(|extensions| extensions.others.get(INSTANCING)) else {
        return Ok(vec![transform]);
    };
    let accessor = |name: &str| {
        let index = written.get("attributes")?.get(name)?;
        Some(
            index
                .as_u64()
                .and_then(|index| usize::try_from(index).ok())
                .unwrap_or(usize::MAX),
        )
    };
    let translations = accessor("TRANSLATION")
        .map(|index| file.floats::<3>(index))
        .transpose()?;
    let rotations = accessor("ROTATION")
        .map(|index| file.floats::<4>(index))
        .transpose()?;
    let scales = accessor("SCALE")
        .map(|index| file.floats::<3>(index))
        .transpose()?;
    let lengths = [
        translations.as_ref().map(Vec::len),
        rotations.as_ref().map(Vec::len),
        scales.as_ref().map(Vec::len),
    ];
    let mut given = lengths.into_iter().flatten();
    let count = given.next().unwrap_or(0);
    if given.any(|length| length != count) {
        return Err(format!(
            "its {INSTANCING} has attributes of different lengths"
        ));
    }
    let triple = |values: [f32; 3]| DVec3::from_array(values.map(f64::from));
    (0..count)
        .map(|index| {
            let rotation = rotations.as_ref().map_or(DQuat::IDENTITY, |all| {
                DQuat::from_array(all[index].map(f64::from))
            });
            let copy = transform
                * DAffine3::from_scale_rotation_translation(
                    scales.as_ref().map_or(DVec3::ONE, |all| triple(all[index])),
                    unit_quaternion(rotation)?,
                    translations
                        .as_ref()
                        .map_or(DVec3::ZERO, |all| triple(all[index])),
                );
            if copy.is_finite() {
                Ok(copy)
            } else {
                Err(format!(
                    "its {INSTANCING} has a transform {index} that is not finite"
                ))
            }
        })
        .collect()
}

/// Returns the matrix of each joint of the skin with this index, from mesh coordinates to scene coordinates in the pose
/// of `tree`. Returns `None` if a joint is not in the scene, and fails if the skin is invalid.
fn joint_matrices(
    file: &File,
    skin: usize,
    tree: &Tree,
    model: &mut Model,
) -> Result<Option<Vec<DAffine3>>, String> {
    let missing = || format!("there is no skin {skin}");
    let written = file.root.skins.get(skin).ok_or_else(missing)?;
    let bound = match written.inverse_bind_matrices {
        Some(accessor) => Some(file.floats::<16>(accessor.value())?),
        None => None,
    };
    for matrix in bound.iter().flatten() {
        check_matrix(Some(matrix), &format!("skin {skin}"), model);
    }
    let mut joints = Vec::new();
    for (index, joint) in written.joints.iter().enumerate() {
        let transform = tree.transforms.get(joint.value()).ok_or_else(|| {
            format!(
                "skin {skin} names node {}, which does not exist",
                joint.value()
            )
        })?;
        let Some(transform) = transform else {
            return Ok(None);
        };
        let inverse = match &bound {
            Some(matrices) => matrices
                .get(index)
                .ok_or_else(|| format!("skin {skin} has fewer matrices than joints"))?
                .map(f64::from),
            None => DMat4::IDENTITY.to_cols_array(),
        };
        let moved = *transform * DAffine3::from_mat4(DMat4::from_cols_array(&inverse));
        if !moved.is_finite() {
            return Err(format!(
                "skin {skin} has a matrix {index} that is not finite"
            ));
        }
        joints.push(moved);
    }
    Ok(Some(joints))
}

/// Reads the light with this index, at a node with `transform`. Fails if the light does not exist or is invalid.
///
/// Its strength is the file's color times intensity, unconverted. Later, [`convert_photometric_lights`] divides it by
/// 683 if a light of the model is so bright that all are taken to be in candela or lux. Otherwise the number counts as
/// W/sr or W/m².
fn read_light(
    file: &File,
    index: usize,
    transform: DAffine3,
    model: &mut Model,
) -> Result<ModelLight, String> {
    let extensions = file.root.extensions.as_ref();
    let written = extensions.and_then(|extensions| extensions.khr_lights_punctual.as_ref());
    let light = written
        .and_then(|KhrLightsPunctual { lights, .. }| lights.get(index))
        .ok_or_else(|| format!("there is no light {index}"))?;
    let wrong = |problem: String| format!("light {index}: {problem}");
    let strength = Vec3::from_array(light.color) * light.intensity;
    let shines = strength.is_finite() && strength.min_element() >= 0.0;
    if !shines || strength.max_element() >= SAMPLE_LIMIT {
        return Err(wrong(format!(
            "its color times its intensity is {strength}, expected numbers from 0 to below {SAMPLE_LIMIT}"
        )));
    }
    if light.range.is_some() {
        let text = "ignored: the range of {}; light reaches infinitely far";
        model.note_count(text, ["light", "lights"], 1);
    }
    let kind = match light.type_ {
        Checked::Valid(punctual::Type::Point) => LightKind::Point,
        Checked::Valid(punctual::Type::Directional) => LightKind::Directional,
        Checked::Valid(punctual::Type::Spot) => {
            let spot = light.spot.clone().unwrap_or_default();
            let inner = f64::from(spot.inner_cone_angle);
            let outer = f64::from(spot.outer_cone_angle);
            if !(0.0 <= inner && inner <= outer && outer <= std::f64::consts::FRAC_PI_2 + 1e-6) {
                return Err(wrong(format!(
                    "its cone is from {inner} to {outer}, expected 0 ≤ innerConeAngle ≤ outerConeAngle ≤ π/2"
                )));
            }
            if outer == 0.0 {
                model.note(DARK_SPOT.to_owned());
            }
            LightKind::Spot { inner, outer }
        }
        Checked::Invalid => return Err(wrong("its type is unknown".to_owned())),
    };
    Ok(ModelLight {
        transform,
        strength,
        kind,
    })
}
