//! Tests that an error is one short line, whatever the length of names, numbers and paths in files and arguments.

use std::{fs, path::Path, process::Output};

use libtest_mimic::Trial;

use crate::{add_tests, assert_done, assert_refused, folder, run, stderr};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        long_texts_of_scenes_are_shortened,
        long_texts_of_notes_are_shortened,
        long_texts_of_models_are_shortened,
        long_texts_of_images_are_shortened,
        long_arguments_are_shortened,
    );
}

/// Largest number of characters of an error's line.
const MAX_LINE: usize = 300;

/// The arguments of a small render.
const RENDER: [&str; 8] = [
    "--backend",
    "cpu",
    "--size",
    "8x8",
    "--spp",
    "1",
    "-o",
    "a.png",
];

/// Returns a word of 5000 characters, which is longer than any sensible name.
fn word() -> String {
    "word".repeat(1250)
}

/// Returns a number of 5000 digits.
fn digits() -> String {
    "9".repeat(5000)
}

/// Renders the file `name` of the folder, and asserts that it is refused with exit code 2 in one short line.
#[track_caller]
fn assert_short_error(folder: &Path, name: &str) {
    let arguments = [&[name], &RENDER[..]].concat();
    assert_short(folder, &arguments);
}

/// Runs the program, and asserts that it refuses the arguments with exit code 2 in one short line.
#[track_caller]
fn assert_short(folder: &Path, arguments: &[&str]) {
    let output = run(folder, arguments);
    assert_refused(&output, 2, &[]);
    assert_short_lines(&output);
}

/// Asserts that each line of standard error is short.
#[track_caller]
fn assert_short_lines(output: &Output) {
    for line in stderr(output).lines() {
        let count = line.chars().count();
        assert!(count <= MAX_LINE, "{count} characters: {line}");
    }
}

/// Writes files and asserts that each is refused in one short line.
#[track_caller]
fn assert_short_errors(extension: &str, texts: impl IntoIterator<Item = String>) {
    let folder = folder();
    let mut count = 0;
    for text in texts {
        let name = format!("a.{extension}");
        fs::write(folder.path().join(&name), text).unwrap();
        assert_short_error(folder.path(), &name);
        count += 1;
    }
    assert!(count > 0);
}

fn long_texts_of_scenes_are_shortened() {
    let (word, digits) = (word(), digits());
    let ron = |materials: &str, objects: &str| {
        format!(
            "(camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40), materials: {{ {materials} }}, \
             objects: [{objects}])"
        )
    };
    let diffuse = "\"m\": Diffuse(albedo: (1, 1, 1))";
    let sphere = |radius: &str, material: &str| {
        format!("Sphere(center: (0, 0, 0), radius: {radius}, material: \"{material}\")")
    };
    let mesh = format!("Mesh(file: \"{word}.obj\", material: \"m\")");
    let image = format!("\"m\": Diffuse(albedo: Texture(file: \"{word}.png\"))");
    assert_short_errors(
        "ron",
        [
            ron(diffuse, &sphere("1", &word)),
            ron(diffuse, &sphere(&digits, "m")),
            ron(diffuse, &sphere(&format!("-{digits}"), "m")),
            ron(diffuse, &mesh),
            ron(&image, &sphere("1", "m")),
            ron(
                &format!("\"m\": {word}(albedo: (1, 1, 1))"),
                &sphere("1", "m"),
            ),
            ron(
                &format!("\"m\": Diffuse({word}: (1, 1, 1))"),
                &sphere("1", "m"),
            ),
            ron(
                &format!("\"{word}\": Diffuse(albedo: (9, 1, 1))"),
                &sphere("1", &word),
            ),
            format!("({word}: 1)"),
            word.clone(),
            format!("\"{word}"),
        ],
    );
    let xml = |inside: &str| format!("<scene version=\"3.0.0\">{inside}</scene>");
    let moved = |x: &str| {
        xml(&format!(
            "<integrator type=\"path\"/><sensor type=\"perspective\"/><shape type=\"sphere\">\
             <transform name=\"to_world\"><translate x=\"{x}\"/></transform></shape>"
        ))
    };
    assert_short_errors(
        "xml",
        [
            moved("1e308"),
            moved(&digits),
            moved(&word),
            xml(&format!(
                "<shape type=\"obj\"><string name=\"filename\" value=\"{word}\"/></shape>"
            )),
            xml(&format!("<include filename=\"{word}.xml\"/>")),
            xml(&format!("<{word}>")),
            format!("<{word}/>"),
            word.clone(),
        ],
    );
    assert_short_errors(
        "pbrt",
        [
            word.clone(),
            format!("WorldBegin Shape \"sphere\" \"float radius\" {word}"),
            format!("WorldBegin Shape \"sphere\" \"{word}\" 1"),
            format!("WorldBegin Translate {digits} 0 0 Shape \"sphere\""),
            format!("WorldBegin Include \"{word}.pbrt\""),
            format!("WorldBegin ObjectInstance \"{word}\""),
            format!("WorldBegin Shape \"{word}"),
        ],
    );
}

/// Files of other renderers are read leniently: an unknown name is only noted.
fn long_texts_of_notes_are_shortened() {
    let (word, folder) = (word(), folder());
    let shape = format!("<shape type=\"sphere\"><ref id=\"{word}\"/></shape>");
    let text = format!("<scene version=\"3.0.0\">{shape}</scene>");
    fs::write(folder.path().join("a.xml"), text).unwrap();
    let output = run(folder.path(), [&["a.xml"], &RENDER[..]].concat());
    assert_done(&output);
    assert!(stderr(&output).contains("wordword"), "{}", stderr(&output));
    assert_short_lines(&output);
}

fn long_texts_of_models_are_shortened() {
    let (word, digits) = (word(), digits());
    let asset = |rest: &str| format!("{{ \"asset\": {{ \"version\": \"2.0\" }}, {rest} }}");
    assert_short_errors(
        "gltf",
        [
            format!("{{ \"asset\": {{ \"version\": \"{word}\" }} }}"),
            asset(&format!("\"extensionsRequired\": [\"{word}\"]")),
            asset(&format!(
                "\"buffers\": [{{ \"uri\": \"{word}\", \"byteLength\": 4 }}]"
            )),
            asset(&format!(
                "\"buffers\": [{{ \"uri\": \"data:{word}\", \"byteLength\": 4 }}]"
            )),
            asset(&format!("\"scene\": {digits}")),
            asset(&format!("\"scene\": \"{word}\"")),
            format!("{{ {word}"),
        ],
    );
    assert_short_errors(
        "obj",
        [
            format!("v {word} 0 0\n"),
            format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 {digits}\n"),
            format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 {word}\n"),
            format!("mtllib {word}.mtl\nv {digits} 0 0\nf 1 1 1\n"),
            word.clone(),
        ],
    );
    let ply = |element: &str, property: &str, data: &str| {
        format!(
            "ply\nformat ascii 1.0\nelement {element}\nproperty {property}\nend_header\n{data}\n"
        )
    };
    assert_short_errors(
        "ply",
        [
            ply(&format!("vertex {digits}"), "float x", "0"),
            ply(&format!("vertex {word}"), "float x", "0"),
            ply(&format!("{word} 1"), "float x", "0"),
            ply("vertex 1", &format!("{word} x"), "0"),
            ply("vertex 1", &format!("float {word}"), "0"),
            ply("vertex 1", "float x", &word),
            format!("ply\nformat {word} 1.0\nend_header\n"),
            format!("ply\n{word}\nend_header\n"),
        ],
    );
}

/// Reads damaged headers of images as environment maps.
fn long_texts_of_images_are_shortened() {
    let word = word();
    let folder = folder();
    // The name of an attribute, which ends at the next zero.
    let exr = [b"\x76\x2f\x31\x01\x02\0\0\0", word.as_bytes(), &[0; 9]].concat();
    let files = [
        ("a.exr", exr),
        (
            "a.hdr",
            format!("#?RADIANCE\nFORMAT={word}\n\n-Y 1 +X 1\n").into_bytes(),
        ),
        (
            "b.hdr",
            format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n{word}\n").into_bytes(),
        ),
        ("a.pfm", format!("PF\n{word} 1\n-1\n").into_bytes()),
        ("b.pfm", format!("PF\n{} 1\n-1\n", digits()).into_bytes()),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
        let scene = format!(
            "(camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40), lights: [Environment(file: \"{name}\")], \
             materials: {{ }}, objects: [])"
        );
        fs::write(folder.path().join("a.ron"), scene).unwrap();
        assert_short_error(folder.path(), "a.ron");
        assert_short(folder.path(), &["merge", name, "-o", "b.png"]);
    }
}

fn long_arguments_are_shortened() {
    let (word, digits) = (word(), digits());
    let folder = folder();
    // No part of a path has more than 255 characters.
    let path = format!("{}a.ron", "folder/".repeat(500));
    let output = format!("{}a.png", "folder/".repeat(500));
    let (option, size) = (format!("--{word}"), format!("{digits}x1"));
    let file = format!("{word}.ron");
    for arguments in [
        &[path.as_str()][..],
        &[&file],
        &[&word],
        &["a.ron", &option],
        &["a.ron", &word],
        &["a.ron", "--size", &size],
        &["a.ron", "--size", &word],
        &["a.ron", "--spp", &digits],
        &["a.ron", "--backend", &word],
        &["a.ron", "--layers", &word],
        &["a.ron", "-o", &output],
        &["merge", &path, "-o", "a.png"],
        &["verify", &path],
        &["inspect", &path, "1,1"],
    ] {
        assert_short(folder.path(), arguments);
    }
}
