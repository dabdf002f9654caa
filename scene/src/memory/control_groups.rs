//! The memory limits of Linux control groups (cgroups), as containers, systemd and batch systems such as Slurm set them.
//!
//! Control groups form a tree, and a process may use what every group from its own to the root has left. Version 1 has a
//! tree per controller, and version 2 a single one. The same machine may have both.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// The control groups that limit the memory of a process: its own, and all above it that are visible.
#[derive(Clone, Debug, Default)]
pub struct ControlGroups {
    groups: Vec<Group>,
}

/// A control group.
#[derive(Clone, Debug)]
struct Group {
    folder: PathBuf,
    version: &'static Version,
}

/// The files of a version of control groups that describe memory.
#[derive(Debug)]
struct Version {
    /// Type of the file system of a mounted tree.
    file_system: &'static str,
    /// Limit in bytes. Without one it is `max`, or a number close to 2⁶³.
    limit: &'static str,
    /// Used memory in bytes, including that of groups below.
    used: &'static str,
    /// Entries of `memory.stat` for file caches, which the system can drop. Those of `tmpfs` are not among them.
    cached: [&'static str; 2],
    /// Mount point, if the list of mounts cannot be read.
    usual_place: &'static str,
}

const VERSION_1: Version = Version {
    file_system: "cgroup",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_active_file", "total_inactive_file"],
    usual_place: "/sys/fs/cgroup/memory",
};
const VERSION_2: Version = Version {
    file_system: "cgroup2",
    limit: "memory.max",
    used: "memory.current",
    cached: ["active_file", "inactive_file"],
    usual_place: "/sys/fs/cgroup",
};

impl ControlGroups {
    /// Finds the control groups of this process. `root` is the folder that contains `proc` and `sys`, which is `/`
    /// outside tests.
    pub fn of_process(root: &Path) -> ControlGroups {
        let text = |path| fs::read_to_string(root.join(path)).unwrap_or_default();
        let (groups, mounts) = (text("proc/self/cgroup"), text("proc/self/mountinfo"));
        let mut found = ControlGroups::default();
        // Lines such as `0::/user.slice/job` (version 2) and `4:cpu,memory:/slurm/job_7` (version 1).
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let version = match controllers {
                "" => &VERSION_2,
                _ if controllers.split(',').any(|each| each == "memory") => &VERSION_1,
                _ => continue,
            };
            let (mount_root, place) = mount_of(version, &mounts)
                .unwrap_or_else(|| (PathBuf::from("/"), PathBuf::from(version.usual_place)));
            // A container often sees only its own group, at the mount point, but its path from the host's root.
            let below = Path::new(path).strip_prefix(&mount_root);
            let below = below.unwrap_or(Path::new("")).components();
            // Groups outside the process's namespace have paths with `..`, and cannot be seen.
            let below = below.take_while(|part| *part != Component::ParentDir);
            let mut folder = under(root, &place);
            let at_mount = folder.clone();
            let folders = below.map(|part| {
                folder.push(part);
                folder.clone()
            });
            let folders: Vec<PathBuf> = [at_mount].into_iter().chain(folders).collect();
            let groups = folders.into_iter().map(|folder| Group { folder, version });
            found.groups.extend(groups);
        }
        found
    }

    /// Returns the bytes that the group with the least memory left has. File caches count as left. Returns `None` if no
    /// group has a limit.
    pub fn available(&self) -> Option<u64> {
        self.groups.iter().filter_map(Group::available).min()
    }
}

impl Group {
    /// Returns the bytes that the group's limit leaves; `None` without a limit.
    fn available(&self) -> Option<u64> {
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        // Without a limit it is `max` or almost 2⁶³, of which every machine leaves more than it has memory.
        let limit = number(self.version.limit)?;
        let used = number(self.version.used)?;
        let stat = text("memory.stat").unwrap_or_default();
        let entries = stat.lines().filter_map(|line| line.split_once(' '));
        let cached = entries.filter(|(name, _)| self.version.cached.contains(name));
        let cached: u64 = cached
            .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
            .sum();
        Some(limit.saturating_sub(used.saturating_sub(cached)))
    }
}

/// Returns the root of the mounted part of the tree, as a path in the tree, and the mount point. `mounts` has the format
/// of `/proc/self/mountinfo`. Returns `None` if the tree is not mounted.
fn mount_of(version: &Version, mounts: &str) -> Option<(PathBuf, PathBuf)> {
    // `36 25 0:31 /root /mount/point rw,nosuid shared:9 - cgroup2 cgroup2 rw,memory`
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1).unwrap_or_default());
        // Version 1 has a mount for each controller.
        let is_wanted = kind == version.file_system
            && (kind == "cgroup2" || options.split(',').any(|each| each == "memory"));
        let mut mount = mount.split(' ').skip(3);
        let (root, place) = (mount.next()?, mount.next()?);
        is_wanted.then(|| (unescaped(root), unescaped(place)))
    })
}

/// Returns a path of `mountinfo`, in which blanks, tabs, line feeds and backslashes are octal: `\040`.
fn unescaped(path: &str) -> PathBuf {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n")];
    let path = codes.iter().fold(path.to_owned(), |path, (code, plain)| {
        path.replace(code, plain)
    });
    path.replace("\\134", "\\").into()
}

/// Returns an absolute path with `root` in place of `/`.
fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
