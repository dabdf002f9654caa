//! Starts the serving program, and talks to it without a browser.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    process::{Child, ChildStderr, Stdio},
    thread,
    time::{Duration, Instant},
};

use raysieve::{
    render::renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};
use tempfile::TempDir;

use crate::{
    program::{folder, processor_time, raysieve, signal},
    scene::scene_of_size,
};

/// The text of the scene file.
pub(crate) const SCENE: &str = scene_of_size!("(160, 120)");

/// Arguments for a render with more samples than any test waits for.
pub(crate) const ENDLESS: [&str; 2] = ["--spp", "10000000"];

/// Time after which a test counts as failed.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A running program that serves its page.
pub(crate) struct Program {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub(crate) folder: TempDir,
    /// URL as the program printed it.
    pub(crate) url: String,
}

/// Creates a temporary folder that contains the scene.
pub(crate) fn scene_folder() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("scene.ron"), SCENE).unwrap();
    folder
}

impl Program {
    /// Starts to serve on this address, with further arguments.
    pub(crate) fn start_at(address: &str, arguments: &[&str]) -> Self {
        Self::start_on(
            &["--backend", "cpu", "--threads", "1"],
            address,
            arguments,
            &[],
        )
    }

    /// Starts to serve on this address, with further arguments, on the given command.
    pub(crate) fn start_on(
        machine: &[&str],
        address: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        Self::start_in(
            scene_folder(),
            "scene.ron",
            machine,
            address,
            arguments,
            environment,
        )
    }

    /// Starts to serve a model with this content, named `model.gltf`, on a free loopback port, with further arguments.
    pub(crate) fn start_model(content: &[u8], arguments: &[&str]) -> Self {
        let folder = folder();
        fs::write(folder.path().join("model.gltf"), content).unwrap();
        let machine = ["--backend", "cpu", "--threads", "1"];
        Self::start_in(
            folder,
            "model.gltf",
            &machine,
            "127.0.0.1:0",
            arguments,
            &[],
        )
    }

    /// Starts to serve the scene or model of this name in `folder` on this address, with further arguments, on the given
    /// command.
    pub(crate) fn start_in(
        folder: TempDir,
        scene: &str,
        machine: &[&str],
        address: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        // Whether other users are logged in to the machine of the tests must not matter.
        let is_given = arguments.iter().any(|word| word.starts_with("--token"));
        let has_token = is_given || !address.starts_with("127.");
        let token = if has_token {
            &[][..]
        } else {
            &["--token=never"]
        };
        let mut child = raysieve(folder.path())
            .arg(scene)
            .args(machine)
            .args(["--serve", address])
            .args(token)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut program = Self {
            child,
            stderr,
            folder,
            url: String::new(),
        };
        program.wait_for_page();
        program
    }

    /// Waits for a line of standard error that contains these words.
    pub(crate) fn wait_for_line(&mut self, words: &str) -> String {
        let mut lines = String::new();
        loop {
            let mut line = String::new();
            self.stderr.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "no line contains {words:?}: {lines}");
            if line.contains(words) {
                return line;
            }
            lines += &line;
        }
    }

    /// Waits until the program prints the URL of its page.
    pub(crate) fn wait_for_page(&mut self) {
        let line = self.wait_for_line("page: ");
        self.url = line.trim_end().trim_start_matches("page: ").to_owned();
    }

    /// Starts to serve on a free loopback port.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    /// Kills the program, which cannot handle that.
    pub(crate) fn kill(&self) {
        signal(&self.child, "KILL");
    }

    pub(crate) fn port(&self) -> u16 {
        let place = self.url.strip_prefix("http://").unwrap();
        let place = place.split('/').next().unwrap();
        place.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Returns the address at which this machine reaches the server.
    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    pub(crate) fn token(&self) -> &str {
        self.url.split_once("?token=").expect("a token").1
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends a GET request with additional header lines; a `Host` among them replaces the default one.
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

    /// Sends a GET request with additional header lines, and returns the status of the response without its body.
    pub(crate) fn status(&self, path: &str, head: &[&str]) -> u16 {
        let mut stream = self.connect();
        let (address, head) = (self.address(), head.join("\r\n"));
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\n{head}\r\n\r\n"
        )
        .unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Renders the scene file in this process on the CPU, at this size, to an error of 0.1 and at most `spp` samples.
    pub(crate) fn render_to_noise(&self, size: (u32, u32), spp: u32) -> (Scene, Renderer) {
        let mut scene = Scene::load(&self.folder.path().join("scene.ron")).unwrap();
        scene.set_size(size);
        scene.spp = spp;
        let on_cpu = Settings {
            backend: BackendChoice::Cpu,
            ..Settings::default()
        };
        let mut renderer = Renderer::new(&scene, &on_cpu).unwrap();
        renderer.set_noise(Some(0.1)).unwrap();
        while renderer.advance().unwrap() {}
        (scene, renderer)
    }

    /// Returns the processor time that the program has used.
    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(&self.child)
    }

    /// Returns the resident memory of the program in bytes.
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

    /// Interrupts the program like Ctrl-C. Returns its exit code, standard error and standard output.
    pub(crate) fn interrupt(&mut self) -> (Option<i32>, String, String) {
        signal(&self.child, "INT");
        let start = Instant::now();
        while self.is_running() {
            assert!(start.elapsed() < TIMEOUT, "the program did not end");
            thread::sleep(Duration::from_millis(5));
        }
        let (mut messages, mut printed) = (String::new(), String::new());
        self.stderr.read_to_string(&mut messages).unwrap();
        let mut out = self.child.stdout.take().unwrap();
        out.read_to_string(&mut printed).unwrap();
        (self.child.wait().unwrap().code(), messages, printed)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP response.
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
