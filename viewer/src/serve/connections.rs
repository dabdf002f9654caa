//! Accepts HTTP connections: limits their number, and closes those that stall.
//!
//! A connection is a *newcomer* until it has sent a complete request that has access. Newcomers can neither fill the
//! slots of other connections nor keep newcomers of other addresses out.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::Router;
use hyper::{
    Request, body::Incoming, server::conn::http1, service::Service as _, service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    select,
    sync::{Notify, Semaphore},
    task, time,
};
use tokio_io_timeout::TimeoutStream;

use crate::session::lock;

/// Maximum number of concurrent connections; further ones wait. A WebSocket counts only until its upgrade.
const MAX_CONNECTIONS: usize = 256;

/// Maximum number of newcomers. A further one closes the oldest newcomer of the address that has most of them.
const MAX_NEWCOMERS: usize = 64;

/// Maximum time to receive the header of a request. Then the connection is closed.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time that a write may be blocked because the peer receives nothing. Then the connection is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// Pause after a connection could not be accepted, for example because the process has no free file descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Accepts connections and serves `pages` on each in a task of its own; never returns.
pub(super) async fn accept(listener: TcpListener, pages: Router) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let newcomers = Arc::<Newcomers>::default();
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, peer)) = listener.accept().await else {
            time::sleep(RETRY_DELAY).await;
            continue;
        };
        // Disables Nagle's algorithm to reduce latency; without this, pictures only arrive later.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let newcomer = newcomers.add(peer.ip());
        let pages = TowerToHyperService::new(pages.clone());
        tokio::spawn(async move {
            let seat = newcomer.clone();
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(seat.clone());
                pages.call(request)
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(Box::pin(stream)), service)
                .with_upgrades();
            select! {
                // A peer that disconnects early is not an error.
                _ = connection => {}
                () = newcomer.closed.notified() => {}
            }
            newcomer.admit();
            drop(permit);
        });
        // A request that has already arrived is read before further connections can displace its own.
        task::yield_now().await;
    }
}

/// The newcomers among the connections, the oldest first.
#[derive(Default)]
struct Newcomers(Mutex<VecDeque<Newcomer>>);

/// A handle of a connection that is or was a newcomer. Each request has that of its connection as an extension.
#[derive(Clone)]
pub(super) struct Newcomer {
    /// Address or network of the peer; see [`network`].
    network: IpAddr,
    /// Notified when the connection must close. Also identifies the connection.
    closed: Arc<Notify>,
    all: Arc<Newcomers>,
}

impl Newcomers {
    /// Adds a connection of this peer. If there are too many newcomers, closes the oldest one of the network that has
    /// most of them.
    fn add(self: &Arc<Self>, peer: IpAddr) -> Newcomer {
        let newcomer = Newcomer {
            network: network(peer),
            closed: Arc::default(),
            all: self.clone(),
        };
        let mut all = lock(&self.0);
        all.push_back(newcomer.clone());
        if all.len() > MAX_NEWCOMERS {
            let mut counts = HashMap::<IpAddr, usize>::new();
            for newcomer in &*all {
                *counts.entry(newcomer.network).or_default() += 1;
            }
            let crowd = counts.into_iter().max_by_key(|&(_, count)| count);
            let oldest =
                crowd.and_then(|(network, _)| all.iter().position(|one| one.network == network));
            if let Some(oldest) = oldest.and_then(|index| all.remove(index)) {
                oldest.closed.notify_one();
            }
        }
        newcomer
    }
}

impl Newcomer {
    /// Removes the connection from the newcomers, so that no other connection can displace it. Does nothing if it is
    /// none any more.
    pub(super) fn admit(&self) {
        let mut all = lock(&self.all.0);
        all.retain(|one| !Arc::ptr_eq(&one.closed, &self.closed));
    }
}

/// Returns what counts as one peer: an IPv4 address, or the network of 2⁶⁴ addresses that one IPv6 user usually has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let bits = u128::from(address) & (u128::MAX << 64);
            Ipv6Addr::from(bits).into()
        }
        address => address,
    }
}
