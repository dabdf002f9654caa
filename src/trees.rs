//! The trees of a scene: one over all that stands in it, and one for each mesh that instances place.

pub(crate) mod clusters;
pub(crate) mod collapse;
pub(crate) mod parts;
pub(crate) mod shares;

use std::sync::{Arc, OnceLock};

use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use crate::{
    Error,
    bvh::{self, Node, PLACED_SLACK, STACK_SIZE, Tree, wide::Wide},
    instance::{
        COORDINATES, Corners, Instance, LEFT_HANDED, MeshVertex, NO_MATERIAL, NORMALS,
        SECOND_COORDINATES, TANGENTS,
    },
    math::greater,
    primitive::{INSTANCE, Primitive, SPHERE, TRIANGLE},
    scene::{self, Scene, memory},
};

/// What rays are traced through, and what their hits look like. It knows of materials only by their numbers, so that it
/// outlives a change of them.
pub(crate) struct Trees {
    pub(crate) nodes: Arc<Vec<Node>>,
    pub(crate) primitives: Arc<Vec<Primitive>>,
    pub(crate) instances: Arc<Vec<Instance>>,
    pub(crate) corners: Arc<Vec<Corners>>,
    pub(crate) vertices: Arc<Vec<MeshVertex>>,
    /// The largest coordinate of the scene.
    pub(crate) extent: f32,
    /// See [`World::wide`](crate::world::World::wide).
    pub(crate) wide: OnceLock<Option<Wide>>,
}

/// Memory of a primitive at its peak: while the tree is built, and while a processor with vectors makes its own of it, which
/// takes up to 308 bytes in all; measured on `DisplacedSphere`s of 1 to 4 million triangles.
pub(crate) const BUILDING_BYTES: u64 = 320;

impl Trees {
    /// Builds them. `Err` for primitives that no tree of bounded depth holds, or no memory.
    pub(crate) fn of(scene: &Scene) -> Result<Trees, Error> {
        let in_meshes: usize = scene.meshes.iter().map(|mesh| mesh.triangles.len()).sum();
        let primitive_count = standing(scene) + in_meshes;
        memory::check(primitive_count as u64 * BUILDING_BYTES).map_err(|problem| Error::File {
            file: scene.path.display().to_string(),
            problem: format!(
                "the trees over its {primitive_count} triangles, spheres and instances {problem}; use smaller meshes"
            ),
        })?;
        build(scene).ok_or_else(|| Error::TreeTooDeep {
            scene: scene.path.clone(),
        })
    }

    fn new(tree: Tree) -> Trees {
        Trees {
            nodes: Arc::new(tree.nodes),
            primitives: Arc::new(tree.primitives),
            instances: Arc::default(),
            corners: Arc::default(),
            vertices: Arc::default(),
            extent: tree.extent,
            wide: OnceLock::new(),
        }
    }
}

/// How many triangles, spheres and instances stand in the scene.
pub(crate) fn standing(scene: &Scene) -> usize {
    scene.triangles.len() + scene.spheres.len() + scene.instances.len()
}

/// Where a mesh's tree stands among the others.
struct GrownMesh {
    tree: Tree,
    /// The box around it.
    low: Vec3,
    high: Vec3,
    root: u32,
    corners: u32,
}

/// `None` if the primitives lie so that a ray's stack would not hold what waits.
fn build(scene: &Scene) -> Option<Trees> {
    let triangles = scene
        .triangles
        .par_iter()
        .map(|triangle| flat(triangle.vertices, triangle.material));
    let spheres = scene.spheres.iter().map(|sphere| Primitive {
        a: sphere.center,
        b: Vec3::new(sphere.radius, 0.0, 0.0),
        material: sphere.material,
        kind: SPHERE,
        ..Primitive::default()
    });
    let mut standing: Vec<Primitive> = triangles.collect();
    standing.extend(spheres);
    if scene.instances.is_empty() {
        number(&mut standing);
        return bvh::build(&standing, STACK_SIZE).map(Trees::new);
    }

    let mut grown = grow(&scene.meshes)?;
    let deepest = grown.iter().map(|grown| grown.tree.waiting).max();
    let flat_extent = standing.iter().fold(0.0, |extent, primitive| {
        greater(extent, bvh::reach(primitive))
    });
    let boxes: Vec<(DVec3, DVec3)> = scene
        .instances
        .iter()
        .map(|instance| bounds(instance, &grown[instance.mesh as usize]))
        .collect();
    let extent = boxes.iter().fold(flat_extent, |extent, (low, high)| {
        greater(extent, low.abs().max(high.abs()).max_element() as f32)
    });
    standing.extend((0..).zip(scene.instances.iter().zip(&boxes)).map(
        |(number, (instance, &(low, high)))| {
            let pad = f64::from(extent) * pad(instance);
            Primitive {
                a: (low - pad).as_vec3().map(f32::next_down),
                b: (high + pad).as_vec3().map(f32::next_up),
                kind: INSTANCE,
                material: number,
                ..Primitive::default()
            }
        },
    ));
    number(&mut standing);
    // Where an instance is entered wait its siblings, in two groups, besides what waits in its mesh.
    let above = bvh::build(&standing, STACK_SIZE.checked_sub(deepest? + 2)?)?;
    let (mut nodes, mut primitives) = (above.nodes, above.primitives);
    let (mut corners, mut vertices) = (Vec::new(), Vec::new());
    for (grown, mesh) in grown.iter_mut().zip(scene.meshes.iter()) {
        grown.root = nodes.len() as u32;
        grown.corners = (corners.len() as u32).wrapping_sub(primitives.len() as u32);
        if holds(mesh) != 0 {
            attributes(mesh, &grown.tree.primitives, &mut corners, &mut vertices);
        }
        let first = primitives.len() as u32;
        primitives.append(&mut grown.tree.primitives);
        let moved = grown.tree.nodes.drain(..).map(|node| Node {
            child_base: node.child_base + grown.root,
            primitive_base: node.primitive_base + first,
            ..node
        });
        nodes.extend(moved);
    }
    let instances = scene
        .instances
        .iter()
        .map(|instance| {
            let mesh = instance.mesh as usize;
            place(instance, &grown[mesh], holds(&scene.meshes[mesh]))
        })
        .collect();
    Some(Trees {
        instances: Arc::new(instances),
        corners: Arc::new(corners),
        vertices: Arc::new(vertices),
        ..Trees::new(Tree {
            nodes,
            primitives,
            extent,
            waiting: 0,
        })
    })
}

fn flat([a, b, c]: [Vec3; 3], material: u32) -> Primitive {
    Primitive {
        a,
        b,
        c,
        material,
        kind: TRIANGLE,
        number: 0,
    }
}

fn number(primitives: &mut [Primitive]) {
    primitives
        .par_iter_mut()
        .enumerate()
        .for_each(|(number, primitive)| primitive.number = number as u32);
}

/// A tree for each mesh, many at once.
fn grow(meshes: &[scene::Mesh]) -> Option<Vec<GrownMesh>> {
    meshes
        .par_iter()
        .map(|mesh| {
            let material = |number: usize| mesh.materials[number.min(mesh.materials.len() - 1)];
            let corner = |vertex: u32| mesh.positions[vertex as usize];
            let mut primitives: Vec<Primitive> = mesh
                .triangles
                .par_iter()
                .enumerate()
                .map(|(number, &triangle)| flat(triangle.map(corner), material(number)))
                .collect();
            number(&mut primitives);
            let tree = bvh::build(&primitives, STACK_SIZE)?;
            let corners = || {
                mesh.triangles
                    .par_iter()
                    .flatten_iter()
                    .map(|&vertex| corner(vertex))
            };
            Some(GrownMesh {
                low: corners().reduce(|| Vec3::INFINITY, Vec3::min),
                high: corners().reduce(|| Vec3::NEG_INFINITY, Vec3::max),
                tree,
                root: 0,
                corners: 0,
            })
        })
        .collect()
}

fn axes(instance: &scene::Instance) -> DMat3 {
    let [x, y, z] = instance.axes.map(Vec3::as_dvec3);
    DMat3::from_cols(x, y, z)
}

/// The box around a mesh in its place: around the corners of the mesh's own box.
fn bounds(instance: &scene::Instance, mesh: &GrownMesh) -> (DVec3, DVec3) {
    let (low, high) = (mesh.low.as_dvec3(), mesh.high.as_dvec3());
    let axes = axes(instance);
    let corners = (0..8).map(|corner| {
        let part = |bit: u32| f64::from((corner >> bit) & 1);
        let share = DVec3::new(part(0), part(1), part(2));
        axes * (low + (high - low) * share) + instance.position.as_dvec3()
    });
    corners.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), at| {
        (low.min(at), high.max(at))
    })
}

/// The sum of the magnitudes in the row where it is largest.
fn largest_row(matrix: DMat3) -> f64 {
    let sums = matrix.x_axis.abs() + matrix.y_axis.abs() + matrix.z_axis.abs();
    sums.max_element()
}

/// By how much roundings grow on the way into the mesh and back: 1 for axes at right angles that are the world's, up to 3
/// for others at right angles.
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

/// By how much an instance's box is made larger, for each unit of the scene's extent: the slack that all rays have is enough
/// for maps whose condition is moderate.
fn pad(instance: &scene::Instance) -> f64 {
    let condition = condition(instance);
    let moderate = f64::from(PLACED_SLACK);
    if condition <= moderate {
        0.0
    } else {
        condition.min(1e6) / 524_288.0
    }
}

fn place(instance: &scene::Instance, mesh: &GrownMesh, holds: u32) -> Instance {
    let axes = axes(instance);
    let inverse = axes.inverse();
    let row = |number: usize| inverse.row(number).as_vec3();
    let mirrored = if axes.determinant() < 0.0 {
        LEFT_HANDED
    } else {
        0
    };
    let position = instance.position;
    // In units of the rounding of an f32, 2⁻²⁴: a point takes 12 of the mesh's coordinates, mapped, and 2 of the position;
    // and back into the mesh 5, grown by the condition. The rest is reserve.
    let spread = largest_row(axes) * condition(instance) / 524_288.0;
    Instance {
        inverse_x: row(0),
        inverse_y: row(1),
        inverse_z: row(2),
        root: mesh.root,
        extent: mesh.tree.extent,
        material: instance.material.unwrap_or(NO_MATERIAL),
        position,
        holds: holds | mirrored,
        axis_x: instance.axes[0],
        axis_y: instance.axes[1],
        axis_z: instance.axes[2],
        corners: mesh.corners,
        error: position.abs().max_element() / 2_097_152.0,
        spread: spread as f32,
    }
}

fn holds(mesh: &scene::Mesh) -> u32 {
    let bit = |has: bool, bit| if has { bit } else { 0 };
    bit(!mesh.normals.is_empty(), NORMALS)
        | bit(!mesh.uvs.is_empty(), COORDINATES)
        | bit(!mesh.tangents.is_empty(), TANGENTS)
        | bit(has_second(mesh), SECOND_COORDINATES)
}

fn has_second(mesh: &scene::Mesh) -> bool {
    !mesh.uvs.is_empty() && !mesh.second_uvs.is_empty()
}

/// What a mesh has at its vertices, and where its triangles have it, in its tree's order.
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
