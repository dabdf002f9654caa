//! Tests of the documentation itself: every public item has an example.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The beginnings of items that must have an example. Fields, variants and constants are shown by their type's example.
const ITEMS: [&str; 5] = [
    "pub fn ",
    "pub const fn ",
    "pub struct ",
    "pub enum ",
    "pub trait ",
];

/// Items that are declared public but cannot be named outside the crate.
const UNREACHABLE: [&str; 1] = ["pub trait Monoid<T>"];

#[test]
fn every_public_item_has_an_example() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let missing: Vec<String> = files(&source)
        .iter()
        .flat_map(|file| without_example(file))
        .collect();
    assert!(missing.is_empty(), "no example:\n{}", missing.join("\n"));
}

#[test]
fn numbered_examples_fit_on_a_screen() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let numbered: Vec<PathBuf> = files(&examples)
        .into_iter()
        .filter(|file| {
            file.file_name()
                .is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit())
        })
        .collect();
    assert!(numbered.len() >= 5);
    for file in numbered {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines < 60, "{}: {lines} lines", file.display());
    }
}

/// Returns the Rust files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

/// Returns the documented items of a file that lack an example. The lint `missing_docs` reports undocumented ones.
fn without_example(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let (mut head, mut missing) = (String::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        // Comments and attributes precede the item; an attribute of several lines ends in `)]`.
        let in_attribute = head
            .lines()
            .last()
            .is_some_and(|last| last.starts_with("#[") && !last.ends_with(']'));
        if line.starts_with("///") || line.starts_with("#[") || in_attribute {
            if in_attribute {
                head.push_str(line);
            } else {
                head = format!("{head}\n{line}");
            }
            continue;
        }
        let is_item = ITEMS.iter().any(|item| line.starts_with(item))
            && !UNREACHABLE.iter().any(|item| line.starts_with(item));
        if is_item
            && head.contains("///")
            && !head.contains("```")
            && !head.contains("#[doc(hidden)]")
        {
            missing.push(format!("{}:{number}: {line}", file.display()));
        }
        head.clear();
    }
    missing
}
