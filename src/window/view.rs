//! What the window shows: the latest picture, developed and fitted, and what is laid over it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rayon::{ThreadPool, prelude::*};

use super::overlay::{Detail, Overlay, canvas::Area, scale_for};
use crate::{
    live::{self, Frame, Inspected, Session, Shown},
    output::{Developed, Look},
    sight::Sighting,
};

/// What is shown and how: `update` and the switches change it, `draw` puts it into bytes.
pub(super) struct View {
    frame: Option<Shown>,
    /// In the place of the frame's light.
    sighting: Option<Arc<Sighting>>,
    path: Option<Inspected>,
    overlay: Overlay,
    detail: Detail,
    /// Which page of the list of keys is shown, if any, and how many there were of it when it was drawn.
    keys: Option<usize>,
    key_pages: usize,
    message: Option<(String, Instant)>,
    /// The picture in the window's size, without what is laid over it; `None` when it is out of date.
    backdrop: Option<Backdrop>,
    pool: ThreadPool,
}

struct Backdrop {
    size: (u32, u32),
    look: Look,
    rgba: Vec<u8>,
}

/// That a message stays at least, and for each of its characters: a long one takes time to read.
const MESSAGE_TIME: Duration = Duration::from_secs(3);
const CHARACTER_TIME: Duration = Duration::from_millis(60);

/// Around a picture that has not the window's shape.
const BORDER: [u8; 4] = [24, 26, 30, 255];

impl View {
    pub(super) fn new(detail: Detail) -> Result<Self, rayon::ThreadPoolBuildError> {
        Ok(Self {
            frame: None,
            sighting: None,
            path: None,
            overlay: Overlay::new(1.0),
            detail,
            keys: None,
            key_pages: 1,
            message: None,
            backdrop: None,
            pool: live::developing_threads()?,
        })
    }

    pub(super) fn update(&mut self, frame: Frame) {
        self.frame = Some(frame.into());
        if self.sighting.is_none() {
            self.backdrop = None;
        }
    }

    /// Shows this in the place of the light, or the light.
    pub(super) fn set_sighting(&mut self, sighting: Option<Arc<Sighting>>) {
        let is_same = match (&sighting, &self.sighting) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.sighting = sighting;
            self.backdrop = None;
        }
    }

    pub(super) fn sighting(&self) -> Option<&Arc<Sighting>> {
        self.sighting.as_ref()
    }

    pub(super) fn show_path(&mut self, path: Inspected) {
        self.path = Some(path);
    }

    /// Takes away a message whose time is over, and says whether it did.
    pub(super) fn update_message(&mut self, now: Instant) -> bool {
        self.message.take_if(|(_, until)| *until <= now).is_some()
    }

    pub(super) fn frame(&self) -> Option<&Shown> {
        self.frame.as_ref()
    }

    pub(super) fn detail(&self) -> Detail {
        self.detail
    }

    pub(super) fn switch_detail(&mut self) {
        self.detail = self.detail.next();
    }

    /// Shows the next page of the list of keys, or hides it.
    pub(super) fn switch_keys(&mut self) {
        let next = self.keys.map_or(0, |page| page + 1);
        self.keys = (next < self.key_pages || self.keys.is_none()).then_some(next);
    }

    /// Shows a line for a while.
    pub(super) fn say(&mut self, message: String) {
        let reading = CHARACTER_TIME * message.chars().count().try_into().unwrap_or(u32::MAX);
        self.message = Some((message, Instant::now() + MESSAGE_TIME.max(reading)));
    }

    /// When the message goes.
    pub(super) fn message_until(&self) -> Option<Instant> {
        self.message.as_ref().map(|(_, until)| *until)
    }

    /// Fills a window of `size` pixels; `scale` is the screen's.
    pub(super) fn draw(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        scale: f32,
        look: Look,
        session: &Session,
    ) {
        match self.frame.as_ref() {
            Some(frame) => {
                let fresh = self
                    .backdrop
                    .take()
                    .filter(|backdrop| backdrop.size == size && backdrop.look == look);
                let backdrop = fresh.unwrap_or_else(|| {
                    let sighting = self.sighting.as_deref();
                    let develop = || fit(frame.developed(look, sighting), size);
                    Backdrop {
                        size,
                        look,
                        rgba: self.pool.install(develop),
                    }
                });
                rgba.copy_from_slice(&backdrop.rgba);
                self.backdrop = Some(backdrop);
            }
            None => rgba.as_chunks_mut().0.fill(BORDER),
        }
        let scale = scale.max(scale_for(size.0, size.1));
        if self.overlay.scale() != scale {
            self.overlay = Overlay::new(scale);
        }
        if let Some(shown) = &self.frame {
            let (stats, Shown { recent, state, .. }) =
                (shown.stats_in(look, self.sighting.is_some()), shown);
            self.overlay
                .draw_stats(rgba, size, &stats, recent, *state, self.detail);
        }
        self.path.take_if(|path| !session.is_at(&path.vantage));
        let taken = self.draw_corners(rgba, size);
        let trouble = session.trouble().map(|trouble| (trouble, true));
        let message = self
            .message
            .as_ref()
            .map(|(message, _)| (&**message, false));
        let said: Vec<_> = trouble.into_iter().chain(message).collect();
        self.overlay.draw_messages(rgba, size, &said, &taken);
    }

    /// What lies along the lower edge, each where the others are not; the keys hide what is there. Says where they are.
    fn draw_corners(&mut self, rgba: &mut [u8], size: (u32, u32)) -> Vec<Area> {
        let mut taken = Vec::new();
        if let Some(path) = &self.path {
            let fitted = Fitted::new(path.vantage.size, size);
            taken.push(self.overlay.draw_path(rgba, size, path, &fitted));
        }
        if let Some(sighting) = &self.sighting {
            let legend = &sighting.legend;
            taken.extend(self.overlay.draw_legend(rgba, size, legend, &taken));
        }
        if let Some(page) = self.keys {
            let keys: Vec<_> = live::controls().collect();
            let drawn = self.overlay.draw_keys(rgba, size, &keys, page);
            (self.keys, self.key_pages) = (Some(drawn.page), drawn.pages);
            taken = vec![drawn.panel];
        }
        taken
    }
}

/// Where a picture lies in a window: as large as it fits, in the middle. Pixels of the window.
pub(super) struct Fitted {
    picture: (u32, u32),
    pub(super) left: u32,
    pub(super) top: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Fitted {
    pub(super) fn new(picture: (u32, u32), (width, height): (u32, u32)) -> Self {
        let enlarge =
            (f64::from(width) / f64::from(picture.0)).min(f64::from(height) / f64::from(picture.1));
        let fitted = |length: u32, room: u32| {
            ((f64::from(length) * enlarge).round() as u32).clamp(1, room.max(1))
        };
        let (fitted_width, fitted_height) = (fitted(picture.0, width), fitted(picture.1, height));
        Self {
            picture,
            left: width.saturating_sub(fitted_width) / 2,
            top: height.saturating_sub(fitted_height) / 2,
            width: fitted_width,
            height: fitted_height,
        }
    }

    /// The picture's pixel at a place in the window.
    pub(super) fn pixel(&self, x: f64, y: f64) -> Option<(u32, u32)> {
        let along = |place: f64, begin: u32, length: u32, pixels: u32| {
            let part = (place - f64::from(begin)) / f64::from(length);
            (0.0..1.0)
                .contains(&part)
                .then(|| ((part * f64::from(pixels)) as u32).min(pixels - 1))
        };
        let (columns, rows) = self.picture;
        Some((
            along(x, self.left, self.width, columns)?,
            along(y, self.top, self.height, rows)?,
        ))
    }

    /// Where in the window a place of the picture is.
    pub(super) fn place(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let (columns, rows) = self.picture;
        [
            self.left as f32 + x * self.width as f32 / columns as f32,
            self.top as f32 + y * self.height as f32 / rows as f32,
        ]
    }
}

/// The picture as large as it fits into the window and in its middle.
fn fit(developed: Developed, (width, height): (u32, u32)) -> Vec<u8> {
    let picture = developed.size;
    if picture == (width, height) {
        return developed.rgba;
    }
    let fitted = Fitted::new(picture, (width, height));
    let (fitted_width, fitted_height) = (fitted.width as usize, fitted.height as usize);
    let (left, top) = (fitted.left as usize, fitted.top as usize);
    let (width, height) = (width as usize, height as usize);
    let (source, _) = developed.rgba.as_chunks::<4>();
    let source_width = picture.0 as usize;
    let columns: Vec<_> = (0..fitted_width)
        .map(|x| footprint(x, fitted_width, source_width))
        .collect();

    let mut rgba = BORDER.repeat(width * height);
    let area = rgba
        .par_chunks_exact_mut(4 * width)
        .skip(top)
        .take(fitted_height)
        .enumerate();
    area.for_each(|(y, row)| {
        let rows = footprint(y, fitted_height, picture.1 as usize);
        let (pixels, _) = row.as_chunks_mut::<4>();
        for (pixel, columns) in pixels[left..left + fitted_width].iter_mut().zip(&columns) {
            *pixel = mean(
                rows.clone()
                    .flat_map(|row| &source[row * source_width..][columns.clone()]),
            );
        }
    });
    rgba
}

/// The pixels of a line of `from` that fall on pixel `index` of a line of `to`: one if the line grows.
fn footprint(index: usize, to: usize, from: usize) -> std::ops::Range<usize> {
    let (begin, end) = (index * from / to, (index + 1) * from / to);
    begin..end.max(begin + 1)
}

fn mean<'a>(pixels: impl Iterator<Item = &'a [u8; 4]>) -> [u8; 4] {
    let (mut sum, mut count) = ([0_u64; 4], 0);
    for pixel in pixels {
        for (sum, &channel) in sum.iter_mut().zip(pixel) {
            *sum += u64::from(channel);
        }
        count += 1;
    }
    sum.map(|sum| (sum / count.max(1)) as u8)
}
