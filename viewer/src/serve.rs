//! The web page: displays the render in browsers, for example from a GPU server.
//!
//! One render thread (`session`) serves up to 64 viewers, which are connections of browsers. A thread of `broadcast`
//! tone-maps and encodes each picture once for all of them (`encode`). Each viewer receives the newest picture while at
//! most one picture that it has not displayed is on its way (`viewer`). So slow viewers skip pictures and delay nobody.
//! `pages` holds the HTTP routes, `access` the authorisation, and `connections` the limits of connections.

mod access;
mod connections;
mod downloads;
mod encode;
mod broadcast;
mod messages;
mod other_users;
mod pages;
mod viewer;

use std::{io, net::TcpListener, sync::Arc, time::Duration};

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::sync::watch;

use self::{
    access::Access,
    broadcast::{Broadcaster, Notifier, event_sender},
    other_users::may_have_other_users,
};
use crate::{
    Address, Error,
    error::report,
    session::{Ended, Session, ViewOptions, spawn, tone_mapping_pool},
};
use raysieve::render::renderer::Renderer;
use raysieve_scene::{Scene, catch_panics::panic_text, escaped};

/// A web server that listens at its address, but neither renders nor answers before [`Server::run`].
pub struct Server {
    listener: TcpListener,
    access: Access,
    url: String,
    stopper: Stopper,
}

/// A handle that stops a server from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Makes the server close its viewers' connections and end, and returns at once. A server that does not run yet
    /// ends as soon as [`Server::run`] is called.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Minimum average interval between pictures: every second frame of a 60 Hz display.
const INTERVAL: Duration = Duration::from_millis(33);

/// Maximum total time for all viewers to receive the closing message and disconnect.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

impl Server {
    /// Binds a listening socket to the address. Addresses other than loopback require an access token, which is created
    /// here and is part of the URL. Loopback addresses require one if `token` is `Some(true)`, or if it is `None` and other
    /// users could open the page.
    ///
    /// # Errors
    /// [`Error::Setting`] if the address cannot be used, for example because its port is taken or privileged, or if no
    /// access token can be created. Also if `token` is `Some(false)` for another address than loopback.
    pub fn bind(address: Address, token: Option<bool>) -> Result<Server, Error> {
        let refused = |problem: String| Error::Setting {
            setting: format!("--serve {address}"),
            problem,
        };
        let listener = TcpListener::bind(address.socket()).map_err(|error| {
            refused(match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "the port is in use; choose another, or 0 for a free one".to_owned()
                }
                io::ErrorKind::AddrNotAvailable => {
                    "this machine has no such address; choose one of its own, or 0.0.0.0 for all"
                        .to_owned()
                }
                io::ErrorKind::PermissionDenied => {
                    "only privileged users may bind this port; choose one from 1024 upwards"
                        .to_owned()
                }
                _ => format!("{error}; choose another"),
            })
        })?;
        let unusable = |error: io::Error| refused(format!("{error}; choose another"));
        listener.set_nonblocking(true).map_err(unusable)?;
        let bound = listener.local_addr().map_err(unusable)?;
        let has_token = match (bound.ip().is_loopback(), token) {
            (true, None) => may_have_other_users(),
            (true, Some(token)) => token,
            (false, Some(false)) => {
                return Err(refused(
                    "other machines can reach this address, so that it needs a token; omit --token=never".to_owned(),
                ));
            }
            (false, _) => true,
        };
        let access = Access::new(bound, has_token).map_err(|error| {
            refused(format!(
                "cannot create an access token: {error}; serve on 127.0.0.1 with --token=never"
            ))
        })?;
        Ok(Server {
            url: access.url(bound),
            listener,
            access,
            stopper: Stopper(watch::Sender::new(false)),
        })
    }

    /// Returns the URL of the page with the bound port, and with the access token if one is required.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a handle that stops this server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Renders the scene with its renderer and serves the page, until a [`Stopper`] stops the server or the render
    /// fails. A complete render does not end the server. Edits that are not saved then are kept in a new scene file next
    /// to the scene, and reported to standard error.
    ///
    /// Returns the renderer and the last scene, with the viewers' edits. The film may be a smaller preview of that scene, or
    /// lack edits that were made just before.
    ///
    /// # Errors
    /// The error that ended the render, unless all GPUs have failed. [`Error::Window`] if the render thread panicked. [`Error::Serve`] if the page cannot be served, for example because the system has no free
    /// threads.
    pub fn run(
        self,
        renderer: Renderer,
        scene: &Arc<Scene>,
        options: ViewOptions,
    ) -> Result<(Ended, Arc<Scene>), Error> {
        let notifier = Arc::<Notifier>::default();
        let session = Session::start(
            Box::new(renderer),
            scene,
            options,
            INTERVAL,
            event_sender(&notifier),
        )
        .map_err(|(_, error)| serve_error(error))?;
        if let Some(message) = session.earlier_autosaves_message() {
            report(&escaped(&message));
            session.report_problem(message);
        }
        let broadcaster = Arc::new(Broadcaster::new(session, notifier, self.stopper.0));
        let pool = tone_mapping_pool().map_err(serve_error)?;
        let broadcaster_for_thread = broadcaster.clone();
        let broadcast_thread =
            spawn("broadcast", move || broadcaster_for_thread.run(&pool)).map_err(serve_error)?;
        let served = serve_pages(self.listener, self.access, &broadcaster);
        broadcaster.end();
        let thread_ended = broadcast_thread.join();
        // The viewers' tasks ended with their runtime, so this is the last reference.
        let broadcaster =
            Arc::into_inner(broadcaster).ok_or_else(|| serve_error("a viewer did not end"))?;
        let session = broadcaster.into_session();
        let scene = session.scene.clone();
        // Nobody can be asked. A camera that was only moved is not worth a file at each end.
        let unsaved = session.edits_to_keep();
        let ended = session.finish(unsaved)?;
        served?;
        thread_ended.map_err(|panic| serve_error(panic_text(&*panic)))?;
        Ok((ended.checked()?, scene))
    }
}

/// Serves the pages on the current thread until the server is stopped. Then waits until all viewers have left, for at
/// most `CLOSE_TIMEOUT`. One thread suffices, as other threads render and encode.
fn serve_pages(
    listener: TcpListener,
    access: Access,
    broadcaster: &Arc<Broadcaster>,
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(serve_error)?;
    let pages = pages::router(broadcaster.clone(), access);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(serve_error)?;
        tokio::select! {
            () = connections::accept(listener, pages) => {}
            () = broadcaster.stopped() => {}
        }
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, broadcaster.all_viewers_left()).await;
        Ok(())
    })
}

fn serve_error(problem: impl ToString) -> Error {
    Error::Serve {
        problem: problem.to_string(),
    }
}

/// Returns an error response with this status and one line of plain text, to which a line feed is added.
fn refusal(status: StatusCode, why: &'static str) -> Response {
    (status, format!("{why}\n")).into_response()
}
