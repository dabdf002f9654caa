//! Reads media: the field `fog` of a scene file, and `medium` and `priority` of materials.

use glam::{DVec3, Vec3};

use super::{
    parameters::Parameters,
    source::{Object, Raw, SceneSource},
    text::MediumText,
};
use crate::{
    Error,
    scene::{COEFFICIENTS, MAX_ANISOTROPY, MIN_FOG_EXTINCTION, Medium},
};

/// Reads the optional field `fog`. Invalid values are an [`Error::Scene`].
pub(super) fn fog<'a>(
    source: &SceneSource<'a>,
    raw: Option<Raw<'a>>,
) -> Result<Option<Medium>, Error> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let object = Object::new("fog", raw);
    let fog = medium(source, &object)?;
    if f64::from(fog.extinction().min_element()) < MIN_FOG_EXTINCTION {
        let problem = "the sum of `scattering` and `absorption` is below 1e-6 per metre in a channel; choose more, or \
                       remove `fog`";
        return Err(source.error(&object, raw, problem));
    }
    Ok(Some(fog))
}

/// Reads the medium that is `object`. Invalid values are an [`Error::Scene`].
fn medium<'a>(source: &SceneSource<'a>, object: &Object<'a>) -> Result<Medium, Error> {
    let written: MediumText = source.parse(object)?;
    let coefficients = |field: &str, raw: Raw| -> Result<Vec3, Error> {
        let expected = "(r, g, b), each from 0 to 1e6 per metre";
        let valid = |values: &[f64; 3]| values.iter().all(|value| COEFFICIENTS.contains(value));
        let values = source.field(object, field, raw, expected, valid)?;
        Ok(DVec3::from_array(values).as_vec3())
    };
    let scattering = coefficients("scattering", written.scattering)?;
    let absorption = match written.absorption {
        Some(raw) => coefficients("absorption", raw)?,
        None => Vec3::ZERO,
    };
    let anisotropy = match written.anisotropy {
        Some(raw) => {
            let expected = "a number from -0.99 to 0.99";
            let valid = |value: f64| value.abs() <= MAX_ANISOTROPY;
            source.number(object, "anisotropy", raw, expected, valid)? as f32
        }
        None => 0.0,
    };
    Ok(Medium {
        scattering,
        absorption,
        anisotropy,
    })
}

impl<'a> Parameters<'_, '_, 'a> {
    /// Parses the optional field `priority` of a body, and stores it. On a surface that is `thin`, it is an
    /// [`Error::Scene`].
    pub(crate) fn priority(&mut self, raw: Option<Raw<'a>>, thin: bool) -> Result<(), Error> {
        let Some(raw) = raw else {
            return Ok(());
        };
        if thin {
            let problem = "priority: a thin surface has nothing inside; remove one of them";
            return Err(self.source.error(self.object, raw, problem));
        }
        let expected = "a whole number from 0 to 255";
        let valid = |value: f64| value.fract() == 0.0 && (0.0..=255.0).contains(&value);
        let number = self
            .source
            .number(self.object, "priority", raw, expected, valid)?;
        self.priority = number as u8;
        Ok(())
    }

    /// Parses the optional field `medium` of a body, and stores it. Beside the field `absorption`, and on a surface that
    /// is `thin`, it is an [`Error::Scene`].
    pub(crate) fn medium(
        &mut self,
        raw: Option<Raw<'a>>,
        absorption: Option<Raw<'a>>,
        thin: bool,
    ) -> Result<(), Error> {
        let Some(raw) = raw else {
            return Ok(());
        };
        let problem = match (absorption, thin) {
            (Some(_), _) => "medium: has an `absorption` of its own; remove that of the material",
            (None, true) => "medium: a thin surface has nothing inside; remove one of them",
            (None, false) => {
                let object = Object::new(format!("medium of {}", self.object.name), raw);
                self.medium = Some(medium(self.source, &object)?);
                return Ok(());
            }
        };
        Err(self.source.error(self.object, raw, problem))
    }
}
