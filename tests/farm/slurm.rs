//! A farm on a real Slurm, while machines fail under it.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use libtest_mimic::Trial;
use raysieve::part::{Claim, Part};

use crate::{
    add_if, assert_done, assert_refused,
    cluster::{Cluster, NODES, installed, signal},
    program, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let tests: [(&str, fn()); 2] = [
        (
            "slurm_ends_with_the_bits_of_one_go_whatever_fails",
            ends_with_the_bits_of_one_go_whatever_fails,
        ),
        (
            "slurm_names_what_failed_and_goes_on",
            names_what_failed_and_goes_on,
        ),
    ];
    for (name, test) in tests {
        add_if(trials, installed(), name, test);
    }
}

const PARTS: u32 = 6;

fn part_file(cluster: &Cluster, part: u32) -> std::path::PathBuf {
    cluster.work().join(format!("out.farm/parts/{part:05}.exr"))
}

/// Whether the part has samples on disk.
fn has_begun(cluster: &Cluster, part: u32) -> bool {
    Claim::read(&part_file(cluster, part)).is_ok()
}

fn log(cluster: &Cluster, part: u32) -> String {
    fs::read_to_string(cluster.work().join(format!("out.farm/logs/{part:05}.log")))
        .unwrap_or_default()
}

/// The number behind "parts: job ".
fn job(said: &str) -> String {
    let job = said.lines().find_map(|line| line.split_once("parts: job "));
    job.unwrap_or_else(|| panic!("no job in {said}"))
        .1
        .to_owned()
}

fn ends_with_the_bits_of_one_go_whatever_fails() {
    let mut cluster = Cluster::start("");
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().unwrap();
    // Some seconds for each part on one core.
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
    // Twice is once too many.
    let again = cluster.run(&["farm", "-o", "out.exr"]);
    assert_refused(
        &again,
        2,
        &["out.farm", "in the queue already", &job, "--status"],
    );

    let status = cluster
        .raysieve()
        .args(["farm", "-o", "out.exr", "--status"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    // One task on each node, held as soon as it has a checkpoint, so that none ends before its turn.
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
    // The third's node falls silent while its render goes on, the first is killed, and the second is told that its time is
    // over, on a node that takes nothing more.
    cluster.silence("node3", third);
    signal(third, "CONT");
    signal(first, "KILL");
    cluster.set("node2", "drain");
    let task = format!("{job}_{moved}");
    cluster.ask(&["scancel", "--batch", "--signal=USR1", &task]);
    signal(second, "CONT");
    cluster.wait_for("the part of the silent node queued again", |cluster| {
        let task = format!("{job}_{left}");
        cluster
            .ask(&["scontrol", "show", "job", &task])
            .contains("Restarts=1")
    });
    cluster.set("node2", "resume");

    let one_go = cluster.run(&[&render[..], &["-o", "one.exr"]].concat());
    assert_done(&one_go);
    let expected = Part::read(&cluster.work().join("one.exr")).unwrap();

    let ended = status.wait_with_output().unwrap();
    assert!(
        ended.status.success(),
        "{}\n{}",
        stderr(&ended),
        cluster.told()
    );
    let hash = &expected.claim.stats.film_hash;
    assert_eq!(
        stdout(&ended).lines().last().unwrap(),
        format!("out.exr has samples 0..4200, film_hash {hash}")
    );
    let merged = Part::read(&cluster.work().join("out.exr")).unwrap();
    assert!(merged.exposed == expected.exposed && merged.claim.identity == expected.claim.identity);

    // They went on from where they were, and not from the start.
    for (part, told) in [(killed, "exit code 137"), (moved, "exit code 130")] {
        let log = log(&cluster, part);
        assert!(log.contains(told), "{told}: {log}");
        assert!(log.contains("going on after samples"), "{log}");
    }
    assert!(
        log(&cluster, left).matches("backend: cpu").count() == 2,
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

/// Another node's program.
const OLDER: &str = "#!/bin/sh\n[ \"$1\" = --version ] && [ -e older ] && echo raysieve 0.0.1 && exit\nexec PROGRAM \"$@\"\n";

fn names_what_failed_and_goes_on() {
    // Arrays of a single task: as many of them as parts.
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
            cluster.ask(&["squeue", "--noheader"]).is_empty()
        });
    };
    // Changed between submission and start.
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
    // Not while it is another.
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
            "this is raysieve 0.0.1 here",
            "raysieve farm -o out.exr",
        ],
    );
    fs::remove_file(work.join("out.farm/older")).unwrap();
    idle();

    // A part that is no part.
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

    // A film that is damaged where only the merge looks: what is damaged is rendered again, and that alone.
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

#[track_caller]
fn assert_bits(cluster: &Cluster, work: &Path) {
    assert_done(&cluster.run(&["box.ron", "--backend", "cpu", "-o", "one.exr"]));
    let [one, out] = ["one.exr", "out.exr"].map(|name| Part::read(&work.join(name)).unwrap());
    assert!(one.exposed == out.exposed && one.claim.identity == out.claim.identity);
}
