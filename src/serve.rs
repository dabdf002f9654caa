//! The page: the same view as the window's, in browsers, for a GPU on a server.
//!
//! One render, on its own thread (`live`), for any number of viewers. A thread of the `hub` develops and encodes the
//! newest picture once for all (`encode`); each viewer takes the newest there is when it has shown the one before
//! (`viewer`), so that a slow one misses pictures and holds up nobody. `pages` are what HTTP serves, `access` is who may
//! see them, `connections` how many at a time.

mod access;
mod address;
mod bell;
mod connections;
mod encode;
mod hub;
mod messages;
mod pages;
mod viewer;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use self::{access::Access, bell::Bell, hub::Hub};
use crate::{
    Error,
    live::{Fallen, Session, Standing, ViewOptions},
    quiet::panic_text,
    renderer::Renderer,
    scene::Scene,
};

pub use address::Address;

/// A place on the network at which the page will be.
pub struct Server {
    listener: TcpListener,
    access: Access,
    seat: Seat,
    url: String,
    stopper: Stopper,
}

/// A server's address and its token: another one that is bound there again is the same to browsers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    address: SocketAddr,
    token: Option<String>,
}

/// How a page ended.
pub enum Outcome {
    /// It was stopped. On its film is what it has rendered, which may be a preview's, of the scene as its file was last.
    Stopped(Box<Renderer>, Arc<Scene>),
    /// All GPUs have failed at once, before it was stopped.
    Fallen(Box<Fallen>),
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Lets the server tell its viewers and end.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// As many pictures as a common display shows every other time.
const INTERVAL: Duration = Duration::from_millis(33);

/// For viewers to hear that it is over.
const FAREWELL: Duration = Duration::from_secs(1);

impl Server {
    /// Takes the place. Other addresses than this machine's own ask for a token, which is in the URL.
    ///
    /// # Errors
    /// [`Error::Setting`] when the place is taken, or not this machine's.
    pub fn bind(address: Address) -> Result<Server, Error> {
        Server::bind_with(address, None)
    }

    /// Takes a place again that another process had.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub fn bind_again(seat: Seat) -> Result<Server, Error> {
        Server::bind_with(seat.address.into(), seat.token)
    }

    fn bind_with(address: Address, token: Option<String>) -> Result<Server, Error> {
        let refused = |problem: String| Error::Setting {
            setting: format!("--serve {address}"),
            problem,
        };
        let listener = TcpListener::bind(address.socket()).map_err(|error| {
            refused(match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "the port is in use; name another, or 0 for a free one".to_owned()
                }
                io::ErrorKind::AddrNotAvailable => {
                    "this machine has no such address; name one of its own, or 0.0.0.0 for all"
                        .to_owned()
                }
                io::ErrorKind::PermissionDenied => {
                    "the port is not for every user; name one from 1024 on".to_owned()
                }
                _ => format!("{error}; name another"),
            })
        })?;
        let unusable = |error: io::Error| refused(format!("{error}; name another"));
        listener.set_nonblocking(true).map_err(unusable)?;
        let bound = listener.local_addr().map_err(unusable)?;
        let access = Access::new(bound, token).map_err(|error| {
            refused(format!(
                "no token: {error}; serve on 127.0.0.1, without one"
            ))
        })?;
        Ok(Server {
            url: access.url(bound),
            seat: Seat {
                address: bound,
                token: access.token().map(str::to_owned),
            },
            listener,
            access,
            stopper: Stopper(watch::Sender::new(false)),
        })
    }

    /// Where a browser finds the page, with the token if there is one.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its place, to be taken again.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Renders the scene, as it stands if the renderer was [prepared](Standing::restore) for that, and shows it until it is
    /// stopped, whether the render is done or not; gives the renderer back.
    ///
    /// # Errors
    /// What ended the renderer; [`Error::Serve`] when the system has no threads left.
    pub fn run(
        self,
        renderer: Renderer,
        scene: &Arc<Scene>,
        options: ViewOptions,
        standing: Option<Standing>,
    ) -> Result<Outcome, Error> {
        let Server {
            listener,
            access,
            stopper,
            ..
        } = self;
        let bell = Arc::<Bell>::default();
        let session = Session::start(
            Box::new(renderer),
            scene,
            options,
            standing,
            INTERVAL,
            bell::teller(&bell),
        )
        .map_err(|(_, error)| serve(&error))?;
        let hub = Arc::new(Hub::new(session, bell, stopper.0));
        let pool = crate::live::developing_threads().map_err(|error| serve(&error))?;
        let developing = hub.clone();
        let developer = thread::Builder::new()
            .name("develop".to_owned())
            .spawn(move || developing.develop(&pool))
            .map_err(|error| serve(&error))?;
        let served = serve_pages(listener, access, &hub);
        hub.end();
        let developed = developer.join();
        // The pages' tasks are gone with their runtime.
        let hub = Arc::into_inner(hub).ok_or_else(|| serve(&"a viewer did not end"))?;
        let session = hub.into_session();
        let scene = session.scene().clone();
        let standing = session.standing();
        let ended = session.finish()?;
        served?;
        developed.map_err(|panic| serve(&panic_text(&*panic)))?;
        let mut renderer = ended.renderer;
        match ended.error {
            None => Ok(Outcome::Stopped(renderer, scene)),
            Some(error) if renderer.has_fallen() => Ok(Outcome::Fallen(Box::new(Fallen {
                renderer: *renderer,
                error,
                standing,
            }))),
            Some(error) => Err(error),
        }
    }
}

/// On one thread: nothing here takes long but the network.
fn serve_pages(listener: TcpListener, access: Access, hub: &Arc<Hub>) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| serve(&error))?;
    let pages = pages::router(hub.clone(), access);
    runtime.block_on(async {
        let listener =
            tokio::net::TcpListener::from_std(listener).map_err(|error| serve(&error))?;
        tokio::select! {
            () = connections::accept(listener, pages) => {}
            () = hub.stopped() => {}
        }
        let _ = tokio::time::timeout(FAREWELL, hub.nobody_left()).await;
        Ok(())
    })
}

fn serve(problem: &impl ToString) -> Error {
    Error::Serve {
        problem: problem.to_string(),
    }
}
