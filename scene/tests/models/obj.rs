//! Tests of OBJ models and their MTL material libraries.

use std::fs;

use glam::Vec3;
use raysieve::scene::{Absorption, GlassTint, Parameter, Surface, Texels};

use crate::{folder, load, message, pixels, scene_of, triangles};

#[test]
fn an_obj_model_has_the_materials_of_its_library() {
    let folder = folder("obj");
    fs::write(
        folder.join("paint.mtl"),
        "newmtl red\nKd 0.5 0.1 0.1\nillum 2\nnewmtl lamp\nKe 3 2 1\nnewmtl glass\nNi 1.4\nillum 7\n",
    )
    .unwrap();
    let text = "mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nusemtl red\nf 1 2 3 4\n\
                usemtl lamp\nf -4 -3 -2\nusemtl glass\nf 1 2 3\nusemtl nothing\nf 1 2 3\n";
    let path = folder.join("model.obj");
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    assert_eq!(triangles(&scene).len(), 5);
    let of = |place: usize| scene.materials[scene.triangles[place].material as usize];
    let albedo = Vec3::new(0.5, 0.1, 0.1);
    assert!(matches!(of(0), Surface::Diffuse { albedo: found, .. } if found == albedo));
    assert_eq!(of(2).radiance(), Vec3::new(3.0, 2.0, 1.0));
    assert_eq!(
        of(3),
        Surface::Dielectric {
            ior: 1.4,
            thin: false,
            tint: GlassTint::WHITE,
            absorption: Absorption::NONE
        }
    );
    assert!(
        scene.notes[0]
            .ends_with("shown grey: faces of the materials nothing, which no library has")
    );
    for (line, problem) in [
        (
            "mtllib model.obj",
            "has an unsupported file extension; expected a .mtl file",
        ),
        (
            "f 1 2 3",
            "line 1: a face names vertex 1, but there are 0 vertices before it",
        ),
        (
            "v 0 0 nan",
            "line 1: vertex 1 is [0, 0, NaN], expected finite numbers",
        ),
        ("v 0 0 0", "is a point cloud"),
        ("vn 0 0 1", "has no faces"),
        ("v 0 0 0\nf 1 1 1", "has no triangle with an area"),
    ] {
        fs::write(&path, line).unwrap();
        let found = message(&path);
        assert!(found.contains(problem), "{line}: {found}");
    }
    fs::write(folder.join("paint.mtl"), "newmtl a\nKd red").unwrap();
    fs::write(&path, "mtllib paint.mtl").unwrap();
    assert!(
        message(&path).ends_with("paint.mtl: line 2: found `Kd red`, expected a color `r g b`")
    );
}

/// Two walls meet at a right angle. With a smoothing group the normals at their common edge are averaged, and without
/// one the walls are flat. Texture coordinates are converted to v growing downwards.
#[test]
fn smoothing_groups_of_an_obj_model_give_averaged_normals() {
    let path = folder("smooth").join("model.obj");
    let walls = "v 0 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 1\nvt 0.25 1\nvt 0 0\n\
                 s SMOOTH\nf 1/1 3/2 2/2\nf 1/1 2/2 4/2\n";
    fs::write(&path, walls.replace("SMOOTH", "1")).unwrap();
    let scene = load(&path);
    let [mesh] = &scene.meshes[..] else {
        panic!("{} meshes", scene.meshes.len())
    };
    assert_eq!(mesh.positions.len(), 4);
    let between = Vec3::new(1.0, 0.0, 1.0).normalize();
    let expected = [between, Vec3::Z, between, Vec3::X];
    for (found, expected) in mesh.normals.iter().zip(expected) {
        assert!(found.distance(expected) < 1e-6, "{found} is not {expected}");
    }
    assert_eq!(mesh.uvs, [[0.25, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]);
    fs::write(&path, walls.replace("SMOOTH", "off")).unwrap();
    assert!(load(&path).meshes.is_empty());
}

#[test]
fn mtl_materials_equal_the_same_materials_of_a_scene() {
    let folder = folder("mtl");
    pixels(&folder, "wood.png", 5);
    image::RgbImage::from_pixel(2, 2, image::Rgb([128, 128, 255]))
        .save(folder.join("bumps.png"))
        .unwrap();
    let cube = "mtllib model.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl it\nf 1/1 2/2 3/3\n";
    fs::write(folder.join("model.obj"), cube).unwrap();
    for (written, expected) in [
        (
            "Kd 0.5 0.25 1\nillum 1\nKs 1 1 1",
            "Diffuse(albedo: (0.5, 0.25, 1))",
        ),
        ("illum 7\nNi 1.25", "Dielectric(ior: 1.25)"),
        (
            "Kd 0 0 0\nKs 1 0.5 0.25\nNs 6",
            "Principled(metallic: 1, base_color: (1, 0.5, 0.25), roughness: 0.70710678)",
        ),
        (
            "Kd 1 1 1\nKs 0.25 0.25 0.25\nNs 0",
            "Principled(specular: 0.5, roughness: 1)",
        ),
        (
            "Kd 1 1 1\nPr 0.25\nPm 1\nPc 0.5\nPcr 0.125",
            "Principled(metallic: 1, roughness: 0.25, clearcoat: 0.5, clearcoat_roughness: 0.125)",
        ),
        (
            "Kd 1 0.5 1\nKe 2 2 2",
            "Emissive(radiance: (2, 2, 2), albedo: (1, 0.5, 1))",
        ),
        (
            "map_Kd wood.png",
            "Diffuse(albedo: Texture(file: \"wood.png\"))",
        ),
        (
            "Kd 0 0 0\nmap_Kd -clamp on wood.png",
            "Diffuse(albedo: Texture(file: \"wood.png\", wrap: Clamp))",
        ),
        (
            "Kd 0.5 0.5 0.5\nmap_Kd -s 2 3 1 -o 0.25 0.5 wood.png",
            "Diffuse(albedo: Texture(file: \"wood.png\", factor: 0.5, scale: (2, 3), offset: (0.25, -2.5)))",
        ),
        (
            "Kd 1 1 1\nmap_Ke wood.png\nmap_Bump -bm 0.5 bumps.png",
            "Emissive(radiance: Texture(file: \"wood.png\"), albedo: (1, 1, 1), normal: Texture(file: \"bumps.png\", factor: 0.5))",
        ),
        (
            "Kd 1 1 1\nmap_Pr wood.png\nPm 0.5\nmap_Pm wood.png",
            "Principled(roughness: Texture(file: \"wood.png\"), metallic: Texture(file: \"wood.png\", factor: 0.5))",
        ),
    ] {
        fs::write(folder.join("model.mtl"), format!("newmtl it\n{written}\n")).unwrap();
        let found = scene_of(&folder, "objects: [Model(file: \"model.obj\")]");
        assert_eq!(found.notes, [""; 0], "{written}");
        // The first material of a model is the default for faces without one.
        let fields = format!(
            "materials: {{ \"none\": Diffuse(albedo: (0.8, 0.8, 0.8)), \"it\": {expected} }},
             objects: [Model(file: \"model.obj\", material: \"it\")]"
        );
        let expected = scene_of(&folder, &fields);
        assert_eq!(found.materials, expected.materials, "{written}");
        assert_eq!(found.hash(), expected.hash(), "{written}");
    }
    for (written, note) in [
        ("map_Kd gone.png", "gone.png: does not exist"),
        (
            "map_Kd C:\\gone.png",
            "shown without map_Kd: refers to the file",
        ),
    ] {
        fs::write(folder.join("model.mtl"), format!("newmtl it\n{written}\n")).unwrap();
        let notes = load(&folder.join("model.obj")).notes.join("\n");
        assert!(notes.contains(note), "{written}: {notes}");
    }
}

/// Compares the slopes of a ramp over four columns with values computed by hand.
#[test]
fn height_maps_become_normal_maps() {
    let folder = folder("bumps");
    image::GrayImage::from_fn(4, 2, |x, _| image::Luma([[0, 51, 102, 51][x as usize]]))
        .save(folder.join("ramp.png"))
        .unwrap();
    let triangle = "mtllib model.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl it\nf 1/1 2/2 3/3\n";
    fs::write(folder.join("model.obj"), triangle).unwrap();
    // The ramp rises by 0.2 × 0.01 × width per texel, and a texel is width / 4. Times 100 the slope is 0.8.
    for (options, slopes) in [
        ("-bm 100", [0.0, 0.8, 0.0, -0.8]),
        ("-bm -50", [0.0, -0.4, 0.0, 0.4]),
        ("-bm 100 -clamp on", [0.8, 0.8, 0.0, -0.8]),
    ] {
        let library = format!("newmtl it\nmap_Bump {options} ramp.png\n");
        fs::write(folder.join("model.mtl"), library).unwrap();
        let scene = load(&folder.join("model.obj"));
        assert_eq!(scene.notes, [""; 0]);
        let maps = scene.maps.values().next().unwrap();
        assert_eq!(maps.normal_scale, 1.0);
        let texture = maps.textures[&Parameter::Normal].texture;
        let image = &scene.images[scene.textures[texture as usize].image as usize];
        let Texels::Words(texels) = &image.texels else {
            panic!("{image:?}");
        };
        for (texel, slope) in texels.iter().zip(slopes.iter().chain(&slopes)) {
            let [x, y, z, _] = texel.map(|word| f64::from(word) / 65535.0 * 2.0 - 1.0);
            let difference = [x / z + slope, y / z].map(f64::abs);
            assert!(
                difference.iter().all(|&difference| difference < 2e-4),
                "{options}: {texels:?}"
            );
        }
    }
}
