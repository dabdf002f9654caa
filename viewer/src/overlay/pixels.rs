//! The values of single pixels as text: for magnified pixels, and of the pixel under the pointer.

use super::format;
use crate::session::{DisplayFrame, PixelInfo};
use raysieve::{film::picture::comparison::ComparisonImage, render::region::Region};

/// Returns red, green and blue in linear light of each pixel of a region, row by row from the top, as text of at most
/// six characters each. Returns `None` while the frame is a smaller preview, and if the region is not inside the
/// picture.
pub(crate) fn values(frame: &DisplayFrame, region: Region) -> Option<Vec<String>> {
    let picture = &frame.picture;
    let size = (picture.width, picture.height);
    if size != frame.size || !region.is_inside(size) {
        return None;
    }
    let (first, wide) = (region.x as usize, region.width as usize);
    let rows = picture.pixels.chunks_exact(picture.width as usize);
    let rows = rows.skip(region.y as usize).take(region.height as usize);
    let pixels = rows.flat_map(|row| &row[first..first + wide]);
    Some(
        pixels
            .flat_map(|pixel| pixel.to_array().map(short))
            .collect(),
    )
}

/// Formats a value in linear light, 0 or more, in at most six characters: `0.0123`, `1.234`, `123.4`, `1.2e5`.
pub(crate) fn short(value: f32) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.0001 => format!("{value:.0e}"),
        ..1.0 => format!("{value:.4}"),
        ..10.0 => format!("{value:.3}"),
        ..1000.0 => format!("{value:.1}"),
        ..10_000.0 => format!("{value:.0}"),
        _ => format!("{value:.1e}"),
    }
}

/// Returns the description of the pixel in this column and row of a frame, in two lines. The first has its value in
/// linear light and its number of samples. The second has its error and surface from `info`, and is empty unless `info`
/// is about this pixel.
///
/// With adaptive sampling, the number of samples also comes from `info`. While a smaller preview is displayed, the
/// description is one line with column and row. Returns `None` outside the picture.
pub(crate) fn describe(
    frame: &DisplayFrame,
    pixel: (u32, u32),
    info: Option<&PixelInfo>,
) -> Option<Vec<String>> {
    let first = value_text("pixel", frame, pixel, info)?;
    let info = info.filter(|info| info.pixel == pixel);
    let second = info.map_or(String::new(), |info| match info.error {
        Some(error) => format!("error about {}, {}", format::percent(error), info.surface),
        None => info.surface.clone(),
    });
    let is_preview = (frame.picture.width, frame.picture.height) != frame.size;
    Some(match is_preview {
        true => vec![first],
        false => vec![first, second],
    })
}

/// Returns the description of a pixel in two lines for a pointer on the image with which the frame is compared. The first
/// has the name of the image and its value there, and the second the value of the frame. The other parameters and the
/// result are those of [`describe`].
pub(crate) fn describe_compared(
    image: &ComparisonImage,
    frame: &DisplayFrame,
    pixel: (u32, u32),
    info: Option<&PixelInfo>,
) -> Option<Vec<String>> {
    let second = value_text("render", frame, pixel, info)?;
    // The image may have another size.
    let scaled = |at: u32, length: u32, own: u32| {
        ((2 * u64::from(at) + 1) * u64::from(own) / (2 * u64::from(length))) as u32
    };
    let (width, height) = image.size();
    let column = scaled(pixel.0, frame.size.0, width);
    let row = scaled(pixel.1, frame.size.1, height);
    let value = match (image.light(), image.display_pixel(column, row)) {
        (Some(light), _) => {
            let place = row as usize * width as usize + column as usize;
            let [red, green, blue] = light.pixels.get(place)?.to_array().map(short);
            format!("{red} {green} {blue} (linear)")
        }
        (None, pixel) => {
            let [red, green, blue, _] = pixel?;
            format!("{red} {green} {blue} (8-bit sRGB)")
        }
    };
    let name = image.path().file_name().unwrap_or_default();
    let name = raysieve_scene::escaped(&name.to_string_lossy());
    Some(vec![format!("{name} {column},{row}: {value}"), second])
}

/// Returns the value of a frame's pixel and its number of samples as text, which begins with the word `of`. The other
/// parameters are those of [`describe`]. Without the value while a smaller preview is displayed. Returns `None` outside
/// the picture.
fn value_text(
    of: &str,
    frame: &DisplayFrame,
    pixel: (u32, u32),
    info: Option<&PixelInfo>,
) -> Option<String> {
    let (column, row) = pixel;
    let picture = &frame.picture;
    if column >= frame.size.0 || row >= frame.size.1 {
        return None;
    }
    if (picture.width, picture.height) != frame.size {
        return Some(format!("{of} {column},{row}"));
    }
    let info = info.filter(|info| info.pixel == pixel);
    let place = row as usize * picture.width as usize + column as usize;
    let [red, green, blue] = picture.pixels.get(place)?.to_array().map(short);
    let samples = match &frame.stats.noise {
        None => Some(frame.stats.spp),
        Some(_) => info.map(|info| info.samples),
    };
    let samples = match samples {
        Some(samples) => format!(", {samples} {}", format::sample_word(samples)),
        None => String::new(),
    };
    Some(format!(
        "{of} {column},{row}: {red} {green} {blue} (linear){samples}"
    ))
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn values_have_at_most_six_characters() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (1.0, "1.000"),
            (12.345, "12.3"),
            (1234.5, "1234"),
            (1e-7, "1e-7"),
            (2.5e12, "2.5e12"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
