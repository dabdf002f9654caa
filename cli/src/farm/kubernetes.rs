//! The Kubernetes manifest of a farm: an Indexed Job for the parts, and a Job for each level of merging.

use crate::error::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    folder::Folder,
    plan::{Container, Plan},
    scripts::{Level, job_name, levels, quoted, set_merge, set_render},
};

/// Returns the YAML manifest for `kubectl apply -f -`: the Job for the parts and a Job for each level of merging.
///
/// # Errors
/// [`Error::File`] if the path of the farm's folder is not UTF-8, or contains control characters or a dollar sign.
pub(super) fn manifest(
    plan: &Plan,
    folder: &Folder,
    container: &Container,
) -> Result<String, Error> {
    let here = folder.absolute()?;
    if here.contains('$') {
        return Err(folder.error(
            "has a dollar sign in its path, which Kubernetes would expand as a variable; name another path",
        ));
    }
    let name = unique_name(&job_name(folder), plan, container, &here);
    let here = format!("cd {} && mkdir -p parts merged || exit 2\n", quoted(&here));
    let mut text = parts_job(plan, container, &name, &here);
    for level in levels(plan) {
        let set_merge = set_merge(plan, folder, level)?;
        text += &merge_job(container, &name, &here, level, &set_merge);
    }
    Ok(text)
}

/// Returns `name`, followed by a dash and a 32-bit hash of the farm as eight hexadecimal digits. The hash covers volume
/// claim, farm folder, scene hash, image size, samples per pixel and seed. `here` is the folder's absolute path.
///
/// The same farm always gets the same name. Farms that differ in anything that the hash covers have different names,
/// unless the hashes collide. Other settings, such as the number of parts, do not change the name.
fn unique_name(name: &str, plan: &Plan, container: &Container, here: &str) -> String {
    let (width, height) = plan.size;
    let own = [
        &container.claim,
        here,
        &plan.scene_hash,
        &format!("{width}x{height} {} {}", plan.spp, plan.seed),
    ];
    // JSON keeps the words apart, unlike their concatenation.
    let own = serde_json::json!(own).to_string();
    format!("{name}-{:08x}", xxh3_64(own.as_bytes()) as u32)
}

/// Returns the Job that renders the parts, as YAML. `name` is the name of the Job, and `here` is shell code that
/// changes to the farm's folder.
fn parts_job(plan: &Plan, container: &Container, name: &str, here: &str) -> String {
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
# The parts. As many run at a time as the cluster has room for. A part that was killed continues from its checkpoint.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {parts}
  parallelism: {parts}
  backoffLimitPerIndex: {RETRIES}
  podFailurePolicy:
    rules:
    # A preempted pod is replaced, any number of times.
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
        status: \"True\"
    # Exit code 2: another scene, another version or wrong usage. Another attempt would fail too.
    - action: FailIndex
      onExitCodes:
        containerName: part
        operator: In
        values: [2]
  template:
    spec:
      restartPolicy: Never
      # Time to save the samples when the pod is stopped.
      terminationGracePeriodSeconds: 120
{}",
        containers(container, "part", &script, &limits)
    )
}

/// Number of times that Kubernetes repeats a failed part (`backoffLimitPerIndex`), and the failed merges of a level
/// together (`backoffLimit`). A part that ended with exit code 2 is not repeated.
const RETRIES: u32 = 5;

/// Returns the Job of one level of merging, as YAML. It has one pod for each merge of the level, and each pod waits
/// until its input files are complete.
///
/// `name` is the name of the parts' Job, to which the stem of the level is appended, as in `NAME-merge-1`. `here` is
/// shell code that changes to the farm's folder. `set_merge` is the shell code of [`set_merge`], which sets `$@` to the
/// command of a merge.
fn merge_job(
    container: &Container,
    name: &str,
    here: &str,
    level: Level,
    set_merge: &str,
) -> String {
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
# Kubernetes has no dependencies between Jobs. This Job starts with the others and waits until its input files are
# complete, without requesting a core or a GPU. If a part fails for good, this Job waits forever: delete both Jobs, fix the
# problem, and apply the manifest again. Complete parts are not rendered again.
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-{suffix}
spec:
{indexed}  backoffLimit: {RETRIES}
  template:
    spec:
      restartPolicy: Never
{}",
        containers(container, "merge", &script, "")
    )
}

/// Returns the containers and volumes of a pod, as YAML. The pod has one container, called `name`, which runs `script`
/// in the image's shell. `limits` is the YAML of the container's resources, or empty.
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

/// Returns the text as a quoted YAML string. JSON strings are valid YAML.
fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
