//! The fields of metals, with the refractive indices of those that the field `preset` of conductors names.

use glam::Vec3;

use super::{
    error_text::alternatives,
    parameters::Parameters,
    source::{NumberRange, Raw},
};
use crate::{
    Error,
    error::excerpt,
    scene::{Metal, Parameter},
};

/// Metals by name, each with the real and the imaginary part of its refractive index for red, green and blue in linear
/// sRGB.
///
/// The values are averages of measured spectra, from `ComplexIorData.hpp` of B. Bitterli's renderer Tungsten, rounded
/// to four decimal places.
const METALS: &[(&str, Vec3, Vec3)] = &[
    (
        "aluminium",
        Vec3::new(1.6575, 0.8804, 0.5212),
        Vec3::new(9.2239, 6.2695, 4.8370),
    ),
    (
        "chromium",
        Vec3::new(4.3697, 2.9167, 1.6547),
        Vec3::new(5.2064, 4.2314, 3.7549),
    ),
    (
        "copper",
        Vec3::new(0.2004, 0.9240, 1.1022),
        Vec3::new(3.9129, 2.4528, 2.1422),
    ),
    (
        "gold",
        Vec3::new(0.1431, 0.3750, 1.4425),
        Vec3::new(3.9832, 2.3857, 1.6032),
    ),
    (
        "iridium",
        Vec3::new(3.0864, 2.0822, 1.6179),
        Vec3::new(5.5922, 4.0672, 3.2673),
    ),
    (
        "mercury",
        Vec3::new(2.3989, 1.4400, 0.9096),
        Vec3::new(6.3276, 4.3719, 3.4218),
    ),
    (
        "nickel",
        Vec3::new(2.3673, 1.6634, 1.4671),
        Vec3::new(4.4988, 3.0502, 2.3454),
    ),
    (
        "silver",
        Vec3::new(0.1553, 0.1167, 0.1384),
        Vec3::new(4.8283, 3.1222, 2.1470),
    ),
    (
        "tungsten",
        Vec3::new(4.3707, 3.3003, 2.9983),
        Vec3::new(3.5007, 2.6049, 2.2732),
    ),
];

impl<'a> Parameters<'_, '_, 'a> {
    /// Parses a metal, given by exactly one of preset name, complex index of refraction (`eta` and `k`) or color. All
    /// but a color may have a tint. Anything else is an [`Error::Scene`].
    pub(crate) fn metal(
        &mut self,
        preset: Option<Raw>,
        (eta, k): (Option<Raw>, Option<Raw>),
        color: Option<Raw>,
        tint: Option<Raw<'a>>,
    ) -> Result<Metal, Error> {
        if let (Some(_), Some(tint)) = (color, tint) {
            let problem = "`tint` has no effect with `color`; multiply both or remove one of them";
            return Err(self.source.error(self.object, tint, problem));
        }
        let tint = self.color_or("tint", tint, Parameter::Color, Vec3::ONE)?;
        let (source, object) = (self.source, self.object);
        let part = |field, raw| {
            let expected = "(r, g, b), each from 0 to 100";
            let part = source.triple(object, field, raw, expected, NumberRange::MetalIndex)?;
            Ok::<Vec3, Error>(part.as_vec3())
        };
        match (preset, eta, k, color) {
            (Some(raw), None, None, None) => {
                let expected = "the name of a metal in quotes";
                let name: String = source.field(object, "preset", raw, expected, |_| true)?;
                let known = METALS.iter().find(|&&(metal, ..)| metal == name);
                let &(_, eta, k) = known.ok_or_else(|| {
                    let names: Vec<&str> = METALS.iter().map(|&(metal, ..)| metal).collect();
                    let alternatives = alternatives(&name, &names);
                    let problem =
                        format!("preset: unknown metal `{}`{alternatives}", excerpt(&name));
                    source.error(object, raw, problem)
                })?;
                Ok(Metal::Index { eta, k, tint })
            }
            (None, Some(eta), Some(k), None) => Ok(Metal::Index {
                eta: part("eta", eta)?,
                k: part("k", k)?,
                tint,
            }),
            (None, None, None, Some(raw)) => {
                let expected = "(r, g, b), each from 0 to 1";
                let color = source.triple(object, "color", raw, expected, NumberRange::Fraction)?;
                Ok(Metal::Color(color.as_vec3()))
            }
            _ => Err(source.error(
                object,
                object.raw,
                "expected the metal as exactly one of `preset`, `eta` with `k`, or `color`",
            )),
        }
    }
}
