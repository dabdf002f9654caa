//! The error map of the picture and the image of `--compare`.

use super::derived_image::DerivedImageRequest;
use raysieve::{
    film::picture::{
        comparison::{Compared, ComparisonImage},
        flip,
    },
    inspect::{
        aovs::Aovs,
        debug_view::{DebugImage, DebugView, Legend},
    },
};

/// Number of colors of the legend's bar.
const BAR_STEPS: u16 = 33;

/// Returns the name of an image with which the picture is compared, with a remark unless the scene is shown at the time of
/// the image.
pub(super) fn image_label(image: &ComparisonImage, is_at_compared_time: bool) -> String {
    let name = image.path().file_name().unwrap_or_default();
    let remark = match is_at_compared_time {
        true => "",
        false => ", of another time",
    };
    format!("{}{remark}", name.to_string_lossy())
}

/// Computes the error map of a picture, with its legend. The picture has the size of `image`. `traced` has the alpha of
/// its view if that is transparent.
pub(super) fn error_map(
    image: &ComparisonImage,
    request: &DerivedImageRequest,
    traced: &Aovs,
) -> DebugImage {
    let DerivedImageRequest {
        picture,
        look,
        samples,
        is_at_compared_time,
        ..
    } = request;
    let difference = image.compare(
        Compared::Picture(picture, traced.alpha()),
        look.exposure_stops,
        look.tone,
    );
    let bar = (0..BAR_STEPS).map(|step| flip::color(f32::from(step) / f32::from(BAR_STEPS - 1)));
    let ticks = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")];
    let summary = difference.summary;
    DebugImage {
        debug_view: DebugView::Light,
        size: (picture.width, picture.height),
        rgba: difference.map(),
        legend: Legend {
            title: format!(
                "FLIP, difference from {}",
                image_label(image, *is_at_compared_time)
            ),
            bar: bar.collect(),
            ticks: ticks.map(|(place, text)| (place, text.to_owned())).to_vec(),
            note: format!(
                "mean {:.4}, 95 % below {:.4}, at {samples} samples",
                summary.mean, summary.quantile_95
            ),
        },
    }
}
