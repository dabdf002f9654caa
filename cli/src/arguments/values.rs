//! Parsers for the values of options, with their error messages.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use compaction::select::Strategy;
use raysieve::{
    film::picture::tone::Tone,
    inspect::debug_view::DebugView,
    render::{output::PictureFormat, region::Region, renderer::SortHits},
};
use raysieve_scene::{
    Background, CameraFrom, EnvironmentFile, Scene, UpAxis, color::srgb_value, limits::MAX_BOUNCES,
};
use raysieve_viewer::overlay::FigureFormat;

use super::compared::is_image;

/// Returns a parser of paths that accepts those for which `is_valid` returns `true`, and fails with `message` for
/// others. Paths need not be UTF-8.
pub(super) fn path_matching(
    is_valid: fn(&Path) -> bool,
    message: &'static str,
) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| {
        if is_valid(&path) {
            Ok(path)
        } else {
            Err(message)
        }
    })
}

/// Returns whether the path has this extension, in upper or lower case. `extension` does not begin with a dot.
pub(super) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Returns a parser of the paths of scenes and models, which checks that the extension is that of a supported format.
/// The error for a model in another format says how to convert it.
pub(super) fn scene_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| Scene::check_name(&path).map(|()| path))
}

/// Returns a parser of the paths of images to write, which accepts the extensions .png and .exr in upper or lower case.
pub(super) fn picture_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| PictureFormat::of(path).is_some(),
        "expected a .png or .exr file",
    )
}

/// Returns a parser of the paths of parts, the files that contain a film. It accepts the extension .exr in upper or
/// lower case.
pub(super) fn part_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| PictureFormat::of(path) == Some(PictureFormat::Exr),
        "expected an .exr file, the only format that contains the film",
    )
}

/// Returns a parser of the paths of reference images, which accepts the extension .exr in upper or lower case.
pub(super) fn reference_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| has_extension(path, "exr"),
        "expected an .exr image, whose values are linear",
    )
}

/// Returns a parser of the path of a scene or model, or of an image that is compared with another one. It checks the
/// extension.
pub(super) fn scene_or_image_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match is_image(&path) {
        true => Ok(path),
        false => Scene::check_name(&path).map(|()| path),
    })
}

/// Returns a parser of the paths of images to compare with, which accepts .exr and .png in upper or lower case.
pub(super) fn compared_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(is_image, "expected an .exr or .png image")
}

/// Returns a parser of the paths of files of benchmark results, which accepts .json in upper or lower case.
pub(super) fn bench_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| has_extension(path, "json"),
        "expected a .json file for the results",
    )
}

/// Returns a parser of the paths of charts to write, which accepts .svg in upper or lower case.
pub(super) fn chart_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| has_extension(path, "svg"),
        "expected an .svg file for the chart",
    )
}

/// Returns a parser of the paths of path records to write, which accepts .json in upper or lower case.
pub(super) fn path_record_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| has_extension(path, "json"),
        "expected a .json file for the path record",
    )
}

/// Returns a parser of the paths of scene files to write, which accepts .ron in upper or lower case.
pub(super) fn new_scene_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| has_extension(path, "ron"),
        "expected a .ron file for the scene",
    )
}

/// Returns a parser of the paths of statistics files to write, which accepts .json in upper or lower case.
pub(super) fn stats_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| has_extension(path, "json"),
        "expected a .json file for the statistics",
    )
}

/// Returns a parser of paths to `.csv` and `.json` files.
pub(super) fn figures_path() -> impl TypedValueParser<Value = PathBuf> {
    path_matching(
        |path| FigureFormat::of(path).is_some(),
        "expected a .csv or .json file for the figures",
    )
}

/// Parses an image size in pixels, such as `1920x1080`. Both sides must be at least 1.
pub(super) fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((0, _) | (_, 0)) => Err("width and height must be at least one pixel".to_owned()),
        Some(sides) => Ok(sides),
        None => Err("expected width and height in pixels, such as 1920x1080".to_owned()),
    }
}

/// Returns a parser of the names of compaction strategies.
pub(super) fn strategy() -> impl TypedValueParser<Value = Strategy> {
    let names = Strategy::ALL.iter().map(|strategy| strategy.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Strategy>())
}

/// Returns a parser of the values of `--sort-hits`, the names of [`SortHits::ALL`].
pub(super) fn sort_hits() -> impl TypedValueParser<Value = SortHits> {
    let names = SortHits::ALL.map(SortHits::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = SortHits::ALL.into_iter().find(|one| one.name() == name);
        named.ok_or("no such value")
    })
}

/// Returns a parser of the names of debug views, those of [`DebugView::ALL`].
pub(super) fn debug_view() -> impl TypedValueParser<Value = DebugView> {
    let names = DebugView::ALL.map(DebugView::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<DebugView>())
}

/// Returns a parser of the names of tone curves, those of [`Tone::ALL`].
pub(super) fn tone() -> impl TypedValueParser<Value = Tone> {
    let names = Tone::ALL.map(Tone::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Tone::ALL.into_iter().find(|tone| tone.name() == name);
        named.ok_or("no such tone curve")
    })
}

/// Parses a region of an image: column and row of its upper left pixel, and its size, such as `16,0,64x48`. Does not
/// check that it is inside the image.
pub(super) fn region(text: &str) -> Result<Region, String> {
    let mut parts = text.splitn(3, ',').map(str::trim);
    let parts = (parts.next(), parts.next(), parts.next());
    let region = match parts {
        (Some(x), Some(y), Some(sides)) => x.parse().ok().zip(y.parse().ok()).zip(size(sides).ok()),
        _ => None,
    };
    region
        .map(|((x, y), (width, height))| Region {
            x,
            y,
            width,
            height,
        })
        .ok_or_else(|| {
            "expected column and row of the upper left pixel, and width and height, such as 16,0,64x48".to_owned()
        })
}

/// Parses the (column, row) of a pixel, such as `256,300`. Does not check that the pixel is inside the image.
pub(super) fn pixel(text: &str) -> Result<(u32, u32), String> {
    let pixel = text
        .split_once(',')
        .and_then(|(column, row)| Some((column.trim().parse().ok()?, row.trim().parse().ok()?)));
    pixel.ok_or_else(|| "expected column and row from the upper left, such as 256,300".to_owned())
}

/// Parses the hash of a scene: 32 hexadecimal digits, returned in lower case.
pub(super) fn scene_hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected 32 hexadecimal digits, the scene_hash of an .exr".to_owned())
    }
}

/// Parses a percentage with its sign, such as `10%`, above 0 % and up to 100 %. Returns a fraction, such as 0.1.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
    let percent = text
        .strip_suffix('%')
        .and_then(|text| text.parse::<f64>().ok());
    percent
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected a percentage above 0% and up to 100%, such as 10%".to_owned())
}

/// Returns a parser of durations from `min` to 365 days: a number with the unit `ms`, `s`, `m` (minutes) or `h`, such
/// as `30s`.
pub(super) fn duration_from(
    min: Duration,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    move |text| {
        duration(text)
            .filter(|duration| (min..=MAX_DURATION).contains(duration))
            .ok_or_else(|| format!("expected a time from {min:?} to a year, such as 30s, 5m or 2h"))
    }
}

/// Parses a number with the unit `ms`, `s`, `m` (minutes) or `h`. Returns `None` for other text.
fn duration(text: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let of_unit = |(unit, seconds): (&str, f64)| {
        Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * seconds)
    };
    let seconds = units.into_iter().find_map(of_unit)?;
    // `parse` also accepts "inf", "nan" and "-0", and `try_from_secs_f64` refuses the first two.
    Duration::try_from_secs_f64(seconds).ok()
}

/// Minimum value of `--every` and `--keep-every`.
pub(super) const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// Minimum value of `--timeout`, after which a GPU counts as hung. A busy machine can delay a working GPU by this much.
pub(super) const MIN_TIMEOUT: Duration = Duration::from_millis(100);
/// Minimum value of `--time-limit`, because Slurm's limits are whole seconds.
pub(super) const MIN_TIME_LIMIT: Duration = Duration::from_secs(1);
/// Maximum of all durations on the command line: 365 days.
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses the target of adaptive sampling: the relative error of a pixel as a fraction, from 0.0001 to 1. A target of
/// 0.01 is 1 %.
pub(super) fn noise(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(error) if (1e-4..=1.0).contains(&error) => Ok(error),
        _ => Err("expected a relative error from 0.0001 to 1, such as 0.01".to_owned()),
    }
}

/// Parses the maximum number of bounces of a path, 0 to 4096.
pub(super) fn max_bounces(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bounces) if bounces <= MAX_BOUNCES => Ok(bounces),
        _ => Err(format!(
            "expected a whole number from 0 to {MAX_BOUNCES}; a path always has a limit, and {MAX_BOUNCES} is the largest"
        )),
    }
}

/// Parses the first scattering event at which roulette may end a path, 0 to 4096; 0 means never.
pub(super) fn roulette(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(event) if event <= MAX_BOUNCES => Ok(event),
        _ => Err(format!(
            "expected a whole number from 0 to {MAX_BOUNCES}; 0 turns it off"
        )),
    }
}

/// Parses the radiance to which each contribution of indirect light to a sample is clamped, from 10⁻⁶ to 10⁶.
pub(super) fn clamp(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(max) if (1e-6..=1e6).contains(&max) => Ok(max),
        _ => Err("expected a radiance from 1e-6 to 1e6".to_owned()),
    }
}

/// Parses an exposure in stops, from -32 to 32.
pub(super) fn exposure(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(stops) if (-32.0..=32.0).contains(&stops) => Ok(stops),
        _ => Err("expected a number of stops from -32 to 32".to_owned()),
    }
}

/// Maximum of `--time`, the time in seconds at which animations are shown: 10⁶. Larger values are errors.
const MAX_SECONDS: f64 = 1e6;
/// Maximum end of `--frames`, which is exclusive.
const MAX_FRAME: u32 = 1_000_000;

/// Parses the time at which animations are shown, in seconds from 0 to 10⁶, such as `1.5` or `1.5s`.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse();
    match number {
        Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => Ok(seconds),
        _ => Err(
            "expected seconds of the animation from 0 to 1000000, such as 1.5; --time-limit limits the jobs of farm"
                .to_owned(),
        ),
    }
}

/// Parses the width of lines in metres, above 0 and up to 10⁸.
pub(super) fn line_width(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(width) if width > 0.0 && width <= 1e8 => Ok(width),
        _ => Err("expected metres above 0 and up to 1e8, such as 0.01".to_owned()),
    }
}

/// Parses a name and its value, such as `spp=64`. The value may be empty.
pub(super) fn definition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name and its value, such as spp=64".to_owned()),
    }
}

/// Returns a parser of the axis that points up: `x`, `y` or `z`.
pub(super) fn up_axis() -> impl TypedValueParser<Value = UpAxis> {
    PossibleValuesParser::new(["x", "y", "z"]).map(|name| match name.as_str() {
        "x" => UpAxis::X,
        "z" => UpAxis::Z,
        _ => UpAxis::Y,
    })
}

/// Parses an angle of view in degrees, from 0.001 to 179.999.
pub(super) fn field_of_view(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(degrees) if (0.001..=179.999).contains(&degrees) => Ok(degrees),
        _ => Err("expected an angle from 0.001 to 179.999 degrees, such as 40".to_owned()),
    }
}

/// Parses azimuth and elevation of a camera in degrees and, perhaps, its distance in metres, such as `35,20` or
/// `-90,0,2.5`. The azimuth is within ±360, the elevation within ±90, and the distance from 10⁻¹⁵ to 10⁸.
pub(super) fn camera_from(text: &str) -> Result<CameraFrom, String> {
    let expected = || {
        "expected azimuth, elevation and perhaps a distance in metres, such as 35,20 or 35,20,2.5"
            .to_owned()
    };
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    let numbers = numbers.map_err(|_| expected())?;
    let (azimuth_degrees, elevation_degrees, distance) = match numbers[..] {
        [azimuth, elevation] => (azimuth, elevation, None),
        [azimuth, elevation, distance] => (azimuth, elevation, Some(distance)),
        _ => return Err(expected()),
    };
    if !(-360.0..=360.0).contains(&azimuth_degrees) {
        return Err("expected an azimuth from -360 to 360 degrees".to_owned());
    }
    if !(-90.0..=90.0).contains(&elevation_degrees) {
        return Err("expected an elevation from -90 to 90 degrees".to_owned());
    }
    if distance.is_some_and(|metres| !(1e-15..=1e8).contains(&metres)) {
        return Err("expected a distance from 1e-15 to 1e8 metres".to_owned());
    }
    Ok(CameraFrom {
        azimuth_degrees,
        elevation_degrees,
        distance,
    })
}

/// Parses the path of an environment map and, perhaps, its rotation in degrees and its strength, such as
/// `studio.hdr,90,0.5`. The strength is 0 to 10⁶.
pub(super) fn environment(text: &str) -> Result<EnvironmentFile, String> {
    let (mut path, mut numbers) = (text, Vec::new());
    // A path may contain commas.
    let is_image = |path: &str| {
        ["hdr", "exr"]
            .iter()
            .any(|ending| has_extension(path.as_ref(), ending))
    };
    while !is_image(path)
        && numbers.len() < 2
        && let Some((rest, last)) = path.rsplit_once(',')
    {
        numbers.insert(0, last.trim());
        path = rest;
    }
    if !is_image(path) {
        return Err("expected an .hdr or .exr file, and perhaps rotation and strength, such as studio.hdr,90,0.5".to_owned());
    }
    let number =
        |place: usize, default: f64, (min, max): (f64, f64), what: &str| match numbers.get(place) {
            None => Ok(default),
            Some(text) => match text.parse::<f64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(value),
                _ => Err(format!("expected {what}, such as studio.hdr,90,0.5")),
            },
        };
    Ok(EnvironmentFile {
        path: path.into(),
        rotate_degrees: number(
            0,
            0.0,
            (-360.0, 360.0),
            "a rotation from -360 to 360 degrees after the file",
        )?,
        scale: number(
            1,
            1.0,
            (0.0, 1e6),
            "a strength from 0 to 1e6 after the rotation",
        )? as f32,
    })
}

/// Returns the text that [`environment`] parses as this map, with an absolute path.
pub(super) fn environment_text(environment: &EnvironmentFile) -> String {
    let path = std::path::absolute(&environment.path).unwrap_or_else(|_| environment.path.clone());
    format!(
        "{},{},{}",
        path.display(),
        environment.rotate_degrees,
        environment.scale
    )
}

/// Parses the name or address of a machine and a port, such as `127.0.0.1:14158` or `localhost:14158`.
pub(super) fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(text.to_owned())
        }
        _ => Err("expected a machine and a port, such as 127.0.0.1:14158".to_owned()),
    }
}

/// Parses a background: `env`, `transparent`, or a color as `#rrggbb`, `white`, `gray`, `grey` or `black`, whose
/// radiance is returned in linear sRGB.
pub(super) fn background(text: &str) -> Result<Background, String> {
    let gray = |code: u32| [code; 3];
    let codes = match text {
        "env" => return Ok(Background::Environment),
        "transparent" => return Ok(Background::Transparent),
        "white" => gray(255),
        "gray" | "grey" => gray(128),
        "black" => gray(0),
        _ => {
            let digits = text.strip_prefix('#').filter(|digits| {
                digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            });
            let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let code = code.ok_or(
                "expected env, transparent, or a color such as #f0f0f0 (in quotes for a shell), white, gray or black",
            )?;
            [code >> 16, (code >> 8) & 255, code & 255]
        }
    };
    let linear = codes.map(|code| srgb_value(f64::from(code) / 255.0));
    Ok(Background::Color(linear.into()))
}

/// Parses a range of frames such as `0..48`, start inclusive and end exclusive. It is not empty and ends at 10⁶ at the
/// latest.
pub(super) fn frame_range(text: &str) -> Result<(u32, u32), String> {
    let range = text
        .split_once("..")
        .and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    match range {
        Some((first, end)) if first < end && end <= MAX_FRAME => Ok((first, end)),
        _ => Err(
            "expected two frame numbers up to 1000000, the first below the second, such as 0..48"
                .to_owned(),
        ),
    }
}

/// Parses a number of frames per second, from 0.001 to 1000.
pub(super) fn frame_rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (0.001..=1000.0).contains(&rate) => Ok(rate),
        _ => Err("expected frames per second from 0.001 to 1000, such as 24".to_owned()),
    }
}
