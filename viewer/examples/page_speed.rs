//! Measures the rate and size of images, and the latency of the answer to pointer motion, as a browser would.
//!
//! Run `cargo run --example page_speed -- 127.0.0.1:8080 [SECONDS]` while `raysieve SCENE --serve --token=never` runs on this machine.

use std::{
    env,
    error::Error,
    io::ErrorKind,
    net::TcpStream,
    thread::sleep,
    time::{Duration, Instant},
};

use tungstenite::{Message, WebSocket};

/// Time without an image after which none is expected.
const IDLE_TIME: Duration = Duration::from_millis(700);

/// Maximum time to wait for the server to start.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of motions whose answers are timed.
const MOTIONS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let address = arguments
        .first()
        .ok_or("expected an address, such as 127.0.0.1:8080")?;
    let seconds = arguments
        .get(1)
        .map_or(Ok(10.0), |seconds| seconds.parse())?;
    let start = Instant::now();
    // The server may still be starting.
    let stream = loop {
        match TcpStream::connect(address) {
            Err(_) if start.elapsed() < CONNECT_TIMEOUT => sleep(Duration::from_millis(1)),
            connected => break connected?,
        }
    };
    // Browsers do the same, so that input does not wait for the acknowledgement of an image.
    stream.set_nodelay(true)?;
    let (mut page, _) = tungstenite::client(format!("ws://{address}/live"), stream)?;

    picture(&mut page)?;
    println!("first image after {:.2} s", start.elapsed().as_secs_f64());
    let (start, mut lengths) = (Instant::now(), Vec::new());
    while start.elapsed().as_secs_f64() < seconds {
        lengths.push(picture(&mut page)?.ok_or("no image received; is the render complete?")?);
    }
    let rate = lengths.len() as f64 / start.elapsed().as_secs_f64();
    lengths.sort();
    let middle = lengths[lengths.len() / 2];
    println!(
        "{rate:.1} images per second, median size {} kB",
        middle / 1000
    );

    // Continuous motion.
    let (start, mut moved) = (Instant::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        page.send(Message::text(r#"{"turn":[0.002,0]}"#))?;
        moved += usize::from(picture(&mut page)?.is_some());
    }
    let rate = f64::from(moved as u32) / start.elapsed().as_secs_f64();
    println!("{rate:.1} images per second during pointer motion");

    page.send(Message::text(r#"{"act":"pause"}"#))?;
    let mut answers = Vec::new();
    for _ in 0..MOTIONS {
        while picture(&mut page)?.is_some() {}
        let start = Instant::now();
        page.send(Message::text(r#"{"turn":[0.01,0]}"#))?;
        if let Some(bytes) = picture(&mut page)? {
            answers.push((start.elapsed(), bytes));
        }
    }
    page.send(Message::text(r#"{"act":"pause"}"#))?;
    answers.sort();
    let milliseconds = |part: usize| {
        let answer = answers.get(part * answers.len().saturating_sub(1) / 4);
        answer.map_or(f64::NAN, |(answer, _)| answer.as_secs_f64() * 1e3)
    };
    let bytes: usize = answers.iter().map(|&(_, bytes)| bytes).sum();
    println!(
        "from a motion to its image: median {:.1} ms, quartiles {:.1} to {:.1} ms ({} of {MOTIONS} answered, \
         {} kB each on average)",
        milliseconds(2),
        milliseconds(1),
        milliseconds(3),
        answers.len(),
        bytes / answers.len().max(1) / 1000
    );
    Ok(())
}

/// Receives the next image and returns its size in bytes; `None` if none comes within [`IDLE_TIME`].
fn picture(page: &mut WebSocket<TcpStream>) -> Result<Option<usize>, Box<dyn Error>> {
    let start = Instant::now();
    while let Some(left) = IDLE_TIME
        .checked_sub(start.elapsed())
        .filter(|left| !left.is_zero())
    {
        page.get_ref().set_read_timeout(Some(left))?;
        match page.read() {
            Ok(Message::Binary(bytes)) => {
                page.send(Message::text("\"shown\""))?;
                return Ok(Some(bytes.len()));
            }
            Ok(_) => {}
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
