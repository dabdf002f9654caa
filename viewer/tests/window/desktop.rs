//! A virtual desktop (Xvfb, openbox), controlled by xdotool, wmctrl and ImageMagick's import.

mod idle;
mod input;
mod ping;
mod restart;

use std::{
    cell::Cell,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use image::RgbImage;

use crate::{drop::drop_uris, program::program, scene::scene_of_size};

/// The text of the scene file.
pub(crate) const SCENE: &str = scene_of_size!("(480, 360)");

/// Settings for a window of 480 × 360 pixels without figures.
pub(crate) const BARE: &str = "(statistics: off, size: Some((480, 360)))";

/// Required programs, each with the Debian package that contains it.
const TOOLS: [(&str, &str); 5] = [
    ("Xvfb", "xvfb"),
    ("openbox", "openbox"),
    ("xdotool", "xdotool"),
    ("wmctrl", "wmctrl"),
    ("import", "imagemagick"),
];

/// Minimum time after which a test fails, long enough for a wave, a picture and a redraw.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Minimum number of attempts after which a test fails. Each starts other programs, so that it takes longer on a busy
/// machine, and the tested program has its share of the processor meanwhile.
const MIN_ATTEMPTS: usize = 150;

/// Returns `Ok` if the tools for tests with a window are installed, otherwise which ones are missing.
pub(crate) fn has_tools() -> Result<(), String> {
    let folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let is_there = |tool: &str| folders.iter().any(|folder| folder.join(tool).is_file());
    let (names, packages): (Vec<_>, Vec<_>) = TOOLS
        .into_iter()
        .filter(|(tool, _)| !is_there(tool))
        .unzip();
    if names.is_empty() {
        return Ok(());
    }
    let (names, packages) = (names.join(", "), packages.join(" "));
    Err(format!("{names} not found; apt-get install {packages}"))
}

/// Returns a command that runs the program in `folder`, without access to this machine's display.
pub(crate) fn raysieve(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .current_dir(folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env("XDG_CONFIG_HOME", folder.join("config"));
    for variable in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        command.env_remove(variable);
    }
    command
}

/// Calls `ask` repeatedly until it returns a value.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut attempts = 0;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        attempts += 1;
        let elapsed = start.elapsed();
        assert!(
            elapsed < TIMEOUT || attempts < MIN_ATTEMPTS,
            "after {elapsed:?} and {attempts} attempts still waiting: {what}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// Starts Xvfb on a free display number, with a screen of this size, as in `1280x1024`.
fn screen(size: &str) -> (Child, String) {
    // Without `-noreset`, the server resets when its last client leaves, and drops a client that is just connecting.
    // With `-r`, held keys are not repeated: on a busy machine, a short press can last long.
    let mut xvfb = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0"])
        .arg(format!("{size}x24"))
        .args(["-nolisten", "tcp", "-noreset", "-r"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Xvfb starts");
    let mut number = String::new();
    let output = xvfb.stdout.take().expect("Xvfb's output is piped");
    BufReader::new(output)
        .read_line(&mut number)
        .expect("Xvfb prints its display number");
    (xvfb, format!(":{}", number.trim()))
}

/// Settings of openbox without keys and mouse. With its own ones, a press of a button waits in the display until openbox
/// has seen it, so that later keys can arrive before it.
const OPENBOX: &str =
    r#"<openbox_config xmlns="http://openbox.org/3.4/rc"><keyboard/><mouse/></openbox_config>"#;

/// Starts openbox, and waits until it reports in `folder` that it is ready. It registers as window manager earlier than
/// that, and windows opened in between may stay hidden.
fn manager(display: &str, folder: &Path) -> Child {
    let (ready, settings) = (
        folder.join("openbox-is-ready"),
        folder.join("openbox-settings"),
    );
    fs::write(&settings, OPENBOX).expect("the settings are written");
    let manager = Command::new("openbox")
        .arg("--config-file")
        .arg(settings)
        .arg("--startup")
        .arg(format!("touch {}", ready.display()))
        .env("DISPLAY", display)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("openbox starts");
    eventually("openbox manages windows", || ready.exists().then_some(()));
    manager
}

/// A virtual display with a window manager and the program.
pub(crate) struct Desktop {
    xvfb: Child,
    manager: Child,
    program: Child,
    display: String,
    window: String,
    /// Number of pictures saved with `s`.
    saves: Cell<u32>,
    /// Whether the program is suspended, and so handles no events.
    is_suspended: Cell<bool>,
    folder: tempfile::TempDir,
}

impl Desktop {
    /// Opens a window with this scene.
    pub(crate) fn open(scene: &str, arguments: &[&str]) -> Self {
        Self::open_with(scene, arguments, &[])
    }

    /// Opens a window with [`SCENE`], and waits until the render is complete.
    pub(crate) fn rendered() -> Self {
        let desktop = Self::open(SCENE, &[]);
        desktop.until_title("scene.ron – 4 samples");
        desktop
    }

    /// Opens a window in the scene's size, without figures and hints, and waits until the render is complete.
    pub(crate) fn bare() -> Self {
        let desktop = Self::open_bare(SCENE, &[]);
        desktop.until_title("scene.ron – 4 samples");
        desktop
    }

    /// Opens a window of 480 × 360 pixels with this scene, without figures and hints.
    pub(crate) fn open_bare(scene: &str, arguments: &[&str]) -> Self {
        let desktop = Self::open_all(scene, arguments, &[], BARE);
        desktop.press(&["Escape"]);
        desktop
    }

    /// Returns the position of the window's content on the screen in pixels.
    pub(crate) fn corner(&self) -> (i32, i32) {
        let place = self.place();
        let numbers = place
            .split([' ', ',', '('])
            .filter_map(|word| word.parse().ok());
        match numbers.collect::<Vec<_>>()[..] {
            [x, y, ..] => (x, y),
            _ => panic!("no position: {place}"),
        }
    }

    /// Opens a window with this scene and additional environment variables.
    pub(crate) fn open_with(scene: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::open_all(scene, arguments, environment, "")
    }

    /// Opens a window with this scene, additional environment variables, and saved settings unless they are empty.
    pub(crate) fn open_all(
        scene: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        settings: &str,
    ) -> Self {
        Self::open_file(
            "scene.ron",
            scene.as_bytes(),
            arguments,
            environment,
            settings,
        )
    }

    /// Opens a window with a scene or model file of this name and content, additional environment variables, and saved
    /// settings unless they are empty.
    pub(crate) fn open_file(
        name: &str,
        content: &[u8],
        arguments: &[&str],
        environment: &[(&str, &str)],
        settings: &str,
    ) -> Self {
        let screen = screen("1280x1024");
        Self::open_on(screen, (name, content), arguments, environment, settings)
    }

    /// Opens a window with [`SCENE`] and saved settings on a screen of this size, as in `3840x2160`.
    pub(crate) fn open_on_screen(size: &str, settings: &str) -> Self {
        let scene = ("scene.ron", SCENE.as_bytes());
        Self::open_on(screen(size), scene, &[], &[], settings)
    }

    fn open_on(
        (xvfb, display): (Child, String),
        (name, content): (&str, &[u8]),
        arguments: &[&str],
        environment: &[(&str, &str)],
        settings: &str,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if !settings.is_empty() {
            let config = folder.path().join("config/raysieve");
            fs::create_dir_all(&config).expect("a folder for settings");
            fs::write(config.join("window.ron"), settings).expect("the settings are written");
        }
        fs::write(folder.path().join(name), content).expect("the scene is written");
        let manager = manager(&display, folder.path());
        let program = raysieve(folder.path())
            .env("DISPLAY", &display)
            .envs(environment.iter().copied())
            .arg(name)
            .args(arguments)
            .stdout(fs::File::create(folder.path().join("output")).expect("a file for output"))
            .stderr(fs::File::create(folder.path().join("errors")).expect("a file for errors"))
            .spawn()
            .expect("raysieve starts");
        let (window, saves) = (String::new(), Cell::new(0));
        let mut desktop = Self {
            xvfb,
            manager,
            program,
            display,
            window,
            saves,
            is_suspended: Cell::new(false),
            folder,
        };
        desktop.find_window();
        desktop
    }

    /// Waits for the program's window.
    pub(crate) fn find_window(&mut self) {
        self.window = eventually("the window opens", || {
            if let Some(status) = self.ended() {
                panic!("raysieve ended, {status}: {}", self.errors());
            }
            let found = self.ask(
                "xdotool",
                &["search", "--onlyvisible", "--name", "raysieve"],
            );
            found.lines().next().map(str::to_owned)
        });
        self.activate();
    }

    /// Activates the window, so that it receives key presses.
    pub(crate) fn activate(&self) {
        self.xdotool(&["windowactivate", "--sync", &self.window]);
    }

    /// Minimises the window.
    pub(crate) fn iconify(&self) {
        self.xdotool(&["windowminimize", "--sync", &self.window]);
    }

    /// Returns the program's standard error.
    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default()
    }

    /// Returns the program's standard output.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("output")).unwrap_or_default()
    }

    /// Overwrites the scene file.
    pub(crate) fn write_scene(&self, text: &str) {
        self.write_file("scene.ron", text);
    }

    /// Writes a file of this name next to the scene, and returns its path.
    pub(crate) fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("the file is written");
        path
    }

    /// Writes a file of this name, and drops it onto the window.
    pub(crate) fn drop_file(&self, name: &str, text: &str) {
        let path = self.write_file(name, text);
        let uri = format!("file://{}\r\n", path.display()).replace(' ', "%20");
        let window = self.window.parse().expect("the window's number");
        drop_uris(&self.display, window, &uri);
        self.settle();
    }

    /// Returns the folder of the scene file.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the current text of the scene file.
    pub(crate) fn scene(&self) -> String {
        fs::read_to_string(self.folder.path().join("scene.ron")).expect("the scene is there")
    }

    pub(crate) fn title(&self) -> String {
        self.ask("xdotool", &["getwindowname", &self.window])
            .trim()
            .to_owned()
    }

    /// Waits until the window's title contains `text`.
    pub(crate) fn until_title(&self, text: &str) {
        eventually(&format!("the title says {text:?}"), || {
            self.title().contains(text).then_some(())
        });
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        self.xdotool(&[
            "windowsize",
            "--sync",
            &self.window,
            &width.to_string(),
            &height.to_string(),
        ]);
    }

    /// Moves the window to another position on the screen.
    pub(crate) fn move_to(&self, x: u32, y: u32) {
        let before = self.place();
        let (x, y) = (x.to_string(), y.to_string());
        self.xdotool(&["windowmove", &self.window, &x, &y]);
        eventually("the window moves", || {
            (self.place() != before).then_some(())
        });
    }

    /// Returns the position of the window's content on the screen, as xdotool prints it.
    pub(crate) fn place(&self) -> String {
        let geometry = self.ask("xdotool", &["getwindowgeometry", &self.window]);
        let line = geometry.lines().find(|line| line.contains("Position"));
        line.unwrap_or_default().to_owned()
    }

    /// Resizes the window without waiting for it, as while its corner is dragged.
    pub(crate) fn resize_on_the_way(&self, width: u32, height: u32) {
        let (width, height) = (width.to_string(), height.to_string());
        self.ask("xdotool", &["windowsize", &self.window, &width, &height]);
    }

    /// Returns a screenshot of the window, after the events so far.
    pub(crate) fn shot(&self) -> RgbImage {
        self.settle();
        let path = self.folder.path().join("shot.png");
        let shot = path.to_str().expect("a path in plain text");
        // Without a limit, `import` waits for ever if the window has closed.
        let taken = self
            .tool("timeout")
            .args(["60", "import", "-window", &self.window, shot])
            .status()
            .expect("import runs");
        assert!(taken.success(), "import: {taken}");
        image::open(&path).expect("a screenshot").to_rgb8()
    }

    /// Waits until a screenshot of the window satisfies `matches`.
    pub(crate) fn until_shown(&self, what: &str, matches: impl Fn(&RgbImage) -> bool) {
        eventually(what, || matches(&self.shot()).then_some(()));
    }

    /// Makes a request that would lose unsaved changes, and waits until the window asks about them.
    pub(crate) fn until_asked(&self, request: impl FnOnce()) {
        let before = self.shot();
        request();
        self.until_shown("a question", |shot| {
            differing_pixels(shot, &before) > 200 && problem_pixels(shot) > 200
        });
    }

    /// Drops a file onto a window with unsaved changes: the first time, the window asks about them.
    pub(crate) fn drop_twice(&self, name: &str, text: &str) {
        self.until_asked(|| self.drop_file(name, text));
        self.drop_file(name, text);
    }

    /// Waits until the window shows exactly this picture.
    pub(crate) fn until_same(&self, expected: &RgbImage, what: &str) {
        self.until_shown(&format!("the window shows {what}"), |shot| shot == expected);
    }

    /// Returns a screenshot once the program has drawn all that follows from the input so far.
    pub(crate) fn still(&self) -> RgbImage {
        self.until_idle();
        self.shot()
    }

    /// Waits until all messages have disappeared by themselves from the upper `rows` rows of pixels.
    pub(crate) fn until_no_message(&self, rows: u32) {
        // Their background, which only some panels have too.
        let is_message =
            |(_, y, pixel): &(u32, u32, &image::Rgb<u8>)| *y < rows && pixel.0 == [14, 17, 23];
        self.until_shown("no message", |shot| {
            shot.enumerate_pixels().filter(is_message).count() < 200
        });
    }

    /// Turns the camera by a key, and waits until the render of its view is complete.
    pub(crate) fn turn(&self) {
        self.press(&["Right"]);
        self.until_idle();
        self.until_title("scene.ron – 4 samples");
    }

    /// Presses `s`, and returns the saved picture once it is complete. A message covers the window for some seconds. It
    /// must not be dismissed by Escape, which quits if the message has just disappeared.
    pub(crate) fn save(&self) -> RgbImage {
        self.saves.set(self.saves.get() + 1);
        self.save_as(&format!("scene-{:03}.png", self.saves.get()))
    }

    /// Saves pictures until one satisfies `matches`, and returns it.
    pub(crate) fn until_saved(&self, what: &str, matches: impl Fn(&RgbImage) -> bool) -> RgbImage {
        eventually(what, || {
            Some(self.save()).filter(|picture| matches(picture))
        })
    }

    /// Presses `s`, and returns the picture that is saved under this name, relative to the scene's folder.
    pub(crate) fn save_as(&self, name: &str) -> RgbImage {
        let path = self.folder.path().join(name);
        self.press(&["s"]);
        eventually(&format!("{} is written", path.display()), || {
            Some(image::open(&path).ok()?.to_rgb8())
        })
    }

    /// Destroys the window without asking the program.
    pub(crate) fn destroy(&self) {
        self.xdotool(&["windowclose", &self.window]);
    }

    /// Closes the window like the button of its title bar.
    pub(crate) fn close(&self) {
        let closed = self
            .tool("wmctrl")
            .args(["-i", "-c", &self.window])
            .status()
            .expect("wmctrl runs");
        assert!(closed.success(), "wmctrl: {closed}");
    }

    pub(crate) fn until_ended(&mut self) -> ExitStatus {
        eventually("the program ends", || self.ended())
    }

    /// Returns how the program has ended; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.program.try_wait().expect("the program can be queried")
    }

    /// Returns the program's processor time in seconds, as measured by Linux.
    pub(crate) fn processor_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.program.id()))
            .expect("the program runs");
        // The fields after the name in parentheses; user and system time are fields 14 and 15 of all.
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let hundredths: f64 = fields[11..13]
            .iter()
            .map(|ticks| ticks.parse::<f64>().expect("a number"))
            .sum();
        hundredths / 100.0
    }

    /// Runs xdotool, which must succeed, and waits until the program has handled what it sends.
    fn xdotool(&self, arguments: &[&str]) {
        let status = self
            .tool("xdotool")
            .args(arguments)
            .status()
            .expect("xdotool runs");
        assert!(status.success(), "xdotool {arguments:?}: {status}");
        self.settle();
    }

    /// Runs a tool and returns its standard output.
    fn ask(&self, tool: &str, arguments: &[&str]) -> String {
        let output = self
            .tool(tool)
            .args(arguments)
            .output()
            .expect("the tool runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn tool(&self, tool: &str) -> Command {
        let mut command = Command::new(tool);
        command.env("DISPLAY", &self.display).stderr(Stdio::null());
        command
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "the program of the failed test: {}; title {:?}; standard output {:?}; standard error {:?}",
                match self.program.try_wait() {
                    Ok(None) => "running".to_owned(),
                    ended => format!("{ended:?}"),
                },
                self.title(),
                self.output(),
                self.errors()
            );
        }
        for process in [&mut self.program, &mut self.manager, &mut self.xvfb] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Returns the number of pixels in the color of problems and questions, which [`SCENE`] does not contain.
pub(crate) fn problem_pixels(shot: &RgbImage) -> usize {
    let is_problem = |pixel: &&image::Rgb<u8>| pixel.0[0] > 220 && pixel.0[2] < 150;
    shot.pixels().filter(is_problem).count()
}

/// Returns the number of differing pixels; all of them if the sizes differ.
pub(crate) fn differing_pixels(one: &RgbImage, other: &RgbImage) -> usize {
    if one.dimensions() != other.dimensions() {
        return one.pixels().len();
    }
    one.pixels()
        .zip(other.pixels())
        .filter(|(one, other)| one != other)
        .count()
}
