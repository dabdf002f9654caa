//! Tests of emulated GPUs that cannot be opened, or that hang while they are opened.

use std::path::Path;

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused, folder,
    gpus::{devices_of, film_hash, left_out, render},
    names,
};

pub(crate) fn add(trials: &mut Vec<Trial>, emulated: &Result<(), String>) {
    add_tests!(trials, if emulated.clone() =>
        unusable_gpu_is_left_out,
        hang_while_opening_a_gpu_is_an_error,
    );
}

/// Asserts that a render leaves out one GPU, reports it on one line, and gives the film of the CPU.
fn assert_without(folder: &Path, environment: &[(&str, &str)], more: &[&str], words: &[&str]) {
    assert_done(&render(folder, "cpu", &[], &[]));
    let expected = film_hash(folder);
    let output = render(folder, "cuda:all", environment, more);
    assert_done(&output);
    assert_eq!(film_hash(folder), expected, "{environment:?}");
    let reports = left_out(&output);
    assert!(
        matches!(&reports[..], [line] if words.iter().all(|word| line.contains(word))),
        "{reports:?}"
    );
    let device = |gpu| (format!("Emulated GPU (cuda:{gpu})"), gpu == 1);
    let devices: Vec<(String, bool)> = (0..3).map(device).collect();
    assert_eq!(devices_of(folder), devices, "{environment:?}");
    assert_eq!(names(folder), ["a.exr", "a.json"]);
}

fn unusable_gpu_is_left_out() {
    let folder = folder();
    let refused = [("EMULATED_REFUSED", "1:0")];
    let words = [
        "raysieve: Emulated GPU (cuda:1) cannot be used and is left out; the others render: ",
        "open device 1: CUDA_ERROR_DEVICE_UNAVAILABLE",
    ];
    assert_without(folder.path(), &refused, &[], &words);
    let small = [("EMULATED_MEMORY", "1:0")];
    let words = [words[0], "bytes left: 0 of its 0 are free"];
    assert_without(folder.path(), &small, &[], &words);
    // A GPU that is named explicitly is not replaced.
    let output = render(folder.path(), "cuda:0,1", &refused, &[]);
    let words = ["Emulated GPU (cuda:1): ", "DEVICE_UNAVAILABLE"];
    assert_refused(&output, 1, &words);
    let all = [("EMULATED_REFUSED", "0:0,1:0,2:0")];
    let output = render(folder.path(), "cuda:all", &all, &[]);
    assert_refused(&output, 1, &["Emulated GPU (cuda:0): ", words[1]]);
}

fn hang_while_opening_a_gpu_is_an_error() {
    let folder = folder();
    let patience = ["--timeout", "5s"];
    // It hangs while its context is created, or while a module is loaded.
    for opening in ["1:0", "1:3"] {
        let stuck = [("EMULATED_STUCK", opening)];
        for named in ["cuda:all", "cuda:1", "cuda:0,1"] {
            let output = render(folder.path(), named, &stuck, &patience);
            let words = ["Emulated GPU (cuda:1): ", "nothing for 5 s: the GPU hangs"];
            assert_refused(&output, 1, &words);
        }
        // With automatic choice, another device renders.
        let first = [("EMULATED_STUCK", &*opening.replace("1:", "0:"))];
        let output = render(folder.path(), "auto", &first, &patience);
        assert_done(&output);
    }
}
