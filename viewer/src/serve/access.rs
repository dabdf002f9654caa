//! Access control of the web page.
//!
//! A server requires a token, which the printed URL contains and a cookie then keeps. On a loopback address, it does so
//! if other users could open the page. Otherwise everybody who can reach the server has access, and the risk is a browser
//! that forwards requests of other sites. Against such DNS rebinding, the `Host` of a request must then be `localhost` or
//! a loopback address. On all servers, the `Origin` of a WebSocket must be the page itself, or absent, as in clients that
//! are no browsers. Of two `Host` or `Origin` headers, none counts.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq;

/// The access rules of a server.
pub(super) struct Access {
    /// Required access token; `None` if none is required.
    token: Option<Token>,
}

/// An access token, and the cookie in which browsers keep it.
struct Token {
    text: String,
    /// Name of the cookie. It contains the port, because browsers share cookies between the ports of a host.
    cookie: String,
}

/// Size of a new token in bytes: 192 bits from the operating system's random number generator.
const TOKEN_BYTES: usize = 24;

impl Access {
    /// Creates the rules for a server that is bound to this address: with a new token if `has_token` is set. Fails if
    /// the operating system provides no random numbers.
    pub(super) fn new(bound: SocketAddr, has_token: bool) -> Result<Self, impl fmt::Display> {
        if !has_token {
            return Ok(Self { token: None });
        }
        let text = new_token()?;
        Ok::<_, getrandom::Error>(Self {
            token: Some(Token {
                text,
                cookie: format!("raysieve-{}", bound.port()),
            }),
        })
    }

    /// Returns the URL to open in a browser, with the token if one is required. `bound` is the server's address; if it
    /// is unspecified, such as 0.0.0.0, the URL contains an address that browsers can reach.
    pub(super) fn url(&self, bound: SocketAddr) -> String {
        let reached = SocketAddr::new(reached_at(bound.ip()), bound.port());
        match &self.token {
            None => format!("http://{reached}/"),
            Some(token) => format!("http://{reached}/?token={}", token.text),
        }
    }

    /// Checks whether a request has access. Returns the cookie to set if the right token was in the URL but not in a
    /// cookie; `None` if there is no cookie to set. The error is the reason for refusing the request.
    pub(super) fn check(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<Option<HeaderValue>, &'static str> {
        let host = text(headers, header::HOST).unwrap_or_default();
        let Some(token) = &self.token else {
            let own = host_name(host).is_some_and(is_loopback_name);
            return own
                .then_some(None)
                .ok_or("only localhost and loopback addresses are accepted; open http://localhost at this port");
        };
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut cookies = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='));
        if cookies.any(|(name, value)| name == token.cookie && token.is(value)) {
            return Ok(None);
        }
        let mut parameters = uri.query().unwrap_or_default().split('&');
        if parameters.any(|parameter| {
            parameter
                .strip_prefix("token=")
                .is_some_and(|value| token.is(value))
        }) {
            return Ok(token.as_cookie());
        }
        Err("the access token is missing or wrong; open the URL that the program printed")
    }

    /// Returns whether a WebSocket request comes from the page itself, which means that its `Origin` agrees with its
    /// `Host`. Returns `true` for a client that sends no `Origin`.
    pub(super) fn is_from_page(headers: &HeaderMap) -> bool {
        if !headers.contains_key(header::ORIGIN) {
            return true;
        }
        let origin = text(headers, header::ORIGIN).and_then(|origin| origin.split_once("://"));
        let host = text(headers, header::HOST);
        origin.is_some_and(|(_, origin)| Some(origin) == host)
    }
}

fn new_token() -> Result<String, getrandom::Error> {
    let mut random = [0; TOKEN_BYTES];
    getrandom::fill(&mut random).map(|()| BASE64_URL_SAFE_NO_PAD.encode(random))
}

impl Token {
    /// Returns whether `given` equals the token. The duration reveals at most whether the length is right, which is no
    /// secret.
    fn is(&self, given: &str) -> bool {
        self.text.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Returns the value of the `Set-Cookie` header that makes a browser keep the token; `None` if it is not a valid
    /// header.
    fn as_cookie(&self) -> Option<HeaderValue> {
        let Self { text, cookie } = self;
        HeaderValue::try_from(format!(
            "{cookie}={text}; Path=/; HttpOnly; SameSite=Strict"
        ))
        .ok()
    }
}

/// Security headers of every response: only the page's own files are loaded, and there is no framing, referrer or
/// caching.
pub(super) const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// Returns the value of a header; `None` if the header is missing, is given twice, or contains other characters than
/// visible ASCII.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Returns the host of a `Host` header, without port and without the brackets of an IPv6 address. The port is ignored
/// because a tunnel may have changed it. Returns `None` if the closing bracket is missing.
fn host_name(host: &str) -> Option<&str> {
    match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(name, _)| name),
        None => host.split(':').next(),
    }
}

/// Returns whether a host name is `localhost`, in upper or lower case, or a loopback address.
fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Returns the address for the URL. It is `bound`, unless that is unspecified (0.0.0.0 or ::). Then it is the address
/// from which this machine reaches the internet, or loopback if there is no route.
fn reached_at(bound: IpAddr) -> IpAddr {
    // Documentation addresses: connecting a UDP socket selects a route and sends nothing.
    let (any, far): (IpAddr, IpAddr) = match bound {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => (bound, Ipv4Addr::new(192, 0, 2, 1).into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            (bound, Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
        }
        _ => return bound,
    };
    let own = match any {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    UdpSocket::bind((any, 0))
        .and_then(|socket| socket.connect((far, 9)).and_then(|()| socket.local_addr()))
        .map_or(own, |address| address.ip())
}
