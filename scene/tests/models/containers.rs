//! Tests of glTF containers: buffers, URIs and `extras`.

use std::fs;

use serde_json::json;

use crate::{TRIANGLE, assert_triangles, folder, gltf::Gltf, load, message, triangles};

#[test]
fn a_buffer_may_be_embedded_in_a_data_uri_or_in_a_file() {
    let folder = folder("containers");
    let model = Gltf::triangle();
    assert_triangles(&model.load("containers"), &TRIANGLE);
    let with_uri = |uri: &str| {
        let mut json = model.json.clone();
        json["buffers"] = json!([{ "byteLength": model.binary.len(), "uri": uri }]);
        let path = folder.join("model.gltf");
        fs::write(&path, json.to_string()).unwrap();
        path
    };
    fs::write(folder.join("the data.bin"), &model.binary).unwrap();
    assert_triangles(&load(&with_uri("the%20data.bin")), &TRIANGLE);
    let marked = format!(
        "\u{feff}{}",
        fs::read_to_string(folder.join("model.gltf")).unwrap()
    );
    fs::write(folder.join("model.gltf"), marked).unwrap();
    assert_triangles(&load(&folder.join("model.gltf")), &TRIANGLE);
    // The 36 bytes of the triangle's positions.
    let base64 = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA";
    let uri = format!("data:application/octet-stream;base64,{base64}");
    assert_triangles(&load(&with_uri(&uri)), &TRIANGLE);
    // Models come from anywhere, so absolute paths are not opened. `bounds` tests those with `..`.
    for (uri, problem) in [
        ("/etc/passwd", "which is an absolute path"),
        ("file:///etc/passwd", "download it"),
        ("https://example.org/data.bin", "download it"),
        ("c:/data.bin", "download it"),
        ("nowhere.bin", "does not exist"),
        (
            "model.gltf",
            "has an unsupported file extension; expected a .bin",
        ),
        ("", "which is not a valid file name"),
        ("%", "without two hexadecimal digits"),
        ("data:;base64,AAAA*AAA", "is not valid base64"),
        ("data:;base64", "no comma"),
        ("data:;base64,AAAA", "declares 36 bytes, and has 3"),
    ] {
        let found = message(&with_uri(uri));
        assert!(
            found.starts_with("buffer 0: ") && found.contains(problem),
            "{uri}: {found}"
        );
    }
}

#[test]
fn extras_may_contain_any_json() {
    for extras in [
        json!({ "a": [1] }),
        json!([1, 2]),
        json!(3),
        json!("x"),
        json!(null),
    ] {
        let mut model = Gltf::triangle();
        for place in [
            "",
            "/asset",
            "/nodes/0",
            "/meshes/0",
            "/meshes/0/primitives/0",
        ] {
            model.json.pointer_mut(place).unwrap()["extras"] = extras.clone();
        }
        assert_eq!(triangles(&model.load("extras")).len(), 1, "{extras}");
    }
}
