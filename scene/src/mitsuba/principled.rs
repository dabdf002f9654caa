//! The principled BSDFs of Mitsuba, after B. Burley (2012 and 2015). Imports `bsdf`, `document` and `import`.

use glam::Vec3;

use super::{
    Converter,
    bsdf::{Bsdf, colored},
    document::Object,
    values::Value,
};
use crate::scene::{Parameter, Principled, Surface};

impl Converter<'_> {
    /// Converts a principled BSDF. `thin` is set for `principledthin`, a sheet without a volume. Parameters without a
    /// counterpart are named in a warning.
    pub(super) fn principled(&mut self, object: &Object, thin: bool) -> Result<Bsdf, String> {
        self.scene
            .note("approximated: `principled`, whose layers are combined in another way");
        for name in [
            "anisotropic",
            "sheen",
            "flatness",
            "spec_tint",
            "diff_trans",
        ] {
            if self.constant(object, name, 0.0)? != 0.0 {
                self.scene
                    .note(format!("not used: `{name}` of `principled`"));
                if name == "sheen" && self.constant(object, "sheen_tint", 0.0)? != 0.0 {
                    self.scene.note("not used: `sheen_tint` of `principled`");
                }
            }
        }
        let color = self.reflectance(object, "base_color", 0.5)?;
        let roughness = self.scalar(object, "roughness", 0.5)?;
        let metallic = self.scalar(object, "metallic", 0.0)?;
        let transmission = self.scalar(object, "spec_trans", 0.0)?;
        let clearcoat = self.scalar(object, "clearcoat", 0.0)?;
        let gloss = self
            .constant(object, "clearcoat_gloss", 0.0)?
            .clamp(0.0, 1.0);
        let ior = match object.value("eta").and_then(Value::number) {
            Some(eta) => eta as f32,
            None => {
                let specular = self.constant(object, "specular", 0.5)?.clamp(0.0, 1.0);
                2.0 / (1.0 - (0.08 * specular).sqrt()) - 1.0
            }
        };
        let mut bsdf = colored(color, |base_color| {
            Surface::Principled(Principled {
                base_color,
                ..Principled::default()
            })
        });
        let Bsdf { material, .. } = &mut bsdf;
        let Surface::Principled(principled) = &mut material.surface else {
            return Ok(bsdf);
        };
        let part = |number: f32| {
            if number.is_nan() {
                0.0
            } else {
                number.clamp(0.0, 1.0)
            }
        };
        let maps = &mut material.maps;
        principled.roughness = part(roughness.apply(Parameter::Roughness, maps));
        principled.metallic = part(metallic.apply(Parameter::Metallic, maps));
        principled.transmission = part(transmission.apply(Parameter::Transmission, maps));
        // The coat of the principled BSDF has a quarter of the strength of a physical one.
        principled.clearcoat = 0.25 * part(clearcoat.apply(Parameter::Clearcoat, maps));
        principled.clearcoat_roughness = (0.1 + (0.001 - 0.1) * gloss).sqrt();
        principled.ior = if ior.is_finite() {
            ior.clamp(0.1, 10.0)
        } else {
            1.5
        };
        principled.thin = thin;
        principled.one_sided = principled.transmission == 0.0 && !thin;
        principled.specular_color = Vec3::ONE;
        Ok(bsdf)
    }
}
