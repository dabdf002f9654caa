//! A Slurm cluster of three nodes on this machine: munged, slurmctld and three slurmd, all in one temporary folder.

use std::{
    env, fs, iter,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{self, Child, Command, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::raysieve;

/// Time after which a test fails.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(150);
pub(crate) const NODES: [&str; 3] = ["node1", "node2", "node3"];

/// A running cluster. Dropping it kills all its processes.
pub(crate) struct Cluster {
    folder: TempDir,
    /// The processes munged, slurmctld, and the nodes' slurmd.
    daemons: Vec<(&'static str, Child)>,
}

/// Returns `Err` with the missing program if the machine cannot run a cluster.
pub(crate) fn installed() -> Result<(), String> {
    let missing = [
        "munged",
        "slurmctld",
        "slurmd",
        "sbatch",
        "squeue",
        "scontrol",
        "scancel",
    ]
    .into_iter()
    .find(|name| find(name).is_none());
    missing.map_or(Ok(()), |name| Err(format!("{name} is not installed")))
}

/// Returns the path of a daemon, which may be in a folder that is only in root's search path.
fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

impl Cluster {
    /// Starts a cluster, with additional lines of `slurm.conf`, and waits until its nodes are idle.
    pub(crate) fn start(more: &str) -> Cluster {
        // The path of a socket is limited to about 100 bytes.
        let folder = tempfile::Builder::new().prefix("slurm-").tempdir().unwrap();
        let here = folder.path().to_owned();
        let path = |name: &str| here.join(name);
        for (name, mode) in [
            ("munge", 0o700),
            ("run", 0o755),
            ("state", 0o755),
            ("work", 0o755),
        ] {
            fs::create_dir(path(name)).unwrap();
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        for node in NODES {
            fs::create_dir(path(&format!("spool-{node}"))).unwrap();
        }
        fs::write(path("munge/key"), [7; 64]).unwrap();
        fs::set_permissions(path("munge/key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(path("slurm.conf"), config(folder.path()) + more).unwrap();
        let mut cluster = Cluster {
            folder,
            daemons: Vec::new(),
        };
        let munge = |name: &str, file: &str| format!("--{name}={}", here.join(file).display());
        let munged = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            munge("key-file", "munge/key"),
            munge("seed-file", "munge/seed"),
            munge("socket", "run/munge"),
            munge("pid-file", "run/munged.pid"),
            munge("log-file", "munged.log"),
        ];
        cluster.begin("munged", "munged", &munged);
        cluster.wait_for("munged to listen", |cluster| {
            cluster.path("run/munge").exists()
        });
        let config = cluster.path("slurm.conf").display().to_string();
        cluster.begin(
            "slurmctld",
            "slurmctld",
            &["-D", "-f", &config].map(str::to_owned),
        );
        for node in NODES {
            cluster.begin_node(node);
        }
        cluster.wait_for("three idle nodes", |cluster| {
            let idle = cluster.try_slurm(&["sinfo", "--noheader", "--Node", "--format=%T"]);
            idle.is_ok_and(|states| states.lines().filter(|state| *state == "idle").count() == 3)
        });
        cluster
    }

    /// Starts the slurmd of a node.
    pub(crate) fn begin_node(&mut self, node: &'static str) {
        let config = self.path("slurm.conf").display().to_string();
        let words = ["-D", "-N", node, "-f", &config].map(str::to_owned);
        self.begin(node, "slurmd", &words);
    }

    /// Starts a daemon whose output goes to `NAME.out`.
    fn begin(&mut self, name: &'static str, program: &str, arguments: &[String]) {
        let log = fs::File::create(self.path(&format!("{name}.out"))).unwrap();
        // The daemons end with the test, even if it is killed.
        let child = Command::new("setpriv")
            .arg("--pdeathsig=KILL")
            .arg(find(program).unwrap())
            .args(arguments)
            .current_dir(self.folder.path())
            .env("SLURM_CONF", self.path("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.daemons.push((name, child.unwrap()));
    }

    /// Makes Slurm lose a node while its render goes on: kills the node's slurmd and the process that supervises the
    /// render.
    pub(crate) fn lose_node(&mut self, node: &str, renderer: u32) {
        let place = self.daemons.iter().position(|(name, _)| *name == node);
        let (_, mut slurmd) = self.daemons.remove(place.unwrap());
        slurmd.kill().unwrap();
        slurmd.wait().unwrap();
        // The supervisor is the parent of the shell that is the parent of the render.
        let watcher = parent(parent(renderer));
        let name = fs::read_to_string(format!("/proc/{watcher}/comm")).unwrap();
        assert_eq!(name, "slurmstepd\n");
        signal(watcher, "KILL");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the folder that all nodes share.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Returns a command for the program, with the cluster's Slurm in its environment.
    pub(crate) fn raysieve(&self) -> Command {
        let mut command = raysieve(&self.work());
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.raysieve().args(arguments).output().unwrap()
    }

    /// Runs a program of Slurm and returns its standard output.
    pub(crate) fn slurm(&self, words: &[&str]) -> String {
        self.try_slurm(words)
            .unwrap_or_else(|error| panic!("{words:?} failed: {error}"))
    }

    /// Runs a program of Slurm. Returns its standard output, or its standard error if it fails.
    pub(crate) fn try_slurm(&self, words: &[&str]) -> Result<String, String> {
        let output = Command::new(words[0])
            .args(&words[1..])
            .env("SLURM_CONF", self.path("slurm.conf"))
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Sets a node's state.
    pub(crate) fn set(&self, node: &str, state: &str) {
        let (node, state) = (format!("NodeName={node}"), format!("State={state}"));
        self.slurm(&["scontrol", "update", &node, &state, "Reason=test"]);
    }

    /// Returns the running tasks of a job, as pairs of their number in the array and their node.
    pub(crate) fn running(&self, job: &str) -> Vec<(u32, String)> {
        let jobs = format!("--jobs={job}");
        let queue = self.slurm(&[
            "squeue",
            "--noheader",
            "--array",
            "--states=RUNNING",
            &jobs,
            "--format=%K %N",
        ]);
        let tasks = queue.lines().filter_map(|line| {
            let (task, node) = line.split_once(' ')?;
            Some((task.parse().ok()?, node.to_owned()))
        });
        tasks.collect()
    }

    /// Waits until a condition is met. `what` names it if the test times out.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, mut is_met: impl FnMut(&Cluster) -> bool) {
        let start = Instant::now();
        while !is_met(self) {
            assert!(
                start.elapsed() < TIMEOUT,
                "no {what}:\n{}",
                self.diagnostics()
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the queue and all logs, for the message of a failed test.
    pub(crate) fn diagnostics(&self) -> String {
        let mut report = String::new();
        for words in [
            &["squeue", "--array", "--states=all"][..],
            &["sinfo", "--Node", "--long"],
        ] {
            report += &self.try_slurm(words).unwrap_or_default();
        }
        let logs = names_below(self.folder.path());
        for log in logs.iter().filter(|name| {
            name.extension()
                .is_some_and(|ending| ending == "log" || ending == "out")
        }) {
            let text = fs::read_to_string(log).unwrap_or_default();
            let last: Vec<&str> = text.lines().rev().take(12).collect();
            report += &format!("==> {}\n", log.display());
            last.iter()
                .rev()
                .for_each(|line| report += &format!("{line}\n"));
        }
        report
    }

    /// Returns the processes whose working directory is in the folder.
    fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| {
            fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|place| place.starts_with(self.folder.path()))
        })
        .collect()
    }

    /// Returns the process that renders a part, not its shell or its call of `--version`.
    pub(crate) fn renderer_of(&self, part: u32) -> Option<u32> {
        let file = format!("parts/{part:05}.exr");
        self.processes().into_iter().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
            words.contains(&&b"--checkpoint"[..]) && words.contains(&file.as_bytes())
        })
    }
}

fn names_below(folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            names.extend(names_below(&entry.path()));
        } else {
            names.push(entry.path());
        }
    }
    names.sort();
    names
}

/// Returns the parent process.
fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.unwrap().trim().parse().unwrap()
}

pub(crate) fn signal(pid: u32, name: &str) {
    // A process that has ended in the meantime is not an error.
    let kill = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .stderr(Stdio::null())
        .status();
    kill.unwrap();
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The daemons and all their descendants, such as jobs, run in the cluster's folder.
        for _ in 0..50 {
            let left = self.processes();
            left.iter().for_each(|pid| signal(*pid, "KILL"));
            for (_, daemon) in &mut self.daemons {
                let _ = daemon.try_wait();
            }
            if left.is_empty() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        eprintln!("still running: {:?}", self.processes());
    }
}

/// Returns ports that nothing listens on, different ones for each cluster of this process.
///
/// They are below the ephemeral ports (32,768 and up on Linux), so that no connection takes one before its daemon does.
fn free_ports() -> [u16; 4] {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (process::id() % 200) as u16 * 100;
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let next = || first + TRIED.fetch_add(1, Ordering::Relaxed) % 100;
    [(); 4].map(|()| {
        iter::repeat_with(next)
            .take(100)
            .find(|&port| is_free(port))
            .expect("a free port")
    })
}

/// Returns the text of `slurm.conf`.
fn config(folder: &Path) -> String {
    let ports = free_ports();
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let (here, user, port) = (folder.display(), user.trim(), ports[0]);
    let mut text = format!(
        "\
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# Credentials of a job that is queued again must run out first.
AuthInfo=socket={here}/run/munge,cred_expire=8
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool-%n
SlurmctldPidFile={here}/run/slurmctld.pid
SlurmdPidFile={here}/run/%n.pid
SlurmctldLogFile={here}/slurmctld.log
SlurmdLogFile={here}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
# Nodes of one core, whatever the machine has.
SlurmdParameters=config_overrides
# A node that is silent for so long is down.
SlurmdTimeout=10
MessageTimeout=10
KillWait=5
ReturnToService=2
MailProg=/bin/true
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
    );
    for (node, port) in NODES.iter().zip(&ports[1..]) {
        text += &format!(
            "NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=100\n"
        );
    }
    text
}
