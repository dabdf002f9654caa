//! Reads transforms, and the grids and random distributions of instances.

use glam::DVec3;

use super::{
    source::{NumberRange, Object, Raw, SceneSource},
    text::{GridText, ScatterText},
};
use crate::{
    Error,
    builder::{
        placement::{Grid, Scatter},
        transform::Transform,
    },
};

/// Parses the fields `scale`, `rotate` and `translate` of `object`; a missing one has no effect. Invalid values are an
/// [`Error::Scene`].
pub(crate) fn read_transform(
    source: &SceneSource,
    object: &Object,
    scale: Option<Raw>,
    rotate: Option<Raw>,
    translate: Option<Raw>,
) -> Result<Transform, Error> {
    let angles = "(x, y, z), angles in degrees";
    let read_scale = |raw| source.scale(object, "scale", raw);
    let read_rotate = |raw| source.triple(object, "rotate", raw, angles, NumberRange::Finite);
    let read_translate = |raw| source.position(object, "translate", raw);
    Ok(Transform {
        scale: scale.map_or(Ok(DVec3::ONE), read_scale)?,
        rotate_degrees: rotate.map_or(Ok(DVec3::ZERO), read_rotate)?,
        translate: translate.map_or(Ok(DVec3::ZERO), read_translate)?,
    })
}

/// Parses the field `grid` of `Instances`, which is `object`. Invalid values are an [`Error::Scene`].
pub(crate) fn read_grid(source: &SceneSource, object: &Object) -> Result<Grid, Error> {
    let written: GridText = source.parse(object)?;
    let expected = "(x, y, z), whole numbers of 1 or more whose product is at most 2147483648";
    let valid = |count: &[u32; 3]| {
        let mut counts = count.iter();
        let total = counts.try_fold(1, |total: u64, &count| total.checked_mul(count.into()));
        total.is_some_and(|total| (1..=1 << 31).contains(&total))
    };
    let spacing = |raw| {
        source.triple(
            object,
            "spacing",
            raw,
            "(x, y, z), each from -1e8 to 1e8 metres",
            NumberRange::Coordinate,
        )
    };
    let center = |raw| source.position(object, "center", raw);
    Ok(Grid {
        count: source.field(object, "count", written.count, expected, valid)?,
        spacing: spacing(written.spacing)?,
        center: written.center.map_or(Ok(DVec3::ZERO), center)?,
    })
}

/// Parses the field `scatter` of `Instances`, which is `object`. Invalid values are an [`Error::Scene`].
pub(crate) fn read_scatter(source: &SceneSource, object: &Object) -> Result<Scatter, Error> {
    let written: ScatterText = source.parse(object)?;
    let whole = "a whole number from 1 to 2147483648";
    let count = |&count: &u32| (1..=1 << 31).contains(&count);
    let seed = |raw| {
        let expected = "a whole number from 0 to 4294967295";
        source.field(object, "seed", raw, expected, |_| true)
    };
    let scale = |raw| {
        let expected = "(min, max), factors from 1e-15 to 1e8 with min <= max";
        let ordered = |&(min, max): &(f64, f64)| {
            NumberRange::Length.holds(min) && NumberRange::Length.holds(max) && min <= max
        };
        source.field(object, "scale", raw, expected, ordered)
    };
    let turn = |raw| source.number(object, "turn", raw, "an angle in degrees", |_| true);
    Ok(Scatter {
        count: source.field(object, "count", written.count, whole, count)?,
        from: source.position(object, "from", written.from)?,
        to: source.position(object, "to", written.to)?,
        seed: written.seed.map_or(Ok(0), seed)?,
        scale: written.scale.map_or(Ok((1.0, 1.0)), scale)?,
        turn: written.turn.map_or(Ok(360.0), turn)?,
    })
}
