//! `--tev`: shows the growing image and its layers in the image viewer tev, by its network protocol.

use std::{
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use raysieve::{
    inspect::aovs::{Aov, Aovs},
    render::renderer::Renderer,
};
use tev_client::{PacketCreateImage, PacketUpdateImage, TevClient};

use crate::{error::Error, note};

/// Address at which tev listens by default.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:14158";
/// Maximum time to connect to tev, and for tev to receive a packet.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum time between two updates of the image.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum ratio of the time between two updates to the time that an update takes.
const INTERVAL_FACTOR: u32 = 10;
/// Maximum number of pixels in a packet, unless a single row has more. With 16 channels, these are 64 MiB.
const PACKET_PIXELS: usize = 1 << 20;

/// A connection to tev.
pub(crate) struct Tev {
    client: TevClient,
    address: String,
}

/// The image of a render in tev. If tev ends before the render, the render goes on without it.
pub(crate) struct TevImage {
    /// The connection. `None` after a failure.
    tev: Option<Tev>,
    /// Name of the image in tev.
    name: String,
    /// Width and height in pixels.
    size: (u32, u32),
    /// The requested layers, in the order of their channels after R, G and B.
    layers: Vec<Aov>,
    /// Time from which on the image is updated again.
    next: Instant,
}

impl Tev {
    /// Connects to tev at an address such as `127.0.0.1:14158`.
    ///
    /// # Errors
    /// [`Error::Setting`] if tev does not listen there.
    pub(crate) fn connect(address: &str) -> Result<Tev, Error> {
        let refused = |problem: String| Error::Setting {
            setting: format!("--tev {address}"),
            problem: format!("{problem}; start tev, or give the address of its option --hostname"),
        };
        let mut addresses = address
            .to_socket_addrs()
            .map_err(|error| refused(error.to_string()))?;
        let first = addresses.next();
        let first = first.ok_or_else(|| refused("the name has no address".to_owned()))?;
        let connected = TcpStream::connect_timeout(&first, TIMEOUT).and_then(|stream| {
            stream.set_write_timeout(Some(TIMEOUT))?;
            Ok(stream)
        });
        let stream = connected.map_err(|error| refused(error.to_string()))?;
        Ok(Tev {
            client: TevClient::wrap(stream),
            address: address.to_owned(),
        })
    }
}

impl TevImage {
    /// Creates the image in tev under this name, black at first, with channels for R, G and B and for each of `layers`.
    /// Without a connection, this and the other functions do nothing.
    pub(crate) fn create(tev: Option<Tev>, name: String, size: (u32, u32), layers: &Aovs) -> Self {
        let mut image = TevImage {
            tev,
            // The protocol ends names by a null character.
            name: name.replace('\0', ""),
            size,
            layers: layers.requested.clone(),
            next: Instant::now(),
        };
        let channels = image.channels();
        image.send(|client, name| {
            client.send(PacketCreateImage {
                image_name: name,
                grab_focus: true,
                width: size.0,
                height: size.1,
                channel_names: &channels,
            })
        });
        image
    }

    /// Returns the names of the channels.
    fn channels(&self) -> Vec<&'static str> {
        let layers = self.layers.iter().flat_map(|layer| layer.channels());
        ["R", "G", "B"].iter().chain(layers).copied().collect()
    }

    /// Returns whether there is a connection to tev and the minimum time since the last update is over.
    pub(crate) fn is_due(&self) -> bool {
        self.tev.is_some() && Instant::now() >= self.next
    }

    /// Sends the film and the layers to tev. Waits for the running waves, and updates the denoised image in `layers` if
    /// it is one of them. Does nothing without a connection.
    ///
    /// # Errors
    /// If the render fails. A failure to send is printed, and ends the connection.
    pub(crate) fn update(
        &mut self,
        renderer: &mut Renderer,
        layers: &mut Aovs,
    ) -> Result<(), Error> {
        if self.tev.is_none() {
            return Ok(());
        }
        let begun = Instant::now();
        if self.layers.contains(&Aov::Denoised) {
            layers.set_preview(renderer.preview()?);
        }
        let counts = if self.layers.contains(&Aov::Samples) {
            renderer.sample_counts()?
        } else {
            Vec::new()
        };
        let picture = renderer.picture()?;
        let channels = self.channels();
        let count = channels.len() as u64;
        let (width, height) = self.size;
        let rows_each = (PACKET_PIXELS / width as usize).clamp(1, height as usize);
        let shown = self.layers.clone();
        for (band, pixels) in picture
            .pixels
            .chunks(rows_each * width as usize)
            .enumerate()
        {
            let first = band * rows_each * width as usize;
            let mut data = Vec::with_capacity(pixels.len() * channels.len());
            for (index, pixel) in (first..).zip(pixels) {
                data.extend(pixel.to_array());
                for &layer in &shown {
                    let values = (0..layer.channels().len()).map(|number| match layer {
                        Aov::Samples => counts[index] as f32,
                        _ => layers.value(layer, number, index as u32),
                    });
                    data.extend(values);
                }
            }
            let offsets: Vec<u64> = (0..count).collect();
            let strides = vec![count; channels.len()];
            self.send(|client, name| {
                client.send(PacketUpdateImage {
                    image_name: name,
                    grab_focus: false,
                    channel_names: &channels,
                    channel_offsets: &offsets,
                    channel_strides: &strides,
                    x: 0,
                    y: (band * rows_each) as u32,
                    width,
                    height: (pixels.len() / width as usize) as u32,
                    data: &data,
                })
            });
        }
        self.next = Instant::now() + MIN_INTERVAL.max(begun.elapsed() * INTERVAL_FACTOR);
        Ok(())
    }

    /// Sends a packet about the image of this name. If that fails, prints the reason and ends the connection.
    fn send(&mut self, send: impl FnOnce(&mut TevClient, &str) -> std::io::Result<()>) {
        let Some(tev) = &mut self.tev else {
            return;
        };
        if let Err(error) = send(&mut tev.client, &self.name) {
            note(&format!(
                "raysieve: tev at {} does not receive the image any more: {error}; the render continues",
                tev.address
            ));
            self.tev = None;
        }
    }
}
