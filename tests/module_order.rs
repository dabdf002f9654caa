//! The order of the modules is that of their declarations in `src/lib.rs`: a module imports only those above it. The
//! order of the crates is [`CRATES`]. Inline paths such as `crate::film::Film` count as imports; paths in comments and
//! text literals do not.
//!
//! The files are also free of circles: no two of them import each other, directly or through others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Folder and package name of each crate of the workspace. A crate depends only on those before it.
const CRATES: [(&str, &str); 6] = [
    ("compaction", "compaction"),
    ("capi", "compaction-capi"),
    ("scene", "raysieve-scene"),
    (".", "raysieve"),
    ("viewer", "raysieve-viewer"),
    ("cli", "raysieve-cli"),
];

/// A path in a source file that begins at the crate's root.
#[derive(Debug, PartialEq)]
struct Import {
    /// Name of the top-level module, or of another item of the crate's root.
    module: String,
    /// Line number in the file, from 1.
    line: usize,
}

/// Replaces comments and the contents of text literals by spaces. Keeps line ends.
fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let length = match rest {
            ['/', '/', ..] => rest.iter().take_while(|&&c| c != '\n').count(),
            ['/', '*', ..] => block_comment(rest),
            ['r', '"' | '#', ..] if !code.ends_with(is_word) => raw_text(rest),
            ['"', ..] => text(rest),
            ['\'', '\\', _, tail @ ..] => 4 + tail.iter().take_while(|&&c| c != '\'').count(),
            ['\'', _, '\'', ..] => 3,
            _ => 0,
        };
        if length == 0 {
            code.push(chars[at]);
            at += 1;
            continue;
        }
        let end = chars.len().min(at + length);
        let blank = chars[at..end].iter();
        code.extend(blank.map(|&c| if c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    code
}

/// Returns the length of the block comment at the start, with the comments nested in it.
fn block_comment(chars: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the length of the text literal at the start.
fn text(chars: &[char]) -> usize {
    let mut at = 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns the length of the raw text literal at the start, 0 if it is a raw identifier.
fn raw_text(chars: &[char]) -> usize {
    let hashes = chars[1..].iter().take_while(|&&c| c == '#').count();
    if chars.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let end: Vec<char> = "\"".chars().chain("#".repeat(hashes).chars()).collect();
    let inside = &chars[2 + hashes..];
    let length = inside.windows(end.len()).position(|here| here == end);
    2 + hashes + length.unwrap_or(inside.len()) + end.len()
}

/// Returns whether a character may be part of an identifier.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the paths of a file that begin with `crate::`, one for each element of a group `crate::{…}`.
fn imports(source: &str) -> Vec<Import> {
    let code = code_only(source);
    let mut found = Vec::new();
    for (start, keyword) in code.match_indices("crate::") {
        if code[..start].ends_with(|c| is_word(c) || c == '$') {
            continue;
        }
        let path = start + keyword.len();
        let (mut depth, mut expected) = (0, true);
        for (offset, c) in code[path..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => expected = true,
                _ if expected && depth <= 1 && is_word(c) => {
                    let rest = &code[path + offset..];
                    let name = rest.split(|c| !is_word(c)).next().unwrap_or_default();
                    let line = 1 + code[..path + offset].matches('\n').count();
                    found.push(Import {
                        module: name.to_owned(),
                        line,
                    });
                    expected = false;
                }
                _ => {}
            }
            if depth == 0 && (c == '}' || !expected) {
                break;
            }
        }
    }
    found
}

/// Returns the modules that `src/lib.rs` declares, in order.
fn modules(lib: &str) -> Vec<String> {
    let code = code_only(lib);
    let words: Vec<&str> = code.split_whitespace().collect();
    let declared = words.windows(2).filter(|pair| pair[0] == "mod");
    declared
        .map(|pair| pair[1].trim_end_matches([';', '{']).to_owned())
        .collect()
}

/// Calls `visit` with each Rust file below a folder: its path components from `src`, without extension, and its text.
fn each_file(folder: &Path, components: &mut Vec<String>, visit: &mut impl FnMut(&[String], &str)) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        components.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        if path.is_dir() {
            each_file(&path, components, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(components, &fs::read_to_string(&path).unwrap());
        }
        components.pop();
    }
}

#[test]
fn modules_import_only_those_declared_above_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = modules(&fs::read_to_string(src.join("lib.rs")).unwrap());
    assert!(order.len() > 10, "src/lib.rs declares only {order:?}");
    let rank = |module: &str| order.iter().position(|known| known == module);
    let mut wrong = Vec::new();
    each_file(&src, &mut Vec::new(), &mut |file, source| {
        let name = format!("src/{}.rs", file.join("/"));
        let Some(own) = rank(&file[0]) else {
            assert_eq!(file, ["lib"], "{name}: src/lib.rs does not declare it");
            return;
        };
        for Import { module, line } in imports(source) {
            // Other names are those of the crate's root, such as `Error`.
            if rank(&module).is_none_or(|other| other <= own) {
                continue;
            }
            wrong.push(format!(
                "{name}:{line}: imports `{module}`, which src/lib.rs declares below `{}`",
                file[0]
            ));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the paths of the `use` tree or the single path at the beginning of `code`, and its length.
fn tree(code: &str) -> (Vec<Vec<&str>>, usize) {
    let (mut path, mut found, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if code[at..].starts_with('{') {
            at += 1;
            let end = |c: char| is_word(c) || c == '{' || c == '}';
            while let Some(next) = code[at..].find(end) {
                at += next;
                if code[at..].starts_with('}') {
                    break;
                }
                let (inner, length) = tree(&code[at..]);
                found.extend(inner.into_iter().map(|inner| [&path[..], &inner].concat()));
                at += length;
            }
            return (found, code.len().min(at + 1));
        }
        let word = code[at..].split(|c| !is_word(c)).next().unwrap_or_default();
        path.push(word);
        at += word.len();
        if !code[at..].starts_with("::") {
            return (vec![path], at);
        }
        at += 2;
    }
}

/// Returns the modules that each module of a crate imports, except for those that it contains or that contain it. A
/// module is the path of its file.
fn imported_modules(src: &Path) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let mut files = BTreeMap::new();
    each_file(src, &mut Vec::new(), &mut |file, source| {
        let module = match file {
            [root] if root == "lib" || root == "main" => &[],
            [folder @ .., last] if last == "mod" => folder,
            file => file,
        };
        files.insert(module.to_vec(), code_only(source));
    });
    let imported = |module: &[String], code: &str| {
        let starts = ["crate::", "super::"].map(|start| code.match_indices(start));
        let starts = starts.into_iter().flatten().map(|(start, _)| start);
        let starts = starts
            .filter(|&start| !code[..start].ends_with(|c| is_word(c) || c == ':' || c == '$'));
        let paths = starts.flat_map(|start| tree(&code[start..]).0);
        let targets = paths.map(|path| {
            let above = path.iter().take_while(|&&word| word == "super").count();
            let (base, path) = match path[0] {
                "crate" => (&[][..], &path[1..]),
                _ => (
                    &module[..module.len().saturating_sub(above)],
                    &path[above..],
                ),
            };
            let mut target = base.to_vec();
            target.extend(path.iter().map(|&word| word.to_owned()));
            while !files.contains_key(&target) {
                target.pop();
            }
            target
        });
        let targets =
            targets.filter(|target| !target.starts_with(module) && !module.starts_with(target));
        targets.collect()
    };
    files
        .iter()
        .map(|(module, code)| (module.clone(), imported(module, code)))
        .collect()
}

/// A module and its parts may import each other.
#[test]
fn no_two_files_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for (folder, _) in CRATES {
        let mut left = imported_modules(&root.join(folder).join("src"));
        assert!(left.len() > 10, "{folder} has only {} files", left.len());
        // A module that imports none of those that are left, or that none of them imports, is in no circle.
        loop {
            let known: BTreeSet<_> = left.keys().cloned().collect();
            for imported in left.values_mut() {
                imported.retain(|module| known.contains(module));
            }
            let needed: BTreeSet<_> = left.values().flatten().cloned().collect();
            left.retain(|module, imported| !imported.is_empty() && needed.contains(module));
            if left.len() == known.len() {
                break;
            }
        }
        for (module, imported) in left {
            let imported: Vec<_> = imported.iter().map(|module| module.join("::")).collect();
            let module = module.join("::");
            wrong.push(format!(
                "{folder}: {module} imports {}",
                imported.join(", ")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "circles of imports:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn trees_of_imports_are_paths() {
    let code = "crate::{ Error, a::{self, b::C as D},\n e::* }; more";
    let (paths, length) = tree(code);
    let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    for path in [
        "crate::Error",
        "crate::a::self",
        "crate::a::b::C",
        "crate::e::",
    ] {
        assert!(
            paths.iter().any(|found| found == path),
            "{path} is not in {paths:?}"
        );
    }
    assert_eq!(&code[length..], "; more");
}

/// The renderer's contexts do not track buffers by events, so functions of cudarc would not order their uses.
#[test]
fn buffers_are_used_by_functions_of_compaction_alone() {
    const USES: [&str; 8] = [
        ".memcpy_",
        ".memset_",
        ".clone_htod(",
        ".clone_dtoh(",
        ".clone_dtod(",
        ".alloc_zeros",
        ".launch_builder(",
        ".device_ptr",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["src", "viewer/src", "cli/src", "python/src"] {
        each_file(&root.join(folder), &mut Vec::new(), &mut |file, source| {
            for (line, code) in (1..).zip(code_only(source).lines()) {
                if USES.iter().any(|used| code.contains(used)) {
                    found.push(format!(
                        "{folder}/{}.rs:{line}: {}",
                        file.join("/"),
                        code.trim()
                    ));
                }
            }
        });
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn crates_depend_only_on_those_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (own, (folder, package)) in CRATES.into_iter().enumerate() {
        let file = root.join(folder).join("Cargo.toml");
        let manifest = fs::read_to_string(&file).unwrap();
        let name = format!("name = \"{package}\"");
        assert!(manifest.contains(&name), "{}: {name}", file.display());
        let mut section = "";
        for (number, line) in (1..).zip(manifest.lines()) {
            if line.starts_with('[') {
                section = line;
            }
            // Tests and examples may depend on any crate.
            if !section.ends_with("dependencies]")
                || section.contains("dev-")
                || section.contains("workspace")
            {
                continue;
            }
            let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
            let other = CRATES.iter().position(|&(_, package)| package == key);
            assert!(
                other.is_none_or(|other| other < own),
                "{}:{number}: `{package}` depends on `{key}`, which comes after it",
                file.display()
            );
        }
    }
}

#[test]
fn comments_and_texts_are_not_imports() {
    let source = r##"
// crate::a
/* crate::b /* crate::c */ crate::d */
const A: &str = "crate::e \" crate::f";
const B: &str = r#"crate::g "crate::h"#;
const C: (char, char) = ('"', '\'');
use crate::{
    Error, i::{self, Inner},
    j,
};
fn f<'a>(k: &'a crate::k::K) -> crate::l::L {}
$crate::m
"##;
    let found: Vec<(String, usize)> = imports(source)
        .into_iter()
        .map(|import| (import.module, import.line))
        .collect();
    let expected = [("Error", 8), ("i", 8), ("j", 9), ("k", 11), ("l", 11)];
    assert_eq!(
        found,
        expected.map(|(module, line)| (module.to_owned(), line))
    );
}
