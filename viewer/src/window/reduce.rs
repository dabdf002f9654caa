//! Reduces images that have many more pixels than are displayed, so that the graphics card only has to scale them by a
//! factor near 1.

use rayon::prelude::*;

use crate::overlay::canvas::Area;

/// Returns the largest whole divisor of the sides of an image of this size with which it still has at least as many pixels
/// as its displayed `area`, and at least the divisor with which no side exceeds `max_side`.
pub(super) fn reduction(size: (u32, u32), area: Area, max_side: u32) -> u32 {
    let along = |length: u32, shown: i32| length / shown.max(1).unsigned_abs();
    let shown = along(size.0, area.width).min(along(size.1, area.height));
    let needed = size.0.max(size.1).div_ceil(max_side);
    shown.max(needed).max(1)
}

/// Divides the sides of an image by `divisor`, rounded up: each pixel becomes the mean of a square of pixels. Images are
/// RGBA bytes, rows from the top. Runs on the current thread pool.
pub(super) fn reduce(size: (u32, u32), rgba: Vec<u8>, divisor: u32) -> ((u32, u32), Vec<u8>) {
    if divisor == 1 {
        return (size, rgba);
    }
    let new = (size.0.div_ceil(divisor), size.1.div_ceil(divisor));
    let (source, _) = rgba.as_chunks::<4>();
    let (width, divisor) = (size.0 as usize, divisor as usize);
    let mut reduced = vec![0; 4 * new.0 as usize * new.1 as usize];
    let rows = reduced.par_chunks_exact_mut(4 * new.0 as usize).enumerate();
    rows.for_each(|(y, row)| {
        let from = y * divisor..((y + 1) * divisor).min(size.1 as usize);
        for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let columns = x * divisor..((x + 1) * divisor).min(width);
            let mut sum = [0_u32; 4];
            for row in from.clone() {
                for source in &source[row * width..][columns.clone()] {
                    for (sum, &channel) in sum.iter_mut().zip(source) {
                        *sum += u32::from(channel);
                    }
                }
            }
            let count = (columns.len() * from.len()) as u32;
            *pixel = sum.map(|sum| ((sum + count / 2) / count) as u8);
        }
    });
    (new, reduced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_pixel_is_the_mean_of_its_square() {
        let rgba: Vec<u8> = (0..15)
            .flat_map(|pixel| [10 * pixel, 0, 255, 255])
            .collect();
        let (size, reduced) = reduce((5, 3), rgba, 2);
        assert_eq!(size, (3, 2));
        let reds: Vec<u8> = reduced
            .as_chunks::<4>()
            .0
            .iter()
            .map(|pixel| pixel[0])
            .collect();
        assert_eq!(reds, [30, 50, 65, 105, 125, 140]);
    }

    #[test]
    fn an_image_keeps_at_least_the_displayed_pixels() {
        let area = |width, height| Area {
            x: 0,
            y: 0,
            width,
            height,
        };
        assert_eq!(reduction((512, 512), area(512, 512), 8192), 1);
        assert_eq!(reduction((1023, 1023), area(512, 512), 8192), 1);
        assert_eq!(reduction((4096, 2048), area(1000, 500), 8192), 4);
        assert_eq!(reduction((20_000, 10), area(20_000, 10), 8192), 3);
    }
}
