//! The address of the web page, as given on the command line.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

/// An IP address and a TCP port to serve the web page on. Port 0 lets the operating system choose a free port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(SocketAddr);

impl Address {
    pub(super) fn socket(self) -> SocketAddr {
        self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or a port alone; the last two mean 127.0.0.1. Other host
/// names, and addresses without a port, are errors.
impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let own = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        let of_port = port.parse().map(|port| SocketAddr::new(own, port));
        of_port
            .or_else(|_| text.parse())
            .map(Self)
            .map_err(|_| "expected an address and a port, such as 127.0.0.1:8080, or a port alone")
    }
}
