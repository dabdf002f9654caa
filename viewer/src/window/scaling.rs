//! Scales images to the size at which the window shows them.

use rayon::prelude::*;

use crate::overlay::{canvas::Area, fitted::Fitted};
use raysieve::render::output::DisplayImage;

/// RGBA colour around a picture whose aspect ratio differs from the window's, and of the window before the first frame.
pub(super) const BORDER: [u8; 4] = [24, 26, 30, 255];

/// Scales an image to the area of a fitted picture, and returns the RGBA bytes of a window of this size.
pub(super) fn fit(image: DisplayImage, (width, height): (u32, u32), fitted: &Fitted) -> Vec<u8> {
    let Fitted { region, area, .. } = *fitted;
    if image.size == (width, height) && area == Area::of(image.size) {
        return image.rgba;
    }
    let visible = |begin: i32, length: i32, region_begin: i32, region_length: i32| {
        let first = begin.max(region_begin).max(0);
        let last = (begin + length).min(region_begin + region_length);
        first as usize..last.max(first) as usize
    };
    let across = visible(area.x, area.width, region.x, region.width);
    let down = visible(area.y, area.height, region.y, region.height);
    let (source, _) = image.rgba.as_chunks::<4>();
    let (source_width, source_height) = (image.size.0 as usize, image.size.1 as usize);
    let columns: Vec<_> = across
        .clone()
        .map(|x| footprint(x, area.x, area.width, source_width))
        .collect();

    let mut rgba = BORDER.repeat(width as usize * height as usize);
    let rows = rgba
        .par_chunks_exact_mut(4 * width as usize)
        .enumerate()
        .skip(down.start)
        .take(down.len());
    rows.for_each(|(y, row)| {
        let rows = footprint(y, area.y, area.height, source_height);
        let (pixels, _) = row.as_chunks_mut::<4>();
        for (pixel, columns) in pixels[across.clone()].iter_mut().zip(&columns) {
            *pixel = mean(
                rows.clone()
                    .flat_map(|row| &source[row * source_width..][columns.clone()]),
            );
        }
    });
    rgba
}

/// Returns the range of source pixels whose mean is the pixel at `position` of the window, along an axis on which
/// `source_length` pixels are scaled to `length` pixels from `begin`. `position` must be among these `length` pixels.
/// The range has one pixel when enlarging.
fn footprint(
    position: usize,
    begin: i32,
    length: i32,
    source_length: usize,
) -> std::ops::Range<usize> {
    let index = (position as i64 - i64::from(begin)) as usize;
    let length = length as usize;
    let first = index * source_length / length;
    let end = (index + 1) * source_length / length;
    first..end.max(first + 1)
}

/// Returns the mean of the pixels, rounded down per channel; 0 if there are none.
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
