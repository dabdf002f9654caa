//! The jobs as one manifest of Kubernetes: an Indexed Job for the parts, and a Job for each level of merging.

use raysieve::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    folder::Folder,
    plan::{Container, Plan},
    scripts::{Level, levels, name, quoted, set_merge, set_render},
};

/// What `kubectl apply -f -` takes.
pub(super) fn manifest(
    plan: &Plan,
    folder: &Folder,
    container: &Container,
) -> Result<String, Error> {
    let here = folder.absolute()?;
    if here.contains('$') {
        return Err(folder.refused(
            "has a dollar sign in its path, which Kubernetes would take for a variable; name another",
        ));
    }
    let name = unique(&name(folder), plan, container, &here);
    let here = format!("cd {} && mkdir -p parts merged || exit 2\n", quoted(&here));
    let mut text = parts(plan, container, &name, &here);
    for level in levels(plan) {
        let set_merge = set_merge(plan, folder, level)?;
        text += &merge(container, &name, &here, level, &set_merge);
    }
    Ok(text)
}

/// The name with what tells this farm from others of a namespace: where its folder is, and what it renders. The same farm
/// keeps its name.
fn unique(name: &str, plan: &Plan, container: &Container, here: &str) -> String {
    let (width, height) = plan.size;
    let own = [
        &container.claim,
        here,
        &plan.scene_hash,
        &format!("{width}x{height} {} {}", plan.spp, plan.seed),
    ];
    // A text of JSON keeps the words apart.
    let own = serde_json::json!(own).to_string();
    format!("{name}-{:08x}", xxh3_64(own.as_bytes()) as u32)
}

fn parts(plan: &Plan, container: &Container, name: &str, here: &str) -> String {
    let parts = plan.parts;
    let mut limits = String::new();
    if plan.gpus_per_task.is_some() || plan.cpus_per_task.is_some() {
        limits += "        resources:\n          limits:\n";
    }
    for (resource, count) in [
        ("nvidia.com/gpu", plan.gpus_per_task),
        ("cpu", plan.cpus_per_task),
    ] {
        if let Some(count) = count {
            limits += &format!("            {resource}: \"{count}\"\n");
        }
    }
    let script = format!(
        "{here}part=$JOB_COMPLETION_INDEX\n{}exec \"$@\"\n",
        set_render(plan)
    );
    format!(
        "\
# The parts: as many of them at a time as the cluster has room for. A part that is killed goes on from its checkpoint.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {parts}
  parallelism: {parts}
  backoffLimitPerIndex: {ATTEMPTS}
  podFailurePolicy:
    rules:
    # A pod that had to make room: another goes on, however often.
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
        status: \"True\"
    # Another scene, another version, wrong usage: no other attempt would end better.
    - action: FailIndex
      onExitCodes:
        containerName: part
        operator: In
        values: [2]
  template:
    spec:
      restartPolicy: Never
      # Time to write down how far a part is when it has to go.
      terminationGracePeriodSeconds: 120
{}",
        containers(container, "part", &script, &limits)
    )
}

/// After so many attempts that failed a part is given up, or a merge.
const ATTEMPTS: u32 = 5;

fn merge(container: &Container, name: &str, here: &str, level: Level, set_merge: &str) -> String {
    let (suffix, jobs) = (level.stem(), level.jobs());
    let (indexed, job) = if level.is_last() {
        (String::new(), "")
    } else {
        (
            format!("  completionMode: Indexed\n  completions: {jobs}\n  parallelism: {jobs}\n"),
            "job=$JOB_COMPLETION_INDEX\n",
        )
    };
    let script = format!("{here}{job}{set_merge}exec \"$@\" --wait\n");
    format!(
        "\
---
# Kubernetes knows no order of Jobs. This one begins with the others and waits until its files are there and whole: it asks
# for no core and no GPU meanwhile. Should a part be given up it would wait for ever: then delete both, put right what was
# wrong, and apply the manifest again; what is whole is not rendered twice.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-{suffix}
spec:
{indexed}  backoffLimit: {ATTEMPTS}
  template:
    spec:
      restartPolicy: Never
{}",
        containers(container, "merge", &script, "")
    )
}

/// What a pod runs: a script, in the shell of the image.
fn containers(container: &Container, name: &str, script: &str, limits: &str) -> String {
    let Container {
        image,
        claim,
        mount,
    } = container;
    let lines: String = script
        .lines()
        .map(|line| format!("          {line}\n"))
        .collect();
    let [image, claim, mount] = [image, claim, mount].map(|text| yaml(text));
    format!(
        "      \
      containers:
      - name: {name}
        image: {image}
        command: [/bin/sh, -c]
        args:
        - |
{lines}{limits}        volumeMounts:
        - name: files
          mountPath: {mount}
      volumes:
      - name: files
        persistentVolumeClaim:
          claimName: {claim}
"
    )
}

/// A text in quotes: YAML takes those of JSON.
fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
