//! Tests of text files in other encodings than ASCII.

use std::fs;

use glam::Vec3;
use raysieve::scene::{Scene, Surface};

use crate::{folder, load};

/// A model with two materials, whose names differ outside of ASCII.
const OBJ: &str = "# \u{fc}\r\nmtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl caf\u{e9}\nf 1 2 3\nusemtl caf\u{e8}\nf 1 2 3\n";
const MTL: &str = "# \u{fc}\nnewmtl caf\u{e9}\nKd 1 0 0\nnewmtl caf\u{e8}\nKd 0 0 1\n";

type Encoding = fn(&str) -> Vec<u8>;

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| c as u8).collect()
}

fn utf8(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn utf8_marked(text: &str) -> Vec<u8> {
    utf8(&format!("\u{feff}{text}"))
}

fn utf16_little(text: &str) -> Vec<u8> {
    let text = format!("\u{feff}{text}");
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf16_big(text: &str) -> Vec<u8> {
    let text = format!("\u{feff}{text}");
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// Loads a file that must be invalid, and returns the error without the folder.
fn error(path: &std::path::Path) -> String {
    let line = Scene::load(path).unwrap_err().line();
    line.rsplit("/").next().unwrap().to_owned()
}

/// Asserts that the triangles of [`OBJ`] have the two materials of [`MTL`], and that there are no warnings.
fn assert_materials(scene: &Scene) {
    let materials = [0, 1].map(|at| scene.materials[scene.triangles[at].material as usize]);
    let of = |albedo| Surface::Diffuse {
        albedo,
        one_sided: false,
    };
    assert_eq!(materials, [of(Vec3::X), of(Vec3::Z)]);
    assert!(scene.notes.is_empty(), "{:?}", scene.notes);
}

#[test]
fn obj_and_mtl_may_have_different_encodings() {
    let folder = folder("encodings");
    let obj = folder.join("model.obj");
    let all: [Encoding; 5] = [latin1, utf8, utf8_marked, utf16_little, utf16_big];
    for of_obj in all {
        for of_mtl in all {
            fs::write(folder.join("m.mtl"), of_mtl(MTL)).unwrap();
            fs::write(&obj, of_obj(OBJ)).unwrap();
            assert_materials(&load(&obj));
        }
    }
    // Text that is cut off ends there, and lines may end with carriage returns only.
    let mut cut = utf16_little(&OBJ.replace("\r\n", "\n").replace('\n', "\r"));
    cut.pop();
    fs::write(&obj, cut).unwrap();
    assert_eq!(load(&obj).triangles.len(), 2);
    // Without a byte order mark, the first line has zeros.
    fs::write(&obj, &utf16_little(OBJ)[2..]).unwrap();
    assert_eq!(
        error(&obj),
        "model.obj: line 1: contains a zero byte: is not text, or UTF-16 without a byte order mark; save it as UTF-8"
    );
    let endless = utf16_big(&"v".repeat(1 << 22));
    fs::write(&obj, endless).unwrap();
    assert_eq!(
        error(&obj),
        "model.obj: line 1: a line is longer than 4194304 bytes"
    );
}

/// The bytes 0x80 to 0x9f are letters in encodings that are read as Latin-1, where they are control characters.
#[test]
fn names_in_other_encodings_stay_different() {
    let folder = folder("encodings_names");
    let obj = folder.join("model.obj");
    // Windows-1250 has the letters "š" and "ž" there, and code page 437 "à" and "ü".
    for [one, other] in [["\u{9a}", "\u{9e}"], ["\u{85}", "\u{81}"]] {
        let written = |text: &str| {
            let text = text.replace('\u{e9}', one).replace('\u{e8}', other);
            latin1(&text)
        };
        fs::write(folder.join("m.mtl"), written(MTL)).unwrap();
        fs::write(&obj, written(OBJ)).unwrap();
        assert_materials(&load(&obj));
    }
    // A library with such a name is missing, but its name is not refused.
    fs::write(&obj, latin1(&OBJ.replace("m.mtl", "\u{9a}.mtl"))).unwrap();
    let notes = load(&obj).notes;
    let is_missing = |note: &String| note.contains(".mtl: does not exist");
    assert!(notes.iter().any(is_missing), "{notes:?}");
}

#[test]
fn ply_and_gltf_in_utf16_are_refused_with_a_remedy() {
    let folder = folder("encodings_refused");
    let text = fs::read_to_string("../tests/meshes/pyramid_ascii.ply").unwrap();
    let ply = folder.join("model.ply");
    fs::write(&ply, utf8_marked(&text)).unwrap();
    assert!(!load(&ply).triangles.is_empty());
    for encoding in [utf16_little as Encoding, utf16_big] {
        fs::write(&ply, encoding(&text)).unwrap();
        let gltf = folder.join("model.gltf");
        fs::write(&gltf, encoding("{ \"asset\": { \"version\": \"2.0\" } }")).unwrap();
        for path in [&ply, &gltf] {
            let error = error(path);
            assert!(
                error.ends_with(": is UTF-16 text; save it as UTF-8"),
                "{error}"
            );
        }
    }
}

/// Names of files in scenes of Mitsuba and pbrt may have any encoding, too.
#[test]
fn scenes_of_other_renderers_may_have_any_encoding() {
    let folder = folder("encodings_scenes");
    fs::write(
        folder.join("caf\u{e9}.obj"),
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    )
    .unwrap();
    let xml = "<scene version=\"3.0.0\"><shape type=\"obj\"><string name=\"filename\" value=\"caf\u{e9}.obj\"/>\
               </shape></scene>";
    let pbrt = "WorldBegin\nShape \"sphere\" # caf\u{e9}\n";
    let all: [Encoding; 5] = [latin1, utf8, utf8_marked, utf16_little, utf16_big];
    for encoding in all {
        let path = folder.join("scene.xml");
        fs::write(&path, encoding(xml)).unwrap();
        assert_eq!(load(&path).meshes.len(), 1);
        let path = folder.join("scene.pbrt");
        fs::write(&path, encoding(pbrt)).unwrap();
        assert_eq!(load(&path).spheres.len(), 1);
    }
    // A byte that is not UTF-8 changes only its own line.
    for end in ["\n", "\r", "\r\n"] {
        let mixed = xml.replace("<shape", &format!("<!-- 20 \u{b0} -->{end}<shape"));
        let path = folder.join("scene.xml");
        let mut mixed = utf8(&mixed);
        // The degree sign loses its first byte, and the letter of the name keeps both of its own.
        mixed.retain(|&byte| byte != 0xc2);
        fs::write(&path, mixed).unwrap();
        assert_eq!(load(&path).meshes.len(), 1);
    }
}
