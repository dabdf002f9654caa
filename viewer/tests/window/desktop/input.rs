//! Keys and mouse.

use std::{thread, time::Duration};

use x11rb::{
    protocol::xproto::{AutoRepeatMode, ChangeKeyboardControlAux, ConnectionExt},
    wrapper::ConnectionExt as _,
};

use super::{Desktop, differing_pixels};

impl Desktop {
    /// Makes the display repeat keys that are held, from 0.66 seconds on.
    pub(crate) fn repeat_keys(&self) {
        let (connection, _) = x11rb::connect(Some(&self.display)).expect("the display is there");
        let repeat = ChangeKeyboardControlAux::new().auto_repeat_mode(AutoRepeatMode::ON);
        connection
            .change_keyboard_control(&repeat)
            .expect("the display is there");
        connection.sync().expect("the display is there");
    }

    /// Presses keys, given by their X11 names.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.xdotool(&[&["key", "--delay", "60"], keys].concat());
    }

    /// Holds keys for this time.
    pub(crate) fn hold(&self, keys: &str, time: Duration) {
        self.key_down(keys);
        thread::sleep(time);
        self.key_up(keys);
    }

    pub(crate) fn key_down(&self, keys: &str) {
        self.xdotool(&["keydown", keys]);
    }

    pub(crate) fn key_up(&self, keys: &str) {
        self.xdotool(&["keyup", keys]);
    }

    /// Drags with the button of this number, starting in the middle of the window. Rests on the way: all of a drag is one
    /// undo step.
    pub(crate) fn drag(&self, button: &str, right: i32, down: i32) {
        let shot = self.shot();
        let (x, y) = (
            (shot.width() / 2).to_string(),
            (shot.height() / 2).to_string(),
        );
        self.xdotool(&[
            "mousemove",
            "--window",
            &self.window,
            &x,
            &y,
            "mousedown",
            button,
        ]);
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(600));
            self.xdotool(&[
                "mousemove_relative",
                "--sync",
                "--",
                &(right / 4).to_string(),
                &(down / 4).to_string(),
            ]);
        }
        self.xdotool(&["mouseup", button]);
    }

    /// Drags with the left button between two positions in pixels from the window's upper left.
    pub(crate) fn drag_from(&self, from: (u32, u32), to: (u32, u32)) {
        self.point_at(from.0, from.1);
        self.xdotool(&["mousedown", "1"]);
        self.point_at((from.0 + to.0) / 2, (from.1 + to.1) / 2);
        self.point_at(to.0, to.1);
        self.xdotool(&["mouseup", "1"]);
    }

    /// Clicks with the left button, at a position in pixels from the window's upper left.
    pub(crate) fn click(&self, x: u32, y: u32) {
        self.click_with("1", x, y);
    }

    /// Clicks like [`click`](Self::click), and waits until the window shows the effect, where a next click may depend on
    /// what is displayed.
    pub(crate) fn click_visibly(&self, x: u32, y: u32) {
        let before = self.shot();
        self.click(x, y);
        self.until_shown("the effect of a click", |shot| {
            differing_pixels(shot, &before) > 50
        });
    }

    /// Clicks with a button: 1 is the left one, and 3 the right one. The position is in pixels from the window's upper
    /// left.
    pub(crate) fn click_with(&self, button: &str, x: u32, y: u32) {
        let (x, y) = (x.to_string(), y.to_string());
        self.xdotool(&["mousemove", "--window", &self.window, &x, &y]);
        self.xdotool(&["click", button]);
    }

    /// Moves the pointer to a position in pixels from the window's upper left.
    pub(crate) fn point_at(&self, x: u32, y: u32) {
        let (x, y) = (x.to_string(), y.to_string());
        self.xdotool(&["mousemove", "--window", &self.window, &x, &y]);
    }

    /// Turns the mouse wheel away from the user.
    pub(crate) fn wheel_forward(&self, notches: usize) {
        let notches = notches.to_string();
        self.xdotool(&["click", "--repeat", &notches, "--delay", "60", "4"]);
    }

    /// Turns the mouse wheel towards the user.
    pub(crate) fn wheel_back(&self, notches: usize) {
        self.xdotool(&[
            "click",
            "--repeat",
            &notches.to_string(),
            "--delay",
            "60",
            "5",
        ]);
    }
}
