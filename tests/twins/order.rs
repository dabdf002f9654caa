//! Checks on the source text of twins: the functions that both contain have the same order, and each has a case.

use std::{collections::BTreeSet, fs};

use crate::{
    cases::{cases, excused},
    common::file,
};

/// Reads a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(file(path)).expect(path)
}

/// Returns the stems of the files in `kernels/shared/`.
fn headers() -> BTreeSet<String> {
    let headers = fs::read_dir(file("kernels/shared")).expect("kernels/shared");
    let stems = headers.map(|entry| {
        let path = entry.expect("kernels/shared").path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    stems.collect()
}

/// Returns the names of the free functions in a Rust text, in order.
fn rust_functions(text: &str) -> Vec<&str> {
    let signature = |line: &'_ str| line.strip_prefix("pub ").unwrap_or(line).starts_with("fn ");
    let lines = text.lines().filter(|line| signature(line));
    lines
        .filter_map(|line| line.split("fn ").nth(1)?.split(['(', '<']).next())
        .collect()
}

/// Returns the names of the functions in a CUDA text, in order. Overloads appear more than once.
fn cuda_functions(text: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let lines = text.lines().filter(|line| line.starts_with("inline "));
    lines
        // A function defined separately for device and host counts once.
        .filter(|line| seen.insert(line.split('{').next()))
        .filter_map(|line| line.split('(').next()?.split_whitespace().last())
        .map(|name| name.trim_start_matches('&'))
        .collect()
}

/// Returns those of `names` that are also in `others`. Each side has some functions of its own.
fn common<'a>(names: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    let shared = names.iter().filter(|name| others.contains(name));
    shared.copied().collect()
}

/// Returns the Rust twin of a header, if it has one, as a path in the repository.
fn rust_twin(stem: &str) -> Option<String> {
    let folders = ["", "accel/", "adaptive/", "lights/", "shading/", "vertex/"];
    let files = folders.map(|folder| format!("src/{folder}{stem}.rs"));
    let mut twins = files.into_iter().chain([format!("src/{stem}/mod.rs")]);
    twins.find(|path| file(path).exists() && !rust_functions(&read(path)).is_empty())
}

/// Twin files contain their common functions in the same order.
pub(crate) fn same_order() {
    let both = headers().into_iter().filter_map(|stem| {
        let path = rust_twin(&stem)?;
        Some((stem, path))
    });
    let twins: Vec<(String, String)> = both.collect();
    assert!(twins.len() >= 20, "only {twins:?} are left");
    for (stem, path) in twins {
        let rust = read(&path);
        let cuda = read(&format!("kernels/shared/{stem}.cuh"));
        let (rust, cuda) = (rust_functions(&rust), cuda_functions(&cuda));
        let in_rust = common(&rust, &cuda);
        assert!(!in_rust.is_empty(), "{stem}: no function is a twin");
        assert_eq!(in_rust, common(&cuda, &rust), "{stem}");
    }
}

/// Returns the stems of the headers that a text includes.
fn includes(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix(".cuh\""))
        .collect()
}

/// Returns whether the bodies of the functions in a CUDA text contain a call of `function`.
fn calls(text: &str, function: &str) -> bool {
    let call = format!("{function}(");
    let mut code = text.lines().map(|line| match line.split_once('{') {
        Some((_, body)) if line.starts_with("inline ") => body,
        _ if line.starts_with("inline ") || line.starts_with("//") => "",
        _ => line,
    });
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.any(|line| {
        let mut places = line.match_indices(&call);
        places.any(|(start, _)| !line[..start].ends_with(is_word))
    })
}

/// Every function of a header has a test case or a stated reason why it has none. Functions of lobes that `bsdf.cuh` or
/// their own header calls need no case: those of `bsdf` call them with materials of every kind.
pub(crate) fn every_twin_has_a_case() {
    let cases = cases();
    let bsdf = read("kernels/shared/bsdf.cuh");
    let lobes = includes(&bsdf);
    assert!(lobes.len() >= 2, "bsdf.cuh includes only {lobes:?}");
    for stem in headers() {
        let text = read(&format!("kernels/shared/{stem}.cuh"));
        let mut functions = cuda_functions(&text);
        if lobes.contains(&stem.as_str()) {
            let is_called = |name: &str| calls(&bsdf, name) || calls(&text, name);
            let has_case = |name: &str| {
                let mut cases = cases.iter();
                cases.any(|case| (case.header, case.name) == (&stem, name))
            };
            functions.retain(|name| has_case(name) || !is_called(name));
        }
        let called = cases.iter().map(|case| (case.header, case.name));
        let mut covered: Vec<&str> = called
            .chain(excused())
            .filter(|&(header, _)| header == stem)
            .map(|(_, name)| name)
            .collect();
        functions.sort_unstable();
        covered.sort_unstable();
        assert_eq!(
            functions, covered,
            "{stem}: left the functions, right those with a case or an excuse in tests/twins/cases.rs"
        );
    }
}
