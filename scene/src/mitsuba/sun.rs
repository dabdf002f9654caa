//! The brightness of Mitsuba's sun, which is that of L. Hosek and A. Wilkie (Adding a Solar-Radiance Function to the
//! Hošek-Wilkie Skylight Model, 2013).

use glam::DVec3;

/// Flux of the sun through a surface that faces it, in linear sRGB of Mitsuba, as little-endian `f32`.
///
/// For each turbidity from 1 to 10 there are 30 elevations of the sun from 2° to 89°, with three channels each. The
/// values come from `sun_irradiance` in the file `sampling_data.bin` of Mitsuba 3.9.1, weighted by the color matching
/// functions as in its RGB variants.
const FLUXES: &[u8] = include_bytes!("../../assets/hosek_wilkie/mitsuba-sun.f32");

/// Number of elevations in [`FLUXES`].
const ELEVATIONS: usize = 30;

/// Returns the flux of the sun in watts through each square metre that faces it, in linear sRGB, 0 or more. As in
/// Mitsuba, it is interpolated linearly, and constant below an elevation of 2° and above 89°. `elevation` is in
/// degrees, and `turbidity` from 1 to 10.
pub(super) fn flux(elevation: f64, turbidity: f64) -> DVec3 {
    let at = |turbidity: usize, elevation: usize| {
        let first = 3 * (turbidity * ELEVATIONS + elevation);
        let numbers = &FLUXES.as_chunks::<4>().0[first..first + 3];
        let [r, g, b] = [0, 1, 2].map(|channel| f64::from(f32::from_le_bytes(numbers[channel])));
        DVec3::new(r, g, b)
    };
    let [(row, across), (column, along)] = [
        place(turbidity - 1.0, 10),
        place((elevation - 2.0) / 3.0, ELEVATIONS),
    ];
    let of_row = |row: usize| at(row, column).lerp(at(row, column + 1), along);
    of_row(row).lerp(of_row(row + 1), across).max(DVec3::ZERO)
}

/// Returns the entry of a table of `count` entries before a place in it, at most the last but one, and the part of the
/// way to the next entry, 0 to 1. Places outside the table are moved to its ends.
fn place(at: f64, count: usize) -> (usize, f64) {
    let at = at.clamp(0.0, (count - 1) as f64);
    let before = (at as usize).min(count - 2);
    (before, at - before as f64)
}
