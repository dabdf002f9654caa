//! Who may see the page.
//!
//! On this machine's own address everybody who can reach it may. There a browser is the danger, which carries what other
//! sites say: a request must name this machine by a name that only means itself, so that no other name can be bent to
//! here (DNS rebinding), and a WebSocket must come from the page itself. On any other address a token is asked for,
//! which the printed URL carries once and a cookie from then on.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq;

/// Who may see the pages at an address.
pub(super) struct Access {
    token: Option<Token>,
}

struct Token {
    text: String,
    /// Browsers keep the ports of a machine in one jar.
    cookie: String,
}

/// 192 bits, by the operating system.
const TOKEN_BYTES: usize = 24;

impl Access {
    /// By this token, or a new one.
    pub(super) fn new(bound: SocketAddr, token: Option<String>) -> Result<Self, impl fmt::Display> {
        if bound.ip().is_loopback() {
            return Ok(Self { token: None });
        }
        let text = token.map_or_else(new_token, Ok)?;
        Ok::<_, getrandom::Error>(Self {
            token: Some(Token {
                text,
                cookie: format!("raysieve-{}", bound.port()),
            }),
        })
    }

    /// What is asked for, if anything is.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.text.as_str())
    }

    /// What to open in a browser.
    pub(super) fn url(&self, bound: SocketAddr) -> String {
        let reached = SocketAddr::new(reached_at(bound.ip()), bound.port());
        match &self.token {
            None => format!("http://{reached}/"),
            Some(token) => format!("http://{reached}/?token={}", token.text),
        }
    }

    /// Lets a request in, with the cookie to set if it brought the token in its URL; else says in a line why not.
    pub(super) fn check(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<Option<HeaderValue>, &'static str> {
        let host = text(headers, header::HOST).unwrap_or_default();
        let Some(token) = &self.token else {
            let own = host_name(host).is_some_and(is_own);
            return own
                .then_some(None)
                .ok_or("not a name of this machine alone; open http://localhost at this port");
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
        Err("the token is missing or wrong; open the URL that the program printed")
    }

    /// Whether a WebSocket is asked for by the page itself, or by no page at all.
    pub(super) fn is_from_page(headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return true;
        };
        let origin = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.split_once("://"));
        let host = text(headers, header::HOST);
        origin.is_some_and(|(_, origin)| Some(origin) == host)
    }
}

fn new_token() -> Result<String, getrandom::Error> {
    let mut random = [0; TOKEN_BYTES];
    getrandom::fill(&mut random).map(|()| BASE64_URL_SAFE_NO_PAD.encode(random))
}

impl Token {
    /// In a time that does not tell how much of it is right.
    fn is(&self, given: &str) -> bool {
        self.text.as_bytes().ct_eq(given.as_bytes()).into()
    }

    fn as_cookie(&self) -> Option<HeaderValue> {
        let Self { text, cookie } = self;
        HeaderValue::try_from(format!(
            "{cookie}={text}; Path=/; HttpOnly; SameSite=Strict"
        ))
        .ok()
    }
}

/// Nothing but the page's own files, in no other page, and nothing kept.
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

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A `Host` without its port, which is another one behind a tunnel.
fn host_name(host: &str) -> Option<&str> {
    match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(name, _)| name),
        None => host.split(':').next(),
    }
}

fn is_own(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// An address that other machines know, where all of this one's are served.
fn reached_at(bound: IpAddr) -> IpAddr {
    // Addresses of documentation: a datagram's socket finds the way there and sends nothing.
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
