//! GPUs that cannot be opened, or never are: emulated ones.

use std::path::Path;

use libtest_mimic::Trial;

use crate::{
    add_if, assert_done, assert_refused, folder,
    gpus::{devices_of, film_hash, left_out, render},
    names,
};

pub(crate) fn add(trials: &mut Vec<Trial>, emulated: &Result<(), String>) {
    for (name, test) in [
        (
            "a_gpu_that_cannot_be_opened_is_left_out",
            a_gpu_that_cannot_be_opened_is_left_out as fn(),
        ),
        (
            "a_gpu_that_hangs_while_it_is_opened_is_left_out",
            a_gpu_that_hangs_while_it_is_opened_is_left_out,
        ),
    ] {
        add_if(trials, emulated.clone(), name, test);
    }
}

/// Rendered without this GPU, which a line says.
fn assert_without(folder: &Path, environment: &[(&str, &str)], more: &[&str], words: &[&str]) {
    assert_done(&render(folder, "cpu", &[], &[]));
    let expected = film_hash(folder);
    let output = render(folder, "cuda:all", environment, more);
    assert_done(&output);
    assert_eq!(film_hash(folder), expected, "{environment:?}");
    let told = left_out(&output);
    assert!(
        matches!(&told[..], [line] if words.iter().all(|word| line.contains(word))),
        "{told:?}"
    );
    let device = |gpu| (format!("Emulated GPU (cuda:{gpu})"), gpu == 1);
    let devices: Vec<(String, bool)> = (0..3).map(device).collect();
    assert_eq!(devices_of(folder), devices, "{environment:?}");
    assert_eq!(names(folder), ["a.exr", "a.json"]);
}

fn a_gpu_that_cannot_be_opened_is_left_out() {
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
    // Who names a GPU wants that one.
    let output = render(folder.path(), "cuda:0,1", &refused, &[]);
    let words = ["Emulated GPU (cuda:1): ", "DEVICE_UNAVAILABLE"];
    assert_refused(&output, 1, &words);
    let all = [("EMULATED_REFUSED", "0:0,1:0,2:0")];
    let output = render(folder.path(), "cuda:all", &all, &[]);
    assert_refused(&output, 1, &["Emulated GPU (cuda:0): ", words[1]]);
}

fn a_gpu_that_hangs_while_it_is_opened_is_left_out() {
    let folder = folder();
    let patience = ["--patience", "2s"];
    // Its context, and one of its modules.
    for opening in ["1:0", "1:3"] {
        let stuck = [("EMULATED_STUCK", opening)];
        let words = [
            "raysieve: Emulated GPU (cuda:1) has failed and is left out; the program starts again with the others: ",
            "nothing for 2 s: the GPU hangs",
        ];
        assert_without(folder.path(), &stuck, &patience, &words);
        for named in ["cuda:1", "cuda:0,1"] {
            let output = render(folder.path(), named, &stuck, &patience);
            assert_refused(&output, 1, &["Emulated GPU (cuda:1): ", words[1]]);
        }
        // Whatever there is, in time.
        let first = [("EMULATED_STUCK", &*opening.replace("1:", "0:"))];
        let output = render(folder.path(), "auto", &first, &patience);
        assert_done(&output);
    }
}
