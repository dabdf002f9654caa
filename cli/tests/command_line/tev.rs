//! Tests of `--tev`, with a server that implements the part of tev's protocol that is needed.

use std::{
    collections::HashMap,
    io::{self, Read},
    net::{TcpListener, TcpStream},
    thread,
};

use libtest_mimic::Trial;

use crate::{add_tests, assert_done, assert_refused, files::linear, folder, small_render, stderr};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        tev_shows_the_image_and_its_layers,
        render_continues_when_tev_ends,
        missing_tev_is_reported_before_the_render,
    );
}

/// A reader of the fields of a packet.
struct Packet(io::Cursor<Vec<u8>>);

impl Packet {
    /// Receives a packet. Returns `None` at the end of the connection.
    fn receive(stream: &mut TcpStream) -> Option<Packet> {
        let mut length = [0; 4];
        stream.read_exact(&mut length).ok()?;
        // The length includes its own four bytes.
        let mut rest = vec![0; u32::from_le_bytes(length) as usize - 4];
        stream.read_exact(&mut rest).expect("a whole packet");
        Some(Packet(io::Cursor::new(rest)))
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).expect("a longer packet");
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    fn int(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    fn text(&mut self) -> String {
        let mut text = Vec::new();
        loop {
            match self.byte() {
                0 => return String::from_utf8(text).expect("UTF-8"),
                byte => text.push(byte),
            }
        }
    }

    fn floats(&mut self) -> Vec<f32> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).expect("floats");
        let (floats, _) = rest.as_chunks::<4>();
        floats
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect()
    }
}

/// An image in the server.
#[derive(Default)]
struct Shown {
    name: String,
    size: (u32, u32),
    /// Channels in the order of their creation.
    order: Vec<String>,
    channels: HashMap<String, Vec<f32>>,
    /// Number of packets that changed pixels.
    updates: u32,
}

impl Shown {
    fn apply(&mut self, mut packet: Packet) {
        match packet.byte() {
            // CreateImage
            4 => {
                packet.byte();
                self.name = packet.text();
                self.size = (packet.int(), packet.int());
                let count = packet.int();
                self.order = (0..count).map(|_| packet.text()).collect();
                let pixels = (self.size.0 * self.size.1) as usize;
                let black = |name: &String| (name.clone(), vec![0.0; pixels]);
                self.channels = self.order.iter().map(black).collect();
            }
            // UpdateImageV3
            6 => {
                packet.byte();
                assert_eq!(packet.text(), self.name);
                let count = packet.int();
                let names: Vec<String> = (0..count).map(|_| packet.text()).collect();
                let [x, y, width, height] = [(); 4].map(|()| packet.int());
                let offsets: Vec<u64> = (0..count).map(|_| packet.long()).collect();
                let strides: Vec<u64> = (0..count).map(|_| packet.long()).collect();
                let data = packet.floats();
                for (channel, name) in names.iter().enumerate() {
                    let values = self.channels.get_mut(name).expect("a known channel");
                    for pixel in 0..u64::from(width * height) {
                        let place =
                            (y + pixel as u32 / width) * self.size.0 + x + pixel as u32 % width;
                        values[place as usize] =
                            data[(offsets[channel] + strides[channel] * pixel) as usize];
                    }
                }
                self.updates += 1;
            }
            other => panic!("packet of type {other}"),
        }
    }
}

fn tev_shows_the_image_and_its_layers() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut shown = Shown::default();
        while let Some(packet) = Packet::receive(&mut stream) {
            shown.apply(packet);
        }
        shown
    });
    assert_done(&small_render(
        folder.path(),
        &[
            "-o",
            "a.exr",
            "--layers",
            "albedo,depth,samples",
            "--tev",
            &address,
        ],
    ));
    let shown = server.join().expect("the server ends");
    assert_eq!((shown.name.as_str(), shown.size), ("a.exr", (48, 32)));
    let expected = [
        "R", "G", "B", "albedo.R", "albedo.G", "albedo.B", "depth.Z", "samples",
    ];
    assert_eq!(shown.order, expected);
    assert!(shown.updates >= 1);
    // At the end, tev shows the image that is written.
    let image = linear(&folder.path().join("a.exr"));
    for (pixel, expected) in image.pixels.iter().enumerate() {
        let found = ["R", "G", "B"].map(|name| shown.channels[name][pixel]);
        assert_eq!(found, expected.to_array(), "pixel {pixel}");
    }
    assert!(shown.channels["samples"].iter().all(|&count| count == 3.0));
    assert!(shown.channels["depth.Z"].iter().any(|&depth| depth > 0.0));
    let red = &shown.channels["albedo.R"];
    assert!(red.iter().any(|&value| value > 0.0 && value < 1.0));
}

fn render_continues_when_tev_ends() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        assert!(Packet::receive(&mut stream).is_some());
    });
    // The packets do not fit into the buffers of the connection.
    let output = small_render_of(folder.path(), &["-o", "a.exr", "--tev", &address]);
    server.join().expect("the server ends");
    assert_done(&output);
    assert!(
        stderr(&output).contains(&format!(
            "raysieve: tev at {address} does not receive the image any more: "
        )),
        "{}",
        stderr(&output)
    );
    assert!(folder.path().join("a.exr").exists());
}

/// Renders an image whose packets are larger than the buffers of a connection.
fn small_render_of(folder: &std::path::Path, more: &[&str]) -> std::process::Output {
    let spheres = crate::scene("spheres.ron");
    let arguments = [
        spheres.to_str().expect("a path"),
        "--backend",
        "cpu",
        "--size",
        "1024x1024",
        "--spp",
        "1",
        "--max-bounces",
        "0",
    ];
    crate::run(folder, [&arguments[..], more].concat())
}

fn missing_tev_is_reported_before_the_render() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let output = small_render(folder.path(), &["-o", "a.exr", "--tev", &address]);
    let setting = format!("--tev {address}");
    assert_refused(&output, 2, &[&setting, "refused", "start tev"]);
    let output = small_render(folder.path(), &["-o", "a.exr", "--tev", "14158"]);
    assert_refused(&output, 2, &["'14158'", "such as 127.0.0.1:14158"]);
    assert!(!folder.path().join("a.exr").exists());
}
