//! Cases of paths and their scheduling.

use std::array;

use raysieve::path::{Span, pixel_and_sample, rendered_pixel, scheduled_pair};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Number of pixels in the list.
const LISTED: usize = 8;

/// Returns a span; images have at most 2³⁰ pixels.
fn span(inputs: &mut Inputs) -> Span {
    if inputs.one_of(&[true, false]) {
        let pixel_count = 1 + inputs.draw::<u32>() % LISTED as u32;
        return Span {
            pixel_count,
            first_pixel: inputs.draw::<u32>() % pixel_count,
            listed: 1,
            ..Span::default()
        };
    }
    let pixel_count = 1 + (inputs.draw::<u32>() >> 3);
    let skipped = inputs.draw::<u32>() >> 3;
    Span {
        pixel_count,
        first_pixel: inputs.draw::<u32>() % pixel_count,
        skipped_pixels: inputs.one_of(&[0, 1, skipped]),
        pick_seed: inputs.draw(),
        ..Span::default()
    }
}

/// Returns the span of a wave of some rows or samples, and one of its paths.
fn tiled(inputs: &mut Inputs) -> (Span, u32) {
    let width = 1 + inputs.draw::<u32>() % inputs.one_of(&[4, 64]);
    let width = inputs.one_of(&[width, 8 * width]);
    let pixel_count = width * (1 + inputs.draw::<u32>() % inputs.one_of(&[2, 64]));
    let path_count = 1 + inputs.draw::<u32>() % (10 * pixel_count);
    let max_log2 = (path_count / pixel_count).checked_ilog2().unwrap_or(0);
    let span = Span {
        width,
        pixel_count,
        first_pixel: inputs.draw::<u32>() % pixel_count,
        path_count,
        tiled: inputs.one_of(&[0, 1, 1]),
        log2_samples_together: inputs.draw::<u32>() % (1 + max_log2),
        // Larger lists do not exist here; for them only the order is tested.
        listed: u32::from(pixel_count <= LISTED as u32 && inputs.one_of(&[true, false])),
        ..Span::default()
    };
    (span, inputs.draw::<u32>() % path_count)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            (
                "path",
                "rendered_pixel",
                "+[](Span span, calls::Several<u32, 8> list, u32 number) {
                    return rendered_pixel(span, list.items, number);
                }"
            ),
            |inputs| {
                let span = span(inputs);
                (
                    span,
                    array::from_fn(|_| inputs.draw()),
                    inputs.draw::<u32>() % span.pixel_count,
                )
            },
            |span: Span, list: [u32; LISTED], number: u32| rendered_pixel(&span, &list, number)
        ),
        twin!(
            ("path", "scheduled_pair", "scheduled_pair"),
            tiled,
            |span: Span, path: u32| scheduled_pair(&span, path)
        ),
        twin!(
            (
                "path",
                "pixel_and_sample",
                "+[](Span span, calls::Several<u32, 8> list, u32 path) {
                    return pixel_and_sample(span, list.items, path);
                }"
            ),
            |inputs| {
                let (span, path) = if inputs.one_of(&[true, false]) {
                    tiled(inputs)
                } else {
                    let span = span(inputs);
                    let path = inputs.draw::<u32>().min(u32::MAX - span.first_pixel);
                    (span, path)
                };
                // Sample numbers end at 2³² − 1, also where a path renders a later pair than its own number.
                let number = span.first_pixel + scheduled_pair(&span, path);
                let max_first = u32::MAX - number / span.pixel_count;
                let first_sample = inputs.draw::<u32>().min(max_first);
                (
                    Span {
                        first_sample,
                        ..span
                    },
                    array::from_fn(|_| inputs.draw()),
                    path,
                )
            },
            |span: Span, list: [u32; LISTED], path: u32| pixel_and_sample(&span, &list, path)
        ),
    ]
}
