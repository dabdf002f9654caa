//! Connections: no more than there is room for, and none that only holds its place.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore, time};
use tokio_io_timeout::TimeoutStream;

/// Requests at a time; a page's live view counts as long as it takes to begin.
const MOST: usize = 256;

/// For the head of a request, the next one's too.
const PATIENCE: Duration = Duration::from_secs(10);

/// For a peer to take what is sent to it.
const SENDING: Duration = Duration::from_secs(20);

/// While the system lets no more in, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves for ever.
pub(super) async fn accept(listener: TcpListener, pages: Router) {
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(PAUSE).await;
            continue;
        };
        // Pictures go out whole; one that waits for the rest of a packet is late. Without, it is only slower.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(SENDING));
        let pages = TowerToHyperService::new(pages.clone());
        tokio::spawn(async move {
            // Who goes away in the middle is no error here.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(Box::pin(stream)), pages)
                .with_upgrades()
                .await;
            drop(place);
        });
    }
}
