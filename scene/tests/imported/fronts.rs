//! Tests of the fronts of meshes with vertex normals, as Mitsuba 3.9.1 and pbrt-v4 have them.

use glam::Vec3;
use raysieve_scene::Scene;

use super::load;

/// Returns the geometric normal of each triangle of a scene, in world space. Fronts of mirrored instances stay outside.
fn fronts(scene: &Scene) -> Vec<Vec3> {
    let normal = |[a, b, c]: [Vec3; 3]| (b - a).cross(c - a).normalize();
    let mut fronts: Vec<Vec3> = scene
        .triangles
        .iter()
        .map(|triangle| normal(triangle.vertices))
        .collect();
    for instance in scene.instances.iter() {
        let mesh = &scene.meshes[instance.mesh as usize];
        let [right, up, back] = instance.axes;
        let side = right.cross(up).dot(back).signum();
        let at = |vertex: u32| {
            let local = mesh.positions[vertex as usize];
            right * local.x + up * local.y + back * local.z
        };
        let own = mesh.triangles.iter();
        fronts.extend(own.map(|triangle| normal(triangle.map(at)) * side));
    }
    fronts
}

/// Asserts that the two triangles of a square have these fronts.
fn assert_fronts(scene: &Scene, expected: [Vec3; 2], case: &str) {
    let found = fronts(scene);
    let near = |(one, other): (&Vec3, &Vec3)| one.distance(*other) < 1e-5;
    let agrees = |expected: [Vec3; 2]| found.iter().zip(&expected).all(near);
    assert_eq!(found.len(), 2, "{case}");
    assert!(agrees(expected), "{case}: {found:?}");
}

/// Vertex indices of two triangles of a square around +z: both counter-clockwise seen from +z, both clockwise, and one
/// of each.
const WINDINGS: [[[u32; 3]; 2]; 3] = [
    [[0, 1, 2], [0, 2, 3]],
    [[0, 2, 1], [0, 3, 2]],
    [[0, 1, 2], [0, 3, 2]],
];

/// Corners of the square.
const CORNERS: [&str; 4] = ["-1 -1 0", "1 -1 0", "1 1 0", "-1 1 0"];

/// Returns an OBJ file of the square, with normals along `normal`, or without normals if that is 0.
fn obj(winding: [[u32; 3]; 2], normal: i32) -> String {
    let positions = CORNERS.map(|corner| format!("v {corner}\n")).concat();
    let face = |corners: [u32; 3]| {
        let corner = |vertex: u32| match normal {
            0 => format!(" {}", vertex + 1),
            _ => format!(" {}//1", vertex + 1),
        };
        format!("f{}\n", corners.map(corner).concat())
    };
    let normals = match normal {
        0 => String::new(),
        _ => format!("vn 0 0 {normal}\n"),
    };
    format!("{positions}{normals}{}", winding.map(face).concat())
}

/// Returns a PLY file of the square, with normals along `normal`.
fn ply(winding: [[u32; 3]; 2], normal: i32) -> String {
    let properties = ["x", "y", "z", "nx", "ny", "nz"];
    let properties = properties.map(|name| format!("property float {name}\n"));
    let vertices = CORNERS.map(|corner| format!("{corner} 0 0 {normal}\n"));
    let faces = winding.map(|[a, b, c]| format!("3 {a} {b} {c}\n"));
    format!(
        "ply\nformat ascii 1.0\nelement vertex 4\n{}element face 2\nproperty list uchar int vertex_indices\n\
         end_header\n{}{}",
        properties.concat(),
        vertices.concat(),
        faces.concat()
    )
}

/// Loads a Mitsuba scene with `members` around a mesh file.
fn mitsuba(members: &str, name: &str, file: &str) -> Scene {
    let text = format!("<scene version=\"3.0.0\">{members}</scene>");
    load(&[("scene.xml", &text), (name, file)]).unwrap()
}

/// Returns the side of the winding for each triangle, seen from +z.
fn sides(winding: [[u32; 3]; 2]) -> [Vec3; 2] {
    winding.map(|corners| match corners[1] < corners[2] {
        true => Vec3::Z,
        false => Vec3::NEG_Z,
    })
}

const MIRROR: &str = "<transform name=\"to_world\"><scale x=\"-1\"/></transform>";
const FLIP: &str = "<boolean name=\"flip_normals\" value=\"true\"/>";
const FACES: &str = "<boolean name=\"face_normals\" value=\"true\"/>";

/// Diffuse, dielectric and `twosided` materials and area lights were measured in Mitsuba 3.9.1, from both sides in
/// each of these cases. They have the same front.
#[test]
fn the_front_of_a_mesh_of_mitsuba_is_the_side_of_its_vertex_normals() {
    for winding in WINDINGS {
        for normal in [1, -1] {
            let toward = Vec3::Z * normal as f32;
            let wound = sides(winding);
            for (kind, file) in [("obj", obj(winding, normal)), ("ply", ply(winding, normal))] {
                let name = format!("a.{kind}");
                let shape = |inner: &str| {
                    format!(
                        "<shape type=\"{kind}\"><string name=\"filename\" value=\"{name}\"/>{inner}</shape>"
                    )
                };
                let lamp = "<emitter type=\"area\"/>";
                let group = format!(
                    "<shape type=\"shapegroup\" id=\"group\">{}</shape>\
                     <shape type=\"instance\"><ref id=\"group\"/>{MIRROR}</shape>",
                    shape("")
                );
                for (members, expected) in [
                    (shape(""), [toward; 2]),
                    (shape(lamp), [toward; 2]),
                    (shape(FLIP), [-toward; 2]),
                    (shape(MIRROR), [toward; 2]),
                    (shape(&format!("{MIRROR}{FLIP}")), [-toward; 2]),
                    (group, [toward; 2]),
                    (shape(FACES), wound),
                    (shape(&format!("{FACES}{FLIP}")), wound.map(|side| -side)),
                    (shape(&format!("{FACES}{MIRROR}")), wound.map(|side| -side)),
                ] {
                    let scene = mitsuba(&members, &name, &file);
                    let case = format!("{winding:?}, normal {normal}: {members}");
                    assert_fronts(&scene, expected, &case);
                }
            }
        }
    }
}

/// Mitsuba computes missing normals from the winding, after the transform.
#[test]
fn the_front_of_a_mesh_of_mitsuba_without_normals_follows_its_winding() {
    for winding in &WINDINGS[..2] {
        let [toward, _] = sides(*winding);
        for (inner, expected) in [("", toward), (FLIP, -toward), (MIRROR, -toward)] {
            let shape = format!(
                "<shape type=\"obj\"><string name=\"filename\" value=\"a.obj\"/>{inner}</shape>"
            );
            let scene = mitsuba(&shape, "a.obj", &obj(*winding, 0));
            assert_fronts(&scene, [expected; 2], &format!("{winding:?}: {shape}"));
        }
    }
}

/// Mitsuba's computed normals are the averages of the adjacent triangles, which outvote a reversed one.
#[test]
fn a_reversed_triangle_of_a_mesh_without_normals_has_the_front_of_its_neighbours() {
    let vertex = |at: u32| format!("v {} {} 0\n", at % 4, at / 4);
    let mut file: String = (0..16).map(vertex).collect();
    for row in 0..3 {
        for column in 0..3 {
            let first = 4 * row + column + 1;
            let [right, above, opposite] = [first + 1, first + 4, first + 5];
            let (second, third) = match (row, column) {
                (1, 1) => (opposite, right),
                _ => (right, opposite),
            };
            file += &format!("f {first} {second} {third}\nf {first} {opposite} {above}\n");
        }
    }
    let shape = |inner: &str| {
        format!("<shape type=\"obj\"><string name=\"filename\" value=\"a.obj\"/>{inner}</shape>")
    };
    for (inner, reversed) in [("", 0), (FACES, 1)] {
        let scene = mitsuba(&shape(inner), "a.obj", &file);
        let fronts = fronts(&scene);
        let behind = fronts.iter().filter(|front| front.z < 0.0);
        assert_eq!((fronts.len(), behind.count()), (18, reversed), "{inner}");
    }
}

/// pbrt-v4 turns the geometric normal to the side of the interpolated vertex normals.
#[test]
fn the_front_of_a_mesh_of_pbrt_is_the_side_of_its_vertex_normals() {
    for winding in WINDINGS {
        for normal in [1, -1] {
            let toward = Vec3::Z * normal as f32;
            let indices = winding.map(|[a, b, c]| format!("{a} {b} {c} ")).concat();
            let lists = format!(
                "\"point3 P\" [{}] \"normal N\" [{}] \"integer indices\" [{indices}]",
                CORNERS.map(|corner| format!("{corner} ")).concat(),
                format!("0 0 {normal} ").repeat(4)
            );
            for shape in [
                "Shape \"plymesh\" \"string filename\" \"a.ply\"".to_owned(),
                format!("Shape \"trianglemesh\" {lists}"),
            ] {
                for (before, expected) in [
                    ("", toward),
                    ("ReverseOrientation\n", -toward),
                    ("AreaLightSource \"diffuse\"\n", toward),
                    ("Scale -1 1 1\n", toward),
                ] {
                    let text = format!("WorldBegin\n{before}{shape}\n");
                    let file = ply(winding, normal);
                    let scene = load(&[("scene.pbrt", &text), ("a.ply", &file)]).unwrap();
                    let case = format!("{winding:?}, normal {normal}: {text}");
                    assert_fronts(&scene, [expected; 2], &case);
                }
            }
        }
    }
}
