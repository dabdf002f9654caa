//! One who looks: the newest picture whenever it has shown the one before, the newest figures, and what it asks for.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message, WebSocket, close_code},
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
    hub::{Hub, Place},
    messages::{Asked, Greeting},
};

/// Pictures on their way to a viewer: one that travels while it shows the other. A slow network holds no more.
const ON_THEIR_WAY: u64 = 2;

/// A viewer that shows no picture for so long has lost its place; a page that wakes up comes back by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// So often something goes to a viewer, so that nothing on the way takes it for gone.
const PULSE: Duration = Duration::from_secs(20);

/// For the last word.
const FAREWELL: Duration = Duration::from_millis(500);

/// Longer messages no page writes.
pub(super) const LONGEST_MESSAGE: usize = 1024;

/// Serves a viewer until it leaves, is no longer there, or the server stops.
pub(super) async fn serve(socket: WebSocket, hub: Arc<Hub>, place: Place) {
    let (mut sink, stream) = socket.split();
    let shown = watch::Sender::new(0);
    let taken = shown.subscribe();
    let farewell = select! {
        farewell = show(&mut sink, &hub, taken) => farewell,
        farewell = listen(stream, &hub, &shown) => farewell,
    };
    if let Some(farewell) = farewell {
        let _ = timeout(FAREWELL, sink.send(Message::Close(Some(farewell)))).await;
    }
    drop(place);
}

/// Sends; `shown` counts what the viewer has shown.
async fn show(
    sink: &mut SplitSink<WebSocket, Message>,
    hub: &Hub,
    mut shown: watch::Receiver<u64>,
) -> Option<CloseFrame> {
    let greeting = serde_json::to_string(&Greeting::new()).ok()?;
    sink.send(Message::Text(greeting.into())).await.ok()?;
    let (mut pictures, mut statuses) = (hub.pictures(), hub.statuses());
    let (mut paths, mut materials) = (hub.paths(), hub.materials());
    let mut sent = 0_u64;
    // Since when it owes an answer; and when it last was sent anything.
    let (mut waiting, mut pulse) = (Instant::now(), Instant::now());
    loop {
        let on_their_way = sent.saturating_sub(*shown.borrow_and_update());
        let message = select! {
            biased;
            () = hub.stopped() => return Some(farewell(close_code::AWAY, "the program has ended")),
            news = shown.changed() => {
                news.ok()?;
                waiting = Instant::now();
                continue;
            }
            news = statuses.changed() => {
                news.ok()?;
                let status = statuses.borrow_and_update().clone();
                // Before the first picture.
                if status.is_empty() {
                    continue;
                }
                Message::Text(status)
            }
            news = paths.changed() => {
                news.ok()?;
                let path = paths.borrow_and_update().clone();
                // Before the first click.
                if path.is_empty() {
                    continue;
                }
                Message::Text(path)
            }
            news = materials.changed() => {
                news.ok()?;
                let materials = materials.borrow_and_update().clone();
                if materials.is_empty() {
                    continue;
                }
                Message::Text(materials)
            }
            news = pictures.changed(), if on_their_way < ON_THEIR_WAY => {
                news.ok()?;
                let picture: Bytes = pictures.borrow_and_update().clone();
                if picture.is_empty() {
                    continue;
                }
                if on_their_way == 0 {
                    waiting = Instant::now();
                }
                sent += 1;
                Message::Binary(picture)
            }
            () = sleep_until(waiting + PATIENCE), if on_their_way > 0 => return Some(too_slow()),
            () = sleep_until(pulse + PULSE) => Message::Ping(Bytes::new()),
        };
        pulse = Instant::now();
        match timeout(PATIENCE, sink.send(message)).await {
            Ok(Ok(())) => {}
            // It has gone away.
            Ok(Err(_)) => return None,
            Err(_) => return Some(too_slow()),
        }
    }
}

/// Hears until it leaves.
async fn listen(
    mut stream: SplitStream<WebSocket>,
    hub: &Hub,
    shown: &watch::Sender<u64>,
) -> Option<CloseFrame> {
    while let Some(Ok(message)) = stream.next().await {
        let asked = match message {
            Message::Text(text) => serde_json::from_str(&text).ok(),
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return None,
            Message::Binary(_) => None,
        };
        let obeyed = match asked {
            Some(Asked::Shown) => {
                shown.send_modify(|count| *count += 1);
                Ok(())
            }
            Some(asked) => hub.obey(asked),
            None => Err("not understood"),
        };
        if let Err(problem) = obeyed {
            return Some(farewell(close_code::POLICY, problem));
        }
    }
    None
}

fn too_slow() -> CloseFrame {
    farewell(close_code::POLICY, "no picture was shown for 20 seconds")
}

fn farewell(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame {
        code,
        reason: reason.into(),
    }
}
