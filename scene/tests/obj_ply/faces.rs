//! Tests of PLY faces: colors, texture coordinates, images and triangle strips. Also of carriage returns as line ends.

use std::{fs, path::Path};

use glam::{Vec2, Vec3};
use raysieve::{
    device::render_scene::RenderScene,
    scene::color::srgb_value,
    scene::{Parameter, Scene, Surface},
    shading::texture::sample_texture,
};

use crate::{area, flat, folder, load};

/// The four vertices of the unit square, in PLY text.
const VERTICES: &str = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";

/// Returns a PLY file of the square's vertices. `faces` holds the rest of the header, `end_header` and the face lines.
fn square(comments: &str, faces: &str) -> String {
    let faces = faces.split_once("end_header\n").unwrap();
    format!(
        "ply\nformat ascii 1.0\n{comments}element vertex 4\nproperty float x\nproperty float y\nproperty float z\n{}\
         end_header\n{VERTICES}{}",
        faces.0, faces.1
    )
}

/// Samples the color texture of the surface at a point of the x-y plane.
fn color_at(scene: &Scene, at: Vec2) -> Vec3 {
    let world = RenderScene::new(scene).unwrap();
    for instance in scene.instances.iter() {
        let mesh = &scene.meshes[instance.mesh as usize];
        for (number, triangle) in mesh.triangles.iter().enumerate() {
            let corners = triangle.map(|vertex| mesh.positions[vertex as usize].truncate());
            let [a, b, c] = corners;
            let parts = [[b, c, at], [c, a, at], [a, b, at]].map(|part| area(part) / area(corners));
            if parts.iter().any(|&part| part < 0.0) {
                continue;
            }
            let of_mesh = mesh.materials[number % mesh.materials.len()];
            let material = instance.material.unwrap_or(of_mesh);
            let map = scene.maps[&material].textures[&Parameter::Color];
            let uvs = triangle.map(|vertex| Vec2::from_array(mesh.uvs[vertex as usize]));
            let uv = uvs[0] * parts[0] + uvs[1] * parts[1] + uvs[2] * parts[2];
            let texture = &world.textures[map.texture as usize];
            return sample_texture(&world.texels, texture, uv.x, uv.y).rgb;
        }
    }
    panic!("nothing is at {at}: {:?}", scene.notes)
}

#[test]
fn ply_faces_have_their_own_colors() {
    let path = folder("face_colors").join("model.ply");
    let text = square(
        "",
        "element face 2\nproperty list uchar int vertex_indices\nproperty uchar red\nproperty uchar green\n\
         property uchar blue\nend_header\n3 0 1 2 255 0 0\n3 0 2 3 0 128 255\n",
    );
    fs::write(&path, &text).unwrap();
    let scene = load(&path);
    assert_eq!(scene.notes, [""; 0]);
    let half = srgb_value(128.0 / 255.0);
    for (at, expected) in [
        ([0.7, 0.2], [1.0, 0.0, 0.0]),
        ([0.9, 0.8], [1.0, 0.0, 0.0]),
        ([0.2, 0.7], [0.0, half, 1.0]),
    ] {
        let found = color_at(&scene, at.into());
        assert!(found.distance(expected.into()) < 1e-6, "{at:?}: {found}");
    }
    // Equal face colors change the material and need no texture.
    fs::write(&path, text.replace("0 128 255", "255 0 0")).unwrap();
    let scene = load(&path);
    let red = Surface::Diffuse {
        albedo: Vec3::X,
        one_sided: false,
    };
    assert_eq!(scene.materials[scene.triangles[0].material as usize], red);
    assert!(scene.images.is_empty());
}

/// Photogrammetry programs and MeshLab name images in the header, and select one per face with texture coordinates.
#[test]
fn ply_faces_show_the_images_of_the_header() {
    let folder = folder("face_images");
    // Red is at the lower left, green at the upper right.
    let first = image::RgbImage::from_fn(2, 2, |x, y| match (x, y) {
        (0, 1) => image::Rgb([255, 0, 0]),
        (1, 0) => image::Rgb([0, 255, 0]),
        _ => image::Rgb([0, 0, 255]),
    });
    first.save(folder.join("first one.png")).unwrap();
    let second = image::RgbImage::from_pixel(1, 1, image::Rgb([255, 255, 255]));
    second.save(folder.join("second.png")).unwrap();
    let path = folder.join("model.ply");
    let comments = "comment VCGLIB generated\ncomment TextureFile first one.png\ncomment TextureFile C:\\scan\\second.png\n";
    let faces = "element face 2\nproperty list uchar int vertex_indices\nproperty list uchar float texcoord\n\
                 property int texnumber\nend_header\n\
                 3 0 1 2 6 0 0 1 0 1 1 0\n3 0 2 3 6 0 0 1 1 0 1 1\n";
    let text = square(comments, faces);
    fs::write(&path, &text).unwrap();
    let scene = load(&path);
    assert_eq!(scene.notes, [""; 0]);
    for (at, expected) in [
        ([0.25, 0.2], Vec3::X),
        ([0.8, 0.75], Vec3::Y),
        ([0.8, 0.25], Vec3::Z),
        ([0.2, 0.8], Vec3::ONE),
    ] {
        let found = color_at(&scene, at.into());
        let near =
            found.abs_diff_eq(expected, 0.35) && found.max_position() == expected.max_position();
        assert!(near, "{at:?}: {found}");
    }
    // A `Mesh` object with a material of the scene uses the same texture coordinates.
    let ron = "(camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40), materials: { \"m\": Diffuse(albedo: \
               Texture(file: \"second.png\")) }, objects: [Mesh(file: \"model.ply\", material: \"m\")])";
    fs::write(folder.join("scene.ron"), ron).unwrap();
    let scene = load(&folder.join("scene.ron"));
    assert!(scene.meshes[0].uvs.contains(&[1.0, 0.0]));
    // Without image numbers the first image is used, also with texture coordinates per vertex.
    let plain = text
        .replace("property int texnumber\n", "")
        .replace(" 1 1 0\n3", " 1 1\n3")
        .replace("1 1 0 1 1\n", "1 1 0 1\n");
    fs::write(&path, &plain).unwrap();
    let found = color_at(&load(&path), Vec2::new(0.25, 0.25));
    assert!(found.distance(Vec3::X) < 1e-5, "{found}");
    let by_vertex = format!(
        "ply\nformat ascii 1.0\n{comments}element vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
         property float texture_u\nproperty float texture_v\nelement face 1\nproperty list uchar int vertex_indices\n\
         end_header\n0 0 0 0 0\n1 0 0 1 0\n1 1 0 1 1\n0 1 0 0 1\n4 0 1 2 3\n"
    );
    fs::write(&path, by_vertex).unwrap();
    let found = color_at(&load(&path), Vec2::new(0.25, 0.25));
    assert!(found.distance(Vec3::X) < 1e-5, "{found}");
    // A missing image gives a note, and the rest is shown.
    fs::write(&path, text.replace("first one", "third")).unwrap();
    let scene = load(&path);
    let [note] = &scene.notes[..] else {
        panic!("{:?}", scene.notes)
    };
    assert!(
        note.contains("shown without its image: ") && note.contains("third.png"),
        "{note}"
    );
    assert_eq!(color_at(&scene, Vec2::new(0.2, 0.8)), Vec3::ONE);
    // Too few texture coordinates are an error.
    fs::write(&path, text.replace("6 0 0 1 0 1 1 0", "4 0 0 1 0 0")).unwrap();
    let problem = Scene::load(&path).unwrap_err().to_string();
    let expected = "line 19: a face has texture coordinates for 2 corners, expected 3";
    assert!(problem.ends_with(expected), "{problem}");
}

#[test]
fn ply_triangle_strips_keep_the_winding() {
    let path = folder("strips").join("model.ply");
    let text = square(
        "",
        "element tristrips 1\nproperty list int int vertex_indices\nend_header\n12 0 1 3 2 -1 3 3 0 1 -1 2 3\n",
    );
    fs::write(&path, &text).unwrap();
    let found = flat(&load(&path));
    let [a, b, c, d] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(Vec2::from_array);
    assert_eq!(found, [[a, b, d], [b, c, d], [d, b, a]]);
    for (wrong, problem) in [
        (
            "3 0 1 9",
            "names vertex 9 (from 0), but there are 4 vertices",
        ),
        ("3 0 1 -1", "has no faces, expected at least one triangle"),
    ] {
        fs::write(&path, text.replace("12 0 1 3 2 -1 3 3 0 1 -1 2 3", wrong)).unwrap();
        let found = Scene::load(&path).unwrap_err().to_string();
        assert!(found.ends_with(problem), "{found}");
    }
}

/// Old programs end lines with a carriage return alone. Binary data after a header may start with a byte that ends a
/// line.
#[test]
fn lines_may_end_with_a_carriage_return_alone() {
    let folder = folder("returns");
    fs::write(folder.join("m.mtl"), "newmtl red\rKd 1 0 0\r").unwrap();
    let obj = "mtllib m.mtl\rv 0 0 0\rv 1 0 0\rv 0 1 0\rusemtl red\rf 1 2 3\r";
    fs::write(folder.join("model.obj"), obj).unwrap();
    let scene = load(&folder.join("model.obj"));
    let red = Surface::Diffuse {
        albedo: Vec3::X,
        one_sided: false,
    };
    assert_eq!(scene.materials[scene.triangles[0].material as usize], red);
    let problem = "model.obj: line 6: a face names vertex 4, but there are 3 vertices before it";
    fs::write(folder.join("model.obj"), obj.replace("1 2 3", "1 2 4")).unwrap();
    let found = Scene::load(&folder.join("model.obj")).unwrap_err();
    assert!(found.to_string().ends_with(problem), "{found}");

    let expected = flat(&load(Path::new("../tests/meshes/pyramid_ascii.ply")));
    let text = fs::read_to_string("../tests/meshes/pyramid_ascii.ply").unwrap();
    for end in ["\r", "\r\n"] {
        let path = folder.join("model.ply");
        fs::write(&path, text.replace('\n', end)).unwrap();
        assert_eq!(flat(&load(&path)), expected, "{end:?}");
        // The first coordinate starts with the byte 10, which is a line feed.
        let header = "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n\
                      property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";
        let near_one = f32::from_bits(0x3f80_000a);
        let mut bytes = header.replace('\n', end).into_bytes();
        for number in [near_one, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([3, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
        fs::write(&path, bytes).unwrap();
        let corners = [Vec2::new(near_one, 0.0), Vec2::Y, Vec2::ZERO];
        assert_eq!(flat(&load(&path)), [corners], "{end:?}");
    }
}
