//! Live views of a Raysieve render.
//!
//! [`session`] is an interactive render: it runs the renderer on a thread and applies the viewer's actions. The
//! `window` (feature `window`) and the web page of `serve` (feature `serve`) display its frames. [`overlay`] draws the
//! statistics over a picture, and [`chart`] has their colors.

#![cfg_attr(
    not(all(feature = "window", feature = "serve")),
    allow(
        dead_code,
        unused_imports,
        reason = "the session and the overlay serve both views; either alone uses a part"
    )
)]

mod address;
pub mod chart;
mod error;
mod fonts;
pub mod overlay;
mod saved_picture;
pub mod session;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "window")]
pub mod window;

pub use address::Address;
pub use error::Error;
