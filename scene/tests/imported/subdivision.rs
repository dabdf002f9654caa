//! Tests of subdivision surfaces of pbrt.

use glam::Vec3;
use raysieve_scene::Mesh;

use super::{assert_noted, pbrt::world};

/// An octahedron whose triangles are counter-clockwise seen from outside.
const OCTAHEDRON: &str = "\"point3 P\" [ 1 0 0  -1 0 0  0 1 0  0 -1 0  0 0 1  0 0 -1 ] \
     \"integer indices\" [ 0 2 4  2 1 4  1 3 4  3 0 4  2 0 5  1 2 5  3 1 5  0 3 5 ]";

/// A square of four triangles around its center, counter-clockwise seen from +z.
const SQUARE: &str = "\"point3 P\" [ -1 -1 0  1 -1 0  1 1 0  -1 1 0  0 0 0 ] \
     \"integer indices\" [ 0 1 4  1 2 4  2 3 4  3 0 4 ]";

/// Six vertices, without triangles.
const POINTS: &str = "\"point3 P\" [ 0 0 0  1 0 0  0 1 0  0 0 1  0 -1 0  5 5 5 ]";

/// Loads a subdivision surface, checks that it is finite, and returns its mesh and the warnings.
fn surface(levels: i64, control: &str) -> (Mesh, Vec<String>) {
    let shape = format!("Shape \"loopsubdiv\" \"integer levels\" {levels} {control}");
    let scene = world(&shape).unwrap();
    let mesh = scene.meshes[0].clone();
    assert!(
        mesh.positions
            .iter()
            .chain(&mesh.normals)
            .all(|vector| vector.is_finite())
    );
    let notes = scene
        .notes
        .iter()
        .filter(|note| note.contains("subdivision"));
    (mesh, notes.cloned().collect())
}

#[test]
fn each_level_has_points_of_the_same_smooth_surface() {
    for (levels, triangles) in [(0, 8), (1, 32), (3, 512), (-7, 8)] {
        let (mesh, notes) = surface(levels, OCTAHEDRON);
        assert_eq!((mesh.triangles.len(), notes.len()), (triangles, 0));
        let corner = (mesh.positions.iter())
            .position(|at| at.abs_diff_eq(Vec3::new(0.5, 0.0, 0.0), 1e-6))
            .unwrap();
        // In pbrt, the front is the side from which the triangles of the control mesh are clockwise.
        assert!(mesh.normals[corner].abs_diff_eq(Vec3::NEG_X, 1e-5));
        for &[a, b, c] in &mesh.triangles {
            let [a, b, c] = [a, b, c].map(|vertex| mesh.positions[vertex as usize]);
            assert!((b - a).cross(c - a).dot(a) < 0.0);
        }
    }
}

#[test]
fn an_open_surface_stays_in_its_plane() {
    for levels in 0..3 {
        let (mesh, _) = surface(levels, SQUARE);
        assert!(mesh.positions.iter().all(|at| at.z == 0.0));
        for normal in &mesh.normals {
            assert!(normal.abs_diff_eq(Vec3::NEG_Z, 1e-6), "{normal}");
        }
        // Without a subdivision, a corner is moved by a fifth to each of its neighbours.
        let corner = mesh
            .positions
            .iter()
            .map(|at| at.x + at.y)
            .fold(0.0, f32::max);
        assert!((1.19..1.4).contains(&corner), "{corner}");
    }
}

#[test]
fn vertices_without_a_fan_of_triangles_stay() {
    for indices in [
        // Three triangles at one edge.
        "0 1 2 0 1 3 0 1 4",
        // Two triangles with different orientations at one edge.
        "0 1 2 0 1 3",
        // Equal triangles.
        "0 1 2 0 1 2",
        // Two triangles that touch at a vertex.
        "0 1 2 0 3 4",
    ] {
        let (mesh, _) = surface(2, &format!("{POINTS} \"integer indices\" [ {indices} ]"));
        assert!(mesh.positions.contains(&Vec3::ZERO), "{indices}");
    }
}

#[test]
fn degenerate_control_meshes_give_finite_surfaces() {
    for indices in [
        "0 1 2 0 2 1",
        "0 0 1 5 1 2",
        "0 0 0 5 1 2",
        "0 1 1 1 0 0 5 1 2",
        "0 1 2 0 2 1 0 1 2",
    ] {
        // This checks that all numbers are finite.
        surface(2, &format!("{POINTS} \"integer indices\" [ {indices} ]"));
    }
}

#[test]
fn too_many_levels_become_fewer() {
    let triangle = "\"point3 P\" [ 0 0 0  1 0 0  0 1 0 ]";
    let scene = world(&format!(
        "Shape \"loopsubdiv\" \"integer levels\" 4000000000 {triangle}"
    ))
    .unwrap();
    assert_noted(&scene, "large subdivision surfaces by fewer levels");
    assert_eq!(scene.meshes[0].triangles.len(), 1 << 18);
}

#[test]
fn normals_of_a_control_mesh_have_no_effect() {
    let normals = "\"normal N\" [ 0 0 1 0 0 1 0 0 1 0 0 1 0 0 -1 ]";
    let (plain, _) = surface(1, SQUARE);
    let (with, _) = surface(1, &format!("{SQUARE} {normals}"));
    assert!(plain.positions == with.positions && plain.normals == with.normals);
}
