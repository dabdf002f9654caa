//! Drag and drop of a file onto a window: the source's side of the XDND protocol, version 5.

use x11rb::{
    connection::Connection,
    protocol::{
        Event,
        xproto::{
            Atom, ClientMessageEvent, ConnectionExt, CreateWindowAux, EventMask, PropMode,
            SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, Window, WindowClass,
        },
    },
    wrapper::ConnectionExt as _,
};

/// Drops a list of URIs onto a window, and waits until the window has accepted it.
pub(crate) fn drop_uris(display: &str, target: Window, uris: &str) {
    let (connection, screen) = x11rb::connect(Some(display)).expect("the display is there");
    let root = connection.setup().roots[screen].root;
    let source = connection.generate_id().expect("a number");
    connection
        .create_window(
            0,
            source,
            root,
            0,
            0,
            1,
            1,
            0,
            WindowClass::INPUT_OUTPUT,
            0,
            &CreateWindowAux::new(),
        )
        .expect("a window");
    let atom = |name: &str| -> Atom {
        let cookie = connection.intern_atom(false, name.as_bytes());
        cookie.expect("sent").reply().expect("an atom").atom
    };
    let (list, selection, finished) = (
        atom("text/uri-list"),
        atom("XdndSelection"),
        atom("XdndFinished"),
    );
    connection
        .set_selection_owner(source, selection, 0_u32)
        .expect("the source has what is dragged");
    let tell = |what: &str, rest: [u32; 4]| {
        let [a, b, c, d] = rest;
        let message = ClientMessageEvent::new(32, target, atom(what), [source, a, b, c, d]);
        connection
            .send_event(false, target, EventMask::NO_EVENT, message)
            .expect("sent");
        connection.flush().expect("sent");
    };
    tell("XdndEnter", [5 << 24, list, 0, 0]);
    let place = (300 << 16) | 300;
    tell("XdndPosition", [0, place, 0, atom("XdndActionCopy")]);
    loop {
        match connection.wait_for_event().expect("the display is there") {
            Event::SelectionRequest(request) => {
                connection
                    .change_property8(
                        PropMode::REPLACE,
                        request.requestor,
                        request.property,
                        list,
                        uris.as_bytes(),
                    )
                    .expect("sent");
                let answer = SelectionNotifyEvent {
                    response_type: SELECTION_NOTIFY_EVENT,
                    sequence: 0,
                    time: request.time,
                    requestor: request.requestor,
                    selection: request.selection,
                    target: request.target,
                    property: request.property,
                };
                connection
                    .send_event(false, request.requestor, EventMask::NO_EVENT, answer)
                    .expect("sent");
                tell("XdndDrop", [0, 0, 0, 0]);
            }
            Event::ClientMessage(message) if message.type_ == finished => return,
            _ => {}
        }
    }
}
