//! Writes a model that was opened without a scene file as the text of a scene file.

use std::{
    fmt::Write,
    path::{Component, Path, PathBuf},
};

use glam::{DVec3, Vec3};

use super::edit::{point, triple};
use crate::{
    Error, LoadOptions,
    atomic_file::folder_of,
    files::display_path,
    limits::{DEFAULT_ROULETTE, SAMPLE_LIMIT},
    origin::position_in_file,
    scene::{Background, Environment, EnvironmentSource, Light, Scene, SpotFalloff},
    surroundings::Surroundings,
};

/// Returns the text of a scene file at `path` that renders like `scene`, a model that was loaded with `options`.
/// `surroundings` is the light from infinity around it.
///
/// # Errors
/// [`Error::File`] if the format cannot express a light or a path.
pub(crate) fn scene_text(
    scene: &Scene,
    options: &LoadOptions,
    surroundings: &Surroundings,
    path: &Path,
) -> Result<String, Error> {
    let model = display_path(&scene.path);
    let text = ron(scene, options, surroundings, path);
    text.map_err(|problem| Error::File {
        file: model,
        problem,
    })
}

/// Returns the text like [`scene_text`]. Errors are one line without the path of the model.
fn ron(
    scene: &Scene,
    options: &LoadOptions,
    surroundings: &Surroundings,
    path: &Path,
) -> Result<String, String> {
    let name = scene.path.file_name().unwrap_or_default();
    let mut text = format!(
        "// {} with its camera and light, to continue from.\n(\n",
        crate::escaped(&name.to_string_lossy())
    );
    let mut field = |field: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "    {field}: {value},");
    };
    field("size", format!("({}, {})", scene.size.0, scene.size.1));
    field("spp", scene.spp.to_string());
    field("max_bounces", scene.max_bounces.to_string());
    if scene.roulette != DEFAULT_ROULETTE {
        field("roulette", scene.roulette.to_string());
    }
    if scene.seed != 0 {
        field("seed", scene.seed.to_string());
    }
    if let Some(clamp) = scene.clamp_indirect {
        field("clamp_indirect", clamp.to_string());
    }
    field("exposure", scene.exposure_stops.to_string());
    field("tone", format!("{:?}", scene.tone));
    let camera = scene.camera.to_ron(scene.origin);
    let camera = camera.trim_start_matches("camera: ").trim_end_matches(',');
    field("camera", camera.to_owned());
    if scene.sky != Vec3::ZERO {
        field("sky", triple(scene.sky));
    }
    match scene.background {
        Background::Environment => {}
        Background::Color(radiance) => field("background", triple(radiance)),
        Background::Transparent => field("background", "Transparent".to_owned()),
    }
    if let Some(height) = scene.shadow_catcher {
        let point = position_in_file(Vec3::Y * height, scene.origin);
        field("shadow_catcher", point.y.to_string());
    }
    if let Some(fog) = scene.fog {
        let (scattering, absorption) = (triple(fog.scattering), triple(fog.absorption));
        let anisotropy = fog.anisotropy;
        field(
            "fog",
            format!(
                "(scattering: {scattering}, absorption: {absorption}, anisotropy: {anisotropy})"
            ),
        );
    }
    let mut lights = lights(&scene.lights, scene.origin)?;
    lights.extend(environment(scene, surroundings, path)?);
    let listed = |lines: Vec<String>| {
        let lines = lines.iter().map(|line| format!("        {line},\n"));
        format!("[\n{}    ]", lines.collect::<String>())
    };
    let has_lamps = scene.lights.iter().any(is_lamp);
    if !lights.is_empty() {
        field("lights", listed(lights));
    }
    field(
        "objects",
        listed(vec![object(scene, options, has_lamps, path)?]),
    );
    text.push_str(")\n");
    Ok(text)
}

/// Returns whether a light is not an environment.
fn is_lamp(light: &Light) -> bool {
    !matches!(light, Light::Environment(_))
}

/// Returns the entries of `lights` for the lights that are not environments. `origin` is [`Scene::origin`].
///
/// # Errors
/// A one-line message if a light is too bright for a scene file.
fn lights(lights: &[Light], origin: DVec3) -> Result<Vec<String>, String> {
    let strength = |strength: Vec3| {
        if strength.max_element() < SAMPLE_LIMIT {
            return Ok(triple(strength));
        }
        Err(format!(
            "has a light of {}, and those of a scene file are below {SAMPLE_LIMIT}; reduce it in the model",
            strength.max_element()
        ))
    };
    let lamp = |light: &Light| {
        Ok(match *light {
            Light::Point {
                position,
                intensity,
            } => format!(
                "Point(position: {}, intensity: {})",
                point(position, origin),
                strength(intensity)?
            ),
            Light::Spot {
                position,
                direction,
                intensity,
                inner_degrees,
                outer_degrees,
                falloff,
            } => {
                let falloff = match falloff {
                    SpotFalloff::Squared => String::new(),
                    other => format!(", falloff: {other:?}"),
                };
                format!(
                    "Spot(position: {}, direction: {}, intensity: {}, inner: {inner_degrees}, outer: {outer_degrees}{falloff})",
                    point(position, origin),
                    triple(direction),
                    strength(intensity)?
                )
            }
            Light::Directional {
                direction,
                irradiance,
                angle_degrees,
            } => format!(
                "Directional(direction: {}, irradiance: {}, angle: {angle_degrees})",
                triple(direction),
                strength(irradiance)?
            ),
            Light::Environment(_) => String::new(),
        })
    };
    lights
        .iter()
        .filter(|light| is_lamp(light))
        .map(lamp)
        .collect()
}

/// Returns the entry of `lights` for the environment of `scene`, which users may have edited since the model was
/// loaded; `None` for a backdrop, which is a `sky`. `surroundings` has the file of an environment map.
///
/// # Errors
/// A one-line message if the path of an environment map is not text.
fn environment(
    scene: &Scene,
    surroundings: &Surroundings,
    path: &Path,
) -> Result<Option<String>, String> {
    let mut lights = scene.lights.iter();
    let environment = lights.find_map(|light| match light {
        Light::Environment(environment) => Some(environment),
        _ => None,
    });
    let Some(Environment { scale, source, .. }) = environment else {
        return Ok(None);
    };
    Ok(match (source, surroundings) {
        (EnvironmentSource::Studio { azimuth }, _) => {
            Some(format!("Studio(azimuth: {azimuth}, scale: {scale})"))
        }
        (EnvironmentSource::Map { rotate_y }, Surroundings::File(file)) => Some(format!(
            "Environment(file: {}, scale: {scale}, rotate_y: {rotate_y})",
            quoted_path(&file.path, path)?,
        )),
        _ => None,
    })
}

/// Returns the entry of `objects` for the model. If `has_lamps` is set, the lights of its file are turned off.
///
/// # Errors
/// A one-line message if the path of the model is not text.
fn object(
    scene: &Scene,
    options: &LoadOptions,
    has_lamps: bool,
    path: &Path,
) -> Result<String, String> {
    let mut text = format!("Model(file: {}", quoted_path(&scene.path, path)?);
    let mut field = |field: &str, value: String| {
        let _ = write!(text, ", {field}: {value}");
    };
    if has_lamps {
        field("lights", "false".to_owned());
    }
    if let Some(variant) = &options.variant {
        field("variant", format!("{variant:?}"));
    }
    if let Some(animation) = &options.animation {
        field("animation", format!("{animation:?}"));
    }
    if let Some(time) = options.time {
        field("time", time.to_string());
    }
    if let Some(width) = options.line_width {
        field("line_width", width.to_string());
    }
    let rotate = options.up.unwrap_or_default().rotate_degrees();
    if rotate != [0.0; 3] {
        field(
            "rotate",
            format!("({}, {}, {})", rotate[0], rotate[1], rotate[2]),
        );
    }
    text.push(')');
    Ok(text)
}

/// Returns the path of `file`, relative to the folder of the scene file at `scene`, in quotes.
///
/// # Errors
/// A one-line message if the path is not text.
fn quoted_path(file: &Path, scene: &Path) -> Result<String, String> {
    // The file itself may be a link, beside which other files of a model are found.
    let folder = |path: &Path| {
        let folder = folder_of(path);
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
    };
    let file = folder(file).join(file.file_name().unwrap_or_default());
    let relative = relative_to(&file, &folder(scene));
    let text = relative.to_str().ok_or_else(|| {
        format!(
            "cannot be named in a scene file, because the path {} is not text in UTF-8; rename it",
            display_path(&relative)
        )
    })?;
    // Scene files have the same paths on all systems.
    Ok(format!(
        "{:?}",
        text.replace(std::path::MAIN_SEPARATOR, "/")
    ))
}

/// Returns the path of `file` as seen from `folder`, both absolute. It is absolute if both have nothing in common.
fn relative_to(file: &Path, folder: &Path) -> PathBuf {
    let (from, to): (Vec<Component>, Vec<Component>) =
        (folder.components().collect(), file.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    // The root alone is no common folder.
    if common < 2 {
        return file.to_owned();
    }
    let up = from[common..].iter().map(|_| Component::ParentDir);
    up.chain(to[common..].iter().copied()).collect()
}
