//! Whether other users could open a page on a loopback address: users who are logged in to this machine, or who would
//! reach the address as this user does.

use std::{env, path::Path};

/// Variables that tell that the user has logged in from another machine, and so reaches the address through a tunnel, or
/// that the program runs as a job of a cluster.
const REMOTE: [&str; 4] = ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "SLURM_JOB_ID"];

/// Returns whether other users of this machine could open a page on a loopback address: whether the user has come from
/// another machine, or other users are logged in or have processes.
///
/// Returns `true` where that is unknown: on systems other than Linux, and where the processes of others are hidden.
pub(super) fn may_have_other_users() -> bool {
    let is_remote = REMOTE.iter().any(|name| env::var_os(name).is_some());
    is_remote || has_other_users(Path::new("/proc"), Path::new("/run/user"))
}

/// Returns whether a file system of processes like `/proc`, or a folder with an entry for each user who is logged in,
/// like `/run/user`, shows other users than that of this process, apart from those of the system.
#[cfg(target_os = "linux")]
fn has_other_users(processes: &Path, logged_in: &Path) -> bool {
    use std::{fs, os::unix::fs::MetadataExt};

    /// Numbers of users who log in, on all common distributions.
    const PEOPLE: std::ops::Range<u32> = 1000..60_000;

    let numbered = |folder: &Path| {
        let entries = fs::read_dir(folder).ok()?;
        let number = |entry: fs::DirEntry| {
            let number: u32 = entry.file_name().to_str()?.parse().ok()?;
            // A process may have ended since.
            Some((number, entry.metadata().ok()?.uid()))
        };
        Some(entries.flatten().filter_map(number).collect::<Vec<_>>())
    };
    let Ok(own) = fs::metadata(processes.join("self")).map(|own| own.uid()) else {
        return true;
    };
    let Some(found) = numbered(processes) else {
        return true;
    };
    // Without the first process, those of others are hidden.
    let are_hidden = !found.iter().any(|&(number, _)| number == 1);
    let users = numbered(logged_in).unwrap_or_default();
    let users = users.iter().map(|&(user, _)| user);
    let mut all = found.iter().map(|&(_, user)| user).chain(users);
    are_hidden || all.any(|user| user != own && PEOPLE.contains(&user))
}

/// Returns `true`, because users are not known on this system.
#[cfg(not(target_os = "linux"))]
fn has_other_users(_: &Path, _: &Path) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt};

    use super::has_other_users;

    #[test]
    fn logged_in_users_and_hidden_processes_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let (processes, users) = (folder.path().join("proc"), folder.path().join("user"));
        assert!(has_other_users(&processes, &users), "nothing is known");
        for process in ["1", "self", "77", "sys"] {
            fs::create_dir_all(processes.join(process)).expect("a folder");
        }
        let own = fs::metadata(&processes).expect("a folder").uid();
        assert!(!has_other_users(&processes, &users));
        // The system's own users, and this one.
        for user in [0, 999, 65_534, own] {
            fs::create_dir_all(users.join(user.to_string())).expect("a folder");
            assert!(!has_other_users(&processes, &users), "{user}");
        }
        let other = if own == 1000 { 1001 } else { 1000 };
        fs::create_dir(users.join(other.to_string())).expect("a folder");
        assert!(has_other_users(&processes, &users));
        fs::remove_dir(users.join(other.to_string())).expect("it is empty");
        fs::remove_dir(processes.join("1")).expect("it is empty");
        assert!(has_other_users(&processes, &users));
    }
}
