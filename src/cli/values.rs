//! The values of options: what each may be, and what it says to others.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use compaction::select::Strategy;
use raysieve::{
    output::PictureFormat, part::Place, renderer::Partition, scene::Scene, sight::Sight, tone::Tone,
};

use super::{bench::Method, scene::SampleRange};

/// A path, in any encoding, that ends as it should.
pub(super) fn path_ending(
    good: fn(&Path) -> bool,
    otherwise: &'static str,
) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| {
        if good(&path) {
            Ok(path)
        } else {
            Err(otherwise)
        }
    })
}

pub(super) fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

pub(super) fn scene_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        Scene::is_named,
        "a scene is a .ron file, or a model: .glb, .gltf, .obj or .ply",
    )
}

pub(super) fn picture_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        |path| PictureFormat::of(path).is_some(),
        "a picture is a .png or an .exr file",
    )
}

pub(super) fn part_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        |path| PictureFormat::of(path) == Some(PictureFormat::Exr),
        "an .exr file is expected: no other holds the film",
    )
}

pub(super) fn bench_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        |path| ends_with(path, "json"),
        "what was measured is a .json file",
    )
}

pub(super) fn chart_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(|path| ends_with(path, "svg"), "a chart is an .svg file")
}

pub(super) fn track_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(|path| ends_with(path, "json"), "a path is a .json file")
}

pub(super) fn stats_path() -> impl TypedValueParser<Value = PathBuf> {
    path_ending(
        |path| ends_with(path, "json"),
        "statistics are a .json file",
    )
}

pub(super) fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((0, _) | (_, 0)) => Err("a picture has at least one pixel a side".to_owned()),
        Some(sides) => Ok(sides),
        None => Err("width and height in pixels are expected, such as 1920x1080".to_owned()),
    }
}

pub(super) fn strategy() -> impl TypedValueParser<Value = Strategy> {
    let names = Strategy::ALL.iter().map(|strategy| strategy.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Strategy>())
}

pub(super) fn method() -> impl TypedValueParser<Value = Method> {
    let names = Method::all().map(Method::name).collect::<Vec<_>>();
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Method::all().find(|method| method.name() == name);
        named.ok_or("no such strategy")
    })
}

pub(super) fn partition() -> impl TypedValueParser<Value = Partition> {
    let names = Partition::ALL.map(Partition::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Partition::ALL.into_iter().find(|one| one.name() == name);
        named.ok_or("no such order")
    })
}

pub(super) fn sight() -> impl TypedValueParser<Value = Sight> {
    let names = Sight::ALL.map(Sight::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Sight>())
}

pub(super) fn tone() -> impl TypedValueParser<Value = Tone> {
    let names = Tone::ALL.map(Tone::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Tone::ALL.into_iter().find(|tone| tone.name() == name);
        named.ok_or("no such curve")
    })
}

pub(super) fn pixel(text: &str) -> Result<(u32, u32), String> {
    let pixel = text
        .split_once(',')
        .and_then(|(column, row)| Some((column.trim().parse().ok()?, row.trim().parse().ok()?)));
    pixel.ok_or_else(|| {
        "column and row from the upper left are expected, such as 256,300".to_owned()
    })
}

pub(super) fn sample_range(text: &str) -> Result<SampleRange, String> {
    let place = |text: &str| match text {
        "" => Some(None),
        text => text.parse().ok().map(Some),
    };
    let range = text
        .split_once("..")
        .and_then(|(start, end)| Some((place(start)?, place(end)?)));
    match range {
        Some((start, end)) => Ok(SampleRange { start, end }),
        None => Err("two numbers of samples are expected, such as 0..16".to_owned()),
    }
}

pub(super) fn whole_range(text: &str) -> Result<Range<Place>, String> {
    match sample_range(text)? {
        SampleRange {
            start: Some(start),
            end: Some(end),
        } => Ok(start..end),
        _ => Err("both ends are expected, such as 0..16".to_owned()),
    }
}

pub(super) fn scene_hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("32 hexadecimal digits are expected, the scene_hash of an .exr".to_owned())
    }
}

pub(super) fn percentage(text: &str) -> Result<f64, String> {
    let percent = text
        .strip_suffix('%')
        .and_then(|text| text.parse::<f64>().ok());
    percent
        .filter(|percent| *percent > 0.0 && *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "a part above 0% and up to 100% is expected, such as 10%".to_owned())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let of_unit = |(unit, seconds): (&str, f64)| {
        Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * seconds)
    };
    let seconds = units.into_iter().find_map(of_unit);
    // As a number may be written: also "inf", "nan" and "-0".
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration
        .filter(|duration| *duration <= MAX_DURATION)
        .ok_or_else(|| "a time up to a year is expected, such as 30s, 5m or 2h".to_owned())
}

/// A GPU that works must not count as one that hangs: the least is what a busy machine may keep it waiting.
pub(super) fn patience(text: &str) -> Result<Duration, String> {
    let patience = duration(text).ok();
    patience
        .filter(|patience| *patience >= LEAST_PATIENCE)
        .ok_or_else(|| "a time from 100ms to a year is expected, such as 30s or 2m".to_owned())
}

const LEAST_PATIENCE: Duration = Duration::from_millis(100);
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) fn noise(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(error) if (1e-4..=1.0).contains(&error) => Ok(error),
        _ => Err("a relative error from 0.0001 to 1 is expected, such as 0.01".to_owned()),
    }
}

pub(super) fn clamp(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(most) if (1e-6..=1e6).contains(&most) => Ok(most),
        _ => Err("a radiance from 1e-6 to 1e6 is expected".to_owned()),
    }
}

pub(super) fn exposure(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(stops) if (-32.0..=32.0).contains(&stops) => Ok(stops),
        _ => Err("a number of stops from -32 to 32 is expected".to_owned()),
    }
}
