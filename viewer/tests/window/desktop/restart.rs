//! Suspends a running program, ends its display, and starts it again.

use rustix::process::{Pid, Signal, kill_process};

use super::{Desktop, SCENE, fs, manager, raysieve, screen};

impl Desktop {
    /// Suspends the program, as when the machine is busy. Events wait for it until [`resume`](Self::resume).
    pub(crate) fn suspend(&self) {
        self.is_suspended.set(true);
        self.signal(Signal::STOP);
    }

    /// Lets the program continue, and waits until it has handled the events that have come meanwhile.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
        self.is_suspended.set(false);
        self.settle();
    }

    /// Sends the program the signal by which Ctrl-C in its terminal would interrupt it.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    fn signal(&self, signal: Signal) {
        let program = Pid::from_child(&self.program);
        kill_process(program, signal).expect("the program runs");
    }

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
