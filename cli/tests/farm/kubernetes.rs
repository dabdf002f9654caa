//! Tests of the Kubernetes manifest: it matches the schema, and runs the same commands as Slurm.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use k8s_openapi::api::batch::v1::Job;
use libtest_mimic::Trial;
use serde_json::Value;

use crate::{
    add_tests, assert_done,
    program::without_gpu_and_display,
    scripts::{assert_bits, begin, farm, scene_folder},
    stdout,
};

/// Options of `farm` for a cluster with Kubernetes.
pub(crate) const KUBERNETES: [&str; 6] = [
    "--engine",
    "kubernetes",
    "--image",
    "image",
    "--claim",
    "claim",
];

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        manifest_matches_the_published_schema,
        farms_with_one_image_name_have_different_job_names,
        containers_run_the_same_commands_as_slurm,
        film_is_identical_when_rendered_by_containers,
    );
}

/// Returns the Jobs of a manifest. Asserts that types of the published schema read and write each Job without loss, so
/// that no field has a wrong name, place or type.
fn jobs(manifest: &str) -> Vec<Job> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(manifest).unwrap();
    documents
        .into_iter()
        .map(|document| {
            let job: Job = serde_json::from_value(document.clone()).unwrap();
            assert_eq!(serde_json::to_value(&job).unwrap(), document);
            job
        })
        .collect()
}

/// Returns the shell script of the only container of a Job.
fn script(job: &Job) -> String {
    let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    let [container] = &pod.containers[..] else {
        panic!("one container is expected");
    };
    assert_eq!(container.command.as_ref().unwrap(), &["/bin/sh", "-c"]);
    let [script] = &container.args.as_ref().unwrap()[..] else {
        panic!("one script is expected");
    };
    script.clone()
}

fn manifest_matches_the_published_schema() {
    let folder = scene_folder();
    let output = farm(
        folder.path(),
        &[
            "box.ron",
            "--parts",
            "7",
            "--fan-in",
            "3",
            "-o",
            "Out_put.v2.exr",
            "--engine",
            "kubernetes",
            "--image",
            "registry/image:1",
            "--claim",
            "files",
            "--gpus-per-task",
            "2",
            "--cpus-per-task",
            "8",
            "--dry-run",
        ],
    );
    assert_done(&output);
    let jobs = jobs(&stdout(&output));
    let names: Vec<&str> = jobs
        .iter()
        .map(|job| job.metadata.name.as_deref().unwrap())
        .collect();
    let own = names[0].strip_prefix("raysieve-out-put-v2-").unwrap();
    assert!(
        own.len() == 8 && u32::from_str_radix(own, 16).is_ok(),
        "{own}"
    );
    assert_eq!(
        names[1..],
        ["merge-1", "merge"].map(|end| format!("{}-{end}", names[0]))
    );
    let counts: Vec<_> = jobs
        .iter()
        .map(|job| job.spec.as_ref().unwrap().completions)
        .collect();
    assert_eq!(counts, [Some(7), Some(3), None]);
    let spec = jobs[0].spec.as_ref().unwrap();
    assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
    let limits = |job: &Job| {
        let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
        let limits = pod.containers[0]
            .resources
            .as_ref()
            .and_then(|resources| resources.limits.clone());
        limits.map(|limits| {
            limits
                .into_iter()
                .map(|(name, limit)| (name, limit.0))
                .collect::<Vec<_>>()
        })
    };
    let asked = [("cpu", "8"), ("nvidia.com/gpu", "2")]
        .map(|(name, count)| (name.to_owned(), count.to_owned()));
    assert_eq!(limits(&jobs[0]), Some(asked.to_vec()));
    // A waiting merge requests no resources that parts need.
    assert_eq!(limits(&jobs[1]), None);
    let pod = spec.template.spec.as_ref().unwrap();
    let volume = &pod.volumes.as_ref().unwrap()[0];
    assert_eq!(
        volume.persistent_volume_claim.as_ref().unwrap().claim_name,
        "files"
    );
    let mount = &pod.containers[0].volume_mounts.as_ref().unwrap()[0];
    assert_eq!(Path::new(&mount.mount_path), folder.path());
    assert!(!folder.path().join("Out_put.v2.farm").exists());
}

fn farms_with_one_image_name_have_different_job_names() {
    let (one, other) = (scene_folder(), scene_folder());
    let longest = format!("{}.exr", "long".repeat(40));
    let name = |folder: &Path, picture: &str, more: &[&str]| {
        let arguments = ["box.ron", "--parts", "7", "--fan-in", "3", "-o", picture];
        let engine = ["--engine", "kubernetes", "--image", "image", "--claim"];
        let output = farm(
            folder,
            &[&arguments[..], &engine, more, &["--dry-run"]].concat(),
        );
        assert_done(&output);
        let jobs = jobs(&stdout(&output)).into_iter();
        let names: Vec<String> = jobs.filter_map(|job| job.metadata.name).collect();
        // With a part number of five digits, the name is still a valid host name.
        assert!(
            names.iter().all(|name| name.len() + "-12345".len() <= 63),
            "{names:?}"
        );
        names[0].clone()
    };
    let names = [
        name(one.path(), "box.exr", &["files"]),
        name(other.path(), "box.exr", &["files"]),
        name(one.path(), "box.exr", &["others"]),
        name(one.path(), "box.exr", &["files", "--spp", "77"]),
        name(one.path(), "box.exr", &["files", "--size", "9x9"]),
        name(one.path(), &longest, &["files"]),
    ];
    for (place, name) in names.iter().enumerate() {
        assert!(!names[..place].contains(name), "{names:?}");
    }
    assert_eq!(name(one.path(), "box.exr", &["files"]), names[0]);
}

/// Returns the part of a script from the name of the part's file to the end of the command.
fn render_lines(script: &str) -> &str {
    let start = script.find("file=parts/").unwrap();
    let length = script[start..].find("-o \"$file\"").unwrap();
    let end = start + length;
    let line_end = script[end..].find('\n').unwrap();
    &script[start..end + line_end]
}

fn containers_run_the_same_commands_as_slurm() {
    let folder = scene_folder();
    let common = [
        "box.ron",
        "--parts",
        "7",
        "-o",
        "out.exr",
        "--every",
        "7s",
        "--backend",
        "cpu",
        "--program",
        "/x/raysieve",
    ];
    let printed = |engine: &[&str]| {
        let output = farm(folder.path(), &[&common, engine, &["--dry-run"]].concat());
        assert_done(&output);
        stdout(&output)
    };
    let slurm = printed(&[]);
    let jobs = jobs(&printed(&KUBERNETES));
    assert_eq!(render_lines(&script(&jobs[0])), render_lines(&slurm));
    // The merges are identical too, except for `--wait`.
    let merge = |script: &str| {
        let start = script.find("next=0").unwrap();
        let line = script[start..].find(" merge \"$@\"").unwrap();
        let end = script[start + line..].find('\n').unwrap();
        script[start..start + line + end].to_owned()
    };
    let container = script(&jobs[1]);
    assert_eq!(
        merge(&container),
        merge(&slurm[slurm.find("merge.sh <==").unwrap()..])
    );
    assert!(container.ends_with("exec \"$@\" --wait\n"), "{container}");
}

/// Runs the script of a container in a shell.
fn start(script: &str, index: u32) -> Child {
    let mut shell = Command::new("/bin/sh");
    without_gpu_and_display(&mut shell)
        .args(["-c", script])
        .current_dir("/")
        .env("JOB_COMPLETION_INDEX", index.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    shell.spawn().unwrap()
}

fn film_is_identical_when_rendered_by_containers() {
    let folder = scene_folder();
    let folder = folder.path();
    let jobs = jobs(&stdout(&begin(folder, "5")));
    let [parts, merge] = &jobs[..] else {
        panic!("two Jobs are expected");
    };
    // All start at once, as in Kubernetes, and the merge starts first.
    let merging = start(&script(merge), 0);
    let fail = |output: std::process::Output| panic!("{}", String::from_utf8_lossy(&output.stderr));
    for index in [4, 2, 0, 1, 3] {
        assert!(!folder.join("out.exr").exists());
        let output = start(&script(parts), index).wait_with_output().unwrap();
        if !output.status.success() {
            fail(output);
        }
    }
    let output = merging.wait_with_output().unwrap();
    if !output.status.success() {
        fail(output);
    }
    assert_bits(folder, &[]);
    // Applying the manifest again renders nothing.
    let before = fs::metadata(folder.join("out.farm/parts/00003.exr"))
        .unwrap()
        .modified()
        .unwrap();
    let again = farm(folder, &["-o", "out.exr"]);
    assert_done(&again);
    assert!(
        stdout(&again).starts_with("out.exr contains samples 0..14"),
        "{}",
        stdout(&again)
    );
    let after = fs::metadata(folder.join("out.farm/parts/00003.exr"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after);
}
