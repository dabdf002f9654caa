//! The values of single pixels: written into magnified pixels, and those of the pixel under the pointer.

use super::{Overlay, canvas::Canvas, fitted::Fitted, format};
use crate::session::{DisplayFrame, PixelInfo};
use raysieve::{
    film::picture::{Picture, comparison::ComparisonImage},
    render::region::Region,
};

/// Minimum width of a magnified pixel in characters from which its values are written into it.
const MIN_CELLS: i32 = 7;

/// Maximum width of a magnified pixel in characters.
const MAX_CELLS: i32 = 16;

impl Overlay {
    /// Returns the width in window pixels up to which a pixel of the picture can be magnified: 16 characters of text.
    pub(crate) fn max_pixel_width(&self) -> f64 {
        f64::from(MAX_CELLS * self.type_face.cell_width)
    }

    /// Writes red, green and blue in linear light into each pixel of a picture that lies completely in the region of
    /// `fitted`. Does nothing if pixels are too small for the text, or if the picture has another size than `fitted`,
    /// such as a preview.
    pub(crate) fn draw_pixel_values(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        picture: &Picture,
        fitted: &Fitted,
    ) {
        let (columns, rows) = (picture.width as i32, picture.height as i32);
        let (cell, line) = (self.type_face.cell_width, self.type_face.line_height);
        let Fitted { area, region, .. } = *fitted;
        if !fitted.is_of((picture.width, picture.height))
            || area.width < MIN_CELLS * cell * columns
            || area.height < 3 * line * rows
        {
            return;
        }
        let edge = |index: i32, begin: i32, length: i32, pixels: i32| {
            begin + (i64::from(index) * i64::from(length) / i64::from(pixels)) as i32
        };
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        for row in 0..rows {
            let top = edge(row, area.y, area.height, rows);
            let bottom = edge(row + 1, area.y, area.height, rows);
            if top < region.y || bottom > region.y + region.height {
                continue;
            }
            for column in 0..columns {
                let left = edge(column, area.x, area.width, columns);
                let right = edge(column + 1, area.x, area.width, columns);
                if left < region.x || right > region.x + region.width {
                    continue;
                }
                let middle = ((left + right) / 2, (top + bottom) / 2);
                let colour = match canvas.brightness(middle.0, middle.1) {
                    ..128 => [255; 3],
                    _ => [0; 3],
                };
                let value = picture.pixels[(row * columns + column) as usize];
                for (number, channel) in (0..).zip(value.to_array()) {
                    let text = short(channel);
                    let x = middle.0 - text.chars().count() as i32 * cell / 2;
                    let y = middle.1 + (2 * number - 3) * line / 2;
                    canvas.text(&mut self.type_face, x, y, colour, &text);
                }
            }
        }
    }
}

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
fn short(value: f32) -> String {
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
