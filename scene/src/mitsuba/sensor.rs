//! Sensors, films, samplers and integrators of Mitsuba.

use glam::{DVec3, Vec3};

use super::{
    Converter,
    document::Object,
    values::{self, Value},
};
use crate::{
    error::excerpt,
    import::{Crop, View, ViewExtent},
    limits::{DEFAULT_ROULETTE, MAX_BOUNCES, check_sides},
    scene::{Background, PixelFilter},
};

/// Maximum number of bounces for an integrator without a limit. Russian roulette ends almost all paths earlier.
const UNLIMITED_BOUNCES: f64 = 128.0;
/// Diagonal of 35 mm film (36 mm × 24 mm) in millimetres, which relates a focal length to an angle of view.
const FILM_DIAGONAL: f64 = 43.266_615_305_567_87;

impl Converter<'_> {
    /// Sets the maximum number of bounces to that of the scene's integrator. Adds warnings for what is not used.
    pub(super) fn settings(&mut self) {
        let document = self.document;
        let Some(mut integrator) = document.child_of_kind(&document.root, "integrator") else {
            self.scene.max_bounces = UNLIMITED_BOUNCES as u32;
            return;
        };
        // Some integrators, such as `aov` and `moment`, contain the one that computes the light.
        for _ in 0..4 {
            match document.child_of_kind(integrator, "integrator") {
                Some(inner) => integrator = inner,
                None => break,
            }
        }
        let depth = match integrator.plugin.as_str() {
            "direct" => 2.0,
            _ => integrator.number("max_depth", -1.0),
        };
        let bounces = if depth < 0.0 {
            UNLIMITED_BOUNCES
        } else {
            depth - 1.0
        };
        self.scene.max_bounces = bounces.clamp(0.0, f64::from(MAX_BOUNCES)) as u32;
        // Both count the scattering events, and scale the probability by the refractive index.
        self.scene.roulette = (integrator
            .number("rr_depth", f64::from(DEFAULT_ROULETTE))
            .clamp(1.0, f64::from(MAX_BOUNCES))) as u32;
        self.hides_emitters = integrator.flag("hide_emitters", false);
        if self.hides_emitters {
            self.scene.background = Background::Color(Vec3::ZERO);
        }
        let known = [
            "path",
            "volpath",
            "volpathmis",
            "direct",
            "prb",
            "ptracer",
            "bdpt",
        ];
        if !known.contains(&integrator.plugin.as_str()) {
            let plugin = excerpt(&integrator.plugin);
            self.scene.note(format!(
                "not used: the integrator `{plugin}`; paths are traced"
            ));
        }
    }

    /// Reads a sensor with its film and its sampler.
    pub(super) fn sensor(&mut self, sensor: &Object) -> Result<(), String> {
        let document = self.document;
        let (mut width, mut height) = (768.0, 576.0);
        let mut filter = Ok(gaussian(0.5));
        let mut crop = None;
        if let Some(film) = document.child_of_kind(sensor, "film") {
            (width, height) = (film.number("width", width), film.number("height", height));
            if let Some(of) = document.child_of_kind(film, "rfilter") {
                filter = pixel_filter(of);
            }
            crop = crop_of(film, width, height);
            let format = film.text("pixel_format", "rgb").to_lowercase();
            if self.hides_emitters && ["rgba", "luminance_alpha"].contains(&format.as_str()) {
                self.scene.background = Background::Transparent;
            }
        }
        let sides = |width: f64, height: f64| -> Result<(u32, u32), String> {
            let size = (width.clamp(0.0, 1e9) as u32, height.clamp(0.0, 1e9) as u32);
            check_sides(size).map_err(|problem| format!("size {}x{} {problem}", size.0, size.1))?;
            Ok(size)
        };
        sides(width, height)?;
        let filter = filter.unwrap_or_else(|(name, nearest)| {
            let text = format!("approximated: the filter `{name}` by a Gaussian");
            self.scene.note(text);
            nearest
        });
        if let Some(sampler) = document.child_of_kind(sensor, "sampler") {
            let count = sampler.number("sample_count", 64.0);
            self.scene.spp = count.clamp(1.0, 1e6) as u32;
        }
        let to_world = self.transform(sensor, "to_world");
        let axis = |axis: DVec3| to_world.transform_vector3(axis);
        let aspect_ratio = width / height;
        let mut pixel_aspect = 1.0;
        let extent = match sensor.plugin.as_str() {
            "orthographic" => {
                let (right, up) = (axis(DVec3::X).length(), axis(DVec3::Y).length());
                if (right / up - 1.0).abs() > 1e-9 {
                    pixel_aspect = right / up;
                }
                ViewExtent::Orthographic(right)
            }
            "perspective" | "thinlens" => {
                ViewExtent::Perspective(half_width(sensor, aspect_ratio)?)
            }
            plugin => {
                let plugin = excerpt(plugin);
                self.scene.note(format!(
                    "approximated: the sensor `{plugin}` by a perspective camera"
                ));
                ViewExtent::Perspective(half_width(sensor, aspect_ratio)?)
            }
        };
        let offset = |axis: &str| match sensor.plugin.as_str() {
            // Mitsuba ignores the offsets of other sensors.
            "perspective" => sensor.number(&format!("principal_point_offset_{axis}"), 0.0),
            _ => 0.0,
        };
        let shift = [offset("x"), -offset("y")];
        let crop = crop.unwrap_or(Crop {
            corner: [0.0; 2],
            size: [width, height],
        });
        self.scene.size = sides(crop.size[0], crop.size[1])?;
        let lens = (sensor.plugin == "thinlens").then(|| {
            let radius = sensor.number("aperture_radius", 0.0);
            (radius, sensor.number("focus_distance", 1e4))
        });
        let forward = axis(DVec3::Z);
        let (near, mut far) = (
            sensor.number("near_clip", 1e-2),
            sensor.number("far_clip", 1e4),
        );
        if let ViewExtent::Orthographic(_) = extent {
            // Mitsuba scales the distance of the near plane and not that between both planes.
            far = near + (far - near) / forward.length();
        }
        self.scene.view = Some(View {
            origin: to_world.translation,
            // Mitsuba's x axis points to the left in the image.
            right: -axis(DVec3::X),
            up: axis(DVec3::Y),
            forward,
            extent: extent.scaled(crop.size[0] / width),
            pixel_aspect,
            shift: crop.shift([width, height], shift),
            lens: lens.filter(|&(radius, _)| radius > 0.0),
            filter,
            clip: Some([near, far]),
        });
        Ok(())
    }
}

/// Returns the crop of a film of this size in pixels; `None` if it has no pixel.
fn crop_of(film: &Object, width: f64, height: f64) -> Option<Crop> {
    let x = film.number("crop_offset_x", 0.0);
    let y = film.number("crop_offset_y", 0.0);
    let crop_width = film.number("crop_width", width);
    let crop_height = film.number("crop_height", height);
    (crop_width >= 1.0 && crop_height >= 1.0).then_some(Crop {
        corner: [x, y],
        size: [crop_width, crop_height],
    })
}

/// Returns the tangent of half the horizontal angle of view of a camera or a projector, from `fov` or else from
/// `focal_length`. Fails if the angle is not between 0 and 180 degrees, or the focal length is not above 0.
pub(super) fn half_width(sensor: &Object, aspect_ratio: f64) -> Result<f64, String> {
    let diagonal = (1.0 + 1.0 / (aspect_ratio * aspect_ratio)).sqrt();
    let Some(fov) = sensor.value("fov").and_then(Value::number) else {
        let text = match sensor.value("focal_length") {
            Some(Value::Text(text)) => text.clone(),
            Some(&Value::Number(number)) => number.to_string(),
            _ => "50".to_owned(),
        };
        let millimetres = values::numbers(text.trim().trim_end_matches("mm"));
        return match millimetres.as_deref() {
            Some(&[length]) if length > 0.0 => Ok(FILM_DIAGONAL / (2.0 * length) / diagonal),
            _ => Err(format!(
                "focal_length: found `{}`, expected millimetres such as 50mm",
                excerpt(&text)
            )),
        };
    };
    if !(fov > 0.0 && fov < 180.0) {
        return Err(format!(
            "fov: found {fov}, expected an angle between 0 and 180 degrees"
        ));
    }
    let tangent = libm::tan(fov.to_radians() / 2.0);
    let wide = aspect_ratio >= 1.0;
    Ok(match sensor.text("fov_axis", "x") {
        "y" => tangent * aspect_ratio,
        "smaller" if wide => tangent * aspect_ratio,
        "larger" if !wide => tangent * aspect_ratio,
        "diagonal" => tangent / diagonal,
        _ => tangent,
    })
}

/// Returns the Gaussian filter of Mitsuba with this standard deviation in pixels, which is clamped to 0.01..=4. It ends
/// at 4 standard deviations.
fn gaussian(deviation: f64) -> PixelFilter {
    let sigma = deviation.clamp(0.01, 4.0) as f32;
    PixelFilter::Gaussian {
        radius: 4.0 * sigma,
        sigma,
    }
}

/// Returns the pixel filter. For a type that does not exist here, the error is its name and the nearest Gaussian
/// filter.
fn pixel_filter(filter: &Object) -> Result<PixelFilter, (String, PixelFilter)> {
    match filter.plugin.as_str() {
        "box" => Ok(PixelFilter::Box {
            radius: filter.number("radius", 0.5).clamp(0.01, 16.0) as f32,
        }),
        "gaussian" => Ok(gaussian(filter.number("stddev", 0.5))),
        plugin => {
            let radius = match plugin {
                "tent" => filter.number("radius", 1.0).clamp(0.01, 16.0) as f32,
                _ => 2.0,
            };
            let sigma = if plugin == "tent" { 0.45 * radius } else { 0.5 };
            Err((excerpt(plugin), PixelFilter::Gaussian { radius, sigma }))
        }
    }
}
