//! Ends the display of a running program, and starts the program again.

use super::{Desktop, SCENE, fs, manager, raysieve, screen};

impl Desktop {
    /// Kills the display, as when the X server crashes.
    pub(crate) fn kill_display(&mut self) {
        self.xvfb.kill().expect("Xvfb can be killed");
        self.xvfb.wait().expect("Xvfb ends");
    }

    /// Starts display, window manager and program again, with `scene.ron` in the same folder. Waits for the window.
    pub(crate) fn restart(&mut self) {
        for process in [&mut self.program, &mut self.manager, &mut self.xvfb] {
            let _ = process.kill();
            let _ = process.wait();
        }
        assert_eq!(self.scene(), SCENE);
        fs::remove_file(self.folder().join("openbox-is-ready")).expect("the file of openbox");
        (self.xvfb, self.display) = screen("1280x1024");
        self.manager = manager(&self.display, self.folder());
        let file = |name: &str| fs::File::create(self.folder().join(name)).expect("a file");
        self.program = raysieve(self.folder())
            .env("DISPLAY", &self.display)
            .arg("scene.ron")
            .stdout(file("output"))
            .stderr(file("errors"))
            .spawn()
            .expect("raysieve starts");
        self.find_window();
    }
}
