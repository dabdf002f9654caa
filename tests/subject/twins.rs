//! Twins: a subject's Rust and its CUDA have the same functions in the same order.

use std::{collections::BTreeSet, fs, path::Path};

fn read(path: &str) -> String {
    fs::read_to_string(path).expect(path)
}

/// Stems that stand both in `kernels/shared/` and in `src/`.
fn twins() -> BTreeSet<String> {
    let kernels = fs::read_dir("kernels/shared").expect("kernels/shared");
    let stems = kernels.map(|entry| {
        let path = entry.expect("kernels/shared").path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    stems
        .filter(|stem| Path::new(&format!("src/{stem}.rs")).exists())
        .collect()
}

/// Names of the free functions of a Rust text.
fn rust_functions(text: &str) -> Vec<&str> {
    let signature = |line: &'_ str| line.strip_prefix("pub ").unwrap_or(line).starts_with("fn ");
    let lines = text.lines().filter(|line| signature(line));
    lines
        .filter_map(|line| line.split("fn ").nth(1)?.split(['(', '<']).next())
        .collect()
}

/// Names of the functions of a CUDA text: `inline TYPE NAME(`.
fn cuda_functions(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.starts_with("inline "));
    lines
        .filter_map(|line| line.split('(').next()?.split_whitespace().last())
        .collect()
}

/// Those of `names` that `others` have too: each side has some of its own, which only the host, or only C++, needs.
fn common<'a>(names: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    let shared = names.iter().filter(|name| others.contains(name));
    shared.copied().collect()
}

#[test]
fn twins_have_their_functions_in_the_same_order() {
    let twins = twins();
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
