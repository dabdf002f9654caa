//! Tests of the progress display on a terminal and in a pipe.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use libtest_mimic::Trial;

use crate::{
    add_tests, folder,
    interrupt::{end, start},
    program, scene, signal, small_render, stderr, stdout, without_gpu_and_display,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        pipe_gets_plain_lines,
        progress_bar_is_hidden_in_a_pipe
    );
    let terminal = script("true").output();
    let terminal = match terminal {
        Ok(tried) if tried.status.success() => Ok(()),
        Ok(tried) => Err(format!("script: {}", stderr(&tried).trim())),
        Err(error) => Err(format!("script: {error}")),
    };
    add_tests!(trials, if terminal => progress_bar_is_shown_on_a_terminal);
    let script = Command::new("script").arg("--version").output();
    add_tests!(trials, if script.map(drop).map_err(|error| format!("script, of bsdutils: {error}")) => terminal_shows_a_table_updated_in_place);
}

fn pipe_gets_plain_lines() {
    let folder = folder();
    let started = Instant::now();
    let mut child = start(folder.path(), &["--size", "32x24", "-o", "a.exr"]);
    let mut messages = String::new();
    let mut pipe = BufReader::with_capacity(1, child.stderr.as_mut().expect("a pipe"));
    for _ in 0..2 {
        pipe.read_line(&mut messages).expect("a line");
    }
    // A busy machine only takes longer.
    let elapsed = started.elapsed();
    assert!(
        elapsed >= Duration::from_secs(20),
        "{elapsed:?}: {messages}"
    );
    signal(&child, "INT");
    messages += &end(child).1;
    let lines: Vec<&str> = messages.lines().collect();
    let (reports, last) = lines.split_at(lines.len() - 1);
    assert!(last[0].starts_with("raysieve: interrupted"), "{messages}");
    assert!(reports.len() >= 2, "{messages}");
    for line in reports {
        for word in [
            "raysieve: ",
            " samples per pixel, ",
            " %",
            " left",
            "noise about ",
        ] {
            assert!(line.contains(word), "{word:?}: {line}");
        }
        assert!(
            !line.contains(['\u{1b}', '\r']),
            "control characters in {line:?}"
        );
    }
}

/// Text in the header of the table.
const TABLE: &str = "intersect ms";

fn terminal_shows_a_table_updated_in_place() {
    let folder = folder();
    let command = format!(
        "stty rows 40 cols 100; exec {} {} --backend cpu --size 64x64 --spp 1000000 -o a.png",
        program().display(),
        scene("spheres.ron").display()
    );
    // A program that does not update its table fast enough is killed.
    let mut terminal = Command::new("timeout");
    let mut terminal = without_gpu_and_display(&mut terminal)
        .args(["30", "script", "-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env("SHELL", "/bin/bash")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut keyboard = terminal.stdin.take().expect("a pipe");
    let mut screen = terminal.stdout.take().expect("a pipe");
    let words = ["bounce", "removed", "Mrays/s", "noise about ", " left"];
    let is_enough = |shown: &[u8]| {
        let shown = String::from_utf8_lossy(shown);
        shown.matches(TABLE).count() > 4 && words.iter().all(|word| shown.contains(word))
    };
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    while !is_enough(&shown) {
        let read = screen.read(&mut buffer).expect("script prints");
        if read == 0 {
            break;
        }
        shown.extend_from_slice(&buffer[..read]);
    }
    // Ctrl-C ends the render. The write fails if the program has ended already.
    let _ = keyboard.write_all(b"\x03");
    screen.read_to_end(&mut shown).expect("script prints");
    terminal.wait().expect("a child");
    let shown = String::from_utf8_lossy(&shown);
    let tables: Vec<usize> = shown.match_indices(TABLE).map(|(at, _)| at).collect();
    assert!(tables.len() > 4, "the table is not updated: {shown}");
    let between = &shown[tables[0]..tables[1]];
    assert!(
        between.contains("\u{1b}["),
        "the cursor does not move back up: {between:?}"
    );
    for word in words {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}

fn progress_bar_is_hidden_in_a_pipe() {
    let output = small_render(folder().path(), &["--headless"]);
    let messages = stderr(&output);
    assert_eq!(messages.lines().count(), 1, "{messages}");
    assert!(messages.starts_with("backend: "), "{messages}");
}

/// Runs a shell command on a pseudo-terminal.
fn script(line: &str) -> Command {
    let mut script = Command::new("script");
    without_gpu_and_display(&mut script)
        .env("TERM", "xterm")
        .args(["--quiet", "--return", "--command", line, "/dev/null"]);
    script
}

fn progress_bar_is_shown_on_a_terminal() {
    let folder = folder();
    let line = format!(
        "'{}' '{}' --backend cpu --size 256x256 --spp 16 -o a.png >table",
        program().display(),
        scene("spheres.ron").display()
    );
    let output = script(&line)
        .current_dir(folder.path())
        .output()
        .expect("script runs");
    let printed = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains(" %"), "{printed}");
    let table = fs::read_to_string(folder.path().join("table")).expect("the table");
    assert!(table.starts_with("bounce"), "{table}");
}
