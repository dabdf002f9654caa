//! Pings, by which window managers find out whether a program still handles its events: `_NET_WM_PING` of the Extended
//! Window Manager Hints.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use x11rb::{
    connection::Connection,
    protocol::{
        Event,
        xproto::{
            Atom, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt, EventMask, Window,
        },
    },
    rust_connection::RustConnection,
};

use super::{Desktop, TIMEOUT};

impl Desktop {
    /// Waits until the program has handled the events that were sent to its window before. It usually has drawn what they
    /// changed, too, but tests must not rely on that. Returns at once if the window is gone or the program suspended.
    pub(super) fn settle(&self) {
        if self.is_suspended.get() {
            return;
        }
        let Ok((connection, screen)) = x11rb::connect(Some(&self.display)) else {
            return;
        };
        let root = connection.setup().roots[screen].root;
        let window = self.window.parse().expect("the window's number");
        // Windows are drawn after the events that have arrived, so usually before a second ping is answered.
        for _ in 0..2 {
            if !ping(&connection, root, window) {
                return;
            }
        }
    }
}

/// Pings a window, and waits for the answer. Returns `false` if the window is gone.
fn ping(connection: &RustConnection, root: Window, window: Window) -> bool {
    /// The number of the last ping. Answers to other pings arrive at the root window too.
    static LAST: AtomicU32 = AtomicU32::new(0);

    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let atom = |name: &str| -> Atom {
        let cookie = connection.intern_atom(false, name.as_bytes());
        cookie.expect("sent").reply().expect("an atom").atom
    };
    let (protocols, kind) = (atom("WM_PROTOCOLS"), atom("_NET_WM_PING"));
    // The answer is the same message to the root window.
    let answers = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
    connection
        .change_window_attributes(root, &answers)
        .expect("sent");
    let message = ClientMessageEvent::new(32, window, protocols, [kind, number, window, 0, 0]);
    connection
        .send_event(false, window, EventMask::NO_EVENT, message)
        .expect("sent");
    let start = Instant::now();
    loop {
        while let Some(event) = connection.poll_for_event().expect("the display is there") {
            if let Event::ClientMessage(message) = event
                && message.type_ == protocols
                && message.data.as_data32()[..2] == [kind, number]
            {
                return true;
            }
        }
        let attributes = connection.get_window_attributes(window).expect("sent");
        if attributes.reply().is_err() {
            return false;
        }
        assert!(start.elapsed() < TIMEOUT, "the window handles no events");
        thread::sleep(Duration::from_millis(5));
    }
}
