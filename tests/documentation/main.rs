//! Tests of the Markdown files: links, their anchors, and the files that the guides name exist, and pages agree with the
//! code.

mod foreign_scenes;
mod scene_format;

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// Returns all Markdown files of the repository, without build outputs and hidden folders.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && !path.is_symlink() {
            if !name.starts_with('.') && name != "target" {
                files.extend(markdown_files(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files
}

/// Returns the lines of a Markdown text outside of code blocks.
fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The beginnings of absolute links to files, folders and images of the repository.
const REPOSITORY: [&str; 3] = [
    "https://github.com/raysieve/raysieve/blob/main/",
    "https://github.com/raysieve/raysieve/tree/main/",
    "https://github.com/raysieve/raysieve/raw/main/",
];

/// Returns the targets of the links, link definitions and images in a Markdown text, without inline code.
fn link_targets(text: &str) -> Vec<String> {
    let prose = prose_lines(text).collect::<Vec<_>>().join(" ");
    let definitions =
        prose_lines(text).filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    let mut targets: Vec<String> = definitions.map(|(_, target)| target.to_owned()).collect();
    let mut rest = prose.as_str();
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let end = rest.find(')').unwrap_or(rest.len());
        targets.push(rest[..end].to_owned());
    }
    targets
}

/// Returns the anchor that GitHub gives to a heading: lower case, without punctuation, with hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|&letter| letter.is_alphanumeric() || "-_ ".contains(letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Returns the anchors of all headings in a Markdown text.
fn anchors(text: &str) -> HashSet<String> {
    prose_lines(text)
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn every_link_into_the_repository_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = markdown_files(root);
    assert!(files.contains(&root.join("README.md")));
    let mut dead = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for target in link_targets(&text) {
            let inside = REPOSITORY
                .iter()
                .find_map(|start| target.strip_prefix(start));
            if inside.is_none() && (target.contains("://") || target.starts_with("mailto:")) {
                continue;
            }
            let whole = inside.unwrap_or(&target);
            let (path, wanted) = whole.split_once('#').unwrap_or((whole, ""));
            let linked = match (path, inside) {
                ("", _) => file.clone(),
                (path, Some(_)) => root.join(path),
                (path, None) => file.parent().unwrap().join(path),
            };
            let exists = linked.exists()
                && (wanted.is_empty()
                    || anchors(&fs::read_to_string(&linked).unwrap()).contains(wanted));
            if !exists {
                dead.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn readmes_of_packages_have_absolute_links() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut relative = Vec::new();
    for package in ["", "capi", "cli", "compaction", "python", "scene", "viewer"] {
        let file = root.join(package).join("README.md");
        let targets = link_targets(&fs::read_to_string(&file).unwrap());
        let inside = targets.iter().filter(|target| !target.contains("://"));
        relative.extend(inside.map(|target| format!("{}: {target}", file.display())));
    }
    assert!(
        relative.is_empty(),
        "registries show these pages elsewhere:\n{}",
        relative.join("\n")
    );
}

/// Replaces the first `{a,b}` of a path by each of its alternatives, and so on for the other ones.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, (inside, after))) = path
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![path.to_owned()];
    };
    let chosen = inside
        .split(',')
        .map(|name| format!("{before}{name}{after}"));
    chosen.flat_map(|path| alternatives(&path)).collect()
}

/// Returns the paths of files and folders of the repository that a text names in backticks.
///
/// A path begins with the name of a top-level folder and contains no placeholder in capitals, `*` or space.
fn named_paths(text: &str, folders: &[String]) -> Vec<String> {
    let quoted = prose_lines(text).flat_map(|line| line.split('`').skip(1).step_by(2));
    let names = quoted.filter(|name| {
        let top = name.split('/').next().unwrap();
        let is_placeholder = ["NAME", "SCENE", "*", " "]
            .iter()
            .any(|placeholder| name.contains(placeholder));
        name.contains('/') && folders.iter().any(|folder| folder == top) && !is_placeholder
    });
    names.flat_map(alternatives).collect()
}

#[test]
fn guides_name_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let folders: Vec<String> = entries
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let guides = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/using.md",
        "docs/tour.md",
        "docs/models.md",
        "docs/animation.md",
        "docs/images.md",
        "docs/window.md",
        "docs/page.md",
        "docs/decisions.md",
        "docs/internals.md",
        "docs/foreign-scenes.md",
    ];
    let mut missing = Vec::new();
    for guide in guides {
        let text = fs::read_to_string(root.join(guide)).unwrap();
        let named = named_paths(&text, &folders);
        missing.extend(
            named
                .iter()
                .filter(|path| !root.join(path).exists())
                .map(|path| format!("{guide}: {path}")),
        );
    }
    assert!(missing.is_empty(), "no such file:\n{}", missing.join("\n"));
}

#[test]
fn anchors_are_those_of_github() {
    assert_eq!(
        anchor(" Every random number is a function of (seed, pixel)"),
        "every-random-number-is-a-function-of-seed-pixel"
    );
    assert_eq!(
        anchor("Structs are declared with `shared!`"),
        "structs-are-declared-with-shared"
    );
}
