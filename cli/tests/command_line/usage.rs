//! Tests of the help, of messages about wrong usage, and of the list of devices.

use std::{fs, process::Command};

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused, folder, names, raysieve, run, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        help_describes_every_option_and_every_example_parses,
        completions_complete_options_and_values,
        manual_describes_every_option,
        version_is_the_version_of_the_package,
        help_that_cannot_be_printed_is_an_error,
        wrong_usage_is_reported_on_one_line,
        unreadable_scene_is_reported_on_one_line,
        cuda_without_a_gpu_suggests_the_cpu,
        auto_without_a_gpu_renders_on_the_cpu_and_gives_the_reason,
        devices_are_listed_with_a_reason_for_a_missing_gpu,
        closed_pipe_is_not_an_error,
        name_with_line_breaks_is_reported_on_one_line,
    );
}

/// Checks the help of the program and of its commands. The options are read from the help, because clap writes it.
fn help_describes_every_option_and_every_example_parses() {
    let folder = folder();
    let help = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        assert_done(&output);
        assert!(output.stderr.is_empty());
        stdout(&output)
    };
    let main_help = help(&["--help"]);
    let mut options = vec![(String::new(), described_options(&main_help))];
    for command in commands(&main_help) {
        let text = help(&[&command, "--help"]);
        options.push((command, described_options(&text)));
    }
    let examples = section(&main_help, "Examples:");
    let examples = examples.filter_map(|line| line.trim().strip_prefix("raysieve "));
    let mut count = 0;
    for example in examples {
        let first = example.split(' ').next().unwrap_or_default();
        let of_command = options.iter().find(|(command, _)| command == first);
        let (_, known) = of_command.unwrap_or(&options[0]);
        for option in example.split(' ').filter(|word| word.starts_with('-')) {
            assert!(
                known.iter().any(|name| name == option),
                "{option} is unknown in: raysieve {example}"
            );
        }
        count += 1;
    }
    assert!(count > 0, "no examples in\n{main_help}");
    for heading in ["Controls in the window", "\n  Measure\n", "Exit codes:"] {
        assert!(main_help.contains(heading), "{heading} is missing");
    }
    assert!(help(&["-h"]).len() < main_help.len());
}

/// Returns the indented lines below a heading, up to the next line that is not indented.
fn section<'a>(help: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let lines = help.lines().skip_while(move |line| *line != heading);
    lines
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
}

/// Returns the names of the commands.
fn commands(help: &str) -> Vec<String> {
    // Further lines of a description have a larger indentation.
    let lines = section(help, "Commands:").filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter_map(|line| line.split(' ').next());
    let commands: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    assert!(!commands.is_empty(), "no commands in\n{help}");
    commands
}

/// Returns the names of all options, long and short, such as `--output` and `-o`.
///
/// Panics if an option has no description, which clap writes with a larger indentation than the option.
fn described_options(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        if !text.starts_with('-') || line.len() - text.len() > 6 {
            continue;
        }
        let words = text.split([' ', ',', '=', '[']);
        names.extend(
            words
                .filter(|word| word.starts_with('-'))
                .map(str::to_owned),
        );
        let is_described = lines
            .peek()
            .is_some_and(|next| next.starts_with("          ") && !next.trim().is_empty());
        assert!(is_described, "{text} has no description");
    }
    assert!(!names.is_empty(), "no options in\n{help}");
    names
}

/// Checks the scripts in the shells that the machine has; bash is always there.
fn completions_complete_options_and_values() {
    let folder = folder();
    let script = |shell: &str| {
        let output = run(folder.path(), ["completions", shell]);
        assert_done(&output);
        let path = folder.path().join(shell);
        fs::write(&path, &output.stdout).unwrap();
        (path, stdout(&output))
    };
    let (bash, _) = script("bash");
    let completed = |words: &[&str]| {
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let line = format!(
            ". '{}'; COMP_WORDS=({}); COMP_CWORD={}; _raysieve raysieve '{last}' '{before}'; echo ${{COMPREPLY[@]}}",
            bash.display(),
            words.join(" "),
            words.len() - 1
        );
        let output = Command::new("bash").args(["-c", &line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(completed(&["raysieve", "--compac"]), "--compaction");
    assert_eq!(completed(&["raysieve", "far"]), "farm");
    assert_eq!(completed(&["raysieve", "farm", "--fan"]), "--fan-in");
    assert_eq!(
        completed(&["raysieve", "farm", "--engine", "kub"]),
        "kubernetes"
    );
    for (shell, expected) in [
        ("zsh", "#compdef raysieve"),
        ("fish", "complete -c raysieve"),
        ("elvish", "raysieve"),
        ("powershell", "raysieve"),
    ] {
        let (path, text) = script(shell);
        assert!(text.contains(expected), "{shell}: {text}");
        assert!(text.contains("camera-from"), "{shell}: {text}");
        // A shell that is not installed cannot check its script.
        if let Ok(output) = Command::new(shell).arg("-n").arg(path).output() {
            assert!(output.status.success(), "{shell}: {}", stderr(&output));
        }
    }
}

fn manual_describes_every_option() {
    let folder = folder();
    let help = stdout(&run(folder.path(), ["--help"]));
    let pages = [vec![], vec!["farm".to_owned()], vec!["bench".to_owned()]];
    for page in pages {
        let output = run(folder.path(), [&["man".to_owned()], &page[..]].concat());
        assert_done(&output);
        let text = stdout(&output).replace('\\', "");
        let name = [&["raysieve".to_owned()], &page[..]].concat().join("-");
        assert!(text.contains(&format!(".TH {name} 1")), "{text}");
        let help = match &page[..] {
            [] => help.clone(),
            page => stdout(&run(folder.path(), [page, &["--help".to_owned()]].concat())),
        };
        for option in described_options(&help) {
            assert!(text.contains(&option), "{name}: {option} is missing");
        }
    }
    for command in commands(&help) {
        assert_done(&run(folder.path(), ["man", &command]));
    }
}

fn version_is_the_version_of_the_package() {
    let version = run(folder().path(), ["--version"]);
    assert_done(&version);
    assert_eq!(
        stdout(&version).trim(),
        concat!("raysieve ", env!("CARGO_PKG_VERSION"))
    );
}

/// Linux has a device that is always full.
fn help_that_cannot_be_printed_is_an_error() {
    let folder = folder();
    for option in ["--help", "-h", "--version"] {
        let full = fs::File::create("/dev/full").unwrap();
        let output = raysieve(folder.path()).arg(option).stdout(full).output();
        assert_refused(&output.unwrap(), 1, &["standard output", "not written"]);
    }
}

fn wrong_usage_is_reported_on_one_line() {
    let wrong: &[(&[&str], &[&str])] = &[
        (&[], &["SCENE", "--help"]),
        (&["a.ron", "b.ron"], &["'b.ron'", "more than one scene"]),
        (
            &["merg", "a.exr"],
            &["'a.exr'", "must be the first argument"],
        ),
        (
            &["a.ron", "merge", "a.exr"],
            &["'merge'", "unknown command"],
        ),
        (&["merge", "a.exr", "--spp", "3"], &["--spp"]),
        (&["verify"], &["PICTURE"]),
        (&["a.ron", "--fast"], &["--fast"]),
        (&["a.ron", "--headles"], &["--headles", "'--headless'"]),
        (&["a.txt"], &["a.txt", ".ron"]),
        (
            &["a.fbx"],
            &["a.fbx", "is an FBX file", "export it as glTF"],
        ),
        (&["a.STL"], &["a.STL", "is an STL file", "convert it"]),
        (&["a.usdz"], &["a.usdz", "is a USD file"]),
        (&["a.blend"], &["a.blend", "is a Blender file"]),
        (&["a.splat"], &["a.splat", "is a Gaussian splat"]),
        (
            &["a.ron", "--max-bounces", "unlimited"],
            &["'unlimited'", "from 0 to 4096", "4096 is the largest"],
        ),
        (
            &["a.ron", "--max-bounces", "-1"],
            &["'-1'", "from 0 to 4096", "4096 is the largest"],
        ),
        (
            &["a.ron", "--roulette", "4097"],
            &["'4097'", "from 0 to 4096", "0 turns it off"],
        ),
        (
            &["a.ron", "--size", "0x480"],
            &["0x480", "at least one pixel"],
        ),
        (
            &["a.ron", "--size", "640x0"],
            &["640x0", "at least one pixel"],
        ),
        (&["a.ron", "--size", "640"], &["640", "1920x1080"]),
        (&["a.ron", "--size", "640x-480"], &["640x-480", "1920x1080"]),
        (
            &["a.ron", "--size", "99999999999x1"],
            &["99999999999x1", "1920x1080"],
        ),
        (
            &["a.ron", "--spp", "0"],
            &["--spp", "'0'", "must be 1 to 4294967295"],
        ),
        (
            &["a.ron", "--spp", "many"],
            &["--spp", "'many'", "expected a whole number"],
        ),
        (&["a.ron", "--spp", "4", "--spp", "5"], &["--spp"]),
        (&["a.ron", "--spp"], &["--spp"]),
        (&["a.ron", "--seed", "-1"], &["--seed", "'-1'", "must be 0"]),
        (&["a.ron", "--spp", "-1"], &["--spp", "'-1'", "must be 1"]),
        (&["bench", "--rounds", "-1"], &["'-1'", "must be 1 to 1000"]),
        (&["a.ron", "--size", "-1"], &["--size", "'-1'", "1920x1080"]),
        (
            &["a.ron", "--samples", "-1..4"],
            &["'-1..4'", "such as 0..16"],
        ),
        (&["a.ron", "--timeout", "0s"], &["--timeout", "from 100ms"]),
        (&["a.ron", "--timeout", "-1s"], &["'-1s'", "from 100ms"]),
        (&["a.ron", "--keep-every", "0s"], &["'0s'", "from 1ms"]),
        (
            &["a.ron", "--checkpoint", "c.exr", "--every", "0s"],
            &["'0s'", "from 1ms"],
        ),
        (
            &["farm", "a.ron", "-o", "a.exr", "--every", "0s"],
            &["'0s'", "from 1ms"],
        ),
        (
            &["farm", "a.ron", "-o", "a.exr", "--time-limit", "0s"],
            &["'0s'", "from 1s"],
        ),
        (
            &["farm", "a.ron", "-o", "a.exr", "--time", "30s"],
            &["--time 30s", "--time-limit 30s"],
        ),
        (
            &["farm", "a.ron", "-o", "a.exr", "--time", "1:00:00"],
            &["'1:00:00'", "--time-limit"],
        ),
        (
            &["a.ron", "--max-bounces", "4294967296"],
            &["--max-bounces", "4294967296"],
        ),
        (&["a.ron", "--wave-size", "0"], &["--wave-size", "'0'"]),
        (
            &["a.ron", "--threads", "0"],
            &["--threads", "must be 1 to 1024"],
        ),
        (
            &["a.ron", "--exposure", "NaN"],
            &["--exposure", "-32 to 32"],
        ),
        (&["a.ron", "--view", "heat"], &["--view", "'heat'", "cost"]),
        (&["a.ron", "--exposure", "33"], &["--exposure", "-32 to 32"]),
        (
            &["a.ron", "--backend", "metal"],
            &["metal", "auto, cpu, cuda, cuda:N, cuda:N,N and cuda:all"],
        ),
        (
            &["a.ron", "--backend", "cuda:0,2,0"],
            &["cuda:0,2,0", "GPU 0 is named twice"],
        ),
        (&["a.ron", "--backend", "cuda:0,"], &["cuda:0,", "cuda:all"]),
        (&["a.ron", "--backend", "cuda:"], &["cuda:all"]),
        (
            &["a.ron", "--backend", "cuda:first"],
            &["cuda:first", "cuda:0"],
        ),
        (
            &["a.ron", "--compaction", "zip"],
            &["zip", "look-back", "atomic", "off"],
        ),
        (
            &["a.ron", "--sort-hits", "never"],
            &["never", "auto", "on", "off"],
        ),
        (
            &["inspect", "a.ron", "-3,4"],
            &["'-3'", "no negative number"],
        ),
        (&["completions", "csh"], &["'csh'", "bash", "zsh", "fish"]),
        (&["man", "farming"], &["'farming'", "no such command"]),
        (&["a.ron", "-o", "a.jpg"], &["a.jpg", ".png", ".exr"]),
        (&["a.ron", "-o", "a"], &["'a'", ".png", ".exr"]),
        (&["a.ron", "--stats", "a.txt"], &["a.txt", ".json"]),
        (&["a.ron", "--stats", "a.ron"], &["a.ron", ".json"]),
    ];
    let folder = folder();
    for (arguments, expected) in wrong {
        let output = run(folder.path(), *arguments);
        assert_refused(&output, 2, expected);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(names(folder.path()).is_empty());
}

fn unreadable_scene_is_reported_on_one_line() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder.ron")).expect("a folder");
    fs::write(folder.path().join("empty.ron"), "").expect("a file");
    fs::write(folder.path().join("noise.ron"), [0xFF, 0xFE, 0x00, 0x01]).expect("a file");
    for name in [
        "missing.ron",
        "folder.ron",
        "empty.ron",
        "noise.ron",
        "missing/scene.ron",
    ] {
        let output = run(folder.path(), [name, "--headless"]);
        assert_refused(&output, 2, &[name]);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    assert_eq!(
        names(folder.path()),
        ["empty.ron", "folder.ron", "noise.ron"]
    );
}

fn cuda_without_a_gpu_suggests_the_cpu() {
    let folder = folder();
    for backend in ["cuda", "cuda:0", "cuda:7", "cuda:0,1", "cuda:all"] {
        let output = raysieve(folder.path())
            .arg(scene("spheres.ron"))
            .args([
                "--headless",
                "--size",
                "8x8",
                "--spp",
                "1",
                "--backend",
                backend,
            ])
            .output()
            .expect("the program starts");
        let code = output.status.code().unwrap_or_default();
        assert!([1, 2].contains(&code), "exit code {code}");
        assert_refused(&output, code, &["--backend cpu"]);
    }
    assert!(names(folder.path()).is_empty());
}

fn auto_without_a_gpu_renders_on_the_cpu_and_gives_the_reason() {
    let folder = folder();
    let output = raysieve(folder.path())
        .arg(scene("spheres.ron"))
        .args(["--headless", "--size", "8x8", "--spp", "1"])
        .output()
        .expect("the program starts");
    assert_done(&output);
    let messages = stderr(&output);
    let backend = messages
        .lines()
        .find_map(|line| line.strip_prefix("backend: cpu, "))
        .expect("the backend is printed");
    let (_, reason) = backend
        .split_once(": ")
        .expect("the reason for the backend");
    assert!(!reason.is_empty());
}

fn devices_are_listed_with_a_reason_for_a_missing_gpu() {
    let output = run(folder().path(), ["--list-devices"]);
    assert_done(&output);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let [cpu, cuda] = lines[..] else {
        panic!("expected a line for the CPU and one for the missing GPU: {text}")
    };
    assert!(
        cpu.starts_with("cpu     ") && cpu.ends_with(" threads"),
        "{cpu}"
    );
    let reason = cuda
        .strip_prefix("cuda    no CUDA device: ")
        .expect("the program must not see a GPU");
    assert!(!reason.is_empty());
}

fn closed_pipe_is_not_an_error() {
    let folder = folder();
    let mut child = raysieve(folder.path())
        .arg(scene("spheres.ron"))
        .args(["--headless", "--size", "16x16", "--spp", "1"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_done(&output);
    assert_eq!(names(folder.path()), ["spheres.png"]);
}

fn name_with_line_breaks_is_reported_on_one_line() {
    let folder = folder();
    let name = "a\nb\u{1b}[31m.exr";
    let place = format!("{name}/c.exr");
    let box_scene = scene("cornell.ron");
    let box_scene = box_scene.to_str().expect("a path of text");
    let refused: [&[&str]; 4] = [
        &["verify", name],
        &["merge", name, "-o", "c.exr"],
        &[box_scene, "-o", &place],
        &["farm", box_scene, "-o", name],
    ];
    for arguments in refused {
        let output = run(folder.path(), arguments);
        assert_refused(&output, 2, &["a\\nb\\u{1b}[31m."]);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}
