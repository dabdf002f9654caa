//! From a scene's text to a checked scene.

use std::{path::Path, sync::Arc};

use glam::Vec3;
use serde::de::DeserializeOwned;

use super::{
    DirectLight, Scene, Surface,
    camera::camera,
    geometry::Geometry,
    lights::lights,
    limits::{CLAMPS, check_max_bounces, check_size, check_spp},
    materials::{Materials, materials, radiance},
    objects::{Builder, object_name},
    source::{Object, Raw, Source, excerpt},
    text::SceneText,
};
use crate::{Error, tone::Tone, world::MOST_PLACED_LIGHTS};

pub(super) fn scene(path: &Path, text: &str) -> Result<Scene, Error> {
    let source = &Source::new(path, text);
    let written: SceneText = source.parse_all()?;
    let settings = Settings::read(source, &written)?;
    let camera = camera(source, &Object::new("camera", written.camera))?;
    let sky = written.sky.map_or(Ok(Vec3::ZERO), |raw| {
        radiance(source, &Object::new("sky", raw), raw, settings.spp)
    })?;
    let direct_light = setting(
        source,
        "direct_light",
        written.direct_light,
        DirectLight::Both,
        "Both, Lights or Bsdf",
        |_| Ok(()),
    )?;
    let (mut lights, light_notes) = lights(source, &written.lights, settings.spp)?;
    let materials = materials(source, &written.materials, settings.spp)?;
    let mut builder = Builder::new(source, materials, settings.spp);
    for (index, raw) in written.objects.0.iter().enumerate() {
        builder.object(&Object::new(object_name(index, raw), raw))?;
    }
    let (geometry, materials, more_lights, mut notes) = builder.finish();
    lights.extend(more_lights);
    let Geometry {
        triangles,
        spheres,
        meshes,
        instances,
    } = geometry;
    let Materials {
        surfaces: materials,
        titles: material_names,
        maps,
        library,
        ..
    } = materials;
    let shines = |material: &Surface| material.radiance() != Vec3::ZERO;
    notes.extend(light_notes);
    if sky == Vec3::ZERO && lights.is_empty() && !materials.iter().any(shines) {
        notes.push("nothing in the scene shines: the picture will be black".to_owned());
    }
    let mut scene = Scene {
        path: path.to_owned(),
        size: settings.size,
        spp: settings.spp,
        max_bounces: settings.max_bounces,
        seed: settings.seed,
        clamp_indirect: settings.clamp_indirect,
        exposure_stops: settings.exposure_stops,
        tone: settings.tone,
        camera,
        framing: None,
        sky,
        direct_light,
        lights,
        materials,
        material_names,
        maps,
        textures: library.textures,
        images: library.images,
        triangles: Arc::new(triangles),
        spheres: Arc::new(spheres),
        meshes: Arc::new(meshes),
        instances: Arc::new(instances),
        notes,
        files: Vec::new(),
    };
    let shining = scene.shining_triangles();
    if shining > MOST_PLACED_LIGHTS {
        scene.notes.push(format!(
            "{shining} triangles of instances shine, and paths find them by chance alone: the picture will be noisy; \
             {MOST_PLACED_LIGHTS} can be looked for, so use a mesh of fewer triangles"
        ));
    }
    Ok(scene)
}

/// The numbers that a scene gives and the command line may change.
struct Settings {
    size: (u32, u32),
    spp: u32,
    max_bounces: u32,
    seed: u32,
    clamp_indirect: Option<f32>,
    exposure_stops: f32,
    tone: Tone,
}

impl Settings {
    fn read(source: &Source, written: &SceneText) -> Result<Settings, Error> {
        let whole = "a whole number from 0 to 4294967295";
        let sides = "(width, height) in whole pixels";
        Ok(Settings {
            size: setting(source, "size", written.size, (512, 512), sides, check_size)?,
            spp: setting(source, "spp", written.spp, 64, whole, check_spp)?,
            max_bounces: setting(
                source,
                "max_bounces",
                written.max_bounces,
                8,
                whole,
                check_max_bounces,
            )?,
            seed: setting(source, "seed", written.seed, 0, whole, |_| Ok(()))?,
            clamp_indirect: match written.clamp_indirect {
                Some(raw) => {
                    let object = Object::new("scene", raw);
                    let valid = |most: f64| CLAMPS.contains(&(most as f32));
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
                    "stops from -32 to 32",
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

fn setting<T: DeserializeOwned + Copy>(
    source: &Source,
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
