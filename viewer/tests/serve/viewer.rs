//! A client of the page's WebSocket, without a browser.

use std::{net::TcpStream, time::Instant};

use image::RgbImage;
use serde_json::Value;
use tungstenite::{
    Error, Message, WebSocket, client::IntoClientRequest, http::HeaderValue,
    protocol::frame::coding::CloseCode,
};

use crate::server::{Program, TIMEOUT};

/// A WebSocket connection like that of the page.
pub(crate) struct Viewer {
    pub(crate) socket: WebSocket<TcpStream>,
    /// The newest status message.
    pub(crate) status: Value,
    pub(crate) greeting: Value,
    /// The displayed path as JSON, or null.
    pub(crate) path: Value,
    /// The newest state of the editor.
    pub(crate) editor: Value,
}

/// A message from the program.
pub(crate) enum Received {
    Picture(Vec<u8>),
    Status,
    Close(Option<(CloseCode, String)>),
}

impl Viewer {
    /// Connects to the program, and receives its greeting.
    pub(crate) fn join(program: &Program) -> Self {
        Self::join_with(program, &[]).expect("the connection is accepted")
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
                    editor: Value::Null,
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

    /// Sends a command in JSON.
    pub(crate) fn send(&mut self, message: &str) {
        self.socket.send(Message::text(message)).unwrap();
    }

    /// Receives the next picture, status or close message. Acknowledges pictures like the page.
    pub(crate) fn receive(&mut self) -> Received {
        let start = Instant::now();
        loop {
            // Pings do not reset the time-out.
            assert!(start.elapsed() < TIMEOUT, "the program sent no message");
            match self.socket.read() {
                Ok(Message::Binary(picture)) => {
                    // The program may have closed the connection after its last picture.
                    let _ = self.socket.send(Message::text("\"displayed\""));
                    return Received::Picture(picture.into());
                }
                Ok(Message::Text(text)) => {
                    let mut message_json: Value = serde_json::from_str(&text).unwrap();
                    if let Some(path) = message_json.get_mut("path") {
                        self.path = path.take();
                    } else if message_json.get("parts").is_some() {
                        self.editor = message_json;
                    } else {
                        self.status = message_json;
                    }
                    return Received::Status;
                }
                Ok(Message::Close(close_frame)) => {
                    return Received::Close(
                        close_frame
                            .map(|close_frame| (close_frame.code, close_frame.reason.to_string())),
                    );
                }
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Receives the next picture, and returns whether it is lossless.
    pub(crate) fn picture(&mut self) -> (RgbImage, bool) {
        loop {
            match self.receive() {
                Received::Picture(strips) => return read(&strips),
                Received::Status => {}
                Received::Close(why) => panic!("wait_for_close: {why:?}"),
            }
        }
    }

    /// Receives pictures until one satisfies `is_wanted`.
    #[track_caller]
    pub(crate) fn wait_for_picture(&mut self, is_wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
        let start = Instant::now();
        loop {
            let (picture, _) = self.picture();
            if is_wanted(&picture) {
                return picture;
            }
            assert!(start.elapsed() < TIMEOUT, "no picture as expected");
        }
    }

    /// Returns the picture after the render has completed.
    #[track_caller]
    pub(crate) fn still(&mut self) -> RgbImage {
        self.wait_for_still(|_| true)
    }

    /// Receives pictures until one is lossless and satisfies `is_wanted`.
    #[track_caller]
    pub(crate) fn wait_for_still(&mut self, is_wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
        let start = Instant::now();
        loop {
            let (picture, is_exact) = self.picture();
            if is_exact && is_wanted(&picture) {
                return picture;
            }
            assert!(start.elapsed() < TIMEOUT, "no lossless picture as expected");
        }
    }

    /// Receives messages until the program closes the connection, and returns the reason that it sends.
    pub(crate) fn wait_for_close(&mut self) -> Option<(CloseCode, String)> {
        loop {
            if let Received::Close(why) = self.receive() {
                return why;
            }
        }
    }

    /// Returns a list of names from the greeting.
    pub(crate) fn list(&self, field: &str) -> Vec<String> {
        serde_json::from_value(self.greeting[field].clone()).unwrap()
    }

    /// Receives messages until the path satisfies `is_wanted`.
    #[track_caller]
    pub(crate) fn wait_for_path(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.receive_until(|viewer| &viewer.path, is_wanted)
    }

    /// Receives messages until the status satisfies `is_wanted`.
    #[track_caller]
    pub(crate) fn wait_for_status(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.receive_until(|viewer| &viewer.status, is_wanted)
    }

    /// Receives messages until the state of the editor satisfies `is_wanted`.
    #[track_caller]
    pub(crate) fn wait_for_editor(&mut self, is_wanted: impl Fn(&Value) -> bool) {
        self.receive_until(|viewer| &viewer.editor, is_wanted);
    }

    /// Receives messages until the property of the selected part has this value.
    #[track_caller]
    pub(crate) fn wait_for_property(&mut self, id: &str, value: &Value) {
        self.wait_for_editor(|editor| {
            property(editor, id).is_some_and(|property| property["value"] == *value)
        });
    }

    /// Selects a part, and receives messages until it is selected.
    #[track_caller]
    pub(crate) fn select(&mut self, part: &Value) {
        self.send(&serde_json::json!({ "select": part }).to_string());
        self.wait_for_editor(|editor| editor["selected"] == *part);
    }

    /// Receives messages until the displayed message contains these words, and returns it.
    #[track_caller]
    pub(crate) fn wait_for_message(&mut self, words: &str) -> String {
        let text = |status: &Value| {
            let text = status["message"][1].as_str();
            text.unwrap_or_default().to_owned()
        };
        text(&self.wait_for_status(|status| text(status).contains(words)))
    }

    /// Receives messages until a problem contains these words, and returns it.
    #[track_caller]
    pub(crate) fn wait_for_problem(&mut self, words: &str) -> String {
        let find = |status: &Value| {
            let mut problems = status["problems"].as_array()?.iter();
            let texts = problems
                .find_map(|problem| problem[1].as_str().filter(|text| text.contains(words)));
            texts.map(str::to_owned)
        };
        let status = self.wait_for_status(|status| find(status).is_some());
        find(&status).unwrap_or_default()
    }

    /// Receives messages until a value satisfies `is_wanted`, and returns it.
    #[track_caller]
    fn receive_until(
        &mut self,
        value: fn(&Self) -> &Value,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let start = Instant::now();
        while !is_wanted(value(self)) {
            if let Received::Close(why) = self.receive() {
                panic!("wait_for_close: {why:?}");
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "not as expected: {}",
                value(self)
            );
        }
        value(self).clone()
    }
}

/// Returns a property of the selected part.
pub(crate) fn property<'a>(editor: &'a Value, id: &str) -> Option<&'a Value> {
    let mut properties = editor["properties"].as_array()?.iter();
    properties.find(|property| property["id"] == id)
}

/// Decodes a picture of strips, each preceded by its length. Returns also whether it is lossless.
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

/// Mean channel difference below which pictures show the same view. Noise and JPEG artefacts stay below it.
pub(crate) const ALIKE: f64 = 6.0;

/// Returns the mean difference of the channels, from 0 to 255; 255 if the sizes differ.
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
