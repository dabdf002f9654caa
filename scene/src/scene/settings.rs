//! Overrides of a scene's render settings, for example from a command line, and the check of all settings.

use glam::Vec3;

use super::{Light, MaterialTexture, Parameter, Scene};
use crate::{
    Error,
    limits::{SAMPLE_LIMIT, check_brightness, check_max_bounces, check_size, check_spp},
};

/// Render settings that replace those of a scene. `None` keeps the scene's own value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SettingOverrides {
    /// Width and height of the image in pixels; replaces [`Scene::size`].
    pub size: Option<(u32, u32)>,
    /// Samples per pixel, at least 1; replaces [`Scene::spp`].
    pub spp: Option<u32>,
    /// Maximum number of times that a path may scatter, 0..=4096; replaces [`Scene::max_bounces`].
    pub max_bounces: Option<u32>,
    /// First scattering event at which Russian roulette may end a path, 0..=4096; replaces [`Scene::roulette`].
    pub roulette: Option<u32>,
    /// Upper limit for indirect light, 1e-6..=1e6 W·sr⁻¹·m⁻² per channel; replaces [`Scene::clamp_indirect`]. `None`
    /// cannot turn off a limit that the scene sets.
    pub clamp_indirect: Option<f32>,
    /// Seed of the random numbers, any value; replaces [`Scene::seed`].
    pub seed: Option<u32>,
}

impl Scene {
    /// Replaces every setting that `changes` contains, then calls [`Scene::check_settings`]. The value of
    /// `clamp_indirect` is not checked.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of range; the changes remain applied.
    pub fn apply_overrides(&mut self, changes: &SettingOverrides) -> Result<(), Error> {
        self.set_size(changes.size.unwrap_or(self.size));
        self.spp = changes.spp.unwrap_or(self.spp);
        self.max_bounces = changes.max_bounces.unwrap_or(self.max_bounces);
        self.roulette = changes.roulette.unwrap_or(self.roulette);
        self.seed = changes.seed.unwrap_or(self.seed);
        self.clamp_indirect = changes.clamp_indirect.or(self.clamp_indirect);
        self.check_settings()
    }
}

impl Scene {
    /// Checks that size, samples per pixel, bounces and roulette are in range, and that the film can accumulate the
    /// brightest radiance of the scene. Call it again after changing one.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the first setting out of range, or `spp` if a radiance is too bright for it.
    pub fn check_settings(&self) -> Result<(), Error> {
        let setting = |setting: String| move |problem| Error::Setting { setting, problem };
        check_size(self.size).map_err(setting(format!("size {}x{}", self.size.0, self.size.1)))?;
        check_max_bounces(self.max_bounces)
            .map_err(setting(format!("max_bounces {}", self.max_bounces)))?;
        check_max_bounces(self.roulette).map_err(setting(format!("roulette {}", self.roulette)))?;
        for light in &self.lights {
            if let Light::Environment(environment) = light
                && environment.brightest().max_element() >= SAMPLE_LIMIT
            {
                return Err(setting("the environment's scale".to_owned())(
                    "is too bright for the film; lower it".to_owned(),
                ));
            }
        }
        self.check_samples(self.spp)
    }

    /// Checks that the film can accumulate this number of samples per pixel, 1 or more, of the brightest radiance of
    /// the scene.
    ///
    /// # Errors
    /// [`Error::Setting`] that names `spp`.
    pub fn check_samples(&self, spp: u32) -> Result<(), Error> {
        let setting = |problem| Error::Setting {
            setting: format!("spp {spp}"),
            problem,
        };
        check_spp(spp).map_err(setting)?;
        let surfaces = (0..).zip(&self.materials).map(|(index, surface)| {
            let radiance = surface.radiance().max_element();
            let maps = self.maps.get(&index);
            match maps.and_then(|maps| maps.textures.get(&Parameter::Emission)) {
                Some(map) if radiance > 0.0 => radiance * self.brightest(map, radiance, spp),
                _ => radiance,
            }
        });
        let lights = self
            .lights
            .iter()
            .map(|light| light.max_visible_radiance().max_element());
        let brightest = surfaces
            .chain(
                [self.sky, self.background.radiance().unwrap_or_default()].map(Vec3::max_element),
            )
            .chain(lights)
            .fold(0.0, f32::max);
        check_brightness(brightest, spp).map_err(setting)
    }

    /// Returns the largest red, green or blue value, linear, in the image of the texture that `map` refers to. Returns
    /// 1 without reading an image that has no larger values, if that is not too bright with this radiance, and for an
    /// image that does not exist.
    fn brightest(&self, map: &MaterialTexture, radiance: f32, spp: u32) -> f32 {
        let Some(texture) = self.textures.get(map.texture as usize) else {
            return 1.0;
        };
        match self.images.get(texture.image as usize) {
            Some(image) if !image.is_at_most_one() || check_brightness(radiance, spp).is_err() => {
                image.brightest(texture.encoding)
            }
            _ => 1.0,
        }
    }
}
