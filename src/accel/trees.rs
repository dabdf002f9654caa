//! Builds the BVHs of a scene: one over its primitives and instances, and one over each mesh that instances use.

mod instance_nodes;
pub(crate) mod support;

use std::{
    mem,
    sync::{Arc, OnceLock, Weak},
};

use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use self::{
    instance_nodes::{rounded_down, rounded_up},
    support::Support,
};
use crate::{
    Error,
    accel::{
        bvh::{
            INSTANCED_SLACK, Node, STACK_SIZE, Tree,
            builder::{build_from, parts::Effort, reach, source::Source},
            wide::{SimdInstancedScene, SimdScene},
        },
        instance::{
            COORDINATES, Corners, Instance, LEFT_HANDED, MeshVertex, NO_MATERIAL, NORMALS,
            SECOND_COORDINATES, TANGENTS,
        },
        primitive::{INSTANCE, Primitive},
    },
    math::max_f32,
    scene::{self, MaterialUse, Scene, Sphere, Triangle, memory},
};

/// The geometry of a scene as traversal reads it. It refers to materials by index only, so it stays valid when they
/// change.
pub struct SceneBvhs {
    /// BVH nodes: the tree of the scene, its root first, then the trees of the meshes.
    pub(crate) nodes: Arc<Vec<Node>>,
    /// Primitives in the order of the leaves: those of the scene in world space, then the triangles of its meshes in
    /// object space.
    pub(crate) primitives: Arc<Vec<Primitive>>,
    /// Instances, by index.
    pub(crate) instances: Arc<Vec<Instance>>,
    /// Vertex indices of the triangles of meshes that have more than positions.
    pub(crate) corners: Arc<Vec<Corners>>,
    /// Vertex attributes of meshes besides positions.
    pub(crate) vertices: Arc<Vec<MeshVertex>>,
    /// Largest absolute coordinate of the scene in metres.
    pub(crate) extent: f32,
    /// The scene prepared for SIMD traversal, see
    /// [`RenderScene::simd_scene`](crate::device::render_scene::RenderScene::simd_scene).
    pub(crate) simd_scene: OnceLock<Option<SimdScene>>,
    /// The scene prepared for SIMD traversal of instances, see
    /// [`RenderScene::simd_instanced_scene`](crate::device::render_scene::RenderScene::simd_instanced_scene).
    pub(crate) simd_instanced_scene: OnceLock<Option<SimdInstancedScene>>,
    /// The shapes over which the trees were built.
    shapes: Shapes,
}

/// The shapes of a scene, to recognise them without comparing them, and their largest material index.
#[derive(Default)]
struct Shapes {
    triangles: Weak<Vec<Triangle>>,
    spheres: Weak<Vec<Sphere>>,
    meshes: Weak<Vec<scene::Mesh>>,
    instances: Weak<Vec<scene::Instance>>,
    material: MaterialUse,
}

impl Shapes {
    /// Returns whether a scene has these very shapes, in the same memory.
    fn are_of(&self, scene: &Scene) -> bool {
        self.triangles.as_ptr() == Arc::as_ptr(&scene.triangles)
            && self.spheres.as_ptr() == Arc::as_ptr(&scene.spheres)
            && self.meshes.as_ptr() == Arc::as_ptr(&scene.meshes)
            && self.instances.as_ptr() == Arc::as_ptr(&scene.instances)
    }
}

use crate::scene::limits::{BUILDING_BYTES, INSTANCE_BYTES};

impl SceneBvhs {
    /// Builds the trees of a scene.
    ///
    /// # Errors
    /// If the shapes are invalid, see [`Scene::check_shapes`], if a tree would be too deep for the traversal stack, or
    /// if memory does not suffice.
    pub fn of(scene: &Scene) -> Result<SceneBvhs, Error> {
        SceneBvhs::with_effort(scene, Effort::for_scene(primitive_count(scene)))
    }

    /// Builds the trees of a scene that may be replaced soon, such as one that a user edits or an animation displays.
    ///
    /// For up to 131,072 primitives, building takes a fifth of the time of [`SceneBvhs::of`], and rays take up to 4 %
    /// longer. Larger scenes are built alike. The film is the same. Fails like [`SceneBvhs::of`].
    pub fn for_short_use(scene: &Scene) -> Result<SceneBvhs, Error> {
        SceneBvhs::with_effort(scene, Effort::FAST)
    }

    /// Builds the trees of a scene with this effort. Fails like [`SceneBvhs::of`].
    fn with_effort(scene: &Scene, effort: Effort) -> Result<SceneBvhs, Error> {
        let material = scene.check_shapes()?;
        let primitive_count = primitive_count(scene);
        let of_instances = scene.instances.len() as u64 * INSTANCE_BYTES;
        let bytes = primitive_count as u64 * BUILDING_BYTES + of_instances;
        memory::check(bytes).map_err(|problem| Error::File {
            file: scene.path.display().to_string(),
            problem: format!(
                "the trees over its {primitive_count} triangles, spheres and instances {problem}; use smaller meshes"
            ),
        })?;
        let trees = build(scene, effort).ok_or_else(|| Error::TreeTooDeep {
            scene: scene.path.clone(),
        })?;
        let shapes = Shapes {
            triangles: Arc::downgrade(&scene.triangles),
            spheres: Arc::downgrade(&scene.spheres),
            meshes: Arc::downgrade(&scene.meshes),
            instances: Arc::downgrade(&scene.instances),
            material,
        };
        Ok(SceneBvhs { shapes, ..trees })
    }

    /// Returns whether the trees were built over the shapes of a scene, in the same memory.
    pub(crate) fn are_of(&self, scene: &Scene) -> bool {
        self.shapes.are_of(scene)
    }

    /// Checks that the trees belong to a scene, and that the materials of its shapes exist. Shapes in other memory than
    /// those of the trees are checked again.
    ///
    /// # Errors
    /// Those of [`Scene::check`]. [`Error::Setting`] if the scene has other shapes than the trees.
    pub(crate) fn check_scene(&self, scene: &Scene) -> Result<(), Error> {
        if self.shapes.are_of(scene) {
            return Ok(scene.check_materials_exist(self.shapes.material.clone())?);
        }
        scene.check_materials_exist(scene.check_shapes()?)?;
        let fits = self.primitives.len() == primitive_count(scene)
            && self.instances.len() == scene.instances.len();
        match fits {
            true => Ok(()),
            false => Err(Error::Setting {
                setting: "trees".to_owned(),
                problem: "they belong to another scene; build those of this scene".to_owned(),
            }),
        }
    }

    /// Wraps the tree of a scene without instances.
    fn new(tree: Tree) -> SceneBvhs {
        SceneBvhs {
            nodes: Arc::new(tree.nodes),
            primitives: Arc::new(tree.primitives),
            instances: Arc::default(),
            corners: Arc::default(),
            vertices: Arc::default(),
            extent: tree.extent,
            simd_scene: OnceLock::new(),
            simd_instanced_scene: OnceLock::new(),
            shapes: Shapes::default(),
        }
    }
}

/// Returns the number of leaf items of all trees of the scene: triangles, also those of meshes, spheres and instances.
pub(crate) fn primitive_count(scene: &Scene) -> usize {
    let in_meshes: usize = scene.meshes.iter().map(|mesh| mesh.triangles.len()).sum();
    top_level_count(scene) + in_meshes
}

/// Returns the number of leaf items of the scene's own tree: triangles, spheres and instances, without the triangles of
/// meshes.
pub(crate) fn top_level_count(scene: &Scene) -> usize {
    scene.triangles.len() + scene.spheres.len() + scene.instances.len()
}

/// The BVH of a mesh, with its place in the scene's buffers.
struct MeshTree {
    /// The mesh's BVH.
    tree: Tree,
    /// Index of the mesh's root node among the scene's nodes.
    root: u32,
    /// See `Instance::corners`.
    corners: u32,
}

/// Builds the trees of a scene with this effort, or with less where a tree would be too deep.
///
/// Returns `None` if a traversal would still need more than [`STACK_SIZE`] stack entries.
fn build(scene: &Scene, effort: Effort) -> Option<SceneBvhs> {
    if scene.instances.is_empty() {
        return build_from(&Source::Scene(scene, &[]), effort, STACK_SIZE).map(SceneBvhs::new);
    }

    let mut grown = mesh_trees(&scene.meshes, effort)?;
    let deepest = grown.iter().map(|grown| grown.tree.stack_height).max();
    let flat = Source::Scene(scene, &[]);
    let flat_extent = (0..flat.count() as u32).into_par_iter();
    let flat_extent = flat_extent
        .map(|index| reach(&flat.primitive(index)))
        .reduce(|| 0.0, max_f32);
    let boxes: Vec<(DVec3, DVec3)> = {
        let supports: Vec<Support<'_>> = grown
            .par_iter()
            .map(|mesh| Support::new(&mesh.tree.primitives))
            .collect();
        let of = |instance: &scene::Instance| bounds(instance, &supports[instance.mesh as usize]);
        scene.instances.par_iter().map(of).collect()
    };
    let extent = boxes.iter().fold(flat_extent, |extent, (low, high)| {
        max_f32(extent, low.abs().max(high.abs()).max_element() as f32)
    });
    let boxed = |(number, (instance, &(low, high))): (u32, (&scene::Instance, &(DVec3, DVec3)))| {
        let pad = f64::from(extent) * pad(instance);
        Primitive {
            a: rounded_down(low - pad),
            b: rounded_up(high + pad),
            kind_bits: INSTANCE,
            material: number,
            ..Primitive::default()
        }
    };
    let numbered = (0..).zip(scene.instances.iter().zip(&boxes));
    let instances: Vec<Primitive> = numbered.map(boxed).collect();
    let all = Source::Scene(scene, &instances);
    let above = build_from(&all, effort, STACK_SIZE.checked_sub(deepest?)?)?;
    drop((instances, boxes));
    let (mut nodes, mut primitives) = (above.nodes, above.primitives);
    let top_count = nodes.len();
    let trees = || grown.iter().map(|grown| &grown.tree);
    nodes.reserve_exact(trees().map(|tree| tree.nodes.len()).sum());
    primitives.reserve_exact(trees().map(|tree| tree.primitives.len()).sum());
    let (mut corners, mut vertices) = (Vec::new(), Vec::new());
    for (grown, mesh) in grown.iter_mut().zip(scene.meshes.iter()) {
        grown.root = nodes.len() as u32;
        grown.corners = (corners.len() as u32).wrapping_sub(primitives.len() as u32);
        if flags(mesh) != 0 {
            attributes(mesh, &grown.tree.primitives, &mut corners, &mut vertices);
        }
        let first = primitives.len() as u32;
        // Frees the mesh's own lists, because all trees of a scene do not fit into memory twice.
        primitives.append(&mut mem::take(&mut grown.tree.primitives));
        let root = grown.root;
        let moved = mem::take(&mut grown.tree.nodes).into_iter();
        nodes.extend(moved.map(|node| Node {
            child_base: node.child_base + root,
            primitive_base: node.primitive_base + first,
            ..node
        }));
    }
    let roots: Vec<u32> = grown.iter().map(|grown| grown.root).collect();
    instance_nodes::complete(
        &mut nodes,
        top_count,
        &primitives,
        &scene.instances,
        &roots,
        extent,
    );
    let instances = scene
        .instances
        .iter()
        .map(|instance| {
            let mesh = instance.mesh as usize;
            place(instance, &grown[mesh], flags(&scene.meshes[mesh]))
        })
        .collect();
    Some(SceneBvhs {
        instances: Arc::new(instances),
        corners: Arc::new(corners),
        vertices: Arc::new(vertices),
        ..SceneBvhs::new(Tree {
            nodes,
            primitives,
            extent,
            stack_height: 0,
        })
    })
}

/// Builds the BVH of each mesh in parallel, with offsets of 0 into the buffers of the scene. Returns `None` if one is
/// too deep.
fn mesh_trees(meshes: &[scene::Mesh], effort: Effort) -> Option<Vec<MeshTree>> {
    meshes
        .par_iter()
        .map(|mesh| {
            let tree = build_from(&Source::Mesh(mesh), effort, STACK_SIZE)?;
            Some(MeshTree {
                tree,
                root: 0,
                corners: 0,
            })
        })
        .collect()
}

/// Returns the 3×3 matrix of an instance's transform.
fn axes(instance: &scene::Instance) -> DMat3 {
    let [x, y, z] = instance.axes.map(Vec3::as_dvec3);
    DMat3::from_cols(x, y, z)
}

/// Returns the world-space box around the transformed vertices of a mesh, as minimum and maximum.
fn bounds(instance: &scene::Instance, mesh: &Support<'_>) -> (DVec3, DVec3) {
    let axes = axes(instance);
    let reach = |sign: f64| {
        let along = |axis: usize| mesh.reach(axes.row(axis) * sign) * sign;
        DVec3::new(along(0), along(1), along(2)) + instance.position.as_dvec3()
    };
    (reach(-1.0), reach(1.0))
}

/// Returns the maximum over the rows of the sum of absolute values (infinity norm, for a matrix of absolute values).
fn largest_row(matrix: DMat3) -> f64 {
    let sums = matrix.x_axis.abs() + matrix.y_axis.abs() + matrix.z_axis.abs();
    sums.max_element()
}

/// Returns the factor by which rounding errors grow on the way into the mesh and back: 1 for axis-aligned transforms,
/// up to 3 for other rotations, and more with shear or with uneven scales of other axes.
fn condition(instance: &scene::Instance) -> f64 {
    let (axes, inverse) = (axes(instance), axes(instance).inverse());
    let magnitudes = |matrix: DMat3| {
        DMat3::from_cols(
            matrix.x_axis.abs(),
            matrix.y_axis.abs(),
            matrix.z_axis.abs(),
        )
    };
    largest_row(magnitudes(axes) * magnitudes(inverse))
}

/// Returns by how much the boxes of an instance and of its node's children are enlarged, relative to the scene's
/// extent. It is 0 where the slack of all rays suffices.
fn pad(instance: &scene::Instance) -> f64 {
    let condition = condition(instance);
    let moderate = f64::from(INSTANCED_SLACK);
    if condition <= moderate {
        0.0
    } else {
        condition.min(1e6) / 524_288.0
    }
}

/// Returns the instance of a mesh as traversal reads it. `flags` are the bits of its mesh.
fn place(instance: &scene::Instance, mesh: &MeshTree, flags: u32) -> Instance {
    let axes = axes(instance);
    let inverse = axes.inverse();
    let row = |number: usize| inverse.row(number).as_vec3();
    let mirrored = if axes.determinant() < 0.0 {
        LEFT_HANDED
    } else {
        0
    };
    let position = instance.position;
    // In units of the rounding of an f32, 2⁻²⁴: a point has an error of 12 units of the mesh's coordinates,
    // transformed, and 2 of the position; the way back into the mesh adds 5, times the condition. The rest is reserve.
    let error_per_unit = largest_row(axes) * condition(instance) / 524_288.0;
    Instance {
        inverse_x: row(0),
        inverse_y: row(1),
        inverse_z: row(2),
        root: mesh.root,
        extent: mesh.tree.extent,
        material: instance.material.unwrap_or(NO_MATERIAL),
        position,
        flags: flags | mirrored,
        axis_x: instance.axes[0],
        axis_y: instance.axes[1],
        axis_z: instance.axes[2],
        corners: mesh.corners,
        error: position.abs().max_element() / 2_097_152.0,
        error_per_unit: error_per_unit as f32,
    }
}

/// Returns the bits of `Instance::flags` that tell which vertex attributes a mesh has.
fn flags(mesh: &scene::Mesh) -> u32 {
    let bit = |has: bool, bit| if has { bit } else { 0 };
    bit(!mesh.normals.is_empty(), NORMALS)
        | bit(!mesh.uvs.is_empty(), COORDINATES)
        | bit(!mesh.tangents.is_empty(), TANGENTS)
        | bit(has_second(mesh), SECOND_COORDINATES)
}

/// Returns whether a mesh has two sets of texture coordinates.
fn has_second(mesh: &scene::Mesh) -> bool {
    !mesh.uvs.is_empty() && !mesh.second_uvs.is_empty()
}

/// Appends a mesh's vertex attributes, and the vertex indices of its triangles in the order of its BVH.
fn attributes(
    mesh: &scene::Mesh,
    ordered: &[Primitive],
    corners: &mut Vec<Corners>,
    vertices: &mut Vec<MeshVertex>,
) {
    let first = vertices.len() as u32;
    // See `SECOND_COORDINATES`.
    let stride = if has_second(mesh) { 2 } else { 1 };
    let tangent = |vertex: usize| mesh.tangents.get(vertex).copied().unwrap_or([0.0; 4]);
    corners.extend(ordered.iter().map(|primitive| {
        let triangle = mesh.triangles[primitive.number as usize];
        let [a, b, c] = triangle.map(|vertex| stride * vertex + first);
        Corners {
            a,
            b,
            c,
            handedness: tangent(triangle[0] as usize)[3],
        }
    }));
    for vertex in 0..mesh.positions.len() {
        let [u, v] = mesh.uvs.get(vertex).copied().unwrap_or([0.0; 2]);
        let [x, y, z, _] = tangent(vertex);
        vertices.push(MeshVertex {
            normal: mesh.normals.get(vertex).copied().unwrap_or(Vec3::ZERO),
            u,
            tangent: Vec3::new(x, y, z),
            v,
        });
        if stride == 2 {
            let [u, v] = mesh.second_uvs[vertex];
            vertices.push(MeshVertex {
                u,
                v,
                ..MeshVertex::default()
            });
        }
    }
}
