//! The memory limits of control groups, in made-up folders.

use std::{fs, path::Path};

use raysieve_scene::memory::ControlGroups;
use tempfile::TempDir;

/// Makes a folder with these files, and returns the bytes that the groups of its process leave.
fn available(files: &[(&str, &str)]) -> Option<u64> {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    ControlGroups::of_process(root.path()).available()
}

const MOUNT_2: &str =
    "25 30 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const MOUNT_1: &str = "22 21 0:20 / /proc rw - proc proc rw\n\
     31 25 0:28 / /sys/fs/cgroup/cpu rw shared:8 - cgroup cgroup rw,cpu,cpuacct\n\
     36 25 0:31 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";

#[test]
fn the_least_of_all_groups_above_counts() {
    let slice = "sys/fs/cgroup/user.slice";
    let job = "sys/fs/cgroup/user.slice/job.scope";
    let files = |slice_max: &str, job_max: &str| {
        available(&[
            ("proc/self/cgroup", "0::/user.slice/job.scope\n"),
            ("proc/self/mountinfo", MOUNT_2),
            // The root has no limit.
            ("sys/fs/cgroup/memory.stat", "anon 5\nfile 5\n"),
            (&format!("{slice}/memory.max"), slice_max),
            (&format!("{slice}/memory.current"), "400\n"),
            (&format!("{job}/memory.max"), job_max),
            (&format!("{job}/memory.current"), "300\n"),
        ])
    };
    assert_eq!(files("max\n", "1000\n"), Some(700));
    assert_eq!(files("1000\n", "max\n"), Some(600));
    assert_eq!(files("2000\n", "1000\n"), Some(700));
    assert_eq!(files("1000\n", "2000\n"), Some(600));
    assert_eq!(files("100\n", "2000\n"), Some(0));
    assert_eq!(files("max\n", "max\n"), None);
}

#[test]
fn caches_of_files_are_available_and_those_of_tmpfs_are_not() {
    let left = |stat: &str| {
        available(&[
            ("proc/self/cgroup", "0::/job\n"),
            ("proc/self/mountinfo", MOUNT_2),
            ("sys/fs/cgroup/job/memory.max", "1000\n"),
            ("sys/fs/cgroup/job/memory.current", "900\n"),
            ("sys/fs/cgroup/job/memory.stat", stat),
        ])
    };
    let stat = "anon 100\nfile 800\nshmem 500\ninactive_file 200\nactive_file 100\n";
    assert_eq!(left(stat), Some(400));
    assert_eq!(left("anon 900\nfile 0\n"), Some(100));
    assert_eq!(left("inactive_file 99999\n"), Some(1000));
}

#[test]
fn version_1_has_a_tree_for_memory() {
    let job = "sys/fs/cgroup/memory/slurm/uid_7/job_9";
    let files = |groups: &str, job_limit: &str| {
        available(&[
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", MOUNT_1),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "70000\n"),
            ("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "5000\n"),
            ("sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", "1500\n"),
            (
                "sys/fs/cgroup/memory/slurm/memory.stat",
                "cache 9\ntotal_inactive_file 300\ntotal_active_file 200\n",
            ),
            (&format!("{job}/memory.limit_in_bytes"), job_limit),
            (&format!("{job}/memory.usage_in_bytes"), "500\n"),
        ])
    };
    let groups = "5:cpu,cpuacct:/slurm\n4:memory:/slurm/uid_7/job_9\n1:name=systemd:/x\n";
    assert_eq!(files(groups, "1000\n"), Some(500));
    assert_eq!(files(groups, "9223372036854771712\n"), Some(4000));
    // Both versions at the same time, where the controller of version 2 is elsewhere.
    assert_eq!(
        files(&format!("{groups}0::/system.slice\n"), "1000\n"),
        Some(500)
    );
    let without = files("4:memory:/\n", "1000\n").unwrap();
    assert!(without > 1 << 62, "{without}");
}

#[test]
fn a_container_sees_its_group_at_the_mount_point() {
    // Docker with the cgroup namespace of the host: the path is that of the host, and only the group itself is mounted.
    let docker = "40 30 0:26 /docker/ab12 /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n";
    let files = |groups: &str, mounts: &str| {
        available(&[
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory.max", "1000\n"),
            ("sys/fs/cgroup/memory.current", "250\n"),
            ("sys/fs/cgroup/sub/memory.max", "500\n"),
            ("sys/fs/cgroup/sub/memory.current", "0\n"),
        ])
    };
    assert_eq!(files("0::/docker/ab12\n", docker), Some(750));
    assert_eq!(files("0::/docker/ab12/sub\n", docker), Some(500));
    // A namespace of its own, and a process that is outside of its namespace.
    assert_eq!(files("0::/\n", MOUNT_2), Some(750));
    assert_eq!(files("0::/../../other\n", MOUNT_2), Some(750));
    // The list of mounts cannot be read, or does not name the group.
    assert_eq!(files("0::/sub\n", ""), Some(500));
    assert_eq!(files("0::/elsewhere\n", docker), Some(750));
}

#[test]
fn a_mount_point_may_have_blanks() {
    let mount = "25 30 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n";
    let left = available(&[
        ("proc/self/cgroup", "0::/job\n"),
        ("proc/self/mountinfo", mount),
        ("my groups/job/memory.max", "10\n"),
        ("my groups/job/memory.current", "4\n"),
    ]);
    assert_eq!(left, Some(6));
}

#[test]
fn without_control_groups_there_is_no_limit() {
    assert_eq!(available(&[]), None);
    assert_eq!(available(&[("proc/self/cgroup", "nonsense\n3:\n")]), None);
    assert!(
        ControlGroups::of_process(Path::new("/nowhere"))
            .available()
            .is_none()
    );
}
