//! A viewer without a browser.

use std::{net::TcpStream, time::Instant};

use image::RgbImage;
use serde_json::Value;
use tungstenite::{
    Error, Message, WebSocket, client::IntoClientRequest, http::HeaderValue,
    protocol::frame::coding::CloseCode,
};

use crate::server::{PATIENCE, Program};

/// A WebSocket connection like that of the page.
pub(crate) struct Viewer {
    pub(crate) socket: WebSocket<TcpStream>,
    /// The newest status message.
    pub(crate) status: Value,
    pub(crate) greeting: Value,
    /// The displayed path, or null.
    pub(crate) path: Value,
    pub(crate) materials: Value,
    pub(crate) chosen_material: Value,
}

/// A message from the program.
pub(crate) enum Heard {
    Picture(Vec<u8>),
    Status,
    Farewell(Option<(CloseCode, String)>),
}

impl Viewer {
    /// Connects to the program.
    pub(crate) fn join(program: &Program) -> Self {
        Self::join_with(program, &[]).expect("a place")
    }

    /// Connects with additional headers; `Err` contains the HTTP status of a refusal.
    pub(crate) fn join_with(program: &Program, head: &[(&'static str, &str)]) -> Result<Self, u16> {
        let url = format!("ws://{}/live", program.address());
        let mut request = url.into_client_request().unwrap();
        for &(name, value) in head {
            request
                .headers_mut()
                .insert(name, HeaderValue::from_str(value).unwrap());
        }
        match tungstenite::client(request, program.connect()) {
            Ok((socket, _)) => {
                let mut viewer = Self {
                    socket,
                    status: Value::Null,
                    greeting: Value::Null,
                    path: Value::Null,
                    materials: Value::Null,
                    chosen_material: Value::Null,
                };
                let Ok(Message::Text(greeting)) = viewer.socket.read() else {
                    panic!("no greeting");
                };
                viewer.greeting = serde_json::from_str(&greeting).unwrap();
                Ok(viewer)
            }
            Err(tungstenite::HandshakeError::Failure(Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn say(&mut self, message: &str) {
        self.socket.send(Message::text(message)).unwrap();
    }

    /// Receives the next message, and acknowledges a picture like the page.
    pub(crate) fn hear(&mut self) -> Heard {
        let begun = Instant::now();
        loop {
            // Pings do not count.
            assert!(begun.elapsed() < PATIENCE, "it says nothing");
            match self.socket.read() {
                Ok(Message::Binary(picture)) => {
                    // The program may have closed the connection after its last picture.
                    let _ = self.socket.send(Message::text("\"displayed\""));
                    return Heard::Picture(picture.into());
                }
                Ok(Message::Text(text)) => {
                    let mut told: Value = serde_json::from_str(&text).unwrap();
                    if let Some(path) = told.get_mut("path") {
                        self.path = path.take();
                    } else if let Some(materials) = told.get_mut("materials") {
                        self.materials = materials.take();
                        self.chosen_material = told["chosen"].take();
                    } else {
                        self.status = told;
                    }
                    return Heard::Status;
                }
                Ok(Message::Close(why)) => {
                    return Heard::Farewell(why.map(|why| (why.code, why.reason.to_string())));
                }
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Receives the next picture, and returns whether it is lossless.
    pub(crate) fn picture(&mut self) -> (RgbImage, bool) {
        loop {
            match self.hear() {
                Heard::Picture(strips) => return read(&strips),
                Heard::Status => {}
                Heard::Farewell(why) => panic!("farewell: {why:?}"),
            }
        }
    }

    /// Receives pictures until one is as wanted.
    #[track_caller]
    pub(crate) fn picture_that(&mut self, is_wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
        let begun = Instant::now();
        loop {
            let (picture, _) = self.picture();
            if is_wanted(&picture) {
                return picture;
            }
            assert!(begun.elapsed() < PATIENCE, "no such picture");
        }
    }

    /// Returns the picture after the render has completed.
    #[track_caller]
    pub(crate) fn still(&mut self) -> RgbImage {
        self.still_that(|_| true)
    }

    /// Receives pictures until one is lossless and as wanted.
    #[track_caller]
    pub(crate) fn still_that(&mut self, is_wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
        let begun = Instant::now();
        loop {
            let (picture, is_exact) = self.picture();
            if is_exact && is_wanted(&picture) {
                return picture;
            }
            assert!(begun.elapsed() < PATIENCE, "no such lossless picture");
        }
    }

    /// Receives messages until the program closes the connection, and returns the reason that it sends.
    pub(crate) fn farewell(&mut self) -> Option<(CloseCode, String)> {
        loop {
            if let Heard::Farewell(why) = self.hear() {
                return why;
            }
        }
    }

    /// Returns a list of names from the greeting.
    pub(crate) fn list(&self, field: &str) -> Vec<String> {
        serde_json::from_value(self.greeting[field].clone()).unwrap()
    }

    /// Receives messages until the path is as wanted.
    #[track_caller]
    pub(crate) fn path_that(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.hear_until(|viewer| &viewer.path, is_wanted)
    }

    /// Receives messages until the status is as wanted.
    #[track_caller]
    pub(crate) fn status_that(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.hear_until(|viewer| &viewer.status, is_wanted)
    }

    /// Receives messages until the displayed message contains these words, and returns it.
    #[track_caller]
    pub(crate) fn message_with(&mut self, words: &str) -> String {
        fn text(status: &Value) -> &str {
            status["message"][1].as_str().unwrap_or_default()
        }
        text(&self.status_that(|status| text(status).contains(words))).to_owned()
    }

    #[track_caller]
    fn hear_until(
        &mut self,
        value: fn(&Self) -> &Value,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let begun = Instant::now();
        while !is_wanted(value(self)) {
            if let Heard::Farewell(why) = self.hear() {
                panic!("farewell: {why:?}");
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "never as wanted: {}",
                value(self)
            );
        }
        value(self).clone()
    }
}

/// Decodes a picture of strips, each preceded by its length.
fn read(mut strips: &[u8]) -> (RgbImage, bool) {
    let is_exact = strips[4..].starts_with(b"\x89PNG");
    let (mut width, mut rows) = (0, Vec::new());
    while let Some((length, rest)) = strips.split_first_chunk() {
        let (strip, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        let strip = image::load_from_memory(strip).unwrap().into_rgb8();
        width = strip.width();
        rows.extend_from_slice(strip.as_raw());
        strips = rest;
    }
    let height = rows.len() as u32 / (3 * width);
    let picture = RgbImage::from_raw(width, height, rows).expect("strips of one width");
    (picture, is_exact)
}

/// Difference below which pictures show the same view: more than JPEG artefacts and noise, less than another view.
pub(crate) const ALIKE: f64 = 6.0;

/// Returns the mean difference of the channels in 0..=255; the maximum if the sizes differ.
pub(crate) fn difference(a: &RgbImage, b: &RgbImage) -> f64 {
    if a.dimensions() != b.dimensions() {
        return 255.0;
    }
    let sum: u64 = a
        .as_raw()
        .iter()
        .zip(b.as_raw())
        .map(|(a, b)| u64::from(a.abs_diff(*b)))
        .sum();
    sum as f64 / a.as_raw().len() as f64
}
