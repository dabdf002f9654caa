//! Twin functions return the same bits in Rust and in CUDA C++, which a host compiler compiles.
//!
//! No GPU is needed. Without a C++ compiler, the tests that call C++ are skipped with a message.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../compaction/tests/common/mod.rs"]
mod harness;
#[path = "../common/host.rs"]
mod host;

mod cases;
mod inputs;
mod order;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

use cases::{Case, ROUND, cases};
use compaction::cuda::Source;
use harness::Tests;
use host::{HostCompiler, stage_sources};
use inputs::Harvest;

/// The reason to skip a test.
const NO_COMPILER: &str = "no C++ compiler";

fn main() {
    let compiler = HostCompiler::find();
    let mut tests = Tests::new()
        .test(
            "twins_have_their_functions_in_the_same_order",
            order::same_order,
        )
        .test("every_twin_has_a_case", order::every_twin_has_a_case)
        .test(
            "materials_of_every_kind_are_drawn",
            inputs::materials_of_every_kind_are_drawn,
        );
    let headers: BTreeSet<&str> = cases().iter().map(|case| case.header).collect();
    for header in headers {
        tests = tests.needs(
            NO_COMPILER,
            compiler.clone(),
            &format!("{header}_agrees"),
            move |compiler| agree(compiler, header),
        );
    }
    tests
        .needs(
            NO_COMPILER,
            compiler,
            "what_differs_is_named",
            what_differs_is_named,
        )
        .run()
}

/// Tests all functions of a header.
fn agree(compiler: &HostCompiler, header: &str) {
    let differences: Vec<String> = (0_u64..)
        .zip(cases())
        .filter(|(_, case)| case.header == header)
        .filter_map(|(number, case)| check(compiler, &case, number as usize, number).err())
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Compares calls of `min_f32` in Rust with calls of `max_f32` in C++ and expects a message that names them.
fn what_differs_is_named(compiler: &HostCompiler) {
    let cases = cases();
    let place = |name: &str| cases.iter().position(|case| case.name == name).unwrap();
    let (min_f32, max_f32) = (place("min_f32"), place("max_f32"));
    let said = check(compiler, &cases[min_f32], max_f32, 0).expect_err("they differ");
    let words = ["math::min_f32 of (", "): Rust ", ", C++ "];
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

/// Compares a function in Rust with function `number` in C++.
fn check(compiler: &HostCompiler, case: &Case, number: usize, seed: u64) -> Result<(), String> {
    let mut calls = Calls::of(compiler, number);
    case.check(seed, &mut |words, results| calls.answer(words, results))
}

/// A running C++ program that calls one function with the arguments that it reads.
struct Calls(Child);

impl Calls {
    /// Starts the program for function `number`. The first call compiles it and writes the scenes that it reads.
    fn of(compiler: &HostCompiler, number: usize) -> Calls {
        static PROGRAM: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
        let (program, scene) = PROGRAM.get_or_init(|| {
            let program = build(compiler);
            // Renamed when complete, because another test run may be reading it.
            let scene = program.with_extension("scene");
            let written = program.with_extension(std::process::id().to_string());
            for (words, scene) in [
                (scene_words(), &scene),
                (
                    instanced_scene_words(),
                    &program.with_extension("instanced"),
                ),
            ] {
                fs::write(&written, words).unwrap();
                fs::rename(&written, scene).unwrap();
            }
            (program, scene)
        });
        let child = Command::new(program)
            .arg(number.to_string())
            .arg(scene)
            .arg(program.with_extension("instanced"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Calls(child)
    }

    /// Returns the words of the results of one batch of calls with these arguments.
    fn answer(&mut self, words: &[u32], results: usize) -> Vec<u32> {
        let stdin = self.0.stdin.as_mut().unwrap();
        stdin.write_all(&(ROUND as u32).to_le_bytes()).unwrap();
        stdin.write_all(bytemuck::cast_slice(words)).unwrap();
        stdin.flush().unwrap();
        let mut answer = vec![0; results];
        let stdout = self.0.stdout.as_mut().unwrap();
        stdout
            .read_exact(bytemuck::cast_slice_mut(&mut answer))
            .unwrap();
        answer
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // The program ends when its input does.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Returns the scene without instances in the format that the program reads.
fn scene_words() -> Vec<u8> {
    let scene = &Harvest::get().scene;
    let nodes: &[u32] = bytemuck::cast_slice(&scene.nodes);
    let primitives: &[u32] = bytemuck::cast_slice(&scene.primitives);
    let energy: &[u32] = bytemuck::cast_slice(&scene.energy);
    let materials: &[u32] = bytemuck::cast_slice(&scene.materials);
    let counts = [
        nodes.len() as u32,
        energy.len() as u32,
        materials.len() as u32,
    ];
    [&counts, nodes, energy, materials, primitives]
        .into_iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

/// Returns the scene with instances in the format that the program reads.
fn instanced_scene_words() -> Vec<u8> {
    let scene = &Harvest::get().instanced;
    let lists: [&[u32]; 10] = [
        bytemuck::cast_slice(&scene.nodes),
        bytemuck::cast_slice(&scene.primitives),
        bytemuck::cast_slice(&scene.instances),
        bytemuck::cast_slice(&scene.corners),
        bytemuck::cast_slice(&scene.vertices),
        bytemuck::cast_slice(&scene.materials),
        bytemuck::cast_slice(&scene.maps),
        bytemuck::cast_slice(&scene.textures),
        &scene.texels,
        &scene.opacity_maps,
    ];
    lists
        .into_iter()
        .flat_map(|list| [&[list.len() as u32], list].concat())
        .flat_map(u32::to_le_bytes)
        .collect()
}

/// Returns the number of features of scenes for which the kernels of a file are compiled.
fn feature_count(source: &Source) -> u32 {
    let text = source.text().unwrap();
    let value = |name: &str| -> u32 {
        let start = format!("constexpr u32 {name} = ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.map_or(0, |line| line.trim_end_matches(';').parse().unwrap())
    };
    value("KINDS").count_ones() + value("INSTANCED") + value("ALPHA_TESTED")
}

/// Returns the kernel file that tests a header: of those that include it, the one with the most features.
fn file_with(header: &str) -> Source {
    let line = format!("#line 1 \"kernels/shared/{header}.cuh\"\n");
    stage_sources()
        .filter(|source| source.text().unwrap().contains(&line))
        .max_by_key(feature_count)
        .unwrap_or_else(|| panic!("no kernel includes {header}.cuh"))
}

/// Compiles the program with a call of every function.
fn build(compiler: &HostCompiler) -> PathBuf {
    let cases = cases();
    let headers: BTreeSet<&str> = cases.iter().map(|case| case.header).collect();
    let mut namespaces = BTreeMap::new();
    let mut sources = BTreeMap::new();
    for header in headers {
        let source = file_with(header);
        let namespace = source.kernel_names().next().unwrap();
        namespaces.insert(header, namespace);
        sources.insert(namespace, source);
    }
    let mut after = String::new();
    for (number, case) in cases.iter().enumerate() {
        let namespace = namespaces[case.header];
        let (words_in, words_out) = case.words;
        after += &format!(
            "namespace {namespace} {{ calls::Twin twin_{number}() {{ return calls::twin<{words_in}, {words_out}>({}); }} }}\n",
            case.cpp
        );
    }
    after += "static calls::Twin (*const TWINS[])() = {\n";
    for (number, case) in cases.iter().enumerate() {
        after += &format!("    {}::twin_{number},\n", namespaces[case.header]);
    }
    after += "};\nint main(int, char **words) {\n    calls::read_scene(words[2]);\n    calls::read_instanced_scene(words[3]);\n    return calls::serve(TWINS[atoi(words[1])]());\n}\n";
    compiler.build(include_str!("calls.hpp"), sources.into_values(), &after)
}
