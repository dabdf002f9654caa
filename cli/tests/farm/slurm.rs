//! Tests of a farm on a real Slurm whose nodes fail.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use libtest_mimic::Trial;
use raysieve::render::part::{Part, PartHeader};

use crate::{
    add_tests, assert_done, assert_refused,
    cluster::{Cluster, NODES, installed, signal},
    program, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(trials, if installed() =>
        film_is_identical_after_failures_of_slurm_nodes,
        slurm_failures_are_named_and_continued,
    );
}

/// Number of parts of the farm.
const PARTS: u32 = 6;

fn part_file(cluster: &Cluster, part: u32) -> std::path::PathBuf {
    cluster.work().join(format!("out.farm/parts/{part:05}.exr"))
}

/// Returns whether the file of the part contains samples.
fn has_begun(cluster: &Cluster, part: u32) -> bool {
    PartHeader::read(&part_file(cluster, part)).is_ok()
}

fn log(cluster: &Cluster, part: u32) -> String {
    fs::read_to_string(cluster.work().join(format!("out.farm/logs/{part:05}.log")))
        .unwrap_or_default()
}

/// Returns the number after "parts: job " in the output.
fn job(printed: &str) -> String {
    let job = printed
        .lines()
        .find_map(|line| line.split_once("parts: job "));
    job.unwrap_or_else(|| panic!("no job in {printed}"))
        .1
        .to_owned()
}

fn film_is_identical_after_failures_of_slurm_nodes() {
    let mut cluster = Cluster::start("");
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().unwrap();
    // Each part takes some seconds on one core.
    let render = [
        spheres,
        "--size",
        "96x64",
        "--spp",
        "4200",
        "--seed",
        "5",
        "--backend",
        "cpu",
    ];
    let parts = PARTS.to_string();
    let farm = [
        "--parts",
        &parts,
        "--every",
        "200ms",
        "--threads",
        "1",
        "-o",
        "out.exr",
    ];
    let submitted = cluster.run(&[&["farm"], &render[..], &farm].concat());
    assert_done(&submitted);
    let job = job(&stdout(&submitted));
    // A second submission is refused while the first is in the queue.
    let again = cluster.run(&["farm", "-o", "out.exr"]);
    assert_refused(
        &again,
        2,
        &["out.farm", "already in the queue", &job, "--status"],
    );

    let status = cluster
        .raysieve()
        .args(["farm", "-o", "out.exr", "--status"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    // Each node runs one task, which is stopped once it has a checkpoint, so that none ends too early.
    let mut held: HashMap<String, (u32, u32)> = HashMap::new();
    cluster.wait_for("three parts under way", |cluster| {
        for (part, node) in cluster.running(&job) {
            if !held.contains_key(&node)
                && has_begun(cluster, part)
                && let Some(pid) = cluster.renderer_of(part)
            {
                signal(pid, "STOP");
                held.insert(node, (part, pid));
            }
        }
        held.len() == 3
    });
    let [(killed, first), (moved, second), (left, third)] = NODES.map(|node| held[node]);
    // The node of the third task is lost while its render goes on, the first task is killed, and the second reaches its
    // time limit on a node that is drained.
    cluster.lose_node("node3", third);
    signal(third, "CONT");
    signal(first, "KILL");
    cluster.set("node2", "drain");
    let task = format!("{job}_{moved}");
    // The request fails now and then on a busy machine. The render is stopped, so that a repeated signal changes
    // nothing.
    let notify = ["scancel", "--batch", "--signal=USR1", &task];
    cluster.wait_for("signal of the time limit", |cluster| {
        cluster.try_slurm(&notify).is_ok()
    });
    signal(second, "CONT");
    cluster.wait_for("the part of the silent node queued again", |cluster| {
        let task = format!("{job}_{left}");
        cluster
            .slurm(&["scontrol", "show", "job", &task])
            .contains("Restarts=1")
    });
    cluster.set("node2", "resume");

    let one_go = cluster.run(&[&render[..], &["-o", "one.exr"]].concat());
    assert_done(&one_go);
    let expected = Part::read(&cluster.work().join("one.exr")).unwrap();

    let ended = status.wait_with_output().unwrap();
    assert!(
        ended.status.success(),
        "{}: {}\n{}\n{}",
        ended.status,
        stderr(&ended),
        stdout(&ended),
        cluster.diagnostics()
    );
    let hash = &expected.header.stats.film_hash;
    assert_eq!(
        stdout(&ended).lines().last().unwrap(),
        format!("out.exr contains samples 0..4200, film_hash {hash}")
    );
    let merged = Part::read(&cluster.work().join("out.exr")).unwrap();
    assert!(merged.film == expected.film && merged.header.identity == expected.header.identity);

    // The tasks continued from their checkpoints.
    for (part, expected_error) in [(killed, "exit code 137"), (moved, "exit code 130")] {
        let log = log(&cluster, part);
        assert!(log.contains(expected_error), "{expected_error}: {log}");
        assert!(log.contains("continuing after samples"), "{log}");
    }
    assert!(
        log(&cluster, left).matches("backend: cpu").count() >= 2,
        "{}",
        log(&cluster, left)
    );

    let again = cluster.run(&["farm", "-o", "out.exr"]);
    assert_done(&again);
    assert!(
        stdout(&again).contains(hash),
        "nothing is left to submit: {}",
        stdout(&again)
    );
}

const SCENE: &str = r#"(
    size: (16, 12), spp: 8, sky: (1, 1, 1),
    camera: (origin: (0, 1, 5), target: (0, 0, 0), fov: 40),
    materials: { "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) },
    objects: [Sphere(center: (0, 0, 0), radius: 1, material: "clay")],
)"#;

/// Script that pretends to be another version of the program on one node.
const OLDER: &str = "#!/bin/sh\n[ \"$1\" = --version ] && [ -e older ] && echo raysieve 0.0.1 && exit\nexec PROGRAM \"$@\"\n";

fn slurm_failures_are_named_and_continued() {
    // With arrays of a single task there are as many arrays as parts.
    let cluster = Cluster::start("MaxArraySize=2\n");
    let work = cluster.work();
    fs::write(work.join("box.ron"), SCENE).unwrap();
    let older = work.join("older.sh");
    fs::write(
        &older,
        OLDER.replace("PROGRAM", program().to_str().unwrap()),
    )
    .unwrap();
    assert!(
        Command::new("chmod")
            .arg("+x")
            .arg(&older)
            .status()
            .unwrap()
            .success()
    );
    let status = || cluster.run(&["farm", "-o", "out.exr", "--status"]);
    let idle = || {
        cluster.wait_for("jobs to leave the queue", |cluster| {
            cluster.slurm(&["squeue", "--noheader"]).is_empty()
        });
    };
    // The scene is changed between submission and start.
    for node in NODES {
        cluster.set(node, "drain");
    }
    let submitted = cluster.run(&[
        "farm",
        "box.ron",
        "--parts",
        "4",
        "-o",
        "out.exr",
        "--program",
        older.to_str().unwrap(),
        "--backend",
        "cpu",
    ]);
    assert_done(&submitted);
    assert!(
        stdout(&submitted).starts_with("4 of 4 parts: jobs "),
        "{}",
        stdout(&submitted)
    );
    let scene = |text: &str| fs::write(work.join("box.ron"), text).unwrap();
    scene(&SCENE.replace("radius: 1", "radius: 1.01"));
    for node in NODES {
        cluster.set(node, "resume");
    }
    let failed = status();
    assert_refused(
        &failed,
        1,
        &[
            "out.exr: part 0 (and 3 more) failed",
            "FAILED",
            "box.ron: has scene_hash",
            "out.farm/logs/00000.log",
            "raysieve farm -o out.exr",
        ],
    );
    assert!(!part_file(&cluster, 0).exists() && !work.join("out.exr").exists());
    idle();
    // Continuing is refused while the scene differs.
    assert_refused(
        &cluster.run(&["farm", "-o", "out.exr"]),
        2,
        &["box.ron", "scene_hash"],
    );
    scene(SCENE);

    // One node has another version: its parts fail, and the others are kept.
    let whole = |parts: &[u32]| {
        parts
            .iter()
            .for_each(|&part| assert!(has_begun(&cluster, part)))
    };
    fs::write(work.join("out.farm/older"), "").unwrap();
    assert_done(&cluster.run(&["farm", "-o", "out.exr"]));
    assert_refused(
        &status(),
        1,
        &[
            "part 0",
            "this machine has raysieve 0.0.1",
            "raysieve farm -o out.exr",
        ],
    );
    fs::remove_file(work.join("out.farm/older")).unwrap();
    idle();

    // A file in the place of a part is not an EXR.
    fs::write(part_file(&cluster, 2), "no picture").unwrap();
    assert_done(&cluster.run(&["farm", "-o", "out.exr"]));
    assert_done(&status());
    whole(&[0, 1, 2, 3]);
    assert!(
        part_file(&cluster, 2)
            .with_extension("exr.damaged")
            .exists()
    );
    assert_bits(&cluster, &work);

    // A film is damaged where only the merge reads it: only the damaged part is rendered again.
    fs::remove_file(work.join("out.exr")).unwrap();
    idle();
    let mut bytes = fs::read(part_file(&cluster, 3)).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 0x10;
    fs::write(part_file(&cluster, 3), bytes).unwrap();
    fs::remove_file(part_file(&cluster, 1)).unwrap();
    let submitted = cluster.run(&["farm", "-o", "out.exr"]);
    assert!(
        stdout(&submitted).starts_with("1 of 4 parts: job "),
        "{}",
        stdout(&submitted)
    );
    assert_refused(
        &status(),
        1,
        &["the merge failed", "parts/00003.exr", "damaged"],
    );
    idle();
    let submitted = cluster.run(&["farm", "-o", "out.exr"]);
    assert!(
        stdout(&submitted).starts_with("1 of 4 parts: job "),
        "{}",
        stdout(&submitted)
    );
    assert_done(&status());
    assert_bits(&cluster, &work);
}

/// Asserts that `out.exr` has the film of an uninterrupted render.
#[track_caller]
fn assert_bits(cluster: &Cluster, work: &Path) {
    assert_done(&cluster.run(&["box.ron", "--backend", "cpu", "-o", "one.exr"]));
    let [one, out] = ["one.exr", "out.exr"].map(|name| Part::read(&work.join(name)).unwrap());
    assert!(one.film == out.film && one.header.identity == out.header.identity);
}
