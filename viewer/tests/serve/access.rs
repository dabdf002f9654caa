//! Tests of the web page's access control and of the files it serves.

use std::{
    io::{Read, Write},
    net::TcpListener,
    time::{Duration, Instant},
};

use libtest_mimic::Trial;
use tokio::net::TcpSocket;

use crate::{
    program::{add_tests, assert_refused, run},
    server::{ENDLESS, Program, TIMEOUT, scene_folder},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        files_of_the_page_are_served_under_a_strict_policy,
        requests_with_foreign_host_names_are_refused,
        websockets_of_other_origins_are_refused,
        other_addresses_require_the_token,
        a_loopback_address_requires_the_token_beside_other_users,
        of_two_hosts_or_origins_none_counts,
        the_token_cookie_opens_the_live_view,
        every_run_has_a_new_token,
        malformed_requests_do_not_disturb_the_server,
        half_open_connections_do_not_lock_viewers_out,
        invalid_addresses_are_refused_in_one_line,
        conflicting_options_are_refused_in_one_line,
    );
}

fn files_of_the_page_are_served_under_a_strict_policy() {
    let program = Program::start(&ENDLESS);
    assert_eq!(program.url, format!("http://{}/", program.address()));
    let files = [
        ("/", "text/html; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/panel.css", "text/css; charset=utf-8"),
        ("/colors.css", "text/css; charset=utf-8"),
        ("/view.js", "text/javascript; charset=utf-8"),
        ("/input.js", "text/javascript; charset=utf-8"),
        ("/statistics.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ];
    for (path, kind) in files {
        let answer = program.get(path, &[]);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        let policy = answer.header("content-security-policy").expect("a policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        // Nothing is loaded from other sites; the only URL is the XML namespace of SVG.
        let text = answer.text().replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("://"), "{path} names another site");
    }
    for path in ["/nothing", "/../Cargo.toml", "/page/index.html", "//"] {
        program.get(path, &[]).assert_refused(404, "page not found");
    }
}

fn requests_with_foreign_host_names_are_refused() {
    let program = Program::start(&ENDLESS);
    for name in [
        "localhost",
        "LOCALHOST:80",
        "127.0.0.1",
        "127.9.9.9:1",
        "[::1]:8080",
    ] {
        assert_eq!(
            program.get("/", &[&format!("Host: {name}")]).status,
            200,
            "{name}"
        );
    }
    for name in [
        "evil.example",
        "localhost.evil.example",
        "192.168.1.1:80",
        "",
        "[::1",
        "127.0.0.1.nip.io",
    ] {
        for path in ["/", "/stats.json", "/picture.png", "/live", "/nothing"] {
            let answer = program.get(path, &[&format!("Host: {name}")]);
            answer.assert_refused(403, "only localhost and loopback addresses");
        }
    }
}

fn websockets_of_other_origins_are_refused() {
    let program = Program::start(&ENDLESS);
    let own = format!("http://{}", program.address());
    assert!(Viewer::join_with(&program, &[("origin", &own)]).is_ok());
    let other_port = format!("http://127.0.0.1:{}", program.port() ^ 1);
    for origin in [
        "http://evil.example",
        "null",
        &other_port,
        "http://localhost",
        "",
    ] {
        let refused = Viewer::join_with(&program, &[("origin", origin)]).err();
        assert_eq!(refused, Some(403), "{origin}");
    }
}

fn other_addresses_require_the_token() {
    let program = Program::start_at("0.0.0.0:0", &ENDLESS);
    let token = program.token();
    assert!(token.len() >= 22, "128 bits take 22 letters: {token}");
    let mut wrong = token.to_owned();
    let last = wrong.pop().unwrap();
    let shorter = wrong.clone();
    wrong.push(if last == 'A' { 'B' } else { 'A' });
    let cookie = format!("Cookie: raysieve-{}={wrong}", program.port());
    for path in [
        "/",
        "/view.js",
        "/live",
        "/picture.png",
        "/stats.json",
        "/nothing",
    ] {
        let why = "the access token is missing or wrong";
        program.get(path, &[]).assert_refused(403, why);
        program.get(path, &[&cookie]).assert_refused(403, why);
        for given in [&wrong, &shorter, "", &format!("{token}A")] {
            program
                .get(&format!("{path}?token={given}"), &[])
                .assert_refused(403, why);
        }
        // The token must be in the right place.
        program
            .get(&format!("{path}?key={token}"), &[])
            .assert_refused(403, why);
    }
    assert_eq!(Viewer::join_with(&program, &[]).err(), Some(403));
    let page = program.get(&format!("/?token={token}"), &["Host: server.example:80"]);
    assert_eq!(page.status, 200);
}

fn a_loopback_address_requires_the_token_beside_other_users() {
    let refusal = "the access token is missing or wrong";
    for (more, environment) in [
        (&["--token"][..], &[][..]),
        (&["--token=always"], &[]),
        // Reached through a tunnel, or as a job of a cluster.
        (
            &["--token=auto"],
            &[("SSH_CONNECTION", "192.0.2.1 5 192.0.2.2 22")],
        ),
        (&["--token=auto"], &[("SLURM_JOB_ID", "7")]),
    ] {
        let machine = ["--backend", "cpu", "--threads", "1"];
        let arguments = [&ENDLESS[..], more].concat();
        let program = Program::start_on(&machine, "127.0.0.1:0", &arguments, environment);
        program.get("/", &[]).assert_refused(403, refusal);
        assert_eq!(Viewer::join_with(&program, &[]).err(), Some(403));
        let token = program.token();
        let page = program.get(&format!("/?token={token}"), &[]);
        assert_eq!(page.status, 200, "{more:?}");
        // A tunnel has another port and name.
        let page = program.get(&format!("/?token={token}"), &["Host: localhost:1"]);
        assert_eq!(page.status, 200, "{more:?}");
    }
    assert_invalid(
        &["scene.ron", "--serve", "0.0.0.0:0", "--token=never"],
        "it needs a token",
    );
    assert_invalid(&["scene.ron", "--token"], "--serve");
}

fn of_two_hosts_or_origins_none_counts() {
    let program = Program::start(&ENDLESS);
    let own = format!("Host: {}", program.address());
    for second in [&own, "Host: evil.example"] {
        let status = program.get("/", &[&own, second]).status;
        assert!(matches!(status, 400 | 403), "{second}: {status}");
    }
    let origin = format!("Origin: http://{}", program.address());
    let upgrade = [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    for (origins, status) in [
        (vec![origin.as_str()], 101),
        (vec![&origin, &origin], 403),
        (vec![&origin, "Origin: http://evil.example"], 403),
        (vec!["Origin: http://evil.example", &origin], 403),
    ] {
        let head = [&upgrade[..], &origins].concat();
        assert_eq!(program.status("/live", &head), status, "{origins:?}");
    }
}

fn the_token_cookie_opens_the_live_view() {
    let program = Program::start_at("0.0.0.0:0", &ENDLESS);
    let page = program.get(&format!("/?token={}", program.token()), &[]);
    let set = page.header("set-cookie").expect("a cookie").to_owned();
    for rule in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.split("; ").any(|part| part == rule), "{set}");
    }
    let cookie = set.split(';').next().unwrap();
    let line = format!("Cookie: other=1; {cookie}; more=2");
    assert_eq!(program.get("/style.css", &[&line]).status, 200);
    let mut viewer = Viewer::join_with(&program, &[("cookie", cookie)]).expect("a place");
    viewer.wait_for_picture(|picture| picture.width() > 0);
    // The cookie does not bypass the check of the origin.
    let from_elsewhere = [("cookie", cookie), ("origin", "http://evil.example")];
    assert_eq!(
        Viewer::join_with(&program, &from_elsewhere).err(),
        Some(403)
    );
}

fn every_run_has_a_new_token() {
    let (one, other) = (
        Program::start_at("0.0.0.0:0", &ENDLESS),
        Program::start_at("0.0.0.0:0", &ENDLESS),
    );
    assert_ne!(one.token(), other.token());
    let borrowed = other.get(&format!("/?token={}", one.token()), &[]);
    borrowed.assert_refused(403, "token");
}

fn malformed_requests_do_not_disturb_the_server() {
    let mut program = Program::start(&ENDLESS);
    let noises: [&[u8]; 6] = [
        b"\0\xff\x16\x03\x01",
        b"GET",
        b"POST /live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n",
        &[b'a'; 1 << 20],
    ];
    for noise in noises {
        let mut stream = program.connect();
        // The server may close the connection in the middle.
        let _ = stream.write_all(noise);
    }
    assert_eq!(program.get("/", &[]).status, 200);
    assert!(program.is_running());
}

fn half_open_connections_do_not_lock_viewers_out() {
    let mut program = Program::start_at("0.0.0.0:0", &ENDLESS);
    // A busy machine can take longer than half-open connections last. If they lock others out, each attempt fails.
    let mut problems = Vec::new();
    while let Err(problem) = open_beside_a_crowd(&program) {
        problems.push(problem);
        assert!(problems.len() < 5, "{problems:?}");
    }
    assert!(program.is_running());
}

/// Opens the page and the live view beside 300 half-open connections. Returns a problem if that takes as long as these
/// connections last, or if a half-open connection of another address does not survive it.
fn open_beside_a_crowd(program: &Program) -> Result<(), String> {
    let address = program.address();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let half_open = |source: [u8; 4]| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        let stream = runtime.block_on(socket.connect(address)).unwrap();
        let mut stream = stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(b"GET /stats.json HTTP/1.1\r\n").unwrap();
        stream
    };
    let mut early = half_open([127, 0, 0, 1]);
    // Linux accepts connections from the whole loopback network, so that another machine can be imitated.
    let others = if cfg!(target_os = "linux") { 2 } else { 1 };
    let mut crowd: Vec<_> = (0..300).map(|_| half_open([127, 0, 0, others])).collect();
    // Opening the crowd can take a busy machine long.
    let start = Instant::now();
    let token = program.token().to_owned();
    let page = program.get(&format!("/?token={token}"), &[]);
    assert_eq!(page.status, 200);
    let mut viewer = Viewer::join_with(
        program,
        &[("Cookie", &format!("raysieve-{}={token}", address.port()))],
    )
    .expect("the live view opens");
    viewer.picture();
    // A half-open connection counts as stalled after 10 s, and used to keep others out so long.
    let elapsed = start.elapsed();
    if elapsed >= Duration::from_secs(9) {
        return Err(format!("the live view opened after {elapsed:?}"));
    }
    if others == 2 {
        // A connection of another address still completes its request.
        let rest = format!(
            "Host: {address}\r\nCookie: raysieve-{}={token}\r\nConnection: close\r\n\r\n",
            address.port()
        );
        let mut answer = String::new();
        early
            .write_all(rest.as_bytes())
            .and_then(|()| early.read_to_string(&mut answer))
            .map_err(|error| error.to_string())?;
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(format!("the early connection received {answer:?}"));
        }
    }
    // The oldest of the crowd was closed.
    let closed = crowd[0].read(&mut [0; 16]);
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    Ok(())
}

fn invalid_addresses_are_refused_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases = [
        (taken.as_str(), "the port is in use"),
        ("192.0.2.1:8080", "this machine has no such address"),
        ("elsewhere", "expected an address and a port"),
        ("127.0.0.1", "expected an address and a port"),
        ("127.0.0.1:99999", "expected an address and a port"),
        ("scene.ron", "expected an address and a port"),
        ("", "expected an address and a port"),
    ];
    for (address, why) in cases {
        assert_invalid(&["scene.ron", "--serve", address], why);
    }
}

fn conflicting_options_are_refused_in_one_line() {
    assert_invalid(
        &["scene.ron", "--serve", "--samples", "0..2", "-o", "a.exr"],
        "--samples",
    );
    assert_invalid(
        &["scene.ron", "--serve", "--checkpoint", "a.exr"],
        "--checkpoint",
    );
    assert_invalid(
        &["scene.ron", "--serve", "-o", "missing/a.png"],
        "does not exist",
    );
    assert_invalid(&["missing.ron", "--serve"], "missing.ron");
}

#[track_caller]
fn assert_invalid(arguments: &[&str], why: &str) {
    assert_refused(&run(scene_folder().path(), arguments), 2, &[why]);
}
