//! The WebSocket connection of one viewer: sends the newest picture and status, and receives requests.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::{
    select,
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use super::{
    broadcast::{Broadcaster, ViewerGuard},
    messages::{Greeting, ViewerRequest},
};

/// Maximum number of pictures sent to a viewer but not yet displayed, so that one is transferred while another is
/// displayed.
const MAX_IN_FLIGHT: u64 = 2;

/// Maximum time for a viewer to display a picture, and for sending a message to the viewer. Slower viewers are
/// disconnected, and their pages reconnect by themselves.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(20);

/// Time without a message to a viewer after which a ping is sent, so that proxies keep the connection open.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Maximum time for sending the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum length of a message from a viewer in bytes. The page sends none longer, and the connection ends at a longer
/// one.
pub(super) const MAX_MESSAGE_BYTES: usize = 1024;

/// Serves a viewer until it disconnects, stalls or sends an invalid request, or the server stops. The viewer counts as
/// connected until then.
pub(super) async fn serve(socket: WebSocket, broadcaster: Arc<Broadcaster>, guard: ViewerGuard) {
    let (mut sink, stream) = socket.split();
    let displayed = watch::Sender::new(0);
    let acknowledged = displayed.subscribe();
    let close_frame = select! {
        // Acknowledgements that have arrived count, even if this task was delayed beyond the time limit.
        biased;
        close_frame = receive_requests(stream, &broadcaster, &displayed) => close_frame,
        close_frame = send_messages(&mut sink, &broadcaster, acknowledged) => close_frame,
    };
    if let Some(close_frame) = close_frame {
        let _ = timeout(CLOSE_TIMEOUT, sink.send(Message::Close(Some(close_frame)))).await;
    }
    drop(guard);
}

/// Sends pictures and messages until the viewer leaves or stalls, or the server stops. `displayed` is the number of
/// pictures that the viewer has displayed. Returns the close frame to send; `None` if the viewer has left.
async fn send_messages(
    sink: &mut SplitSink<WebSocket, Message>,
    broadcaster: &Broadcaster,
    mut displayed: watch::Receiver<u64>,
) -> Option<CloseFrame> {
    let greeting = serde_json::to_string(&Greeting::new()).ok()?;
    sink.send(Message::Text(greeting.into())).await.ok()?;
    let mut pictures = subscribe(&broadcaster.pictures);
    let Broadcaster {
        statuses,
        paths,
        pixels,
        editors,
        ..
    } = broadcaster;
    let [mut statuses, mut paths, mut pixels, mut editors] =
        [statuses, paths, pixels, editors].map(subscribe);
    let mut sent = 0_u64;
    // Time since which an acknowledgement is due, and time of the last message sent.
    let (mut waiting, mut last_sent) = (Instant::now(), Instant::now());
    loop {
        let in_flight = sent.saturating_sub(*displayed.borrow_and_update());
        let message = select! {
            biased;
            () = broadcaster.stopped() => return Some(close_frame(close_code::AWAY, "the program has ended")),
            changed = displayed.changed() => {
                changed.ok()?;
                waiting = Instant::now();
                None
            }
            changed = statuses.changed() => changed.ok().and_then(|()| text_message(&mut statuses)),
            changed = paths.changed() => changed.ok().and_then(|()| text_message(&mut paths)),
            changed = pixels.changed() => changed.ok().and_then(|()| text_message(&mut pixels)),
            changed = editors.changed() => changed.ok().and_then(|()| text_message(&mut editors)),
            changed = pictures.changed(), if in_flight < MAX_IN_FLIGHT => {
                changed.ok()?;
                let picture = pictures.borrow_and_update().clone();
                if in_flight == 0 {
                    waiting = Instant::now();
                }
                sent += u64::from(!picture.is_empty());
                (!picture.is_empty()).then_some(Message::Binary(picture))
            }
            () = sleep_until(waiting + DISPLAY_TIMEOUT), if in_flight > 0 => return Some(too_slow()),
            () = sleep_until(last_sent + PING_INTERVAL) => Some(Message::Ping(Bytes::new())),
        };
        let Some(message) = message else {
            continue;
        };
        last_sent = Instant::now();
        match timeout(DISPLAY_TIMEOUT, sink.send(message)).await {
            Ok(Ok(())) => {}
            // The viewer has disconnected.
            Ok(Err(_)) => return None,
            Err(_) => return Some(too_slow()),
        }
    }
}

/// Returns a receiver for which the current value counts as new.
fn subscribe<T>(sender: &watch::Sender<T>) -> watch::Receiver<T> {
    let mut receiver = sender.subscribe();
    receiver.mark_changed();
    receiver
}

/// Returns the newest text as a message, and marks it as seen; `None` if there is no text yet.
fn text_message(texts: &mut watch::Receiver<Utf8Bytes>) -> Option<Message> {
    let text = texts.borrow_and_update().clone();
    (!text.is_empty()).then_some(Message::Text(text))
}

/// Receives requests until the viewer disconnects or sends an invalid one, and adds to `displayed` for each displayed
/// picture. Returns the close frame to send; `None` if the viewer has left.
async fn receive_requests(
    mut stream: SplitStream<WebSocket>,
    broadcaster: &Broadcaster,
    displayed: &watch::Sender<u64>,
) -> Option<CloseFrame> {
    while let Some(Ok(message)) = stream.next().await {
        let request = match message {
            Message::Text(text) => serde_json::from_str(&text).ok(),
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return None,
            Message::Binary(_) => None,
        };
        let handled = match request {
            Some(ViewerRequest::Displayed) => {
                displayed.send_modify(|count| *count += 1);
                Ok(())
            }
            Some(request) => broadcaster.handle_request(request),
            None => Err("invalid message"),
        };
        if let Err(problem) = handled {
            return Some(close_frame(close_code::POLICY, problem));
        }
    }
    None
}

fn too_slow() -> CloseFrame {
    close_frame(
        close_code::POLICY,
        "no picture was displayed for 20 seconds",
    )
}

fn close_frame(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame {
        code,
        reason: reason.into(),
    }
}
