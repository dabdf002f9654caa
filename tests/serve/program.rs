//! The program that serves, and what talks to it without a browser.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Lit from all around, so that a few samples are a picture.
pub(crate) const SCENE: &str = r#"(
    size: (160, 120), spp: 4, max_bounces: 2,
    camera: (origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40),
    sky: (0.4, 0.5, 0.6),
    materials: {
        "red": Diffuse(albedo: (0.7, 0.2, 0.1)),
        "white": Diffuse(albedo: (0.7, 0.7, 0.7)),
    },
    objects: [
        Sphere(center: (-0.6, 0.8, 0), radius: 0.8, material: "red"),
        Box(center: (1, 0.4, 0), half_size: (0.3, 0.4, 0.3), rotate_y: 20, material: "white"),
        Quad(corner: (-3, 0, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "white"),
    ],
)"#;

/// More samples than anyone waits for.
pub(crate) const ENDLESS: [&str; 2] = ["--spp", "10000000"];

/// What takes longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A program that serves its page.
pub(crate) struct Program {
    child: Child,
    said: BufReader<ChildStderr>,
    pub(crate) folder: TempDir,
    /// As it printed it.
    pub(crate) url: String,
}

/// The program in a folder, without a GPU and a display.
pub(crate) fn raysieve(folder: &Path) -> Command {
    let program = env::var_os("CARGO_BIN_EXE_raysieve")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_raysieve").into());
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("CUDA_VISIBLE_DEVICES", "")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    command
}

/// A folder with the scene.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("scene.ron"), SCENE).unwrap();
    folder
}

impl Program {
    /// Serves at an address, with more arguments.
    pub(crate) fn start_at(address: &str, arguments: &[&str]) -> Self {
        Self::start_on(
            &["--backend", "cpu", "--threads", "1"],
            address,
            arguments,
            &[],
        )
    }

    /// The same, on another machine than the CPU.
    pub(crate) fn start_on(
        machine: &[&str],
        address: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let folder = folder();
        let mut child = raysieve(folder.path())
            .arg("scene.ron")
            .args(machine)
            .args(["--serve", address])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut program = Self {
            child,
            said,
            folder,
            url: String::new(),
        };
        program.hear_page();
        program
    }

    /// Waits for a line of what it says that has these words.
    pub(crate) fn hear_that(&mut self, words: &str) -> String {
        let mut heard = String::new();
        loop {
            let mut line = String::new();
            self.said.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "no {words}: {heard}");
            if line.contains(words) {
                return line;
            }
            heard += &line;
        }
    }

    /// Waits until it says where its page is.
    pub(crate) fn hear_page(&mut self) {
        let line = self.hear_that("page: ");
        self.url = line.trim_end().trim_start_matches("page: ").to_owned();
    }

    /// On a free port of this machine's own.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    pub(crate) fn port(&self) -> u16 {
        let place = self.url.strip_prefix("http://").unwrap();
        let place = place.split('/').next().unwrap();
        place.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// As this machine reaches it.
    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    pub(crate) fn token(&self) -> &str {
        self.url.split_once("?token=").expect("a token").1
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Asks for a path, with more lines of the head: the first `Host` counts, and stands for the own one.
    pub(crate) fn get(&self, path: &str, head: &[&str]) -> Answer {
        let own = format!("Host: {}", self.address());
        let mut head = head.to_vec();
        if !head.iter().any(|line| line.starts_with("Host:")) {
            head.push(&own);
        }
        let mut stream = self.connect();
        let head = head.join("\r\n");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::read(&bytes)
    }

    /// Memory that it has, bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            * 1024
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it as Ctrl-C does: its exit code, and what it said and printed.
    pub(crate) fn interrupt(&mut self) -> (Option<i32>, String, String) {
        let kill = format!("kill -INT {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        let begun = Instant::now();
        while self.is_running() {
            assert!(begun.elapsed() < PATIENCE, "the program did not end");
            thread::sleep(Duration::from_millis(5));
        }
        let (mut said, mut printed) = (String::new(), String::new());
        self.said.read_to_string(&mut said).unwrap();
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut printed).unwrap();
        (self.child.wait().unwrap().code(), said, printed)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|end| end == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn assert_refused(&self, status: u16, why: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.text().lines().count(), 1, "{}", self.text());
        assert!(self.text().contains(why), "{}", self.text());
    }
}
