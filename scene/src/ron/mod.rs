//! Reads and edits scene files in RON, and builds a validated [`Scene`] from them.
//!
//! Values are read in the order settings, camera, sky, lights, materials, objects. The first error ends the reading.
//! This module may import all others except `default_scene`.

mod camera;
mod displaced_sphere;
pub(crate) mod edit;
mod error_text;
mod lights;
mod lists;
pub mod materials;
mod media;
mod metals;
mod objects;
mod parameters;
mod placements;
pub(crate) mod source;
mod text;
pub(crate) mod write;

use std::path::Path;

use glam::{DVec3, Vec3};
use serde::{Deserialize, de::DeserializeOwned};

use self::{
    camera::{camera, may_be_rounded},
    lights::lights,
    materials::radiance,
    objects::Builder,
    source::{NumberRange, Object, Raw, SceneSource},
    text::SceneText,
};
use crate::{
    Error, LoadOptions, builder,
    error::excerpt,
    files::display_path,
    image::environment_map::chosen_environment,
    limits::{
        CLAMP_RANGE, DEFAULT_ROULETTE, MAX_BOUNCES, MAX_INSTANCED_LIGHTS, check_max_bounces,
        check_size, check_spp,
    },
    load_options::UpAxis,
    scene::{Background, DirectLight, Scene, Timeline, Tone},
    view_options::scene_camera,
};

/// Parses and validates the text of a scene file. Mesh, model and image files that it names are read too.
///
/// `path` is the scene file's path, for relative file names and error messages. [`Scene::files`] is left empty.
/// Animated models are shown at the time of `options`, unless their object has its own.
///
/// # Errors
/// [`Error::Scene`] at the place of the first problem. [`Error::File`] if `options` has a choice that only models
/// offer, a time without an animated model, or an angle of view for an orthographic camera.
pub(crate) fn scene(path: &Path, text: &str, options: &LoadOptions) -> Result<Scene, Error> {
    check_options(path, options)?;
    scene_around(DVec3::ZERO, MAX_READS - 1, path, text, options)
}

/// Maximum number of times that a scene is read until its origin is found.
const MAX_READS: u32 = 3;

/// Reads a scene like [`scene`], with coordinates that are relative to `origin`. If another origin suits the objects,
/// which is only known after reading them, reads the scene again with that one, up to `more_reads` times.
fn scene_around(
    origin: DVec3,
    more_reads: u32,
    path: &Path,
    text: &str,
    options: &LoadOptions,
) -> Result<Scene, Error> {
    let source = &SceneSource::new(path, text, origin);
    let written: SceneText = source.parse_all()?;
    let settings = Settings::read(source, &written)?;
    let view = Object::new("camera", written.camera);
    let camera = camera(source, &view).and_then(|camera| {
        scene_camera(camera, options, origin).map_err(|problem| Error::File {
            file: display_path(path),
            problem,
        })
    });
    let camera = match camera {
        Err(error) if !may_be_rounded(source, &view) => return Err(error),
        camera => camera,
    };
    let mut sky = written.sky.map_or(Ok(Vec3::ZERO), |raw| {
        radiance(source, &Object::new("sky", raw), raw, settings.spp)
    })?;
    let background = match options.background {
        Some(background) => background.at_exposure(settings.exposure_stops),
        None => read_background(source, written.background, settings.spp)?,
    };
    let shadow_catcher = match written.shadow_catcher {
        Some(raw) => {
            let expected = "a height from -1e8 to 1e8 metres";
            let valid = |height: f64| NumberRange::Coordinate.holds(height);
            let object = Object::new("scene", raw);
            let height = source.number(&object, "shadow_catcher", raw, expected, valid)?;
            Some((height - origin.y) as f32)
        }
        None => None,
    };
    let fog = media::fog(source, written.fog)?;
    let direct_light = setting(
        source,
        "direct_light",
        written.direct_light,
        DirectLight::Both,
        "Both, Lights or Bsdf",
        |_| Ok(()),
    )?;
    let is_replaced = options.environment.is_some();
    let (mut lights, mut light_notes) = lights(source, &written.lights, settings.spp, is_replaced)?;
    if let Some(file) = &options.environment {
        let (light, notes) = chosen_environment(file, settings.spp)?;
        lights.push(light);
        light_notes.extend(notes);
        sky = Vec3::ZERO;
    }
    let materials = materials::read(source, &written.materials, settings.spp)?;
    let mut builder = Builder::new(source, materials, settings.spp, options.time);
    let mut objects = (0..).zip(&written.objects);
    let objects =
        objects.try_for_each(|(index, raw)| builder.object(&Object::listed("object", index, raw)));
    let wanted = builder.geometry.parts.origin();
    if wanted != origin && more_reads > 0 {
        drop(builder);
        return scene_around(wanted, more_reads - 1, path, text, options);
    }
    let camera = camera?;
    objects?;
    if options.time.is_some() && !builder.is_time_used {
        return Err(Error::File {
            file: display_path(path),
            problem: "cannot be shown at a time: it has no Model of an animated glTF file without a `time` of its own; \
                      omit the time"
                .to_owned(),
        });
    }
    let timeline = builder.animation_seconds.map(|seconds| Timeline {
        seconds,
        time: options.time,
        animations: Vec::new(),
        lengths: Vec::new(),
        overlap: false,
        chosen: None,
    });
    let (geometry, materials, more_lights, mut notes) = builder.finish();
    lights.extend(more_lights);
    notes.extend(light_notes);
    if camera.has_focus_behind() {
        notes.push("camera: its `focus_point` is not in front of it, so that everything is blurred; choose a point on the side of `target`".to_owned());
    }
    let mut scene = Scene {
        size: settings.size,
        spp: settings.spp,
        max_bounces: settings.max_bounces,
        roulette: settings.roulette,
        seed: settings.seed,
        clamp_indirect: settings.clamp_indirect,
        exposure_stops: settings.exposure_stops,
        tone: settings.tone,
        sky,
        background,
        shadow_catcher,
        fog,
        direct_light,
        lights,
        timeline,
        notes,
        ..builder::scene(path, camera, geometry, materials)
    };
    let shining = scene.emissive_triangle_count();
    if shining > MAX_INSTANCED_LIGHTS {
        scene.notes.push(format!(
            "the instances contain {shining} emissive triangles, more than the {MAX_INSTANCED_LIGHTS} that light sampling \
             supports, so the image will be noisy; use a mesh with fewer triangles"
        ));
    }
    Ok(scene)
}

/// The words that the field `background` accepts instead of a radiance.
#[derive(Clone, Copy, Deserialize)]
enum BackgroundText {
    Environment,
    Transparent,
}

/// Reads the field `background`: a radiance, `Environment` or `Transparent`. Invalid values are an [`Error::Scene`].
fn read_background(source: &SceneSource, raw: Option<Raw>, spp: u32) -> Result<Background, Error> {
    let Some(raw) = raw else {
        return Ok(Background::Environment);
    };
    let object = Object::new("background", raw);
    if raw.trim().get_ron().starts_with('(') {
        return radiance(source, &object, raw, spp).map(Background::Color);
    }
    let expected = "a radiance (r, g, b), Environment or Transparent";
    let object = Object::new("scene", raw);
    Ok(
        match source.field(&object, "background", raw, expected, |_| true)? {
            BackgroundText::Environment => Background::Environment,
            BackgroundText::Transparent => Background::Transparent,
        },
    )
}

/// Fails with [`Error::File`] if an option is set for which a scene file has a field of its objects.
fn check_options(path: &Path, options: &LoadOptions) -> Result<(), Error> {
    let problem = match options {
        LoadOptions {
            camera: Some(_), ..
        } => {
            "is a scene with a single camera, so that none can be chosen; omit the camera, or change `camera` in the scene"
        }
        LoadOptions {
            variant: Some(_), ..
        } => "is a scene, where the field `variant` of a Model chooses its variant; set it there",
        LoadOptions {
            animation: Some(_), ..
        } => {
            "is a scene, where the field `animation` of a Model chooses its animation; set it there"
        }
        LoadOptions {
            line_width: Some(_),
            ..
        } => {
            "is a scene, where the field `line_width` of a Model is the width of its lines; set it there"
        }
        LoadOptions { defines, .. } if !defines.is_empty() => {
            "is a scene in RON, which has no names to define; omit the definitions"
        }
        LoadOptions {
            up: Some(UpAxis::X | UpAxis::Z),
            ..
        } => {
            "is a scene, where y points up, and where the field `rotate` of a Model turns it; set it there"
        }
        _ => return Ok(()),
    };
    Err(Error::File {
        file: display_path(path),
        problem: problem.to_owned(),
    })
}

/// The render settings of a scene file, such as image size and samples per pixel, validated. Those that the file omits
/// have their defaults.
struct Settings {
    /// Width and height of the image in pixels.
    size: (u32, u32),
    /// Samples per pixel, 1 or more.
    spp: u32,
    max_bounces: u32,
    /// First scattering event at which roulette may end a path, 0..=4096; 0 if never.
    roulette: u32,
    seed: u32,
    /// Upper limit, W·sr⁻¹·m⁻² per channel, for each contribution of indirect light, 1e-6..=1e6; `None` sets no limit.
    clamp_indirect: Option<f32>,
    /// Exposure of the displayed image in stops, −32..=32.
    exposure_stops: f32,
    tone: Tone,
}

impl Settings {
    /// Reads every setting; one that the file omits gets its default. Fails with [`Error::Scene`] at a setting that is
    /// invalid.
    fn read(source: &SceneSource, written: &SceneText) -> Result<Settings, Error> {
        let whole = "a whole number from 0 to 4294967295";
        let samples = "a whole number from 1 to 4294967295";
        let bounces = format!(
            "a whole number from 0 to {MAX_BOUNCES}; a path always has a limit, and {MAX_BOUNCES} is the largest"
        );
        let sides = "(width, height), whole numbers of pixels";
        Ok(Settings {
            size: setting(source, "size", written.size, (512, 512), sides, check_size)?,
            spp: setting(source, "spp", written.spp, 64, samples, check_spp)?,
            max_bounces: setting(
                source,
                "max_bounces",
                written.max_bounces,
                8,
                &bounces,
                check_max_bounces,
            )?,
            roulette: setting(
                source,
                "roulette",
                written.roulette,
                DEFAULT_ROULETTE,
                &format!("a whole number from 0 to {MAX_BOUNCES}; 0 turns it off"),
                check_max_bounces,
            )?,
            seed: setting(source, "seed", written.seed, 0, whole, |_| Ok(()))?,
            clamp_indirect: match written.clamp_indirect {
                Some(raw) => {
                    let object = Object::new("scene", raw);
                    let valid = |clamp: f64| CLAMP_RANGE.contains(&(clamp as f32));
                    let expected = "a radiance from 1e-6 to 1e6";
                    let name = "clamp_indirect";
                    Some(source.number(&object, name, raw, expected, valid)? as f32)
                }
                None => None,
            },
            exposure_stops: match written.exposure {
                Some(raw) => source.number(
                    &Object::new("scene", raw),
                    "exposure",
                    raw,
                    "a number of stops from -32 to 32",
                    |stops| stops.abs() <= 32.0,
                )? as f32,
                None => 0.0,
            },
            tone: setting(
                source,
                "tone",
                written.tone,
                Tone::default(),
                "Srgb, AgX, Aces or Neutral",
                |_| Ok(()),
            )?,
        })
    }
}

/// Reads the optional setting `name` and checks it with `check`, whose `Err` completes the error message. Returns
/// `default` if the scene omits it.
///
/// `expected` describes the type in the error for a value of another type. Errors are [`Error::Scene`] at the value.
fn setting<T: DeserializeOwned + Copy>(
    source: &SceneSource,
    name: &str,
    raw: Option<Raw>,
    default: T,
    expected: &str,
    check: impl Fn(T) -> Result<(), String>,
) -> Result<T, Error> {
    let Some(raw) = raw else { return Ok(default) };
    let object = Object::new("scene", raw);
    let value = source.field(&object, name, raw, expected, |_| true)?;
    check(value).map_err(|problem| {
        let found = excerpt(raw.trim().get_ron());
        source.error(&object, raw, format!("{name}: found `{found}`: {problem}"))
    })?;
    Ok(value)
}
