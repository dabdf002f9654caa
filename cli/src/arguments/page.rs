//! Options of the web page.

use clap::Args;
use raysieve_viewer::Address;

/// Options that serve the render as a web page.
#[derive(Args, Clone, Debug)]
pub(crate) struct PageArguments {
    /// Serve the render as a web page at this address and port, such as 127.0.0.1:8080, and open no window. To allow
    /// other machines, use an address such as 0.0.0.0:8080. Without ADDR, a free port that only this machine can reach
    /// [default: serve no page]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "0",
        conflicts_with_all = ["samples", "checkpoint", "layers"], help_heading = "Output")]
    pub(crate) serve: Option<Address>,

    /// Open the page only for those who have the token in the printed URL: always, never, or auto, if other machines or
    /// other users of this machine could open it. Without WHEN, always [default: auto]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always",
        value_parser = ["auto", "always", "never"], requires = "serve", help_heading = "Output")]
    token: Option<String>,
}

impl PageArguments {
    /// Returns whether the page requires a token; `None` if that depends on address and machine.
    #[cfg(feature = "serve")]
    pub(crate) fn token(&self) -> Option<bool> {
        match self.token.as_deref() {
            None | Some("auto") => None,
            Some(when) => Some(when == "always"),
        }
    }
}
