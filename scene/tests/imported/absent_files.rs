//! Files of a scene that are missing, pointers of Git LFS, or compressed.

use std::{fs, io::Write};

use flate2::{Compression, write::GzEncoder};
use raysieve_scene::{Light, Scene};
use tempfile::TempDir;

use crate::{assert_noted, load};

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

/// A triangle as a PLY and as an OBJ file.
const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
                   element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

#[test]
fn a_missing_environment_map_is_left_out() {
    let mitsuba = "<scene version=\"3.0.0\"><shape type=\"sphere\"/>\
                   <emitter type=\"envmap\"><string name=\"filename\" value=\"sky.exr\"/></emitter></scene>";
    let pbrt =
        "WorldBegin\nLightSource \"infinite\" \"string filename\" \"sky.exr\"\nShape \"sphere\"\n";
    for (name, text) in [("scene.xml", mitsuba), ("scene.pbrt", pbrt)] {
        let scene = load(&[(name, text)]).unwrap();
        assert_noted(
            &scene,
            "the environment map `sky.exr` is left out: does not exist; check the path",
        );
        let scene = load(&[(name, text), ("sky.exr", POINTER)]).unwrap();
        assert_noted(
            &scene,
            "the environment map `sky.exr` is left out: is a Git LFS pointer",
        );
    }
}

#[test]
fn a_mesh_that_is_a_pointer_is_left_out() {
    let mitsuba = "<scene version=\"3.0.0\"><shape type=\"sphere\"/>\
                   <shape type=\"obj\"><string name=\"filename\" value=\"a.obj\"/></shape></scene>";
    let pbrt = "WorldBegin\nShape \"sphere\"\nShape \"plymesh\" \"string filename\" \"a.ply\"\n";
    for (name, text, mesh) in [
        ("scene.xml", mitsuba, "a.obj"),
        ("scene.pbrt", pbrt, "a.ply"),
    ] {
        let scene = load(&[(name, text), (mesh, POINTER)]).unwrap();
        let note = format!(
            "not shown: 1 shape whose file is a Git LFS pointer (run `git lfs pull`), such as `{mesh}`"
        );
        assert_noted(&scene, &note);
    }
}

#[test]
fn meshes_and_included_files_may_be_compressed() {
    let folder = TempDir::new().unwrap();
    let pack = |name: &str, text: &str| {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        let mut packed = GzEncoder::new(file, Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap();
    };
    pack("a.ply.gz", PLY);
    pack("a.obj.gz", OBJ);
    pack(
        "inner.pbrt.gz",
        "Shape \"plymesh\" \"string filename\" \"a.ply.gz\"\n",
    );
    let pbrt = "WorldBegin\nInclude \"inner.pbrt.gz\"\n";
    let mitsuba = "<scene version=\"3.0.0\">\
                   <shape type=\"ply\"><string name=\"filename\" value=\"a.ply.gz\"/></shape>\
                   <shape type=\"obj\"><string name=\"filename\" value=\"a.obj.gz\"/></shape></scene>";
    for (name, text, count) in [("scene.pbrt", pbrt, 1), ("scene.xml", mitsuba, 2)] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let scene = Scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let meshes = scene.instances.iter();
        let meshes = meshes.map(|instance| scene.meshes[instance.mesh as usize].triangles.len());
        assert_eq!(
            scene.triangles.len() + meshes.sum::<usize>(),
            count,
            "{name}"
        );
    }
    // A file that only has the name is refused.
    fs::write(folder.path().join("a.ply.gz"), PLY).unwrap();
    let error = Scene::load(&folder.path().join("scene.pbrt")).unwrap_err();
    assert!(error.to_string().contains("a.ply.gz: "), "{error}");
}

#[test]
fn infinite_values_of_an_environment_map_are_clamped() {
    let mitsuba = "<scene version=\"3.0.0\"><shape type=\"sphere\"/>\
                   <emitter type=\"envmap\"><string name=\"filename\" value=\"sky.pfm\"/></emitter></scene>";
    let pbrt =
        "WorldBegin\nLightSource \"infinite\" \"string filename\" \"sky.pfm\"\nShape \"sphere\"\n";
    let ron = "(camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40), lights: [Environment(file: \"sky.pfm\")], \
               materials: {\"clay\": Diffuse(albedo: (0.5, 0.5, 0.5))}, \
               objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"clay\")])";
    let mut sky = b"PF\n2 1\n-1.0\n".to_vec();
    for value in [1.0, f32::INFINITY, f32::INFINITY, 0.5, 0.5, 0.5] {
        sky.extend_from_slice(&value.to_le_bytes());
    }
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("sky.pfm"), &sky).unwrap();
    for (name, text) in [
        ("scene.xml", mitsuba),
        ("scene.pbrt", pbrt),
        ("scene.ron", ron),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let scene = Scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let noted = |note: &String| note.ends_with(": 2 infinite values treated as 65504");
        assert!(scene.notes.iter().any(noted), "{name}: {:?}", scene.notes);
        let Some(Light::Environment(map)) = scene.lights.first() else {
            panic!("{name}: {:?}", scene.lights)
        };
        assert!(
            map.radiances.iter().all(|texel| texel.is_finite()),
            "{name}"
        );
        let brightest = map
            .radiances
            .iter()
            .fold(0.0, |most: f32, texel| most.max(texel.y));
        assert!(
            (60000.0..65505.0).contains(&brightest),
            "{name}: {brightest}"
        );
    }
    sky[12..16].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(folder.path().join("sky.pfm"), &sky).unwrap();
    let error = Scene::load(&folder.path().join("scene.ron")).unwrap_err();
    assert!(
        error.to_string().contains("expected finite numbers"),
        "{error}"
    );
}
