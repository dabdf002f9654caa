//! The functions that twins have, by their texts.

use std::{collections::BTreeSet, fs};

use crate::{
    cases::{cases, excused},
    common::file,
};

fn read(path: &str) -> String {
    fs::read_to_string(file(path)).expect(path)
}

/// Stems of `kernels/shared/`.
fn headers() -> BTreeSet<String> {
    let headers = fs::read_dir(file("kernels/shared")).expect("kernels/shared");
    let stems = headers.map(|entry| {
        let path = entry.expect("kernels/shared").path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    stems.collect()
}

/// Names of the free functions of a Rust text.
fn rust_functions(text: &str) -> Vec<&str> {
    let signature = |line: &'_ str| line.strip_prefix("pub ").unwrap_or(line).starts_with("fn ");
    let lines = text.lines().filter(|line| signature(line));
    lines
        .filter_map(|line| line.split("fn ").nth(1)?.split(['(', '<']).next())
        .collect()
}

/// Names of the functions of a CUDA text, `inline TYPE NAME(`: each as often as it is overloaded.
fn cuda_functions(text: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let lines = text.lines().filter(|line| line.starts_with("inline "));
    lines
        // For the device and for a host it is one function.
        .filter(|line| seen.insert(line.split('{').next()))
        .filter_map(|line| line.split('(').next()?.split_whitespace().last())
        .collect()
}

/// Those of `names` that `others` have too: each side has some of its own, which only the host, or only C++, needs.
fn common<'a>(names: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    let shared = names.iter().filter(|name| others.contains(name));
    shared.copied().collect()
}

pub(crate) fn same_order() {
    let both = headers()
        .into_iter()
        .filter(|stem| file(&format!("src/{stem}.rs")).exists());
    let twins: Vec<String> = both.collect();
    assert!(twins.len() >= 9, "only {twins:?} are left");
    for stem in twins {
        let rust = read(&format!("src/{stem}.rs"));
        let cuda = read(&format!("kernels/shared/{stem}.cuh"));
        let (rust, cuda) = (rust_functions(&rust), cuda_functions(&cuda));
        let in_rust = common(&rust, &cuda);
        assert!(!in_rust.is_empty(), "{stem}: no function is a twin");
        assert_eq!(in_rust, common(&cuda, &rust), "{stem}");
    }
}

/// A new function gets a case, or a reason why it has none.
pub(crate) fn every_twin_has_a_case() {
    let cases = cases();
    for stem in headers() {
        let text = read(&format!("kernels/shared/{stem}.cuh"));
        let mut functions = cuda_functions(&text);
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
