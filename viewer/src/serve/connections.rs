//! Accepts HTTP connections: limits their number, and closes those that stall.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore, time};
use tokio_io_timeout::TimeoutStream;

/// Maximum number of concurrent connections; further ones wait. A WebSocket counts only until its upgrade.
const MAX_CONNECTIONS: usize = 256;

/// Maximum time to receive the header of a request. Then the connection is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time that a write may be blocked because the peer receives nothing. Then the connection is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// Pause after a connection could not be accepted, for example because the process has no free file descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Accepts connections and serves `pages` on each in a task of its own; never returns.
pub(super) async fn accept(listener: TcpListener, pages: Router) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(RETRY_DELAY).await;
            continue;
        };
        // Disables Nagle's algorithm to reduce latency; without this, pictures only arrive later.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let pages = TowerToHyperService::new(pages.clone());
        tokio::spawn(async move {
            // A peer that disconnects early is not an error.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(Box::pin(stream)), pages)
                .with_upgrades()
                .await;
            drop(permit);
        });
    }
}
