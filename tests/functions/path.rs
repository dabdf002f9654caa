//! Tests of the order in which the (pixel, sample) pairs of a wave are assigned to its paths.

use raysieve::path::{Span, fill_pairs, pixel_and_sample};

use crate::common::Random;

#[test]
fn fill_pairs_gives_each_pair_of_a_wave_once() {
    let mut random = Random::new(11);
    let mut below = |limit: u32| (random.word() % u64::from(limit)) as u32;
    for round in 0..4000 {
        let width = below(50) + 1;
        // Every other width is a multiple of that of a tile.
        let width = if round % 2 == 0 { 8 * width } else { width };
        let pixel_count = width * (below(20) + 1);
        let max_samples = if pixel_count < 100 { 70 } else { 3 };
        let path_count = below(max_samples * pixel_count) + 1;
        let max_log2 = (path_count / pixel_count).checked_ilog2().unwrap_or(0);
        let listed = below(4) == 0;
        let skipped = !listed && below(4) == 0;
        let span = Span {
            width,
            pixel_count,
            first_pixel: below(pixel_count),
            first_sample: below(100),
            path_count,
            skipped_pixels: u32::from(skipped) * below(1000),
            tiled: u32::from(!skipped && below(4) > 0),
            log2_samples_together: below(max_log2 + 1),
            listed: listed.into(),
            ..Span::default()
        };
        let list: Vec<u32> = (0..pixel_count).rev().map(|pixel| 3 * pixel).collect();

        let mut pairs = vec![(0, 0); path_count as usize];
        // In two parts, because a wave on a CPU can begin anywhere in a span.
        let first = below(path_count + 1);
        let (begin, end) = pairs.split_at_mut(first as usize);
        fill_pairs(&span, &list, first, end);
        fill_pairs(&span, &list, 0, begin);
        for (path, &pair) in (0..).zip(&pairs) {
            assert_eq!(
                pair,
                pixel_and_sample(&span, &list, path),
                "path {path}, {span:?}"
            );
        }

        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), path_count as usize, "{span:?}");
    }
}
