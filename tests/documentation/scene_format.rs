//! The reference of the scene format in `docs/scene-format.md` has the text of the documentation of the crate
//! `raysieve-scene`, with a picture of each material. `UPDATE_DOCS=1` writes it.

use std::{env, fs, path::Path};

/// Beginning of the page, before the text of the crate.
const HEAD: &str = "# Scene format\n\n\
    This page is made from the documentation of the crate `raysieve-scene` by `UPDATE_DOCS=1 cargo test --test\n\
    documentation`, so change it there. [Using Raysieve](using.md) shows how to render scenes, and\n\
    [scenes of Mitsuba and pbrt](foreign-scenes.md) are described on a page of their own.\n\n";

/// Beginning of the table of pictures.
const PICTURES: &str = "\n### Pictures of materials\n\n\
    Balls with a radius of 1 m. `cargo run --release --example material_pictures` renders them from\n\
    [materials.txt](materials/materials.txt).\n\n| | material |\n|---|---|\n";

/// Returns the inner documentation (`//!`) of a Rust file.
fn documentation(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(root.join(path)).unwrap();
    let lines = source.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns a text with its links to items of the crate as plain code, because Markdown pages have no such links. Headings
/// are one level lower.
fn as_page(text: &str) -> String {
    let mut page = String::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.starts_with("```");
        if line.starts_with('#') && !in_code {
            page.push('#');
        }
        let mut rest = line;
        // [`Item`] or [`Item`](path)
        while let Some((before, after)) = rest.split_once("[`") {
            let (item, after) = after.split_once("`]").expect("a link ends in its line");
            page += &format!("{before}`{item}`");
            let target = after
                .strip_prefix('(')
                .and_then(|after| after.split_once(')'));
            rest = target.map_or(after, |(_, after)| after);
        }
        page += rest;
        page.push('\n');
    }
    page
}

/// Returns the lines of `docs/materials/materials.txt`: the name of each picture, and the material.
fn pictures() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/materials/materials.txt")).unwrap();
    let lines = text.lines().map(|line| line.split_once(": ").unwrap());
    lines
        .map(|(name, material)| (name.to_owned(), material.to_owned()))
        .collect()
}

/// Returns the page that the documentation of the crate makes.
fn page() -> String {
    let whole = documentation("scene/src/lib.rs");
    let start = whole
        .find("This page is the reference of the scene format.")
        .unwrap();
    let end = whole.find("# Scenes of other renderers").unwrap();
    let (before, after) = whole[start..end].split_once("# Materials\n").unwrap();
    let after = &after[after.find("\n# ").unwrap()..];
    let materials = documentation("scene/src/ron/materials.rs");
    let materials = materials
        .strip_prefix("The materials of a scene file.\n")
        .unwrap();
    let pictures: String = pictures()
        .iter()
        .map(|(name, material)| format!("| ![{name}](materials/{name}.jpg) | `{material}` |\n"))
        .collect();
    let intro = before.replacen("This page is the reference of the scene format. ", "", 1);
    [
        HEAD,
        &as_page(&intro),
        &as_page("# Materials\n"),
        &as_page(materials),
        PICTURES,
        &pictures,
        &as_page(after.trim_end()),
    ]
    .concat()
}

#[test]
fn the_reference_of_the_scene_format_is_that_of_the_crate() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scene-format.md");
    let expected = page();
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found == expected {
        return;
    }
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
        panic!("docs/scene-format.md was written; read its changes");
    }
    let mut lines = expected
        .lines()
        .zip(found.lines().chain(std::iter::repeat("")));
    let differs = lines.find(|(expected, found)| expected != found);
    panic!(
        "docs/scene-format.md is out of date; run UPDATE_DOCS=1 cargo test --test documentation\n{differs:#?}"
    );
}

#[test]
fn every_material_has_a_picture_of_at_most_15_kb() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pictures = pictures();
    let materials = documentation("scene/src/ron/materials.rs");
    let named = materials.lines().filter_map(|line| {
        let name = line.strip_prefix("| `")?.split('`').next()?;
        name.starts_with(char::is_uppercase).then_some(name)
    });
    let mut count = 0;
    for material in named {
        let is_shown = pictures
            .iter()
            .any(|(_, text)| text.starts_with(&format!("{material}(")));
        assert!(is_shown, "docs/materials/materials.txt has no {material}");
        count += 1;
    }
    assert!(count >= 10, "{count} materials");
    for (name, _) in pictures {
        let path = root.join(format!("docs/materials/{name}.jpg"));
        let bytes = fs::metadata(&path)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .len();
        assert!(bytes <= 15_000, "{name}.jpg has {bytes} bytes");
    }
}
