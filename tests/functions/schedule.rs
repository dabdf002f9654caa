//! Tests of the schedule of adaptive sampling.

use raysieve::adaptive::schedule::{in_tiles, samples_after};

#[test]
fn rounds_end_at_fixed_numbers_of_samples() {
    let ends: Vec<u64> = (0..15).map(samples_after).collect();
    assert_eq!(
        ends,
        [
            0, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384
        ]
    );
    assert!(samples_after(500) > u64::from(u32::MAX));
}

#[test]
fn a_list_of_tiles_has_each_pixel_once() {
    for size in [(1, 1), (8, 8), (13, 21), (16, 3)] {
        let mut list = in_tiles(size);
        list.sort_unstable();
        assert!(list.into_iter().eq(0..size.0 * size.1));
    }
}
