//! Camera, film, pixel filter and integrator of pbrt.

use glam::DVec3;

use super::{Converter, parameters::Parameters};
use crate::{
    error::excerpt,
    import::{Crop, View, ViewExtent},
    limits::{MAX_BOUNCES, check_sides},
    scene::PixelFilter,
};

impl Converter {
    /// Sets the samples per pixel to those of a sampler.
    pub(super) fn sampler(&mut self, kind: &str, parameters: &Parameters) {
        let samples = match kind {
            "stratified" => parameters.number("xsamples", 4.0) * parameters.number("ysamples", 4.0),
            "independent" => parameters.number("pixelsamples", 4.0),
            _ => parameters.number("pixelsamples", 16.0),
        };
        self.scene.spp = samples.clamp(1.0, 1e6) as u32;
    }

    /// Adds warnings for options that would change the image.
    pub(super) fn options(&mut self, options: &Parameters) {
        let changes = ["disablepixeljitter", "disableimagetextures", "forcediffuse"];
        for name in changes.iter().filter(|name| options.flag(name, false)) {
            self.note(format!("not used: the option `{name}`"));
        }
        let scale = "displacementedgescale";
        if options.names().any(|name| name == scale) {
            self.note(format!("not used: the option `{scale}`"));
        }
    }

    /// Sets the maximum number of bounces to that of an integrator. Adds a warning if its type is unknown.
    pub(super) fn integrator(&mut self, (kind, parameters): &(String, Parameters)) {
        self.scene.max_bounces = parameters
            .number("maxdepth", 5.0)
            .clamp(0.0, f64::from(MAX_BOUNCES)) as u32;
        if parameters.flag("regularize", false) {
            self.note("not used: `regularize`, so that caustics are noisier and sharper");
        }
        let known = [
            "path",
            "volpath",
            "simplepath",
            "simplevolpath",
            "bdpt",
            "mlt",
            "sppm",
            "lightpath",
        ];
        if !known.contains(&kind.as_str()) {
            let kind = excerpt(kind);
            self.note(format!(
                "not used: the integrator `{kind}`; paths are traced"
            ));
        }
    }

    /// Converts the camera with its film and filter, after the whole scene was read. Fails if the size of the film or
    /// the angle of view is invalid.
    pub(super) fn finish_camera(&mut self) -> Result<(), String> {
        let film = std::mem::take(&mut self.film);
        let (width, height) = (
            film.number("xresolution", 1280.0),
            film.number("yresolution", 720.0),
        );
        let size = (width.clamp(0.0, 1e9) as u32, height.clamp(0.0, 1e9) as u32);
        check_sides(size)
            .map_err(|problem| format!("Film: size {}x{} {problem}", size.0, size.1))?;
        self.scene.size = size;
        let filter = self.pixel_filter();
        let shutter = self.camera.as_ref().map_or(1.0, |(_, parameters, _)| {
            let time = |name: &str, default: f64| parameters.number(name, default);
            (time("shutterclose", 1.0) - time("shutteropen", 0.0)).abs()
        });
        // Older versions have the time in the film.
        let time = film.number("exposuretime", shutter);
        let exposure = film.number("iso", 100.0) / 100.0 * time;
        if exposure > 0.0 {
            self.scene.exposure_stops = libm::log2(exposure).clamp(-32.0, 32.0) as f32;
        }
        if film.text("sensor", "cie1931") != "cie1931" {
            self.note("not used: the sensor of the film; colors are those of the CIE observer");
            // Other sensors multiply the exposure by a constant that is not known here.
            self.scene.exposure_stops = 0.0;
        }
        if film.number("whitebalance", 0.0) != 0.0 {
            self.note("not used: `whitebalance` of the film; balance the image instead");
        }
        if film.get("maxcomponentvalue").is_some() {
            self.note(
                "not used: `maxcomponentvalue` of the film; `--clamp-indirect` removes fireflies",
            );
        }
        let Some((kind, parameters, to_world)) = self.camera.take() else {
            return Ok(());
        };
        let aspect_ratio = parameters.number("frameaspectratio", width / height);
        let mut half_width = aspect_ratio.max(1.0);
        let mut half_height = (1.0 / aspect_ratio).max(1.0);
        let mut shift = [0.0; 2];
        if let &[left, right, bottom, top] = parameters.numbers("screenwindow") {
            if !(right > left && top > bottom) {
                return Err(format!(
                    "Camera: screenwindow: found {left} {right} {bottom} {top}, expected left, right, bottom and top in ascending pairs"
                ));
            }
            half_width = (right - left) / 2.0;
            half_height = (top - bottom) / 2.0;
            let center = |low: f64, high: f64| (low + high) / 2.0 / (high - low);
            shift = [center(left, right), center(bottom, top)];
        }
        let axis = |axis: DVec3| to_world.transform_vector3(axis);
        let [across, up, along] = [DVec3::X, DVec3::Y, DVec3::Z].map(|of| axis(of).length());
        let pixel_aspect = (half_width * across / width) / (half_height * up / height);
        // Rounding does not make square pixels oblong.
        let pixel_aspect = match (pixel_aspect - 1.0).abs() > 1e-6 {
            true => pixel_aspect,
            false => 1.0,
        };
        let crop = film.numbers("cropwindow");
        let crop_pixels = film.numbers("pixelbounds");
        let crop = match (crop, crop_pixels) {
            (&[left, right, top, bottom], _) => {
                Some([left * width, right * width, top * height, bottom * height])
            }
            (_, &[left, right, top, bottom]) => Some([left, right, top, bottom]),
            _ => None,
        };
        // As in pbrt, a pixel belongs to the crop if its upper left corner does.
        let pixel = |place: f64, count: f64| (place - 1e-4).ceil().clamp(0.0, count);
        if let Some([left, right, top, bottom]) = crop {
            let [left, right] = [left, right].map(|place| pixel(place, width));
            let [top, bottom] = [top, bottom].map(|place| pixel(place, height));
            if !(right > left && bottom > top) {
                return Err(
                    "Film: the crop has no pixel; expected left, right, top and bottom in ascending pairs"
                        .to_owned(),
                );
            }
            let crop = Crop {
                corner: [left, top],
                size: [right - left, bottom - top],
            };
            half_width *= crop.size[0] / width;
            shift = crop.shift([width, height], shift);
            self.scene.size = (crop.size[0] as u32, crop.size[1] as u32);
        }
        let extent = if kind == "orthographic" {
            ViewExtent::Orthographic(half_width * across)
        } else {
            if kind != "perspective" {
                self.note(format!(
                    "approximated: the camera `{}` by a perspective one",
                    excerpt(&kind)
                ));
            }
            let fov = parameters.number("fov", 90.0);
            if !(fov > 0.0 && fov < 180.0) {
                return Err(format!(
                    "Camera: fov: found {fov}, expected an angle between 0 and 180 degrees"
                ));
            }
            let tangent = libm::tan(fov.to_radians() / 2.0) * half_width;
            ViewExtent::Perspective(match (across / along - 1.0).abs() > 1e-6 {
                true => tangent * across / along,
                false => tangent,
            })
        };
        let radius = parameters.number("lensradius", 0.0);
        self.scene.view = Some(View {
            origin: to_world.translation,
            right: axis(DVec3::X),
            up: axis(DVec3::Y),
            forward: axis(DVec3::Z),
            extent,
            pixel_aspect,
            shift,
            lens: (radius > 0.0).then(|| (radius, parameters.number("focaldistance", 1e6))),
            filter,
            clip: None,
        });
        Ok(())
    }

    /// Returns the pixel filter; pbrt's default, a Gaussian, if the file has none.
    fn pixel_filter(&mut self) -> PixelFilter {
        let (kind, parameters) = self
            .filter
            .take()
            .unwrap_or_else(|| ("gaussian".to_owned(), Parameters::default()));
        let mut is_even = true;
        let mut radius = |default: f64| {
            let (x, y) = (
                parameters.number("xradius", default),
                parameters.number("yradius", default),
            );
            is_even = x == y;
            let radius = if is_even { x } else { (x + y) / 2.0 };
            radius.clamp(0.01, 16.0) as f32
        };
        let filter = match kind.as_str() {
            "box" => PixelFilter::Box {
                radius: radius(0.5),
            },
            "gaussian" => {
                let radius = radius(1.5);
                let sigma = parameters.number("sigma", 0.5) as f32;
                PixelFilter::Gaussian {
                    radius,
                    sigma: sigma.clamp(radius / 8.0, radius * 8.0),
                }
            }
            kind => {
                let kind_name = excerpt(kind);
                let radius = radius(2.0);
                let sigma = if kind == "triangle" {
                    0.45 * radius
                } else {
                    0.5_f32.max(radius / 8.0)
                };
                self.scene.note(format!(
                    "approximated: the filter `{kind_name}` by a Gaussian"
                ));
                PixelFilter::Gaussian { radius, sigma }
            }
        };
        if !is_even {
            self.note("approximated: the two radii of the pixel filter by their mean");
        }
        filter
    }
}
